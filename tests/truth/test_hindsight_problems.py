"""Is what the batch solver prints true? A short run of the problems, and of the judge itself."""

from __future__ import annotations

import math
from unittest import mock

import mpmath
import numpy as np
import pytest

import noregret as nr
from noregret.batch import Problem, hindsight
from noregret.batch.problem import link
from tests.sizes import sized
from tests.truth.claims import Tally
from tests.truth.hindsight_problems import COMBOS, LOSSES, Combo, main, run_one
from tests.truth.objectives import DIGITS, Objective, conjugate_at, loss_at, numbers

#: Problems a combination; in the short form two that are solved in a moment.
PROBLEMS = sized((0, 2), tuple(range(5)))
SHORT = [combo for combo in COMBOS if combo.layout.startswith("dense64")][:8]


@pytest.mark.parametrize("combo", SHORT, ids=lambda combo: combo.name)
def test_every_statement_is_true(combo: Combo) -> None:
    total = Tally()
    for k in PROBLEMS:
        tally = run_one(combo, [99, k])
        if tally is not None:
            assert not tally.false, "\n".join([f"problem {k}", *tally.false[:5]])
            total.add(tally)
    assert total.checked["primal"] >= 6
    assert total.checked["weak duality"] >= 6


def test_a_newton_round_that_overflows_leads_nowhere() -> None:
    combo = Combo(nr.losses.PowerHinge(3.0), "bias", None, "sparse64")
    tally = run_one(combo, [0, 65])
    assert tally is not None and not tally.false, tally


def test_the_slopes_returned_are_those_that_prove_the_dual() -> None:
    # One pass from a wild start is worse than the start, which is returned.
    tally = run_one(Combo(nr.losses.NegativeLog(), "radius", None, "sparse64"), [0, 390])
    assert tally is not None and not tally.false, tally.false


def _caught(combo: Combo) -> set[str]:
    tallies = [run_one(combo, [99, k]) for k in range(5)]
    return {text.split(":")[0] for tally in tallies if tally for text in tally.false}


def test_the_judge_catches_rounding_that_is_ignored() -> None:
    with (
        mock.patch("noregret.batch.objective.ROUND_ERRORS", 0.0),
        mock.patch("noregret.rounding.EPSILON", 0.0),
        mock.patch("noregret.batch.objective.UNDERFLOW", 0.0),
        mock.patch("noregret.batch.problem.LINK_ERRORS", -1e3),
        mock.patch("noregret.mirrors.norms.EPSILON", 0.0),
        mock.patch("noregret.mirrors.predictors.EPSILON", 0.0),
    ):
        assert {"primal", "dual"} <= _caught(SHORT[0])


def test_the_judge_catches_a_regulariser_one_part_in_a_thousand_million_too_small() -> None:
    plain = nr.mirrors.Euclidean
    true_conjugate = plain.conjugate_upper
    with mock.patch.object(
        plain, "conjugate_upper", lambda *given: true_conjugate(*given) * (1.0 - 1e-9)
    ):
        assert "dual" in _caught(SHORT[0])


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_the_judge_agrees_with_the_losses(loss: nr.losses.Loss) -> None:
    random = np.random.default_rng(1)
    checked = 0
    with mpmath.workdps(DIGITS):
        for y in (-1.0, 1.0):
            for p in random.standard_normal(40) * 2.0:
                y_, p_ = numbers([y, p])
                value, slope = loss.value(y, float(p)), loss.slope(y, float(p))
                assert value == pytest.approx(float(loss_at(loss, y_, p_)), rel=1e-12)
                if not math.isfinite(slope):
                    continue
                conjugate = conjugate_at(loss, y_, mpmath.mpf(slope))
                if mpmath.isfinite(conjugate):
                    # Fenchel and Young: equality at a slope, which both must belong to.
                    assert float(loss_at(loss, y_, p_) + conjugate - mpmath.mpf(slope) * p_) < 1e-12
                    assert loss.conjugate(y, slope) == pytest.approx(  # type: ignore[attr-defined]
                        float(conjugate), rel=1e-12, abs=1e-13
                    )
                    checked += 1
    assert checked >= 30


def test_the_command_prints_its_figures(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--problems", "1", "--seed", "3"]) == 0
    assert "1 problems (0 refused)" in capsys.readouterr().out


def objective_of(problem: Problem, weights: np.ndarray) -> float:
    with mpmath.workdps(DIGITS):
        return Objective(problem).primal(weights)


def test_a_box_away_from_zero_subtracts_its_least_square() -> None:
    for power in np.linspace(-12.0, -1.0, 60):
        w = np.full(3, 1.0 + 10.0**power)
        problem = Problem.of(np.eye(3), w, nr.losses.Squared(), nr.mirrors.Box(1.0, 2.0), 1e-3)
        assert problem.primal_upper(w) >= objective_of(problem, w)


@pytest.mark.parametrize("loss", [nr.losses.Exponential(), nr.losses.Logistic()], ids=str)
def test_a_loss_that_underflows_is_multiplied_by_its_weight(loss: nr.losses.Loss) -> None:
    problem = Problem.of([[1.0]], [1.0], loss, weight=[1e100], radius=750.0)
    for w in (700.0, 708.5, 709.0, 740.0):
        assert problem.primal_upper(np.array([w])) >= objective_of(problem, np.array([w]))


@pytest.mark.parametrize("r", [1.05, 1.2, 50.0])
def test_the_steepest_and_the_flattest_power_are_rounded_safely(r: float) -> None:
    random = np.random.default_rng(4)
    for _ in range(60):
        largest = 10.0 ** min(250.0 * (r - 1.0), 3.0)
        s = -largest * 10.0 ** -random.uniform(0, 2)
        problem = Problem.of([[1e-3]], [1.0], nr.losses.PowerHinge(r), strength=1e-3)
        with mpmath.workdps(DIGITS):
            exact = Objective(problem).dual(np.array([s]))
        with mock.patch.object(nr.losses.Loss, "nonnegative", False):
            assert problem.dual_lower(np.array([s])) <= exact
        w = link(problem.mirror, -problem.gradient(np.array([s]))[0] / 1e-3)
        assert problem.primal_upper(w) >= objective_of(problem, w)


def test_an_infinite_objective_has_not_converged() -> None:
    """No weights make all three predictions positive, where alone -ln is finite."""
    X = [[1.0, 2.0], [-1.0, 0.5], [0.3, -0.7]]
    for options in ({"l2": 1.0}, {"l2": 1.0, "radius": 1.0}, {"radius": 1.0}):
        found = hindsight(X, [0, 0, 0], nr.losses.NegativeLog(), max_passes=5, **options)
        assert found.primal == math.inf
        assert not found.converged


def test_losses_above_zero_have_a_lower_bound_above_zero() -> None:
    found = hindsight([[1.0], [2.0]], [1, 1], nr.losses.SquaredHinge(), l2=1e-9, max_passes=1)
    assert found.dual >= 0.0


def test_the_problem_is_named_with_all_its_digits() -> None:
    X, y, loss = [[1.0], [2.0]], [1, -1], nr.losses.Hinge(0.3)
    text = str(hindsight(X, y, loss, radius=1.23456789))
    assert "sum of Hinge(margin=0.3) over ||w||_2 <= 1.23456789:" in text
    text = str(hindsight(X, y, loss, l2=2.0, radius=0.1234567))
    assert "sum of Hinge(margin=0.3) + 2 x Ball(radius=0.1234567):" in text


@pytest.mark.parametrize("number", [298, 690])
def test_slopes_stay_finite_where_predictions_overflow(number: int) -> None:
    """Warm starts from what such runs return were refused: they held NaN."""
    combo = next(c for c in SHORT if c.mode == "radius" and "Exponential" in c.name)
    tally = run_one(combo, [1, number])
    assert tally is not None
    assert not tally.false, tally.false
