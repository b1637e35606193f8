"""Cases for the referee: several classes, anchored ascent, replays, constraints, risks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

import noregret as nr
from noregret import bandits, experts, losses, mirrors, rates
from noregret.catalogue.risk import batch_predictor
from noregret.learners import DualAscent, MatrixDescent
from noregret.sklearn import DualClassifier, DualRegressor, OnlineClassifier
from tests.printed.aggregate import Aggregate
from tests.printed.bandits import replayed
from tests.printed.cases_hindsight import VECTOR_LOSSES, _score_data
from tests.printed.cases_linear import Random, stream
from tests.printed.cases_more import Lopsided, _counted, _data
from tests.printed.data import Data
from tests.printed.hindsight import Hindsight
from tests.printed.linear import Dual, Linear, Reading
from tests.printed.per_class import parted, solved, sums
from tests.printed.regularizers import regularizer_of
from tests.printed.risks import risk
from tests.printed.scores import matrix_maps, matrix_units
from tests.printed.verdicts import Verdicts


def _classes(random: Random) -> tuple[Any, Any, Any]:
    """Return rows, three classes that all appear, and weights."""
    given = _counted(stream(random, True, int(random.choice([1, 2]))))
    while len(given.y) < 7:
        given = _counted(stream(random, True, int(random.choice([1, 2]))))
    X = given.X[:12]
    y = random.integers(3, size=len(X))
    y[:3] = [2, 0, 1]
    return X, y, None if given.weight is None else given.weight[:12]


def classifiers(random: Random, apart: bool) -> Verdicts:
    """Judge online classifiers of three classes: one certificate, or one a class."""
    X, y, weight = _classes(random)
    logistic: Any = losses.Logistic()
    kinds: list[tuple[dict[str, Any], Any, Any]] = [
        ({}, losses.OneAgainstRest(logistic), rates.ScaleFree()),
        ({"multiclass": "softmax"}, losses.Softmax(), rates.ScaleFree()),
        (
            {"loss": "hinge", "multiclass": "multiclass_hinge"},
            losses.MulticlassHinge(),
            rates.ScaleFree(),
        ),
        ({"rate": rates.Constant(0.1)}, losses.OneAgainstRest(logistic), rates.Constant(0.1)),
        ({"rate": rates.InverseSqrt(0.3)}, None, rates.InverseSqrt(0.3)),
        ({"rate": "grid"}, None, None),
    ]
    kinds = [kind for kind in kinds if (kind[1] is None) == apart]
    options, joint, rate = kinds[int(random.integers(len(kinds)))]
    passes = int(random.choice([1, 1, 2]))
    model = OnlineClassifier(**{"rate": "scale_free", "passes": passes, "shuffle": False} | options)
    model.fit(X, y, sample_weight=weight)
    rows = np.tile(np.column_stack([X, np.ones(len(X))]), (passes, 1))
    d, labels = rows.shape[1], np.tile(y, passes).astype(float)
    weights = None if weight is None else np.tile(weight, passes)
    often = (passes, passes)
    if joint is not None:
        data = _score_data(joint, matrix_maps(rows, 3), labels, weights)
        learner = MatrixDescent(joint, mirrors.Euclidean(), rate, 3, d)
        data.predictions = np.asarray(learner.learn(rows, labels, weights))
        data.passes = often
        reading = Reading(data, random, units=matrix_units(rows, 3))
        found = model.certificate_
        return Linear(str(found), found.as_dict(), reading).judge()
    whole = model.certificate_
    lines, texts = parted(str(whole), [0, 1, 2])
    judges: list[Linear] = []
    for k, found in enumerate(whole):
        signs = np.where(labels == k, 1.0, -1.0)
        one = replace(_data(logistic, rows, signs, weights), passes=often)
        if rate is not None:
            twin: Any = nr.MirrorDescent(logistic, mirrors.Euclidean(), rate, dimension=d)
            one.predictions = np.asarray(twin.learn(rows, signs, weights))
            judges.append(Linear(texts[k], found.as_dict(), Reading(one, random)))
            continue
        grid = partial(experts.rate_grid, logistic, mirrors.Euclidean(), dimension=d)
        one.predictions = np.asarray(grid().learn(rows, signs, weights))
        others = [member.learn(rows, signs, weights) for member in grid().learners]
        judges.append(Aggregate(texts[k], found.as_dict(), Reading(one, random), others))
    total = Verdicts()
    for judge in judges:
        total.add(judge.judge())
    total.add(sums(lines, judges, whole.as_dict()))
    return total


def dual_classifiers(random: Random) -> Verdicts:
    """Judge the optima of a dual classifier of three classes, each against the rest."""
    X, y, weight = _classes(random)
    C = float(random.choice([1.0, 100.0, 0.3]))
    model = DualClassifier(losses.Hinge(), C=C, max_iter=200).fit(X, y, sample_weight=weight)
    rows = np.column_stack([X, np.ones(len(X))])
    lines, texts = parted(str(model.certificate_), [0, 1, 2])
    judges, weights = [], []
    for k in range(3):
        one = C * (np.ones(len(y)) if weight is None else weight)
        data = _data(losses.Hinge(), rows, np.where(y == k, 1.0, -1.0), one)
        own = np.append(model.coef_[k], model.intercept_[k])
        judges.append(Hindsight(texts[k], Reading(data, random), own))
        weights.append(own)
    total = Verdicts()
    for judge in judges:
        total.add(judge.judge())
    total.add(solved(lines, judges, weights))
    return total


def anchored(random: Random) -> Verdicts:
    """Judge dual ascent from the optimum of a fit on: u is the difference from it."""
    sign = bool(random.random() < 0.5)
    loss: Any = losses.Hinge() if sign else losses.Absolute()
    given = _counted(stream(random, not sign))
    cut = len(given.y) // 2
    if cut < 2 or (sign and len(set(given.y[:cut].tolist())) < 2):
        return anchored(random)
    C = float(random.choice([1.0, 0.3, 3.0]))
    model: Any = (DualClassifier if sign else DualRegressor)(loss, C=C, max_iter=200)
    model.fit(given.X[:cut], given.y[:cut])
    X, y = given.X[cut:], given.y[cut:]
    weight = None if given.weight is None else given.weight[cut:]
    offset = np.asarray(model.decision_function(X) if sign else model.predict(X))
    begun = bool(np.any(model.coef_)) or bool(np.any(model.intercept_))
    model.partial_fit(X, y, sample_weight=weight)
    rows = np.column_stack([X, np.ones(len(X))])
    data = _data(loss, rows, y, weight)
    if begun:
        data.offset = offset
    twin = DualAscent(loss, mirrors.Euclidean(), C, dimension=rows.shape[1])
    data.predictions = np.asarray(twin.learn(rows, y, weight, data.offset))
    regularizer = partial(regularizer_of, "Euclidean", {}, rows.shape[1])
    reading = Reading(data, random, [], regularizer, "Euclidean", anchored=begun)
    found = model.certificate_
    return Dual(str(found), found.as_dict(), reading).judge()


def replays(random: Random) -> Verdicts:
    """Judge the replay of a log by a bandit."""
    rows = int(random.choice([3, 20, 60]))
    even = bool(random.random() < 0.5)
    chance = np.full(2, 0.5) if even else np.array([0.3, 0.7])
    chosen = (random.random(rows) < chance[1]).astype(int)
    outcomes = np.round(random.random(rows), 3)
    log = bandits.Log(chosen, outcomes, chance[chosen], arms=2)
    least = float(random.choice([0.1, 0.3])) if random.random() < 0.4 else None
    policy = bandits.Exp3(2, eta=0.1, seed=int(random.integers(10**6)))
    found = bandits.replay(policy, log, least=least, seed=int(random.integers(10**6)))
    # What decided is known beforehand if it was promised, or if all propensities are the same.
    exact = least is not None or len(set(chance[chosen].tolist())) == 1
    return replayed(str(found), outcomes, found.accepted, exact, float(chance[chosen].min()))


def constrained(random: Random) -> Verdicts:
    """Judge the best predictor under inequalities that 0 meets."""
    loss = VECTOR_LOSSES[int(random.integers(len(VECTOR_LOSSES)))]
    given = stream(random, loss.labels == "real")
    d = given.X.shape[1]
    A = np.round(random.normal(size=(int(random.integers(1, 4)), d)), 2)
    limits = np.round(0.05 + random.random(len(A)), 3)
    form: dict[str, Any] = {"l2": float(random.choice([0.1, 1.0, 7.0]))}
    if random.random() < 0.3:
        form["radius"] = 1.0
    found = nr.hindsight_constrained(
        given.X, given.y, loss, A, limits, weight=given.weight, max_passes=200, **form
    )
    data = _data(loss, given.X, given.y, given.weight)
    judge = Hindsight(str(found), Reading(data, random), found.weights)
    judge.limits = (A, limits)
    return judge.judge()


def risks(random: Random) -> Verdicts:
    """Judge a predictor for new rows of a small population, at times over many samples."""
    X = np.round(random.normal(size=(6, 2)), 2)
    y = np.round(X @ np.array([0.5, -0.25]) + 0.2 * random.normal(size=6), 2)
    limit = float(np.linalg.norm(X, axis=1).max()) * (1.0 + 1e-9)
    most = limit + float(np.abs(y).max()) + 1e-6
    rounds = int(random.choice([5, 20]))
    method = str(random.choice(["average", "random"]))

    def drawn(source: Random) -> tuple[str, Data, Any]:
        chosen = source.integers(6, size=rounds)

        def fresh() -> Any:
            return nr.MirrorDescent(
                losses.Absolute(), mirrors.Ball(1.0), rates.Constant(0.2), row_limit=limit
            )

        seed = int(source.integers(10**6))
        found = batch_predictor(fresh(), X[chosen], y[chosen], method, seed, 1.0, (0.0, most), 0.05)
        predictions = np.asarray(fresh().learn(X[chosen], y[chosen]))
        data = Data(X[chosen], y[chosen], "Absolute", predictions=predictions)
        return str(found), data, np.pad(found.weights, (0, 2 - len(found.weights)))

    many = bool(random.random() < 0.15)
    again = (lambda seed: drawn(np.random.default_rng(seed))) if many else None
    return risk(drawn(random), Data(X, y, "Absolute"), again)


#: A target at which the loss below has a slope that it does not promise.
ODD = 7.77


def _hasty() -> Any:
    """Return a user's loss that breaks its promise of slopes at one target."""

    @dataclass(frozen=True)
    class Hasty(Lopsided):
        def slope(self, y: float, p: float) -> float:
            return -3.0 if y == ODD else 2.0 if p > y else -1.0

    # To a reader it is the loss with that name.
    Hasty.__name__ = "Lopsided"
    return Hasty()


def promises(random: Random) -> Verdicts:
    """Judge a run that found a user's promise broken: it claims nothing more."""
    loss = _hasty()
    given = _counted(stream(random, True))
    given.y[int(random.integers(len(given.y)))] = ODD
    learner = nr.MirrorDescent(loss, mirrors.Euclidean(), rates.Constant(0.1))
    predictions = np.asarray(learner.learn(given.X, given.y, given.weight))
    data = _data(loss, given.X, given.y, given.weight, predictions)
    reading = Reading(data, random, [learner.weights], of_user=True)
    found = learner.certificate()
    return Linear(str(found), found.as_dict(), reading).judge()
