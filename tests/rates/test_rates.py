"""Every rate: its values, that it never rises, and what a learner makes of it."""

from __future__ import annotations

import dataclasses
import math
import pickle
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from noregret import domains, losses, mirrors, oco, rates
from noregret.jit import kernel
from noregret.learners import MirrorDescent
from noregret.proof.ledger import Entry
from noregret.rates import Rate
from noregret.rates.base import UNBOUNDED
from tests.product.newcomers import newcomers

RATES = [
    rates.Constant(0.3),
    rates.InverseSqrt(2.0),
    rates.StronglyConvex(0.5),
    rates.Adaptive(1.5),
    rates.Doubling(0.7),
]
RATES += [rate for rate in newcomers(rates, Rate, RATES, "Rate") if rate.family == "scalar"]
every_rate = pytest.mark.parametrize("rate", RATES, ids=repr)


def fill(rate, rounds, squares, largest, out):  # type: ignore[no-untyped-def]
    for i in range(out.shape[0]):
        out[i] = rate.at(rounds[i], squares[i], largest[i])


def values(rate: Rate, compiled: bool = False) -> np.ndarray:
    """Return eta along a run of 300 rounds with growing gradients."""
    rng = np.random.default_rng(5)
    sizes = rng.exponential(size=300)
    squares = np.concatenate([[0.0], np.cumsum(sizes)[:-1]])
    out = np.empty(300)
    run = kernel(fill) if compiled else fill
    run(rate, np.arange(300.0), squares, np.maximum.accumulate(sizes), out)
    return out


@every_rate
def test_rates_never_rise(rate: Rate) -> None:
    found = values(rate)
    assert np.all(np.diff(found) <= 0.0) and np.all(found > 0.0)
    assert rate.constant() == bool(np.all(found == found[0]))


@pytest.mark.compiled
@every_rate
def test_compiled_equals_interpreted(rate: Rate) -> None:
    assert values(rate, compiled=True) == pytest.approx(values(rate), rel=1e-15)


def test_values() -> None:
    assert rates.Constant(0.3).at(99.0, 5.0, 2.0) == 0.3
    assert rates.InverseSqrt(2.0).at(0.0, 0.0, 0.0) == 2.0
    assert rates.InverseSqrt(2.0).at(15.0, 9.0, 9.0) == 0.5
    strongly = [rates.StronglyConvex(0.5).at(t, 0.0, 0.0) for t in (0.0, 1.0, 2.0, 8.0)]
    assert strongly == [2.0, 2.0, 1.0, 0.25]
    assert rates.Adaptive(3.0).at(7.0, 5.0, 4.0) == 1.0
    assert rates.Adaptive(3.0).at(0.0, 0.0, 0.0) == UNBOUNDED
    assert rates.StronglyConvex(0.5).strong_convexity() == 0.5
    others = [rates.Constant(0.3), rates.InverseSqrt(2.0), rates.Adaptive(3.0), rates.Doubling(0.7)]
    assert [rate.strong_convexity() for rate in others] == [0.0] * 4
    assert [rate.restarts() for rate in others] == [False, False, False, True]
    assert not rates.StronglyConvex(0.5).restarts()


def test_doubling_epochs() -> None:
    """Epoch m is rounds 2^m to 2^(m+1) - 1 and runs at eta / sqrt(2^m)."""
    rate = rates.Doubling(0.7)
    for t in range(1, 1025):
        m = t.bit_length() - 1
        assert rate.at(t - 1.0, 0.0, 0.0) == pytest.approx(0.7 / math.sqrt(2**m), rel=1e-15)
    last, first = 2.0**40 - 2.0, 2.0**40 - 1.0
    assert rate.at(last, 0.0, 0.0) == pytest.approx(math.sqrt(2) * rate.at(first, 0.0, 0.0))


def test_doubling_restarts_the_learner() -> None:
    """Each epoch is a learner of its own; loss and Z go on over all of them."""
    X = np.array([[1.0, 0.5], [0.25, -1.0], [1.0, 1.0], [-0.5, 0.75], [0.5, 0.5], [1.0, 0.0]])
    y = np.array([1.0, -1.0, 1.0, -1.0, 1.0, 1.0])
    whole = MirrorDescent(losses.Logistic(), mirrors.Euclidean(), rates.Doubling(0.7))
    predictions = whole.learn(X, y)
    parts, gradient, loss = [], np.zeros(2), 0.0
    for start, stop, length in ((0, 1, 1), (1, 3, 2), (3, 6, 4)):
        eta = 0.7 / math.sqrt(length)
        epoch = MirrorDescent(losses.Logistic(), mirrors.Euclidean(), rates.Constant(eta))
        parts.append(epoch.learn(X[start:stop], y[start:stop]))
        gradient += epoch.certificate().gradient
        loss += epoch.certificate().loss
    assert predictions == pytest.approx(np.concatenate(parts), rel=1e-14)
    assert whole.weights == pytest.approx(epoch.weights, rel=1e-14)
    assert whole.certificate().gradient == pytest.approx(gradient, rel=1e-14)
    assert whole.certificate().loss == pytest.approx(loss, rel=1e-14)


def test_adaptive_covers_the_coming_row() -> None:
    """The rate of a round knows its row but not its label, and so cannot rise afterwards."""
    learner = MirrorDescent(losses.Hinge(), mirrors.Euclidean(), rates.Adaptive(1.0))
    X = np.array([[0.0], [2.0], [0.5], [10.0], [1.0]])
    found = []
    for x in X:
        learner.learn([x], [1.0])
        found.append(float(learner.certificate().ledger[Entry.LAST_ETA]))
    # Squares counted so far plus the largest the rows seen allow; the first row is empty.
    assert found[0] == UNBOUNDED
    assert found[1:4] == pytest.approx([4.0**-0.5, 8.0**-0.5, 104.25**-0.5], rel=1e-14)
    assert all(later <= earlier for earlier, later in pairwise(found))


@pytest.mark.parametrize(
    ("mirror", "scale"),
    [
        (mirrors.Euclidean(), 1.0),
        (mirrors.Ball(3.0), 3.0 / math.sqrt(2)),
        (mirrors.Entropy(), math.sqrt(math.log(8))),
        (mirrors.SignedEntropy(2.0), math.sqrt(math.log(16)) / 2),
        (mirrors.PNorm(5), 0.5),
    ],
    ids=repr,
)
def test_adaptive_takes_the_scale_of_the_map(mirror: mirrors.Mirror, scale: float) -> None:
    learner = MirrorDescent(losses.Hinge(), mirror, rates.Adaptive(), dimension=8)
    assert learner.certificate().rate.scale == pytest.approx(scale, rel=1e-14)  # type: ignore[attr-defined]


def test_per_coordinate_factors() -> None:
    plain, invariant = rates.PerCoordinate(2.0), rates.PerCoordinate(2.0, invariant=True)
    assert plain.weight_factor(9.0, 4.0, 7.0) == pytest.approx(2.0 / 5.0)
    assert invariant.weight_factor(9.0, 4.0, 8.0) == pytest.approx(2.0 / 40.0)
    assert plain.weight_factor(0.0, 0.0, 0.0) == 0.0 == invariant.weight_factor(0.0, 0.0, 0.0)
    squares = [plain.weight_factor(s, 1.0, 1.0) for s in (0.0, 1.0, 5.0, 5.0, 80.0)]
    assert squares == sorted(squares, reverse=True)


def test_invariant_rates_do_not_feel_the_units() -> None:
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(30, 3)), rng.choice([-1.0, 1.0], 30)
    units = np.array([1.0, 2.0**40, 2.0**-30])
    for invariant, same in ((True, True), (False, False)):
        runs = [
            MirrorDescent(
                losses.Logistic(), mirrors.Euclidean(), rates.PerCoordinate(0.5, invariant)
            ).learn(X * scale, y)
            for scale in (np.ones(3), units)
        ]
        assert np.allclose(runs[0], runs[1], rtol=1e-12, atol=1e-12) == same


@pytest.mark.parametrize(
    "rate",
    [
        *RATES,
        rates.PerCoordinate(0.5, True),
        rates.CoinBetting(0.5),
        rates.Ridge(),
        rates.Newton(),
        rates.Aioli(),
    ],
    ids=repr,
)
def test_records_are_frozen_equal_and_portable(rate: Rate) -> None:
    again = type(rate)(**rate.fields())
    assert again == rate and hash(again) == hash(rate) and pickle.loads(pickle.dumps(rate)) == rate
    for name in rate.fields():
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(rate, name, 3.5)
    assert rates.Constant(1) == rates.Constant(1.0) != rates.InverseSqrt(1.0)


def test_a_subclass_with_its_own_formula_says_nothing_of_its_parent() -> None:
    class Slower(rates.InverseSqrt):
        def at(self, rounds: float, squares: float, largest: float) -> float:
            return self.eta / (rounds + 1.0)

    class Bolder(rates.Adaptive):
        def at(self, rounds: float, squares: float, largest: float) -> float:
            return 2.0 / math.sqrt(squares + largest)

    assert rates.InverseSqrt(0.5).root_eta() == 0.5 and math.isnan(Slower(0.5).root_eta())
    assert rates.Adaptive(0.5).gradient_scale() == 0.5
    assert math.isnan(Bolder(0.5).gradient_scale())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rates.Constant(0), r"Constant\(eta\) must be a finite number above 0, got 0.0"),
        (lambda: rates.Constant(-0.1), r"Constant\(eta\) must be a finite number above 0"),
        (lambda: rates.Constant(math.nan), r"Constant\(eta\) .* got nan"),
        (lambda: rates.Constant("fast"), r"Constant\(eta=...\) must be a number, got 'fast'"),
        (lambda: rates.InverseSqrt(0), r"InverseSqrt\(eta\) must be a finite number above 0"),
        (lambda: rates.StronglyConvex(0), r"StronglyConvex\(sigma\) must be a finite number"),
        (lambda: rates.Adaptive(0), r"Adaptive\(scale\) must be a finite number above 0"),
        (lambda: rates.PerCoordinate(math.inf), r"PerCoordinate\(scale\) must be a finite number"),
        (lambda: rates.CoinBetting(-1), r"CoinBetting\(wealth\) must be a finite number above 0"),
        (lambda: rates.Doubling(-1), r"Doubling\(eta\) must be a finite number above 0"),
    ],
)
def test_parameters_are_checked(make: Callable[[], Rate], message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)


class OwnSteps(Rate):
    """A rate with a pass of its own, for which nothing was written yet."""

    family = "own_steps"


class NoNumber(Rate):
    """A rate that is a number a round, but for the number."""


@pytest.mark.parametrize(
    "more",
    [
        {"mirror": mirrors.Ball(1.0)},
        {"mirror": mirrors.SoftThreshold(0.1)},
        {"domain": domains.Ball(1.0)},
        {"lazy": False},
        {"conservative": True},
    ],
    ids=str,
)
def test_a_rate_with_its_own_pass_goes_with_nothing_that_the_pass_ignores(more: Any) -> None:
    parts = {"mirror": mirrors.Euclidean()} | more
    with pytest.raises(ValueError, match="OwnSteps belongs to Euclidean"):
        MirrorDescent(losses.Logistic(), rate=OwnSteps(), **parts)


def test_a_rate_without_its_pass_or_its_number_is_refused_with_what_to_add() -> None:
    euclidean, logistic = mirrors.Euclidean(), losses.Logistic()
    learner = MirrorDescent(logistic, euclidean, OwnSteps())
    with pytest.raises(ValueError, match="'own_steps', which has no engine"):
        learner.learn([[1.0]], [1.0])
    with pytest.raises(ValueError, match="OwnSteps keeps records of features"):
        oco.Game(3, euclidean, OwnSteps())
    for play in (partial(MirrorDescent, logistic), partial(oco.Game, 3)):
        with pytest.raises(ValueError, match="NoNumber defines no at"):
            play(euclidean, NoNumber())
