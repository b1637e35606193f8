"""The closed forms of the theorems on expert advice, as pure functions.

d experts, T rounds, costs in [0, 1] or of a width R = high - low, rates eta. References: SS12 =
Shalev-Shwartz, Online Learning and Online Convex Optimization, 2012; CBL06 = Cesa-Bianchi and
Lugosi, Prediction, Learning, and Games, 2006; DR14 = de Rooij, van Erven, Grunwald and Koolen,
Follow the Leader If You Can, Hedge If You Must, 2014; HW01 = Herbster and Warmuth, Tracking the
Best Linear Predictor, 2001; FSSW97 = Freund, Schapire, Singer and Warmuth, Using and Combining
Predictors That Specialize, 1997.
"""

from __future__ import annotations

import math


def tuned_rate(experts: int, rounds: float, width: float = 1.0) -> float:
    """Return sqrt(8 ln d / T) / R, where `hedge_regret` is least: R sqrt(T ln d / 2).

    SS12, Theorem 1.3. One expert gets the rate of two, since 0 is none.

    >>> round(hedge_regret(16, tuned_rate(16, 100), 100), 10)
    11.7741002252
    """
    return math.sqrt(8.0 * math.log(max(experts, 2)) / rounds) / width


def hedge_regret(experts: int, eta: float, ranges: float) -> float:
    """Return ln d / eta + (eta/8) sum_t (max z_t - min z_t)^2, the sum being T for costs in [0, 1].

    CBL06, Theorem 2.2; SS12, Theorem 2.21 with half ranges.

    >>> hedge_regret(1, 0.5, 16.0)
    1.0
    """
    return math.log(experts) / eta + 0.125 * eta * ranges


def after_the_fact(experts: int, eta: float, gaps: float) -> float:
    """Return ln d / eta + sum_t delta_t, eta the last of rates that do not rise.

    SS12, Lemma 2.20; DR14, that the mix loss is at most the best cost plus ln d / eta.

    >>> after_the_fact(1, 0.5, 2.0)
    2.0
    """
    return (math.log(experts) / eta if experts > 1 else 0.0) + gaps


def local_norms(experts: int, eta: float, squares: float, nonnegative: bool) -> float:
    """Return ln d / eta + eta sum_t sum_i w_i z_i^2, half of the second term if z >= 0.

    Needs eta z >= -1. SS12, Theorem 2.22.

    >>> local_norms(1, 0.5, 4.0, True)
    1.0
    """
    return math.log(experts) / eta + (0.5 if nonnegative else 1.0) * eta * squares


def weighted_majority(experts: int, eta: float, rounds: int) -> float:
    """Return ln d / eta + eta T. SS12, Theorem 3.1, first bound; costs in [0, 1].

    >>> weighted_majority(1, 0.5, 2)
    1.0
    """
    return math.log(experts) / eta + eta * rounds


def weighted_majority_small(experts: int, eta: float, best: float) -> float:
    """Return (C + ln d / eta)/(1 - eta) - C, C the best expert's cost. SS12, Theorem 3.1, second.

    >>> weighted_majority_small(1, 0.5, 3.0)
    3.0
    """
    return (best + math.log(experts) / eta) / (1.0 - eta) - best


def anytime_regret(experts: int, rounds: int, width: float) -> float:
    """Return R (2 sqrt(T ln d / 2) + sqrt(ln d / 8)) for eta_t = sqrt(8 ln d / t) / R.

    CBL06, Theorem 2.3.

    >>> anytime_regret(1, 100, 2.0)
    0.0
    """
    log = math.log(experts)
    return width * (2.0 * math.sqrt(0.5 * rounds * log) + math.sqrt(log / 8.0))


def doubling_regret(experts: int, rounds: int, width: float) -> float:
    """Return sum_m R sqrt(2^m ln d / 2) over the epochs begun. SS12, section 2.3.1.

    >>> doubling_regret(1, 100, 2.0)
    0.0
    """
    epochs = range(max(rounds, 1).bit_length())
    return sum(width * math.sqrt(0.5 * 2.0**m * math.log(experts)) for m in epochs)


def adaptive_regret(experts: int, variance: float, widest: float) -> float:
    """Return 2 sqrt(V ln d) + S ((4/3) ln d + 2). DR14, the second-order bound of AdaHedge.

    V is the sum of the variances of z_t under w_t, S the largest width of a round; V <= S^2 T / 4.

    >>> adaptive_regret(1, 5.0, 1.5)
    3.0
    """
    log = math.log(experts)
    return 2.0 * math.sqrt(variance * log) + widest * (4.0 / 3.0 * log + 2.0)


def switching_price(experts: int, alpha: float, rounds: int, switches: int) -> float:
    """Return ln n + k ln(n-1) + k ln(1/b) + (T-1-k) ln(1/(1-b)) with b = alpha (n-1)/n.

    1/eta times this and the gaps bound the regret of both shares against k switches. HW01,
    Theorem 10 with the relative entropy.

    >>> b = 1 / 99
    >>> round(switching_price(3, 1.5 * b, 100, 1), 11)
    7.38181172284
    """
    if experts == 1:
        return 0.0
    rate = alpha * (experts - 1) / experts
    stays = rounds - 1 - switches
    price = math.log(experts) + switches * (math.log(experts - 1) - math.log(rate))
    return price - stays * math.log1p(-rate)


def probability_regret(experts: int, rounds: int, largest: float) -> float:
    """Return W (ln K + ln T), the regret of mixed probabilities that share 1/(t+1), 0 for K = 1.

    W is the largest weight of a round and T counts those of a weight above 0: a share is
    multiplied by (1 - 1/2) (1 - 1/3) ... (1 - 1/T) = 1/T at least. Without sharing T is 1.

    >>> probability_regret(1, 100, 2.0), round(probability_regret(3, 10, 2.0), 12)
    (0.0, 6.802394763324)
    """
    return largest * math.log(experts * max(rounds, 1)) if experts > 1 else 0.0


def surrogate_mistakes(hypotheses: int, eta: float, surrogate: float) -> float:
    """Return (F + ln d / eta) / (1 - eta/2), F the loss 2|<u, v> - y| summed over mistakes.

    With eta = 1 it is 2 F + 2 ln d; SS12, section 2.1.2 has 2 F + 8 ln d at eta = 1/4.

    >>> surrogate_mistakes(1, 1.0, 1.5)
    3.0
    """
    return (surrogate + math.log(hypotheses) / eta) / (1.0 - 0.5 * eta)
