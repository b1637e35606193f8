"""Cases for the referee: finite classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from noregret import classes
from tests.printed.cases_linear import Random
from tests.printed.finite import Finite
from tests.printed.verdicts import Verdicts


def _table(random: Random) -> Any:
    """Return a class of a few hypotheses on a few points, all different."""
    points = int(random.choice([2, 3, 5]))
    rows = random.integers(2, size=(int(random.choice([2, 4, 7])), points))
    return np.unique(rows, axis=0)


def version_spaces(random: Random) -> Verdicts:
    """Judge SOA, Halving and Consistent, on labels of the class or any labels."""
    table = _table(random)
    kind = [classes.SOA, classes.Halving, classes.Consistent][int(random.integers(3))]
    learner: Any = kind(table)
    rounds = int(random.choice([1, 4, 10]))
    points = random.integers(table.shape[1], size=rounds).tolist()
    labels = [int(table[0][x]) for x in points]
    if random.random() < 0.3:
        labels[-1] = 1 - labels[-1]
    made = []
    kept = 0
    for x, y in zip(points, labels, strict=True):
        made += learner.learn([x], [y]).tolist()
        kept += 1
        if learner.space == 0:
            break
    certificate = learner.certificate()
    return Finite(
        str(certificate),
        certificate.as_dict(),
        made,
        labels[:kept],
        table=table,
        points=points[:kept],
    ).judge()


def agnostic(random: Random) -> Verdicts:
    """Judge the agnostic learner."""
    table = _table(random)
    rounds = int(random.choice([1, 4, 10]))
    options: dict[str, Any] = {"horizon": rounds}
    if random.random() < 0.4:
        options = {"flip": 0.1, "eta": 0.5}
    learner = classes.Agnostic(table, **options)
    points = random.integers(table.shape[1], size=rounds).tolist()
    labels = random.integers(2, size=rounds).tolist()
    made = learner.learn(points, labels).tolist()
    certificate = learner.certificate()
    return Finite(
        str(certificate), certificate.as_dict(), made, labels, table=table, points=points
    ).judge()


def elimination(random: Random) -> Verdicts:
    """Judge elimination on labels of a disjunction, at times with one wrong."""
    d, k = 5, int(random.choice([1, 2]))
    learner = classes.Elimination(d, k)
    true = random.permutation(d)[:k]
    points = (random.random((int(random.choice([1, 6, 12])), d)) < 0.4).astype(int)
    labels = points[:, true].any(axis=1).astype(int).tolist()
    made = learner.learn(points.tolist(), labels).tolist()
    certificate = learner.certificate()
    return Finite(
        str(certificate), certificate.as_dict(), made, labels, points=points.tolist(), k=k
    ).judge()


def ranking(random: Random) -> Verdicts:
    """Judge the ranking of items by their clicks."""
    items, rounds = int(random.choice([2, 3, 5])), int(random.choice([1, 5, 20]))
    options: dict[str, Any] = {"horizon": rounds} if random.random() < 0.6 else {"eta": 0.5}
    learner = classes.Ranking(items, **options)
    clicks = random.integers(items, size=rounds)
    made = learner.learn(clicks.tolist()).tolist()
    certificate = learner.certificate()
    return Finite(
        str(certificate), certificate.as_dict(), made, clicks, items=items, positions=True
    ).judge()


def adversary(random: Random) -> Verdicts:
    """Judge the demonstration of Cover's adversary."""
    rounds = int(random.choice([1, 5, 20]))
    learner = classes.Majority() if random.random() < 0.5 else classes.Hedged(rounds)
    found = classes.demonstrate(learner, rounds)
    return Finite(str(found), None, found.predictions, found.labels).judge()
