"""Write a stream in the compact form: with bounded memory, and whole or not at all."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator
from typing import Any, Literal

import numpy as np

from noregret.files.replacing import replaced
from noregret.streams.arrow import arrow, arrow_errors
from noregret.streams.binary_file import MARK, VERSION, Facts
from noregret.streams.block import Block
from noregret.streams.errors import StreamError
from noregret.streams.names import FeatureNames, HashedNames
from noregret.streams.sparse import summed

#: Largest numbers of nonzeros and rows of a batch: little memory, yet much more than its header.
BATCH_NONZEROS = 1 << 20
BATCH_ROWS = 1 << 16
#: Offsets within a batch are numbers of 31 bits.
_MOST_NONZEROS = 2**31 - 1


def write_binary(
    stream: Iterable[Block],
    path: str | os.PathLike[str],
    *,
    dtype: Literal["float32", "float64"] | None = None,
) -> int:
    """Write the blocks of a stream as a file of the compact form; return how many rows.

    What is at `path` is replaced when all is written and on the disk, and stays as it is if
    anything goes wrong before that. Values keep the type of the first block unless `dtype`
    says otherwise.

    >>> import tempfile
    >>> from noregret.streams import read
    >>> block = Block(
    ...     indptr=np.array([0, 2, 3], np.uint64),
    ...     indices=np.array([0, 2, 1], np.uint32),
    ...     values=np.array([0.5, 2.0, 1.0]),
    ...     y=np.array([-1.0, 1.0]),
    ...     width=3,
    ... )
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rows = write_binary([block], folder + "/tiny.arrow", dtype="float32")
    ...     back = list(read(folder + "/tiny.arrow"))
    >>> rows, back[0].dense().tolist(), back[0].values.dtype
    (2, [[0.5, 0.0, 2.0], [0.0, 1.0, 0.0]], dtype('float32'))
    """
    if dtype not in (None, "float32", "float64"):
        raise StreamError(f"dtype={dtype!r}: expected 'float32' or 'float64'")
    where = os.fspath(path)
    try:
        with replaced(path) as temporary, arrow_errors(where):
            with arrow.OSFile(str(temporary.name), "wb") as sink:
                return _write(sink, stream, dtype, where)
    except OSError as error:
        raise StreamError(f"{where}: cannot be written: {error.strerror}") from error


def _write(sink: Any, stream: Iterable[Block], dtype: str | None, where: str) -> int:
    blocks = iter(stream)
    first = [*itertools.islice(blocks, 1)]
    kind = np.dtype(dtype or (first[0].values.dtype if first else np.float64))
    fields = [
        ("label", arrow.float64()),
        ("weight", arrow.float64()),
        ("indices", arrow.list_(arrow.uint32())),
        ("values", arrow.list_(arrow.from_numpy_dtype(kind))),
    ]
    schema = arrow.schema(fields, metadata={MARK: str(VERSION)})
    rows = width = 0
    weighted = False

    def seen() -> Iterator[Block]:
        nonlocal width, weighted
        for block in itertools.chain(first, blocks):
            width = max(width, block.width)
            weighted |= block.weight is not None
            yield block

    with arrow.ipc.new_file(sink, schema) as writer:
        for group in _grouped(seen()):
            writer.write_batch(_batch(schema, group, kind, rows, where))
            rows += sum(map(len, group))
        told = _description(stream, rows, max(width, getattr(stream, "width", 0)), weighted)
        writer.write_batch(_batch(schema, [], kind, rows, where), custom_metadata=told)
    return rows


def _grouped(stream: Iterable[Block]) -> Iterator[list[Block]]:
    """Yield lists of blocks that make a batch each."""
    held: list[Block] = []
    rows = nonzeros = 0
    for block in stream:
        for part in _parts(block):
            if held and (
                rows + len(part) > BATCH_ROWS or nonzeros + part.nonzeros > BATCH_NONZEROS
            ):
                yield held
                held, rows, nonzeros = [], 0, 0
            held.append(part)
            rows += len(part)
            nonzeros += part.nonzeros
    if held:
        yield held


def _parts(block: Block) -> Iterator[Block]:
    """Yield a block in parts that fit a batch, single rows of any length."""
    start = 0
    while start < len(block):
        goal = block.indptr[start] + np.uint64(BATCH_NONZEROS)
        stop = int(np.searchsorted(block.indptr, goal, side="right")) - 1
        stop = min(max(stop, start + 1), start + BATCH_ROWS, len(block))
        yield block.rows(start, stop)
        start = stop


def _batch(schema: Any, blocks: list[Block], kind: np.dtype[Any], before: int, where: str) -> Any:
    spans = [slice(int(block.indptr[0]), int(block.indptr[-1])) for block in blocks]
    offsets = summed(_joined([np.diff(block.indptr) for block in blocks], np.uint64))
    if int(offsets[-1]) > _MOST_NONZEROS:
        raise StreamError(f"{where}, row {before + 1}: more than {_MOST_NONZEROS} nonzeros")
    indices = _joined([b.indices[span] for b, span in zip(blocks, spans, strict=True)], np.uint32)
    exact = _joined([b.values[span] for b, span in zip(blocks, spans, strict=True)], None)
    with np.errstate(over="ignore"):
        values = exact.astype(kind, copy=False)
    if not np.isfinite(values).all():
        fault = int(np.flatnonzero(~np.isfinite(values))[0])
        row = before + int(np.searchsorted(offsets, fault, side="right"))
        raise StreamError(f"{where}, row {row}: found {exact[fault]}, expected a finite {kind}")
    ones = (np.ones(len(b)) if b.weight is None else b.weight for b in blocks)
    places = arrow.array(offsets.astype(np.int32))
    return arrow.record_batch(
        [
            arrow.array(_joined([block.y for block in blocks], np.float64)),
            arrow.array(_joined(list(ones), np.float64)),
            arrow.ListArray.from_arrays(places, arrow.array(indices)),
            arrow.ListArray.from_arrays(places, arrow.array(values)),
        ],
        schema=schema,
    )


def _joined(parts: list[Any], kind: Any) -> Any:
    return np.concatenate(parts) if parts else np.empty(0, kind or np.float64)


def _description(
    stream: Iterable[Block], rows: int, width: int, weighted: bool
) -> dict[bytes, bytes]:
    """Return the metadata of the last batch: the facts, and the names if there are any."""
    names = getattr(stream, "names", None)
    hashed = (names.bits, names.limit) if isinstance(names, HashedNames) else ()
    facts = Facts(rows, width, weighted, dict(getattr(stream, "label_map", {})), *hashed)
    arrays = names.arrays() if isinstance(names, FeatureNames | HashedNames) else {}
    return {MARK: facts.to_json()} | {key.encode(): one.tobytes() for key, one in arrays.items()}
