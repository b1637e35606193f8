"""Streams of Vowpal Wabbit's text format; `vw_grammar` says what a line means.

Features are hashed to the slots where Vowpal Wabbit has them, or get columns of their own by
an exact dictionary of their names.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from noregret.streams.block import Floats
from noregret.streams.errors import Malformed, StreamError
from noregret.streams.features import Features, without_unknown
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
from noregret.streams.source import Source
from noregret.streams.stream import TextStream
from noregret.streams.vw_grammar import Feature, Line, parse_line
from noregret.streams.vw_lines import SPANS, read_lines
from noregret.streams.vw_names import names_of

Unlabelled = Literal["refuse", "keep"]

#: As many as Vowpal Wabbit takes unless told otherwise.
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
    >>> parsed = VwFormat(bits=None, interactions=["ab"]).parse(*padded(text))
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
        if dtype not in ("float32", "float64"):
            raise StreamError(f"dtype={dtype!r}: expected 'float32' or 'float64'")
        if not abs(constant) <= np.finfo(dtype).max:
            raise StreamError(f"constant={constant}: expected a finite number, 0 for none")
        try:
            self.interactions = Interactions(interactions)
        except ValueError as error:
            raise StreamError(str(error)) from None
        self.features = Features(bits, constant, remember, names, grow)
        #: Whether names are looked up, in a dictionary or to be remembered.
        self.named = self.features.exact or remember > 0
        self.parallel = not self.features.grows
        self.hash = hash
        self.unlabelled = unlabelled == "keep"
        self.dtype = np.dtype(dtype)
        self.grow = grow
        self._last = np.uint32(_ALL if bits is None else mask(bits))
        self._slabs = Slabs()

    def parse(self, buffer: NDArray[np.uint8], stop: int) -> Parsed:
        """Return the rows of buffer[:stop], each with ascending columns."""
        check_text(buffer, stop)
        constant, slot = self.features.constant, np.uint32(self.features.constant_column)
        detailed = self.named or bool(self.interactions)
        take = self._slabs.take
        # A line that is an example has two bytes at least, and so have a feature and its gap.
        most = len(buffer) // 2
        indptr, faults = take(np.uint64, most + 1), take(np.uint64, most)
        indices, values = take(np.uint32, most), take(self.dtype, most)
        y, weight, line_of_row = (take(kind, most) for kind in (np.float64, np.float64, np.uint32))
        spans = np.empty((most if detailed else 0, SPANS), np.uint32)
        starts = np.empty(most if detailed else 0, np.uint64)
        rows, lines, refused, weighted, falls = read_lines(
            buffer, np.uint64(stop), self.hash == "all", self.unlabelled, self._last,
            0.0 if detailed else constant, slot,
            indptr, indices, values, y, weight, line_of_row, faults, spans, starts,
        )  # fmt: skip
        rows, faults, indptr = int(rows), faults[: int(refused)], indptr[: int(rows) + 1]
        y, weight, line_of_row = y[:rows], weight[:rows], line_of_row[:rows]
        if detailed:
            expanded = self._expand(buffer, indptr, indices, values, spans)
            indptr, indices, values, bad = expanded
            if bad.any():
                faults = np.sort(np.concatenate((faults, starts[:rows][bad])))
                y, weight, line_of_row = y[~bad], weight[~bad], line_of_row[~bad]
        if falls or detailed:
            order_rows(indptr, indices, values)
        used = int(indptr[-1])
        return Parsed(
            indptr=indptr,
            indices=indices[:used],
            values=values[:used],
            y=y,
            weight=weight if weighted else None,
            width=self.features.width,
            lines=int(lines),
            line_of_row=None if len(y) == lines else line_of_row,
            faults=faults,
        )

    def _expand(
        self,
        buffer: NDArray[np.uint8],
        indptr: NDArray[np.uint64],
        indices: NDArray[np.uint32],
        values: Floats,
        spans: NDArray[np.uint32],
    ) -> tuple[NDArray[np.uint64], NDArray[np.uint32], Floats, NDArray[np.bool_]]:
        """Return the rows with products, columns by name and constant, and which were refused."""
        used = int(indptr[-1])
        spans = spans[:used]
        groups = np.where(spans[:, 1] > spans[:, 0], buffer[spans[:, 0]], np.uint8(ord(" ")))
        matrix, lengths = as_matrix(self.interactions.terms(bytes(np.unique(groups).tolist())))
        counts = np.zeros(len(indptr) - 1, np.uint64)
        count_products(indptr, values, groups, matrix, lengths, counts)
        bad = counts > MOST_PRODUCTS
        if bad.any():
            of_row = np.repeat(~bad, np.diff(indptr).astype(np.intp))
            indices, values = indices[:used][of_row], values[:used][of_row]
            groups, spans = groups[of_row], spans[of_row]
            indptr = _lengths_summed(np.diff(indptr)[~bad])
            counts = counts[~bad]
        total = len(spans) + int(counts.sum())
        out_indptr = np.zeros(len(indptr), np.uint64)
        out_indices, out_values = np.empty(total, np.uint32), np.empty(total, self.dtype)
        parts = np.empty((total if self.named else 0, matrix.shape[1]), np.uint32)
        multiply(
            indptr, indices, values, groups, matrix, lengths, self._last,
            out_indptr, out_indices, out_values, parts,
        )  # fmt: skip
        names = self.features.names
        if self.named:
            text, ends = names_of(buffer, spans, parts)
            if isinstance(names, HashedNames):
                names.remember_all(text, ends, out_indices)
            else:
                out_indices = names.columns_of(text, ends, self.grow)
        rows = without_unknown(out_indptr, out_indices, out_values)
        return *(self._with_constant(*rows) if self.features.constant else rows), bad

    def _with_constant(
        self, indptr: NDArray[np.uint64], indices: NDArray[np.uint32], values: Floats
    ) -> tuple[NDArray[np.uint64], NDArray[np.uint32], Floats]:
        """Return rows that end with the constant feature."""
        lengths, used = np.diff(indptr), int(indptr[-1])
        longer = _lengths_summed(lengths + np.uint64(1))
        last = longer[1:].astype(np.intp) - 1
        linear = np.ones(used + len(lengths), np.bool_)
        linear[last] = False
        new_indices = np.full(len(linear), self.features.constant_column, np.uint32)
        new_values = np.full(len(linear), self.features.constant, self.dtype)
        new_indices[linear], new_values[linear] = indices[:used], values[:used]
        return longer, new_indices, new_values

    def read_line(self, line: bytes, add: bool = False) -> tuple[Line, dict[int, float]] | None:
        """Return what one line means and its row, in plain Python; raise Malformed.

        Names that a dictionary does not know are left out unless it is to `add` them.
        """
        rounded: Callable[[float], Any] = self.dtype.type
        parsed = parse_line(line, unlabelled=self.unlabelled, rounded=rounded)
        if parsed is None:
            return None
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


def _lengths_summed(lengths: NDArray[np.uint64]) -> NDArray[np.uint64]:
    return np.concatenate((np.zeros(1, np.uint64), np.cumsum(lengths, dtype=np.uint64)))
