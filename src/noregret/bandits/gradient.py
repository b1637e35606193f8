"""Bandit gradient descent: a convex game in which only the value at the played point is seen."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from noregret import domains, mirrors, rates
from noregret.arrays import Vector, as_number, as_positive, as_vector, as_whole
from noregret.bandits import theorems
from noregret.bandits.bandit_certificate import MEAN, PATH, CostProof
from noregret.bandits.decisions import generator
from noregret.files.fields import (
    Array,
    Arrays,
    Field,
    Header,
    Numbers,
    Random,
    Saved,
    Setting,
)
from noregret.oco.setting import settle
from noregret.proof.ledger import require_room
from noregret.proof.statement import NOTHING, ROUNDING, Measured, Statement, measured, suspect_of
from noregret.rounding import grown, rounding_error
from noregret.turns import one_at_a_time

#: Roundings between a projection on the shrunken set and the point played, a coordinate.
ROUNDINGS = 16.0
_SUMS = ("rounds", "cost", "played", "divergence", "squares", "magnitude")


def sphere(rng: np.random.Generator, dimension: int) -> Vector:
    """Return a uniform direction of length 1, a normalised Gaussian vector.

    >>> round(float(np.linalg.norm(sphere(np.random.default_rng(1), 3))), 12)
    1.0
    """
    length = 0.0
    while not length > 0.0:
        v = rng.standard_normal(dimension)
        length = float(np.linalg.norm(v))
    return v / length


def one_point(cost: float, v: Vector, delta: float) -> Vector:
    """Return (d/delta) f(w + delta v) v, whose mean over directions is the smoothed gradient.

    Smoothed: the average of f over the ball of radius delta around w. Reference: Shalev-Shwartz,
    Online Learning and Online Convex Optimization, Lemma 4.4.

    >>> one_point(0.5, np.array([0.0, 1.0]), 0.25)
    array([0., 4.])
    """
    return np.asarray((len(v) / delta * cost) * v)


def two_points(ahead: float, behind: float, v: Vector, delta: float) -> Vector:
    """Return (d/(2 delta)) (f(w + delta v) - f(w - delta v)) v: the same mean, bounded length.

    Reference: Agarwal, Dekel, Xiao, Optimal Algorithms for Online Convex Optimization with
    Multi-Point Bandit Feedback, 2010.

    >>> two_points(0.5, 0.25, np.array([0.0, 1.0]), 0.25)
    array([0., 1.])
    """
    return one_point(0.5 * (ahead - behind), v, delta)


@dataclass(frozen=True, eq=False)
class GradientCertificate(CostProof):
    """The cost of a run, certain bounds about its estimates, and the theorems in expectation."""

    #: Sum of <w_t - u, z_t> for the best u of the set: an estimate of the regret, not a bound.
    estimated_regret: float
    #: The set of u: the domain, shrunk if all plays stay inside.
    domain: domains.Domain
    statements: list[Statement] = field(default_factory=list)

    @property
    def bounds(self) -> list[Statement]:
        """The theorems, which hold as each of them says."""
        return self.statements

    def describe(self) -> str:
        """Return the competitors in words."""
        return f"u in {self.domain}"

    def _lines(self) -> list[str]:
        note, regret = f", against {self.describe()}", self.estimated_regret
        return [
            f"Certificate after {self.rounds:,} rounds of bandit gradient descent",
            measured("cost", self.cost, self.rounds),
            measured("regret, estimated", regret, self.rounds, note),
            *(f"  {each}" for each in self.statements),
        ]


@dataclass(frozen=True)
class Shrunken:
    """The set (1 - margin/r) K + (margin/r) c for a set K that holds the ball of radius r around c.

    For w in it and ||v|| <= 1 the point w + margin v is in K: with a = margin/r it is
    (1 - a) k + a (c + r v) for some k in K, a mean of two points of K. For a ball c = 0 and r is
    its radius, for a box c is its middle and r half its width; it is again a ball or a box.

    >>> small = Shrunken.of(domains.Box(-1.0, 3.0), 0.5, 2)
    >>> round(small.domain.low, 9), round(small.domain.high, 9), small.inner
    (-0.5, 2.5, 2.0)
    """

    domain: domains.Domain
    #: delta, and a few roundings more.
    margin: float
    #: r, the radius of the ball inside K.
    inner: float
    #: The largest distance of a point of K from c, rounded up.
    outer: float

    @classmethod
    def of(cls, domain: domains.Domain, delta: float, dimension: int) -> Shrunken:
        """Shrink a set by delta, or say in one line why that cannot be done."""
        if type(domain) is domains.Ball:
            inner = outer = size = domain.radius
        elif type(domain) is domains.Box:
            inner, size = 0.5 * (domain.high - domain.low), max(abs(domain.low), abs(domain.high))
            outer = grown(inner * math.sqrt(dimension), 4.0)
        else:
            raise ValueError(
                f"inside=True needs a set with an inner ball, Ball(...) or Box(...), got {domain}"
            )
        # The roundings of w, v and of w + delta v must not carry a point out of K.
        margin = delta + rounding_error(ROUNDINGS * (dimension + 4.0), size + delta)
        if not margin < inner:
            raise ValueError(
                f"delta must be below {inner:g}, the radius of the ball inside {domain}, "
                f"got {delta:g}"
            )
        if isinstance(domain, domains.Ball):
            return cls(domains.Ball(domain.radius - margin), margin, inner, outer)
        return cls(domains.Box(domain.low + margin, domain.high - margin), margin, inner, outer)

    def excess(self, lipschitz: float, size: float = math.inf) -> float:
        """Return a bound on f(u') - f(u) for u in K and u' = (1 - a) u + a c, a = margin/r.

        f is convex on K with slopes <= lipschitz and |f| <= size: f(u') - f(u) is at most
        lipschitz ||u' - u|| = lipschitz a ||u - c||, and by convexity a (f(c) - f(u)) <= 2 a size.

        >>> Shrunken(domains.Ball(0.75), 0.25, 1.0, 1.0).excess(2.0)
        0.5
        """
        return self.margin / self.inner * min(lipschitz * self.outer, 2.0 * size)


class Direction(Field):
    """The direction of a round that was played and not yet paid, if there is one."""

    def write(self, owner: Any, header: Header, arrays: Arrays) -> None:
        """Enter the direction."""
        if owner._v is not None:
            arrays["v"] = owner._v

    def read(self, owner: Any, header: Header, arrays: Arrays) -> None:
        """Set the direction."""
        owner._v = as_vector("v", arrays["v"], owner.dimension) if "v" in arrays else None


class GradientBandit(Saved):
    """Lazily projected gradient descent on estimates from one or two values of each f_t.

    w_t = projection of eta theta on the domain; v uniform on the sphere. With `points=1`,
    `play()` is w_t + delta v and z = (d/delta) f_t(w_t + delta v) v. With `points=2`, `play()` has
    the rows w_t + delta v and w_t - delta v and the cost is the mean of both. theta <- theta - z.
    Points may leave the domain by delta. With `inside=True` none does: w_t is projected on the
    domain shrunk by delta towards its centre, (1 - delta/r) K for a ball K of radius r, and the
    bound is `theorems.inside_regret`, with its proof there.
    Reference: Shalev-Shwartz, Online Learning and Online Convex Optimization, section 4.3;
    inside: Flaxman, Kalai, McMahan, Online Convex Optimization in the Bandit Setting, 2005.

    >>> from noregret.domains import Ball
    >>> bandit = GradientBandit(2, Ball(1), eta=0.1, delta=0.5, seed=0)
    >>> for _ in range(3):
    ...     point = bandit.play()
    ...     bandit.suffer(float(np.linalg.norm(point - [1.0, 0.0])))
    >>> bandit.rounds
    3
    >>> careful = GradientBandit(2, Ball(1), eta=0.1, delta=0.5, seed=0, inside=True)
    >>> Ball(1).contains(careful.play(), tolerance=0.0)
    True
    """

    _KIND = "bandit"
    _FIELDS = (
        Setting("dimension"),
        Setting("domain", of=domains.Domain),
        Random("generator", "_rng"),
        Numbers("sums"),
        *map(Setting, ("eta", "delta", "points", "lipschitz", "size", "inside")),
        Array("theta"),
        Array("w"),
        Direction("v"),
    )

    def __init__(
        self,
        dimension: int,
        domain: domains.Domain,
        eta: float,
        delta: float,
        points: int = 1,
        lipschitz: float | None = None,
        size: float | None = None,
        seed: int | np.random.Generator | None = None,
        inside: bool = False,
    ) -> None:
        """Make a bandit.

        `eta`: the learning rate, above 0. `delta`: how far from w_t it plays, above 0 (and below
        the radius of the domain if `inside`). `points`: 1 or 2 values a round [default: 1].
        `lipschitz` promises the slopes of all f_t where points may be played, `size` (one point
        only) |f_t| <= size on the domain; with them the theorems can be stated. `inside`: play in
        the domain only, which must be a `Ball` or a finite `Box` [default: False].
        """
        self.eta, self.delta = as_positive("eta", eta), as_positive("delta", delta)
        if points not in (1, 2):
            raise ValueError(f"points must be 1 or 2, got {points!r}")
        self.lipschitz = None if lipschitz is None else as_positive("lipschitz", lipschitz)
        self.size = None if size is None else as_positive("size", size)
        if size is not None and (points == 2 or lipschitz is None):
            raise ValueError("size is for points=1, and needs lipschitz beside it")
        self.points, self.inside = int(points), bool(inside)
        self.dimension, rate = as_whole("dimension", dimension), rates.Constant(self.eta)
        self._shrunken = Shrunken.of(domain, self.delta, self.dimension) if inside else None
        #: The set of the problem, in which every play lies if `inside`, and the set that is
        #: descended on: the domain, shrunk by delta if `inside`.
        self.domain = domain
        self.target = self._shrunken.domain if self._shrunken else domain
        self._setting = settle(self.dimension, mirrors.Euclidean(), rate, self.target, True)
        if not self._setting.bounded:
            raise ValueError(
                f"{domain} has no known corners: use a ball, a finite box or a simplex"
            )
        self._rng = generator(seed)
        self._theta, self._w = np.zeros(self.dimension), self._setting.first.copy()
        self._v: Vector | None = None
        self._sums = dict.fromkeys(_SUMS, 0.0)

    @property
    def rounds(self) -> int:
        """How many rounds were played."""
        return int(self._sums["rounds"])

    @property
    def center(self) -> Vector:
        """The point w_t around which the coming round plays."""
        return self._w.copy()

    @one_at_a_time
    def play(self) -> Vector:
        """Return the point of the coming round, or the two points as rows; the same until paid."""
        if self._v is None:
            self._v = sphere(self._rng, self.dimension)
        step = self.delta * self._v
        return self._w + step if self.points == 1 else np.array([self._w + step, self._w - step])

    @one_at_a_time
    def suffer(self, cost: Any) -> None:
        """End the round: the value of f_t at the point played, or the two values.

        Input that cannot be used raises ValueError and leaves the bandit as it was.
        """
        if self._v is None:
            raise ValueError("suffer ends a round that play began: play first")
        one = self.points == 1
        values = [as_number("cost", cost)] if one else as_vector("costs", cost, 2).tolist()
        self._check(values)
        require_room(self.rounds, 1)
        estimate: Callable[..., Vector] = one_point if one else two_points
        with np.errstate(over="ignore", invalid="ignore"):
            self._enter(values, estimate(*values, self._v, self.delta))

    def _enter(self, values: list[float], z: Vector) -> None:
        """Step by an estimate, or refuse one whose sums would overflow."""
        too_large = ValueError(f"the cost is too large to learn from, got {values}")
        theta = self._theta - z
        scaled = self.eta * theta
        if not np.isfinite(scaled).all():
            raise too_large
        w = self._setting.link(scaled)
        inner, potential = float(self._w @ z), self._setting.potential
        gain = potential(w, scaled) - potential(self._w, self.eta * self._theta)
        entries = {
            "rounds": 1.0,
            "cost": sum(values) / len(values),
            "played": inner,
            "divergence": max(gain / self.eta + inner, 0.0),
            "squares": float(z @ z),
            "magnitude": float(np.abs(z) @ np.abs(self._w)) + abs(gain) / self.eta,
        }
        sums = {name: self._sums[name] + entries[name] for name in _SUMS}
        if not all(math.isfinite(each) for each in sums.values()):
            raise too_large
        self._sums, self._theta, self._w, self._v = sums, theta, w, None

    def _check(self, values: list[float]) -> None:
        """Refuse values that break a promise."""
        if self.lipschitz is None:
            return
        reach, apart = self.lipschitz * self.delta * (1.0 + 1e-9), abs(values[0] - values[-1])
        if apart > 2.0 * reach:
            raise ValueError(
                f"the costs differ by {apart:g} over a distance of {2.0 * self.delta:g}, "
                f"lipschitz promises slopes of at most {self.lipschitz:g}"
            )
        beyond, where = (0.0, "size") if self.inside else (reach, "size + lipschitz * delta")
        if self.size is not None and abs(values[0]) > self.size * (1.0 + 1e-9) + beyond:
            raise ValueError(
                f"the cost must be within the promised +-{self.size + beyond:g} "
                f"({where}), got {values[0]}"
            )

    def certificate(self) -> GradientCertificate:
        """Return the certificate of the rounds so far, which later rounds do not change."""
        regret = self._sums["played"] + self.target.support(self._theta)
        statements = self._statements(regret) if self.rounds else []
        return GradientCertificate(self.rounds, self._sums["cost"], regret, self.target, statements)

    def _statements(self, regret: float) -> list[Statement]:
        sums, survey = self._sums, "Shalev-Shwartz 2012"
        lowest = 0.5 * float(self._setting.first @ self._setting.first)
        complexity = self._setting.complexity(None, self.eta)
        roundings = 16.0 * (self.rounds + self.dimension)
        slack = rounding_error(roundings, sums["magnitude"] + complexity)
        claim = f"sum <w_t - u, z_t>, u in {self.target}," if self.inside else "sum <w_t - u, z_t>"
        room = 2.0 * slack + ROUNDING * (sums["magnitude"] + abs(regret))
        measured = Measured(regret, room, suspect_of((self.domain, "project() or support()")))
        found = [
            measured.state(
                f"regret on the estimates{name}",
                f"{survey}, {reference}",
                complexity + stability + slack,
                claim=claim,
                holds=PATH,
            )
            for name, reference, stability in (
                ("", "Lemma 2.20", sums["divergence"]),
                (", simpler", "Theorem 2.21", 0.5 * self.eta * sums["squares"]),
            )
        ]
        steep, size = self.lipschitz, self.size
        if steep is None or (self.points == 1 and size is None):
            return found
        if self._shrunken is not None:
            # The complexity is a difference of two squares, which may cancel.
            rounding = rounding_error(16.0 * self.dimension, complexity + lowest / self.eta)
            return [*found, self._inside(self._shrunken, steep, complexity + rounding)]
        radius = grown(math.sqrt(2.0 * (complexity * self.eta + lowest)), 8.0)
        shared, claim = (self.delta, self.eta, self.rounds), "cost - cost of a u fixed in advance"
        if size is None:
            value = theorems.two_point_regret(radius, self.dimension, steep, *shared)
            kinds = [("two-point gradient descent", "Theorem 2.21; Agarwal et al. 2010", value)]
        else:
            given = radius, self.dimension, size, steep, *shared
            value, half = (theorems.one_point_regret(*given, part) for part in (1.0, 0.5))
            kinds = [
                ("bandit gradient descent", "Corollary 4.5", value),
                ("bandit gradient descent, sharper", "Corollary 4.5 by Theorem 2.21", half),
            ]
        return found + [
            NOTHING.state(
                name, f"{survey}, {reference}", grown(value, 64.0), claim=claim, holds=MEAN
            )
            for name, reference, value in kinds
        ]

    def _inside(self, shrunken: Shrunken, lipschitz: float, complexity: float) -> Statement:
        """Return the theorem for plays in the domain; `shrunken.margin` is delta, rounded up."""
        d, delta = self.dimension, shrunken.margin
        if self.size is None:
            name, steep = "two-point gradient descent, inside", d * lipschitz
        else:
            name, steep = "bandit gradient descent, inside", d * self.size / self.delta
        excess = shrunken.excess(lipschitz, math.inf if self.size is None else self.size)
        value = theorems.inside_regret(
            complexity, steep, lipschitz, delta, excess, self.eta, self.rounds
        )
        claim = f"cost - cost of a u fixed in advance in {self.domain}"
        reference = "Flaxman, Kalai, McMahan 2005, section 3; Shalev-Shwartz 2012, Theorem 2.21"
        return NOTHING.state(name, reference, grown(value, 64.0), claim=claim, holds=MEAN)
