"""Cases for the referee: moving predictors, foreign predictions, mixtures, estimators, users."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

import noregret as nr
from noregret import catalogue, domains, experts, losses, mirrors, rates, river, tracking
from noregret.experts.roster import narrow_members, stack_of
from noregret.sklearn import DualClassifier, DualRegressor, OnlineClassifier, OnlineRegressor
from tests.mirrors.own_map import Cosh
from tests.printed.aggregate import Aggregate
from tests.printed.cases_games import members_of, real_or_sign
from tests.printed.cases_linear import Random, Stream, stream
from tests.printed.data import Data
from tests.printed.hindsight import Hindsight
from tests.printed.linear import Linear, Reading
from tests.printed.losses import parameters_of
from tests.printed.tracking import drift, kernel, shifting
from tests.printed.verdicts import Verdicts


def _data(loss: Any, X: Any, y: Any, weight: Any = None, predictions: Any = None) -> Data:
    return Data(X, y, type(loss).__name__, parameters_of(loss), weight, predictions)


def shifts(random: Random) -> Verdicts:
    """Judge what is said about trackers and a schedule."""
    d, rounds = 2, int(random.choice([4, 12, 30]))
    X = np.round(random.random((rounds, d)), 3)
    y = np.round(random.random(rounds), 3)
    learner = [
        catalogue.c_gd(1.0, 2.0),
        catalogue.c_egu(0.1, d, 1.0, 1.0),
        catalogue.c_eg(0.1, 1.0, dimension=d),
        nr.MirrorDescent(
            losses.Squared(),
            mirrors.Euclidean(),
            rates.Constant(0.1),
            domains.Ball(1.0),
            lazy=False,
        ),
    ][int(random.integers(4))]
    predictions = learner.learn(X, y)
    cut = int(random.integers(1, rounds - 1))
    parts = [(0, np.array([0.5, 0.5])), (cut, np.array([0.25, 0.75]))]
    if random.random() < 0.2:
        parts = parts[:1]
    found = tracking.shifting_bounds(learner, tracking.Schedule(parts), X, y)
    data = _data(losses.Squared(), X, y, None, np.asarray(predictions))
    return shifting(str(found), found.as_dict(), data, parts)


def kernels(random: Random) -> Verdicts:
    """Judge descent in a Hilbert space."""
    rounds = int(random.choice([2, 10, 20]))
    X, y = np.round(random.normal(size=(rounds, 2)), 3), np.round(random.normal(size=rounds), 3)
    radius = float(random.choice([0.5, 1.0, 3.0]))
    made = tracking.KernelDescent(tracking.Gaussian(1.0), radius=radius, eta=0.1)
    predictions = np.asarray(made.learn(X, y))
    square = ((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2)
    gram = np.exp(-square)
    data = _data(losses.Squared(), X, y, None, predictions)
    return kernel(str(made), Reading(data, random), gram)


def proofs(random: Random) -> Verdicts:
    """Judge proofs of drift."""
    loss = [losses.Squared(), losses.Absolute(), losses.Hinge()][int(random.integers(3))]
    rounds, d = int(random.choice([4, 20, 40])), int(random.choice([1, 2]))
    X = (
        np.ones((rounds, d))
        if random.random() < 0.5
        else np.round(random.normal(size=(rounds, d)), 3)
    )
    y = np.where(np.arange(rounds) < rounds // 2, 1.0, -1.0)
    if random.random() < 0.4:
        y = np.where(random.random(rounds) < 0.5, 1.0, -1.0)
    weight = random.choice([0.5, 1.0, 3.0], rounds) if random.random() < 0.3 else None
    window = 4 if random.random() < 0.4 and rounds > 4 else None
    radius = float(random.choice([0.5, 1.0, 2.3]))
    found = tracking.drift_proof(X, y, loss, radius, weight, window)
    return drift(str(found), found.as_dict(), Reading(_data(loss, X, y, weight), random))


FOREIGN = [
    losses.Hinge(), losses.SquaredHinge(0.7), losses.Logistic(), losses.Squared(),
    losses.Absolute(), losses.EpsilonInsensitive(0.2), losses.Huber(0.5), losses.Quantile(0.7),
    losses.PowerHinge(3.0), losses.OneSidedHuber(0.8), losses.Exponential(), losses.WinnowHinge(),
    losses.SquaredEpsilonInsensitive(0.1),
]  # fmt: skip


def foreign(random: Random) -> Verdicts:
    """Judge the certificate of anyone's predictions."""
    loss = FOREIGN[int(random.integers(len(FOREIGN)))]
    given = stream(random, loss.labels == "real")
    predictions = np.round(random.normal(size=len(given.y)), 2)
    maps = [None, mirrors.Euclidean(), mirrors.SignedEntropy(1.0), mirrors.Entropy(1.5),
            mirrors.PNorm(3.0), mirrors.UnnormalizedEntropy()]  # fmt: skip
    mirror = maps[int(random.integers(len(maps)))]
    proof = nr.certify(given.X, given.y, predictions, loss, given.weight, mirror)
    radius = float(random.choice([0.5, 1.0, 7.3]))
    if isinstance(mirror, mirrors.Entropy):
        radius = 1.5
    data = _data(loss, given.X, given.y, given.weight, predictions)
    return Linear(proof.text(radius), proof.as_dict(radius), Reading(data, random)).judge()


def aggregate(random: Random) -> Verdicts:
    """Judge a mixture of learners."""
    given, loss = real_or_sign(random)
    whole, others, predictions = members_of(random, given, loss)
    data = _data(loss, given.X, given.y, given.weight, np.asarray(predictions))
    certificate = whole.certificate()
    reading = Reading(data, random, [whole.weights])
    return Aggregate(str(certificate), certificate.as_dict(), reading, others).judge()


def mixture(random: Random) -> Verdicts:
    """Judge a mixture of probabilities, with a stack one time in two."""
    given, loss = stream(random, False), losses.Logistic()
    etas = [0.01, 0.1, 1.0][: int(random.integers(1, 4))]
    made = [nr.MirrorDescent(loss, mirrors.Euclidean(), rates.Constant(eta)) for eta in etas]
    stack = catalogue.ogd(loss, 0.3) if random.random() < 0.5 else None
    alone, last = copy.deepcopy(made), copy.deepcopy(stack)
    mixing = str(random.choice(["probabilities", "probabilities", "losses"]))
    whole = experts.Aggregate(made, mixing=mixing, stack=stack)
    predictions = whole.learn(given.X, given.y, given.weight)
    others = [one.learn(given.X, given.y, given.weight) for one in alone]
    if last is not None:
        rows = np.clip(np.column_stack(others), -30.0, 30.0)
        others.append(last.learn(rows, given.y, given.weight))
    data = _data(loss, given.X, given.y, given.weight, np.asarray(predictions))
    certificate = whole.certificate()
    reading = Reading(data, random, [])
    return Aggregate(str(certificate), certificate.as_dict(), reading, others).judge()


def mixture_of_kinds(random: Random) -> Verdicts:
    """Judge the mixture of those who choose nothing, its class in units of the features."""
    loss = [losses.Logistic(), losses.Squared(), losses.Hinge()][int(random.integers(3))]
    given = stream(random, loss.labels == "real")
    whole, alone = nr.Mixture(loss), narrow_members(loss)
    predictions = whole.learn(given.X, given.y, given.weight)
    # The last one waits for rows that are too wide, and sees no feature of these.
    rows = [given.X] * (len(alone) - 1) + [np.zeros_like(given.X)]
    others = [one.learn(each, given.y, given.weight) for one, each in zip(alone, rows, strict=True)]
    table = np.column_stack(others)
    table = np.clip(table, -30.0, 30.0) if loss.labels == "sign" else table
    others.append(stack_of(loss).learn(table, given.y, given.weight))
    data = _data(loss, given.X, given.y, given.weight, np.asarray(predictions))
    certificate = whole.certificate()
    reading = Reading(data, random, [])
    return Aggregate(str(certificate), certificate.as_dict(), reading, others).judge()


def _counted(given: Stream) -> Stream:
    """Return a stream whose weights are above 0: estimators leave out the other rows."""
    return replace(given, weight=None if given.weight is None else np.maximum(given.weight, 0.5))


def estimator(random: Random) -> Verdicts:
    """Judge the certificates of the online estimators, after one pass in order."""
    sign = bool(random.random() < 0.5)
    loss = losses.Logistic() if sign else losses.Squared()
    if random.random() < 0.4:
        loss = losses.Hinge() if sign else losses.Huber(1.0)
    given = _counted(stream(random, not sign))
    if len(given.y) < 2 or (sign and len(set(given.y.tolist())) < 2):
        return estimator(random)
    kind = str(random.choice(["scale_free", "grid", "constant"]))
    rate: Any = rates.Constant(0.1) if kind == "constant" else kind
    passes = int(random.choice([1, 1, 3]))
    model: Any = (OnlineClassifier if sign else OnlineRegressor)(
        loss, rate=rate, passes=passes, shuffle=False
    )
    model.fit(given.X, given.y, sample_weight=given.weight)
    weight = None if given.weight is None else np.tile(given.weight, passes)
    given = Stream(np.tile(given.X, (passes, 1)), np.tile(given.y, passes), weight)
    X = np.column_stack([given.X, np.ones(len(given.y))])
    d = X.shape[1]
    if kind == "grid":
        twin: Any = experts.rate_grid(loss, mirrors.Euclidean(), dimension=d)
    else:
        chosen = rates.ScaleFree() if kind == "scale_free" else rate
        twin = nr.MirrorDescent(loss, mirrors.Euclidean(), chosen, dimension=d)
    others = []
    if kind == "grid":
        alone = experts.rate_grid(loss, mirrors.Euclidean(), dimension=d).learners
        others = [one.learn(X, given.y, given.weight) for one in alone]
    predictions = np.asarray(twin.learn(X, given.y, given.weight))
    data = _data(loss, X, given.y, given.weight, predictions)
    data.passes = (passes, passes)
    certificate = model.certificate_
    reading = Reading(data, random)
    if kind == "grid":
        return Aggregate(str(certificate), certificate.as_dict(), reading, others).judge()
    return Linear(str(certificate), certificate.as_dict(), reading).judge()


def dual_estimator(random: Random) -> Verdicts:
    """Judge the optima of the dual estimators: C weighs every loss."""
    sign = bool(random.random() < 0.5)
    loss = losses.Hinge() if sign else losses.Squared()
    given = _counted(stream(random, not sign))
    if len(given.y) < 2 or (sign and len(set(given.y.tolist())) < 2):
        return dual_estimator(random)
    C = float(random.choice([1.0, 100.0, 0.3]))
    model: Any = (DualClassifier if sign else DualRegressor)(loss, C=C, max_iter=200)
    sample = given.weight
    model.fit(given.X, given.y, sample_weight=sample)
    X = np.column_stack([given.X, np.ones(len(given.y))])
    weight = C * (np.ones(len(given.y)) if sample is None else sample)
    weights = np.append(np.ravel(model.coef_), np.ravel(model.intercept_))
    data = _data(loss, X, given.y, weight)
    return Hindsight(str(model.certificate_), Reading(data, random), weights).judge()


def rivers(random: Random) -> Verdicts:
    """Judge the certificate of a river estimator."""
    loss = losses.Squared()
    given = stream(random, True)
    model = river.OnlineRegressor()
    d = given.X.shape[1]
    X = np.column_stack([np.ones(len(given.y)), given.X])
    twin = nr.MirrorDescent(loss, mirrors.Euclidean(), rates.ScaleFree())
    predictions = []
    for x, y in zip(given.X, given.y, strict=True):
        model.learn_one({f"x{j}": float(v) for j, v in enumerate(x)}, float(y))
        predictions.append(float(twin.learn([[1.0, *x]], [y])[0]))
    data = _data(loss, X[:, : d + 1], given.y, None, np.array(predictions))
    certificate = model.certificate()
    return Linear(str(certificate), certificate.as_dict(), Reading(data, random)).judge()


@dataclass(frozen=True)
class Lopsided(losses.Loss):
    """A user's loss: twice as dear above the target as below."""

    labels: ClassVar[str] = "real"
    nonnegative: ClassVar[bool] = True

    def value(self, y: float, p: float) -> float:
        return max(2.0 * (p - y), y - p)

    def slope(self, y: float, p: float) -> float:
        return 2.0 if p > y else -1.0

    def mistake(self, y: float, p: float) -> bool:
        return False

    def lipschitz(self) -> float:
        return 2.0


def user(random: Random) -> Verdicts:
    """Judge learners with a user's own loss or map: taken at their word, and said so."""
    loss: Any = Lopsided() if random.random() < 0.6 else losses.Absolute()
    mirror: Any = mirrors.Euclidean() if isinstance(loss, Lopsided) else Cosh()
    given = stream(random, True)
    rate = [rates.Constant(0.1), rates.InverseSqrt(0.3), rates.Adaptive(0.5)][
        int(random.integers(3))
    ]
    learner = nr.MirrorDescent(loss, mirror, rate)
    predictions = np.asarray(learner.learn(given.X, given.y, given.weight))
    certificate = learner.certificate()
    data = _data(loss, given.X, given.y, given.weight, predictions)
    reading = Reading(data, random, [learner.weights], of_user=True)
    return Linear(str(certificate), certificate.as_dict(), reading).judge()
