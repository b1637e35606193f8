"""svmlight / LIBSVM text: `label index:value index:value ...`, one example a line.

The rules, since the format has no standard:
- an optional `qid:n` after the label is skipped; `#` starts a comment; blank lines are skipped;
- indices count from 1 (`first_index=0` for files that count from 0; index 0 is refused
  otherwise, since shifting only some files silently would mix up their features);
- indices ascend strictly within a line, values and labels are finite.
"""

from __future__ import annotations

import gzip
import lzma
import math
import os
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Literal, NoReturn, TypeAlias, cast

import numpy as np

from noregret.streams.block import Block

Labels: TypeAlias = Literal["real", "binary"] | tuple[float, float]
"""How labels are read: as written, mapped to -1/+1, or mapped from a given pair."""

_CONVENTIONS = ((-1.0, 1.0), (0.0, 1.0), (1.0, 2.0))
_LARGEST_COLUMN = 2**32 - 1
_DAMAGED = (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error)
_TOKEN = re.compile(rb"\S+")


class StreamError(ValueError):
    """A stream that cannot be read: one line that says where, what was found and expected."""


class _Malformed(Exception):
    """A line that breaks the rules, before its place in the file is known."""

    def __init__(self, column: int, text: bytes, expected: str):
        shown = text.decode("utf-8", "backslashreplace")
        shown = shown if len(shown) <= 40 else shown[:37] + "..."
        super().__init__(f"column {column + 1}: found {shown!r}, expected {expected}")


@dataclass
class Stream:
    """Blocks of a svmlight file; iterate over it as often as you like."""

    path: Path
    labels: Labels
    rows: int
    first_index: int
    width: int
    label_map: dict[float, float] = field(default_factory=dict, init=False)
    """The labels met so far and what they were mapped to; empty for real labels."""
    bytes_read: int = field(default=0, init=False)
    """How much of the file, as it lies on the disk, has been consumed."""

    def __post_init__(self) -> None:
        """Refuse arguments that make no stream."""
        if self.labels not in ("real", "binary"):
            pair = self.labels
            if not (isinstance(pair, tuple) and len(pair) == 2 and pair[0] != pair[1]):
                raise StreamError(
                    f'labels={pair!r}: expected "real", "binary" or a pair (negative, positive)'
                )
        if self.rows < 1:
            raise StreamError(f"rows={self.rows}: a block holds at least one row")
        if self.first_index not in (0, 1):
            raise StreamError(f"first_index={self.first_index}: expected 0 or 1")

    def __iter__(self) -> Iterator[Block]:
        self.label_map.clear()
        self.bytes_read = 0
        conventions = () if self.labels == "real" else _conventions(self.labels)
        known_width = self.width
        number = 0
        pending: list[tuple[int, bytes]] = []
        with self.path.open("rb") as raw, _uncompressed(raw, self.path) as lines:
            while True:
                try:
                    line = lines.readline()
                except _DAMAGED as error:
                    raise StreamError(
                        f"{self.path}, after line {number}: the compressed file is damaged or "
                        f"cut short ({error})"
                    ) from error
                number += 1
                if line:
                    if line.partition(b"#")[0].strip():
                        pending.append((number, line))
                    if len(pending) < self.rows:
                        continue
                if pending:
                    self.bytes_read = raw.tell()
                    block = self._block(pending, known_width)
                    known_width = block.width
                    if conventions:
                        conventions = self._map_labels(block, conventions, pending)
                    pending = []
                    yield block
                if not line:
                    return

    def _block(self, lines: list[tuple[int, bytes]], known_width: int) -> Block:
        lengths = np.zeros(len(lines) + 1, np.uint64)
        y = np.empty(len(lines))
        columns: list[int] = []
        values: list[float] = []
        for row, (number, line) in enumerate(lines):
            try:
                y[row], row_columns, row_values = parse_line(line, self.first_index)
            except _Malformed as error:
                raise StreamError(f"{self.path}, line {number}, {error}") from None
            if self.width and row_columns and row_columns[-1] >= self.width:
                index = row_columns[-1] + self.first_index
                raise StreamError(
                    f"{self.path}, line {number}: found index {index}, expected at most "
                    f"{self.width - 1 + self.first_index} since the width was given as {self.width}"
                )
            columns += row_columns
            values += row_values
            lengths[row + 1] = len(row_columns)
        indices = np.array(columns, np.uint32)
        widest = int(indices.max()) + 1 if columns else 0
        return Block(
            indptr=np.cumsum(lengths, dtype=np.uint64),
            indices=indices,
            values=np.array(values, np.float64),
            y=y,
            width=max(known_width, widest),
        )

    def _map_labels(
        self,
        block: Block,
        conventions: tuple[tuple[float, float], ...],
        lines: list[tuple[int, bytes]],
    ) -> tuple[tuple[float, float], ...]:
        """Map a block's labels in place; return the conventions that still fit the stream."""
        present = {float(label) for label in np.unique(block.y)}
        fitting = tuple(pair for pair in conventions if present <= set(pair))
        if not fitting:
            self._refuse_labels(block, conventions, lines)
        if not self.label_map and len(fitting) > 1 and present == {1.0}:
            # A first block of ones only: +1 under two of the three conventions. Should a 2
            # follow, it contradicts this and is refused.
            fitting = tuple(pair for pair in fitting if pair[1] == 1.0)
        negative = {pair[0] for pair in fitting}
        for label in sorted(present):
            self.label_map[label] = -1.0 if label in negative else 1.0
        block.y[:] = np.where(np.isin(block.y, list(negative)), -1.0, 1.0)
        return fitting

    def _refuse_labels(
        self,
        block: Block,
        conventions: tuple[tuple[float, float], ...],
        lines: list[tuple[int, bytes]],
    ) -> NoReturn:
        """Blame the first label that fits no convention, or that contradicts those before."""
        seen = set(self.label_map)
        row = 0
        while any(seen | {float(block.y[row])} <= set(pair) for pair in conventions):
            seen.add(float(block.y[row]))
            row += 1
        number, line = lines[row]
        found = line.split()[0].decode("utf-8", "backslashreplace")
        allowed = " or ".join(f"{a:g}/{b:g}" for a, b in conventions)
        before = ", ".join(f"{a:g} as {b:+g}" for a, b in self.label_map.items())
        since = f", since those before it were read {before}" if before else ""
        raise StreamError(
            f"{self.path}, line {number}: found label {found!r}, expected {allowed}{since}; "
            "name the pair (negative, positive) if it is another"
        )


def _conventions(labels: Labels) -> tuple[tuple[float, float], ...]:
    if labels == "binary":
        return _CONVENTIONS
    negative, positive = cast(tuple[float, float], labels)
    return ((float(negative), float(positive)),)


def _uncompressed(raw: IO[bytes], path: Path) -> IO[bytes]:
    match path.suffix.lower():
        case ".gz":
            return cast(IO[bytes], gzip.GzipFile(fileobj=raw))
        case ".xz":
            return cast(IO[bytes], lzma.LZMAFile(raw))
        case _:
            return raw


def parse_line(line: bytes, first_index: int = 1) -> tuple[float, list[int], list[float]]:
    """Return label, columns counted from 0, and values of one line that is not blank.

    >>> parse_line(b"+1 qid:7 1:0.5 4:-2  # a comment")
    (1.0, [0, 3], [0.5, -2.0])
    """
    body = line.partition(b"#")[0]
    tokens = body.split()
    skipped = 2 if len(tokens) > 1 and tokens[1].startswith(b"qid:") else 1
    try:
        label = float(tokens[0])
        pairs = [token.split(b":") for token in tokens[skipped:]]
        columns = [int(index) - first_index for index, _ in pairs]
        values = [float(value) for _, value in pairs]
    except ValueError:
        _find_fault(body, first_index)
        raise
    # Python reads 1_000 as a number, the format does not; the rest is cheap enough to always do.
    ascending = all(map(int.__lt__, columns, columns[1:]))
    in_range = not columns or (columns[0] >= 0 and columns[-1] <= _LARGEST_COLUMN)
    finite = math.isfinite(label) and all(map(math.isfinite, values))
    if not (ascending and in_range and finite) or b"_" in body:
        _find_fault(body, first_index)
    return label, columns, values


def _find_fault(body: bytes, first_index: int) -> None:
    """Raise for the first token that breaks the rules, with its column."""
    last = first_index - 1
    for place, match in enumerate(_TOKEN.finditer(body)):
        column, token = match.start(), match.group()
        if place == 0:
            if _number(token) is None:
                raise _Malformed(column, token, "a finite number as label")
            continue
        if place == 1 and token.startswith(b"qid:"):
            continue
        index_text, colon, value_text = token.partition(b":")
        index = _integer(index_text)
        if not colon or index is None:
            raise _Malformed(column, token, "index:value")
        if index < first_index:
            raise _Malformed(
                column, token, "an index from 1 (first_index=0 if the file counts from 0)"
            )
        if index - first_index > _LARGEST_COLUMN:
            raise _Malformed(column, token, f"an index up to {_LARGEST_COLUMN + first_index}")
        if index <= last:
            raise _Malformed(column, token, f"an index above {last}, the one before it")
        if _number(value_text) is None:
            raise _Malformed(column, token, "a finite number after the colon")
        last = index


def _integer(text: bytes) -> int | None:
    try:
        return None if b"_" in text else int(text)
    except ValueError:
        return None


def _number(text: bytes) -> float | None:
    if b"_" in text:
        return None
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def read_svmlight(
    path: str | os.PathLike[str],
    *,
    labels: Labels = "real",
    rows: int = 8192,
    first_index: int = 1,
    width: int = 0,
) -> Stream:
    """Open svmlight text, plain or compressed, as a stream of blocks; see `read`."""
    return Stream(Path(path), labels, rows, first_index, width)
