"""All that an object knows, as a value that can be compared bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np

from noregret.classes import Littlestone
from noregret.component import Component
from noregret.learners.block_leader_engine import BlockLeaderEngine
from noregret.learners.dual_store import DualStore
from noregret.learners.matrix_engines import MatrixEngine
from noregret.learners.second_order_engine import SecondOrderEngine
from noregret.tracking import KernelDescent

#: What is no knowledge of learners and estimators: caches, spare room and work space.
ROOM = {"_weights", "_one", "_storage", "search", "work", "links", "_feeder", "_plans", "_planned"}
ROOM |= {"_sums", "_reader", "_rule", "_buffers", "_last", "_one_dense", "_codes", "_rules"}
ROOM |= {"_whole", "_whole_ahead", "_ahead", "_room"}
#: Whose turn it is to learn is no part of what was learnt, by whomever.
TURN = {"_learning_turn"}
#: Games keep all they know, also under names that learners have their caches under.
GAMES = tuple(f"noregret.{name}." for name in ("bandits", "classes", "experts", "oco"))


def difference(one: Any, other: Any, path: str = "") -> str:
    """Return where two frozen values differ first, '' if nowhere."""
    if isinstance(one, tuple) and isinstance(other, tuple) and len(one) == len(other):
        for k, (a, b) in enumerate(zip(one, other, strict=True)):
            found = difference(a, b, f"{path}/{one[0] if k and isinstance(one[0], str) else k}")
            if found:
                return found
        return ""
    return "" if one == other else f"{path}: {one!r} != {other!r}"


def known(own: dict[str, Any], room: set[str]) -> dict[str, Any]:
    """Return what an object knows, without its room."""
    return {name: value for name, value in own.items() if name not in room | TURN}


def frozen(thing: Any) -> Any:
    """Return all arrays and scalars that an object holds, arrays as their bytes."""
    if isinstance(thing, np.ndarray):
        if thing.dtype == object:
            return (thing.shape, tuple(map(frozen, thing.ravel().tolist())))
        return (str(thing.dtype), thing.shape, thing.tobytes())
    if isinstance(thing, float):
        return thing.hex()
    if isinstance(thing, Component) or isinstance(thing, type):
        return repr(thing)
    if isinstance(thing, DualStore):
        # The rows kept, wherever they lie in the ring.
        spans = thing.spans.reshape(-1, 2)[thing.oldest_first()].tolist()
        rows = [(thing.indices[a:b], thing.values[a:b]) for a, b in spans]
        names = ("state", "slots", "accounts")
        parts = [getattr(thing, name) for name in names] + [int(thing.ring[2])]
        return frozen([*parts, rows, thing.book[thing.oldest_first()]])
    if isinstance(thing, MatrixEngine | SecondOrderEngine | BlockLeaderEngine):
        # Records of features that are not known are room, and places of rows that are not held.
        own = dict(vars(thing)) | thing.arrays() | {"capacity": None, "held": None}
        return frozen(known(own, ROOM))
    if isinstance(thing, KernelDescent):
        own = dict(vars(thing))
        count = len(thing)
        own |= {"_points": thing.points, "_columns": thing._columns[:count]}
        own["_grams"] = thing._grams[:count, :count]
        own["width"] = thing._points.shape[1]
        return frozen(known(own, ROOM))
    if isinstance(thing, Littlestone):
        # Dimensions that were searched for are a cache: those of the table never change.
        return frozen([thing.hypotheses.table, thing.limit])
    if isinstance(thing, dict):
        return tuple((str(key), frozen(value)) for key, value in thing.items())
    if isinstance(thing, list | tuple):
        return tuple(map(frozen, thing))
    if isinstance(thing, np.random.Generator):
        return frozen(thing.bit_generator.state)
    if hasattr(thing, "__dict__") and not callable(thing):
        room = set() if type(thing).__module__.startswith(GAMES) else ROOM
        return (type(thing).__name__, frozen(known(vars(thing), room)))
    return repr(thing)
