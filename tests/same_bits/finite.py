"""Finite hypothesis classes: learners, dimensions, trees, adversaries and demonstrations."""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any

import numpy as np

from noregret import classes
from tests.same_bits.examples import Scenarios, number, resumed
from tests.same_bits.observe import Content, asked, facts, plain

TABLES: dict[str, Any] = {
    "thresholds": classes.thresholds(5),
    "intervals": classes.intervals(4),
    "singletons": classes.singletons(4),
    "parities": classes.parities(3),
    "all functions": classes.all_functions(3),
    "disjunctions": classes.disjunctions(3, 1, 2),
    "lopsided": classes.lopsided(3),
    "half-planes": classes.half_planes([[0, 0], [2, 0], [0, 2], [2, 2], [1, 3]]),
    "table": classes.FiniteClass([[0, 1, 1, 0], [1, 1, 0, 0], [0, 0, 0, 1], [1, 0, 1, 0]]),
}
#: Tables of hypotheses, a row each, that give the labels themselves.
ROWS = {
    f"random {seed}": np.unique(np.random.default_rng(seed).integers(2, size=(9, 5)), axis=0)
    for seed in range(3)
}


def _labelled(make: Any, points: int, target: np.ndarray | None, name: str) -> Content:
    """Return a learner of labels of a hypothesis, or of random ones."""
    random = np.random.default_rng(number(name))
    learner = make()
    found: Content = {}
    for t, x in enumerate(random.integers(0, points, 12).tolist()):
        y = int(random.integers(2) if target is None else target[x])
        found[f"round {t}"] = [
            plain(asked(learner.predict, x)),
            plain(asked(learner.learn, [x], [y])),
        ]
        if t == 5:
            learner = resumed(learner)
    return found | facts(learner)


def _searched(hypotheses: Any, limit: int) -> Any:
    return classes.Littlestone(hypotheses, limit).tree()


def _dimensions(hypotheses: Any) -> Content:
    tree = classes.Littlestone(hypotheses)
    found: Content = {
        "littlestone": asked(classes.littlestone_dimension, hypotheses),
        "vc": asked(classes.vc_dimension, hypotheses),
        "shattered": plain(asked(classes.largest_shattered_set, hypotheses)),
        "tree": plain(asked(tree.tree)),
        "split": plain(asked(tree.split)),
        "limit": plain(asked(_searched, hypotheses, 1)),
        "size": [hypotheses.size, hypotheses.points],
    }
    for kind in (classes.SOA, classes.Halving, classes.Consistent):
        found[kind.__name__] = asked(classes.worst_mistakes, kind(hypotheses))
    shattered = tree.tree()
    found["witnesses"] = plain(asked(shattered.witnesses, hypotheses))
    found["is shattered"] = plain(asked(shattered.is_shattered_by, hypotheses))
    return found


def _against(kind: Any, hypotheses: Any) -> Content:
    adversary = classes.Adversary(hypotheses)
    transcript = asked(classes.play, kind(hypotheses), adversary, 4)
    return {"transcript": plain(transcript), "target": plain(asked(getattr, adversary, "target"))}


def _eliminated(k: int, true: bool) -> Content:
    random = np.random.default_rng(k)
    points = (random.random((10, 5)) < 0.4).astype(int)
    labels = points[:, :k].any(axis=1).astype(int)
    if not true:
        labels[4] = 1 - labels[4]
    learner = classes.Elimination(5, k)
    first = plain(asked(learner.learn, points[:5].tolist(), labels[:5].tolist()))
    learner = resumed(learner)
    second = plain(asked(learner.learn, points[5:].tolist(), labels[5:].tolist()))
    return {"first": first, "second": second} | facts(learner)


def _clicked(options: dict[str, Any]) -> Content:
    clicks = np.random.default_rng(2).integers(0, 4, 16).tolist()
    learner = classes.Ranking(4, **options)
    found: Content = {"first": plain(asked(learner.learn, clicks[:7]))}
    learner = resumed(learner)
    found["second"] = plain(asked(learner.learn, clicks[7:]))
    found["positions"] = plain(asked(learner.positions))
    found["drawn"] = plain(asked(learner.draw, 4))
    return found | facts(learner)


def scenarios(compiled: int) -> Scenarios:
    """Yield learners of every class, and everything that is found about classes."""
    kinds = (classes.SOA, classes.Halving, classes.Consistent)
    for (name, hypotheses), kind in itertools.product(TABLES.items(), kinds):
        words = f"{kind.__name__} {name}"
        yield words, _labelled, partial(kind, hypotheses), hypotheses.points, None, words
        yield f"adversary {kind.__name__} {name}", _against, kind, hypotheses
    for (name, rows), kind in itertools.product(ROWS.items(), kinds):
        for target in rows:
            words = f"{kind.__name__} {name} {target}"
            yield words, _labelled, partial(kind, rows), rows.shape[1], target, words
    agnostic: tuple[dict[str, Any], ...] = ({"horizon": 12}, {"flip": 0.1, "eta": 0.5})
    for name, options in itertools.product(("thresholds", "table", "singletons"), agnostic):
        words = f"agnostic {name} {options}"
        make = partial(classes.Agnostic, TABLES[name], **options)
        yield words, _labelled, make, TABLES[name].points, None, words
    for name, hypotheses in TABLES.items():
        yield f"dimensions {name}", _dimensions, hypotheses
    for k, true in itertools.product((1, 2), (True, False)):
        yield f"elimination {k} {true}", _eliminated, k, true
    for given in ({"horizon": 16}, {"eta": 0.5}, {}):
        yield f"ranking {given}", _clicked, given
    for rounds in (1, 5, 20):
        yield f"majority {rounds}", lambda n=rounds: classes.demonstrate(classes.Majority(), n)
        yield f"hedged {rounds}", lambda n=rounds: classes.demonstrate(classes.Hedged(n), n)
        yield (
            f"bisection {rounds}",
            lambda n=rounds: classes.play(classes.Hedged(n), classes.Bisection(), n),
        )
        yield (
            f"random labels {rounds}",
            lambda n=rounds: classes.play(
                classes.Hedged(n), classes.RandomLabels(classes.dyadic_tree(3), n, 2), n
            ),
        )
        yield f"mean distance {rounds}", classes.mean_distance, rounds
    yield "follower", lambda: [classes.Expert(TABLES["table"], [1, 3]).next(x) for x in (1, 0, 2)]
    yield "tree of set", classes.tree_of_set, (0, 2, 1)
