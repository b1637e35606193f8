"""Bandits of every kind, seeded, and what is estimated from logged decisions."""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any

import numpy as np

import noregret as nr
from noregret import bandits, domains, losses, mirrors, oco, rates
from tests.same_bits.examples import Scenarios, number, resumed
from tests.same_bits.observe import Content, asked, facts, plain

ROUNDS, ARMS = 24, 3
RANGES = ((0.0, 1.0), (-1.0, 2.0))


def _pulled(make: Any, costs: tuple[float, float]) -> Content:
    """Return a bandit that decides, waits, forgets, is saved, and plays a table."""
    random = np.random.default_rng(6)
    unit = np.round(random.random((ROUNDS, ARMS)) * [0.4, 1.0, 0.9], 3)
    table = costs[0] + (costs[1] - costs[0]) * unit
    bandit = make()
    found: Content = {"decisions": [], "probabilities": []}
    late = []
    for t, row in enumerate(table[:14]):
        found["probabilities"].append(plain(asked(getattr, bandit, "probabilities")))
        decision = bandit.decide()
        found["decisions"].append(plain(decision))
        if t % 4 == 3:
            late.append((decision.id, row[decision.arm]))
        elif t % 4 == 2:
            bandit.reward(decision, float(costs[0] + costs[1] - row[decision.arm]))
        else:
            bandit.learn(decision, float(row[decision.arm]))
        if t == 8:
            bandit = resumed(bandit)
    for number_of, cost in late[:2]:
        bandit.learn(number_of, float(cost))
    bandit.forget(late[2][0])
    found["waiting"] = plain(asked(getattr, bandit, "waiting"))
    found["played"] = plain(asked(bandit.play, table[14:]))
    found["wrong"] = [plain(asked(bandit.learn, 999, 0.5)), plain(asked(bandit.play, table + 9.0))]
    return found | facts(bandit)


def _contexts(make: Any, seed: int) -> Content:
    random = np.random.default_rng([seed, 6])
    X = np.round(random.normal(size=(ROUNDS, 2)), 3)
    costs = np.round(random.random(ROUNDS), 3)
    policy = make()
    found: Content = {"decisions": []}
    for t in range(10):
        found["decisions"].append(plain(policy.probabilities(X[t : t + 1])))
        decision = policy.decide(X[t])
        found["decisions"].append(plain(decision))
        policy.learn(decision, float(costs[t]))
        if t == 5:
            policy = resumed(policy)
    many = policy.decide_many(X[10:18])
    found["many"] = plain(many)
    policy.learn_many(many.ids[:6], costs[10:16])
    policy.reward(int(many.ids[6]), 0.25)
    policy.forget(int(many.ids[7]))
    logged = X[18:], random.integers(0, ARMS, 6), costs[18:], np.full(6, 0.5)
    found["logged"] = plain(asked(policy.learn_logged, *logged))
    found["predicted"] = plain(policy.predict(X))
    return found | facts(policy)


def _features(make: Any, seed: int) -> Content:
    random = np.random.default_rng([seed, 7])
    policy = make()
    found: Content = {"decisions": []}
    for t in range(12):
        X = np.round(random.normal(size=(int(random.integers(2, 5)), 2)), 3)
        found["decisions"].append(plain(policy.probabilities(X)))
        decision = policy.decide(X)
        found["decisions"].append(plain(decision))
        policy.learn(decision, float(np.round(random.random(), 3)))
        if t == 5:
            policy = resumed(policy)
    found["logged"] = plain(
        asked(policy.learn_logged, X, np.full(len(X), 0.5), np.full(len(X), 0.5))
    )
    found["predicted"] = plain(policy.predict(X))
    return found | facts(policy)


def _gradient(domain: Any, options: dict[str, Any]) -> Content:
    bandit = bandits.GradientBandit(2, domain, 0.05, 0.3, seed=5, **options)
    target, found = np.array([0.5, 0.1]), []
    for t in range(16):
        points = bandit.play()
        found.append(plain(points))
        far = np.linalg.norm(np.atleast_2d(points) - target, axis=1)
        bandit.suffer(float(far[0]) if np.ndim(points) == 1 else far)
        if t == 7:
            bandit = resumed(bandit)
    return {"points": found} | facts(bandit)


def _estimated(mirror: Any, rate: Any) -> Content:
    random = np.random.default_rng(9)
    game = bandits.EstimatedGame(oco.Game(3, mirror, rate))
    played = []
    for _ in range(12):
        played.append(plain(game.play()))
        estimate = np.zeros(3)
        estimate[int(random.integers(3))] = np.round(random.random() * 3.0, 3)
        game.suffer(float(np.round(random.random(), 3)), estimate)
    return {"played": played} | facts(game)


def _off_policy(level: float, limit: float | None) -> Content:
    random = np.random.default_rng(4)
    propensity = np.array([0.3, 0.7])
    chosen = (random.random(40) < 0.7).astype(int)
    outcomes = np.round(random.random(40), 2)
    log = bandits.Log(chosen, outcomes, propensity[chosen], arms=2)
    policy, predicted = np.full((40, 2), 0.5), np.round(random.random((40, 2)), 2)
    return {
        "ips": plain(asked(bandits.ips, log, policy, level, limit)),
        "snips": plain(asked(bandits.snips, log, policy, level)),
        "robust": plain(asked(bandits.doubly_robust, log, policy, predicted, level, limit)),
    }


def _replayed(make: Any, contexts: bool, options: dict[str, Any]) -> Content:
    random = np.random.default_rng(11)
    drawn = random.integers(0, ARMS, 60)
    propensity = np.full(60, 1.0 / ARMS) if contexts else np.array([0.5, 0.3, 0.2])[drawn]
    log = bandits.Log(drawn, np.round(random.random(60), 2), propensity, arms=ARMS)
    policy = make()
    X = np.round(random.normal(size=(60, 2)), 2) if contexts else None
    found = asked(bandits.replay, policy, log, X, seed=3, **options)
    return {"replay": plain(found)} | facts(policy)


def scenarios(compiled: int) -> Scenarios:
    """Yield bandits on arms, with contexts, with features, on sets, and logs."""
    options: tuple[dict[str, Any], ...] = ({}, {"eta": 0.1}, {"horizon": 100})
    kinds: list[tuple[Any, dict[str, Any]]] = [
        *((bandits.Exp3, given) for given in options),
        *((bandits.Exp3IX, given) for given in (*options, {"delta": 0.2})),
        (bandits.TsallisINF, {}),
    ]
    for (kind, given), costs in itertools.product(kinds, RANGES):
        make = partial(kind, ARMS, costs=costs, seed=number(kind.__name__), **given)
        yield f"{kind.__name__} {given} {costs}", _pulled, make, costs
        if costs == RANGES[0]:
            for replayed in ({}, {"least": 0.1}, {"rewards": True}):
                name = f"replay {kind.__name__} {given} {replayed}"
                yield name, _replayed, make, False, replayed
    explorations = (
        None,
        bandits.EpsilonGreedy(0.2),
        bandits.InverseGap(),
        bandits.InverseGap(4, 0.3),
    )
    learners: tuple[tuple[Any, ...], ...] = (
        (),
        (losses.Squared(), mirrors.Euclidean(), rates.Constant(0.1)),
        (losses.Absolute(), mirrors.Ball(1.0), rates.Adaptive()),
    )
    chosen = itertools.product(explorations, learners, (False, True))
    for seed, (exploration, parts, importance) in enumerate(chosen):
        learner = partial(nr.MirrorDescent, *parts) if parts else lambda: None
        name = f"{exploration} {parts} {importance}"

        def contextual(e: Any = exploration, f: Any = learner, i: bool = importance) -> Any:
            return bandits.ContextualBandit(ARMS, e, f(), importance=i, seed=3)

        def featured(e: Any = exploration, f: Any = learner, i: bool = importance) -> Any:
            return bandits.ArmFeatureBandit(e, f(), importance=i, seed=3)

        yield f"contextual {name}", _contexts, contextual, seed
        yield f"arm features {name}", _features, featured, seed
        yield f"replay contextual {name}", _replayed, contextual, True, {}
    ways: tuple[dict[str, Any], ...] = (
        {}, {"points": 2}, {"lipschitz": 1.0, "size": 3.0}, {"points": 2, "lipschitz": 1.0},
        {"inside": True}, {"inside": True, "points": 2, "lipschitz": 1.0},
    )  # fmt: skip
    sets = (domains.Ball(1.0), domains.Box(-0.5, 1.0), domains.Simplex(), domains.Orthant())
    for domain, way in itertools.product(sets, ways):
        yield f"gradient {domain} {way}", _gradient, domain, way
    maps = (mirrors.Entropy(), mirrors.SignedEntropy(1.0), mirrors.Euclidean())
    for mirror, rate in itertools.product(maps, (rates.Constant(0.2), rates.Adaptive())):
        yield f"estimated {mirror} {rate}", _estimated, mirror, rate
    for level, limit in itertools.product((0.9, 0.95, 0.9996), (None, 5.0)):
        yield f"off-policy {level} {limit}", _off_policy, level, limit
