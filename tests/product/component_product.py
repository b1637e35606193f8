"""The product of the components: every combination that a learner accepts, on one stream.

`python -m tests.product.component_product` learns them all and prints what came out; with
NUMBA_DISABLE_JIT=1 it does so interpreted, kernels and components alike.
"""

from __future__ import annotations

import functools
import itertools
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from noregret import domains, losses, mirrors, rates
from noregret.learners import MirrorDescent
from noregret.learners.combination import Combination
from noregret.proof.ledger import Entry
from tests.learners.dense_reference import Reference
from tests.product.newcomers import newcomers
from tests.sizes import sized

LOSSES: tuple[losses.Loss, ...] = (
    losses.Hinge(0.8),
    losses.SquaredHinge(),
    losses.Logistic(),
    losses.WinnowHinge(),
    losses.Squared(),
    losses.Absolute(),
    losses.EpsilonInsensitive(0.1),
    losses.Huber(0.5),
    losses.Quantile(0.7),
    losses.PowerHinge(3.0),
    losses.OneSidedHuber(0.8),
    losses.Exponential(),
)
MIRRORS: tuple[mirrors.Mirror, ...] = (
    mirrors.Euclidean(),
    mirrors.Ball(0.6),
    mirrors.Box(-0.3, 0.5),
    mirrors.PNorm(3.0),
    mirrors.SoftThreshold(0.02),
    mirrors.Entropy(1.5),
    mirrors.UnnormalizedEntropy(),
    mirrors.SignedEntropy(1.5),
    mirrors.Power(1.5),
    mirrors.Hypentropy(0.3),
)
RATES: tuple[rates.Rate, ...] = (
    rates.Constant(0.2),
    rates.InverseSqrt(0.3),
    rates.Adaptive(),
    rates.Doubling(0.4),
    rates.PerCoordinate(0.5),
    rates.PerCoordinate(0.5, invariant=True),
    rates.StronglyConvex(0.7),
)
# What is added to a package takes part; what it refuses, or keeps in a way of its own, does not.
LOSSES += tuple(newcomers(losses, losses.Loss, LOSSES, "NegativeLog SquaredEpsilonInsensitive"))
MIRRORS += tuple(newcomers(mirrors, mirrors.Mirror, MIRRORS, "ElasticNet"))
ADDED = newcomers(rates, rates.Rate, RATES, eta=0.2)
RATES += tuple(rate for rate in ADDED if rate.family == "scalar")
DOMAINS = (
    None,
    domains.Ball(0.5),
    domains.Box(0.05, 0.4),
    domains.Orthant(),
    domains.Simplex(1.2),
)
ROWS, FEATURES = 10, 4


@dataclass(frozen=True)
class Case:
    """One learner to be."""

    loss: losses.Loss
    mirror: mirrors.Mirror
    rate: rates.Rate
    domain: domains.Domain | None = None
    lazy: bool = True
    conservative: bool = False

    def __str__(self) -> str:
        mode = f"{'lazy' if self.lazy else 'agile'}{', conservative' * self.conservative}"
        return f"{self.loss} {self.mirror} {self.rate} {self.domain} {mode}"

    def arguments(self) -> dict[str, Any]:
        return dict(vars(self))

    def accepted(self) -> bool:
        try:
            Combination(**self.arguments())
        except ValueError:
            return False
        return True


def triples() -> list[Case]:
    """Return every accepted (loss, map, rate) without a domain, conservative where possible."""
    parts = itertools.product(LOSSES, MIRRORS, RATES)
    cases = [
        Case(*part, conservative=flag) for part, flag in itertools.product(parts, (False, True))
    ]
    return [case for case in cases if case.accepted()]


def placed() -> list[Case]:
    """Return every accepted (map, rate, domain, lazy or agile) with a loss of each kind."""
    parts = itertools.product(MIRRORS, RATES, DOMAINS, (True, False))
    some = itertools.product((losses.Hinge(0.8), losses.Squared()), parts)
    cases = [Case(loss, *part) for loss, part in some]
    return [case for case in cases if case.accepted() and (case.domain or not case.lazy)]


def cover(cases: list[Case], parts: Callable[[Case], set[Any]]) -> list[Case]:
    """Choose cases until every part of one of them has occurred."""
    left = [(case, parts(case)) for case in cases]
    missing = set().union(*(own for _, own in left))
    chosen = []
    while missing:
        best, own = max(left, key=lambda pair: len(pair[1] & missing))
        chosen.append(best)
        missing -= own
    return chosen


def every_pair(case: Case) -> set[Any]:
    """Return the pairs of what a case is made of."""
    return set(itertools.combinations([(k, str(v)) for k, v in vars(case).items()], 2))


@functools.cache
def cases() -> list[Case]:
    """Return the triples and the placed cases, in the short form some that have every pair."""
    if sized(False, True):
        return triples() + placed()
    return cover(triples(), every_pair) + cover(placed(), every_pair)


def stream(kind: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows with zeros, labels of that kind and example weights, the same for all.

    Features are multiples of 1/64, so that single precision holds them exactly.
    """
    rng = np.random.default_rng(20)
    X = np.round(rng.uniform(-1.5, 2.0, (ROWS, FEATURES)) * 64) / 64
    X[rng.random(X.shape) < 0.3] = 0.0
    X[3] = 0.0
    hidden = X @ [0.7, -0.4, 0.2, 0.3]
    weight = rng.choice([1.0, 1.0, 0.5, 1.75], ROWS)
    noise = rng.normal(size=ROWS)
    if kind == "sign":
        return X, np.where(hidden + 0.3 * noise > 0.1, 1.0, -1.0), weight
    return X, hidden + 0.2 * noise + 0.15, weight


def outcome(learner: Any, predictions: np.ndarray, ledger: dict[str, float]) -> dict[str, Any]:
    """Return everything that two runs are compared by."""
    averaged = not isinstance(learner.mirror, mirrors.SoftThreshold)
    gradient = (
        learner.gradient if isinstance(learner, Reference) else learner.certificate().gradient
    )
    return {
        "predictions": predictions.tolist(),
        "weights": learner.weights.tolist(),
        "average": learner.average.tolist() if averaged else [],
        "gradient": gradient.tolist(),
        **ledger,
    }


def seen(learner: MirrorDescent, predictions: np.ndarray) -> list[Any]:
    """Return all but the average, to the bit."""
    certificate = learner.certificate()
    numbers = (predictions, learner.weights, certificate.gradient, certificate.ledger)
    return [array.tobytes() for array in numbers] + [str(certificate)]


def learnt_twice(case: Case, X: Any, y: np.ndarray, weight: np.ndarray) -> dict[str, Any]:
    """Run the library, and once more without an average: does that do all else alike?"""
    learner = MirrorDescent(**case.arguments(), dimension=FEATURES, averaging=True)
    without = MirrorDescent(**case.arguments(), dimension=FEATURES, averaging=False)
    predictions = learner.learn(X, y, weight)
    same = seen(learner, predictions) == seen(without, without.learn(X, y, weight))
    return found(learner, predictions) | {"same": same}


def learnt(case: Case, X: Any, y: np.ndarray, weight: np.ndarray) -> dict[str, Any]:
    """Run the library."""
    learner = MirrorDescent(**case.arguments(), dimension=FEATURES)
    return found(learner, learner.learn(X, y, weight))


def found(learner: MirrorDescent, predictions: np.ndarray) -> dict[str, Any]:
    """Return what a learner came to, of sums in two parts the sum."""
    entries = learner.certificate().ledger
    ledger = {place.name: float(entries[place]) for place in Entry}
    for name in ("LOSS", "INTERCEPT", "COUNTED_LOSS"):
        ledger[name] += ledger[f"{name}_LOW"]
    return outcome(learner, predictions, ledger)


def referred(case: Case, X: np.ndarray, y: np.ndarray, weight: np.ndarray) -> dict[str, Any]:
    """Run the dense reference."""
    reference = Reference(**case.arguments(), dimension=FEATURES)
    return outcome(reference, reference.learn(X, y, weight), reference.ledger())


if __name__ == "__main__":
    for case in cases():
        json.dump(learnt_twice(case, *stream(case.loss.labels)), sys.stdout)
        print()
