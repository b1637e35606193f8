"""Streams that every scenario is fed with, and the ways of feeding a learner."""

from __future__ import annotations

import tempfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

import noregret as nr
from tests.same_bits.observe import Content, asked, facts, plain

#: Name of each scenario, the function that plays it, and what it is given.
Scenarios = Iterator[tuple[Any, ...]]
LAYOUTS = ("dense64", "sparse32", "dense32", "sparse64")
ROWS, FEATURES, CLASSES = 15, 4, 3


def number(name: str) -> int:
    """Return the seed of a scenario, which other scenarios do not change."""
    return zlib.crc32(name.encode())


def stream(
    kind: str, seed: int, rows: int = ROWS, features: int = FEATURES
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows with zeros, labels of that kind and example weights.

    Features are multiples of 1/64, so that single precision holds them exactly.
    """
    random = np.random.default_rng([seed, 7])
    X = np.round(random.uniform(-1.5, 2.0, (rows, features)) * 64) / 64
    X[random.random(X.shape) < 0.3] = 0.0
    X[min(3, rows - 1)] = 0.0
    hidden = X @ np.linspace(0.7, -0.4, features)
    noise = random.normal(size=rows)
    weight = random.choice([1.0, 1.0, 0.5, 1.75, 0.0], rows)
    if kind == "sign":
        return X, np.where(hidden + 0.3 * noise > 0.1, 1.0, -1.0), weight
    if kind == "class":
        return X, (np.digitize(hidden + 0.3 * noise, [-0.3, 0.4]) % CLASSES).astype(float), weight
    return X, hidden + 0.2 * noise + 0.15, weight


def laid(X: np.ndarray, layout: str) -> Any:
    """Return the rows dense or sparse, in single or double precision."""
    values = X.astype(np.float32 if layout.endswith("32") else np.float64)
    return csr_array(values) if layout.startswith("sparse") else values


def resumed(learner: Any) -> Any:
    """Return the learner as it comes back from a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.nr"
        learner.save(path)
        return nr.load(path)


def learnt(
    make: Callable[[], Any], kind: str, name: str, compiled: int, layout: str | None = None
) -> Content:
    """Return all that is seen of a learner that is cut, saved, loaded and fed in every way.

    Interpreted, the parts of the stream come in different layouts; compiled, all in one, chosen by
    the name or given, because every layout is a kernel of its own.
    """
    seed = number(name)
    random = np.random.default_rng(seed)
    X, y, weight = stream(kind, seed % 5)
    layouts = [layout or LAYOUTS[seed % 4]] * 4 if compiled else list(random.permutation(LAYOUTS))
    first, second = sorted(random.choice(np.arange(2, ROWS - 3), 2, replace=False).tolist())
    learner = make()
    found: Content = {}
    weighted = seed % 3 > 0

    def learn(part: slice, layout: str) -> Any:
        given = (weight[part],) if weighted else ()
        return plain(asked(learner.learn, laid(X[part], layout), y[part], *given))

    found["first"] = learn(slice(0, first), layouts[0])
    found["at the cut"] = plain(asked(getattr, learner, "weights"))
    learner = resumed(learner)
    found["second"] = learn(slice(first, second), layouts[1])
    start = second
    if hasattr(learner, "learn_one") and "sparse64" in layouts:
        found["singly"] = []
        for row in range(start, start + 2):
            columns = np.flatnonzero(X[row]).astype(np.uint32)
            one = columns, X[row][columns]
            found["singly"].append(plain(asked(learner.predict_one, *one)))
            label = y[row] if kind != "class" else int(y[row])
            given = (*one, label, weight[row] if weighted else 1.0)
            found["singly"].append(plain(asked(learner.learn_one, *given)))
        start += 2
    found["third"] = learn(slice(start, ROWS), layouts[2])
    found["predicted"] = plain(asked(learner.predict, laid(X, layouts[3])))
    found |= facts(learner)
    again = resumed(learner)
    found["loaded"] = {"weights": plain(again.weights), "text": str(again.certificate())}
    return found
