"""Dual ascent: updates, schedules, losses and maps."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import noregret as nr
from noregret import losses, mirrors
from tests.same_bits.descent import LOSSES, MIRRORS
from tests.same_bits.examples import FEATURES, Scenarios, laid, learnt, number, stream
from tests.same_bits.names import PAIRS
from tests.same_bits.observe import Content, asked, facts, plain

UPDATES: dict[str, dict[str, Any]] = {
    "conservative": {"update": "conservative"},
    "aggressive": {"update": "aggressive", "row_limit": 3.0},
    "aggressive, unit rows": {"update": "aggressive"},
    "exact": {"update": "exact"},
    "exact, memory": {"update": "exact", "memory": 3},
    "exact, fraction": {"update": "exact", "fraction": 0.5},
    "window 2": {"update": "window", "k": 2},
    "window 4": {"update": "window", "k": 4, "sweeps": 30},
    "last": {"update": "mini", "k": 4},
    "random": {"update": "mini", "k": 4, "schedule": "random", "memory": 7, "seed": 3},
    "oldest": {"update": "mini", "k": 4, "schedule": "oldest", "memory": 7},
    "support": {"update": "mini", "schedule": "support", "memory": 5},
    "leader": {"update": "leader", "sweeps": 20},
}


def _offset(make: Callable[[], Any], loss: Any, name: str) -> Content:
    """Return a learner that is given offsets, and margins where there are such."""
    X, y, weight = stream(loss.labels, number(name) % 5)
    random = np.random.default_rng(number(name))
    offset = np.round(random.normal(size=len(y)) * 8) / 64
    margin = np.round(random.uniform(0.2, 1.2, len(y)), 2)
    given = {"margin": margin} if isinstance(loss, losses.Hinge) else {}
    learner = make()
    found: Content = {}
    found["first"] = plain(asked(learner.learn, X[:7], y[:7], weight[:7], offset[:7]))
    given = {key: value[7:] for key, value in given.items()}
    rest = laid(X[7:], "sparse64"), y[7:], None, offset[7:]
    found["second"] = plain(asked(learner.learn, *rest, **given))
    found["predicted"] = plain(asked(learner.predict, X, offset))
    return found | facts(learner)


def scenarios(compiled: int) -> Scenarios:
    """Yield every update with every loss and map that it takes, and the refusals."""
    refused: dict[str, str] = {}
    seen: set[Any] = set()
    for update, loss, mirror in itertools.product(UPDATES, LOSSES, MIRRORS):
        name = f"{update} {loss} {mirror}"
        options = UPDATES[update]
        make = partial(nr.DualAscent, loss, mirror, 0.7, dimension=FEATURES, **options)
        found = asked(make)
        if isinstance(found, str):
            refused[name] = found
            continue
        # Compiled, every update with a plain map and with another, every loss and every map; or all
        # pairs of them.
        kinds = {(update, isinstance(mirror, mirrors.Euclidean)), type(loss), type(mirror)}
        if compiled == PAIRS:
            kinds = {(update, type(loss)), (update, type(mirror)), (type(loss), type(mirror))}
        if compiled and kinds <= seen:
            continue
        seen |= kinds
        yield name, learnt, make, loss.labels, name, compiled
        plain_hinge = loss == LOSSES[0] and isinstance(mirror, mirrors.Euclidean)
        if plain_hinge if compiled else mirror in (MIRRORS[0], MIRRORS[3]):
            yield f"{name}, offsets", _offset, make, loss, name
    yield "refused", refused.copy
