"""Games, bandits and classes, with rounds that they take and rounds that they refuse."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from noregret import bandits, classes, domains, experts, losses, mirrors, oco, rates
from noregret.learners import MirrorDescent

Round = Callable[[Any], Any]
EUCLIDEAN, NAN, HUGE = mirrors.Euclidean(), math.nan, 1e200


class Case(NamedTuple):
    """How to make one, rounds that it takes, and rounds that it refuses at any time after them."""

    make: Callable[[], Any]
    good: list[Round]
    bad: dict[str, Round]
    #: Rounds before which none may be refused: those that need something to be there.
    after: int = 0


def calls(name: str, *arguments: Any, **options: Any) -> Round:
    """Return the round that calls a method with these arguments."""
    return lambda it: getattr(it, name)(*arguments, **options)


def each(name: str, *rounds: tuple[Any, ...]) -> list[Round]:
    return [calls(name, *given) for given in rounds]


def faults(name: str, **rounds: tuple[Any, ...]) -> dict[str, Round]:
    return {fault: calls(name, *given) for fault, given in rounds.items()}


def no_value(w: Any) -> float:
    return NAN


def zero(w: Any) -> float:
    return 0.0


def ones(w: Any) -> Any:
    return np.ones(len(w))


def game_of(horizon: int) -> oco.Game:
    """Return the game of an epoch; those from 4 rounds on are of another kind."""
    return oco.Game(2 if horizon < 4 else 3, EUCLIDEAN, rates.Constant(0.5))


def steady(horizon: int) -> oco.Game:
    return oco.Game(2, mirrors.Ball(1.0), rates.Constant(1.0 / horizon))


PLAYS = each("suffer", (1.0, [1.0, -0.5]), (0.5, [0.25, 0.0]), (2.0, [-1.0, 1.0]), (0.0, [0.0, 0]))
BAD_PLAYS = faults(
    "suffer",
    nan=(NAN, [1.0, 0.0]),
    infinite=(1.0, [math.inf, 0.0]),
    length=(1.0, [1.0, 0.0, 0.0]),
    scalar=(1.0, 1.0),
    text=("x", [1.0, 0.0]),
    huge=(1.0, [HUGE, HUGE]),
    value=(1e300, [1.0, 0.0]),
    curvature=(1.0, [1.0, 0.0], -1.0),
) | faults("face", none=(None,), number=((no_value, ones),), wide=(oco.Linear([1.0, 2.0, 3.0]),))
FACED = each(
    "face", (oco.Linear([1.0, -0.5]),), (oco.Quadratic([0.5, 0.5]),), (oco.Linear([0.0, 0.25]),)
)
BAD_FACED = faults(
    "face",
    none=(None,),
    number=((no_value, ones),),
    wide=(oco.Linear([1.0, 2.0, 3.0]),),
    center=(oco.Quadratic([1.0]),),
    huge=(oco.Linear([HUGE, 0.0]),),
    unsolved=((zero, ones),),
)


def game(*parts: Any, **options: Any) -> Case:
    return Case(lambda: oco.Game(2, *parts, **options), PLAYS, BAD_PLAYS)


COSTS = each("learn", ([[0.0, 0.5, 1.0]],), ([[1.0, 0.5, 0.0], [0.5, 0.5, 0.25]],), ([[0, 1, 0]],))
BAD_COSTS = faults(
    "learn",
    outside=([[0.5, 0.5, 0.5], [0.5, 1.5, 0.5]],),
    below=([[-0.25, 0.5, 0.5]],),
    nan=([[0.5, NAN, 0.5]],),
    infinite=([[0.5, 0.5, math.inf]],),
    length=([[0.5, 0.5]],),
    text=([["a", "b", "c"]],),
    masked=(np.ma.masked_array([[0.5, 0.5, 0.5]], [[True, False, False]]),),
) | faults("suffer", table=([[0.5, 0.5, 0.5]],), long=([0.5] * 4,))


def decided(*arguments: Any) -> Round:
    return calls("decide", *arguments)


def told(place: int, cost: Any) -> Round:
    """Return the round that tells the cost of the decision that has waited `place`-th longest."""
    return lambda it: it.learn(it.waiting[place], cost)


ARMS = [decided(), told(0, 0.25), decided(), decided(), told(1, 1.0), decided()]
BAD_ARMS = {
    "outside": told(0, 1.5),
    "nan": told(0, NAN),
    "text": told(0, "x"),
    "shape": told(0, [0.5, 0.5]),
    "unknown": calls("learn", 99, 0.5),
    "name": calls("learn", 1.5, 0.5),
    "another": calls("learn", bandits.Decision(3, 2, 0.5), 0.5),
    "reward": calls("reward", 99, 0.5),
    "forgotten": calls("forget", 99),
    "settled": calls("learn", 0, 0.5),
    "rows": calls("play", [[0.5, 0.5, 0.5], [0.5, 2.0, 0.5]]),
    "width": calls("play", [[0.5, 0.5]]),
    "missing": calls("play", [[0.5, NAN, 0.5]]),
}


def arms(make: Callable[[], Any]) -> Case:
    rounds = [*ARMS, calls("play", [[0.25, 0.5, 1.0]] * 3)]
    return Case(make, rounds, BAD_ARMS, len(ARMS))


def steep() -> MirrorDescent:
    """Return a regressor that diverges where costs are predicted from large features."""
    return MirrorDescent(losses.Squared(), EUCLIDEAN, rates.Constant(1.0))


def together(it: Any) -> Any:
    """Tell the costs of all decisions that wait, of which the last has 1e99 for a feature."""
    return it.learn_many(it.waiting, [0.5] * len(it.waiting))


CONTEXTS = [decided([1.0, 0.0]), told(0, 0.25), decided([0.0, 1.0]), decided([1.0, 1.0])]
BAD_CONTEXTS = {
    "outside": told(0, 1.5),
    "nan": told(0, NAN),
    "unknown": calls("learn", 99, 0.5),
    "twice": calls("learn_many", [1, 1], [0.5, 0.5]),
    "count": calls("learn_many", [1, 2], [0.5]),
    "one of two": calls("learn_many", [1, 2], [0.5, 7.0]),
    "forgotten": calls("forget", 99),
    "context": decided([1.0, NAN]),
    "wide": decided([1.0, 0.0, 1.0]),
    "rows": decided([[1.0, 0.0], [0.0, 1.0]]),
    "large": decided([1.0, 1e101]),
}
LOGGED = ([[1.0, 0.0], [0.0, 1.0]], [0, 1], [0.5, 0.25], [0.5, 0.5])
BAD_LOGGED = faults(
    "learn_logged",
    arm=(LOGGED[0], [0, 5], LOGGED[2], LOGGED[3]),
    propensity=(LOGGED[0], LOGGED[1], LOGGED[2], [0.5, 0.0]),
    context=([[1.0, 0.0], [0.0, NAN]], *LOGGED[1:]),
    contexts=([[1.0, 0.0]], *LOGGED[1:]),
    cost=(LOGGED[0], LOGGED[1], [0.5, 2.0], LOGGED[3]),
)
SETS = [decided([[1.0, 0.0], [0.0, 1.0]]), told(0, 0.25), decided([[1.0, 1.0]] * 3)]
SETS += [decided([[0.5, 1.0], [1.0, 0.5]])]


def paid(cost: Any) -> Round:
    """Return the round that plays a point, if none waits, and pays for it."""

    def play(it: Any) -> None:
        it.play()
        it.suffer(cost)

    return play


def labelled(*rounds: tuple[Any, Any]) -> list[Round]:
    return each("learn", *rounds)


LABELS = labelled((1, 1), ([0, 2], [1, 0]), (1, 1))
BAD_LABELS = faults(
    "learn",
    point=(7, 1),
    second=([1, 9], [1, 1]),
    label=(1, 2),
    labels=([0, 1], [1, NAN]),
    count=([0, 1], [1]),
    text=("x", 1),
    masked=([0, 1], np.ma.masked_array([0, 1], [True, False])),
)

AGREEING = classes.thresholds(3)
GAMES: dict[str, Case] = {
    "game": game(EUCLIDEAN, rates.Constant(0.5)),
    "game, adaptive": game(EUCLIDEAN, rates.Adaptive()),
    "game, coordinates": game(EUCLIDEAN, rates.PerCoordinate(0.5)),
    "game, entropy": game(mirrors.Entropy(), rates.Constant(0.5), gradient_limit=1.0),
    "game, agile": game(EUCLIDEAN, rates.Constant(0.5), domains.Ball(1.0), lazy=False),
    "game, curved": game(EUCLIDEAN, rates.StronglyConvex(0.5)),
    "game, restarts": game(mirrors.Ball(2.0), rates.Doubling(0.1)),
    "doubling": Case(lambda: oco.doubling(steady, 1.0), PLAYS * 2, BAD_PLAYS),
    "doubling, another kind": Case(
        lambda: oco.doubling(game_of), PLAYS[:2], {"kind": PLAYS[2], **BAD_PLAYS}, 2
    ),
    "leader": Case(lambda: oco.FollowTheLeader(2, domains.Ball(1.0)), FACED, BAD_FACED),
    "leader, regularized": Case(
        lambda: oco.FollowTheRegularizedLeader(2, EUCLIDEAN, 0.5), FACED, BAD_FACED
    ),
    "hedge": Case(lambda: experts.Hedge(3, 0.5), COSTS, BAD_COSTS),
    "hedge, anytime": Case(lambda: experts.Hedge(3, "anytime"), COSTS, BAD_COSTS),
    "hedge, adaptive": Case(
        lambda: experts.Hedge(3, "adaptive", low=0.0, high=1.0), COSTS, BAD_COSTS
    ),
    "shares": Case(lambda: experts.Shares(3, 0.5, 0.1), COSTS, BAD_COSTS),
    "shares, projection": Case(
        lambda: experts.Shares(3, 0.5, 0.1, "projection"), COSTS, BAD_COSTS
    ),
    "forecaster": Case(
        lambda: experts.Forecaster(2, losses.Squared()),
        each("learn", ([[0.0, 1.0]], [0.5]), ([[1.0, 0.5]] * 2, [1.0, 0.0]), ([[2, 1]], [1])),
        faults(
            "learn",
            nan=([[NAN, 1.0]], [0.5]),
            outcome=([[0.0, 1.0]], [math.inf]),
            length=([[0.0]], [1.0]),
            outcomes=([[0.0, 1.0]], [1.0, 2.0]),
            weight=([[0.0, 1.0]], [1.0], [-1.0]),
            overflow=([[0.0, 1.0], [1e200, 1.0]], [0.5, 1.0]),
        ),
    ),
    "probabilities": Case(
        lambda: experts.ProbabilityForecaster(2),
        each("learn", ([[0.0, 1.0]], [1.0]), ([[1.0, 0.5]] * 2, [1.0, -1.0]), ([[2, 1]], [1])),
        faults(
            "learn",
            nan=([[NAN, 1.0]], [1.0]),
            infinite=([[0.0, -math.inf]], [1.0]),
            outcome=([[0.0, 1.0]], [0.5]),
            length=([[0.0]], [1.0]),
            outcomes=([[0.0, 1.0]], [1.0, -1.0]),
            weight=([[0.0, 1.0]], [1.0], [-1.0]),
            overflow=([[0.0, 1.0], [-1e300, 1.0]], [1.0, 1.0], [1.0, 1e100]),
        ),
    ),
    "scores": Case(
        lambda: experts.ScoreForecaster(2),
        each("learn", ([[[0.0, 1.0], [2.0, 0.0]]], [1]), ([[[1.0, 0.5, 0.0], [0, 0, 3]]], [2])),
        faults(
            "learn",
            nan=([[[NAN, 1.0], [0.0, 0.0]]], [1]),
            weight=([[[0.0, 1.0], [0.0, 0.0]]], [1], [-1.0]),
            overflow=([[[0.0, 1.0], [-1e300, 1.0]]] * 2, [1, 0], [1.0, 1e100]),
        ),
    ),
    "specialists": Case(
        lambda: experts.Specialists(2, eta=0.5),
        each("suffer", ([0.0, 1.0], [True, True]), ([1.0, 0.5], [False, True])),
        faults(
            "suffer",
            asleep=([0.5, 0.5], [False, False]), outside=([0.5, 2.0], [True, True]),
            mask=([0.5, 0.5], [1, 1]),
            length=([0.5], [True]),
        ),
    ),
    "surrogate": Case(
        lambda: experts.SurrogateClassifier(2),
        labelled(([1, 0], 0), ([1, 0], 1), ([0, 1], 0)),
        faults("learn", label=([1, 0], 2), nan=([1, NAN], 1), value=([1, 2], 1), count=([1], 1)),
    ),
    "newton": Case(
        lambda: experts.NewtonStep(2),
        each("learn", (np.array([1.1, 0.9]),), (np.array([0.5, 1.0]),)),
        faults(
            "learn",
            nan=(np.array([NAN, 1.0]),),
            zero=(np.array([0.0, 0.0]),),
            negative=(np.array([-1.0, 1.0]),),
            length=(np.array([1.0, 1.0, 1.0]),),
            table=(np.ones((2, 2)),),
            huge=(np.array([HUGE, 1.0]),),
        ),
    ),
    "exp3": arms(lambda: bandits.Exp3(3, eta=0.1, seed=1)),
    "exp3, anytime": arms(lambda: bandits.Exp3(3, seed=1)),
    "exp3-ix": arms(lambda: bandits.Exp3IX(3, seed=1)),
    "tsallis": arms(lambda: bandits.TsallisINF(3, seed=1)),
    "contextual": Case(
        lambda: bandits.ContextualBandit(3, seed=1),
        [*CONTEXTS, calls("learn_logged", *LOGGED)],
        BAD_CONTEXTS | BAD_LOGGED,
        len(CONTEXTS),
    ),
    "contextual, overflow": Case(
        lambda: bandits.ContextualBandit(1, learner=steep(), seed=1),
        [decided([1e99, 0.0]), told(0, 0.5), decided([1e99, 0.0])],
        {"told": told(0, 0.5), "together": together}
        | {"logged": calls("learn_logged", [[1e99, 0.0]], [0], [0.5], [1.0])},
        3,
    ),
    "arm features": Case(
        lambda: bandits.ArmFeatureBandit(seed=1),
        [*SETS, calls("learn_logged", [[1.0, 0.0]], [0.5], [0.5])],
        BAD_CONTEXTS | {"empty": decided(np.ones((0, 2))), "rows": decided([[1.0, NAN]])}
        | {"logged": calls("learn_logged", [[1.0, 0.0]], [0.5], [2.0])},
        len(SETS),
    ),
    "gradient": Case(
        lambda: bandits.GradientBandit(2, domains.Ball(1), 0.1, 0.5, seed=1),
        [paid(0.5), paid(1.0), calls("play"), calls("suffer", 0.25), calls("play")],
        faults(
            "suffer", nan=(NAN,), text=("x",), pair=([1.0, 2.0],), huge=(1e308,), large=(1e200,)
        ),
    ),
    "gradient, two points": Case(
        lambda: bandits.GradientBandit(2, domains.Ball(1), 0.1, 0.5, 2, lipschitz=1.0, seed=1),
        [paid([0.5, 0.25]), calls("play"), calls("suffer", [0.25, 0.25]), calls("play")],
        faults("suffer", nan=([NAN, 1.0],), one=(1.0,), steep=([9.0, 0.0],)),
    ),
    "estimated": Case(
        lambda: bandits.EstimatedGame(oco.Game(2, mirrors.Entropy(), rates.Constant(0.5))),
        each("suffer", (1.0, [1.0, 0.0]), (0.5, [0.0, 2.0]), (1e308, [0.0, 1.0])),
        faults(
            "suffer",
            nan=(NAN, [1.0, 0.0]),
            length=(1.0, [1.0]),
            huge=(1.0, [HUGE, 0.0]),
        ),
    ),
    "estimated, sum": Case(
        lambda: bandits.EstimatedGame(oco.Game(2, mirrors.Entropy(), rates.Constant(0.5))),
        each("suffer", (1e308, [1.0, 0.0]), (0.5, [1.0, 0.0])),
        faults("suffer", sum=(1.5e308, [1.0, 0.0])),
        1,
    ),
    "consistent": Case(lambda: classes.Consistent(AGREEING), LABELS, BAD_LABELS),
    "halving": Case(lambda: classes.Halving(AGREEING), LABELS, BAD_LABELS),
    "soa": Case(lambda: classes.SOA(AGREEING), LABELS, BAD_LABELS),
    "halving, no hypothesis left": Case(
        lambda: classes.Halving(AGREEING),
        labelled((0, 1)),
        {"beyond": calls("learn", [1, 2, 1, 2], [0, 1, 0, 1])},
    ),
    "agnostic": Case(lambda: classes.Agnostic(AGREEING, horizon=4), LABELS, BAD_LABELS),
    "agnostic, beyond": Case(
        lambda: classes.Agnostic(AGREEING, horizon=2),
        labelled((0, 1), (1, 0)),
        {"beyond": calls("learn", [0, 1, 2], [1, 1, 1])},
    ),
    "follower": Case(
        lambda: classes.Expert(AGREEING, [1, 3]),
        each("next", (1,), (0,), (2,)),
        faults("next", point=(9,), text=("x",)),
    ),
    "elimination": Case(
        lambda: classes.Elimination(3, k=1),
        labelled(([[1, 1, 0]], [1]), ([[0, 1, 1], [1, 0, 0]], [0, 1])),
        faults(
            "learn",
            label=([[1, 1, 0], [1, 0, 0]], [1, 2]),
            point=([[1, 1, 0], [1, 2, 0]], [1, 1]),
            nan=([[1.0, NAN, 0.0]], [1]),
            width=([[1, 1]], [1]),
            count=([[1, 1, 0]], [1, 0]),
        ),
    ),
    "lists": Case(
        lambda: classes.Ranking(3, eta=0.5),
        each("learn", ([0, 1],), ([2],)),
        faults("learn", item=([0, 3],), below=([0, -1],), real=([0.5],), table=([[0, 1]],)),
    ),
    "majority": Case(
        classes.Majority, labelled((0, 1), (0, 0)), faults("learn", label=(0, 2), nan=(0, NAN))
    ),
    "hedged": Case(
        lambda: classes.Hedged(9), labelled((0, 1), (0, 0)), faults("learn", label=(0, 2))
    ),
    "adversary": Case(
        lambda: classes.Adversary(AGREEING),
        [calls("instance"), calls("answer", 1), calls("instance"), calls("answer", 0.25)],
        faults("answer", nan=(NAN,), beyond=(2.0,)),
        1,
    ),
    "bisection": Case(
        classes.Bisection, each("answer", (1,), (0.25,)), faults("answer", nan=(NAN,), beyond=(2,))
    ),
    "random labels": Case(
        lambda: classes.RandomLabels(classes.dyadic_tree(2), 2, seed=1),
        [calls("answer", 1), calls("answer", 0)],
        {"over": calls("answer", 1)},
        2,
    ),
}  # fmt: skip
