"""What cannot be learnt is refused in one line, and nothing has moved."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret import experts, losses
from noregret.experts import Forecaster, Hedge, Shares, Specialists
from noregret.files import store

GOOD = np.array([[0.2, 0.8], [0.9, 0.1]])


def state(learner: Any) -> list[bytes]:
    return [array.tobytes() for array in learner._to_file()[1].values()]


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        ([[0.1, 0.2], [0.3, 1.5]], "costs row 1, expert 1: 1.5; expected a number in [0, 1]"),
        ([[0.1, -0.1]], "costs row 0, expert 1: -0.1; expected a number in [0, 1]"),
        ([[0.1, math.nan]], "costs row 0, expert 1: nan; expected a number in [0, 1]"),
        ([[0.1, 0.2, 0.3]], "costs has shape (1, 3), expected rows of 2 numbers"),
        ([["a", "b"]], "costs must hold numbers"),
        ([["0.1", "0.2"]], "costs must hold numbers: found text (<U3)"),
        (np.array([[0.1j, 0.2]]), "costs must hold numbers: found complex numbers (complex128)"),
    ],
)
@pytest.mark.parametrize("make", [lambda: Hedge(2, 0.5), lambda: Shares(2, 0.5, 0.1)])
def test_costs(make: Any, costs: Any, message: str) -> None:
    learner = make()
    learner.learn(GOOD)
    before = state(learner)
    with pytest.raises(ValueError) as error:
        learner.learn(costs)
    assert message in str(error.value) and "\n" not in str(error.value)
    assert state(learner) == before and learner.rounds == 2
    with pytest.raises(ValueError, match=r"costs has shape \(2, 2\), expected \(2,\)"):
        learner.suffer(GOOD)


def test_unpromised_costs_must_still_be_numbers() -> None:
    learner = Hedge(2)
    learner.learn(1e99 * GOOD)
    for bad in (math.inf, 1e101, math.nan):
        with pytest.raises(ValueError, match="row 0, expert 1: "):
            learner.learn([[0.0, bad]])
    assert learner.rounds == 2


def test_sleeping() -> None:
    learner = Specialists(2, 0.5)
    learner.learn(GOOD, [[True, False], [True, True]])
    before = state(learner)
    cases = [
        (GOOD, [[True, True], [False, False]], "awake row 1: all experts are asleep"),
        (GOOD, [[True, True]], "awake must be booleans of shape (2, 2)"),
        (GOOD, [[1, 1], [1, 1]], "awake must be booleans of shape (2, 2), got int64"),
        ([[2.0, 0.5]], [[True, True]], "costs row 0, expert 0: 2; expected a number in [0, 1]"),
    ]
    for costs, awake, message in cases:
        with pytest.raises(ValueError) as error:
            learner.learn(costs, awake)
        assert message in str(error.value)
        assert state(learner) == before
    with pytest.raises(ValueError, match="all experts are asleep"):
        learner.weights([False, False])
    # What a sleeping expert would have cost is not looked at.
    assert learner.suffer([0.25, math.nan], [True, False]) == 0.25


def test_forecasts() -> None:
    forecaster = Forecaster(2, losses.Squared(), "concave", 0.0, 1.0)
    forecaster.learn(GOOD, [0.5, 0.5])
    before = state(forecaster)
    cases = [
        ([[0.5, 2.0]], [0.5], "predictions row 0, expert 1: 2; expected a number in [0, 1]"),
        ([[0.5, 1.0]], [1.5], "outcomes row 0, expert 0: 1.5; expected a number in [0, 1]"),
        ([[0.5, 1.0]], [0.5, 0.5], "y has shape (2,), expected (1,)"),
    ]
    for predictions, outcomes, message in cases:
        with pytest.raises(ValueError) as error:
            forecaster.learn(predictions, outcomes)
        assert message in str(error.value)
        assert state(forecaster) == before
    with pytest.raises(ValueError, match="weight above 1 needs eta='adaptive'"):
        forecaster.learn(GOOD, [0.5, 0.5], [1.0, 2.0])
    # Numbers that overflow in the second round: the first is taken back as well.
    free = Forecaster(2, losses.Squared())
    with pytest.raises(ValueError, match="predictions row 1: the loss or its slope overflows"):
        free.learn([[0.0, 1.0], [1e90, -1e90]], [0.0, 0.0])
    assert free.rounds == 0 and free.weights.tolist() == [0.5, 0.5]


def test_weights_that_do_not_sum_to_one() -> None:
    learner = Hedge(2, 0.5)
    learner.learn(GOOD)
    for call in (
        lambda: learner.certificate().regret([0.5, 0.6]),
        lambda: experts.draw([0.5, 0.6], 0.5),
        lambda: experts.rebalanced([[1.1, 0.9]], [0.5, 0.6]),
    ):
        with pytest.raises(ValueError, match=r"must sum to 1, got the sum 1\.1"):
            call()
    with pytest.raises(ValueError, match=r"u must not be negative, got -0.5 at index 1"):
        learner.certificate().regret([1.5, -0.5])
    with pytest.raises(ValueError, match="u has 3 components, expected 2"):
        learner.certificate().regret([0.5, 0.25, 0.25])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Hedge(0, 0.5), "experts must be a whole number >= 1, got 0"),
        (lambda: Hedge(2.5, 0.5), "experts must be a whole number >= 1, got 2.5"),  # type: ignore[arg-type]
        (lambda: Hedge(2, -1.0), "eta must be a finite number above 0, got -1.0"),
        (lambda: Hedge(2, math.nan), "eta must be a finite number above 0, got nan"),
        (lambda: Hedge(2, "best"), "eta must be a number above 0 or one of 'anytime'"),
        (lambda: Hedge(2, 0.5, 1.0, 1.0), "low must be below high, got 1.0 and 1.0"),
        (lambda: Hedge(2, "anytime", high=math.inf), "eta='anytime' needs costs of a promised"),
        (lambda: Shares(2, 0.5, 0.0), "alpha must be a finite number above 0 and at most 1"),
        (lambda: Shares(2, 0.5, 0.1, "open"), "update must be 'fixed' or 'projection'"),
        (lambda: Shares(2, 0.5, 1e-309), "alpha must be at least 1e-280, got 1e-309"),
        (lambda: Shares(2, 0.5, 0.1).certificate().switching_bound(-1), "switches must be a whole"),
        (lambda: Shares(2, 0.5, 0.1).certificate().best_alpha(-1), "switches must be a whole"),
        (lambda: Specialists(2, 0.5, high=math.inf), "low and high must be finite"),
        (lambda: Specialists(2, 1e308), "eta must be a finite number above 0 and at most 1e+150"),
        (lambda: Hedge(2, None), "eta must be a finite number above 0, got None"),  # type: ignore[arg-type]
        (lambda: Hedge(2, 0.5, -1e300, 1e300), "low and high must be infinite or within 1e+100"),
        (lambda: Hedge(2, 0.5, "a", 1.0), "low must be below high, got a and 1.0"),  # type: ignore[arg-type]
        (lambda: experts.weighted_majority("a", 3), "experts must be a whole number"),  # type: ignore[arg-type]
        (lambda: experts.weighted_majority(2), "give rounds or eta, and not both"),
        (lambda: Forecaster(2, losses.Absolute(), "concave", 0, 1), "is exp-concave on"),
        (lambda: Forecaster(2, losses.Squared(), against="all"), "against must be 'experts'"),
        (lambda: experts.best_sequence(GOOD, -1), "switches must be a whole number >= 0"),
        (lambda: experts.best_combination(np.empty((0, 2)), [], losses.Squared()), "expected rou"),
        (lambda: experts.portfolio_eg([[1.0, 0.0]]), "relatives row 0, asset 1: 0; expected a nu"),
        (lambda: experts.online_newton([[1.0, 1e-60]]), "between 1e-50 and 1e+50"),
        (lambda: experts.best_expert([[1.0, 2.0], [3.0]]), "costs must hold numbers: "),
        (
            lambda: experts.best_combination([[1.0, -2.0]], [0.0], losses.NegativeLog()),
            "of the mean prediction is not finite",
        ),
        (lambda: experts.universal_pair([[1.0, 1.0, 1.0]]), "expected rows of 2 assets"),
        (lambda: experts.SurrogateClassifier(2).learn([0, 2], 1), "values must be 2 numbers 0 or"),
        (lambda: experts.SurrogateClassifier(2).learn([0, 1], 2), "y must be 0 or 1, got 2"),
        (lambda: Shares(2, 0.5, 0.1).certificate().switching_bound(1), "switches must be 0 ..."),
    ],
)
def test_settings(make: Any, message: str) -> None:
    with pytest.raises(ValueError) as error:
        make()
    assert message in str(error.value) and "\n" not in str(error.value)


def test_files_of_something_else(tmp_path: Path) -> None:
    learner = Hedge(2, 0.5)
    learner.learn(GOOD)
    learner.save(tmp_path / "hedge.nr")
    header, arrays = store.read(tmp_path / "hedge.nr")
    spoilt: list[tuple[dict[str, Any], dict[str, Any], str]] = [
        (header | {"game": "Roulette"}, arrays, "holds 'Roulette', not a model of a kind"),
        (header | {"eta": -1.0}, arrays, "eta must be a finite number above 0"),
        (header | {"experts": 3}, arrays, "expected (3,)"),
        (header, {k: v for k, v in arrays.items() if k != "totals"}, "holds no whole model"),
        (header, arrays | {"parts": np.array([1.0, -1.0])}, "not those of weights"),
        (header, arrays | {"totals": np.array([math.nan, 0.0])}, "totals holds NaN"),
    ]
    for head, body, message in spoilt:
        store.write(tmp_path / "bad.nr", head, body)
        with pytest.raises(ValueError) as error:
            nr.load(tmp_path / "bad.nr")
        assert message in str(error.value) and "bad.nr" in str(error.value)
