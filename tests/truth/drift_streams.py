"""Streams of every kind against `drift_proof`: is each printed number on the right side?

The optimum over the ball is found by a solver of our own that shares nothing with the code under
test (singular values of the rows, a multiplier by bisection in extended precision), beside those
of `comparators`; every comparison that is close is made in fractions. A thousand streams:
python -m tests.truth.drift_streams --count 1000 --seed 0.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from noregret import losses
from noregret.streams import Block
from noregret.tracking import drift, watch
from noregret.tracking.mixture import Tracker
from tests.truth.claims import Tally
from tests.truth.comparators import Class, comparators
from tests.truth.referee import Referee, fractions
from tests.truth.soak import table

Vector = npt.NDArray[np.float64]
Random = np.random.Generator
#: Rows and targets of a stream.
Made = tuple[Vector, Vector]


def _signs(p: Vector) -> Vector:
    return np.where(p > 0.0, 1.0, -1.0)


def _gaussian(random: Random, rounds: int, d: int) -> Vector:
    X = random.normal(size=(rounds, d)) / np.sqrt(d)
    X[:, -1] = 1.0
    return X


def _independent(random: Random, rounds: int, d: int) -> Made:
    X = _gaussian(random, rounds, d)
    return X, _signs(X @ random.normal(size=d) + random.normal(size=rounds))


def _autocorrelated(random: Random, rounds: int, d: int) -> Made:
    """One law for all rounds, but labels that hang together in time."""
    level = np.zeros(rounds)
    for t in range(1, rounds):
        level[t] = 0.97 * level[t - 1] + random.normal()
    return _gaussian(random, rounds, d), _signs(level)


def _shifting(random: Random, rounds: int, d: int) -> Made:
    X = _gaussian(random, rounds, d)
    u = random.normal(size=(4, d))
    part = np.minimum(4 * np.arange(rounds) // max(rounds, 1), 3)
    return X, _signs(np.einsum("td,td->t", X, u[part]))


def _rotating(random: Random, rounds: int, d: int) -> Made:
    X = _gaussian(random, rounds, d)
    angle = np.linspace(0.0, 4.0 * np.pi, rounds)
    return X, X[:, 0] * np.cos(angle) + X[:, -1] * np.sin(angle)


def _constant_labels(random: Random, rounds: int, d: int) -> Made:
    return _gaussian(random, rounds, d), np.ones(rounds)


def _zero_rows(random: Random, rounds: int, d: int) -> Made:
    return np.zeros((rounds, d)), random.choice([-1.0, 1.0], rounds)


def _some_zero_rows(random: Random, rounds: int, d: int) -> Made:
    X, y = _shifting(random, rounds, d)
    X[random.random(rounds) < 0.5] = 0.0
    return X, y


def _one_row(random: Random, rounds: int, d: int) -> Made:
    return np.tile(random.normal(size=d), (rounds, 1)), np.repeat([1.0, -1.0], rounds)[::2]


def _collinear(random: Random, rounds: int, d: int) -> Made:
    base = random.normal(size=(rounds, 1))
    X = base @ random.normal(size=(1, d)) + 1e-9 * random.normal(size=(rounds, d))
    return X, _signs(base[:, 0] + random.normal(size=rounds))


def _fitted(random: Random, rounds: int, d: int) -> Made:
    """Targets that a predictor of norm 1 meets but for rounding: the optimum is next to 0."""
    X, u = _gaussian(random, rounds, d), random.normal(size=d)
    return X, X @ (u / np.linalg.norm(u))


def _mixed_scales(random: Random, rounds: int, d: int) -> Made:
    X, y = _shifting(random, rounds, d)
    return X * 10.0 ** random.uniform(-12, 12, d), y


def _far_targets(random: Random, rounds: int, d: int) -> Made:
    X, y = _rotating(random, rounds, d)
    return X, 1e6 + 1e3 * y


@dataclass(frozen=True)
class Kind:
    """A kind of stream; rows are multiplied by `size`, and real targets with them on demand."""

    name: str
    make: Callable[[Random, int, int], Made]
    size: float = 1.0
    rounds: int = 80
    dimension: int | None = None
    weights: str = "ones"
    #: Whether targets are no labels.
    real: bool = False


KINDS = [
    Kind("independent", _independent),
    Kind("independent, weighted", _independent, weights="mixed"),
    Kind("autocorrelated", _autocorrelated),
    Kind("shifting", _shifting),
    Kind("shifting, long", _shifting, rounds=2500),
    Kind("shifting, weighted", _shifting, weights="mixed"),
    Kind("rotating", _rotating, real=True),
    Kind("tiny", _shifting, rounds=4),
    Kind("one round", _independent, rounds=1),
    Kind("one feature", _autocorrelated, dimension=1),
    Kind("more features than rounds", _shifting, rounds=12, dimension=40),
    Kind("constant labels", _constant_labels),
    Kind("zero rows", _zero_rows, rounds=20),
    Kind("some zero rows", _some_zero_rows),
    Kind("one row", _one_row),
    Kind("collinear", _collinear),
    Kind("fitted", _fitted, real=True),
    Kind("fitted, far", _fitted, real=True, size=1e8),
    Kind("huge rows", _shifting, size=1e60),
    Kind("tiny rows", _shifting, size=1e-60),
    Kind("denormal rows", _shifting, size=1e-310),
    Kind("mixed scales", _mixed_scales),
    Kind("far targets", _far_targets, real=True),
    Kind("no weight", _shifting, weights="none"),
]

#: How much of the size of its terms a static bound may miss.
TIGHT = 2e-10

LOSSES = [losses.Hinge(), losses.Logistic(), losses.Absolute(), losses.Huber(0.5)]


class Recorded(Tracker):
    """The tracker, its predictions kept."""

    made: list[Vector]

    def learn(self, X: Any, y: Any, weight: Any = None) -> Vector:
        predictions = super().learn(X, y, weight)
        type(self).made.append(predictions.copy())
        return predictions


def _blocks(X: csr_array, y: Vector, weight: Vector, rows: int) -> Iterator[Block]:
    for start in range(0, len(y), rows):
        part, stop = X[start : start + rows], start + rows
        yield Block(
            part.indptr.astype(np.uint64),
            part.indices.astype(np.uint32),
            part.data,
            y[start:stop],
            X.shape[1],
            weight[start:stop],
        )


def prove(
    X: Vector, y: Vector, weight: Vector, loss: losses.Loss, radius: float, window: int, form: str
) -> tuple[drift.DriftProof, Vector]:
    """Return the proof, and what the tracker predicted."""
    Recorded.made = []
    with mock.patch.object(watch, "Tracker", Recorded), np.errstate(all="ignore"):
        if form == "dense":
            proof = drift.drift_proof(X, y, loss, radius, weight, window)
        elif form == "sparse":
            proof = drift.drift_proof(csr_array(X), y, loss, radius, weight, window)
        else:
            stream = _blocks(csr_array(X), y, weight, max(1, len(y) // 3))
            proof = drift.drift_proof(stream, None, loss, radius, window=window)
    return proof, np.concatenate(Recorded.made)


def least_squares(X: Vector, y: Vector, weight: Vector, radius: float) -> Vector:
    """Return the best predictor of the ball for the square loss, by the singular values of rows."""
    size = float(np.abs(X).max(initial=0.0))
    heavy = float(weight.max(initial=0.0))
    if size == 0.0 or heavy == 0.0:
        return np.zeros(X.shape[1])
    root = np.sqrt(weight / heavy)
    left, values, right = np.linalg.svd((X / size) * root[:, None], full_matrices=False)
    goal = (left.T @ (root * y)).astype(np.longdouble)
    long, reach = values.astype(np.longdouble), np.longdouble(radius) * size
    kept = long > 1e-13 * long[0]

    def solution(mu: np.longdouble) -> Any:
        return np.where(kept, long * goal / np.where(kept, long * long + mu, 1.0), 0.0)

    low = high = np.longdouble(0)
    if np.linalg.norm(solution(low).astype(float)) > reach:
        high = np.longdouble(1)
        while np.sqrt((solution(high) ** 2).sum()) > reach:
            high *= 4
        for _ in range(200):
            middle = (low + high) / 2
            longer = np.sqrt((solution(middle) ** 2).sum()) > reach
            low, high = (middle, high) if longer else (low, middle)
    return np.asarray(right.T @ (solution(high) / size).astype(np.float64))


def _size(X: Vector, y: Vector, weight: Vector, length: float) -> float:
    """Return (sqrt(sum c y^2) + ||u|| sqrt(sum c ||x||^2))^2, which no term of the sum exceeds."""
    rows = np.sqrt(weight) * np.linalg.norm(X * length, axis=1)
    return float((np.linalg.norm(np.sqrt(weight) * y) + np.linalg.norm(rows)) ** 2)


def _alike(X: Vector) -> bool:
    """Tell whether columns are of one scale: beyond 1e6 an eigenvector loses the smaller ones."""
    sizes = np.abs(X).max(axis=0, initial=0.0)
    seen = sizes[sizes > 0.0]
    return not len(seen) or bool(seen.max() <= 1e6 * seen.min())


def judge(
    random: Random,
    loss: losses.Loss,
    proof: drift.DriftProof,
    made: Vector,
    X: Vector,
    y: Vector,
    weight: Vector,
) -> Tally:
    """Check both numbers of a proof and of its windows."""
    tally, ball = Tally(), Class("2", proof.radius)
    picked = random.permutation(len(proof.windows))[:4]
    for span in [proof, *(proof.windows[k] for k in picked)]:
        part = slice(span.first - 1, span.last)
        referee = Referee(loss, X[part], y[part], weight[part])
        natural = 1.0 / max(float(np.abs(X).max(initial=0.0)), 1e-290)
        rough = X[part].T @ (weight[part] * y[part])
        tried = comparators(random, referee, ball, rough, natural)
        best = ball.fitted(least_squares(X[part], y[part], weight[part], proof.radius))
        tried += [] if best is None else [best]
        for u in tried:
            true, distance = referee.exceeds(u, [span.static_bound])
            tally.enter("static bound", true, distance, f"{span.static_bound!r}", span.rounds, u)
        _, high = referee.exact_at(made[part])
        above = Fraction(span.tracker_loss) - high
        tally.enter("tracker loss", above >= 0, float(min(above, Fraction(10**9))), repr(span))
        if type(loss) is losses.Squared and best is not None and _alike(X[part]):
            # Not a promise but what makes the promise worth something: bound and optimum are
            # one number, but for rounding in units of what they are the difference of.
            missing = float(referee.approximate(best)[0]) - span.static_bound
            size = _size(X[part], y[part], weight[part], float(np.linalg.norm(best)))
            left = 1.0 - missing / (TIGHT * size) if size > 1e-200 else 1.0
            tally.enter("tight", left >= 0.0, left, f"{span!r} misses {missing!r} of {size!r}")
    for x, p in zip(X, made, strict=True):
        square = sum((v * v for v in fractions(x)), Fraction(0))
        inside = Fraction(float(p)) ** 2 <= Fraction(proof.radius) ** 2 * square
        tally.enter("inside the ball", inside, 0.0, f"{p!r}", x)
    return tally


def stream(seed: int, index: int, most: int | None = None) -> tuple[Tally, str, bool]:
    """Make the stream of that number, prove and judge; tell also whether drift was proved.

    It has at most `most` rounds, and ten times as many if its kind is a long one.
    """
    random = np.random.default_rng([seed, index])
    kind = KINDS[index % len(KINDS)]
    d = kind.dimension or int(random.choice([1, 2, 5, 5, 17]))
    rounds = kind.rounds if kind.rounds < 20 else int(kind.rounds * random.uniform(0.5, 1.0))
    if most is not None:
        rounds = min(rounds, 10 * most if kind.rounds > 1000 else most)
    X, y = kind.make(random, rounds, d)
    X = X * kind.size
    y = y[:rounds]
    weight = np.ones(rounds)
    if kind.weights == "mixed":
        weight = 10.0 ** random.uniform(-4, 4, rounds)
    elif kind.weights == "none":
        weight = np.zeros(rounds)
    known = [loss for loss in LOSSES if loss.labels == "real" or not kind.real]
    other = random.random() < 0.25 and rounds < 1000
    loss = known[int(random.integers(len(known)))] if other else losses.Squared()
    radius = float(10.0 ** random.uniform(-1, 2)) / min(max(kind.size, 1e-90), 1e90)
    form = str(random.choice(["dense", "sparse", "stream"]))
    window = max(1, rounds // int(random.integers(1, 5)))
    proof, made = prove(X, y, weight, loss, radius, window, form)
    with np.errstate(all="ignore"):
        tally = judge(random, loss, proof, made, X, y, weight)
    what = f"{kind.name}, {rounds} x {d}, {loss}, radius {radius!r}, {form}, window {window}"
    return tally, what, proof.proved


def main(arguments: Sequence[str] | None = None) -> int:
    """Judge so many streams and print a table; return 1 if any statement was false."""
    parser = argparse.ArgumentParser(prog="tests.truth.drift_streams", description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="how many streams")
    parser.add_argument("--seed", type=int, default=0, help="which streams")
    parser.add_argument("--only", type=int, help="the number of one stream to play again")
    options = parser.parse_args(arguments)
    total, proofs = Tally(), 0
    numbers = range(options.count) if options.only is None else [options.only]
    for index in numbers:
        tally, what, proved = stream(options.seed, index)
        total.add(tally)
        proofs += proved
        if tally.false:
            print(f"FALSE --seed {options.seed} --only {index}: {what}")
            print("\n".join(f"    {text}" for text in tally.false[:3]))
    print(f"{table(total, len(numbers))}, {proofs} proofs of drift")
    return 1 if total.false else 0


if __name__ == "__main__":
    sys.exit(main())
