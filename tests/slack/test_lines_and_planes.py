"""Printed lines are rounded outwards, and planes of scores enter the ledger with their weights."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

import noregret as nr
from noregret import losses, mirrors, rates
from noregret.proof.ledger import Entry
from noregret.proof.statement import Statement, at_least, at_most
from noregret.proof.wording import bound_lines
from noregret.rounding import down


def numbers(line: str) -> tuple[Fraction, Fraction]:
    """Return the number of a line, and its average a round."""
    words = line.split()
    each = words.index("a") - 1
    return Fraction(words[each - 1]), Fraction(words[each])


@pytest.mark.parametrize("value", [0.1, 1.0, 123456.5, 0.3, 7.0000005, 1e-3 + 1e-12])
@pytest.mark.parametrize("rounds", [1, 3, 7, 10])
def test_lines_of_bounds_are_rounded_outwards(value: float, rounds: int) -> None:
    low, low_each = numbers(at_least("floor", value, rounds))
    high, high_each = numbers(at_most("regret", value, rounds))
    assert low <= Fraction(value) <= high
    assert low_each * rounds <= Fraction(value) <= high_each * rounds


@pytest.mark.parametrize("value", [0.015, 0.03, 0.12, 0.237])
def test_an_average_whose_quotient_rounds_up_is_printed_below_it(value: float) -> None:
    # These floats are below their decimals, a third of them is not.
    assert Fraction(value) < Fraction(str(value)) <= Fraction(down(value / 3)) * 3
    _, printed = numbers(at_least("floor", value, 3))
    assert printed * 3 <= Fraction(value)


def test_mistakes_beside_weights_are_of_the_rounds() -> None:
    X, y = np.eye(3), [1.0, -1.0, 1.0]
    for weight, words in (([1.0, 1.0, 1.0], False), ([1.0, 2.0, 1.0], True)):
        learner = nr.MirrorDescent(losses.Hinge(), mirrors.Euclidean(), rates.Constant(0.1))
        learner.learn(X, y, weight)
        (line,) = [line for line in str(learner.certificate()).splitlines() if "mistakes" in line]
        assert ("of the rounds, not weighted" in line) == words


def test_the_loss_of_u_is_explained_where_a_theorem_names_it() -> None:
    stated = Statement("OGD", "a paper", 3.0)
    for bounds, explained in (
        ([], False),
        ([replace(stated, applies=False, reason="the rate changed")], False),
        ([stated], True),
    ):
        proof = SimpleNamespace(bounds_for=lambda radius, found=bounds: found, objective="Hinge")
        lines = bound_lines(proof, 1.0)
        assert any("L(u): what such a u lost by Hinge" in line for line in lines) == explained


@pytest.mark.parametrize("margin", [0.3, 0.7, 3.0, 0.5, 2.0])
def test_a_perceptron_bound_is_not_below_its_quotient(margin: float) -> None:
    learner = nr.MirrorDescent(
        losses.Hinge(margin), mirrors.Euclidean(), rates.Constant(1.0), conservative=True
    )
    learner.learn(np.eye(3), [1.0, -1.0, 1.0])
    bound = next(
        one for one in learner.certificate().bounds if one.name == "Perceptron, after the fact"
    )
    assert Fraction(bound.factor) * Fraction(margin) >= 1
    if math.log2(margin).is_integer():
        assert Fraction(bound.factor) * Fraction(margin) == 1


def planes(weight: float) -> np.ndarray:
    """Return the ledger after one row of that weight, at scores that are not 0."""
    learner = nr.MatrixDescent(losses.Softmax(), mirrors.Euclidean(), rates.Constant(0.5), 3, 2)
    learner.learn([[1.0, 2.0]], [1])
    before = learner.certificate().ledger.copy()
    learner.learn([[2.0, 1.0]], [0], [weight])
    return learner.certificate().ledger - before


def test_a_plane_of_scores_is_entered_with_its_weight_and_size() -> None:
    learner = nr.MatrixDescent(losses.Softmax(), mirrors.Euclidean(), rates.Constant(0.5), 3, 2)
    learner.learn([[1.0, 2.0]], [1])
    x = np.array([2.0, 1.0])
    s = learner.weights.T @ x
    p = np.exp(s - s.max())
    p /= p.sum()
    slopes = p - np.array([1.0, 0.0, 0.0])
    value = -math.log(p[0])
    for weight in (1.0, 3.0):
        entered = planes(weight)
        lift = weight * float((np.abs(slopes) * (1.0 + np.abs(s))).sum())
        intercept = weight * (value - float(slopes @ s))
        magnitude = entered[Entry.MAGNITUDE]
        # The loss itself is entered as well: its size, or more.
        assert magnitude >= weight * value + abs(intercept) + lift - 1e-12
        length = weight * float(np.linalg.norm(slopes) * np.linalg.norm(x))
        assert entered[Entry.SQUARES] == pytest.approx(length**2, rel=1e-12)
