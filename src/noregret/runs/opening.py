"""The stream of a model's input, read as before; and streams in memory at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from noregret.arguments import ArgumentError
from noregret.runs.progress import Watched
from noregret.runs.record import MEMORY, STANDARD_INPUT, Record
from noregret.streams import Block, Reading, Resolved, Stream, resolve
from noregret.streams.inputs import find
from noregret.streams.names import FeatureNames, HashedNames
from noregret.vocabulary.learners import Learner

#: The value of a feature that every example has.
INTERCEPT = 1.0
#: What a new model keeps about its reading even if nobody names it.
DEFAULTS = {"constant": INTERCEPT, "missing": "indicator"}
_KINDS = {"numbered": "numbers", "named": "names", "hashed": "hashed names"}


def open_stream(
    inputs: Any,
    labels: Any,
    said: Mapping[str, Any],
    kept: Mapping[str, Any] | None = None,
    width: int = 0,
    **more: Any,
) -> Stream:
    """Return the stream of some inputs.

    Args:
        inputs: what `nr.read` takes.
        labels: the rule for labels.
        said: fields of `Reading` that the caller names; one that the format does not know is an
            error.
        kept: fields that the model keeps, which count where the caller says nothing and as far
            as the format knows them.
        width: the number of columns of every block, which some maps need.
        more: further fields that count as far as the format knows them; `names` and `grow`, the
            dictionary of names and whether it may grow, where features have names.
    """
    found = resolve(inputs, said.get("format", (kept or {}).get("format")))
    reading = stream_reading(found, labels, said, kept, width, **more)
    dictionary = [more[name] for name in ("names", "grow") if found.named and name in more]
    stream = found.open(reading, *dictionary)
    if width and "width" not in found.fields:
        # A dictionary fills up by and by, and its blocks are to be as wide as it may become.
        stream._given_width = max(stream._given_width, width)
    return stream


def stream_reading(
    found: Resolved,
    labels: Any,
    said: Mapping[str, Any],
    kept: Mapping[str, Any] | None = None,
    width: int = 0,
    **more: Any,
) -> Reading:
    """Return how inputs of a known format are read; the arguments are those of `open_stream`."""
    known = found.fields
    silent = {"constant": INTERCEPT, **(kept or {}), **more}
    options = {name: value for name, value in silent.items() if name in known}
    options |= {**said, "labels": labels}
    if width and "width" in known:
        options["width"] = width
    reading = Reading(**options)
    found.refuse_unknown(said, reading)
    return reading


def open_again(
    inputs: Any, learner: Learner, record: Record, said: Mapping[str, Any], grow: bool
) -> Stream:
    """Return the stream of inputs whose columns are those of a model.

    Names of features that are new get a column if it may `grow`; otherwise they are left out,
    and rows need no label.
    """
    width = learner.dimension if record.spec.needs_width else 0
    kept = record.reading
    if not isinstance(_first(inputs), str | bytes) and not hasattr(_first(inputs), "__fspath__"):
        kept = {name: value for name, value in kept.items() if name != "format"}
    stream = open_stream(inputs, record.rule(), said, kept, width, **record.known(grow))
    require_same_columns(learner, record, stream)
    return stream


def require_same_columns(learner: Learner, record: Record, stream: Stream) -> None:
    """Refuse a stream whose features cannot be those of the model."""
    found = (
        "named"
        if isinstance(stream.names, FeatureNames)
        else "hashed" if isinstance(stream.names, HashedNames) else "numbered"
    )  # fmt: skip
    known = (
        "numbered" if not record.names else "hashed" if "name_slots" in record.names else "named"
    )
    if found != known:
        raise ValueError(
            f"{stream.name}: its features have {_KINDS[found]}, and those of the model "
            f"{_KINDS[known]}: they do not go together"
        )
    if isinstance(stream.names, FeatureNames) and not _agree(record.names, stream.names.arrays()):
        raise ValueError(
            f"{stream.name}: its columns were settled in another order than those of the model"
        )
    # Not the width of the stream, which some formats know only when they have read a row.
    if isinstance(stream.names, HashedNames) and 1 << stream.names.bits != learner.dimension:
        raise ArgumentError(
            "bits",
            f"the features of {stream.name} are hashed into {1 << stream.names.bits:,} slots, and "
            f"those of the model into {learner.dimension:,}: expected "
            f"{learner.dimension.bit_length() - 1}",
            stream.names.bits,
        )


def _agree(one: Mapping[str, npt.NDArray[Any]], other: Mapping[str, npt.NDArray[Any]]) -> bool:
    """Tell whether two dictionaries name the columns that both have alike."""
    shared = min(len(one["name_offsets"]), len(other["name_offsets"]))
    offsets = one["name_offsets"][:shared]
    used = int(offsets[-1])
    return bool(
        (offsets == other["name_offsets"][:shared]).all()
        and (one["name_text"][:used] == other["name_text"][:used]).all()
    )


def _first(inputs: Any) -> Any:
    """Return the first of several paths, or the inputs themselves."""
    return inputs[0] if isinstance(inputs, list | tuple) and inputs else inputs


def found(inputs: Any) -> list[str]:
    """Return the names of the files, patterns expanded, or one name for objects in memory."""
    if not isinstance(_first(inputs), str) and not hasattr(_first(inputs), "__fspath__"):
        return [MEMORY]
    return [STANDARD_INPUT if one.standard else one.name for one in find(inputs)]


def rows_without_labels(inputs: Any) -> Any:
    """Return inputs for `nr.read`: dictionaries become pairs without a label."""
    if isinstance(inputs, Mapping):
        inputs = [inputs]
    if isinstance(inputs, list | tuple) and inputs and isinstance(inputs[0], Mapping):
        return [(row, None) for row in inputs]
    return inputs


def whole(stream: Stream) -> Block:
    """Return all rows of a stream as one block."""
    return joined(Watched(stream))


def margins(block: Block, weights: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return <w, x> for every row; features without a weight count nothing."""
    first, last = int(block.indptr[0]), int(block.indptr[-1])
    columns, values = block.indices[first:last], block.values[first:last]
    known = np.pad(weights, (0, max(0, block.width - len(weights))))
    of_row = np.repeat(np.arange(len(block)), np.diff(block.indptr).astype(np.intp))
    totals = np.bincount(of_row, values * known[columns], len(block))
    return np.asarray(totals, np.float64)


def joined(blocks: Iterable[Block]) -> Block:
    """Return the rows of several blocks, one after the other."""
    # Import here: opening a stream should not wait for the compiler.
    from noregret.streams.sparse import joined_rows

    parts = list(blocks)
    rows, y, weight = joined_rows(parts)
    weighted = any(part.weight is not None for part in parts)
    return Block(*rows, y, max(part.width for part in parts), weight if weighted else None)
