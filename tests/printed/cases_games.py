"""Cases for the referee: convex games, experts, mixtures of learners."""

from __future__ import annotations

import copy
from fractions import Fraction
from typing import Any

import numpy as np

import noregret as nr
from noregret import domains, experts, losses, mirrors, oco, rates
from noregret.bandits import EstimatedGame
from tests.printed.cases_linear import Random, stream
from tests.printed.data import exactly
from tests.printed.games import Advice, Estimated, Experts, Game, GameData, Sleeping, surrogate
from tests.printed.linear import Reading
from tests.printed.losses import LOSSES, number, parameters_of
from tests.printed.verdicts import Verdicts


def _settings(random: Random) -> tuple[mirrors.Mirror, rates.Rate, dict[str, Any]]:
    """Return a map, a rate and a domain that go together."""
    mirror = [
        mirrors.Ball(1.0), mirrors.Euclidean(), mirrors.Entropy(1.5), mirrors.SignedEntropy(1.5),
        mirrors.PNorm(3.0), mirrors.UnnormalizedEntropy(),
    ][int(random.integers(6))]  # fmt: skip
    rate: rates.Rate = [
        rates.Constant(0.3), rates.InverseSqrt(0.5), rates.Adaptive(), rates.Doubling(0.4),
    ][int(random.integers(4))]  # fmt: skip
    options: dict[str, Any] = {}
    if isinstance(mirror, mirrors.Euclidean) and not isinstance(mirror, mirrors.Ball):
        kinds: list[Any] = [
            domains.Ball(1.0), domains.Box(-0.5, 1.0), domains.Simplex(1.2),
            domains.Orthant(), None,
        ]  # fmt: skip
        options["domain"] = kinds[int(random.integers(5))]
        if options["domain"] is None and random.random() < 0.4:
            rate = rates.StronglyConvex(0.5)
    return mirror, rate, options


def game(random: Random) -> Verdicts:
    """Judge a game on linear and quadratic losses."""
    d, rounds = int(random.choice([1, 2, 3])), int(random.choice([1, 2, 9, 30]))
    mirror, rate, options = _settings(random)
    made = oco.Game(d, mirror, rate, **options)
    curved = isinstance(rate, rates.StronglyConvex)
    data = GameData(
        np.zeros((rounds, d)), np.zeros(rounds), "game",
        slopes=np.zeros((rounds, d)), curvatures=np.zeros(rounds), centers=np.zeros((rounds, d)),
        played=np.zeros((rounds, d)),
    )  # fmt: skip
    for t in range(rounds):
        data.played[t] = made.play()
        if curved or random.random() < 0.3:
            data.centers[t] = np.round(random.normal(size=d), 3)
            data.curvatures[t] = 1.0
            made.face(oco.Quadratic(data.centers[t]))
        else:
            data.slopes[t] = np.round(random.normal(size=d), 3)
            made.face(oco.Linear(data.slopes[t]))
    certificate = made.certificate()
    reading = Reading(data, random, [made.play()])
    return Game(str(certificate), certificate.as_dict(), reading).judge()


def estimated(random: Random) -> Verdicts:
    """Judge a game on estimated gradients: its text is about the estimates."""
    d, rounds = 3, int(random.choice([1, 5, 20]))
    made = EstimatedGame(oco.Game(d, mirrors.Entropy(), rates.Constant(0.2)))
    data = GameData(
        np.zeros((rounds, d)), np.zeros(rounds), "game",
        slopes=np.zeros((rounds, d)), curvatures=np.zeros(rounds), centers=np.zeros((rounds, d)),
        played=np.zeros((rounds, d)),
    )  # fmt: skip
    cost = 0.0
    for t in range(rounds):
        w = made.play()
        data.played[t] = w
        arm = int(random.choice(d, p=w / w.sum()))
        paid = float(np.round(random.random(), 3))
        data.slopes[t, arm] = paid / w[arm]
        made.suffer(paid, data.slopes[t])
        cost += paid
    certificate = made.certificate()
    judge = Estimated(str(certificate), certificate.as_dict(), Reading(data, random))
    judge.cost = cost
    return judge.judge()


def hedge(random: Random) -> Verdicts:
    """Judge Hedge at every rate."""
    rate: Any = [0.5, 2.0, "anytime", "adaptive", "doubling"][int(random.integers(5))]
    return _advised(random, experts.Hedge(int(random.choice([1, 2, 5])), eta=rate))


def shares(random: Random) -> Verdicts:
    """Judge shares of experts, by mixing and by projection."""
    update = str(random.choice(["fixed", "projection"]))
    d = int(random.choice([2, 5]))
    return _advised(random, experts.Shares(d, eta=1.0, alpha=0.3, update=update))


def _advised(random: Random, learner: Any) -> Verdicts:
    rounds = int(random.choice([1, 2, 9, 40]))
    costs = np.round(random.random((rounds, learner.experts)), 3)
    paid = [Fraction(float(learner.suffer(row))) for row in costs]
    certificate = learner.certificate()
    advice = Advice(paid, [exactly(row) for row in costs])
    return Experts(str(certificate), certificate.as_dict(), advice, random).judge()


def forecaster(random: Random) -> Verdicts:
    """Judge forecasts of experts, against experts or their combinations."""
    loss = [losses.Squared(), losses.Absolute(), losses.Huber(0.5), losses.Quantile(0.3)][
        int(random.integers(4))
    ]
    d, rounds = int(random.choice([2, 4])), int(random.choice([1, 9, 30]))
    against = str(random.choice(["experts", "combinations"]))
    rate: Any = [0.5, "adaptive", "anytime"][int(random.integers(3))]
    if against == "combinations" and rate == "anytime":
        rate = "adaptive"
    if isinstance(loss, losses.Squared) and against == "experts" and random.random() < 0.5:
        rate = "concave"
    made = experts.Forecaster(d, loss, rate, low=0.0, high=1.0, against=against)
    table, y = np.round(random.random((rounds, d)), 3), np.round(random.random(rounds), 3)
    made_forecasts = made.learn(table, y)
    rule, chosen = LOSSES[type(loss).__name__], parameters_of(loss)
    costs = [
        [rule.exact(Fraction(float(o)), p, chosen) for p in exactly(row)]
        for row, o in zip(table, y, strict=True)
    ]
    paid = [
        rule.exact(Fraction(float(o)), Fraction(float(p)), chosen)
        for o, p in zip(y, made_forecasts, strict=True)
    ]
    combined = (table, y, type(loss).__name__, chosen, np.ones(rounds))
    advice = Advice(paid, costs, combined if against == "combinations" else None)
    certificate = made.certificate()
    return Experts(str(certificate), certificate.as_dict(), advice, random).judge()


def probabilities(random: Random) -> Verdicts:
    """Judge mixed probabilities, with weights that grow, and with weights of 0."""
    d, rounds = int(random.choice([1, 2, 5])), int(random.choice([1, 2, 9, 40]))
    made = experts.ProbabilityForecaster(d, sharing=bool(random.random() < 0.7))
    table = np.round(float(random.choice([0.5, 5.0])) * random.normal(size=(rounds, d)), 3)
    y = random.choice([-1.0, 1.0], rounds)
    weight = np.ones(rounds)
    if random.random() < 0.6:
        heavy = [0.0, 0.25, 1.0, 4.0] if made.sharing else [0.0, 0.25, 1.0]
        weight = random.choice(heavy, rounds)
    forecasts = made.learn(table, y, weight)
    rule, chosen = LOSSES["Logistic"], parameters_of(losses.Logistic())

    def lost(row: Any, t: int) -> list[Fraction]:
        label, mass = exactly([y[t], weight[t]])
        each = [rule.exact(label, p, chosen) for p in exactly(row)]
        return [mass * Fraction(str(number(value))) for value in each]

    costs = [lost(row, t) for t, row in enumerate(table)]
    paid = [lost([p], t)[0] for t, p in enumerate(forecasts)]
    certificate = made.certificate()
    advice = Advice(paid, costs)
    return Experts(str(certificate), certificate.as_dict(), advice, random).judge()


def sleeping(random: Random) -> Verdicts:
    """Judge specialists."""
    d, rounds = int(random.choice([2, 4])), int(random.choice([1, 9, 30]))
    eta = float(random.choice([0.3, 1.0]))
    learner = experts.Specialists(d, eta=eta)
    rows, paid = [], []
    for _ in range(rounds):
        awake = random.random(d) < 0.6
        awake[int(random.integers(d))] = True
        costs = np.round(random.random(d), 3)
        paid.append(Fraction(float(learner.suffer(costs, awake))))
        rows.append([v if a else None for v, a in zip(exactly(costs), awake, strict=True)])
    return Sleeping(str(learner.certificate()), Advice(paid, rows), random, eta).judge()


def classifier(random: Random) -> Verdicts:
    """Judge the surrogate classifier."""
    d, rounds = int(random.choice([2, 4])), int(random.choice([1, 9, 30]))
    learner = experts.SurrogateClassifier(d, eta=float(random.choice([0.25, 1.0])))
    votes = random.integers(2, size=(rounds, d))
    labels = random.integers(2, size=rounds)
    answers = [learner.learn(v, int(y)) for v, y in zip(votes, labels, strict=True)]
    return surrogate(str(learner.certificate()), votes, labels, answers)


def members_of(random: Random, given: Any, loss: Any) -> tuple[Any, list[Any], Any]:
    """Return an aggregate that has learnt, its members' predictions, and its own."""
    etas = [0.01, 0.1, 1.0][: int(random.integers(1, 4))]
    made = [nr.MirrorDescent(loss, mirrors.Euclidean(), rates.Constant(eta)) for eta in etas]
    alone = copy.deepcopy(made)
    whole = experts.Aggregate(made)
    predictions = whole.learn(given.X, given.y, given.weight)
    return whole, [one.learn(given.X, given.y, given.weight) for one in alone], predictions


def real_or_sign(random: Random) -> tuple[Any, Any]:
    """Return a stream and a loss for it."""
    loss = losses.Hinge() if random.random() < 0.5 else losses.Squared()
    return stream(random, loss.labels == "real"), loss
