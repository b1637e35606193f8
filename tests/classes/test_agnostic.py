"""The agnostic learner against its experts written out, its bounds, and the random labels."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from noregret import classes
from tests.classes import reference

INSTANCES, LABELS = [1, 0, 2, 1, 2], [1, 0, 1, 0, 1]
PLAYS = [40, pytest.param(1000, marks=pytest.mark.soak)]


def outputs(
    dimension: classes.Littlestone, instances: list[int], most: int, tie: int
) -> np.ndarray:
    """What each expert with at most so many flips says, one row an expert."""
    rows = []
    for count in range(most + 1):
        for flips in itertools.combinations(range(1, len(instances) + 1), count):
            expert = classes.Expert(dimension, flips, tie)
            rows.append([expert.next(x) for x in instances])
    return np.array(rows)


def test_experts_of_the_example() -> None:
    h = classes.thresholds(3)

    def said(flips: list[int], tie: int) -> list[int]:
        expert = classes.Expert(h, flips, tie)
        return [expert.next(x) for x in INSTANCES]

    assert said([], 0) == [0, 0, 0, 0, 0]
    assert said([], 1) == [1, 1, 1, 1, 1]
    assert said([1, 4], 0) == [1, 1, 0, 0, 0]


def test_the_example() -> None:
    learner = classes.Agnostic(classes.thresholds(3), horizon=5, tie=0)
    p = learner.learn(INSTANCES, LABELS)
    expected = (0.3125, 0.70784366864, 0.209182117717, 0.415685593876, 0.337052279681)
    assert p == pytest.approx(expected, rel=1e-10)
    assert learner.experts == 16 and learner.states == 6
    assert learner.eta == pytest.approx(2.10621507819, rel=1e-10)
    certificate = learner.certificate()
    assert certificate.loss == pytest.approx(3.26479486512, rel=1e-10)
    assert certificate.best == 2
    crude, advance, now = (bound.value for bound in certificate.bounds)
    assert advance == pytest.approx(2.63276884773, rel=1e-10)
    assert crude == pytest.approx(3.09539232721, rel=1e-10)
    assert (math.e * 5 / 2) ** 2 == pytest.approx(46.1816006183, rel=1e-10)
    assert certificate.regret <= now <= advance <= crude
    text = str(certificate)
    assert "expected mistakes" in text and text.count("regret <=") == 3


@pytest.mark.parametrize("tie", [0, 1])
def test_every_hypothesis_is_an_expert_with_the_same_tie(tie: int) -> None:
    rng = np.random.default_rng(21)
    for _ in range(100):
        dimension = classes.Littlestone(reference.random_table(rng, 8, 5))
        h = dimension.hypotheses
        instances = rng.integers(h.points, size=7).tolist()
        for row in h.table:
            soa = classes.SOA(dimension, tie)
            labels = [int(row[x]) for x in instances]
            wrong = soa.learn(instances, labels) != labels
            flips = (np.flatnonzero(wrong) + 1).tolist()
            assert len(flips) <= dimension()
            expert = classes.Expert(dimension, flips, tie)
            assert [expert.next(x) for x in instances] == labels


def test_different_ties_break_the_lemma() -> None:
    soa = classes.SOA([[0], [1]], tie=1)
    soa.learn(0, 1)
    assert soa.mistakes == 0
    assert classes.Expert([[0], [1]], [], tie=0).next(0) == 0


@pytest.mark.parametrize("plays", PLAYS)
def test_the_program_is_weighted_majority_over_all_experts(plays: int) -> None:
    rng = np.random.default_rng(22)
    for _ in range(plays):
        dimension = classes.Littlestone(reference.random_table(rng, 8, 4))
        h, rounds = dimension.hypotheses, int(rng.integers(1, 8))
        tie = int(rng.integers(2))
        instances = rng.integers(h.points, size=rounds).tolist()
        labels = rng.integers(2, size=rounds).tolist()
        learner = classes.Agnostic(dimension, rounds, tie=tie)
        p = learner.learn(instances, labels)
        said = outputs(dimension, instances, min(dimension(), rounds), tie)
        assert len(said) == learner.experts
        expected, loss = reference.weighted_majority(said, labels, learner.eta)
        assert p == pytest.approx(expected, rel=0, abs=1e-12)
        assert learner.loss == pytest.approx(loss, abs=1e-12)
        # what is left of the experts, and the mix loss, agree as well
        wrong = (said != np.array(labels)).sum(axis=1)
        if learner.eta > 0:
            mix = -math.log(np.mean(np.exp(-learner.eta * wrong))) / learner.eta
            assert learner.loss - learner._stability == pytest.approx(mix, abs=1e-10)


@pytest.mark.parametrize("plays", PLAYS)
def test_without_a_horizon_every_sequence_of_flips_is_an_expert(plays: int) -> None:
    rng = np.random.default_rng(23)
    for _ in range(plays // 2):
        dimension = classes.Littlestone(reference.random_table(rng, 8, 4))
        h, rounds = dimension.hypotheses, 6
        beta, eta = float(rng.uniform(0.05, 0.45)), float(rng.uniform(0.1, 2.0))
        instances = rng.integers(h.points, size=rounds).tolist()
        labels = rng.integers(2, size=rounds).tolist()
        learner = classes.Agnostic(dimension, flip=beta, eta=eta)
        p = learner.learn(instances, labels)
        logs, rows = [], []
        for flips in itertools.product((0, 1), repeat=rounds):
            expert = classes.Expert(dimension, [t + 1 for t in range(rounds) if flips[t]], 1)
            rows.append([expert.next(x) for x in instances])
            logs.append(sum(math.log(beta if f else 1 - beta) for f in flips))
        weights, said = np.exp(logs), np.array(rows)
        for t, y in enumerate(labels):
            assert p[t] == pytest.approx(weights @ said[:, t] / weights.sum(), abs=1e-12)
            weights = weights * np.exp(-eta * (said[:, t] != y))
        certificate = learner.certificate()
        advance, now = (bound.value for bound in certificate.bounds)
        assert certificate.regret <= now <= advance + 1e-12


@pytest.mark.parametrize("plays", PLAYS)
@pytest.mark.parametrize("mode", ["random", "adversarial", "noisy"])
def test_regret_bounds_after_every_round(plays: int, mode: str) -> None:
    rng = np.random.default_rng(24)
    for _ in range(plays // 2):
        dimension = classes.Littlestone(reference.random_table(rng, 10, 5))
        h, horizon = dimension.hypotheses, int(rng.integers(1, 25))
        target = h.table[int(rng.integers(h.size))]
        learner = classes.Agnostic(dimension, horizon)
        errors = np.zeros(h.size)
        for _ in range(horizon):
            x = int(rng.integers(h.points))
            p = learner.predict(x)
            y = int(rng.integers(2))
            if mode == "adversarial":
                y = int(p < 0.5)
            elif mode == "noisy":
                y = int(target[x]) ^ int(rng.random() < 0.2)
            learner.learn(x, y)
            errors += h.table[:, x] != y
            certificate = learner.certificate()
            assert certificate.best == errors.min()
            for bound in certificate.bounds:
                assert not bound.applies or certificate.regret <= bound.value, bound
        values = [bound.value for bound in certificate.bounds if bound.applies]
        assert values == sorted(values, reverse=True)


def test_the_crude_bound_needs_enough_rounds() -> None:
    h = classes.all_functions(3)
    learner = classes.Agnostic(h, horizon=1)
    learner.learn(0, 1)
    assert learner.experts == 2 > (math.e / 3) ** 3
    assert not learner.certificate().bounds[0].applies
    assert "it needs T >= Ldim(H) >= 1" in str(learner.certificate())
    other = classes.Agnostic(h, horizon=9, eta=0.3)
    other.learn(0, 1)
    assert "eta is not the one" in other.certificate().bounds[0].reason


@pytest.mark.parametrize("eta", [1e-9, 1e-3, 30.0, 50.0, 800.0])
def test_rates_far_from_the_best_one(eta: float) -> None:
    dimension = classes.Littlestone(classes.thresholds(3))
    learner = classes.Agnostic(dimension, 5, eta=eta, tie=0)
    p = learner.learn(INSTANCES, LABELS)
    said = outputs(dimension, INSTANCES, 2, 0)
    wrong = (said != np.array(LABELS)).sum(axis=1)
    expected, _ = reference.weighted_majority(said, LABELS, eta)
    assert p == pytest.approx(expected, abs=1e-12)
    mix = (math.log(16) - np.logaddexp.reduce(-eta * wrong)) / eta
    assert learner.loss - learner._stability == pytest.approx(mix, abs=1e-6)
    certificate = learner.certificate()
    assert certificate.regret <= certificate.bounds[2].value <= certificate.bounds[1].value


def test_one_hypothesis_has_nothing_to_learn() -> None:
    learner = classes.Agnostic([[0, 1]], horizon=3)
    assert learner.eta == 0.0 and learner.experts == 1
    assert learner.learn([0, 1, 1], [0, 1, 0]).tolist() == [0.0, 1.0, 1.0]
    assert learner.certificate().regret == 0.0


def test_forced_regret() -> None:
    opponent = classes.RandomLabels(classes.dyadic_tree(4), 100)
    assert opponent.forced_regret == pytest.approx(8.05901288986, rel=1e-10)
    assert math.sqrt(4 * 100 / 8) == pytest.approx(7.07106781187, rel=1e-10)
    for k in range(1, 200):
        distances = sum(math.comb(k, j) * abs(k - 2 * j) for j in range(k + 1))
        assert classes.mean_distance(k) == pytest.approx(distances / 2**k, rel=1e-12)
        assert classes.mean_distance(k) >= math.sqrt(k / 2)


@pytest.mark.parametrize("plays", [60, pytest.param(1000, marks=pytest.mark.soak)])
def test_random_labels_force_regret_on_the_agnostic_learner(plays: int) -> None:
    """Regret lies in [-T, T]; by Hoeffding the mean of n plays errs by more than
    T sqrt(2 ln(1e6) / n) with probability below 1e-6."""
    h, rounds = classes.thresholds(7), 12
    tree = classes.Littlestone(h).tree()
    dimension = classes.Littlestone(h)
    regrets, upper = [], 0.0
    for seed in range(plays):
        opponent = classes.RandomLabels(tree, rounds, seed)
        learner = classes.Agnostic(dimension, rounds)
        transcript = classes.play(learner, opponent, rounds)
        certificate = learner.certificate()
        witness = h.table[tree.witnesses(h)[int("".join(map(str, opponent.path)), 2)]]
        minority = sum(
            min(part.count(0), part.count(1))
            for part in (transcript.labels[i : i + 4] for i in (0, 4, 8))
        )
        path_loss = sum(witness[list(transcript.instances)] != transcript.labels)
        assert certificate.best <= path_loss == minority
        regrets.append(certificate.regret)
        upper = certificate.bounds[2].value
        assert certificate.regret <= upper
    forced = opponent.forced_regret
    assert forced >= math.sqrt(3 * rounds / 8)
    error = rounds * math.sqrt(2.0 * math.log(1e6) / plays)
    assert np.mean(regrets) >= forced - error
    with pytest.raises(ValueError, match="all of the 12 rounds were played"):
        opponent.instance()


def test_thousands_of_rounds_stay_small() -> None:
    h, horizon = classes.thresholds(15), 2000
    learner = classes.Agnostic(h, horizon)
    rng = np.random.default_rng(25)
    x = rng.integers(h.points, size=horizon)
    y = (x < 6) ^ (rng.random(horizon) < 0.1)
    learner.learn(x, y.astype(int))
    assert learner.experts > 10**11 and learner.states < 150
    certificate = learner.certificate()
    assert certificate.regret <= certificate.bounds[2].value <= certificate.bounds[1].value
