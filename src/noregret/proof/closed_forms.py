"""The closed forms of the theorems, as pure functions.

L is the comparator's loss, `reach` its norm times the largest dual norm of a row, C or `eta` a
rate. Mistakes are bounded in terms of L, losses as regret (what is added to L) unless the
docstring states otherwise. Nothing here depends on a run.

References: SS06 = Shalev-Shwartz and Singer, A Primal-Dual Perspective of Online Learning
Algorithms, 2006; SS12 = Shalev-Shwartz, Online Learning and Online Convex Optimization, 2012;
CB24 = Cesa-Bianchi, Online Gradient Descent, lecture notes, 2024; HW01 = Herbster and Warmuth,
Tracking the Best Linear Predictor, 2001.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from noregret.rounding import exact


def progress(margin: float, rate: float, square: float = 1.0) -> float:
    """Return gamma C - R^2 C^2 / 2, by which each mistake raises the dual at least.

    `square` is R^2, a bound on the quadratic form of the conjugate's Hessian. SS06, Corollary 1.

    >>> progress(1.0, 0.5)
    0.375
    """
    return rate * (margin - 0.5 * square * rate)


def winnow_mistakes_sharp(loss: float, ones: float, dimension: int, eta: float = 0.25) -> float:
    """Return (L + (1 + k (ln d - 1)) / eta) / (1 - 2 eta) for a comparator in {0,1}^d with k ones.

    Never above (L + k ln d / eta) / (1 - 2 eta), SS12, Theorem 3.10; from the proof of it.

    >>> winnow_mistakes_sharp(0.0, 0, 4)
    8.0
    """
    if not 0.0 < eta < 0.5:
        raise ValueError(f"eta must lie strictly between 0 and 1/2, got {eta}")
    return (loss + (1.0 + ones * (math.log(dimension) - 1.0)) / eta) / (1.0 - 2.0 * eta)


def mitigated(loss: float, rate: float, square: float = 1.0) -> float:
    """Return mu(l) = l^2/(2 C R^2) for l <= C R^2, l - C R^2/2 above: what a step of C gains / C.

    SS06, eq. 28 and figure 2.

    >>> mitigated(2.0, 0.5)
    1.75
    """
    knee = rate * square
    part = min(loss, knee)
    return part * (loss - 0.5 * part) / knee


def tuned_rate(complexity: float, squares: float, stability: float = 0.5) -> float:
    """Return the eta that minimises R(u)/eta + stability * eta * sum ||z_t||_*^2.

    stability = 1/2 is SS12, Theorem 2.21; 1 is Theorem 2.11 and the corollaries as printed.

    >>> round(tuned_rate(0.5, 100.0), 12)
    0.1
    """
    return math.sqrt(complexity / (stability * squares))


def tuned_regret(complexity: float, squares: float, stability: float = 0.5) -> float:
    """Return the bound at `tuned_rate`, 2 sqrt(stability * R(u) * sum ||z_t||_*^2).

    Euclidean: R = B^2/2 and squares = T L^2 give B L sqrt(T). Entropy on the simplex of mass B:
    R = B ln d, squares = B T L^2 give B L sqrt(2 T ln d). SS12, Corollaries 2.7, 2.12-2.18.

    >>> round(tuned_regret(0.5, 100.0), 12)
    10.0
    """
    return 2.0 * math.sqrt(stability * complexity * squares)


def doubling_regret(alpha: float, rounds: int) -> float:
    """Return alpha (1 + sqrt(2) + ... + sqrt(2^m)), m = floor(log2 T): alpha sqrt(n) an epoch.

    At most sqrt(2)/(sqrt(2) - 1) alpha sqrt(T). SS12, section 2.3.1 (sum from m = 0).

    >>> doubling_regret(1.0, 1)
    1.0
    """
    return alpha * sum(math.pow(2.0, 0.5 * m) for m in range(rounds.bit_length()))


def projected_ogd_regret(radius: float, gradient: float, eta: float, rounds: int) -> float:
    """Return 2 U^2 sqrt(T)/eta + G^2 eta sqrt(T) for rates eta/sqrt(t). CB24, eq. 7.

    With eta = sqrt(2) U/G it is U G sqrt(8 T), eq. 8.

    >>> projected_ogd_regret(1.0, 1.0, 1.0, 4)
    6.0
    """
    return (2.0 * radius * radius / eta + gradient * gradient * eta) * math.sqrt(rounds)


def strongly_convex_regret(gradient: float, sigma: float, rounds: int) -> float:
    """Return (G^2 / (2 sigma)) (1 + ln T) for rates 1/(sigma t). CB24, strongly convex case.

    >>> strongly_convex_regret(2.0, 1.0, 1)
    2.0
    """
    return gradient * gradient / (2.0 * sigma) * (1.0 + math.log(rounds))


@dataclass(frozen=True)
class Amortised:
    """A learner of the square loss with a L(w) - b L(u) <= D(u, w) - D(u, w') in every trial.

    Hence loss <= (b/a) L(u) + D(u, w_1)/a. HW01, Definition 8; `needs` is the precondition.
    """

    eta: float
    a: float
    b: float
    needs: str

    @property
    def factor(self) -> float:
        """The factor of the comparator's loss, b/a."""
        return self.b / self.a

    def bound(self, loss: float, divergence: float) -> float:
        """Return the bound on the learner's square loss, from L(u) and D(u, w_1).

        >>> amortised_gd(1.0).bound(1.0, 0.5)
        4.0
        """
        return self.factor * loss + divergence / self.a


def amortised_gd(row_limit: float) -> Amortised:
    """Return the constants of gradient descent, D = ||u - w||^2 / 2. HW01, Lemma 11.

    >>> amortised_gd(1.0).eta
    0.25
    """
    eta = 1.0 / (4.0 * row_limit * row_limit)
    return Amortised(eta, eta, 2.0 * eta, f"||x||_2 <= {exact(row_limit)} in every row")


def amortised_egu(feature_limit: float, label_limit: float) -> Amortised:
    """Return the constants of unnormalised EG from w_1 = 1/d, D = unnormalised entropy.

    Predictions must be clipped at the largest label. HW01, Lemma 12 (factor 2 restored).

    >>> amortised_egu(1.0, 1.0).factor
    3.0
    """
    eta = 1.0 / (3.0 * feature_limit * label_limit)
    needs = (
        f"features in [0, {exact(feature_limit)}], labels in [0, {exact(label_limit)}], "
        f"predictions clipped at {exact(label_limit)}"
    )
    return Amortised(eta, eta, 3.0 * eta, needs)


def amortised_eg(width: float) -> Amortised:
    """Return the constants of EG on the simplex, D = relative entropy. HW01, Lemma 13.

    `width` bounds max x - min x of each row, features that are left out counting as 0.

    >>> amortised_eg(1.0).factor
    1.5
    """
    eta = 2.0 / (3.0 * width * width)
    return Amortised(eta, eta, 1.5 * eta, f"max x - min x <= {exact(width)} in every row")
