"""Cases for the referee: linear learners of every kind, and what was printed about them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from noregret.learners import DualAscent
from tests.printed.data import Data, half_square, sequences_penalty
from tests.printed.linear import Dual, Linear, Reading
from tests.printed.losses import parameters_of
from tests.printed.regularizers import regularizer_of
from tests.printed.verdicts import Verdicts
from tests.truth.dual_streams import DUAL_COMBOS, DualCombo
from tests.truth.learners import COMBOS, SCALE_FREE, TRACKERS, Combo
from tests.truth.streams import layout

Random = np.random.Generator


@dataclass(frozen=True)
class Stream:
    """Rows, labels and weights of moderate size: extremes are the business of tests.truth."""

    X: Any
    y: Any
    weight: Any


def stream(random: Random, real: bool, d: int | None = None, positive: bool = False) -> Stream:
    """Return a random stream: noisy, separable or constant; weighted one time in three."""
    rounds = int(random.choice([1, 2, 7, 20, 40]))
    d = int(random.choice([1, 2, 3, 5])) if d is None else d
    X = random.normal(size=(rounds, d)) / np.sqrt(d)
    if positive or random.random() < 0.2:
        X = (random.random((rounds, d)) < 0.5).astype(float)
    X[random.random((rounds, d)) < 0.2] = 0.0
    if random.random() < 0.2:
        X = np.ones((rounds, d))
    X *= float(random.choice([1.0, 1.0, 0.25, 4.0]))
    hidden = random.normal(size=d)
    y = X @ hidden + random.choice([0.0, 0.5]) * random.normal(size=rounds)
    if not real:
        y = np.where(y >= 0.0, 1.0, -1.0)
    if real:
        y = np.round(y, 3) * float(random.choice([1.0, 1.0, 10.0]))
    weight = None
    if random.random() < 0.33:
        weight = random.choice([0.0, 0.5, 1.0, 2.0, 3.25, 100.0], rounds)
    return Stream(X, y, weight)


def learnt(learner: Any, given: Stream, form: str) -> Data:
    """Let a learner learn a stream; return the reader's data with its predictions."""
    X = layout(given.X, form)
    sigma = 0.0 if isinstance(learner, DualAscent) else learner.rate.strong_convexity()
    loss, parameters = type(learner.loss).__name__, parameters_of(learner.loss)
    stored = X.toarray() if hasattr(X, "toarray") else X
    data = Data(
        stored.astype(np.float64),
        given.y,
        loss,
        parameters,
        given.weight,
        penalty=half_square(sigma * len(given.y)) if sigma else None,
    )
    if not sigma:
        data.predictions = np.asarray(learner.learn(X, given.y, given.weight), np.float64)
        return data
    rows, played = [], []
    for t in range(len(given.y)):
        weights = np.zeros(data.dimension)
        weights[: len(learner.weights)] = learner.weights
        played.append(weights)
        weight = None if given.weight is None else given.weight[t : t + 1]
        rows.append(learner.learn(X[t : t + 1], given.y[t : t + 1], weight)[0])
    data.predictions = np.array(rows, np.float64)
    data.own_penalty = sequences_penalty(played, sigma)
    return data


def radius_of(random: Random, combo: Combo | DualCombo) -> float | None:
    """Return the radius that a reader asks for, mostly none."""
    if random.random() < 0.7 or combo.mirror in ("simplex",):
        return None
    return float(random.choice([0.5, 1.0, 2.0, 7.3]))


def padded(weights: Any, d: int) -> Any:
    """Return the weights with zeros for features never seen."""
    return np.pad(np.asarray(weights), (0, d - len(weights)))


def linear(random: Random, combo: Combo) -> Verdicts:
    """Judge the certificate of one linear learner."""
    given = stream(random, combo.loss in REAL, positive="winnow" in combo.loss)
    d = given.X.shape[1]
    learner = combo.learner(random, 1.0, d)
    data = learnt(learner, given, combo.layout)
    certificate = learner.certificate()
    radius = radius_of(random, combo)
    reading = Reading(data, random, [padded(learner.weights, d)], of_user=combo.loss == "user")
    text = str(certificate) if radius is None else certificate.text(radius)
    return Linear(text, certificate.as_dict(radius), reading).judge()


def dual(random: Random, combo: DualCombo) -> Verdicts:
    """Judge the certificate of one dual-ascent learner, with offsets at times."""
    given = stream(random, combo.loss in REAL, positive="winnow" in combo.loss)
    d = given.X.shape[1]
    learner = combo.learner(random, 1.0, d)
    while not 1e-12 <= learner.C <= 1e6:
        # Factors that no double divides by are the business of tests.truth.
        learner = combo.learner(random, 1.0, d)
    loss, parameters = type(learner.loss).__name__, parameters_of(learner.loss)
    data = Data(given.X, given.y, loss, parameters, given.weight)
    if random.random() < 0.25:
        data.offset = np.round(random.normal(size=len(given.y)), 3)
    try:
        made = learner.learn(given.X, given.y, given.weight, data.offset)
    except OverflowError as error:
        # A step out of range is refused by name, and nothing is printed about it.
        refused = Verdicts()
        refused.enter("refused", "use a smaller C" in str(error), error)
        return refused
    data.predictions = np.asarray(made, np.float64)
    certificate = learner.certificate()
    radius = radius_of(random, combo)
    name = type(learner.mirror).__name__
    own = {key: float(value) for key, value in vars(learner.mirror).items() if value is not None}
    reading = Reading(
        data,
        random,
        [padded(learner.weights, d)],
        partial(regularizer_of, name, own, d),
        name,
    )
    text = str(certificate) if radius is None else certificate.text(radius)
    return Dual(text, certificate.as_dict(radius), reading).judge()


REAL = ("squared", "absolute", "quantile", "tube", "huber", "user", "squared tube")
ALL = [*COMBOS, *TRACKERS, *SCALE_FREE]


def any_linear(random: Random) -> Verdicts:
    return linear(random, ALL[int(random.integers(len(ALL)))])


def any_dual(random: Random) -> Verdicts:
    return dual(random, DUAL_COMBOS[int(random.integers(len(DUAL_COMBOS)))])
