"""Batch problems: the best fixed predictor, with constraints, along paths, of several scores."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

import noregret as nr
from noregret import losses, mirrors
from tests.same_bits.descent import LOSSES, MIRRORS
from tests.same_bits.examples import LAYOUTS, Scenarios, laid, number, stream
from tests.same_bits.matrices import LOSSES as SCORES
from tests.same_bits.names import PAIRS
from tests.same_bits.observe import Content, asked, plain

#: Ways to keep the predictor finite.
FORMS: dict[str, dict[str, Any]] = {
    "l2": {"l2": 0.5},
    "radius": {"radius": 0.7},
    "l2 in a ball": {"l2": 0.2, "radius": 0.6},
    "l2, bias": {"l2": 0.5, "bias": True},
    "fraction": {"l2": 0.5, "fraction": 0.6},
    **{f"map {mirror}": {"mirror": mirror, "strength": 0.4} for mirror in MIRRORS},
    **{f"map {m}, bias": {"mirror": m, "strength": 0.4, "bias": True} for m in MIRRORS},
}
ROWS, PASSES = 8, 15


def _solved(loss: Any, form: dict[str, Any], name: str) -> Content:
    """Return a solution reached in two steps, and the steps."""
    seed = number(name)
    X, y, weight = stream(loss.labels, seed % 5, ROWS)
    rows = laid(X, LAYOUTS[seed % 4])
    offset = np.round(np.random.default_rng(seed).normal(size=ROWS) * 8) / 64
    more: dict[str, Any] = dict(form)
    if seed % 3:
        more["weight"] = weight
    if seed % 5 == 0 and loss.labels != "class":
        more["offset"] = offset
    more["max_passes"] = PASSES
    rough = asked(nr.hindsight, rows, y, loss, tol=1e-2, **more)
    again = asked(nr.hindsight, rows, y, loss, tol=1e-7, warm_start=rough, seed=1, **more)
    return {"rough": plain(rough), "fine": plain(again)}


def _constrained(loss: Any, radius: float | None, name: str) -> Content:
    X, y, weight = stream(loss.labels, number(name) % 5, ROWS)
    A = np.array([[1.0, 1.0, 0.0, 0.0], [0.0, -1.0, 1.0, 0.5]])
    rows = laid(X, LAYOUTS[number(name) % 4])
    options = {"weight": weight, "tol": 1e-4, "max_passes": PASSES}
    found = asked(nr.hindsight_constrained, rows, y, loss, A, [0.2, 0.1], 0.5, radius, **options)
    return {"solution": plain(found)}


def _path(loss: Any, mirror: Any, bias: bool, name: str) -> Content:
    X, y, weight = stream(loss.labels, number(name) % 5, ROWS)
    rows = laid(X, LAYOUTS[number(name) % 4])
    strengths = [4.0, 1.0, 0.3]
    steps = nr.regularization_path(
        rows, y, loss, strengths, mirror, weight, tol=1e-4, max_passes=PASSES, bias=bias
    )
    return {str(strength): plain(asked(next, steps)) for strength in strengths}


def scenarios(compiled: int) -> Scenarios:
    """Yield every loss in every form."""
    seen: set[Any] = set()
    for loss, form in itertools.product(LOSSES, FORMS):
        name = f"{loss} {form}"
        # Compiled, every loss with a penalty, every form with one loss.
        kinds = {form, loss} if compiled < PAIRS else {(form, loss)}
        if not compiled or not kinds <= seen:
            seen |= kinds
            given = FORMS[form]
            yield name, _solved, loss, given, name
    for loss, form in itertools.product(SCORES, ("l2", "radius", f"map {MIRRORS[3]}")):
        name = f"scores {loss} {form}"
        if not compiled or form == "l2":
            yield name, _solved, loss, FORMS[form], name
    few = (losses.Hinge(), losses.Squared()) if compiled else LOSSES
    for loss, radius in itertools.product(few, (None, 0.8)):
        name = f"constrained {loss} {radius}"
        yield name, _constrained, loss, radius, name
    maps = (None, mirrors.SignedEntropy(1.5)) if compiled else (None, *MIRRORS)
    for loss, mirror, bias in itertools.product(few, maps, (False, True)):
        name = f"strengths {loss} {mirror}{', bias' * bias}"
        yield name, _path, loss, mirror, bias, name
