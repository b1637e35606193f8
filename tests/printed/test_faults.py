"""Faults that texts once had, put back: the referee calls each of them false."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tests.printed.aggregate import Aggregate
from tests.printed.audits import audit
from tests.printed.bandits import off_policy
from tests.printed.data import Data
from tests.printed.figures import Figure, nearest, rounded_down, rounded_up
from tests.printed.grammar import Unparsed, parse
from tests.printed.hindsight import Hindsight
from tests.printed.linear import Linear, Reading
from tests.printed.path import Path


def reading(data: Data) -> Reading:
    return Reading(data, np.random.default_rng(0))


def false(verdicts: object, kind: str) -> bool:
    return any(text.startswith(f"{kind}: ") for text in verdicts.false)  # type: ignore[attr-defined]


def test_floor_of_a_penalised_loss_without_its_penalty() -> None:
    text = """\
Certificate after 200 rounds, Hinge
  learner's loss                      52.7  0.2635 a round
  mistakes                               1  0.50%
  certified floor                  49.9999  0.249999 a round
    every u with ||u||_2 <= 1 lost at least that much
  regret at most                   2.69998  0.0134999 a round
  strongly convex OGD, observed gradients  loss - L(u) <= 2.69998
  strongly convex OGD                      loss - L(u) <= 6.29832
"""
    predictions = np.minimum(2.0 / np.maximum(np.arange(200), 1), 1.0)
    predictions[0] = 0.0
    data = Data(np.ones((200, 1)), np.ones(200), "Hinge", {"margin": 1.0}, None, predictions)
    verdicts = Linear(text, None, reading(data)).judge()
    assert false(verdicts, "floor")
    assert false(verdicts, "loss")


def test_theorem_for_another_class_than_the_one_named() -> None:
    text = """\
Certificate after 50 rounds, Absolute
  learner's loss                    237.75  4.755 a round
  certified floor                        0  0 a round
    every u in Box(low=-1.0, high=1.0) lost at least that much
  regret at most                   237.751  4.75501 a round
  mirror descent, observed gradients       loss - L(u) <= 12.7501
  mirror descent, after the fact           loss - L(u) <= 12.7501
"""
    predictions = 0.01 * np.arange(50)
    data = Data(np.ones((50, 10)), np.full(50, 5.0), "Absolute", {}, None, predictions)
    verdicts = Linear(text, None, reading(data)).judge()
    assert false(verdicts, "theorem")
    assert not false(verdicts, "floor")
    assert not false(verdicts, "regret")
    assert not false(verdicts, "loss")


def test_audit_that_stops_at_the_last_input() -> None:
    first = "12 rounds and a loss of 9.1404771 replayed, 24 and 15.20602512 in the model"
    second = "the minimum lies between 3.615258994 and 3.615261843"
    text = f"""\
noregret audit m.nr on b.svm, 12 examples

FAIL\tthe same examples give the same model, to the last bit\t{first}
FAIL\tevery u with ||u||_2 <= 1 lost at least 7.52778\t{second}

2 of 2 statements are false
"""
    assert false(audit(text, 24), "verdict")


def test_bounds_against_members_as_if_against_predictors() -> None:
    text = """\
Certificate after 20 rounds, Squared
  learner's loss                    19.187  0.959349 a round
  certified floor                  18.3002  0.915011 a round
    every u with ||u||_2 <= 0.0430924 lost at least that much
  regret at most                  0.886742  0.0443371 a round
  best of its learners             19.1865  0.959326 a round, learner 1 of 2
  regret against it             0.00044236  2.2118e-05 a round, measured
  after the fact, ln d/eta + gaps          loss - L(u) <= 0.000708101
  AdaHedge, second order                   loss - L(u) <= 0.0213786
  AdaHedge, worst case                     loss - L(u) <= 0.0467404
"""
    steps = np.arange(20)
    members = [1.0 - (1.0 - 2.0 * eta) ** steps for eta in (0.001, 0.0011)]
    own = np.array(members).mean(axis=0)
    data = Data(np.ones((20, 1)), np.ones(20), "Squared", {}, None, own)
    verdicts = Aggregate(text, None, reading(data), members).judge()
    assert false(verdicts, "theorem")
    assert false(verdicts, "which member")


def test_weights_that_are_not_in_the_sentence() -> None:
    text = """\
Best in hindsight, sum of Hinge(margin=1.0) + 1 x Euclidean: converged after 32 passes
  objective                          200.5000001
  no predictor has less than         200.4999999
  gap                                   1.91e-11
  norm of the weights                          1
"""
    X, y = np.array([[1.0], [1.0], [2.0], [-1.0]]), np.array([1.0, -1.0, 1.0, -1.0])
    data = Data(X, y, "Hinge", {"margin": 1.0}, np.full(4, 100.0))
    assert false(Hindsight(text, reading(data), np.ones(1)).judge(), "dual")
    said = text.replace("sum of Hinge", "sum of 100 x Hinge")
    assert not false(Hindsight(said, reading(data), np.ones(1)).judge(), "dual")


def test_penalty_with_fewer_digits_than_its_floor() -> None:
    text = """\
Best moving predictor in hindsight, 0.333333 for each shift, changing at any round
  loss                                         6.155087213e-28
  loss and price                                  0.3333333334
  no schedule has less (norms <= 1)               0.3333333333
  rounds 1 to 2: norm 1
  rounds 3 to 4: norm 1
"""
    data = Data(np.ones((4, 1)), np.array([1.0, 1.0, -1.0, -1.0]), "Squared")
    parts = [(0, np.array([1.0])), (2, np.array([-1.0]))]
    assert false(Path(text, reading(data), parts).judge(), "floor")
    said = text.replace("0.333333 for", "0.3333333333333333 for")
    assert not false(Path(said, reading(data), parts).judge(), "floor")


def test_level_that_is_rounded_to_certainty() -> None:
    text = "IPS                    0.5  [0.00277709, 0.997223] 1 finite-sample, 4 rows, worth 4"
    told = {"value": 0.5, "low": 0.0027770912, "high": 0.9972229088}
    known = {"level": 0.9996, "rows": 4, "worth": 4.0}
    assert false(off_policy(text, told, 0.5, known), "level")
    assert not off_policy(text.replace("] 1 ", "] 0.9996 "), told, 0.5, known).false


@pytest.mark.parametrize("line", ["  something else  3.5", "  mistakes  many  3%"])
def test_a_line_of_no_known_form_is_an_error(line: str) -> None:
    with pytest.raises(Unparsed, match="not understood"):
        parse(line, "linear")


def test_a_measured_number_a_unit_off_is_false() -> None:
    assert nearest(Figure("1.23457"), Fraction("1.2345651"))
    assert not nearest(Figure("1.23457"), Fraction("1.2345649"))
    assert not nearest(Figure("1"), Fraction("0.999999"))


def test_bounds_that_are_rounded_inwards_are_false() -> None:
    assert rounded_down(Figure("1.23456"), Fraction("1.2345699"))
    assert not rounded_down(Figure("1.23457"), Fraction("1.2345699"))
    assert rounded_up(Figure("1.23457"), Fraction("1.2345601"))
    assert not rounded_up(Figure("1.23456"), Fraction("1.2345601"))
    assert not rounded_up(Figure("1.23459"), Fraction("1.2345601"))
