"""Consistent, Halving and SOA: the papers' examples and their bounds on many plays."""

from __future__ import annotations

import math

import numpy as np
import pytest

from noregret import catalogue, classes
from tests.classes import reference
from tests.sizes import sized

RULES = (classes.Consistent, classes.Halving, classes.SOA)
PLAYS = [sized(15, 60), pytest.param(1000, marks=pytest.mark.soak)]


def potential(learner: classes.VersionSpaceLearner) -> tuple[float, float]:
    """The bounds in advance and now, by their formulas."""
    size, left = learner.hypotheses.size, learner.space.bit_count()
    if isinstance(learner, classes.Consistent):
        return size - 1, size - left
    if isinstance(learner, classes.Halving):
        return math.floor(math.log2(size)), math.floor(math.log2(size / left))
    rows = [tuple(row) for row in learner.hypotheses.table.tolist()]
    rest = [rows[i] for i in learner.hypotheses.members(learner.space)]
    dimension = reference.littlestone(rows)
    return dimension, dimension - reference.littlestone(rest)


def test_consistent_and_halving_on_singletons() -> None:
    h = classes.FiniteClass(sorted(classes.singletons(5).table.tolist()))
    assert h.table[-1].tolist() == [1, 0, 0, 0, 0]
    consistent, halving = classes.Consistent(h), classes.Halving(h)
    labels = [int(h.table[-1, x]) for x in (4, 3, 2, 1)]
    consistent.learn([4, 3, 2, 1], labels)
    halving.learn([4, 3, 2, 1], labels)
    assert consistent.mistakes == 4 == consistent.certificate().bounds[0].value
    assert halving.mistakes == 1


@pytest.mark.parametrize("rule", [classes.Halving, classes.SOA])
def test_thresholds_with_target_5(rule: type[classes.VersionSpaceLearner]) -> None:
    learner = rule(classes.thresholds(7))
    labels = [1, 0, 1, 1, 0]
    assert learner.learn([3, 5, 4, 0, 6], labels).tolist() == [1, 1, 1, 1, 0]
    assert learner.mistakes == 1


def test_the_adversary_on_thresholds() -> None:
    h = classes.thresholds(7)
    expected = {
        classes.SOA: ((3, 1, 0), (0, 0, 0)),
        classes.Halving: ((3, 1, 0), (0, 0, 0)),
        classes.Consistent: ((3, 5, 6), (1, 1, 1)),
    }
    for rule, (instances, labels) in expected.items():
        transcript = classes.play(rule(h), classes.Adversary(h), 3)
        assert (transcript.instances, transcript.labels) == (instances, labels)
        assert transcript.loss == 3


@pytest.mark.parametrize("tie", [0, 1])
def test_an_empty_version_space_has_dimension_minus_one(tie: int) -> None:
    one = classes.FiniteClass([[1 - tie]])
    learner = classes.SOA(one, tie)
    learner.learn([0] * 10, [1 - tie] * 10)
    assert learner.mistakes == 0
    assert learner.dimension(0) == -1


@pytest.mark.parametrize("plays", PLAYS)
def test_mistake_bounds_hold_after_every_round(plays: int) -> None:
    rng = np.random.default_rng(11)
    for _ in range(plays):
        h = classes.FiniteClass(reference.random_table(rng, 12, 6))
        target = int(rng.integers(h.size))
        learners = [*(rule(h) for rule in RULES), classes.SOA(h, tie=0)]
        for _ in range(10):
            x = int(rng.integers(h.points))
            for learner in learners:
                learner.learn(x, h.table[target, x])
                certificate = learner.certificate()
                assert certificate.realizable and certificate.mistakes == learner.mistakes
                assert tuple(bound.value for bound in certificate.bounds) == potential(learner)
                assert learner.mistakes <= certificate.bounds[1].value
                assert certificate.bounds[1].value <= certificate.bounds[0].value


@pytest.mark.parametrize("plays", PLAYS)
def test_the_adversary_forces_the_dimension_and_soa_no_more(plays: int) -> None:
    rng = np.random.default_rng(12)
    for _ in range(plays):
        h = classes.FiniteClass(reference.random_table(rng, 14, 6))
        dimension = classes.Littlestone(h)
        for learner in (*(rule(h) for rule in RULES), classes.SOA(dimension, tie=0)):
            opponent = classes.Adversary(dimension)
            transcript = classes.play(learner, opponent, dimension() + 3)
            assert learner.mistakes == transcript.loss >= dimension()
            if isinstance(learner, classes.SOA):
                assert learner.mistakes == dimension()
            row = h.table[opponent.target]
            assert [int(row[x]) for x in transcript.instances] == list(transcript.labels)


@pytest.mark.parametrize("plays", PLAYS)
def test_a_probability_loses_half_the_dimension(plays: int) -> None:
    rng = np.random.default_rng(13)

    class Random:
        def predict(self, x: int) -> float:
            return float(rng.random())

        def learn(self, x: int, y: int) -> None: ...

    for _ in range(plays):
        dimension = classes.Littlestone(reference.random_table(rng, 14, 6))
        for learner in (Random(), classes.Agnostic(dimension, horizon=max(dimension(), 1))):
            transcript = classes.play(learner, classes.Adversary(dimension), dimension())
            assert transcript.loss >= dimension() / 2 - 1e-12


@pytest.mark.parametrize("plays", [40, pytest.param(500, marks=pytest.mark.soak)])
def test_the_worst_case_over_all_plays(plays: int) -> None:
    rng = np.random.default_rng(14)
    for _ in range(plays):
        h = classes.FiniteClass(reference.random_table(rng, 12, 5))
        consistent, halving, soa = (classes.worst_mistakes(rule(h)) for rule in RULES)
        assert soa == classes.littlestone_dimension(h) <= min(consistent, halving)
        assert halving <= math.floor(math.log2(h.size)) and consistent <= h.size - 1


def test_halving_can_be_worse_than_the_optimum() -> None:
    for levels, optimum in ((4, 3), (6, 3), (8, 4)):
        h = classes.lopsided(levels)
        halving, soa = classes.Halving(h), classes.SOA(h)
        for learner in (halving, soa):
            learner.learn(range(levels), [1] * levels)
        assert halving.mistakes == levels
        assert soa.dimension() == optimum and soa.mistakes <= optimum


@pytest.mark.parametrize("rounds", [5, 10, 40])
def test_bisection_forces_the_perceptron_to_err_for_ever(rounds: int) -> None:
    learner, opponent = catalogue.perceptron(), classes.Bisection()
    instances, labels = [], []
    for _ in range(rounds):
        v = opponent.instance()
        margin = float(learner.predict([[float(v), 1.0]])[0])
        label = opponent.answer(int(margin > 0))
        learner.learn([[float(v), 1.0]], [1 if label else -1])
        instances.append(v)
        labels.append(label)
    assert learner.certificate().mistakes == rounds
    assert opponent.low < opponent.high
    a = (opponent.low + opponent.high) / 2
    assert [int(v < a) for v in instances] == labels


def test_elimination_stays_below_rk() -> None:
    rng = np.random.default_rng(15)
    for _ in range(200):
        d, k, r = int(rng.integers(2, 9)), int(rng.integers(1, 4)), int(rng.integers(1, 4))
        true = rng.permutation(d)[:k]
        learner = classes.Elimination(d, k)
        for _ in range(30):
            x = np.zeros(d, dtype=int)
            x[rng.permutation(d)[: int(rng.integers(0, r + 1))]] = 1
            said = learner.predict(x)
            assert learner.learn(x, int(x[true].any())).tolist() == [said]
            certificate = learner.certificate()
            assert certificate.broken == 0
            crude, now = (bound.value for bound in certificate.bounds)
            assert certificate.mistakes <= now <= crude <= r * k
    assert "assumption: the labels are those of a disjunction" in str(certificate)


def test_elimination_notices_what_no_disjunction_says() -> None:
    learner = classes.Elimination(3, 1)
    learner.learn([[1, 0, 0], [1, 0, 0]], [0, 1])
    certificate = learner.certificate()
    assert certificate.broken == 2 and not certificate.bounds[0].applies
    assert "not applicable: round 2" in str(certificate)
    learner = classes.Elimination(3, 1)
    learner.learn(np.eye(3), [1, 1, 1])
    assert learner.certificate().broken == 2


def test_a_label_that_nothing_agrees_with_is_reported_and_then_nothing_predicted() -> None:
    for rule in RULES:
        learner = rule([[0, 0], [0, 1]])
        learner.learn([1, 0], [1, 1])
        certificate = learner.certificate()
        assert not certificate.realizable and certificate.broken == 2
        assert certificate.remaining == 0 and certificate.mistakes <= 2
        assert not any(bound.applies for bound in certificate.bounds)
        assert "no hypothesis agrees with every label since round 2" in str(certificate)
        assert certificate.as_dict()["bounds"][0]["value"] is None
        with pytest.raises(ValueError, match="since round 2"):
            learner.predict(0)
        with pytest.raises(ValueError, match="since round 2"):
            learner.learn(0, 0)
        assert learner.rounds == 2
