"""Maps built on norms: Euclidean, its lazy projections, p-norms and the soft threshold."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from noregret.component import reassociable, require_positive
from noregret.elementary import divide, power
from noregret.mirrors.base import Mirror


@dataclass(frozen=True)
class Euclidean(Mirror):
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

    def psi(self, s: float, reference: float) -> float:
        """Return s."""
        return s

    def psi_prime(self, s: float, reference: float) -> float:
        """Return 1."""
        return 1.0

    def kappa(self, s: float, reference: float, eta: float) -> float:
        """Return eta."""
        return eta

    def linear(self) -> bool:
        """Return True."""
        return True

    def homogeneous(self) -> bool:
        """Return True."""
        return True

    def separable(self) -> bool:
        """Return True."""
        return True

    def smoothness(self) -> float:
        """Return 1."""
        return 1.0

    def largest_regularizer(self, radius: float, dimension: int) -> float:
        """Return radius^2 / 2."""
        return 0.5 * radius * radius

    def inverse(self, w: float) -> float:
        """Return w."""
        return w


@dataclass(frozen=True)
class Ball(Euclidean):
    """Half the squared 2-norm on the ball ||w|| <= radius: lazy projection for free.

    G(theta) = ||theta||^2/2 inside the ball, radius ||theta|| - radius^2/2 outside, a Huber
    function of the norm. Reference: Shalev-Shwartz, Online Learning, Corollary 2.17.

    >>> round(Ball(1.0).kappa(8.0, 0.0, 1.0), 12)
    0.25
    """

    radius: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive("Ball(radius)", self.radius)

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

    def separable(self) -> bool:
        """Return False: the norm of theta decides about every weight."""
        return False

    def smoothness(self) -> float:
        """Return 1."""
        return 1.0

    def largest_regularizer(self, radius: float, dimension: int) -> float:
        """Return radius^2 / 2, infinity beyond the ball."""
        return 0.5 * radius * radius if radius <= self.radius else math.inf


@dataclass(frozen=True)
class Box(Mirror):
    """Half the squared 2-norm on the box [low, high]^d: w_i = eta theta_i, clamped when read.

    phi(a) = a c - c^2/2 with c = a clamped to [low, high], shifted so that phi(0) = 0.
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

    def psi(self, s: float, reference: float) -> float:
        """Return s."""
        return s

    def psi_prime(self, s: float, reference: float) -> float:
        """Return 1."""
        return 1.0

    def separable(self) -> bool:
        """Return True."""
        return True

    def smoothness(self) -> float:
        """Return 1."""
        return 1.0

    def largest_regularizer(self, radius: float, dimension: int) -> float:
        """Return radius^2 / 2, infinity if the ball is not inside the box."""
        inside = radius <= min(-self.low, self.high)
        return 0.5 * radius * radius if inside else math.inf


@dataclass(frozen=True)
class PNorm(Mirror):
    """Half the squared p-norm of theta, p >= 2; weights live in the conjugate norm q.

    G(theta) = ||theta||_p^2 / 2 = Psi(sum |theta_i|^p) with Psi(s) = s^(2/p) / 2.
    Reference: Shalev-Shwartz and Singer, Example 3; Shalev-Shwartz, Corollary 2.18.

    >>> round(PNorm(4.0).psi(16.0, 1.0), 12)
    2.0
    """

    p: float = 4.0

    geometry: ClassVar[str] = "q"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 2.0 <= self.p < math.inf:
            raise ValueError(f"PNorm(p) must be a finite number >= 2, got {self.p}")

    def power(self, b: float) -> float:
        """Return |b|^(p-1); p = 3 and p = 4 without a call to pow."""
        size = abs(b)
        if self.p == 4.0:
            return size * size * size
        if self.p == 3.0:
            return size * size
        return power(size, self.p - 1.0)

    def phi(self, a: float, reference: float) -> float:
        """Return |a r|^p."""
        return abs(a * reference) * self.power(a * reference)

    def phi_prime(self, a: float, reference: float) -> float:
        """Return p sign(a) |a r|^(p-1)."""
        return math.copysign(self.p * self.power(a * reference), a)

    def phi_given(self, a: float, reference: float, v: float) -> float:
        """Return |a r| |v| / p, with a division that the compiler takes out of the loop."""
        return abs(a * reference) * abs(v) * (1.0 / self.p)

    def psi(self, s: float, reference: float) -> float:
        """Return s^(2/p) / (2 r^2)."""
        return divide(0.5 * power(s, 2.0 / self.p), reference * reference)

    def psi_prime(self, s: float, reference: float) -> float:
        """Return s^(2/p - 1) / (p r), and 0 at s = 0 where every run starts."""
        if s <= 0.0:
            return 0.0
        if self.p == 4.0:
            return divide(0.25, reference * math.sqrt(s))
        return divide(power(s, 2.0 / self.p - 1.0), self.p * reference)

    def kappa(self, s: float, reference: float, eta: float) -> float:
        """Return eta Psi'(s)."""
        return eta * self.psi_prime(s, reference)

    def homogeneous(self) -> bool:
        """Return True."""
        return True

    def out_of_range(self, s: float, a: float, size: float, reference: float) -> bool:
        """Tell whether the power sum nears overflow or underflow."""
        return not 1e-200 < s < 1e200

    def reference(self, largest: float, largest_size: float) -> float:
        """Return a power of two that brings the largest |theta_i| between 1/2 and 1."""
        if not largest_size > 0.0:
            return 1.0
        _, exponent = math.frexp(largest_size)
        return math.ldexp(1.0, min(-exponent, 1000))

    @reassociable
    def norm_term(self, total: float, x: float) -> float:
        """Add |x|^p."""
        return total + abs(x) * self.power(x)

    def norm(self, total: float) -> float:
        """Return the p-norm."""
        return power(total, 1.0 / self.p)

    def smoothness(self) -> float:
        """Return p - 1."""
        return self.p - 1.0

    def largest_regularizer(self, radius: float, dimension: int) -> float:
        """Return radius^2 / 2."""
        return 0.5 * radius * radius


@dataclass(frozen=True)
class SoftThreshold(Euclidean):
    """Half the squared 2-norm plus l1 ||w||_1 a round: sparse weights by dual averaging.

    w_i = eta sign(theta_i) [|theta_i| - t l1]+ after t rounds. A threshold that did not
    grow with t would not make weights sparse. The running average is not available.

    >>> SoftThreshold(0.1).read(-3.0, 1.0)
    -2.0
    """

    l1: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 <= self.l1 < math.inf:
            raise ValueError(f"SoftThreshold(l1) must be a finite number >= 0, got {self.l1}")

    def read(self, v: float, threshold: float) -> float:
        """Return v drawn towards zero by the threshold."""
        return math.copysign(max(abs(v) - threshold, 0.0), v)

    def threshold(self, rounds: float) -> float:
        """Return l1 times the number of rounds."""
        return self.l1 * rounds

    def smoothness(self) -> float:
        """Return 1."""
        return 1.0

    def largest_regularizer(self, radius: float, dimension: int) -> float:
        """Return radius^2 / 2, without the threshold."""
        return 0.5 * radius * radius
