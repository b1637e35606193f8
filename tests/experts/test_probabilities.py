"""Mixed probabilities: the worked figures, the theorem on many games, rounding, files, refusals."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest

import noregret as nr
from noregret.experts import ProbabilityForecaster, expert_theorems
from noregret.experts.probability_rounds import LARGEST_SUM, MixtureSum
from tests.sizes import sized

#: The worked figures: two experts, the labels of set A.
MEMBERS = np.array([[0.0, 0.5, -0.2, -0.2, -0.2, -0.3], [1.0, -1.0, 1.0, -2.0, 0.5, 1.0]]).T
LABELS = np.array([-1.0, 1.0, -1.0, -1.0, -1.0, 1.0])


def exact_loss(y: float, p: Any) -> Any:
    """Return ln(1 + e^(-y p)) in the precision of the moment."""
    margin = y * mpmath.mpf(p)
    if margin > 0:
        return mpmath.log1p(mpmath.exp(-margin))
    return mpmath.log1p(mpmath.exp(margin)) - margin


def exact_run(
    table: np.ndarray, y: np.ndarray, weight: np.ndarray, sharing: bool = True
) -> tuple[list[Any], list[Any]]:
    """Return the mixed margins by products of probabilities, and the shares of every round."""
    shares = [mpmath.mpf(1) / table.shape[1]] * table.shape[1]
    made, seen, largest, count = [], [], mpmath.mpf(0 if sharing else 1), 0
    for row, label, w in zip(table.tolist(), y.tolist(), weight.tolist(), strict=True):
        seen.append(shares)
        sides = [
            sum(v * mpmath.exp(-exact_loss(sign, p)) for v, p in zip(shares, row, strict=True))
            for sign in (1.0, -1.0)
        ]
        made.append(mpmath.log(sides[0]) - mpmath.log(sides[1]))
        if w == 0.0:
            continue
        largest, count = max(largest, mpmath.mpf(w)), count + 1
        shares = [
            v * mpmath.exp(-w / largest * exact_loss(label, p))
            for v, p in zip(shares, row, strict=True)
        ]
        total = sum(shares)
        given = mpmath.mpf(1) / (count + 1) if sharing else 0
        shares = [(1 - given) * v / total + given / len(row) for v in shares]
    return made, seen


@pytest.mark.parametrize(
    ("sharing", "loss"), [(False, 4.31456512496), (True, 4.30076166533)], ids=["plain", "sharing"]
)
def test_the_worked_figures(sharing: bool, loss: float) -> None:
    forecaster = ProbabilityForecaster(2, sharing)
    made = forecaster.learn(MEMBERS, LABELS)
    proof = forecaster.certificate()
    assert proof.loss == pytest.approx(loss, rel=1e-10)
    assert proof.totals.tolist() == pytest.approx([3.81599601735, 5.3540517453], rel=1e-10)
    assert proof.best_expert == 0 and proof.rounds == 6
    if not sharing:
        expected = [
            0.470614919734, -0.00474188872281, 0.0125409199576, -0.337634249762, -0.0932388562852,
            -0.162311933843,
        ]  # fmt: skip
        assert made.tolist() == pytest.approx(expected, rel=1e-10)
    (bound,) = proof.bounds
    assert bound.applies and bound.value == math.log(2 * 6 if sharing else 2)
    assert proof.regret() <= bound.value
    assert f"any expert <= {'2.4' if sharing else '0.6'}" in str(bound)


def game(seed: int) -> tuple[ProbabilityForecaster, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Play one game against one of six adversaries; return margins, labels, weights, forecasts."""
    random = np.random.default_rng([seed, 30])
    count, rounds = int(random.choice([1, 2, 3, 7, 20])), int(random.choice([1, 2, 9, 60]))
    kind, spread = seed % 6, float(random.choice([0.1, 1.0, 8.0, 400.0]))
    table = spread * random.normal(size=(rounds, count))
    y = random.choice([-1.0, 1.0], rounds)
    weight = np.ones(rounds)
    if kind >= 2:
        weight = random.choice([0.0, 1e-9, 0.5, 1.0, 7.0], rounds) * random.uniform(size=rounds)
    if kind == 3:
        # Weights that grow without end: each round is the heaviest so far.
        weight = 1.5 ** np.arange(rounds)
    if kind == 5:
        # Experts that take turns, so that the one in the lead is always the next to fail.
        turn = np.arange(rounds) * max(count, 3) // rounds % count
        table = np.where(np.arange(count) == turn[:, None], y[:, None], -y[:, None]) * spread
    forecaster = ProbabilityForecaster(count)
    made = np.empty(rounds)
    for t in range(rounds):
        made[t] = forecaster.forecast(table[t])[0]
        if kind in (1, 3, 4):
            # The label that the mixture finds less likely.
            y[t] = -1.0 if made[t] >= 0.0 else 1.0
        if kind == 4:
            # The heaviest round comes when the mixture is wrong by most.
            weight[t] = 20.0 if abs(made[t]) > 0.5 * spread else 0.1
        assert forecaster.learn(table[t], y[t : t + 1], weight[t : t + 1])[0] == made[t]
    return forecaster, table, y, weight, made


@pytest.mark.parametrize("first", range(0, 300, 60))
def test_the_theorem_on_many_games(first: int) -> None:
    """Judged in 40 digits, from the forecasts that were made."""
    with mpmath.workdps(40):
        for seed in range(first, first + sized(24, 60)):
            forecaster, table, y, weight, made = game(seed)
            own = [w * exact_loss(a, p) for a, p, w in zip(y, made, weight, strict=True)]
            each = [
                [w * exact_loss(a, p) for a, p, w in zip(y, column, weight, strict=True)]
                for column in table.T
            ]
            proof, best = forecaster.certificate(), min(map(sum, each))
            count, weighed = table.shape[1], int(np.count_nonzero(weight))
            price = weight.max() * math.log(count * max(weighed, 1))
            (bound,) = proof.bounds
            assert bound.applies and sum(own) - best <= bound.value <= price * (1.0 + 1e-12) + 1e-9
            assert sum(own) - best <= proof.regret() <= sum(own) - best + 2.0 * proof.slack + 1e-12
            assert abs(sum(own) - proof.loss) <= proof.slack
            np.testing.assert_allclose(
                proof.totals, [float(sum(one)) for one in each], rtol=1e-12, atol=1e-300
            )
            # From any round to any other, against the expert that was best in between.
            for start, stop in [(len(y) // 3, len(y)), (len(y) // 2, len(y) - 1)]:
                if start < stop:
                    there = min(sum(one[start:stop]) for one in each)
                    assert sum(own[start:stop]) - there <= price * (1.0 + 1e-12) + 1e-9


def test_without_sharing_the_price_is_ln_k() -> None:
    random = np.random.default_rng(0)
    for seed in range(40):
        count = int(random.integers(1, 9))
        table, y = 3.0 * random.normal(size=(50, count)), random.choice([-1.0, 1.0], 50)
        weight = random.uniform(size=50) if seed % 2 else np.ones(50)
        forecaster = ProbabilityForecaster(count, sharing=False)
        made = forecaster.learn(table, y, weight)
        own = float(weight @ np.logaddexp(0.0, -y * made))
        best = float((weight @ np.logaddexp(0.0, -y[:, None] * table)).min())
        proof = forecaster.certificate()
        (bound,) = proof.bounds
        # With one expert the regret is 0, and what is printed is its rounding.
        assert bound.applies and bound.value <= max(math.log(count), 2.0 * proof.slack)
        assert own - best <= math.log(count) + 1e-12


def test_the_price_is_paid() -> None:
    """One expert of K is certain and right, the others certain and wrong: ln K at once."""
    forecaster = ProbabilityForecaster(4, sharing=False)
    made = forecaster.learn([[700.0, -700.0, -700.0, -700.0]], [1.0])
    assert np.logaddexp(0.0, -made[0]) == pytest.approx(math.log(4))
    proof = forecaster.certificate()
    (bound,) = proof.bounds
    assert proof.slack < 1e-10
    assert math.log(4) <= bound.value <= math.log(4) + 2.0 * proof.slack


@pytest.mark.parametrize("sharing", [True, False])
@pytest.mark.parametrize("spread", [1e-3, 1.0, 40.0, 3000.0])
def test_forecasts_are_those_of_exact_arithmetic(sharing: bool, spread: float) -> None:
    random = np.random.default_rng(1)
    rounds = 40
    table, y = spread * random.normal(size=(rounds, 4)), random.choice([-1.0, 1.0], rounds)
    weight = random.choice([0.0, 0.2, 1.0, 3.0 if sharing else 0.9], rounds)
    forecaster = ProbabilityForecaster(4, sharing)
    made = np.array(
        [forecaster.learn(*one)[0] for one in zip(table, y[:, None], weight[:, None], strict=True)]
    )
    with mpmath.workdps(40):
        exact, _ = exact_run(table, y, weight, sharing)
        for mine, true in zip(made.tolist(), exact, strict=True):
            # Shares without sharing are e^-(sums of losses), right to the rounding of these.
            size = 1.0 + abs(float(true)) + (0.0 if sharing else spread * rounds)
            assert abs(mine - true) <= 64.0 * 2.0**-52 * size


def test_shares_follow_the_formula() -> None:
    random = np.random.default_rng(2)
    table, y = random.normal(size=(30, 3)), random.choice([-1.0, 1.0], 30)
    weight = random.choice([0.0, 0.5, 2.0], 30)
    with mpmath.workdps(30):
        _, shares = exact_run(table, y, weight)
    forecaster = ProbabilityForecaster(3)
    for t in range(30):
        np.testing.assert_allclose(forecaster.weights, np.array(shares[t], float), rtol=1e-13)
        ahead = forecaster.forecast(table)
        assert forecaster.learn(table[t], y[t : t + 1], weight[t : t + 1])[0] == ahead[t]
    assert forecaster.rounds == 30
    assert forecaster._state.book[MixtureSum.WEIGHED] == np.count_nonzero(weight)


def test_rounds_of_weight_0_change_nothing_but_their_count() -> None:
    one, other = ProbabilityForecaster(2), ProbabilityForecaster(2)
    one.learn(MEMBERS[:3], LABELS[:3])
    other.learn(np.repeat(MEMBERS[:3], 2, axis=0), np.repeat(LABELS[:3], 2), [0, 1] * 3)
    assert np.array_equal(one.weights, other.weights)
    assert (one.rounds, other.rounds) == (3, 6)
    assert one.certificate().bounds[0].value == other.certificate().bounds[0].value
    idle = ProbabilityForecaster(3)
    idle.learn([[1.0, 2.0, 3.0]], [1.0], [0.0])
    proof = idle.certificate()
    assert proof.bounds[0].value <= 1e-190 and proof.regret() <= 1e-190 and proof.loss == 0.0


def test_one_expert_is_repeated_to_the_bit() -> None:
    random = np.random.default_rng(3)
    for sharing in (True, False):
        table = (10.0 ** random.uniform(-300, 300, 60) * random.choice([-1.0, 1.0], 60))[:, None]
        forecaster = ProbabilityForecaster(1, sharing)
        assert np.array_equal(forecaster.learn(table, np.ones(60)), table[:, 0])
        assert forecaster.weights.tolist() == pytest.approx([1.0], abs=1e-15)
        (bound,) = forecaster.certificate().bounds
        assert bound.applies and bound.value <= forecaster.certificate().regret()


def test_margins_of_any_size() -> None:
    forecaster = ProbabilityForecaster(3)
    assert forecaster.forecast([[1e300, 1e300, 1e300]])[0] == pytest.approx(1e300, rel=1e-15)
    assert forecaster.forecast([[1e300, -1e300, 0.0]])[0] == pytest.approx(0.0, abs=1e-15)
    made = forecaster.learn([[1e300, -1e300, 5e-324], [1e300, -1e300, -1e300]], [-1.0, 1.0])
    assert abs(made[0]) <= 1e-15 and np.isfinite(made).all()
    assert np.isfinite(forecaster.weights).all()
    proof = forecaster.certificate()
    assert proof.totals.tolist() == [1e300, 1e300, 1e300]
    assert proof.bounds[0].value >= proof.loss - 1e300 and proof.bounds[0].applies
    # The expert that was given up comes back.
    late = ProbabilityForecaster(2)
    late.learn([[-1e300, 1e300]] * 50, [-1.0] * 50)
    made = late.learn([[1e300, 0.1]] * 4, [-1.0] * 4)
    # It was left with half of 1/51; the other one is wrong now, and given up at once.
    chance = 1.0 / (1.0 + math.exp(-0.1))
    mixed = (101.0 + chance) / (1.0 - chance)
    assert made[0] == pytest.approx(math.log(mixed), rel=1e-13) and made[3] < 0.2


def test_sums_that_would_overflow_are_refused_and_nothing_moves() -> None:
    forecaster = ProbabilityForecaster(2)
    forecaster.learn([[1.0, 2.0]], [1.0])
    before = [array.tobytes() for array in forecaster._state]
    heavy = np.full((3, 2), -1e300)
    with pytest.raises(ValueError, match="predictions row 1: the losses overflow"):
        forecaster.learn(heavy, np.ones(3), [1.0, LARGEST_SUM / 1e300, 1.0])
    with pytest.raises(ValueError, match="predictions row 0: the losses overflow"):
        forecaster.learn(heavy[:1], [1.0], [1e100])
    assert [array.tobytes() for array in forecaster._state] == before and forecaster.rounds == 1
    forecaster.learn(heavy, np.ones(3))
    assert forecaster.certificate().bounds[0].applies


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda it: it.learn([[0.0, math.nan]], [1.0]),
            "predictions row 0, expert 1: nan; expected a number of size at most 1e+300",
        ),
        (
            lambda it: it.learn([[0.0, 1.0], [math.inf, 0.0]], [1.0, 1.0]),
            "predictions row 1, expert 0: inf; expected a number of size at most 1e+300",
        ),
        (
            lambda it: it.forecast([[0.0, -2e300]]),
            "predictions row 0, expert 1: -2e+300; expected a number of size at most 1e+300",
        ),
        (
            lambda it: it.learn([[0.0, 1.0, 2.0]], [1.0]),
            "predictions has shape (1, 3), expected rows of 2 numbers",
        ),
        (lambda it: it.learn([[0.0, 1.0]], [0.5]), "Logistic expects -1 or +1"),
        (lambda it: it.learn([[0.0, 1.0]], [1.0, 1.0]), "y has shape (2,), expected (1,)"),
        (lambda it: it.learn([[0.0, 1.0]], [1.0], [-1.0]), "expected a number from 0 to 1e+100"),
        (lambda it: it.learn([[0.0, 1.0]], [1.0], [math.nan]), "expected a number from 0"),
    ],
)
def test_what_cannot_be_learnt(call: Any, message: str) -> None:
    forecaster = ProbabilityForecaster(2)
    forecaster.learn(MEMBERS, LABELS)
    before = [array.tobytes() for array in forecaster._state]
    with pytest.raises(ValueError) as error:
        call(forecaster)
    assert message in str(error.value) and "\n" not in str(error.value)
    assert [array.tobytes() for array in forecaster._state] == before


def test_what_is_no_mixture() -> None:
    with pytest.raises(ValueError, match="experts must be"):
        ProbabilityForecaster(0)
    with pytest.raises(ValueError, match="sharing must be True or False, got 'yes'"):
        ProbabilityForecaster(2, "yes")  # type: ignore[arg-type]
    plain = ProbabilityForecaster(2, sharing=False)
    with pytest.raises(ValueError, match=r"weight row 1: 1\.5; expected at most 1 with sharing"):
        plain.learn(MEMBERS[:2], LABELS[:2], [1.0, 1.5])
    assert plain.rounds == 0


@pytest.mark.parametrize("sharing", [True, False])
def test_cuts_and_files_change_no_bit(sharing: bool, tmp_path: Path) -> None:
    random = np.random.default_rng(5)
    table, y = 4.0 * random.normal(size=(80, 3)), random.choice([-1.0, 1.0], 80)
    weight = random.uniform(0.0, 1.0, 80)
    unbroken = ProbabilityForecaster(3, sharing)
    made = unbroken.learn(table, y, weight)
    broken, pieces = ProbabilityForecaster(3, sharing), []
    for part in (slice(0, 1), slice(1, 30), slice(30, 80)):
        pieces.append(broken.learn(table[part], y[part], weight[part]))
        broken.save(tmp_path / "p.nr")
        loaded = nr.load(tmp_path / "p.nr")
        assert isinstance(loaded, ProbabilityForecaster) and loaded.sharing is sharing
        broken = loaded
    assert np.array_equal(np.concatenate(pieces), made)
    assert str(broken.certificate()) == str(unbroken.certificate())
    assert [a.tobytes() for a in broken._state] == [a.tobytes() for a in unbroken._state]
    broken._state.shares[:] += 0.01
    broken.save(tmp_path / "p.nr")
    with pytest.raises(ValueError, match="shares does not sum to 1"):
        nr.load(tmp_path / "p.nr")
    broken._state.shares[:] = 2.0, 0.0, -1.0
    broken.save(tmp_path / "p.nr")
    with pytest.raises(ValueError, match="numbers that are not above 0"):
        nr.load(tmp_path / "p.nr")


def test_chances_that_are_almost_denormal_keep_their_digits() -> None:
    forecaster = ProbabilityForecaster(2, sharing=False)
    forecaster.learn([[0.0, -25.0]], [1.0])
    # The second expert has a share of 3e-11, and e^-700 times that has lost most of its digits.
    lost = np.logaddexp(0.0, [0.0, 25.0])
    share = -float(np.logaddexp(0.0, lost[1] - lost[0]))
    assert forecaster.forecast([[1000.0, 700.0]])[0] == pytest.approx(700.0 - share, rel=1e-13)


def test_it_follows_experts_that_take_turns() -> None:
    y = np.ones(3000)
    turn = np.arange(3000) // 1000
    table = np.where(np.arange(3) == turn[:, None], 3.0, -3.0)
    sharing, plain = ProbabilityForecaster(3), ProbabilityForecaster(3, sharing=False)
    best = float(np.logaddexp(0.0, -3.0)) * 3000
    own = [float(np.logaddexp(0.0, -one.learn(table, y)).sum()) for one in (sharing, plain)]
    assert own[0] <= best + 3.0 * expert_theorems.probability_regret(3, 3000, 1.0)
    assert own[1] > best + 1000.0
