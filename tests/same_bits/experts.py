"""Expert advice: games, forecasters, specialists, classifiers, oracles and portfolios."""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any

import numpy as np

from noregret import experts
from tests.same_bits.descent import LOSSES
from tests.same_bits.examples import Scenarios, number, resumed
from tests.same_bits.observe import Content, asked, facts, plain

ROUNDS, EXPERTS = 24, 4
HEDGES: tuple[tuple[Any, ...], ...] = (
    (0.5,), (2.0, -1.0, 2.0), ("anytime",), ("anytime", 0.0, 1.0), ("doubling", 0.0, 1.0),
    ("doubling",), ("adaptive",), ("adaptive", 0.0, 1.0), ("adaptive", -1.0, 2.0), ("wrong",),
)  # fmt: skip
SHARES = tuple(itertools.product((0.5, 2.0), (0.0, 0.1, 0.5), ("fixed", "projection", "variable")))


def table(name: str, low: float = 0.0, high: float = 1.0) -> np.ndarray:
    """Return costs of experts of whom one is often the best, and changes."""
    random = np.random.default_rng(number(name))
    costs = np.round(random.random((ROUNDS, EXPERTS)), 3)
    costs[np.arange(ROUNDS), (np.arange(ROUNDS) // 9) % EXPERTS] *= 0.25
    costs[5] = 1.0
    return low + (high - low) * costs


def _advised(make: Any, costs: np.ndarray) -> Content:
    """Return a game that suffers rounds, is saved, and learns the rest at once."""
    learner = make()
    found: Content = {"first": [plain(asked(learner.suffer, row)) for row in costs[:9]]}
    found["at the cut"] = plain(asked(learner.certificate))
    learner = resumed(learner)
    found["second"] = plain(asked(learner.learn, costs[9:]))
    found["outside"] = plain(asked(learner.learn, costs[:3] + 5.0))
    certificate = learner.certificate()
    found["regret"] = asked(certificate.regret, np.full(EXPERTS, 1.0 / EXPERTS))
    if hasattr(certificate, "switching_bound"):
        found["switches"] = [asked(certificate.switching_bound, k) for k in (0, 1, 3)]
        found["alphas"] = [asked(certificate.best_alpha, k) for k in (0, 1, 3)]
    return found | facts(learner)


def _forecasts(make: Any, kind: str, name: str) -> Content:
    random = np.random.default_rng(number(name))
    predictions = np.round(random.random((ROUNDS, EXPERTS)), 3)
    outcomes = np.round(random.random(ROUNDS), 3)
    if kind == "sign":
        outcomes = np.where(outcomes > 0.4, 1.0, -1.0)
    weight = random.choice([0.25, 0.5, 1.0], ROUNDS)
    learner = make()
    found: Content = {"first": plain(asked(learner.learn, predictions[:9], outcomes[:9]))}
    learner = resumed(learner)
    found["asked"] = plain(asked(learner.forecast, predictions[9:12]))
    found["second"] = plain(asked(learner.learn, predictions[9:], outcomes[9:], weight[9:]))
    found["outside"] = plain(asked(learner.learn, predictions[:1] + 9.0, outcomes[:1]))
    return found | facts(learner)


def _slept(eta: float, ends: tuple[float, float]) -> Content:
    costs = table(f"asleep {eta}", *ends)
    awake = np.random.default_rng(3).random(costs.shape) < 0.6
    awake[:, 0] |= ~awake.any(axis=1)
    learner = experts.Specialists(EXPERTS, eta, *ends)
    rows = zip(costs[:9], awake[:9], strict=True)
    found: Content = {"first": [plain(asked(learner.suffer, *row)) for row in rows]}
    learner = resumed(learner)
    found["second"] = plain(asked(learner.learn, costs[9:], awake[9:]))
    found["weights"] = [plain(asked(learner.weights, w)) for w in (None, awake[0])]
    return found | facts(learner)


def _voted(eta: float) -> Content:
    random = np.random.default_rng(8)
    learner = experts.SurrogateClassifier(EXPERTS, eta)
    votes, labels = random.integers(2, size=(ROUNDS, EXPERTS)), random.integers(2, size=ROUNDS)
    found: Content = {"activations": [], "answers": []}
    for vote, label in zip(votes, labels, strict=True):
        found["activations"].append(plain(asked(learner.activation, vote)))
        found["answers"].append(plain(asked(learner.learn, vote, int(label))))
    return found | facts(learner)


def _wealth(name: str, *given: Any) -> Content:
    random = np.random.default_rng(number("prices"))
    relatives = np.exp(np.round(random.normal(size=(ROUNDS, 2 if "pair" in name else 3)), 2) / 8)
    return {"found": plain(asked(getattr(experts, name), relatives, *given))}


def _newton(*given: float) -> Content:
    random = np.random.default_rng(number("prices"))
    learner = experts.NewtonStep(3, *given)
    found = []
    for row in np.exp(np.round(random.normal(size=(ROUNDS, 3)), 2) / 8):
        asked(learner.learn, row)
        found.append(plain(asked(getattr, learner, "weights")))
    return {"weights": found}


def _combined(loss: Any) -> Content:
    random = np.random.default_rng(number(str(loss)))
    predictions = np.round(random.random((ROUNDS, EXPERTS)), 3)
    outcomes = np.round(random.random(ROUNDS), 3)
    if loss.labels == "sign":
        outcomes = np.where(outcomes > 0.4, 1.0, -1.0)
    best = asked(experts.best_combination, predictions, outcomes, loss, 1e-4)
    return {"best": plain(best), "concavity": asked(experts.exp_concavity, loss, 0.0, 1.0)}


def scenarios(compiled: int) -> Scenarios:
    """Yield games, forecasters, oracles, portfolios."""
    for given in HEDGES:
        ends = given[1:] or (0.0, 1.0)
        costs = table(f"hedge {given}", *ends)
        yield f"hedge {given}", _advised, partial(experts.Hedge, EXPERTS, *given), costs
    for options in ({}, {"rounds": 20}, {"eta": 0.3}):
        make = partial(experts.weighted_majority, EXPERTS, **options)
        yield f"weighted majority {options}", _advised, make, table("majority")
    for share in SHARES:
        make = partial(experts.Shares, EXPERTS, *share)
        yield f"shares {share}", _advised, make, table(f"shares {share}")
    rates: tuple[Any, ...] = (0.5, "adaptive", "anytime", "doubling", "concave")
    against = ("experts", "combinations")
    for loss, eta, whom, ends in itertools.product(LOSSES, rates, against, (None, (0.0, 1.0))):
        if compiled and ends is None and loss not in LOSSES[:2]:
            continue
        name = f"forecaster {loss} {eta} {whom} {ends}"
        make = partial(experts.Forecaster, EXPERTS, loss, eta, *(ends or ()), against=whom)
        yield name, _forecasts, make, loss.labels, name
    for eta, ends in itertools.product((0.3, 1.0), ((0.0, 1.0), (-1.0, 2.0))):
        yield f"specialists {eta} {ends}", _slept, eta, ends
    for eta in (0.25, 1.0):
        yield f"surrogate {eta}", _voted, eta
    for name in ("best_rebalanced", "best_stock", "buy_and_hold", "rebalanced", "portfolio_eg"):
        yield name, _wealth, name
    weights = [0.5, 0.25, 0.25]
    yield "buy_and_hold, weights", _wealth, "buy_and_hold", weights
    yield "rebalanced, weights", _wealth, "rebalanced", weights
    yield "portfolio_eg 0.5", _wealth, "portfolio_eg", 0.5
    for points in (None, 50):
        yield f"universal_pair {points}", _wealth, "universal_pair", points
    for given in ((), (0.5, 0.25, 0.1)):
        yield f"online_newton {given}", _wealth, "online_newton", *given
        yield f"newton {given}", _newton, *given
    for loss in LOSSES[:4] if compiled else LOSSES:
        yield f"combination {loss}", _combined, loss
    costs = table("oracles")
    yield "best_expert", experts.best_expert, costs
    for switches in (0, 1, 3):
        yield f"best_sequence {switches}", experts.best_sequence, costs, switches
    for u in (0.0, 0.3, 0.999):
        yield f"draw {u}", experts.draw, [0.2, 0.5, 0.3], u
