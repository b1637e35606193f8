"""Several scores before a referee of 80 digits: python -m tests.truth.matrix_streams --count 500.

Losses are written here again from their definitions, in numbers of 80 digits. A stream is short
and odd: one to thirty rounds, features of any size, weights of any, scores that turn up later, a
learner that is saved and loaded on the way. Every comparator has its norm computed in these
numbers and rounded up to the radius that the floor is asked for.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from mpmath import mp, mpf

from noregret import losses, mirrors, rates
from noregret.learners import MatrixDescent
from noregret.learners.matrix_certificate import MatrixCertificate
from noregret.proof.ledger import Entry
from noregret.proof.statement import BLOCKS
from tests.truth.claims import Tally
from tests.truth.streams import saved_and_loaded

Vector = npt.NDArray[np.float64]
Random = np.random.Generator
DIGITS = 80

SOFTMAX, HINGE, NARROW = losses.Softmax(), losses.MulticlassHinge(), losses.MulticlassHinge(0.1)
LOGISTIC, REST = losses.OneAgainstRest(), losses.OneAgainstRest
PAIRS, SOFT_PAIRS = losses.PairwiseHinge(), losses.PairwiseLogistic()
#: Loss, map and rate: what kernels are compiled for, every map with several losses.
COMBOS: list[tuple[losses.ScoreLoss, str, str]] = [
    (SOFTMAX, "plain", "tuned"),
    (SOFTMAX, "plain", "constant"),
    (SOFTMAX, "ball", "adaptive"),
    (SOFTMAX, "signed", "adaptive"),
    (HINGE, "plain", "constant"),
    (NARROW, "p-norm", "constant"),
    (HINGE, "plain", "tuned"),
    (LOGISTIC, "plain", "tuned"),
    (LOGISTIC, "p-norm", "falling"),
    (REST(losses.Hinge()), "ball", "constant"),
    (REST(losses.SquaredHinge()), "plain", "tuned"),
    (PAIRS, "signed", "constant"),
    (SOFT_PAIRS, "plain", "falling"),
    (SOFT_PAIRS, "plain", "tuned"),
]
#: Sizes of features, and of the weights of examples.
SIZES = [1.0, 1.0, 1e-120, 1e-20, 1e30, 1e90]
WEIGHTS = [(1.0,), (0.0, 1.0, 3.0), (1e-30, 1.0), (1e20,), (1e-90, 1e-89)]
OUTPUTS = [1, 2, 3, 7, 50]


def exact_loss(loss: losses.ScoreLoss, target: Any, s: list[mpf]) -> mpf:
    """Return the loss of scores, from its definition."""
    if isinstance(loss, losses.Softmax):
        y = s[int(target)]
        others = mp.fsum(mp.exp(v - y) for k, v in enumerate(s) if k != int(target))
        return mp.log1p(others) if others < 1 else mp.log(1 + others)
    if isinstance(loss, losses.MulticlassHinge):
        y = int(target)
        rivals = [v for k, v in enumerate(s) if k != y]
        return max(mpf(0), mpf(loss.margin) + max(rivals) - s[y]) if rivals else mpf(0)
    if isinstance(loss, losses.OneAgainstRest):
        inside = [k == target for k in range(len(s))] if np.ndim(target) == 0 else target > 0.0
        return mp.fsum(_binary(loss.loss, v if i else -v) for v, i in zip(s, inside, strict=True))
    pairs = [(i, j) for i in range(len(s)) for j in range(len(s)) if target[i] > target[j]]
    if isinstance(loss, losses.PairwiseHinge):
        terms = [max(mpf(0), mpf(loss.margin) - s[i] + s[j]) for i, j in pairs]
    else:
        terms = [_binary(losses.Logistic(), s[i] - s[j]) for i, j in pairs]
    return mp.fsum(terms) / len(pairs) if pairs else mpf(0)


def _binary(loss: losses.Loss, margin: mpf) -> mpf:
    if isinstance(loss, losses.Logistic):
        return mp.log1p(mp.exp(-abs(margin))) + max(-margin, mpf(0))
    excess = max(mpf(loss.margin) - margin, mpf(0))  # type: ignore[attr-defined]
    return excess if isinstance(loss, losses.Hinge) else excess * excess / 2


@dataclass
class Round:
    """A row, its target and weight, and the scores that were made for it."""

    x: Vector
    target: Any
    weight: float
    scores: Vector


def learner_of(
    random: Random, size: float, outputs: int, dimension: int, blocks: bool
) -> MatrixDescent:
    """Return a learner whose rate suits, or hardly suits, features of that size."""
    loss, shape, pace = COMBOS[int(random.integers(len(COMBOS)))]
    while blocks and not loss.has_conjugate():
        loss, shape, pace = COMBOS[int(random.integers(len(COMBOS)))]
    if pace == "tuned" and loss is SOFTMAX and random.random() < 0.5:
        steps = rates.Newton(
            float(random.choice([1e-3, 0.1, 1.0])),
            bool(random.random() < 0.7),
            float(random.choice([0.95, 1.0])),
        )
        return MatrixDescent(loss, rate=steps, outputs=outputs, blocks=blocks)
    if pace == "tuned":
        return MatrixDescent(loss, outputs=outputs, blocks=blocks)
    radius = float(random.choice([0.3, 2.0])) / size
    mirror: mirrors.Mirror = {
        "plain": mirrors.Euclidean(),
        "ball": mirrors.Ball(radius),
        "p-norm": mirrors.PNorm(4.0),
        "signed": mirrors.SignedEntropy(radius),
    }[shape]
    eta = float(random.choice([1e-9, 0.1, 1.0, 10.0])) / size**2
    paces = {"constant": rates.Constant, "falling": rates.InverseSqrt}
    rate = paces[pace](eta) if pace in paces else rates.Adaptive()
    careful = isinstance(loss, losses.MulticlassHinge) and random.random() < 0.4
    return MatrixDescent(loss, mirror, rate, outputs, dimension, careful, blocks=blocks)


def targets_of(random: Random, loss: losses.ScoreLoss, outputs: int, sets: bool) -> Any:
    """Return the target of one round."""
    if loss.labels == "relevance":
        return random.integers(3, size=outputs).astype(float)
    if sets:
        return random.integers(2, size=outputs).astype(float)
    return float(random.integers(outputs))


def play(
    random: Random, learner: MatrixDescent, size: float, dimension: int, block: int
) -> tuple[Any, ...]:
    """Learn a stream row by row; return the learner as it is then, and the rounds.

    block: stored features with which a block is full, if blocks are kept.
    """
    sets = learner.loss.sets and random.random() < 0.3
    masses = WEIGHTS[int(random.integers(len(WEIGHTS)))]
    growable = not isinstance(learner.mirror, mirrors.SignedEntropy)
    spread = random.choice([1.0, 1e-6, 1e3], size=dimension) if random.random() < 0.3 else 1.0
    played: list[Round] = []
    for _ in range(int(random.choice([1, 2, 8, 30]))):
        x = size * spread * random.normal(size=dimension) * (random.random(dimension) < 0.8)
        if played and random.random() < 0.2:
            x = played[-1].x
        target = targets_of(random, learner.loss, learner.outputs, sets)
        weight = float(random.choice(masses))
        if learner._lines is not None:
            learner._lines.pending.size = block
        try:
            scores = learner.learn(x[None, :], np.array([target]), [weight])[0]
        except OverflowError:
            break
        played.append(Round(x, target, weight, scores))
        if growable and random.random() < 0.05 and learner.outputs < 9:
            learner.grow(learner.outputs + 2)
        if random.random() < 0.1:
            learner = saved_and_loaded(learner)
    return learner, played


class Case:
    """A certificate and the rounds that it speaks about."""

    def __init__(self, certificate: MatrixCertificate, played: list[Round], sizes: Any) -> None:
        self.certificate, self.played, self.sizes = certificate, played, sizes
        self.loss = certificate.loss_function
        self.outputs = certificate.outputs
        self.suffered = mp.fsum(
            mpf(r.weight) * exact_loss(self.loss, r.target, [mpf(float(v)) for v in r.scores])
            for r in played
        )

    def losses_of(self, U: Vector) -> list[mpf]:
        """Return what a matrix loses in each round, of the scores there were then."""
        exact = [[mpf(float(v)) for v in column] for column in U.T]
        found = []
        for r in self.played:
            x = [mpf(float(v)) for v in r.x]
            s = [mp.fdot(x, column) for column in exact[: len(r.scores)]]
            found.append(mpf(r.weight) * exact_loss(self.loss, r.target, s))
        return found

    def comparators(self, random: Random, weights: Vector) -> Iterator[Vector]:
        """Yield matrices that are hard on floors: 0, the learner's own, and along -Z."""
        z = self.certificate.gradient.reshape(self.outputs, -1).T
        yield np.zeros_like(z)
        yield weights
        yield from self.along(random, z)
        for lines in self.certificate.blocks[::3]:
            yield from self.along(random, lines.gradient.reshape(self.outputs, -1).T)

    def along(self, random: Random, z: Vector) -> Iterator[Vector]:
        """Yield matrices along -z, in several norms."""
        largest = float(np.abs(z).max(initial=0.0))
        if not 0.0 < largest < math.inf:
            return
        direction = -z / largest
        left, _, right = np.linalg.svd(direction, full_matrices=False)
        corner = np.where(np.abs(direction) == np.abs(direction).max(), np.sign(direction), 0.0)
        lengths = np.maximum(np.linalg.norm(direction, axis=0), 1e-300)
        cubes = direction * direction * direction
        scale = max(float(np.abs(r.x).max(initial=0.0)) for r in self.played)
        if not scale > 0.0:
            return
        for way in (direction, direction / lengths, np.outer(left[:, 0], right[0]), corner, cubes):
            if self.sizes is not None:
                way = np.where(self.sizes > 0.0, way / np.maximum(self.sizes, 1e-140), 0.0) * scale
            yield way * (float(random.choice([1e-12, 1e-3, 1.0, 30.0])) / scale)
        yield random.normal(size=z.shape) / scale

    def judge(self, random: Random, weights: Vector) -> Tally:
        """Check every statement."""
        tally, c = Tally(), self.certificate
        slack = mpf(c.slack) + mpf(c.loss) * mpf(2.0**-52)
        off = abs(self.suffered - mpf(c.loss))
        tally.enter("loss", bool(off <= slack), _far(slack - off, slack), f"{c.loss!r}")
        for U in self.comparators(random, weights):
            if not np.all(np.isfinite(U)):
                continue
            parts = self.losses_of(U)
            own = mp.fsum(parts)
            for name, norm, radius in self.radii(U):
                floor = c.floor(radius, norm)
                tally.enter(name, bool(own >= mpf(floor)), _far(own - mpf(floor), own), str(radius))
                lines = c.floors(radius, norm).get(BLOCKS) if c.blocks else None
                if lines is not None:
                    # By itself: the largest floor may be another.
                    far = _far(own - mpf(lines), own)
                    tally.enter(f"{name}, blocks", bool(own >= mpf(lines)), far, str(radius))
                if norm is None:
                    self.theorems(tally, parts, own, radius)
            regret = c.regret(U)
            gap = mpf(regret) - (self.suffered - own)
            tally.enter("regret", bool(gap >= 0), _far(gap, self.suffered), f"{regret!r}", U)
            self.regularized(tally, random, U, own)
        return tally

    def theorems(self, tally: Tally, parts: list[mpf], own: mpf, radius: float) -> None:
        c = self.certificate
        wrong = [self.loss.mistake(r.target, r.scores) for r in self.played]
        measures = {"loss": self.suffered, "mistakes": mpf(sum(wrong)), "loss on mistakes": mpf(0)}
        counted = mp.fsum(part for part, bad in zip(parts, wrong, strict=True) if bad)
        if c.conservative:
            measures["loss on mistakes"] = mp.fsum(
                mpf(r.weight) * exact_loss(self.loss, r.target, [mpf(float(v)) for v in r.scores])
                for r, bad in zip(self.played, wrong, strict=True)
                if bad
            )
        for bound in c.bounds_for(radius):
            if bound.applies and math.isfinite(bound.value):
                compared = own if bound.measure == "loss" else counted
                gap = mpf(bound.factor) * compared + mpf(bound.value) - measures[bound.measure]
                distance = _far(gap, measures[bound.measure])
                tally.enter("theorem", bool(gap >= 0), distance, repr(bound))

    def regularized(self, tally: Tally, random: Random, U: Vector, own: mpf) -> None:
        c, mirror = self.certificate, self.certificate.mirror
        last = float(c.ledger[Entry.LAST_ETA])
        if isinstance(mirror, mirrors.SignedEntropy) and U.any():
            return
        for eta in {last or 1.0, 10.0 ** float(random.integers(-20, 20))}:
            floor = c.regularized_floor(eta)
            q = mpf(4) / 3 if isinstance(mirror, mirrors.PNorm) else mpf(2)
            length = _norm(U.ravel(), q)
            if isinstance(mirror, mirrors.Ball) and length > mirror.radius:
                continue
            total = own + length * length / (2 * mpf(eta))
            gap = total - mpf(floor)
            tally.enter("regularised", bool(gap >= 0), _far(gap, total), f"{eta!r}", U)

    def radii(self, U: Vector) -> Iterator[tuple[str, Any, float]]:
        """Yield the classes that a matrix is in, each with the least radius, rounded up."""
        mirror = self.certificate.mirror
        if self.sizes is not None:
            m = np.where(self.sizes > 0.0, np.maximum(self.sizes, 1e-140), 0.0)
            scaled = [
                mpf(float(a)) * mpf(float(b)) for a, b in zip(U.ravel(), m.ravel(), strict=True)
            ]
            yield "floor", None, _up(mp.sqrt(mp.fsum(v * v for v in scaled)))
        else:
            q = mpf(2)
            if isinstance(mirror, mirrors.PNorm):
                q = mpf(4) / 3
            elif isinstance(mirror, mirrors.SignedEntropy):
                q = mpf(1)
            yield "floor", None, _up(_norm(U.ravel(), q))
        yield "1-norm", 1.0, _up(_norm(U.ravel(), mpf(1)))
        yield "largest", math.inf, float(np.abs(U).max())
        yield "columns", "columns", _up(max(_norm(column, mpf(2)) for column in U.T))
        with mp.workdps(50):
            square = mp.matrix(U.T.tolist()) * mp.matrix(U.tolist())
            if square.rows > 7:
                return
            values = mp.eigsy(square, eigvals_only=True)
            trace = mp.fsum(mp.sqrt(abs(v)) for v in values) * (1 + mpf(10) ** -20)
            # The root of a value that should be 0 is what its rounding leaves.
            yield "trace", "trace", _up(trace)


def _norm(u: Vector, q: mpf) -> mpf:
    return mp.fsum(abs(mpf(float(v))) ** q for v in u) ** (1 / q)


def _up(value: mpf) -> float:
    """Return a double that is not below."""
    return math.nextafter(float(value), math.inf) if value > 0 else 0.0


def _far(gap: mpf, size: mpf) -> float:
    return float(gap / max(abs(size), mpf(10) ** -300))


def stream(seed: int, index: int, blocks: bool = False) -> tuple[Tally, str]:
    """Play the stream of that number and judge its certificate; with blocks of few features."""
    random = np.random.default_rng([seed, index, 7])
    size = SIZES[int(random.integers(len(SIZES)))]
    outputs = OUTPUTS[int(random.integers(len(OUTPUTS)))]
    dimension = int(random.choice([1, 2, 5]))
    with np.errstate(all="ignore"), mp.workdps(DIGITS):
        learner = learner_of(random, size, outputs, dimension, blocks)
        learner, played = play(random, learner, size, dimension, (1, 7, 30, 1000)[index % 4])
        what = f"{learner.loss} {learner.mirror} {learner.rate} {size:g} {dimension}x{outputs}"
        if not played:
            return Tally(), what
        case = Case(learner.certificate(), played, learner.sizes)
        tally = case.judge(random, learner.weights)
    return tally, f"{what} {len(played)} rounds"


def main(arguments: Sequence[str] | None = None) -> int:
    """Play streams, print what is false and how tight the rest was; return 1 if any was false."""
    parser = argparse.ArgumentParser(prog="tests.truth.matrix_streams", description=__doc__)
    parser.add_argument("--count", type=int, default=500, help="how many streams")
    parser.add_argument("--seed", type=int, default=0, help="which streams")
    parser.add_argument("--only", type=int, help="the number of one stream to play again")
    options = parser.parse_args(arguments)
    total = Tally()
    for index in range(options.count) if options.only is None else [options.only]:
        tally, what = stream(options.seed, index)
        total.add(tally)
        if tally.false:
            print(f"FALSE --seed {options.seed} --only {index}: {what}")
            print("\n".join(f"    {text[:300]}" for text in tally.false[:3]), flush=True)
    for kind, count in sorted(total.checked.items()):
        print(f"{kind:<14}{count:>8,}   tightest {total.tightest[kind]:.2e}")
    print(f"{sum(total.checked.values()):,} statements, {len(total.false)} violations")
    return 1 if total.false else 0


if __name__ == "__main__":
    sys.exit(main())
