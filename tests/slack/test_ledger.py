"""Entries of the ledger that only slack and preconditions use, against their definitions."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret import losses, mirrors, rates
from noregret.passes.rows import add_scaled, row_at
from noregret.proof.ledger import Entry


def ledger(learner: Any) -> np.ndarray:
    found: np.ndarray = learner.certificate().ledger
    return found


def test_the_magnitude_is_the_sum_of_all_sizes_that_are_rounded() -> None:
    rng = np.random.default_rng(0)
    made, y, weight = rng.normal(size=20), 3.0 * rng.normal(size=20), rng.choice([0.5, 2.0], 20)
    loss = losses.Huber(0.7)
    proof = nr.certify(np.ones((20, 1)), y, made, loss, weight)
    least = 0.0
    for label, p, mass in zip(y, made, weight, strict=True):
        value, slope = mass * loss.value(label, p), mass * loss.slope(label, p)
        # The loss, the height of the line, and both ends of the product slope (p - y).
        least += abs(value) + abs(value - slope * p) + abs(slope) * (abs(label) + abs(p))
    assert proof.ledger[Entry.MAGNITUDE] == pytest.approx(least, rel=1e-12)


def test_the_magnitude_knows_lines_that_are_high_where_losses_are_low() -> None:
    # At p = y the loss is 0, and the line has a height of -y^2 that cancels against <u, Z>.
    loss = losses.Quantile(0.5)
    proof = nr.certify(np.ones((3, 1)), [8.0] * 3, [8.5] * 3, loss)
    heights = 3 * abs(loss.value(8.0, 8.5) - loss.slope(8.0, 8.5) * 8.5)
    assert proof.ledger[Entry.MAGNITUDE] >= heights + 3 * 0.5 * 16.5 - 1e-9


def test_the_way_of_Z_is_measured_in_the_1_norm() -> None:
    X = np.array([[3.0, 4.0], [-1.0, 1.0]])
    proof = nr.certify(X, [1.0, -1.0], [0.0, 0.0], losses.Hinge())
    assert proof.ledger[Entry.TRAVEL] == 9.0


def test_weights_of_examples_are_kept_for_all_rounds_and_for_counted_ones() -> None:
    learner = nr.catalogue.perceptron(1)
    # The second example is right and the third weighs nothing special: both are not counted.
    learner.learn([[1.0], [2.0], [1.0], [1.0]], [1.0, 1.0, 1.0, -1.0], [2.0, 5.0, 0.25, 3.0])
    found = ledger(learner)
    assert (found[Entry.LEAST_WEIGHT], found[Entry.MOST_WEIGHT]) == (0.25, 5.0)
    assert (found[Entry.LIGHTEST], found[Entry.HEAVIEST]) == (2.0, 3.0)
    assert found[Entry.COUNTED] == 2.0
    # Losses of the counted rounds: 2 * 1 at p = 0, and 3 * (1 + 2) at p = 2.
    assert found[Entry.COUNTED_LOSS] == 11.0


def test_the_first_round_that_breaks_a_promise_is_remembered() -> None:
    learner = nr.MirrorDescent(
        losses.Hinge(), mirrors.Entropy(), rates.Constant(1.0), dimension=2, row_limit=1.0
    )
    learner.learn([[0.5, 0.5], [1.5, 0.0], [-1.5, 2.0], [3.0, 0.0]], [1.0, 1.0, -1.0, -1.0])
    found = ledger(learner)
    assert found[Entry.LIMIT_BROKEN] == 2.0
    assert found[Entry.FEATURE_BROKEN] == 2.0
    assert found[Entry.STEP_BROKEN] == 2.0


def test_a_negative_feature_breaks_the_promise_of_winnow() -> None:
    learner = nr.catalogue.winnow(dimension=2)
    learner.learn([[0.5, 1.0], [-0.5, 0.5]], [1.0, 1.0])
    assert ledger(learner)[Entry.FEATURE_BROKEN] == 2.0


def test_underflows_are_part_of_both_slacks() -> None:
    tiny = 1e-200
    proof = nr.certify(np.full((4, 3), tiny), [tiny] * 4, [0.0] * 4, losses.Squared())
    # Products of slopes and features vanish: what they were is covered.
    lost = 4 * 2 * Fraction(tiny) * Fraction(tiny)
    assert Fraction(proof.slack) >= 4 * Fraction(tiny) * Fraction(tiny)
    assert Fraction(proof.delta) >= 3 * lost
    assert proof.delta < 1e-150


def test_a_row_whose_squares_vanish_is_not_taken_for_a_shorter_one() -> None:
    proof = nr.certify([[1e-200, 1e-200]], [1.0], [0.0], losses.Hinge())
    true = 2 * Fraction(1e-200) ** 2
    assert Fraction(float(proof.ledger[Entry.LARGEST_ROW])) ** 2 >= true


def test_a_gradient_whose_square_would_overflow_is_refused() -> None:
    with pytest.raises(ValueError, match="overflows"):
        nr.certify([[1e100]], [1.0], [0.0], losses.Hinge(), [1e80])


def test_sums_of_rows_keep_what_rounding_loses() -> None:
    """2^53 + 1 rounds to 2^53: the 1 is kept beside it, and so are three of them."""
    state = np.array([[2.0**53, 0.0], [0.0, 0.0]])
    row = row_at(np.array([0], np.uint64), np.array([0], np.uint64), np.array([[1.0, -2.0]]), 0)
    assert [add_scaled(state, 1.0, row) for _ in range(3)] == [3.0] * 3
    assert state.tolist() == [[2.0**53, 3.0], [-6.0, 0.0]]
