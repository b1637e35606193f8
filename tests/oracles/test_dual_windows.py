"""Numbers of "A Primal-Dual Perspective" for dual ascent online: blocks, and other views."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from noregret import losses, mirrors
from noregret.learners import DualAscent
from noregret.learners.dual_certificate import DualCertificate
from tests.oracles.data import S_A, S_N, U_N, X_A, X_N, near, total
from tests.oracles.dual_runs import (
    BEST,
    EUCLID,
    FULLY,
    HINGE,
    PROXIMAL_STEPS,
    ascent,
    numbers,
    run,
    theta,
)


def test_pd25_order_from_one_state() -> None:
    """Conservative and aggressive <= exact <= two at once <= leader, whatever came before."""
    random = np.random.default_rng(25)
    for _ in range(40):
        X = random.normal(size=(6, 3)) / 2
        y = random.choice([-1.0, 1.0], 6)
        C = float(10 ** random.uniform(-1, 1))
        ends = []
        for last in (ascent("aggressive", C), ascent(C=C), ascent("window", C, k=2), None):
            start = ascent("leader", C, sweeps=3)
            start.learn(X[:5], y[:5])
            if last is None:
                start.sweeps, start.tolerance = 3000, 1e-13
                last = start
            else:
                last._open(3)
                _copy_state(start, last)
            last.learn(X[5], y[5])
            ends.append(last.dual)
        scale = 1e-9 * max(1.0, abs(ends[-1]))
        assert ends[0] <= ends[1] + scale and ends[1] <= ends[2] + scale
        assert ends[2] <= ends[3] + scale


def _copy_state(source: DualAscent, target: DualAscent) -> None:
    """Give the target theta, D and the newest row of the source."""
    one, two = source._engine, target._engine
    assert one is not None and two is not None
    two.state[...] = one.state
    two.accounts[...] = one.accounts
    target._ledger[...] = source._ledger
    newest = int(one.oldest_first()[-1])
    begin, end = one.spans[2 * newest : 2 * newest + 2].tolist()
    two.indices[: end - begin] = one.indices[begin:end]
    two.values[: end - begin] = one.values[begin:end]
    two.spans[:2] = (0, end - begin)
    two.book[0] = one.book[newest]
    two.ring[:2] = (0, 1)


def test_pd26_two_at_once() -> None:
    learner = ascent("window", k=2, memory=6)
    after = []
    margins, duals = [], []
    for x, y in zip(X_A, S_A, strict=True):
        margins.append(float(y * learner.learn(x, y)[0]))
        after.append(learner.alpha)
        duals.append(learner.dual)
    assert margins == near(
        numbers("0 0.96 0.316062176166 0.296950649792 0.504329048234 -0.630635035498")
    )
    a, b, c, d = 0.518134715026, 0.323480279736, 0.6053552963, 0.208792470285
    expected = [
        [1],
        [a, a],
        [a, b, 0.755259208924],
        [a, b, c, 0.908792470285],
        [a, b, c, d, 1],
        [a, b, c, d, 1, 1],
    ]
    for got, wanted in zip(after, expected, strict=True):
        assert got == near(wanted)
    assert theta(learner) == near([1.04233259326, -0.189942347575, 0.884665186523])
    assert duals == near(
        numbers("0.515 0.518134715026 0.776409884917 1.09587286277 1.45754381454 2.70317885004")
    )


def test_pd26_two_at_once_when_rows_are_parallel_or_zero() -> None:
    random = np.random.default_rng(26)
    for _ in range(60):
        x = random.normal(size=3)
        X = np.array([x, float(random.choice([-2.0, 0.0, 0.5, 1.0])) * x])
        y = random.choice([-1.0, 1.0], 2)
        C = float(10 ** random.uniform(-1, 1))
        weight = random.choice([0.0, 1.0, 2.5], 2)
        pair, slow = ascent("window", C, k=2), ascent("leader", C, **FULLY)
        pair.learn(X, y, weight)
        slow.learn(X, y, weight)
        assert pair.dual == pytest.approx(slow.dual, rel=1e-9, abs=1e-12)
        assert theta(pair) == pytest.approx(theta(slow), rel=1e-6, abs=1e-7)


def test_pd27_last_three() -> None:
    learner = ascent("window", k=3, memory=6, **FULLY)
    margins, _, duals = run(learner, X_A, S_A)
    assert margins == near(
        numbers("0 0.96 0.316062176166 0.262295081967 0.558823529412 -0.670717421297")
    )
    assert theta(learner) == near([1.45881851248, -0.226652452026, 0.417637024959])
    assert duals == near(
        numbers("0.515 0.518134715026 0.819672131148 1.17863321799 1.50670734317 2.96142476446")
    )
    assert learner.alpha == near(numbers("0 0.692041522491 0.480954102449 0.965400875012 1 1"))


def test_pd28_mini_updates() -> None:
    learner = ascent("mini", k=3, memory=6)
    margins, duals, after = [], [], []
    for x, y in zip(X_A, S_A, strict=True):
        margins.append(float(y * learner.learn(x, y)[0]))
        duals.append(learner.dual)
        after.append(learner.alpha)
    assert margins == near(
        numbers("0 0.96 0.366750983101 0.293726785379 0.528260122528 -0.537218299641")
    )
    a, b = 0.788638913717, 0.444728181474
    expected = [
        [1],
        [0.99011584653, 0.0412371134021],
        [a, 0, 0.65283403804],
        [a, 0, 0.592613760967, 0.882841518277],
        [a, 0, b, 0.394555400616, 0.714757390108],
        [a, 0, b, 0.87446268959, 1, 1],
    ]
    for got, wanted in zip(after, expected, strict=True):
        assert got == near(wanted)
    assert theta(learner) == near([1.49511759064, -0.227482547974, 0.490235181279])
    assert duals == near(
        numbers("0.515 0.515872125066 0.747777179718 1.06129968193 1.33586581697 2.84410205856")
    )


def test_pd7_and_pd29_leader() -> None:
    learner = ascent("leader", **FULLY)
    weights = []
    margins, duals = [], []
    for x, y in zip(X_A, S_A, strict=True):
        margins.append(float(y * learner.learn(x, y)[0]))
        duals.append(learner.dual)
        weights.append(learner.weights)
    assert margins == near(
        numbers("0 0.96 0.316062176166 0.262295081967 0.558823529412 -0.472797927461")
    )
    assert duals == near(
        [0.515, 0.518134715026, 0.819672131148, 1.17863321799, 1.60281148487, BEST]
    )
    end = [1.47058823529, 0, 0.441176470588]
    expected = [
        [0.6, -0.5, 0.6],
        [0.569948186528, -0.569948186528, 0.621761658031],
        [0.819672131148, 0, 0.983606557377],
        end,
        [1.42487046632, 0.129533678756, 0.349740932642],
        end,
    ]
    for got, wanted in zip(weights, expected, strict=True):
        assert got == near(wanted)


#: Rule, mistakes, sum of alpha, ||theta||, D, floors for B = 1 and B = 1.5.
TABLE = [
    ({"update": "conservative"}, 3, 3, 1.15758369028, 2.33, 1.84241630972, 1.26362446458),
    (
        {"update": "aggressive"},
        2,
        3.963532,
        1.74595949197,
        2.4393447262,
        2.21757250803,
        1.34459276205,
    ),
    ({}, 2, 4.32965938479, 1.85134212198, 2.61592555849, 2.47831726281, 1.55264620182),
    (
        {"update": "mini", "k": 3},
        2,
        4.10782978478,
        1.58979729917,
        2.84410205856,
        2.51803248562,
        1.72313383603,
    ),
    (
        {"update": "window", "k": 2},
        2,
        3.65576276135,
        1.38027816857,
        2.70317885004,
        2.27548459278,
        1.5853455085,
    ),
    (
        {"update": "window", "k": 3, **FULLY},
        2,
        4.13839649995,
        1.53425665095,
        2.96142476446,
        2.604139849,
        1.83701152353,
    ),
    (
        {"update": "leader", **FULLY},
        2,
        4.1660899654,
        1.53533919249,
        BEST,
        2.63075077291,
        1.86308117667,
    ),
]
SHARES = numbers(
    "0.779927609671 0.816528884752 0.87563629524 0.952014472187 0.904842840782 0.991286239386 1.0"
)


@pytest.mark.parametrize(
    ("row", "share"), list(zip(TABLE, SHARES, strict=True)), ids=lambda part: str(part)[:40]
)
def test_pd29_and_gc6_tables(row: tuple[Any, ...], share: float) -> None:
    settings, mistakes, alphas, length, dual, one, wide = row
    learner = ascent(**settings)
    learner.learn(X_A, S_A)
    certificate = learner.certificate()
    assert certificate.mistakes == mistakes
    assert certificate.intercept == near(alphas)
    assert float(np.linalg.norm(theta(learner))) == near(length)
    assert learner.dual == near(dual)
    assert learner.dual / BEST == near(share)
    # The best losses over these balls, exactly.
    for radius, floor, least in ((1.0, one, 3.02342478677), (1.5, wide, 1.86700628075)):
        assert certificate.floor(radius) == pytest.approx(floor, rel=1e-9)
        assert certificate.floor(radius) <= least + 1e-11


@pytest.mark.compiled
def test_gc6_the_more_is_revisited_the_higher_the_floor() -> None:
    """300 unit vectors in 20 dimensions with noisy labels: the order of the rules' floors."""
    random = np.random.default_rng(6)
    X = random.normal(size=(300, 20))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    noise = random.normal(size=300)
    y = np.where(X @ random.normal(size=20) + 0.7 * noise > 0, 1.0, -1.0)
    ends: dict[str, DualCertificate] = {}
    for name, settings in {
        "Perceptron": {"update": "conservative"},
        "exact": {},
        "last 5": {"update": "mini", "k": 5},
        "last 20": {"update": "mini", "k": 20},
        "all": {"update": "mini", "k": 300},
        "leader": {"update": "leader"},
    }.items():
        learner = ascent(C=0.5, **settings)
        learner.learn(X, y)
        ends[name] = learner.certificate()
        best = learner.weights
    duals = [certificate.dual for certificate in ends.values()]
    assert duals == sorted(duals)
    radius = float(np.linalg.norm(best))
    floors = [certificate.floor(radius) for certificate in ends.values()]
    least = total(HINGE, X, y, best)
    assert floors == sorted(floors) and floors[-1] <= least
    assert floors[-1] == pytest.approx(least, rel=1e-6) and floors[0] < 0.6 * least


def test_pd30_trial_dependent_margins() -> None:
    """Margins y <u,x> as offsets: D is what the distance to u shrank by."""
    gamma = float(np.min(S_N * (X_N @ U_N)))
    assert (gamma, 1 / gamma**2) == near((0.28, 12.7551020408))
    # hinge margin 1 - y offset = y <u,x>
    offset = S_N * (1.0 - S_N * (X_N @ U_N))
    learner = ascent("aggressive", 0.28, row_limit=1.0)
    leader = ascent("leader", 0.28, **FULLY)
    for one in (learner, leader):
        _, _, duals = run(one, X_N, S_N, offset)
        distances = [0.5 * float(U_N @ U_N)]
        assert duals == sorted(duals)
        gap = one.weights - U_N
        assert one.dual == near(distances[0] - 0.5 * float(gap @ gap))
        assert 2 * one.dual <= float(U_N @ U_N)
    plain = ascent("conservative", 0.28)
    margins = [float(y * plain.learn(x, y)[0]) for x, y in zip(X_N, S_N, strict=True)]
    assert margins == near(numbers("0 -0.168 0.0448 0.18368 0.224 0.0448 0.224 0.112"))
    assert plain.certificate().mistakes == 2 and plain.weights == near([0.112, -0.224])


def test_pd30_distance_progress_of_the_perceptron() -> None:
    plain = ascent("conservative", 0.28)
    after, left = [], 0.0
    for x, y in zip(X_N, S_N, strict=True):
        before = plain.weights if plain.rounds else np.zeros(2)
        plain.learn(x, y)
        left += float((before - U_N) @ (before - U_N))
        left -= float((plain.weights - U_N) @ (plain.weights - U_N))
        w = plain.weights
        after.append(float(w @ U_N) - 0.5 * float(w @ w))
    assert after == near([0.1288] + [0.21504] * 7)
    assert left == near(0.43008)
    mistakes = plain.certificate().mistakes
    assert mistakes * 0.28 * (2 * 0.28 - 0.28) == near(0.1568)
    value = 2 * 0.28 * (0.6 + 0.28 / 0.28 * 0.28) - mistakes * 0.28**2
    assert value == near(0.336)


@pytest.mark.parametrize(("mirror", "margin", "eta", "before", "after"), PROXIMAL_STEPS)
def test_pd32_proximal_view(
    mirror: mirrors.Mirror, margin: float, eta: float, before: Any, after: Any
) -> None:
    """From theta = (0.3, -0.2, 0.5), made by one step that the box stops."""
    learner = DualAscent(losses.Hinge(margin), mirror, 5.0)
    learner.learn([[0.06, -0.04, 0.1]], [1.0])
    assert learner.alpha[-1] == 5.0
    assert learner.weights == near(before)
    learner.learn(X_A[5], S_A[5])
    assert learner.alpha[-1] == near(eta)
    assert learner.weights == near(after)


def test_pd33_logistic() -> None:
    learner = DualAscent(losses.Logistic(), EUCLID)
    _, alphas, duals = run(learner, X_A, S_A)
    assert alphas == near(
        numbers(
            "0.403403950481 0.330148801417 0.35969902921 0.37571727447 "
            "0.398332492496 0.476039218585"
        )
    )
    assert theta(learner) == near([0.896290663993, -0.270429123468, 0.584350771171])
    assert duals == near(
        numbers(
            "0.595441381004 1.04900520601 1.55757309725 2.08519041283 2.64560140781 3.37918598489"
        )
    )


def test_pd33_squared_hinge_is_passive_aggressive_2() -> None:
    """gamma alpha - alpha^2/(2C): alpha = loss / (||x||^2 + 1/C)."""
    learner = DualAscent(losses.SquaredHinge(), EUCLID, 3.0)
    for x, y in zip(X_A, S_A, strict=True):
        w = learner.weights if learner.rounds else np.zeros(3)
        excess = max(1 - y * float(w @ x), 0.0)
        before = learner.dual
        learner.learn(x, y)
        alpha = float(learner.alpha[-1])
        assert alpha == near(excess / (float(x @ x) + 1 / 3.0))
        rise = alpha * excess - alpha**2 / 6 - 0.5 * alpha**2 * float(x @ x)
        assert learner.dual - before == near(rise)
    conjugate = EUCLID.conjugate_upper(theta(learner), 1.0, 0.0, 0.0)
    assert learner.dual == near(3.0 * learner.certificate().intercept - conjugate)
