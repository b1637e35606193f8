"""Cases for the referee: bandits of every kind, and logged decisions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import noregret as nr
from noregret import bandits, domains, losses, mirrors, rates
from tests.printed.bandits import Bandit, Pulls, _tail, covered, gradient, off_policy
from tests.printed.cases_linear import Random
from tests.printed.data import Data
from tests.printed.linear import Reading
from tests.printed.verdicts import Verdicts


def _arms(kind: int, count: int, seed: int, rounds: int, costs: tuple[float, float]) -> Any:
    """Return a bandit on arms."""
    if kind == 0:
        return bandits.Exp3(count, eta=0.1, seed=seed, costs=costs)
    if kind == 1:
        return bandits.Exp3(count, seed=seed, costs=costs)
    if kind == 2:
        return bandits.Exp3IX(count, seed=seed, costs=costs)
    if kind == 3:
        return bandits.Exp3IX(count, eta=0.1, seed=seed, costs=costs)
    return bandits.TsallisINF(count, seed=seed, costs=costs)


def _play(bandit: Any, table: Any, costs: tuple[float, float], biased: bool) -> Pulls:
    """Let a bandit play a table of costs."""
    pulls = Pulls(count=table.shape[1], low=costs[0], high=costs[1], table=table, biased=biased)
    for row in table:
        pulls.every.append(np.asarray(bandit.probabilities))
        decision = bandit.decide()
        pulls.arms.append(decision.arm)
        pulls.chances.append(decision.probability)
        pulls.costs.append(float(row[decision.arm]))
        bandit.learn(decision, float(row[decision.arm]))
    return pulls


def arms(random: Random, kinds: tuple[int, ...]) -> Verdicts:
    """Judge EXP3, EXP3-IX or Tsallis-INF; one time in eight over many draws."""
    kind = int(random.choice(kinds))
    count, rounds = int(random.choice([2, 3, 5])), int(random.choice([1, 5, 30]))
    costs = (0.0, 1.0) if random.random() < 0.7 else (-1.0, 2.0)
    unit = np.round(random.random((rounds, count)) * random.choice([0.3, 1.0], count), 3)
    table = costs[0] + (costs[1] - costs[0]) * unit
    bandit = _arms(kind, count, int(random.integers(10**6)), rounds, costs)
    biased = isinstance(bandit, bandits.Exp3IX)
    pulls = _play(bandit, table, costs, biased)
    certificate = bandit.certificate()

    def again(seed: int) -> tuple[str, Pulls]:
        other = _arms(kind, count, seed, rounds, costs)
        played = _play(other, table, costs, biased)
        return str(other.certificate()), played

    repeated = again if random.random() < 0.125 else None
    return Bandit(str(certificate), certificate.as_dict(), pulls, repeated).judge()


def contextual(random: Random) -> Verdicts:
    """Judge a contextual bandit and the certificate of its regression."""
    count, d, rounds = int(random.choice([2, 3])), int(random.choice([1, 2])), 20
    kinds = [bandits.EpsilonGreedy(0.2), bandits.InverseGap(), bandits.EpsilonGreedy(0.0)]
    exploration = kinds[int(random.integers(3))]
    policy = bandits.ContextualBandit(count, exploration, seed=int(random.integers(10**6)))
    pulls = Pulls(count=count)
    rows, predicted = [], []
    # What the regression plays when a cost comes is not what it predicted before.
    twin = nr.MirrorDescent(losses.Squared(), mirrors.Euclidean(), rates.ScaleFree())
    for _ in range(rounds):
        x = np.round(random.normal(size=d), 3)
        pulls.every.append(policy.probabilities([x])[0])
        decision = policy.decide(x)
        cost = float(np.round(random.random(), 3))
        pulls.arms.append(decision.arm)
        pulls.chances.append(decision.probability)
        pulls.costs.append(cost)
        row = np.zeros((d + 1) * count)
        row[decision.arm :: count] = [1.0, *x]
        rows.append(row)
        predicted.append(float(twin.learn([row], [cost])[0]))
        policy.learn(decision.id, cost)
    data = Data(np.array(rows), np.array(pulls.costs), "Squared", predictions=np.array(predicted))
    certificate = policy.certificate()
    return Bandit(str(certificate), None, pulls).judge(Reading(data, random))


def arm_features(random: Random) -> Verdicts:
    """Judge a bandit on features of arms."""
    d, rounds = int(random.choice([1, 2])), 15
    policy = bandits.ArmFeatureBandit(seed=int(random.integers(10**6)))
    pulls, rows, predicted = Pulls(), [], []
    twin = nr.MirrorDescent(losses.Squared(), mirrors.Euclidean(), rates.ScaleFree())
    for _ in range(rounds):
        X = np.round(random.normal(size=(int(random.integers(2, 5)), d)), 3)
        pulls.every.append(np.asarray(policy.probabilities(X)).ravel())
        decision = policy.decide(X)
        cost = float(np.round(random.random(), 3))
        pulls.arms.append(decision.arm)
        pulls.chances.append(decision.probability)
        pulls.costs.append(cost)
        rows.append([1.0, *X[decision.arm]])
        predicted.append(float(twin.learn([rows[-1]], [cost])[0]))
        policy.learn(decision.id, cost)
    data = Data(np.array(rows), np.array(pulls.costs), "Squared", predictions=np.array(predicted))
    certificate = policy.certificate()
    return Bandit(str(certificate), None, pulls).judge(Reading(data, random))


def descent(random: Random) -> Verdicts:
    """Judge bandit gradient descent on f_t(w) = ||w - a||, at times over many draws."""
    d, rounds, points = 2, int(random.choice([1, 10, 25])), int(random.choice([1, 2]))
    target = np.array([0.5, 0.0])
    domain = domains.Ball(1.0) if random.random() < 0.6 else domains.Box(-0.5, 1.0)
    promised = {"lipschitz": 1.0} if random.random() < 0.7 else {}
    if promised and points == 1:
        promised["size"] = 3.0
    inside = bool(random.random() < 0.4)

    def played(seed: int) -> tuple[str, list[float]]:
        bandit = bandits.GradientBandit(
            d, domain, eta=0.05, delta=0.3, points=points, seed=seed, inside=inside, **promised
        )
        costs = []
        for _ in range(rounds):
            point = bandit.play()
            if points == 1:
                values: Any = float(np.linalg.norm(point - target))
                costs.append(values)
            else:
                values = [float(np.linalg.norm(one - target)) for one in point]
                costs.append(float(np.mean(values)))
            bandit.suffer(values)
        return str(bandit.certificate()), costs

    text, costs = played(int(random.integers(10**6)))
    repeats = []
    if random.random() < 0.15:
        for seed in range(30):
            other, paid = played(seed)
            repeats.append((other, math.fsum(paid), 0.0))
    return gradient(text, costs, repeats)


def logged(random: Random) -> Verdicts:
    """Judge estimates from logged decisions, at times their coverage over many logs."""
    rows, count = int(random.choice([5, 40])), 2
    propensity = np.array([0.3, 0.7])
    means = np.array([0.2, 0.6])
    policy = np.array([0.5, 0.5])
    level = float(random.choice([0.95, 0.9, 0.9996, 0.99]))

    def drawn(source: Random) -> Any:
        chosen = (source.random(rows) < propensity[1]).astype(int)
        outcomes = (source.random(rows) < means[chosen]).astype(float)
        return chosen, outcomes, bandits.Log(chosen, outcomes, propensity[chosen], arms=count)

    chosen, outcomes, log = drawn(random)
    weights = policy[chosen] / propensity[chosen]
    worth = float(weights.sum() ** 2 / (weights**2).sum())
    reading = {"level": level, "rows": rows, "worth": worth}
    total = Verdicts()
    found = bandits.ips(log, policy, level)
    total.add(off_policy(str(found), found.as_dict(), float((weights * outcomes).mean()), reading))
    other = bandits.snips(log, policy, level)
    value = float((weights * outcomes).sum() / weights.sum())
    total.add(off_policy(str(other), other.as_dict(), value, reading))
    if random.random() < 0.1:
        truth = float(policy @ means)
        logs = [drawn(random)[2] for _ in range(60)]
        missed = sum(not covered(str(bandits.ips(one, policy, level)), truth) for one in logs)
        holds = _tail(missed, 60, 1.0 - level) > 1e-6
        total.enter("coverage", holds, (missed, level))
    return total
