"""Streams of Vowpal Wabbit's text format; `vw_grammar` says what a line means.

Features are hashed to the slots where Vowpal Wabbit has them, or get columns of their own by
an exact dictionary of their names.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from noregret.streams.errors import Malformed, StreamError
from noregret.streams.features import INTERCEPT, Features, largest_of, without_unknown
from noregret.streams.format import Parsed, check_text
from noregret.streams.hashing import HashRule, combine, mask
from noregret.streams.inputs import Inputs
from noregret.streams.interactions import (
    MOST_PRODUCTS,
    Interactions,
    as_matrix,
    count_products,
    multiply,
    products,
)
from noregret.streams.labels import Labels
from noregret.streams.names import FeatureNames, HashedNames
from noregret.streams.order import order_rows
from noregret.streams.slabs import Slabs
from noregret.streams.source import Source, most_lines
from noregret.streams.stream import TextStream
from noregret.streams.vw_grammar import Feature, Line, parse_line
from noregret.streams.vw_lines import SPANS, read_lines
from noregret.streams.vw_names import called, names_of
from noregret.streams.vw_parts import PART, Lines, cut_rows, with_constant

Unlabelled = Literal["refuse", "keep"]

#: As many as Vowpal Wabbit takes by default.
DEFAULT_BITS = 18

_ALL = 0xFFFFFFFF
_NO_COLUMN = -1


class VwFormat:
    r"""Lines of Vowpal Wabbit's text format to rows.

    Args:
        bits: features are hashed to 2^bits slots; None for a dictionary of their names.
        hash: "strings" takes a name of digits only for a number, "all" mixes every name.
        constant: the value of a feature that every row has, none if 0.
        interactions: products of features, as `Interactions` explains.
        unlabelled: "keep" gives lines without a label the label nan.
        dtype: "float64" or "float32", the type of the values.
        names: the dictionary to begin with.
        grow: whether names that are not in the dictionary get columns, or are left out.
        remember: how many names of hashed features are kept for people to read.

    >>> from noregret.streams.format import padded
    >>> text = b"1 |a x y:2\n-1 0.5 |a y |b 7\n"
    >>> (parsed,) = VwFormat(bits=None, interactions=["ab"]).parse(*padded(text))
    >>> parsed.y.tolist(), parsed.weight.tolist(), parsed.indptr.tolist()
    ([1.0, -1.0], [1.0, 0.5], [0, 2, 5])
    >>> parsed.indices.tolist(), parsed.values.tolist()
    ([0, 1, 1, 2, 3], [1.0, 2.0, 1.0, 1.0, 1.0])
    """

    def __init__(
        self,
        *,
        bits: int | None = DEFAULT_BITS,
        hash: HashRule = "strings",
        constant: float = 0.0,
        interactions: Iterable[str | bytes] = (),
        unlabelled: Unlabelled = "refuse",
        dtype: Literal["float32", "float64"] = "float64",
        names: FeatureNames | None = None,
        grow: bool = True,
        remember: int = 0,
    ) -> None:
        if hash not in get_args(HashRule):
            raise StreamError(f"hash={hash!r}: expected 'strings' or 'all'")
        if unlabelled not in get_args(Unlabelled):
            raise StreamError(f"unlabelled={unlabelled!r}: expected 'refuse' or 'keep'")
        if not abs(constant) <= largest_of(dtype):
            raise StreamError(f"constant={constant}: expected a finite number, 0 for none")
        try:
            self.interactions = Interactions(interactions)
        except ValueError as error:
            raise StreamError(str(error)) from None
        self.features = Features(bits, constant, remember, names, grow)
        #: Whether names are looked up, in a dictionary or to be remembered.
        self.named = self.features.exact or remember > 0
        #: The name that no feature may have, since the constant has it.
        self._reserved = INTERCEPT.encode() if self.features.exact and constant else b""
        self.parallel = not self.features.grows
        self.hash = hash
        self.unlabelled = unlabelled == "keep"
        self.dtype = np.dtype(dtype)
        self.grow = grow
        self._last = np.uint32(_ALL if bits is None else mask(bits))
        self._slabs = Slabs()

    def parse(self, buffer: NDArray[np.uint8], stop: int) -> Iterator[Parsed]:
        """Yield the rows of buffer[:stop], each with ascending columns; in parts if products."""
        check_text(buffer, stop)
        constant, slot = self.features.constant, np.uint32(self.features.constant_column)
        detailed = self.named or bool(self.interactions)
        take = self._slabs.take
        most_rows = most_lines(buffer, stop)
        # A feature and its gap have two bytes at least, and so has a row with its constant.
        most = len(buffer) // 2
        indptr, faults = take(np.uint64, most_rows + 1), take(np.uint64, most_rows)
        indices, values = take(np.uint32, most), take(self.dtype, most)
        y, weight = take(np.float64, most_rows), take(np.float64, most_rows)
        line_of_row = take(np.uint32, most_rows)
        spans = np.empty((most if detailed else 0, SPANS), np.uint32)
        starts = np.empty(most_rows if detailed else 0, np.uint64)
        rows, lines, refused, weighted, falls = read_lines(
            buffer, np.uint64(stop), self.hash == "all", self.unlabelled, self._last,
            0.0 if detailed else constant, slot,
            indptr, indices, values, y, weight, line_of_row, faults, spans, starts,
        )  # fmt: skip
        used = int(indptr[rows])
        text = Lines(
            indptr[: rows + 1], indices[:used], values[:used], y[:rows],
            weight[:rows] if weighted else None, line_of_row[:rows], starts[:rows], spans[:used],
        )  # fmt: skip
        if detailed:
            yield from self._parts(buffer, text, faults[:refused], int(lines))
            return
        if falls:
            order_rows(text.indptr, text.indices, text.values)
        yield self._parsed(text, faults[:refused], int(lines))

    def _parsed(self, text: Lines, faults: NDArray[np.uint64], lines: int) -> Parsed:
        used = int(text.indptr[-1])
        return Parsed(
            indptr=text.indptr,
            indices=text.indices[:used],
            values=text.values[:used],
            y=text.y,
            weight=text.weight,
            width=self.features.width,
            lines=lines,
            line_of_row=None if len(text.y) == lines else text.line_of_row,
            faults=faults,
        )

    def _parts(
        self, buffer: NDArray[np.uint8], text: Lines, faults: NDArray[np.uint64], lines: int
    ) -> Iterator[Parsed]:
        """Yield the rows with products, columns by name and constant, so many at a time."""
        begins = text.spans[:, 0]
        groups = np.where(text.spans[:, 1] > begins, buffer[begins], np.uint8(ord(" ")))
        matrix, lengths = as_matrix(self.interactions.terms(bytes(np.unique(groups).tolist())))
        counts = np.zeros(len(text.y), np.uint64)
        count_products(text.indptr, text.values, groups, matrix, lengths, counts)
        bad = counts > MOST_PRODUCTS
        if self._reserved:
            bad[text.rows_of(called(buffer, text.spans, self._reserved))] = True
        if bad.any():
            faults = np.sort(np.concatenate((faults, text.starts[bad])))
            groups = groups[np.repeat(~bad, np.diff(text.indptr).astype(np.intp))]
            text, counts = text.only(~bad), counts[~bad]
        sizes = counts + np.diff(text.indptr)
        first = 0
        for stop in cut_rows(sizes, PART):
            last = stop == len(sizes)
            # Lines that are refused go with the rows before them.
            count = len(faults) if last else int(faults.searchsorted(text.starts[stop]))
            total = int(sizes[first:stop].sum())
            part = self._expanded(buffer, text.rows(first, stop), groups, matrix, lengths, total)
            order_rows(part.indptr, part.indices, part.values)
            yield self._parsed(part, faults[:count], lines if last else 0)
            first, faults = stop, faults[count:]

    def _expanded(
        self,
        buffer: NDArray[np.uint8],
        text: Lines,
        groups: NDArray[np.uint8],
        matrix: NDArray[np.uint8],
        lengths: NDArray[np.uint64],
        total: int,
    ) -> Lines:
        indptr = np.zeros(len(text.indptr), np.uint64)
        indices, values = np.empty(total, np.uint32), np.empty(total, self.dtype)
        parts = np.empty((total if self.named else 0, matrix.shape[1]), np.uint32)
        multiply(
            text.indptr, text.indices, text.values, groups, matrix, lengths, self._last,
            indptr, indices, values, parts,
        )  # fmt: skip
        names = self.features.names
        if self.named:
            written, ends = names_of(buffer, text.spans, parts)
            if isinstance(names, HashedNames):
                names.remember_all(written, ends, indices)
            else:
                indices = names.columns_of(written, ends, self.grow)
        rows = without_unknown(indptr, indices, values)
        if self.features.constant:
            column, constant = self.features.constant_column, self.features.constant
            rows = with_constant(*rows, column, constant)
        return replace(text, indptr=rows[0], indices=rows[1], values=rows[2])

    def read_line(self, line: bytes, add: bool = False) -> tuple[Line, dict[int, float]] | None:
        """Return what one line means and its row, in plain Python; raise Malformed.

        Names that a dictionary does not know are left out unless it is to `add` them.
        """
        rounded: Callable[[float], Any] = self.dtype.type
        parsed = parse_line(line, unlabelled=self.unlabelled, rounded=rounded)
        if parsed is None:
            return None
        if self._reserved and any(one.key == self._reserved for one in parsed.features):
            expected = "another name: this is that of the constant feature"
            raise Malformed(line.find(self._reserved), self._reserved, expected)
        groups = bytes(feature.group for feature in parsed.features)
        chosen: list[tuple[int, ...]] = [(k,) for k in range(len(groups))]
        for term in self.interactions.terms(bytes(set(groups))):
            for choice in products(groups, term):
                chosen.append(choice)
                if len(chosen) - len(groups) > MOST_PRODUCTS:
                    raise Malformed(0, line, f"interactions of at most {MOST_PRODUCTS} products")
        row: list[tuple[int, float]] = []
        with np.errstate(over="ignore", under="ignore"):
            for choice in chosen:
                members = [parsed.features[k] for k in choice]
                value = float(rounded(math.prod(float(rounded(one.value)) for one in members)))
                if not math.isfinite(value):
                    raise Malformed(0, line, "interactions whose values are finite")
                row.append((self._column(members, add), value))
            if self.features.constant:
                constant = float(rounded(self.features.constant))
                row.append((self.features.constant_column, constant))
            merged: dict[int, float] = {}
            for column, value in sorted(row, key=lambda pair: pair[0]):
                merged[column] = merged[column] + value if column in merged else value
            merged.pop(_NO_COLUMN, None)
            return parsed, {column: float(rounded(total)) for column, total in merged.items()}

    def _column(self, members: list[Feature], add: bool) -> int:
        names = self.features.names
        if isinstance(names, FeatureNames):
            key = b"*".join(member.key for member in members)
            if add:
                return names.add(key)
            found = names.column(key)
            return _NO_COLUMN if found is None else found
        hashed = members[0].hash(self.hash)
        for member in members[1:]:
            hashed = combine(hashed, member.hash(self.hash))
        return hashed & int(self._last)

    def explain(self, line: bytes) -> Malformed:
        """Say why a line is refused."""
        try:
            self.read_line(line)
        except Malformed as reason:
            return reason
        raise AssertionError(f"the kernel refused {line!r}, which is an example")


def open_vw(
    inputs: Inputs,
    *,
    labels: Labels = "real",
    bits: int | None = DEFAULT_BITS,
    hash: HashRule = "strings",
    constant: float = 0.0,
    interactions: Iterable[str | bytes] = (),
    unlabelled: Unlabelled = "refuse",
    dtype: Literal["float32", "float64"] = "float64",
    names: FeatureNames | None = None,
    grow: bool = True,
    remember: int = 0,
    **options: Any,
) -> TextStream:
    """Open Vowpal Wabbit's text format as a stream of blocks; see `read` and `VwFormat`."""
    if isinstance(labels, tuple) and any(isinstance(one, str) for one in labels):
        raise StreamError(f"labels={labels!r}: labels of this format are numbers")
    text = VwFormat(
        bits=bits,
        hash=hash,
        constant=constant,
        interactions=interactions,
        unlabelled=unlabelled,
        dtype=dtype,
        names=names,
        grow=grow,
        remember=remember,
    )
    features = text.features
    width = 0 if features.exact else features.width
    return TextStream(
        Source(inputs), text, labels=labels, width=width, names=features.names, **options
    )
