"""Matrix descent and the ranker: score losses, maps, rates and switches."""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any

import numpy as np

import noregret as nr
from noregret import losses, mirrors, rates
from tests.same_bits.descent import LOSSES as INNER
from tests.same_bits.descent import RATES as ALL_RATES
from tests.same_bits.examples import (
    CLASSES,
    FEATURES,
    LAYOUTS,
    ROWS,
    Scenarios,
    laid,
    learnt,
    number,
    resumed,
    stream,
)
from tests.same_bits.observe import Content, asked, facts, plain

LOSSES = (
    losses.Softmax(),
    losses.MulticlassHinge(0.8),
    *(losses.OneAgainstRest(loss) for loss in INNER if loss.labels == "sign"),
)
MIRRORS = (
    mirrors.Euclidean(),
    mirrors.Ball(0.6),
    mirrors.PNorm(3.0),
    mirrors.SignedEntropy(1.5),
    mirrors.Entropy(),
    mirrors.Box(-1.0, 1.0),
)
RATES = (
    rates.Constant(0.2),
    rates.InverseSqrt(0.3),
    rates.Adaptive(),
    rates.ScaleFree(),
    rates.Newton(),
)
RANKINGS = (losses.PairwiseHinge(0.7), losses.PairwiseLogistic())


def _grown(loss: Any, rate: Any) -> Content:
    """Return a learner that begins with two classes, of width unknown, and grows by a third."""
    X, y, weight = stream("class", 3, 20)
    learner = nr.MatrixDescent(loss, rate=rate)
    found: Content = {}
    found["two"] = plain(asked(learner.learn, X[:8], y[:8] % 2, weight[:8]))
    found["unknown"] = plain(asked(learner.learn, X[8:], y[8:]))
    asked(learner.grow, 3)
    found["three"] = plain(asked(learner.learn, X[8:], y[8:], weight[8:]))
    return found | facts(learner)


def _from_binary(rate: Any) -> Content:
    X, y, weight = stream("sign", 3, 20)
    binary = nr.MirrorDescent(losses.Logistic(), mirrors.Euclidean(), rate)
    binary.learn(X[:10], y[:10], weight[:10])
    learner = nr.MatrixDescent.from_binary(binary)
    labels = np.arange(10) % 2
    return {"predicted": plain(asked(learner.learn, X[10:], labels))} | facts(learner)


def _sets(loss: Any) -> Content:
    """Return a learner of sets of classes."""
    X, y, weight = stream("class", 4, 20)
    targets = np.eye(CLASSES)[y.astype(int)]
    targets[::3] = [1.0, 0.0, 1.0]
    learner = nr.MatrixDescent(loss, outputs=CLASSES)
    return {"predicted": plain(asked(learner.learn, X, targets, weight))} | facts(learner)


def _ranked(loss: Any, mirror: Any, rate: Any, name: str) -> Content:
    X, relevance, weight = stream("real", number(name) % 7, ROWS + 5)
    groups = np.repeat(np.arange(7), 3)[: len(X)]
    ranker = nr.Ranker(loss, mirror, rate, dimension=FEATURES if number(name) % 2 else None)
    layout = LAYOUTS[number(name) % 4]
    found: Content = {}
    levels = np.clip(np.round(relevance + 1.0), 0.0, 3.0)
    for start, stop in ((0, 9), (9, len(X))):
        part = slice(start, stop)
        given = laid(X[part], layout), levels[part], groups[part]
        mass = () if number(name) % 3 else (np.repeat(weight[:7], 3)[: len(X)][part],)
        found[f"from {start}"] = plain(asked(ranker.learn, *given, *mass))
        ranker = resumed(ranker)
    found["predicted"] = plain(asked(ranker.predict, laid(X, layout)))
    return found | facts(ranker)


def scenarios(compiled: int) -> Scenarios:
    """Yield matrix descents, learners that grow, and rankers."""
    seen: set[tuple[Any, ...]] = set()
    flags = itertools.product((False, True), repeat=2)
    for loss, mirror, rate, (cons, impl) in itertools.product(LOSSES, MIRRORS, RATES, flags):
        parts = loss, mirror, rate, CLASSES, FEATURES, cons, impl
        make = partial(nr.MatrixDescent, *parts)
        words = ["conservative"] * cons + ["implicit"] * impl
        name = " ".join([str(loss), str(mirror), str(rate), *words])
        inner = type(loss).__name__, type(getattr(loss, "loss", loss)).__name__
        # Compiled, every loss, every map with every rate, every switch with a kind of loss.
        kinds = inner, mirror, (inner[0], rate), (inner[0], impl, cons)
        if isinstance(asked(make), str):
            yield name, make
        elif not compiled or any(kind not in seen for kind in kinds):
            seen |= set(kinds)
            yield name, learnt, make, "class", name, compiled
    for loss, rate in itertools.product(LOSSES[: 1 if compiled else None], RATES):
        yield f"grown {loss} {rate}", _grown, loss, rate
    for rate in RATES:
        yield f"from binary {rate}", _from_binary, rate
    for loss in LOSSES[:4]:
        yield f"sets {loss}", _sets, loss
    maps = (*MIRRORS, mirrors.UnnormalizedEntropy(), mirrors.SoftThreshold(0.02))
    for loss, mirror, rate in itertools.product(RANKINGS, maps, ALL_RATES):
        name = f"ranker {loss} {mirror} {rate}"
        plain_map = isinstance(mirror, mirrors.Euclidean)
        if not compiled or (plain_map if rate in ALL_RATES[1:3] else rate == ALL_RATES[0]):
            yield name, _ranked, loss, mirror, rate, name
