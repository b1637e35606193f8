"""Online to batch: expectations by enumeration, statements with a probability by draws."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
from scipy.stats import binom

import noregret as nr
from noregret import catalogue, losses
from noregret.catalogue import BatchPredictor, batch_predictor
from noregret.rounding import up
from tests.sizes import sized


def risk(w: float) -> float:
    """Return E |w - psi|, psi = 1 with probability 0.3 and -0.5 otherwise."""
    return 0.3 * abs(w - 1.0) + 0.7 * abs(w + 0.5)


def chance(outcome: tuple[float, ...]) -> float:
    return math.prod(0.3 if value > 0 else 0.7 for value in outcome)


def learner() -> nr.MirrorDescent:
    return catalogue.ogd(losses.Absolute(), 0.3, dimension=1)


def test_the_expectations_of_the_source_by_enumeration() -> None:
    """Sixteen sequences of four draws: S-50, S-52. Every draw of the index with its own seed."""
    averaged = drawn = online = 0.0
    bounds = set()
    seeds: dict[int, int] = {}
    while len(seeds) < 4:
        seeds.setdefault(int(np.random.default_rng(len(bounds)).integers(4)), len(bounds))
        bounds.add(len(bounds))
    values = set()
    for outcome in itertools.product((1.0, -0.5), repeat=4):
        found = batch_predictor(learner(), np.ones((4, 1)), outcome, radius=0.5)
        averaged += chance(outcome) * risk(float(found.weights[0]))
        online += chance(outcome) * found.average_loss
        values.add(found.statements[1].value)
        for seed in seeds.values():
            one = batch_predictor(learner(), np.ones((4, 1)), outcome, "random", seed)
            assert one.average_loss == pytest.approx(found.average_loss, rel=1e-15)
            drawn += chance(outcome) / 4 * risk(float(one.weights[0]))
    assert averaged == pytest.approx(0.59858, rel=1e-10)
    assert online == pytest.approx(0.61573, rel=1e-10)
    # Equality for the drawn weights, an inequality for their average.
    assert drawn == pytest.approx(online, rel=1e-12)
    assert averaged <= online
    # The bound in advance is one number, whatever the rows: 1/(8 * 0.3) + 0.15 * 4, over 4.
    (value,) = values
    assert value == pytest.approx((0.25 / 0.6 + 0.15 * 4) / 4, rel=1e-12)
    assert averaged - risk(-0.5) == pytest.approx(0.14858, rel=1e-9)
    assert averaged - risk(-0.5) <= value
    assert drawn - risk(-0.5) <= value


def test_the_words_say_what_is_random() -> None:
    rows, y = np.ones((4, 1)), [1.0, -0.5, -0.5, 1.0]
    average = batch_predictor(learner(), rows, y, radius=0.5, loss_range=(0.0, 2.0), delta=0.1)
    drawn = batch_predictor(learner(), rows, y, "random", 1, 0.5, (0.0, 2.0), 0.1)
    for found, said in (
        (
            average,
            (
                "the average of the weights of 4 rounds",
                "E[risk of the average weights] <= E[average online loss], over the rows\n",
                "E[risk of the average weights] - risk of u <= ",
                ", over the rows, for every u with ||u||_2 <= 0.5",
                f"risk of the average weights <= {up(average.statements[2].value)} with "
                "probability >= 1 - 0.1 over the rows",
            ),
        ),
        (
            drawn,
            (
                "one drawn of the weights of 4 rounds",
                "E[risk of the drawn weights] = E[average online loss], over the rows and the draw",
                "mean risk of the weights to draw from <= ",
            ),
        ),
    ):
        for words in (
            *said,
            "assumption: the rows are independent draws from one distribution",
            "assumption: no row that can come has a dual norm above 1, as promised",
            "assumption: every loss lies between 0 and 2, as promised",
            "observed",
        ):
            assert words in str(found), f"{words}\n{found}"
    told = json.loads(json.dumps(average.as_dict()))
    assert told["statements"][2]["value"] == average.statements[2].value
    assert told["average_loss"] == average.average_loss
    assert average.predict([[2.0]]) == pytest.approx(2.0 * average.weights)


def test_the_weights_are_those_of_online_to_batch() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 3)), np.sign(rng.normal(size=30))
    for method in ("average", "random"):
        one = catalogue.online_to_batch(catalogue.ogd(losses.Hinge(), 0.1), X, y, method, 3)
        two = batch_predictor(catalogue.ogd(losses.Hinge(), 0.1), X, y, method, 3)
        assert np.array_equal(one, two.weights)
    plain = catalogue.ogd(losses.Hinge(), 0.1)
    predictions = plain.learn(X, y)
    mean = float(np.maximum(1.0 - y * predictions, 0.0).mean())
    assert two.average_loss == pytest.approx(mean, rel=1e-14)


def draws(rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw rows of norm at most 1 with noisy labels."""
    X = rng.normal(size=(count, 3))
    X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1.0)
    flipped = np.where(rng.random(count) < 0.2, -1.0, 1.0)
    return X, np.where(X[:, 0] > 0.1, 1.0, -1.0) * flipped


def ball() -> nr.MirrorDescent:
    return nr.MirrorDescent(
        losses.Hinge(), nr.mirrors.Ball(1.0), nr.rates.Constant(0.2), row_limit=1.0 + 1e-9
    )


@pytest.mark.compiled
@pytest.mark.parametrize("method", ["average", "random"])
def test_statements_hold_on_drawn_samples(method: str) -> None:
    """400 samples of 60 rows: how often the number was too small, and the means."""
    X_new, y_new = draws(np.random.default_rng(10**6), 200_000)

    def true_risk(w: np.ndarray) -> float:
        return float(np.maximum(1.0 - y_new * (X_new @ w), 0.0).mean())

    delta, wrong, risks, means = 0.2, 0, [], []
    best = min(true_risk(np.array([a, 0.0, 0.0])) for a in np.linspace(0, 1, 11))
    for seed in range(400):
        X, y = draws(np.random.default_rng(seed), 60)
        found = batch_predictor(ball(), X, y, method, seed, 1.0, (0.0, 2.0 + 1e-6), delta)
        risks.append(true_risk(found.weights))
        means.append(found.average_loss)
        wrong += method == "average" and risks[-1] > found.statements[2].value
    assert binom.sf(wrong - 1, 400, delta) > 1e-6
    gap = np.array(risks) - np.array(means)
    # The mean of the differences, with six standard errors: 0 for the drawn, at most 0 averaged.
    room = 6.0 * gap.std(ddof=1) / 20.0 + 0.01
    assert gap.mean() <= room
    if method == "random":
        assert abs(gap.mean()) <= room
    value = found.statements[1].value
    assert value is not None and np.mean(risks) - best <= value


def test_hoeffding_is_nearly_met_by_a_coin() -> None:
    """A learner that does not learn, losses 0 or 1: failures are rarer than delta, not absent."""
    wrong, trials, delta = 0, sized(400, 2000), 0.3
    for seed in range(trials):
        y = np.where(np.random.default_rng(seed).random(30) < 0.5, 1.0, 0.0)
        still = nr.MirrorDescent(
            losses.Absolute(), nr.mirrors.Euclidean(), nr.rates.Constant(1e-12), dimension=1
        )
        found = batch_predictor(still, np.zeros((30, 1)), y, loss_range=(0.0, 1.0), delta=delta)
        wrong += 0.5 > found.statements[1].value
    assert 0 < wrong and binom.sf(wrong - 1, trials, delta) > 1e-6


def test_what_is_not_applicable_says_why() -> None:
    rows, y = np.ones((4, 1)), [1.0, -0.5, -0.5, 5.0]
    found = batch_predictor(learner(), rows, y, loss_range=(0.0, 2.0))
    (broken,) = [each for each in found.statements if not each.applies]
    assert broken.reason.startswith("row 3 lost 5") and "[0, 2]" in broken.reason
    free = nr.MirrorDescent(losses.Absolute(), nr.mirrors.Euclidean(), nr.rates.Adaptive(1.0))
    found = batch_predictor(free, rows, y, radius=1.0)
    assert not found.statements[1].applies and "no bound in advance" in found.statements[1].reason
    long = batch_predictor(learner(), 3.0 * rows, y, radius=1.0)
    assert "does not hold since round 1" in long.statements[1].reason
    assert "not applicable" in str(long)
    kept = batch_predictor(
        catalogue.perceptron(), rows, [1.0, -1.0, 1.0, 1.0], "random", radius=1.0
    )
    assert "mistakes only" in kept.statements[1].reason


def test_what_is_refused() -> None:
    rows, y = np.ones((2, 1)), [1.0, 1.0]
    with pytest.raises(ValueError, match="delta must be between 0 and 1, got 0"):
        batch_predictor(learner(), rows, y, delta=0.0)
    with pytest.raises(ValueError, match="loss_range must be finite, low below high"):
        batch_predictor(learner(), rows, y, loss_range=(1.0, 0.0))
    used = learner()
    used.learn(rows, y)
    with pytest.raises(ValueError, match="needs a fresh learner"):
        batch_predictor(used, rows, y)
    with pytest.raises(ValueError, match="method must be"):
        batch_predictor(learner(), rows, y, "best")
    for method in ("average", "random"):
        with pytest.raises(ValueError, match="needs a row to learn from"):
            batch_predictor(learner(), np.zeros((0, 1)), [], method)
    with pytest.raises(ValueError, match="y must hold numbers: found text"):
        batch_predictor(learner(), rows, ["1", "1"])


def test_it_is_a_value() -> None:
    found = batch_predictor(learner(), np.ones((2, 1)), [1.0, 1.0])
    assert isinstance(found, BatchPredictor)
    with pytest.raises(AttributeError):
        found.rounds = 3  # type: ignore[misc]
