"""Statements of dual ascent where rounding, underflow, overflow or an interrupt could bend them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar
from unittest import mock

import numpy as np
import pytest
from scipy.sparse import csr_array

from noregret import losses, mirrors
from noregret.learners import DualAscent, dual_store
from noregret.passes.dual.dual_online import ACCOUNTS, enter_slope
from noregret.proof.ledger import Entry, new_ledger
from noregret.rounding import EPSILON
from tests.learners.dual_product import everything, stream
from tests.sizes import sized


def exact_hinge(X: Any, y: Any, weight: Any, margin: float, u: Any) -> Fraction:
    """Return the weighted hinge loss of u without rounding."""
    total = Fraction(0)
    for x, label, c in zip(X.tolist(), y.tolist(), weight.tolist(), strict=True):
        p = sum((Fraction(a) * Fraction(b) for a, b in zip(x, u.tolist(), strict=True)), Fraction())
        total += Fraction(c) * max(Fraction(margin) - Fraction(label) * p, Fraction(0))
    return total


@pytest.mark.parametrize(
    ("C", "scale"), [(1e-320, 1.0), (1e-310, 1.0), (1e-300, 1e-12), (1.0, 1e-315), (1e-8, 1e-312)]
)
def test_products_that_underflow_are_accounted_for(C: float, scale: float) -> None:
    # C c is then a multiple of the smallest number, and theta with it.
    for seed in range(12):
        random = np.random.default_rng(seed)
        X, y = random.normal(size=(10, 3)), random.choice([-1.0, 1.0], 10)
        weight = random.uniform(0.1, 1.0, 10) * scale
        learner = DualAscent(losses.Hinge(1000.0), mirrors.Euclidean(), C)
        learner.learn(X, y, weight)
        certificate = learner.certificate()
        corner = np.zeros(3)
        place = int(np.argmax(np.abs(certificate.gradient)))
        corner[place] = -math.copysign(4.0, certificate.gradient[place])
        for u in (corner, random.normal(size=3)):
            lost = exact_hinge(X, y, weight, 1000.0, u)
            assert Fraction(certificate.floor(4.0, norm=1.0)) <= lost
            regret = Fraction(certificate.loss) - lost
            assert Fraction(certificate.regret(u)) + Fraction(certificate.slack) >= regret
            square = sum((Fraction(v) ** 2 for v in u.tolist()), Fraction(0)) / 2
            assert Fraction(certificate.regularized_floor()) <= lost + square / Fraction(C)
            assert Fraction(certificate.dual) <= Fraction(C) * lost + square
        assert Fraction(certificate.progress) * certificate.mistakes <= Fraction(certificate.dual)


def test_the_conjugate_of_an_entropy_at_the_smallest_rates() -> None:
    for theta in (0.7, 0.3, 1e-5):
        for eta in (1e-320, 3e-322, 1e-310):
            mirror = mirrors.UnnormalizedEntropy(1.0 / 3.0)
            upper = mirror.conjugate_upper(np.array([theta]), eta, 0.0, 1.0)
            # exp(a) - 1 is at least a.
            assert Fraction(upper) >= Fraction(1.0 / 3.0) * Fraction(theta)


def test_slack_remembers_what_was_taken_out_again() -> None:
    # A heavy row enters and leaves: what the light ones carry is lost from the sum of sizes.
    loss, ledger, accounts = losses.Hinge(1.0), new_ledger(), np.zeros(ACCOUNTS)
    exact, held = Fraction(0), []
    random = np.random.default_rng(0)
    for t in range(200):
        weight = 10.0 ** float(random.uniform(-3, 40)) if t % 2 else float(random.uniform(1, 2))
        s = -float(random.uniform(0.1, 1.0))
        enter_slope(loss, ledger, accounts, 1.0, weight, 0.0, s, 1.0)
        if t % 2:
            held.append((weight, s))
        else:
            exact += Fraction(weight) * Fraction(-s)
        ledger[Entry.ROUNDS] += 1.0
    for weight, s in held:
        enter_slope(loss, ledger, accounts, 1.0, weight, 0.0, s, -1.0)
    ledger[Entry.LAST_ETA] = 1.0
    empty = DualAscent(loss, mirrors.Euclidean(), dimension=1).certificate()
    certificate = replace(empty, ledger=ledger, accounts=accounts)
    assert abs(Fraction(certificate.intercept) - exact) <= Fraction(certificate.slack)
    assert certificate.slack >= EPSILON * float(exact)


def test_a_loss_that_only_its_weight_makes_too_large_is_refused() -> None:
    # C c is small and c f is not: the loss summed was infinite, and theorems then said 0.
    learner = DualAscent(losses.Squared(), mirrors.Ball(1e60), 1e-160, dimension=1)
    learner.learn([[1.0]], [1e90], [1e100])
    with pytest.raises(OverflowError, match="round 2 overflows"):
        learner.learn([[1e85]], [1.0], [1e100])
    certificate = learner.certificate()
    assert certificate.rounds == 1 and math.isfinite(certificate.loss)
    for bound in certificate.bounds_for(1.0):
        assert not bound.applies or bound.value >= 0.0


def test_nothing_is_proved_by_numbers_that_overflowed() -> None:
    X, y, _, _ = stream("hinge, Euclidean", 3)
    learner = DualAscent(losses.Hinge(), mirrors.Euclidean(), 0.5)
    learner.learn(X, y)
    certificate = learner.certificate()
    ledger = certificate.ledger.copy()
    ledger[Entry.LOSS] = math.inf
    ledger[Entry.LOSS_LOW] = math.nan
    for bound in replace(certificate, ledger=ledger).bounds_for(1.0):
        assert bound.measure == "mistakes" or bound.value == math.inf


def test_no_theorem_counts_more_mistakes_than_the_dual_proves() -> None:
    # As if most mistakes had gained nothing, which contradicts the theorem of a gain guaranteed.
    X, y, _, _ = stream("hinge, Euclidean", 4)
    for update in ("conservative", "exact"):
        learner = DualAscent(losses.Hinge(), mirrors.Euclidean(), 0.1, update)
        learner.learn(X, y)
        certificate = learner.certificate()
        ledger = certificate.ledger.copy()
        ledger[Entry.MISTAKES] *= 50.0
        worse = replace(certificate, ledger=ledger)
        found = [b for b in worse.bounds_for(1.0) if b.measure == "mistakes"]
        counted = [bound for bound in found if bound.applies]
        assert [bound.name for bound in counted] == ["dual ascent, gain as measured"]
        assert found[1].reason.startswith("this run contradicts it")
        for bound in counted:
            gain = Fraction(learner.C) / Fraction(bound.factor)
            assert gain * worse.mistakes <= Fraction(worse.dual)


def test_rows_whose_squares_vanish() -> None:
    for size in (1e-200, 0.0):
        learner = DualAscent(losses.Hinge(0.5), mirrors.Euclidean(), 0.25)
        learner.learn([[size], [-size]], [1, 1])
        names = {bound.name: bound for bound in learner.certificate().bounds_for(1.0)}
        bound = names["dual ascent, aggressive mistakes"]
        # Each of the two mistakes raised D by C margin.
        assert bound.applies and bound.factor == pytest.approx(2.0, rel=1e-9)
        assert "aggressive mistakes" in str(learner.certificate())


def test_all_digits_of_C_are_printed() -> None:
    learner = DualAscent(losses.Hinge(), mirrors.Euclidean(), 0.12345678901)
    learner.learn([[1.0]], [1])
    assert "C = 0.12345678901\n" in str(learner.certificate())


@dataclass(frozen=True)
class Deep(losses.Loss):
    """A hinge loss that begins five below zero."""

    nonnegative: ClassVar[bool] = False

    def value(self, y: float, p: float) -> float:
        return max(1.0 - y * p, 0.0) - 5.0

    def slope(self, y: float, p: float) -> float:
        return -y if y * p < 1.0 else 0.0

    def conjugate(self, y: float, s: float) -> float:
        return y * s + 5.0 if -1.0 <= y * s <= 0.0 else math.inf

    def lipschitz(self) -> float:
        return 1.0

    def lowest_slope(self, y: float) -> float:
        return min(-y, 0.0)

    def highest_slope(self, y: float) -> float:
        return max(-y, 0.0)


def test_a_loss_below_zero_is_not_taken_for_a_step_too_long() -> None:
    learner = DualAscent(Deep(), mirrors.Euclidean())
    learner.learn([[1.0], [0.5]], [1, -1])
    certificate = learner.certificate()
    assert certificate.fell == 0 and "too large" not in str(certificate), str(certificate)
    assert -10.0 <= certificate.dual <= learner.dual < -5.0, certificate.dual


def test_predictions_before_the_first_round_are_ones_own() -> None:
    learner = DualAscent(losses.Hinge(), mirrors.Euclidean())
    offset = np.array([0.5, -0.5])
    learner.predict([[1.0], [2.0]], offset)[:] = 7.0
    assert offset.tolist() == [0.5, -0.5]
    with pytest.raises(ValueError, match="X row 1: a value is not finite"):
        learner.predict([[1.0], [math.nan]])


def test_an_interrupt_while_rows_are_moved_leaves_them_together() -> None:
    random = np.random.default_rng(1)
    n = sized(36, 60)
    X = random.normal(size=(n, 40))
    y = random.choice([-1.0, 1.0], n)
    broken = DualAscent(losses.Hinge(), mirrors.Euclidean(), 0.3, "leader", sweeps=5)
    whole = DualAscent(losses.Hinge(), mirrors.Euclidean(), 0.3, "leader", sweeps=5)
    rows = csr_array(X)
    broken.learn(rows[:3], y[:3])
    begin, interrupts = 3, 0
    while begin < n:
        for moment in ("argsort", "concatenate"):
            with mock.patch.object(dual_store.np, moment, side_effect=KeyboardInterrupt):
                try:
                    broken.learn(rows[begin:], y[begin:])
                except KeyboardInterrupt:
                    interrupts += 1
            begin = broken.rounds
            certificate = broken.certificate()
            assert certificate.rounds == begin and broken._engine is not None
            assert broken._engine.count == begin
        broken.learn(rows[begin : begin + 9], y[begin : begin + 9])
        begin = broken.rounds
    whole.learn(rows, y)
    assert interrupts > 2
    kept = [everything(learner) for learner in (broken, whole)]
    assert kept[0] == kept[1]


@dataclass(frozen=True)
class Stretched(mirrors.Euclidean):
    """A map of one's own, of which no conjugate rounded upwards is known."""


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DualAscent(losses.Hinge(), mirrors.Euclidean(), k=math.inf), "k must be a whole"),  # type: ignore[arg-type]
        (lambda: DualAscent(losses.Hinge(), mirrors.Euclidean(), sweeps=None), "sweeps must be"),  # type: ignore[arg-type]
        (lambda: DualAscent(losses.Hinge(), Stretched()), "Stretched has no conjugate rounded"),
    ],
)
def test_what_would_fail_later_is_refused_at_once(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_a_radius_whose_power_overflows() -> None:
    assert mirrors.Power(3.0).complexity(1e200, 1.0, 2) == math.inf


def test_rows_of_zeros_have_no_best_C() -> None:
    """R = 0 makes sqrt(2 F / (m R^2)) infinite: no C is that one, and nothing is contradicted."""
    learner = DualAscent(losses.Hinge(), mirrors.Euclidean(), C=1.0, dimension=2)
    learner.learn(np.zeros((10, 2)), np.ones(10))
    (best,) = (b for b in learner.certificate().bounds_for(1.0) if b.name.endswith("the best C"))
    assert best.reason == "C is not sqrt(2 F / (m R^2)) = inf"
