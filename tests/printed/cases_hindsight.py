"""Cases for the referee: several scores, rankers, the best in hindsight, fixed or moving."""

from __future__ import annotations

from typing import Any

import numpy as np

import noregret as nr
from noregret import experts, losses, mirrors, rates, tracking
from noregret.experts.roster import score_members
from tests.printed.aggregate import Aggregate
from tests.printed.cases_linear import Random, padded, stream
from tests.printed.data import Data
from tests.printed.hindsight import Hindsight
from tests.printed.linear import Linear, Reading
from tests.printed.losses import parameters_of
from tests.printed.path import Path
from tests.printed.scores import ScoreData, matrix_maps, matrix_units
from tests.printed.verdicts import Verdicts
from tests.truth.matrix_streams import learner_of

CLASS_LOSSES = [losses.Softmax(), losses.MulticlassHinge(), losses.MulticlassHinge(0.1)]


def _score_data(loss: losses.ScoreLoss, maps: list[Any], y: Any, weight: Any) -> ScoreData:
    """Return the reader's data of a loss of several scores."""
    rest = isinstance(loss, losses.OneAgainstRest)
    own = loss.loss if isinstance(loss, losses.OneAgainstRest) else loss
    return ScoreData(
        np.zeros((0, 0)),
        y,
        type(loss).__name__,
        parameters_of(own),
        weight,
        maps=maps,
        inner=type(own).__name__ if rest else "",
    )


def matrix(random: Random) -> Verdicts:
    """Judge the certificate of a learner of several scores."""
    outputs, d = int(random.choice([2, 3, 4])), int(random.choice([1, 2, 3]))
    learner = learner_of(random, 1.0, outputs, d, blocks=False)
    given = stream(random, True, d)
    X, rounds = given.X[:12], min(len(given.y), 12)
    weight = None if given.weight is None else given.weight[:12]
    if learner.loss.labels == "relevance":
        y: Any = random.integers(3, size=(rounds, outputs)).astype(float)
    else:
        y = random.integers(outputs, size=rounds).astype(float)
    data = _score_data(learner.loss, matrix_maps(X, outputs), y, weight)
    data.predictions = np.asarray(learner.learn(X, y, weight), np.float64)
    certificate = learner.certificate()
    seen = X if weight is None else X[weight > 0.0]
    reading = Reading(
        data, random, [_entries(learner.weights, d)], units=matrix_units(seen, outputs)
    )
    return Linear(str(certificate), certificate.as_dict(), reading).judge()


def mixture(random: Random) -> Verdicts:
    """Judge the certificate of learners of several classes that are mixed."""
    outputs, d = int(random.choice([2, 3, 4])), int(random.choice([1, 2, 3]))
    given = stream(random, True, d)
    X, rounds = given.X[:12], min(len(given.y), 12)
    weight = None if given.weight is None else given.weight[:12]
    y = random.integers(outputs, size=rounds).astype(float)
    whole, alone = experts.ScoreAggregate(), score_members()
    whole.grow(outputs)
    data = _score_data(losses.Softmax(), matrix_maps(X, outputs), y, weight)
    data.predictions = np.asarray(whole.learn(X, y, weight), np.float64)
    for one in alone:
        (one.learner if isinstance(one, nr.Standardized) else one).grow(outputs)
    # The last one waits for rows that are too wide, and sees no feature of these.
    rows = [X] * (len(alone) - 1) + [np.zeros_like(X)]
    others = [
        np.asarray(one.learn(each, y, weight), np.float64)
        for one, each in zip(alone, rows, strict=True)
    ]
    certificate = whole.certificate()
    seen = X if weight is None else X[weight > 0.0]
    reading = Reading(data, random, [], units=matrix_units(seen, outputs))
    return Aggregate(str(certificate), certificate.as_dict(), reading, others).judge()


def _entries(W: Any, d: int) -> Any:
    return np.pad(np.asarray(W), ((0, d - len(W)), (0, 0))).ravel()


def ranker(random: Random) -> Verdicts:
    """Judge the certificate of a ranker: rounds are groups."""
    loss = losses.PairwiseHinge() if random.random() < 0.5 else losses.PairwiseLogistic()
    rate = [rates.Constant(0.3), rates.InverseSqrt(0.5), rates.Adaptive()][int(random.integers(3))]
    mirror = mirrors.Euclidean() if random.random() < 0.6 else mirrors.Ball(1.5)
    learner = nr.Ranker(loss, mirror, rate)
    d, groups = int(random.choice([1, 2, 3])), int(random.choice([1, 3, 8]))
    maps, targets = [], []
    for _ in range(groups):
        size = int(random.integers(2, 5))
        maps.append(np.round(random.normal(size=(size, d)), 3))
        targets.append(random.integers(3, size=size).astype(float))
    sizes = [len(one) for one in targets]
    qid = np.repeat(np.arange(groups), sizes)
    weight = random.choice([0.5, 1.0, 3.0], groups) if random.random() < 0.3 else None
    each = None if weight is None else np.repeat(weight, sizes)
    scores = learner.learn(np.vstack(maps), np.concatenate(targets), qid, each)
    data = _score_data(loss, maps, targets, weight)
    data.predictions = np.split(np.asarray(scores), np.cumsum(sizes)[:-1])
    certificate = learner.certificate()
    reading = Reading(data, random, [padded(learner.weights, d)])
    return Linear(str(certificate), certificate.as_dict(), reading).judge()


VECTOR_LOSSES = [
    losses.Hinge(0.5), losses.SquaredHinge(), losses.Logistic(), losses.Squared(),
    losses.Absolute(), losses.EpsilonInsensitive(0.1), losses.Huber(0.5), losses.Quantile(0.7),
    losses.SquaredEpsilonInsensitive(0.1), losses.PowerHinge(3.0), losses.OneSidedHuber(0.8),
    losses.Exponential(), losses.WinnowHinge(),
]  # fmt: skip
MAPS = [
    mirrors.Euclidean(), mirrors.Ball(0.7), mirrors.PNorm(3.0), mirrors.Entropy(1.5),
    mirrors.UnnormalizedEntropy(), mirrors.SignedEntropy(1.5), mirrors.Power(1.5),
    mirrors.Hypentropy(0.3), mirrors.ElasticNet(0.05), mirrors.Box(-0.3, 0.5),
]  # fmt: skip


def _form(random: Random) -> dict[str, Any]:
    """Return what limits the predictors of a problem."""
    strength = float(random.choice([0.01, 0.3, 1.0, 7.0]))
    kind = int(random.integers(5))
    if kind == 0:
        return {"radius": float(random.choice([0.5, 1.0, 2.3]))}
    if kind == 1:
        return {"l2": strength, "radius": 1.0}
    if kind == 2:
        return {"l2": strength, "bias": bool(random.random() < 0.5)}
    return {"mirror": MAPS[int(random.integers(len(MAPS)))], "strength": strength}


def hindsight(random: Random) -> Verdicts:
    """Judge the best in hindsight of one prediction."""
    loss = VECTOR_LOSSES[int(random.integers(len(VECTOR_LOSSES)))]
    given = stream(random, loss.labels == "real")
    form = _form(random)
    # Without any pull on it the constant of separable labels runs away.
    if form.get("bias") and not (0.0 < float((given.y > 0).mean()) < 1.0):
        form["bias"] = False
    data = Data(given.X, given.y, type(loss).__name__, parameters_of(loss), given.weight)
    solution = nr.hindsight(given.X, given.y, loss, weight=given.weight, max_passes=60, **form)
    reading = Reading(data, random)
    return Hindsight(str(solution), reading, solution.weights, solution.bias).judge()


def strengths(random: Random) -> Verdicts:
    """Judge the solutions of a regularisation path."""
    loss = VECTOR_LOSSES[int(random.integers(3))]
    given = stream(random, False)
    data = Data(given.X, given.y, type(loss).__name__, parameters_of(loss), given.weight)
    total = Verdicts()
    path = nr.regularization_path(
        given.X, given.y, loss, [3.0, 0.2], weight=given.weight, max_passes=60
    )
    for solution in path:
        reading = Reading(data, random)
        total.add(Hindsight(str(solution), reading, solution.weights, solution.bias).judge())
    return total


def best_matrix(random: Random) -> Verdicts:
    """Judge the best matrix in hindsight."""
    kinds = [*CLASS_LOSSES, losses.OneAgainstRest(), losses.OneAgainstRest(losses.Hinge())]
    loss = kinds[int(random.integers(len(kinds)))]
    outputs, d = int(random.choice([2, 3])), int(random.choice([1, 2]))
    given = stream(random, True, d)
    X, rounds = given.X[:12], min(len(given.y), 12)
    weight = None if given.weight is None else given.weight[:12]
    y = random.integers(outputs, size=rounds).astype(float)
    y[0] = outputs - 1
    form: dict[str, Any] = {"l2": float(random.choice([0.1, 1.0]))}
    if isinstance(loss, losses.OneAgainstRest) and random.random() < 0.5:
        form = {"radius": 1.0}
    data = _score_data(loss, matrix_maps(X, outputs), y, weight)
    solution = nr.hindsight(X, y, loss, weight=weight, max_passes=100, **form)
    return Hindsight(str(solution), Reading(data, random), solution.weights).judge()


def moving(random: Random) -> Verdicts:
    """Judge the best moving predictor in hindsight."""
    given = stream(random, True, int(random.choice([1, 2])))
    X, y = given.X[:20], given.y[:20]
    form: dict[str, Any] = {"shifts": int(random.integers(0, 3))}
    if random.random() < 0.5:
        form = {"penalty": float(random.choice([0.1234567891, 0.5, 1.0 / 3.0, 12345.6789]))}
    if random.random() < 0.6:
        form["radius"] = float(random.choice([0.5, 1.0, 2.3]))
    if random.random() < 0.3:
        form["grid"] = int(random.choice([1, 2, 5]))
    found = tracking.hindsight_path(X, y, **form)
    data = Data(X, y, "Squared")
    parts = [(a, u) for a, _, u in found.schedule.segments(len(y))]
    return Path(str(found), Reading(data, random), parts).judge()
