"""Shifting bounds: the paper's numbers, their preconditions, and the exact identity."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

import noregret as nr
from noregret import catalogue
from noregret.proof import closed_forms
from noregret.proof.statement import Statement
from noregret.tracking.lemmas import ShiftingBounds
from noregret.tracking.rerun import rerun
from noregret.tracking.schedules import Schedule
from noregret.tracking.shifting import shifting_bounds, tuned_alpha
from tests.oracles.data import X_T, Y_T, near

SQUARED = nr.losses.Squared()
UG = Schedule([(0, (0.2, 0.1, 0.1)), (2, (0.1, 0.1, 0.25))])
UE = Schedule([(0, (0.4, 0.3, 0.3)), (2, (0.3, 0.3, 0.4))])
US = Schedule([(0, (1, 0, 0)), (2, (0, 0, 1))])


def c_gd(radius: float = 0.3, eta: float = 1 / 8) -> nr.MirrorDescent:
    return catalogue.c_gd(radius, eta=eta)


def c_egu(alpha: float = 0.9) -> nr.MirrorDescent:
    return catalogue.c_egu(alpha, 3, 1.0, 1.0)


def c_eg(alpha: float = 0.9) -> nr.MirrorDescent:
    return catalogue.c_eg(alpha, 1.0)


def learnt(learner: nr.MirrorDescent, X: Any = X_T, y: Any = Y_T) -> nr.MirrorDescent:
    learner.learn(X, y)
    return learner


def total(found: ShiftingBounds, name: str) -> float:
    bound = of(found, name)
    assert bound.applies, bound.reason
    return found.total(bound)


def of(found: ShiftingBounds, name: str) -> Statement:
    (bound,) = [one for one in found.bounds if one.name == name]
    return bound


#: learner, schedule, loss of it, (b), largest norm of grad F seen, (c1), (c2), (c3), loss,
#: stability, gain of the projections, sum of the shift terms.
NUMBERS = {
    "C-GD": (
        c_gd, UG, 1.1641, 3.09086615306, 0.3, 3.07192349962, 2.68165734656, 1.90335418405,
        1.74723259819, 0.06828289551, 0.0200582908242, 0.0053,
    ),
    "C-EGU": (
        c_egu, UE, 0.5559, 2.41922062256, 1.20397280433, 2.2882745642, 1.58330047425,
        0.68861993658, 0.661084716382, 0.0776924696121, 0.00531931550337, 0.0058031975483,
    ),
    "C-EG": (
        c_eg, UE, 0.5559, 2.66236435365, 0.143841036226, 0.891570780852, 0.867339399599,
        0.645037922305, 0.63733827217, 0.102165879864, 0.0650668647268, 0.0126139530767,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_g7_everything_to_print(name: str, form: Any) -> None:
    make, schedule, own, b, peak, c1, c2, c3, loss, stability, gain, turns = NUMBERS[name]
    learner = learnt(make(), form(X_T))
    found = shifting_bounds(learner, schedule, form(X_T), Y_T)
    assert found.schedule_loss == near(own) and found.loss == near(loss)
    assert total(found, name) == near(b)
    assert total(found, "largest weights seen") == near(c1)
    assert total(found, "exact shift costs") == near(c2)
    assert total(found, "additive, exact shift costs") == near(c3)
    assert loss <= c2 <= c1 <= b and loss <= c3
    run = rerun(learner, schedule, form(X_T), Y_T)
    assert run.trace is not None
    assert (run.trace.peak, run.trace.stability) == near((peak, stability))
    assert (run.trace.gain, run.turns) == near((gain, turns))
    left, right = run.identity()
    assert left == near(right)
    # Projections measured round by round can only help, and give away nothing more.
    assert total(found, "exact shift costs and projections") <= c2
    assert found.schedule_loss + left == near(total(found, "exact identity"))


def test_t16_a_constant_comparator_has_the_static_bound() -> None:
    schedule = Schedule([(0, (0.1, 0.1, 0.25))])
    found = shifting_bounds(learnt(c_gd()), schedule, X_T, Y_T)
    assert found.schedule_loss == near(1.191025) and found.shifts == 0 == found.size
    assert total(found, "C-GD") == near(2.71205)
    static = closed_forms.amortised_gd(math.sqrt(2)).bound(1.191025, 0.5 * 0.0825)
    assert total(found, "C-GD") == near(static)


def test_t17_shift_costs() -> None:
    """G of the shift, and its lower bound by the size of the set."""
    for make, schedule, cost, lowest in (
        (c_gd, UG, -0.01655, -0.065333269132),
        (c_egu, UE, -0.0058031975483, -0.240794560865),
    ):
        learner = learnt(make())
        run = rerun(learner, schedule, X_T, Y_T)
        before, after = schedule.comparators
        (w,) = run.at_shifts
        divergence = run.potential.divergence
        assert divergence(before, w) - divergence(after, w) == near(cost)
        assert -run.climb - run.turns == near(cost)
        gamma = 0.3 if make is c_gd else math.log(3 / 0.9)
        size = schedule.size(2 if make is c_gd else 1)
        assert -run.climb - gamma * size == near(lowest)
        assert lowest <= cost


def test_t22_sharper_constant() -> None:
    found = shifting_bounds(learnt(c_eg()), UE, X_T, Y_T)
    assert total(found, "C-EG, range of ln w") == near(0.891570780852)
    assert total(found, "tracking in a bounded set") <= total(found, "C-EG, range of ln w")


def test_t24_t25_sparse_comparators_and_tuning() -> None:
    assert tuned_alpha(6, 4.0) == near(0.8)
    assert tuned_alpha(5, 2.0, simplex=3) == near(0.375) and tuned_alpha(5, 2.0, simplex=1) == 1.0
    learner = learnt(c_egu(tuned_alpha(6, 4.0)))
    found = shifting_bounds(learner, US, X_T, Y_T, guess=(6, 4.0))
    assert (found.loss, found.schedule_loss) == near((0.642626635651, 0.15))
    assert learner.weights == near([0.338593924236, 0.266666666667, 0.614301899403])
    assert total(found, "C-EGU, sparse comparators") == near(21.2763719059)
    assert total(found, "C-EGU, alpha from guesses") == near(23.6763719059)
    assert not of(found, "C-EGU").applies and found.best_alpha == near(0.5)
    capped = shifting_bounds(learnt(c_egu(1.0)), US, X_T, Y_T, guess=(5, 9.0))
    assert tuned_alpha(5, 9.0) == 1.0
    assert total(capped, "C-EGU, alpha from guesses") == near(22.337510598)
    assert total(capped, "C-EGU, sparse comparators") == near(22.337510598)


def test_t26_sparse_comparators_on_the_simplex() -> None:
    found = shifting_bounds(learnt(c_eg(0.5)), US, X_T, Y_T)
    assert found.loss == near(0.481951576839)
    assert total(found, "C-EG, sparse comparators") == near(6.38515062333)
    assert not of(found, "C-EG").applies
    assert total(found, "exact identity") <= total(found, "C-EG, sparse comparators")


def sparse_value(alpha: float, n: int, rounds: int, size: float, simplex: bool) -> float:
    """Return the part of the bound for sparse comparators that depends on alpha."""
    if not simplex:
        return math.log(n / alpha) * size + alpha * (rounds - 1)
    lost = -math.log(1 - alpha * (n - 1) / n)
    return 0.5 * math.log(n / alpha - n + 1) * size + (rounds - 1) * lost


@pytest.mark.parametrize("simplex", [False, True])
def test_the_best_alpha_is_the_best(simplex: bool) -> None:
    learner = learnt(c_eg(0.5) if simplex else c_egu(0.8))
    best = shifting_bounds(learner, US, X_T, Y_T).best_alpha
    assert best is not None
    values = [sparse_value(best * f, 3, 5, 2.0, simplex) for f in (0.99, 1.0, 1.01)]
    assert values[1] == min(values)


def test_larger_rates_have_a_factor_of_their_own() -> None:
    """Between the paper's rate and twice that, the comparator's loss is multiplied by more."""
    found = shifting_bounds(learnt(c_gd(eta=0.2)), UG, X_T, Y_T)
    assert of(found, "C-GD").factor == near(1 / (1 - 4 * 0.2))
    assert found.loss <= total(found, "exact shift costs")
    too_large = of(shifting_bounds(learnt(c_gd(eta=0.25)), UG, X_T, Y_T), "C-GD")
    assert not too_large.applies and "eta is too large for rows of norm 1.41422" in str(too_large)


def test_preconditions_are_checked_on_the_data() -> None:
    signed = X_T.copy()
    signed[1, 0] = -0.2
    for X, y, words in (
        (signed, Y_T, "a negative feature, -0.2"),
        (X_T, Y_T - 0.3, "a negative label, -0.19999999999999998"),
        (X_T, Y_T * 8, "clipped to below its label"),
        (X_T * 8, Y_T, "eta is too large for features up to 8"),
    ):
        found = shifting_bounds(learnt(c_egu(), X, y), UE, X, y)
        assert words in of(found, "C-EGU").reason
        assert words in of(found, "exact shift costs").reason
        # These need nothing of the kind.
        assert of(found, "additive, exact shift costs").applies
        left, right = found.identity or (0.0, 1.0)
        assert left == near(right)
    wide = shifting_bounds(learnt(c_eg(), X_T * 2, Y_T), UE, X_T * 2, Y_T)
    assert "rows of width 2" in of(wide, "C-EG").reason
    offset = shifting_bounds(learnt(c_eg(), X_T + 5, Y_T), UE, X_T + 5, Y_T)
    assert of(offset, "C-EG").applies
    absolute = catalogue.c_gd(0.3, loss=nr.losses.Absolute(), eta=0.1)
    other = shifting_bounds(learnt(absolute), UG, X_T, Y_T)
    assert of(other, "C-GD").reason == "the loss is not the square loss"
    assert of(other, "exact identity").applies


def test_without_a_set_the_weights_seen_speak() -> None:
    found = shifting_bounds(learnt(catalogue.gd(eta=1 / 8)), UG, X_T, Y_T)
    general = of(found, "tracking in a bounded set")
    assert general.reason == "the weights are not kept in a bounded set"
    assert found.loss <= total(found, "exact shift costs") <= total(found, "largest weights seen")
    still = shifting_bounds(learnt(catalogue.gd(eta=1 / 8)), Schedule([(0, (1, 0, 0))]), X_T, Y_T)
    assert of(still, "tracking in a bounded set").applies


def test_without_a_trace_the_weights_at_the_shifts_are_enough() -> None:
    full = shifting_bounds(learnt(c_gd()), UG, X_T, Y_T)
    quick = shifting_bounds(learnt(c_gd()), UG, X_T, Y_T, traced=False)
    assert quick.identity is None
    names = {bound.name for bound in quick.bounds}
    assert names == {"C-GD", "tracking in a bounded set", "exact shift costs"}
    for name in names:
        assert total(quick, name) == near(total(full, name))
    doubtful = shifting_bounds(learnt(c_egu(), X_T, Y_T * 8), UE, X_T, Y_T * 8, traced=False)
    assert "with traced=True only" in of(doubtful, "C-EGU").reason


def test_the_shifting_p_norm() -> None:
    learner = learnt(catalogue.shifting_p_norm(4.0, 0.5, row_limit=2.0**0.25))
    found = shifting_bounds(learner, UG, X_T, Y_T)
    assert found.norm == near(4 / 3)
    assert of(found, "shifting p-norm").factor == 2.0
    assert found.loss <= total(found, "exact shift costs") <= total(found, "shifting p-norm")
    left, right = found.identity or (0.0, 1.0)
    assert left == pytest.approx(right, rel=1e-9, abs=1e-9)


def test_it_prints_like_the_bounds_of_a_certificate() -> None:
    found = shifting_bounds(learnt(c_gd()), UG, X_T, Y_T)
    text = str(found)
    assert text.startswith("Shifting bounds after 5 rounds, 1 shift of total size 0.180278")
    row = next(line for line in text.splitlines() if "C-GD" in line)
    assert row.split() == "C-GD loss - 2 L(u) <= 0.762667, in all 3.09087".split()
    plain = found.as_dict()
    assert plain["bounds"][0]["name"] == "C-GD" and plain["rounds"] == 5
    outside = shifting_bounds(learnt(c_gd()), US, X_T, Y_T)
    assert "not applicable: comparator 0 is not in Ball(radius=0.3)" in str(outside)
    assert outside.as_dict()["bounds"][0]["total"] is None
    assert "the best alpha is" in str(shifting_bounds(learnt(c_eg()), UE, X_T, Y_T))


def test_refusals() -> None:
    learner = learnt(c_gd())
    with pytest.raises(ValueError, match="learn the rows first"):
        shifting_bounds(c_gd(), UG, X_T, Y_T)
    with pytest.raises(ValueError, match="has not learnt exactly these 5 rows"):
        shifting_bounds(learner, UG, X_T[::-1], Y_T[::-1])
    with pytest.raises(ValueError, match="has not learnt exactly these 4 rows"):
        shifting_bounds(learner, UG, X_T[:4], Y_T[:4])
    with pytest.raises(ValueError, match="comparators of the schedule have 1 features"):
        shifting_bounds(learner, Schedule([(0, [1.0])]), X_T, Y_T)
    ball = nr.domains.Ball(1)
    rate = nr.rates.Constant(0.1)
    lazy = learnt(nr.MirrorDescent(SQUARED, nr.mirrors.Euclidean(), rate, ball))
    with pytest.raises(ValueError, match="use lazy=False"):
        shifting_bounds(lazy, UG, X_T, Y_T)
    falling = nr.MirrorDescent(
        SQUARED, nr.mirrors.Euclidean(), nr.rates.InverseSqrt(0.1), ball, lazy=False
    )
    with pytest.raises(ValueError, match="for a constant rate, got InverseSqrt"):
        shifting_bounds(learnt(falling), UG, X_T, Y_T)
    with pytest.raises(ValueError, match="implicit=True"):
        shifting_bounds(learnt(catalogue.gd(eta=0.1, implicit=True)), UG, X_T, Y_T)
    for arguments in ((1, 1.0), (math.nan, 1.0), (2, 0.0), (2, math.inf)):
        with pytest.raises(ValueError, match="tuned_alpha"):
            tuned_alpha(*arguments)
    guessed = shifting_bounds(learnt(c_egu(0.8)), US, X_T, Y_T, guess=(3, 1.6))
    assert "more rounds than the 3" in of(guessed, "C-EGU, alpha from guesses").reason
    other = shifting_bounds(learnt(c_egu(0.8)), US, X_T, Y_T, guess=(6, 1.0))
    assert "alpha = 0.2" in of(other, "C-EGU, alpha from guesses").reason
