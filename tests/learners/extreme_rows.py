"""Learners on rows of extreme size, one row at a time.

`python -m tests.learners.extreme_rows` prints what came of each row, the prediction or the line
that refuses it: of a learner of each kind, and after `all` of every combination of components. With
NUMBA_DISABLE_JIT=1 it does so interpreted, kernels and components alike.
"""

from __future__ import annotations

import itertools
import json
import sys
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from noregret import domains, losses, mirrors, rates
from noregret.learners import DualAscent, MatrixDescent, MirrorDescent
from tests.learners import dual_product
from tests.product import component_product
from tests.sizes import sized

#: Rows hold at most 1e100, and the least number above 0 is 5e-324.
SIZES = (0.0, 5e-324, 1e-308, 1e-160, 1e-30, 1.0, 800.0, 1e10, 1e50, 1e100)
#: What a stream is made of: any size, those whose squares underflow, those whose powers overflow.
MIXTURES = (SIZES, SIZES[:6], (0.0, *SIZES[5:]))
ROWS, FEATURES = 12, 3

Makers = dict[str, Callable[[], Any]]
Outcomes = dict[str, list[list[Any]]]

descent = partial(MirrorDescent, dimension=FEATURES)
agile = partial(descent, lazy=False)
#: A learner of each pass, with the losses and maps that overflow, underflow or divide.
KINDS: Makers = {
    "linear": partial(descent, losses.Squared(), mirrors.Euclidean(), rates.Adaptive()),
    "p-norm": partial(descent, losses.Logistic(), mirrors.PNorm(2.5), rates.Constant(0.5)),
    "power": partial(descent, losses.PowerHinge(3.0), mirrors.Power(1.05), rates.InverseSqrt(0.5)),
    "two-sided": partial(
        descent, losses.Exponential(), mirrors.Hypentropy(0.3), rates.Constant(0.5)
    ),
    "signed": partial(
        descent,
        losses.Hinge(),
        mirrors.SignedEntropy(2.0),
        rates.Adaptive(),
    ),
    "coordinate": partial(
        descent,
        losses.Absolute(),
        mirrors.Euclidean(),
        rates.PerCoordinate(0.5, invariant=True),
    ),
    "ridge": partial(descent, losses.Squared(), mirrors.Euclidean(), rates.Ridge(1e-9)),
    "newton": partial(
        descent, losses.Exponential(), mirrors.Euclidean(), rates.Newton(forgetting=0.9)
    ),
    "aioli": partial(descent, losses.Logistic(), mirrors.Euclidean(), rates.Aioli()),
    "coin betting": partial(descent, losses.Absolute(), mirrors.Euclidean(), rates.CoinBetting()),
    "scale-free": partial(descent, losses.Squared(), mirrors.Euclidean(), rates.ScaleFree()),
    "implicit": partial(
        agile,
        losses.PowerHinge(3.0),
        mirrors.PNorm(24.0),
        rates.Constant(0.5),
        implicit=True,
    ),
    "clipped simplex": partial(
        agile,
        losses.Squared(),
        mirrors.Entropy(),
        rates.Adaptive(),
        domains.ClippedSimplex(0.1),
    ),
    "dual": partial(DualAscent, losses.Hinge(), mirrors.Entropy(1.5), 0.7, dimension=FEATURES),
    "matrix": partial(MatrixDescent, losses.Softmax(), outputs=3, dimension=FEATURES),
    "matrix, newton": partial(
        MatrixDescent, losses.Softmax(), rate=rates.Newton(), outputs=3, dimension=FEATURES
    ),
}


def product() -> Makers:
    """Return combinations of loss, map, rate and domain, and of update and map: all in a soak."""
    makers: Makers = {}
    for case in component_product.cases():
        makers[str(case)] = partial(MirrorDescent, **case.arguments(), dimension=FEATURES)
    every = list(itertools.product(dual_product.PAIRS, dual_product.UPDATES))
    # A step of 4 through 7 x 9 pairs meets each pair and each update.
    for pair, update in sized(every[::4], every):
        makers[f"{pair} / {update}"] = partial(dual_product.learners, pair, update)
    return makers


def stream(seed: int, kind: str, features: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows, labels of a kind and weights, of any size that is accepted."""
    random = np.random.default_rng(seed)
    sizes = MIXTURES[seed % len(MIXTURES)]
    X = random.choice(sizes, (ROWS, features)) * random.choice((-1.0, 1.0), (ROWS, features))
    y = random.choice((-1.0, 1.0), ROWS)
    if kind == "class":
        y = random.integers(0, 3, ROWS).astype(np.float64)
    elif kind == "real":
        y *= random.choice(sizes, ROWS)
    return X, y, random.choice((1.0, 1.0, 1.0, 1e-100, 1e100), ROWS)


def outcomes(make: Callable[[], Any], seed: int) -> list[Any]:
    """Return for each row the refusal, or its predictions and the size of the terms of these."""
    learner = make()
    found: list[Any] = []
    for x, y, weight in zip(*stream(seed, learner.loss.labels, learner.dimension), strict=True):
        with np.errstate(over="ignore", invalid="ignore"):
            size = float(np.max(np.abs(x) @ np.abs(learner.weights)))
        try:
            predictions = learner.learn(x[None], np.array([y]), np.array([weight]))
        except OverflowError as error:
            found.append(str(error))
        else:
            found.append([np.ravel(predictions).tolist(), size])
    return found


def of_each_kind(seeds: int = 9) -> Outcomes:
    """Return what becomes of several streams in a learner of each kind."""
    return {name: [outcomes(make, seed) for seed in range(seeds)] for name, make in KINDS.items()}


def of_the_product() -> Outcomes:
    """Return what becomes of one stream each in every combination."""
    makers = product().items()
    return {name: [outcomes(make, seed)] for seed, (name, make) in enumerate(makers)}


def found(*arguments: str) -> Outcomes:
    """Return what the program prints for these arguments."""
    return of_the_product() if arguments == ("all",) else of_each_kind()


if __name__ == "__main__":
    # Numbers of numpy warn where machine code and those of Python go on in silence.
    warnings.simplefilter("ignore", RuntimeWarning)
    json.dump(found(*sys.argv[1:]), sys.stdout)
