"""Half the squared 2-norm: everywhere, on a ball or a box, and with a soft threshold."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from noregret.arrays import Vector
from noregret.component import NONNEGATIVE, POSITIVE, yes
from noregret.mirrors.base import ConvexSet, Mirror
from noregret.mirrors.separable import ElasticNet, Separable
from noregret.norms import norm_upper
from noregret.rounding import EPSILON


def weighted_conjugate_upper(
    theta: Vector, factors: Vector, delta: float, threshold: float
) -> float:
    """Return the conjugate of sum u_i^2 / (2 factor_i) + threshold ||u||_1, rounded up.

    >>> weighted_conjugate_upper(np.array([3.0]), np.ones(1), 0.0, 1.0) >= 2.0
    True
    """
    # The threshold is rounded, and close to |theta| nothing else covers its error.
    excess = np.maximum(np.abs(theta) + delta - threshold * (1.0 - 4.0 * EPSILON), 0.0)
    return 0.5 * float(np.sum(factors * excess * excess)) * (1.0 + (len(theta) + 64.0) * EPSILON)


@dataclass(frozen=True)
class Euclidean(Separable):
    """Half the squared 2-norm, G(theta) = ||theta||^2 / 2: online gradient descent.

    >>> Euclidean().phi(3.0, 0.0)
    4.5
    """

    def phi(self, a: float, reference: float) -> float:
        """Return a^2/2."""
        return 0.5 * a * a

    def phi_prime(self, a: float, reference: float) -> float:
        """Return a."""
        return a

    def kappa(self, s: float, reference: float, eta: float) -> float:
        """Return eta."""
        return eta

    linear = homogeneous = yes

    def smoothness(self) -> float:
        """Return 1."""
        return 1.0

    def largest_regularizer(self, radius: float, dimension: int) -> float:
        """Return radius^2 / 2."""
        return 0.5 * radius * radius

    def inverse(self, w: float) -> float:
        """Return w."""
        return w

    euclidean = half_square = squared_norm = everywhere = yes

    def regularizer(self, u: Vector, eta: float = 1.0, rounds: float = 0.0) -> float:
        """Return ||u||^2 / (2 eta)."""
        return float(u @ u) / (2.0 * eta)

    def conjugate_upper(
        self, theta: Vector, eta: float, delta: float = 0.0, rounds: float = 0.0
    ) -> float:
        """Return eta ||theta||^2 / 2, rounded up."""
        length = norm_upper(theta, 2.0) + delta
        return 0.5 * eta * length * length * (1.0 + (len(theta) + 64.0) * EPSILON)

    def link(self, a: Vector) -> Vector:
        """Return a."""
        return a.copy()

    def inverse_link(self, w: Vector) -> Vector:
        """Return w."""
        return w.copy()

    def potential(self, a: Vector) -> float:
        """Return ||a||^2 / 2."""
        return 0.5 * float(a @ a)

    def stability(self, a: Vector, w: Vector, step: Vector) -> float:
        """Return ||step||^2 / 2."""
        return 0.5 * float(step @ step)

    def divergence(self, u: Vector, w: Vector) -> float:
        """Return ||u - w||^2 / 2."""
        return 0.5 * float((u - w) @ (u - w))

    def project(self, domain: ConvexSet, w: Vector) -> Vector:
        """Return the nearest point of the domain."""
        return domain.project(w)

    def quadratic_minimizer(self, c: float, b: Vector, eta: float) -> Vector:
        """Return -b / (c + 1 / eta)."""
        return -b / (c + 1.0 / eta)


@dataclass(frozen=True)
class Ball(Euclidean):
    """Half the squared 2-norm on the ball ||w|| <= radius: lazy projection for free.

    radius: above 0 [default: 1].

    G(theta) = ||theta||^2/2 inside the ball, radius ||theta|| - radius^2/2 outside, a Huber
    function of the norm. Reference: Shalev-Shwartz, Online Learning, Corollary 2.17.

    >>> round(Ball(1.0).kappa(8.0, 0.0, 1.0), 12)
    0.25
    """

    radius: float = field(default=1.0, metadata=POSITIVE)

    def psi(self, s: float, reference: float) -> float:
        """Return s inside the ball, the linear continuation outside."""
        length = math.sqrt(2.0 * max(s, 0.0))
        inside = min(length, self.radius)
        return inside * (length - 0.5 * inside)

    def psi_prime(self, s: float, reference: float) -> float:
        """Return 1 inside the ball, radius / ||theta|| outside."""
        length = math.sqrt(2.0 * max(s, 0.0))
        return self.radius / max(length, self.radius)

    def kappa(self, s: float, reference: float, eta: float) -> float:
        """Return eta, shrunk so that the weights stay in the ball."""
        # Not through eta^2 S, which overflows long before the weights do.
        length = eta * math.sqrt(2.0 * max(s, 0.0))
        return eta * (self.radius / max(length, self.radius))

    # Every weight depends on the norm of theta.
    separable = Mirror.separable

    smoothness = Euclidean.smoothness

    def largest_regularizer(self, radius: float, dimension: int) -> float:
        """Return radius^2 / 2, infinity beyond the ball."""
        return 0.5 * radius * radius if radius <= self.radius else math.inf

    lazy_only = half_square = squared_norm = yes

    def own_radius(self) -> float:
        """Return the radius."""
        return self.radius

    def natural_scale(self, dimension: int) -> float:
        """Return radius / sqrt(2)."""
        return self.radius / math.sqrt(2.0)

    def regularizer(self, u: Vector, eta: float = 1.0, rounds: float = 0.0) -> float:
        """Return ||u||^2 / (2 eta) in the ball."""
        square = float(u @ u)
        limit = self.radius * self.radius * (1.0 + 1e-12)
        return math.inf if square > limit else square / (2.0 * eta)

    def conjugate_upper(
        self, theta: Vector, eta: float, delta: float = 0.0, rounds: float = 0.0
    ) -> float:
        """Return the Huber function of ||theta||, rounded up."""
        growth = 1.0 + (len(theta) + 64.0) * EPSILON
        length = eta * (norm_upper(theta, 2.0) + delta) * growth
        inside = min(length, self.radius)
        # Divide before multiplying: squares of short lengths underflow.
        return inside / eta * (length - 0.5 * inside) * growth

    divergence = Euclidean.divergence


@dataclass(frozen=True)
class Box(Separable):
    """Half the squared 2-norm on the box [low, high]^d: w_i = eta theta_i, clamped when read.

    phi(a) = a c - c^2/2 with c = a clamped to [low, high], shifted so that phi(0) = 0. Both ends
    are finite, low < high [default: -1 and 1].
    Reference: Shalev-Shwartz, Online Learning, Corollary 2.17 (lazy projection).

    >>> Box(-1.0, 1.0).phi_prime(3.0, 0.0)
    1.0
    """

    low: float = -1.0
    high: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not -math.inf < self.low < self.high < math.inf:
            raise ValueError(
                f"Box(low, high) must be finite with low < high, got {self.low}, {self.high}"
            )

    def phi(self, a: float, reference: float) -> float:
        """Return the conjugate of w^2/2 on the interval, 0 at a = 0."""
        w = self.phi_prime(a, reference)
        first = self.phi_prime(0.0, reference)
        return w * (a - 0.5 * w) + 0.5 * first * first

    def phi_prime(self, a: float, reference: float) -> float:
        """Return a, clamped."""
        return min(max(a, self.low), self.high)

    smoothness = Euclidean.smoothness

    def largest_regularizer(self, radius: float, dimension: int) -> float:
        """Return radius^2 / 2, infinity if the ball is not inside the box."""
        inside = radius <= min(-self.low, self.high)
        return 0.5 * radius * radius if inside else math.inf

    lazy_only = yes

    def regularizer(self, u: Vector, eta: float = 1.0, rounds: float = 0.0) -> float:
        """Return (||u||^2 - ||w_1||^2) / (2 eta) in the box, w_1 its point nearest 0."""
        first = self.phi_prime(0.0, 0.0)
        inside = bool(np.all((u >= self.low) & (u <= self.high)))
        return float(np.sum(0.5 * u * u - 0.5 * first * first)) / eta if inside else math.inf

    def cancellation(self, u: Vector, strength: float) -> float:
        """Return the squares of w_1, which are subtracted."""
        return strength * len(u) * self.phi_prime(0.0, 0.0) ** 2

    def conjugate_upper(
        self, theta: Vector, eta: float, delta: float = 0.0, rounds: float = 0.0
    ) -> float:
        """Return sum phi(eta theta_i) / eta, rounded up."""
        d = len(theta)
        first = self.phi_prime(0.0, 0.0)
        best, size = np.full(d, -math.inf), 0.0
        for a in (eta * (theta - delta), eta * (theta + delta)):
            w = np.clip(a, self.low, self.high)
            best = np.maximum(best, w * (a - 0.5 * w) + 0.5 * first * first)
            # The terms may cancel: rounding is proportional to each of them.
            size += float(np.sum(np.abs(w) * (np.abs(a) + np.abs(w)))) + d * first * first
        growth = 1.0 + (d + 64.0) * EPSILON
        return (float(best.sum()) + (growth - 1.0) * size) / eta

    divergence = Euclidean.divergence


@dataclass(frozen=True)
class SoftThreshold(Euclidean):
    """Half the squared 2-norm plus l1 ||w||_1 a round: sparse weights by dual averaging.

    w_i = eta sign(theta_i) [|theta_i| - t l1]+ after t rounds. A threshold that did not
    grow with t would not make weights sparse. The running average is not available. l1 is >= 0
    [default: 0].

    >>> SoftThreshold(0.1).read(-3.0, 1.0)
    -2.0
    """

    l1: float = field(default=0.0, metadata=NONNEGATIVE)

    def read(self, v: float, threshold: float) -> float:
        """Return v drawn towards zero by the threshold."""
        return math.copysign(max(abs(v) - threshold, 0.0), v)

    def threshold(self, rounds: float) -> float:
        """Return l1 times the number of rounds."""
        return self.l1 * rounds

    smoothness = Euclidean.smoothness

    # That of the 2-norm alone, without the threshold.
    largest_regularizer = Euclidean.largest_regularizer

    lazy_only = yes

    def standing(self) -> Mirror:
        """Return the elastic net of the same l1."""
        return ElasticNet(self.l1)

    def keeps_average(self) -> bool:
        """Tell whether the threshold is 0: otherwise weights move without being read."""
        return self.l1 == 0.0

    def regularizer(self, u: Vector, eta: float = 1.0, rounds: float = 0.0) -> float:
        """Return ||u||^2 / (2 eta) + l1 rounds ||u||_1: no rate divides the second."""
        return float(u @ u) / (2.0 * eta) + self.threshold(rounds) * float(np.abs(u).sum())

    def conjugate_upper(
        self, theta: Vector, eta: float, delta: float = 0.0, rounds: float = 0.0
    ) -> float:
        """Return (eta/2) sum [|theta_i| - l1 rounds]+^2, rounded up."""
        factors = np.full(len(theta), eta)
        return weighted_conjugate_upper(theta, factors, delta, self.threshold(rounds))

    link = Euclidean.link
    stability = Euclidean.stability
    divergence = Euclidean.divergence
