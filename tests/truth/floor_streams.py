"""Floors of blocks of rows before the referee: python -m tests.truth.soak --family floors.

Every loss of one score that has them, by lines and by parabolas, beside predictions of anyone
(`Certifier`), a learner whose class is measured by its features, and dual ascent with offsets.
Rows come in parts of any length, dense or sparse; between parts the state is saved and loaded, a
block is ended early, or a certificate is read. Labels may be against the leader of the blocks
itself. Each origin of a floor is judged by itself: the largest of them would hide the others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

import noregret as nr
from noregret import losses
from noregret.learners.foreign import Certifier
from tests.truth.claims import Tally
from tests.truth.comparators import Class, comparators
from tests.truth.referee import Referee, fractions
from tests.truth.streams import KINDS, Kind, layout, saved_and_loaded, weights_of

Vector = npt.NDArray[np.float64]
Random = np.random.Generator


def _drifting(random: Random, rounds: int, d: int) -> Vector:
    """Rows whose middle wanders away."""
    return random.normal(size=(rounds, d)) + np.linspace(-3.0, 3.0, rounds)[:, None]


def _jumping(random: Random, rounds: int, d: int) -> Vector:
    """Features whose sizes jump up and down, so that early units are wrong."""
    jumps = 10.0 ** random.integers(-3, 3, (rounds, d))
    return random.normal(size=(rounds, d)) * jumps


def _alike(random: Random, rounds: int, d: int) -> Vector:
    """Features that are nearly equal: matrices without inverse."""
    return random.normal(size=(rounds, 1)) + 1e-7 * random.normal(size=(rounds, d))


#: Made for floors of blocks: early units and early leaders that are wrong.
OWN_KINDS = [
    Kind("drifting", _drifting, labels="drifting"),
    Kind("drifting, weighted", _drifting, labels="drifting", weights="mixed"),
    Kind("jumping sizes", _jumping),
    Kind("jumping sizes, drifting", _jumping, labels="drifting", weights="mixed"),
    Kind("jumping sizes, adversarial", _jumping, labels="adversarial"),
    Kind("alike", _alike, labels="drifting"),
    Kind("alike, adversarial", _alike, labels="adversarial"),
]
KINDS_OF_FLOORS = [*KINDS, *OWN_KINDS]
#: Every loss with a conjugate; -ln p is infinite at predictions of some u, and nobody certifies it.
LOSSES: list[Callable[[Random], losses.Loss]] = [
    lambda random: losses.Hinge(random.choice([1.0, 0.3, 1000.0])),
    lambda random: losses.WinnowHinge(),
    lambda random: losses.Absolute(),
    lambda random: losses.EpsilonInsensitive(random.choice([0.0, 0.1, 2.0])),
    lambda random: losses.Quantile(random.choice([0.1, 0.5, 0.9])),
    lambda random: losses.Logistic(),
    lambda random: losses.Squared(),
    lambda random: losses.SquaredHinge(random.choice([1.0, 0.7])),
    lambda random: losses.Huber(random.choice([0.5, 1.0, 100.0])),
    lambda random: losses.Exponential(),
    lambda random: losses.PowerHinge(random.choice([2.0, 3.0]), random.choice([1.0, 0.5])),
    lambda random: losses.OneSidedHuber(random.choice([1.0, 0.3])),
    lambda random: losses.SquaredEpsilonInsensitive(random.choice([0.0, 0.1])),
]
#: What dual ascent is compiled for here: with a kink, curved, and its own parabola.
WITH_OFFSETS = (losses.Hinge, losses.Logistic, losses.Squared)
SIZES = (1, 5, 37, 1 << 18)
ROUNDS = 40


@dataclass
class Stream:
    """Rows that were taken, and a keeper of blocks: `Certifier` or a learner."""

    keeper: Any
    X: Vector
    y: Vector
    weight: Vector
    offset: Vector
    predictions: Vector
    #: Stored features of a block.
    size: int
    #: Whether the predictions of all rounds are known: what overflows returns none.
    known: bool = True

    @property
    def scaled(self) -> bool:
        """Whether classes are measured by the features."""
        return isinstance(self.keeper, nr.MirrorDescent)

    def resumed(self) -> None:
        """Go on with what a file holds."""
        if isinstance(self.keeper, Certifier):
            kept = self.keeper.arrays()
            self.keeper = _certifier(self.keeper)
            self.keeper.restore(kept)
        else:
            self.keeper = saved_and_loaded(self.keeper)
        self.keeper._lines.pending.size = self.size

    def leader(self, rows: Vector) -> Vector:
        """Return where the leader of the blocks so far predicts."""
        Z = self.keeper._lines.proved(thorough=False)[0][1]
        Z = np.pad(Z, (0, max(rows.shape[1] - len(Z), 0)))
        with np.errstate(all="ignore"):
            return np.nan_to_num(rows @ -Z)

    def take(self, part: slice, form: str) -> int:
        """Take these rows; return how many there were before one that overflows."""
        rows, y, weight = layout(self.X[part], form), self.y[part], self.weight[part]
        try:
            if isinstance(self.keeper, Certifier):
                self.keeper.add(rows, y, self.predictions[part], weight)
            elif isinstance(self.keeper, nr.DualAscent):
                offset = self.offset[part]
                self.predictions[part] = self.keeper.learn(rows, y, weight, offset=offset)
            else:
                self.predictions[part] = self.keeper.learn(rows, y, weight)
        except OverflowError:
            # A learner keeps the rounds before.
            self.known = False
            return int(self.keeper.rounds)
        except ValueError as error:
            # Anyone's predictions are refused as a whole.
            assert "overflows" in str(error), error
            return part.start
        return part.stop


def _certifier(of: Certifier) -> Certifier:
    """Return one that has seen nothing, with the same options."""
    lines = of._lines
    radius = getattr(lines, "_radius", None)
    return Certifier(of._loss, of._mirror, of.blocks, radius)


def _keeper(random: Random, loss: losses.Loss, size: float) -> Any:
    """Return what holds the blocks of a stream of that size of features."""
    kept = "parabolas" if loss.has_curvature() and random.random() < 0.6 else True
    kind = random.random()
    if kind < 0.35:
        return nr.MirrorDescent(
            loss, nr.mirrors.Euclidean(), nr.rates.ScaleFree(), averaging=False, blocks=kept
        )
    if kind < 0.5 and isinstance(loss, WITH_OFFSETS):
        C = float(random.choice([0.01, 1.0])) / max(size, 1e-40) ** 2
        return nr.DualAscent(loss, nr.mirrors.Euclidean(), C, blocks=kept)
    radius = None if random.random() < 0.4 else float(random.choice([0.3, 1.0, 20.0])) / size
    return Certifier(loss, None, kept, radius)


def drawn(random: Random) -> tuple[Stream, Kind, str]:
    """Return a stream that nobody has played yet, its kind, and its layout."""
    kinds = OWN_KINDS if random.random() < 0.4 else KINDS_OF_FLOORS
    kind = kinds[int(random.integers(len(kinds)))]
    loss = LOSSES[int(random.integers(len(LOSSES)))](random)
    d, rounds = int(random.choice([1, 2, 5])), min(kind.rounds, int(random.choice([2, 9, ROUNDS])))
    form = str(random.choice(["dense64", "sparse64"]))
    X = kind.rows(random, rounds, d) * kind.size
    rounds = len(X)
    weight = weights_of(random, kind.weights, rounds)
    y = random.choice([-1.0, 1.0], rounds)
    if kind.labels == "plus":
        y[:] = 1.0
    elif kind.labels in ("separable", "drifting"):
        turn = np.linspace(0.0, math.pi, rounds) if kind.labels == "drifting" else np.zeros(rounds)
        first, second = random.normal(size=(2, d))
        way = np.cos(turn)[:, None] * first + np.sin(turn)[:, None] * second
        y = np.where((X / kind.size * way).sum(axis=1) >= 0.0, 1.0, -1.0)
    if loss.labels == "real":
        y = y * np.abs(random.normal(size=rounds)) * kind.targets
    # Where squares are in range: beyond, parameters are no numbers.
    scale = min(max(kind.size, 1e-70), 1e70)
    keeper = _keeper(random, loss, scale)
    size = SIZES[int(random.integers(len(SIZES)))]
    keeper._lines.pending.size = size
    offset = np.zeros(rounds)
    if isinstance(keeper, nr.DualAscent) and random.random() < 0.7:
        offset = random.normal(size=rounds) * (kind.targets if loss.labels == "real" else 1.0)
    elsewhere = random.normal(size=rounds) * float(random.choice([0.0, 1e-3, 1.0, 30.0]))
    weight = np.ones(rounds) if weight is None else weight
    return Stream(keeper, X, y, weight, offset, elsewhere, size), kind, form


def play(random: Random, stream: Stream, kind: Kind, form: str, tally: Tally) -> int:
    """Play a stream in parts, judging certificates on the way; return how many rows there were."""
    begin, rounds = 0, len(stream.y)
    while begin < rounds:
        part = slice(begin, min(rounds, begin + int(random.integers(1, 20))))
        if kind.labels == "adversarial" and begin:
            against = np.where(stream.leader(stream.X[part]) > 0.0, -1.0, 1.0)
            stream.y[part] = against * np.abs(stream.y[part])
        reached = stream.take(part, form)
        begin = part.stop
        if reached < part.stop:
            rounds = reached
        what = random.random()
        if what < 0.4:
            stream.resumed()
        elif what < 0.5:
            stream.keeper._lines.close()
        if rounds and (begin >= rounds or what > 0.85):
            judge(random, stream, min(begin, rounds), tally, thorough=random.random() < 0.7)
    return rounds


def judge(random: Random, stream: Stream, rounds: int, tally: Tally, thorough: bool) -> None:
    """Judge every floor that a certificate has, and what it says of single predictors."""
    certificate = stream.keeper.certificate(thorough)
    assert certificate.rounds == stream.keeper._lines.rounds == rounds
    part = slice(0, rounds)
    given = stream.X[part], stream.y[part], stream.weight[part]
    referee = Referee(certificate.loss_function, *given, offset=stream.offset[part])
    d = stream.X.shape[1]
    zeros = np.zeros(d - len(certificate.gradient))
    played = None
    if stream.known and not stream.offset.any():
        played = referee.exact_at(stream.predictions[part])[0]
    for ball, norm in classes(random, stream, referee):
        tried = predictors(random, certificate, referee, ball, norm, zeros)
        for origin, floor in certificate.floors(ball.radius, norm).items():
            for u in tried:
                true, distance = referee.exceeds(u, [floor])
                what = f"{floor!r} over {ball.shape} {ball.radius!r}"
                tally.enter(f"{origin}, {norm or 'own'}", true, distance, what, u)
        for u in tried[::3] if played is not None else ():
            # Features that did not occur have no part in any loss.
            regret = certificate.regret(u[: len(certificate.gradient)])
            true, distance = referee.exceeds(u, [played, -regret])
            tally.enter("regret", true, distance, repr(regret), u)
        if isinstance(stream.keeper, Certifier):
            eta = float(random.choice([1e-9, 0.1, 1.0, 1e6]))
            floor = certificate.regularized_floor(eta)
            for u in tried[::2]:
                extra = sum((v * v for v in fractions(u)), Fraction(0)) / (2 * Fraction(eta))
                true, distance = referee.exceeds(u, [floor], extra=extra)
                tally.enter("regularised", true, distance, f"{floor!r} {eta!r}", u)


def classes(
    random: Random, stream: Stream, referee: Referee
) -> Iterator[tuple[Class, float | None]]:
    """Yield classes, with the norms that floors are asked for."""
    size = float(np.abs(referee.X).max(initial=0.0))
    power = 2.0 ** round(-math.log2(size)) if 1e-200 < size else 1.0
    if stream.scaled:
        sizes = np.abs(referee.X[referee.weight > 0.0]).max(axis=0, initial=0.0)
        sizes = np.where(sizes > 0.0, np.maximum(sizes, 1e-140), 0.0)
        # Small, within the radii of parabolas, and beyond them.
        for radii in ([0.0, 2.0**-100, 0.1, 1.0], [2.0, 4.0, 16.0], [8.0, 64.0, 80.0, 300.0, 1e20]):
            yield Class("2", float(random.choice(radii)), sizes), None
    else:
        # Below, at and beyond a radius that was promised.
        named = getattr(stream.keeper._lines, "_radius", None) or 4.0 * power
        for factors in ([0.0, 0.01, 0.25], [1.0], [1.0 + 1e-15, 2.0, 16.0, 20.0, 40.0]):
            yield Class("2", named * float(random.choice(factors))), None
    norm = float(random.choice([1.0, 1.5, 2.0, math.inf]))
    yield Class(repr(norm), power * float(random.choice([0.5, 4.0, 64.0]))), norm


def predictors(
    random: Random, certificate: Any, referee: Referee, ball: Class, norm: Any, zeros: Vector
) -> list[Vector]:
    """Return members of a class where its floors are tight, and others."""
    tried = [np.zeros(referee.X.shape[1])]
    gradients = [one.gradient for one in (certificate, *certificate.blocks[::3])]
    if ball.sizes is None:
        tried += [ball.corner(np.concatenate([z, zeros])) for z in gradients]
    else:
        units = np.where(ball.sizes > 0.0, ball.sizes, 1.0)
        for z in gradients:
            corner = Class(ball.shape, ball.radius).corner(np.concatenate([z, zeros]) / units)
            tried.append(corner / units)
    # Floors are asked for first, so that it is known where parabolas are lowest.
    certificate.floors(ball.radius, norm)
    for one in certificate.curves:
        tried += [np.pad(v, (0, len(tried[0]) - len(v))) for v in one.lowest.values()]
    if random.random() < 0.15:
        z = np.concatenate([certificate.gradient, zeros])
        natural = _small(referee) if ball.sizes is None else 1.0
        tried += comparators(random, referee, ball, z, natural)
    tried.append(random.normal(size=len(tried[0])) * min(ball.radius, _small(referee)))
    fitted = [ball.fitted(u) for u in tried if np.all(np.isfinite(u))]
    return [u for u in fitted if u is not None]


def _small(referee: Referee) -> float:
    """Return a length at which predictions are of order 1."""
    size = float(np.abs(referee.X).max(initial=0.0))
    return 1.0 / size if 1e-200 < size else 1.0


def stream(seed: int, index: int) -> tuple[Tally, str]:
    """Play the stream of that number and judge its certificates."""
    random, tally = np.random.default_rng([seed, index, 11]), Tally()
    with np.errstate(all="ignore"):
        one, kind, form = drawn(random)
        rounds = play(random, one, kind, form, tally)
    keeper = one.keeper
    radius = getattr(keeper._lines, "_radius", None)
    loss = keeper._loss if isinstance(keeper, Certifier) else keeper.loss
    what = f"{type(keeper).__name__} {loss} {keeper.blocks} radius {radius}"
    return tally, f"{what} | {kind.name} | {form} {one.X.shape[1]}d, blocks of {one.size}, {rounds}"
