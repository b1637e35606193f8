"""The closed forms of the bandit theorems, as pure functions.

d arms or dimensions, T rounds, costs in [0, 1] by default. References: SS12 =
Shalev-Shwartz, Online Learning and Online Convex Optimization, 2012; N15 = Neu, Explore No More,
2015; ZS21 = Zimmert and Seldin, Tsallis-INF, 2021.
"""

from __future__ import annotations

import math
from typing import NamedTuple


def exp3_regret(arms: int, eta: float, rounds: int) -> float:
    """Return ln d / eta + eta d T, bounding E[cost - cost of a fixed arm]. SS12, Corollary 4.2.

    >>> exp3_regret(1, 0.5, 2)
    1.0
    """
    return math.log(arms) / eta + eta * arms * rounds


def exp3_regret_halved(arms: int, eta: float, rated_squares: float) -> float:
    """Return ln d / eta + S/2 with S >= sum_t eta_t sum_i y_(t,i)^2, so d sum_t eta_t always does.

    eta is the last rate. By exp(-a) <= 1 - a + a^2/2 for a >= 0 in the proof of SS12, Theorem 2.22;
    falling rates: Bubeck and Cesa-Bianchi, Regret Analysis of Bandit Problems, 2012, Theorem 3.1.

    >>> exp3_regret_halved(1, 0.5, 2.0)
    1.0
    """
    return math.log(arms) / eta + 0.5 * rated_squares


def exp3_rate(arms: int, rounds: int) -> float:
    """Return sqrt(2 ln d / (d T)), where `exp3_regret_halved` is least: sqrt(2 d T ln d).

    >>> round(exp3_rate(4, 50) ** 2 * 100 / math.log(4), 12)
    1.0
    """
    return math.sqrt(2.0 * math.log(max(arms, 2)) / (arms * rounds))


def implicit_excess(arms: int, eta: float, delta: float) -> float:
    """Return ln(d / delta) / eta, by which an estimate of EXP3-IX can exceed its arm's cost.

    With gamma = eta/2 it holds for all arms together, with probability 1 - delta. N15, Corollary 1.

    >>> implicit_excess(1, 1.0, math.exp(-2.0))
    2.0
    """
    return math.log(arms / delta) / eta


def implicit_regret(arms: int, eta: float, etas: float, delta: float) -> float:
    """Return what bounds the regret of EXP3-IX with probability at least 1 - delta.

    ln d / eta + d sum_t eta_t + ln(2/delta) + ln(2 d/delta) / eta, with eta the last rate and
    gamma_t = eta_t/2; at eta = sqrt(2 ln d / (d T)) it is 2 sqrt(2 d T ln d) +
    (1 + sqrt(d T / (2 ln d))) ln(2/delta). N15, proof of Theorem 1.

    >>> implicit_regret(1, 1.0, 2.0, 2.0)
    2.0
    """
    likely = math.log(2.0 / delta) + implicit_excess(arms, eta, 0.5 * delta)
    return math.log(arms) / eta + arms * etas + likely


def tsallis_regret(arms: int, eta: float, etas: float) -> float:
    """Return (4 sqrt(d) - 4) / eta + (sqrt(d)/2) sum_t eta_t, eta the last rate.

    With eta_t = 2/sqrt(t) that is at most 4 sqrt(d T). ZS21, Theorem 1.

    >>> tsallis_regret(4, 2.0, 2.0)
    4.0
    """
    root = math.sqrt(arms)
    return (4.0 * root - 4.0) / eta + 0.5 * root * etas


def one_point_regret(
    radius: float, dimension: int, size: float, lipschitz: float, delta: float, eta: float,
    rounds: int, stability: float = 1.0,
) -> float:  # fmt: skip
    """Return 3 L delta T + B^2/(2 eta) + stability eta T d^2 (F/delta + L)^2. SS12, Corollary 4.5.

    B bounds ||u||, F |f_t| on the set, L the slopes of f_t on the set enlarged by delta.
    stability = 1/2 is SS12, Theorem 2.21.

    >>> one_point_regret(1.0, 1, 2.0, 1.0, 0.5, 0.1, 4)
    21.0
    """
    steep = dimension * (size / delta + lipschitz)
    spread = stability * eta * rounds * steep * steep
    return 3.0 * lipschitz * delta * rounds + radius * radius / (2.0 * eta) + spread


def two_point_regret(
    radius: float, dimension: int, lipschitz: float, delta: float, eta: float, rounds: int
) -> float:
    """Return 3 L delta T + B^2/(2 eta) + (eta/2) T (d L)^2, as |f(w + v) - f(w - v)| <= 2 L |v|.

    Reference: Agarwal, Dekel, Xiao, Optimal Algorithms for Online Convex Optimization with
    Multi-Point Bandit Feedback, 2010, with SS12, Theorem 2.21.

    >>> two_point_regret(1.0, 2, 1.0, 0.25, 0.5, 4)
    8.0
    """
    steep = dimension * lipschitz
    bias = 3.0 * lipschitz * delta * rounds
    return bias + radius * radius / (2.0 * eta) + 0.5 * eta * rounds * steep * steep


def inside_regret(
    complexity: float, steep: float, lipschitz: float, delta: float, excess: float, eta: float,
    rounds: int,
) -> float:  # fmt: skip
    """Return (2 L delta + e) T + complexity + (eta/2) T s^2 for plays that stay inside the set K.

    It bounds E[cost] - sum_t f_t(u) for u in K fixed in advance, f_t convex with slopes <= L on K.
    complexity >= (||u||^2 - ||w_1||^2)/(2 eta) on the shrunken set, steep = s >= ||z_t||, and
    excess = e bounds f_t(u') - f_t(u), u' the point of the shrunken set that belongs to u.
    With one point s = d F/delta, |f_t| <= F on K, as every play is in K; with two s = d L.

    Proof. f^(w) = E f_t(w + delta b), b uniform in the unit ball, is convex on the shrunken set,
    and E z_t is its gradient at w_t (SS12, Lemma 4.4). By Jensen f_t <= f^ <= f_t + L delta. A play
    costs at most f_t(w_t) + L delta <= f^(w_t) + L delta, and f_t(u) >= f_t(u') - e >=
    f^(u') - L delta - e. The sum of f^(w_t) - f^(u') is in expectation at most that of
    <w_t - u', z_t>, and so at most complexity + (eta/2) T s^2 (SS12, Theorems 4.1 and 2.21).
    Reference: Flaxman, Kalai, McMahan, Online Convex Optimization in the Bandit Setting, 2005,
    section 3, for the shrunken set.

    >>> inside_regret(2.0, 1.0, 0.5, 0.25, 0.25, 0.5, 4)
    5.0
    """
    spread = 0.5 * eta * rounds * (steep * steep)
    return (2.0 * lipschitz * delta + excess) * rounds + complexity + spread


class TunedWidth(NamedTuple):
    """The rate and the width of the perturbation for a known horizon, and the bound they give."""

    eta: float
    delta: float
    bound: float


def one_point_tuned(
    radius: float, dimension: int, size: float, lipschitz: float, rounds: int
) -> TunedWidth:
    """Return the constants of SS12, Corollary 4.5: a bound of the order T^(3/4).

    >>> round(one_point_tuned(1.0, 3, 2.0, 1.0, 10_000).bound, 7)
    10666.9047558
    """
    delta = math.sqrt(radius * dimension * size / (3.0 * lipschitz)) * rounds**-0.25
    eta = radius / (dimension * (size / delta + lipschitz) * math.sqrt(2.0 * rounds))
    return TunedWidth(
        eta, delta, one_point_regret(radius, dimension, size, lipschitz, delta, eta, rounds)
    )


def two_point_tuned(radius: float, dimension: int, lipschitz: float, rounds: int) -> TunedWidth:
    """Return eta = B / (d L sqrt(T)) and a delta that adds B d / sqrt(T): (d + 3 d) B L sqrt(T).

    >>> two_point_tuned(1.0, 2, 1.0, 100).bound
    80.0
    """
    eta = radius / (dimension * lipschitz * math.sqrt(rounds))
    delta = radius * dimension / math.sqrt(rounds)
    return TunedWidth(
        eta, delta, two_point_regret(radius, dimension, lipschitz, delta, eta, rounds)
    )


def inside_one_point_tuned(
    radius: float, dimension: int, size: float, lipschitz: float, rounds: int, ratio: float = 1.0
) -> TunedWidth:
    """Return the best constants of `inside_regret` with one point: a bound of the order T^(3/4).

    ratio: the largest distance from the centre of K by the radius of its inner ball, 1 for a ball
    and sqrt(d) for a box. delta = sqrt(B d F / (L (2 + ratio))) T^(-1/4) and eta = B delta /
    (d F sqrt(T)) give 2 sqrt((2 + ratio) B d F L) T^(3/4); valid if delta is below that radius.

    >>> round(inside_one_point_tuned(1.0, 3, 2.0, 1.0, 10_000).bound, 6)
    8485.281374
    """
    slope = lipschitz * (2.0 + ratio)
    delta = math.sqrt(radius * dimension * size / slope) * rounds**-0.25
    eta = radius * delta / (dimension * size * math.sqrt(rounds))
    steep = dimension * size / delta
    bound = inside_regret(
        radius**2 / (2.0 * eta), steep, lipschitz, delta, ratio * lipschitz * delta, eta, rounds
    )
    return TunedWidth(eta, delta, bound)
