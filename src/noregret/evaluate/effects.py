"""How far each feature moves a prediction: its weight times its size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from noregret.arrays import Vector

#: What the numbers of `effects` are, in words.
SIZED, RAW = "weight × largest |x| of the feature", "weight, in the feature's own unit"


def effects(learner: Any, sizes: Any = None) -> tuple[Vector, str]:
    """Return weight times size for every feature, and in words what the numbers are.

    The size is the largest |x_i| seen, which learners with a `ScaleFree`, `CoinBetting` or
    second-order rate keep. Where no size is known the weights are returned as they are.

    Args:
        learner: a learner with `weights`, a vector, or a matrix with a column a class.
        sizes: the size of each feature, >= 0 [default: the learner's own].

    >>> import noregret as nr
    >>> learner = nr.MirrorDescent(
    ...     nr.losses.Logistic(), nr.mirrors.Euclidean(), nr.rates.ScaleFree())
    >>> _ = learner.learn([[1.9e6, 0.0], [0.0, 0.5]], [1, -1])
    >>> values, unit = effects(learner)
    >>> bool(np.allclose(values, learner.weights * [1.9e6, 0.5])), unit
    (True, 'weight × largest |x| of the feature')
    """
    weights = np.asarray(learner.weights, np.float64)
    known = getattr(learner, "sizes", None) if sizes is None else np.asarray(sizes, np.float64)
    if known is None:
        return weights, RAW
    if sizes is not None and known.shape != (len(weights),):
        raise ValueError(f"sizes has shape {known.shape}, expected ({len(weights)},)")
    return weights * (known[:, None] if known.ndim < weights.ndim else known), SIZED


def sizes_of(rows: Any) -> Vector:
    """Return the largest |x_i| of every feature of sparse rows, such as a block.

    >>> import noregret as nr
    >>> (block,) = nr.read([({"a": 1.0, "b": -3.0}, 1), ({"a": 2.0}, 1)])
    >>> sizes_of(block).tolist()
    [2.0, 3.0]
    """
    sizes: Vector = np.zeros(rows.width)
    part = slice(int(rows.indptr[0]), int(rows.indptr[-1]))
    np.maximum.at(sizes, rows.indices[part], np.abs(rows.values[part]))
    return sizes


def largest(values: Vector, count: int) -> npt.NDArray[np.intp]:
    """Return the places of the largest values by size, the largest first, without zeros.

    >>> largest(np.array([0.0, -3.0, 2.0]), 5).tolist()
    [1, 2]
    """
    count = min(count, len(values))
    if count <= 0:
        return np.zeros(0, np.intp)
    size = np.abs(values)
    # Partitioned first: sorting millions of weights for twenty of them would take seconds.
    chosen = np.argpartition(-size, count - 1)[:count]
    chosen = chosen[np.lexsort((chosen, -size[chosen]))]
    return np.asarray(chosen[values[chosen] != 0.0], np.intp)


def top_effects(
    values: Vector,
    count: int,
    names: Sequence[str] | Callable[[int], str] | None = None,
    classes: Sequence[str] | None = None,
) -> list[tuple[str, float]]:
    """Return name and value of the largest effects by size, the largest first, without zeros.

    Args:
        values: an effect a feature, or a row of them with one a class.
        count: how many, at least 1.
        names: of the features, or a function of a column [default: "feature 0", ...].
        classes: names of the classes [default: numbers].

    >>> top_effects(np.array([[1.0, -2.0], [0.0, 0.5]]), 2, ["a", "b"], ["x", "y"])
    [('a → y', -2.0), ('a → x', 1.0)]
    """
    if count < 1:
        raise ValueError(f"top must be at least 1, got {count}")
    if names is not None and not callable(names) and len(names) < len(values):
        raise ValueError(f"names has {len(names)} entries, expected {len(values)}")

    def name(column: int) -> str:
        if names is None:
            return f"feature {column}"
        return names(column) if callable(names) else str(names[column])

    flat = values.ravel()
    outputs = 1 if values.ndim == 1 else values.shape[1]
    told = list(map(str, range(outputs))) if classes is None else list(classes)
    shown = []
    for place in largest(flat, count).tolist():
        feature, output = divmod(place, outputs)
        ending = "" if values.ndim == 1 else f" → {told[output]}"
        shown.append((f"{name(feature)}{ending}", float(flat[place])))
    return shown
