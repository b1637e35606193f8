"""Random and adversarial plays of costs, and the theorems measured on each."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from noregret import losses
from noregret.experts import (
    Forecaster,
    Hedge,
    Shares,
    Specialists,
    SurrogateClassifier,
    best_combination,
    best_sequence,
    expert_theorems,
)
from noregret.experts.hedge_rounds import ExpertSum

Vector = np.ndarray
#: Theorems are compared with losses that were rounded in every round.
ROUNDING = 1e-9

KINDS = ("uniform", "coins", "leaders", "heaviest", "lightest", "alternating", "constant", "rare")


def costs_of(kind: str, random: np.random.Generator, d: int) -> Callable[[int, Vector], Vector]:
    """Return the adversary: it sees the weights of the round before it names the costs."""
    means = random.uniform(size=d)
    good = random.integers(d)

    def answer(t: int, weights: Vector) -> Vector:
        if kind == "uniform":
            return random.uniform(size=d)
        if kind == "coins":
            return (random.uniform(size=d) < means).astype(float)
        if kind == "leaders":
            costs = (random.uniform(size=d) < 0.5).astype(float)
            costs[(good + t // 20) % d] = 0.0
            return costs
        if kind == "heaviest":
            return np.where(weights >= weights.max() * (1.0 - 1e-12), 1.0, 0.0)
        if kind == "lightest":
            return np.where(weights <= weights.min() * (1.0 + 1e-12), 0.0, 1.0)
        if kind == "alternating":
            return (np.arange(d) % 2 == t % 2).astype(float)
        if kind == "constant":
            return np.full(d, 0.5)
        return np.eye(d)[good] * float(t % 13 == 0)

    return answer


def play(seed: int) -> tuple[np.ndarray, list[str]]:
    """Play one game with every learner against one adversary; return costs and what was false."""
    random = np.random.default_rng([seed, 6])
    kind = KINDS[seed % len(KINDS)]
    d = int(random.choice([1, 2, 3, 8, 40]))
    rounds = int(random.choice([1, 2, 5, 30, 150]))
    low, width = float(random.normal()), float(np.exp(random.normal()))
    eta = float(np.exp(random.uniform(-4.0, 2.0)))
    false: list[str] = []
    all_costs = np.empty((0, d))
    for rate in (eta, "anytime", "doubling", "adaptive"):
        plain = random.random() < 0.5
        ends = (0.0, 1.0) if plain else (low, low + width)
        learner = Hedge(d, rate, *ends)
        adversary = costs_of(kind, random, d)
        costs = np.empty((rounds, d))
        for t in range(rounds):
            unit = adversary(t, learner.weights)
            costs[t] = np.clip(ends[0] + unit * (ends[1] - ends[0]), *ends)
            learner.suffer(costs[t])
        false += [f"Hedge {rate}: {text}" for text in judge_hedge(learner, costs)]
        all_costs = costs
    for update in ("fixed", "projection"):
        false += judge_shares(random, all_costs, eta, update)
    false += judge_sleeping(random, all_costs, eta)
    false += judge_forecasts(random, d, rounds, adversarial=seed % 2 == 0)
    false += judge_classifier(random, d, rounds, adversarial=seed % 2 == 0)
    return all_costs, [f"seed {seed}, {kind}, d={d}, T={rounds}: {text}" for text in false]


def judge_hedge(learner: Hedge, costs: np.ndarray) -> list[str]:
    """Return the theorems that the play contradicts, from the costs themselves."""
    d, rounds = costs.shape[1], len(costs)
    proof = learner.certificate()
    book = learner._state.book
    best = min(math.fsum(column) for column in costs.T)
    regret = proof.loss - best
    widths = np.ptp(costs, axis=1)
    gaps, squares = float(book[ExpertSum.GAP]), float((widths**2).sum())
    eta, width = float(book[ExpertSum.LAST_ETA]), learner.high - learner.low
    values = {}
    if learner._eta == "doubling":
        values["doubling"] = expert_theorems.doubling_regret(d, rounds, width)
    elif learner._eta == "anytime":
        values["anytime"] = expert_theorems.anytime_regret(d, rounds, width)
        values["gaps"] = expert_theorems.after_the_fact(d, eta, gaps)
    elif learner._eta == "adaptive":
        widest = float(widths.max())
        values["gaps"] = expert_theorems.after_the_fact(d, eta, gaps)
        values["second order"] = expert_theorems.adaptive_regret(
            d, float(book[ExpertSum.VARIANCE]), widest
        )
        values["worst case"] = expert_theorems.adaptive_regret(d, 0.25 * widest**2 * rounds, widest)
        if not values["gaps"] <= values["second order"] + ROUNDING:
            values["gaps above the second order"] = -math.inf
    else:
        values["gaps"] = expert_theorems.after_the_fact(d, eta, gaps)
        values["ranges"] = expert_theorems.hedge_regret(d, eta, squares)
        values["in advance"] = expert_theorems.hedge_regret(d, eta, width**2 * rounds)
        if eta * costs.min() >= -1.0:
            local = expert_theorems.local_norms(
                d, eta, float(book[ExpertSum.SQUARES]), costs.min() >= 0.0
            )
            values["local norms"] = local
        if costs.min() >= 0.0 and costs.max() <= 1.0:
            values["3.1 (1)"] = expert_theorems.weighted_majority(d, eta, rounds)
            if eta < 1.0:
                values["3.1 (2)"] = expert_theorems.weighted_majority_small(d, eta, best)
    slack = ROUNDING * (1.0 + np.abs(costs).sum())
    false = [f"{name} {v} < {regret}" for name, v in values.items() if not regret <= v + slack]
    if not regret <= proof.regret() <= regret + slack:
        false.append(f"measured regret {proof.regret()} is not {regret} rounded up")
    false += [
        f"{bound.name} {bound.value} < {proof.regret()}"
        for bound in proof.bounds
        if bound.applies and not proof.regret() <= bound.value
    ]
    return false


def judge_shares(
    random: np.random.Generator, costs: np.ndarray, eta: float, update: str
) -> list[str]:
    """Return the numbers of switches for which the bound of a share is below its regret."""
    rounds, d = costs.shape
    alpha = float(random.choice([1e-3, 0.1, 0.6, 1.0]))
    learner = Shares(d, eta, alpha, update, float(costs.min()) - 1.0, float(costs.max()))
    learner.learn(costs)
    proof = learner.certificate()
    most = min(rounds - 1, 6)
    least = best_sequence(costs, most).costs
    slack = ROUNDING * (1.0 + np.abs(costs).sum())
    return [
        f"{update} share, alpha {alpha}: {k} switches"
        for k in range(most + 1)
        if not proof.loss - least[k] <= proof.switching_bound(k) + slack
    ]


def judge_sleeping(random: np.random.Generator, costs: np.ndarray, eta: float) -> list[str]:
    """Return the experts against whom specialists lose more than was promised."""
    rounds, d = costs.shape
    awake = random.uniform(size=(rounds, d)) < random.uniform(0.1, 1.0)
    awake[np.arange(rounds), random.integers(0, d, rounds)] = True
    low, high = float(costs.min()) - 1.0, float(costs.max())
    learner = Specialists(d, eta, low, high)
    paid = learner.learn(costs, awake)
    regret = np.where(awake, paid[:, None] - costs, 0.0).sum(axis=0)
    state = learner._state
    slack = ROUNDING * (1.0 + np.abs(costs).sum())
    gaps = math.log(d) / eta + state[2] + slack
    ahead = math.log(d) / eta + 0.125 * eta * (high - low) ** 2 * awake.sum(axis=0) + slack
    bad = np.flatnonzero(~((regret <= gaps) & (regret <= ahead)))
    return [f"specialists: expert {i}, regret {regret[i]}" for i in bad]


def judge_forecasts(
    random: np.random.Generator, d: int, rounds: int, adversarial: bool
) -> list[str]:
    """Return what is false about forecasters of the square loss; outcomes may flee the forecast."""
    loss = losses.Squared()
    low, high = -0.5, 1.5
    predictions = random.uniform(low, high, (rounds, d))
    if adversarial:
        predictions = np.where(predictions > 0.5, high, low)
    false = []
    for against in ("experts", "combinations"):
        eta = "concave" if against == "experts" else "adaptive"
        forecaster = Forecaster(d, loss, eta, low, high, against)
        y = random.uniform(low, high, rounds)
        for t in range(rounds):
            if adversarial:
                y[t] = low if forecaster.forecast(predictions[t])[0] >= 0.5 else high
            forecaster.learn(predictions[t], y[t])
        proof = forecaster.certificate()
        best = math.fsum(((predictions - y[:, None]) ** 2).sum(axis=0)[[proof.best_expert]])
        slack = ROUNDING * (1.0 + rounds)
        if against == "experts":
            if not proof.loss - best <= math.log(d) / forecaster.eta + slack:
                false.append(f"exp-concave: regret {proof.loss - best}")
            continue
        least = best_combination(predictions, y, loss)
        assert proof.combination_regret is not None
        if not proof.loss - least.loss <= proof.combination_regret:
            false.append(f"combinations: {proof.loss - least.loss} > {proof.combination_regret}")
        book = forecaster._state.book
        widest, variance = float(book[ExpertSum.WIDEST]), float(book[ExpertSum.VARIANCE])
        if (
            not proof.combination_regret
            <= expert_theorems.adaptive_regret(d, variance, widest) + slack
        ):
            false.append(f"AdaHedge on slopes: {proof.combination_regret}")
    return false


def judge_classifier(
    random: np.random.Generator, d: int, rounds: int, adversarial: bool
) -> list[str]:
    """Return the bounds on mistakes that a classifier by a surrogate breaks."""
    false = []
    for eta in (0.25, 1.0):
        learner = SurrogateClassifier(d, eta)
        for _ in range(rounds):
            v = random.integers(0, 2, d)
            wrong = int(learner.activation(v) < 0.5)
            # The adversary errs with the learner as long as some hypothesis does not.
            y = wrong if adversarial and np.any(v == wrong) else int(v[0])
            learner.learn(v, y)
        best, log = float(learner._surrogate.min()), math.log(d)
        bound = 2.0 * best + (8.0 if eta == 0.25 else 2.0) * log
        if not learner.mistakes <= bound + ROUNDING:
            false.append(f"surrogate, eta {eta}: {learner.mistakes} > {bound}")
        if not learner.mistakes <= best + log / eta + learner._gaps + ROUNDING:
            false.append(f"surrogate, eta {eta}: after the fact")
    return false
