"""Every statement of a certificate, put before the referee."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np
import numpy.typing as npt

from noregret import Certificate, domains, mirrors
from noregret.proof import bounds
from noregret.proof.ledger import Entry
from noregret.proof.statement import Measured, Statement
from noregret.rates.base import UNBOUNDED
from tests.truth.comparators import Class, comparators
from tests.truth.referee import Referee, fractions, relative_entropy
from tests.truth.streams import Played

Vector = npt.NDArray[np.float64]


@dataclass
class Tally:
    """How many statements were checked, which were false, and how tight the true ones were."""

    checked: dict[str, int] = field(default_factory=dict)
    false: list[str] = field(default_factory=list)
    tightest: dict[str, float] = field(default_factory=dict)

    def enter(self, kind: str, true: bool, distance: float, what: str, *at: Any) -> None:
        self.checked[kind] = self.checked.get(kind, 0) + 1
        self.tightest[kind] = min(self.tightest.get(kind, math.inf), distance)
        if not true:
            self.false.append(f"{kind}: {what} {at} (relative distance {distance:.3g})")

    def add(self, other: Tally) -> None:
        for kind, count in other.checked.items():
            self.checked[kind] = self.checked.get(kind, 0) + count
            self.tightest[kind] = min(self.tightest.get(kind, math.inf), other.tightest[kind])
        self.false += other.false


def judge(random: np.random.Generator, played: Played) -> Tally:
    """Check the statements of every certificate of a run."""
    tally = Tally()
    sigma = played.learner.rate.strong_convexity()
    everything = Referee(played.learner.loss, played.X, played.y, played.weight, sigma)
    for rounds, certificate in played.certificates.items():
        if rounds == 0:
            assert certificate.floor(1.0) == certificate.loss == 0.0
            continue
        judged = Case(random, certificate, everything.part(rounds), played, rounds)
        judged.learner_loss(tally)
        for ball in judged.classes():
            judged.against_class(tally, ball)
        judged.own_domain(tally)
        judged.regularized(tally)
        judged.every_predictor(tally)
    return tally


def shape_of(mirror: mirrors.Mirror) -> str:
    """Return the class that belongs to a map, in the referee's words."""
    if mirror.geometry in ("simplex", "subsimplex", "1", "2"):
        return mirror.geometry
    assert isinstance(mirror, (mirrors.PNorm, mirrors.Power))
    return repr(mirror.p / (mirror.p - 1.0) if isinstance(mirror, mirrors.PNorm) else mirror.p)


@contextmanager
def bare_theorems() -> Iterator[None]:
    """Print theorems without the decision that lifts them within rounding, or drops them."""

    def bare(run: Measured, value: float, reason: str = "") -> tuple[float, str]:
        return (math.inf, reason) if reason else (value, "")

    with mock.patch.object(Measured, "judge", bare):
        yield


class Case:
    """One certificate before the referee."""

    def __init__(
        self,
        random: np.random.Generator,
        certificate: Certificate,
        referee: Referee,
        played: Played,
        rounds: int,
    ) -> None:
        self.random, self.certificate, self.referee = random, certificate, referee
        self.predictions = played.predictions[:rounds]
        self.learner = played.learner
        #: A learner may have grown since.
        self.weights: Vector = played.learner.weights[: len(certificate.gradient)]
        self.rounds = rounds
        #: The units of the class that `floor(radius)` speaks about, None if all are 1.
        self.sizes: Vector | None = None
        if certificate.rate.scaled():
            # Rows of weight 0 have no say, and the class is larger without them.
            sizes = np.abs(referee.X[referee.weight > 0.0]).max(axis=0, initial=0.0)
            self.sizes = np.where(sizes > 0.0, np.maximum(sizes, 1e-140), 0.0)
        size = float(np.abs(referee.X).max(initial=0.0))
        self.natural = 1.0 / size if 1e-200 < size else 1.0
        exact = referee.exact_at(self.predictions)
        #: The learner's loss without any regulariser; from below for what must exceed it.
        self.loss = exact[0]
        self.exact_loss = exact
        loss = certificate.loss_function
        self.mistaken = np.array(
            [loss.mistake(*map(float, pair)) for pair in np.c_[referee.y, self.predictions]], bool
        )

    def classes(self) -> Iterator[Class]:
        shape = shape_of(self.certificate.mirror)
        power = 2.0 ** round(math.log2(self.natural))
        radii = {0.0, 2.0**-100, power, 2.0**67, 8.0 * power}
        own = self.certificate.mirror.own_radius()
        if shape in ("1", "2"):
            # Corners of the simplex would not add up exactly to such a radius.
            own = self.certificate.radius
        if self.sizes is not None:
            radii = {0.0, 2.0**-100, 1.0, 8.0, 2.0**67}
        for radius in sorted(radii | ({own} if own else set())):
            yield Class(shape, radius, self.sizes)
        for other in ("1.0", "2.0", "1.5", "inf"):
            yield Class(other, power * float(self.random.choice([0.5, 1.0, 4.0])))

    def learner_loss(self, tally: Tally) -> None:
        """The loss printed is the loss suffered, up to the slack."""
        certificate = self.certificate
        low, high = self.exact_loss
        regularizer = Fraction(float(certificate.loss)) - Fraction(
            float(certificate.ledger[Entry.LOSS] + certificate.ledger[Entry.LOSS_LOW])
        )
        error = Fraction(certificate.slack) + Fraction(abs(certificate.loss)) / 2**49
        stated = Fraction(certificate.loss) - regularizer
        true = low - error <= stated <= high + error
        tally.enter("loss", true, float(error - abs(stated - low)), f"{float(low)!r}")

    def own_loss(self) -> Fraction:
        """Return the learner's loss with the regulariser that strongly convex rounds carry."""
        ledger_sum = self.certificate.ledger[Entry.LOSS] + self.certificate.ledger[Entry.LOSS_LOW]
        return self.loss + Fraction(self.certificate.loss) - Fraction(float(ledger_sum))

    def against_class(self, tally: Tally, ball: Class) -> None:
        certificate, referee = self.certificate, self.referee
        norm = None if ball.shape == shape_of(certificate.mirror) else ball.q
        floor = certificate.floor(ball.radius, norm)
        natural = self.natural if ball.sizes is None else 1.0
        predictors = comparators(self.random, referee, ball, certificate.gradient, natural)
        for other in certificate.blocks[::3]:
            lowest = Class(ball.shape, ball.radius, ball.sizes).corner(other.gradient)
            predictors += [u for u in (ball.fitted(lowest),) if u is not None]
        # Where the parabolas are lowest over this class and over others.
        for v in [v for one in certificate.curves for v in one.lowest.values()][:6]:
            lowest = np.pad(v, (0, len(certificate.gradient) - len(v)))
            predictors += [u for u in (ball.fitted(lowest),) if u is not None]
        kind = "floor" if norm is None else "floor, other norm"
        for u in predictors:
            true, distance = referee.exceeds(u, [floor])
            tally.enter(kind, true, distance, f"{floor!r} over {ball.shape} {ball.radius!r}", u)
        if norm is not None:
            return
        bound = certificate.regret_bound(ball.radius)
        for u in predictors:
            true, distance = referee.exceeds(u, [self.own_loss(), -bound])
            tally.enter("regret bound", true, distance, f"{bound!r}", u)
        self._theorems(tally, ball, predictors)

    def _theorems(self, tally: Tally, ball: Class, predictors: list[Vector]) -> None:
        self._theorems_of(tally, self.certificate.bounds_for(ball.radius), predictors, ball.radius)
        if self.sizes is None:
            self.bare(tally, ball)

    def _theorems_of(
        self,
        tally: Tally,
        printed: list[Statement],
        predictors: list[Vector],
        ones: float = math.nan,
    ) -> None:
        """The theorems printed for a class hold for members of it."""
        certificate, referee = self.certificate, self.referee
        measures: dict[str, Any] = {
            "loss": self.own_loss(),
            "penalised loss": self.own_loss(),
            "mistakes": Fraction(int(self.mistaken.sum())),
            "loss on mistakes": self._loss_on_mistakes() if certificate.conservative else None,
        }
        for bound in printed:
            contradicted = bound.reason.startswith("this run contradicts it")
            tally.enter("contradicted theorem", not contradicted, 1.0, f"{bound!r}")
            if not bound.applies:
                continue
            tried = predictors
            if bound.name.startswith("Winnow, u of"):
                tried = self._zero_one(ones)
            for u in tried:
                true, distance = referee.exceeds(
                    u, [measures[bound.measure], -bound.value], factor=bound.factor
                )
                tally.enter("theorem", true, distance, f"{bound!r}", u)

    def bare(self, tally: Tally, ball: Class) -> None:
        """A theorem must hold by itself, without being lifted to what is proved."""
        certificate = self.certificate
        facts = bounds.Facts(certificate, ball.radius)
        length = certificate.mirror.predictors().support_upper(
            certificate.gradient, ball.radius, 0.0
        )
        # What is proved whichever way everything was rounded.
        rounding = 2.0 * certificate.slack + ball.radius * certificate.delta
        proved, size = facts.played + length - rounding, abs(facts.played) + abs(length)
        if certificate.curvature > 0.0:
            proved = certificate.loss - certificate.regularized_floor() - 2.0 * certificate.slack
            size = abs(certificate.loss)
        with bare_theorems():
            raw = [b for b in certificate.bounds_for(ball.radius) if b.applies]
        for bound in raw:
            if bound.factor == 1.0 and bound.measure != "mistakes":
                margin = 1e-9 * (size + abs(bound.value)) + 1e-150 * (1.0 + ball.radius)
                true = bound.value >= proved - margin and not math.isnan(bound.value)
                distance = (bound.value - proved) / max(size, 1e-300)
                tally.enter("bare theorem", true, distance, f"{bound!r} < {proved!r}")

    def _loss_on_mistakes(self) -> Fraction:
        counted = self.mistaken
        referee = Referee(
            self.referee.loss,
            self.referee.X[counted],
            self.referee.y[counted],
            self.referee.weight[counted],
        )
        return referee.exact_at(self.predictions[counted])[0]

    def _zero_one(self, count: float) -> list[Vector]:
        d = len(self.certificate.gradient)
        assert 1 <= count <= d and count == round(count)
        chosen = []
        for _ in range(4):
            u = np.zeros(d)
            u[self.random.permutation(d)[: int(count)]] = 1.0
            chosen.append(u)
        return chosen

    def own_domain(self, tally: Tally) -> None:
        """The floor without a radius is over the learner's own domain."""
        domain, certificate = self.certificate.domain, self.certificate
        if domain is None:
            return
        floor, d = certificate.floor(), len(certificate.gradient)
        if not math.isfinite(domain.support(np.eye(d)[0])):
            # Nothing is known over an unbounded set: it is the ball of the learner's own norm.
            reach = certificate.radius
            assert reach is not None and certificate.floor(reach) == floor
            return
        tried = [self.random.normal(size=d) * self.natural for _ in range(4)]
        if isinstance(domain, domains.Box):
            tried += [np.where(certificate.gradient > 0.0, domain.low, domain.high)]
            tried = [domain.project(u) for u in tried]
        elif isinstance(domain, domains.ClippedSimplex):
            tried = self._floored(domain, tried)
        else:
            shape = "simplex" if isinstance(domain, domains.Simplex) else "2"
            if isinstance(domain, domains.PNormBall):
                shape = repr(domain.p / (domain.p - 1.0))
            ball = Class(shape, domain.extent())
            tried = [*tried, ball.corner(certificate.gradient)]
            tried = [u for u in map(ball.fitted, tried) if u is not None]
        for u in tried:
            true, distance = self.referee.exceeds(u, [floor])
            tally.enter("floor, domain", true, distance, f"{floor!r}", u)
        self._theorems_of(tally, certificate.bounds, tried)

    def _floored(self, domain: domains.ClippedSimplex, tried: list[Vector]) -> list[Vector]:
        """Return members of a simplex with a floor, its best corner first, that add up exactly."""
        d, whole = len(self.certificate.gradient), 2**40
        least = math.ceil(Fraction(domain.alpha) * whole / d)
        if least * d > whole:
            return []
        best = np.zeros(d)
        best[int(np.argmin(self.certificate.gradient))] = 1.0
        found = []
        for share in [best, *(np.abs(u) / np.abs(u).sum() for u in tried)]:
            units = least + np.floor(share * (whole - least * d))
            units[int(np.argmax(share))] += whole - units.sum()
            found.append(units * (domain.scale / whole))
        return found

    def regularized(self, tally: Tally) -> None:
        """The regularised floor is below sum f_t(u) + R(u) / eta for every u."""
        certificate = self.certificate
        last = float(certificate.ledger[Entry.LAST_ETA]) or UNBOUNDED
        tried = self.anywhere()
        others = [eta for eta in (last * 1e-3, last * 1e3) if 0.0 < eta < math.inf]
        for eta in [None, *(others if certificate.evidence.factors is None else [])]:
            floor = certificate.regularized_floor(eta)
            for u in tried:
                extra: Any = 0.0
                if eta is not None or certificate.curvature == 0.0:
                    extra = self.regularizer(u, last if eta is None else eta)
                true, distance = self.referee.exceeds(u, [floor], extra=extra)
                what = f"{floor!r}, eta={eta!r}"
                tally.enter("regularised floor", true, distance, what, extra, u)

    def regularizer(self, u: Vector, eta: float) -> Any:
        """Return R(u) / eta, exactly for the squares, else rounded up."""
        mirror, factors = self.certificate.mirror, self.certificate.evidence.factors
        if isinstance(mirror, (mirrors.Euclidean, mirrors.Box)):
            if mirror.regularizer(u, 1.0) == math.inf:
                return math.inf
            scales = [eta] * len(u) if factors is None else factors.tolist()
            if any(v != 0.0 and f == 0.0 for v, f in zip(u.tolist(), scales, strict=True)):
                return math.inf
            first = Fraction(mirror.phi_prime(0.0, 0.0)) ** 2
            exact = Fraction(0)
            for v, f in zip(fractions(u), scales, strict=True):
                exact += (v * v - first) / (2 * Fraction(f)) if f else Fraction(0)
                if isinstance(mirror, mirrors.SoftThreshold):
                    exact += abs(v) * Fraction(mirror.l1) * self.rounds
            return exact
        if isinstance(mirror, (mirrors.Entropy, mirrors.UnnormalizedEntropy)):
            if np.any(u < 0.0):
                return math.inf
            simplex = isinstance(mirror, mirrors.Entropy)
            base = Fraction(mirror.scale) / len(u) if simplex else Fraction(mirror.start)
            return relative_entropy(fractions(u), base) / Fraction(eta)
        with np.errstate(all="ignore"):
            value = mirror.regularizer(u, eta)
        # The few logarithms and powers in it are rounded by far less than this.
        return math.inf if math.isnan(value) else value * (1.0 + 1e-13) + 1e-14 / eta

    def anywhere(self) -> list[Vector]:
        d, mirror = len(self.certificate.gradient), self.certificate.mirror
        sizes = [self.natural, 1e-3 * self.natural, 30.0 * self.natural]
        tried = [np.zeros(d), self.weights]
        if not self.has_no_average():
            tried.append(self.learner.average)
        tried += [self.random.normal(size=d) * size for size in sizes]
        tried = [self.fitted(u) for u in tried]
        own = mirror.own_radius()
        if own is not None:
            tried.append(Class(shape_of(mirror), own).corner(self.certificate.gradient))
        return [u for u in tried if u is not None]

    def fitted(self, u: Vector) -> Vector | None:
        """Return u moved into the set of the map, None if in vain."""
        mirror = self.certificate.mirror
        own = mirror.own_radius()
        if own is not None:
            return Class(shape_of(mirror), own).fitted(u)
        if isinstance(mirror, mirrors.UnnormalizedEntropy):
            return np.abs(u)
        if isinstance(mirror, mirrors.Box):
            return np.clip(u, mirror.low, mirror.high)
        return u

    def has_no_average(self) -> bool:
        mirror = self.certificate.mirror
        if self.sizes is not None:
            return True
        return isinstance(mirror, mirrors.SoftThreshold) and mirror.l1 > 0.0

    def every_predictor(self, tally: Tally) -> None:
        """The regret against a given u is never more than stated."""
        d = len(self.certificate.gradient)
        tried = [np.zeros(d), self.weights, np.full(d, 1e200), np.full(d, 1e-200)]
        if not self.has_no_average():
            tried.append(self.learner.average)
        for power in (-3, 0, 3, 20):
            tried.append(self.random.normal(size=d) * self.natural * 10.0**power)
            if self.sizes is not None:
                units = np.where(self.sizes > 0.0, self.sizes, 1.0)
                tried.append(self.random.normal(size=d) / units * 10.0**power)
        for u in tried:
            claim = self.certificate.regret(u)
            true, distance = self.referee.exceeds(u, [self.own_loss(), -claim])
            tally.enter("regret", true, distance, f"{claim!r}", u)
