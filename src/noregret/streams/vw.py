"""Streams of Vowpal Wabbit's text format; `vw_grammar` defines it.

Features are hashed to the slots where Vowpal Wabbit has them, or get columns of their own by
an exact dictionary of their names.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noregret.streams.block import Csr
from noregret.streams.errors import Malformed, StreamError
from noregret.streams.features import INTERCEPT, Features, largest_of, without_unknown
from noregret.streams.format import Parsed, Written, check_text, explained
from noregret.streams.hashing import combine, mask
from noregret.streams.inputs import Inputs
from noregret.streams.interactions import (
    MOST_PRODUCTS,
    Interactions,
    Terms,
    as_matrix,
    count_products,
    multiply,
    products,
)
from noregret.streams.names import FeatureNames, HashedNames
from noregret.streams.order import order_rows
from noregret.streams.reading import Reading
from noregret.streams.slabs import Slabs
from noregret.streams.source import Source, most_lines
from noregret.streams.stream import TextStream
from noregret.streams.vw_grammar import Feature, Line, parse_line, tag_of
from noregret.streams.vw_lines import SPANS, LineRules, read_lines
from noregret.streams.vw_names import called, names_of
from noregret.streams.vw_parts import PART, Lines, cut_rows, with_constant

_ALL = 0xFFFFFFFF
_NO_COLUMN = -1


class VwFormat:
    r"""Lines of Vowpal Wabbit's text format to rows.

    >>> from noregret.streams.format import padded
    >>> text = b"1 |a x y:2\n-1 0.5 |a y |b 7\n"
    >>> reading = Reading(format="vw", bits=0, interactions=["ab"])
    >>> (parsed,) = VwFormat(reading).parse(*padded(text))
    >>> parsed.y.tolist(), parsed.weight.tolist(), parsed.indptr.tolist()
    ([1.0, -1.0], [1.0, 0.5], [0, 2, 5])
    >>> parsed.indices.tolist(), parsed.values.tolist()
    ([0, 1, 1, 2, 3], [1.0, 2.0, 1.0, 1.0, 1.0])
    """

    def __init__(
        self, reading: Reading, names: FeatureNames | None = None, grow: bool = True
    ) -> None:
        constant, bits = reading.constant, reading.hashed_bits
        if not abs(constant) <= largest_of(reading.dtype):
            raise StreamError(f"constant={constant}: expected a number that is finite as "
                              f"{reading.dtype}", "constant")  # fmt: skip
        try:
            self.interactions = Interactions(reading.interactions)
        except ValueError as error:
            raise StreamError(str(error), "interactions") from None
        self.features = Features.of(reading, names, grow)
        #: Whether names are looked up, in a dictionary or to be remembered.
        self.named = self.features.exact or reading.remember > 0
        #: The name that no feature may have, since the constant has it.
        self._reserved = INTERCEPT.encode() if self.features.exact and constant else b""
        self.parallel = not self.features.grows
        self.hash = reading.hash
        self.unlabelled = reading.unlabelled == "keep"
        self.dtype = np.dtype(reading.dtype)
        self.grow = grow
        self._last = np.uint32(_ALL if bits is None else mask(bits))
        self._slabs = Slabs()
        self._ignored = _ignored_letters(reading)
        if reading.id not in (None, "tag"):
            raise StreamError(f'id={reading.id!r}: the id of this format is its "tag"', "id")
        self._tagged = reading.id is not None

    def parse(self, buffer: NDArray[np.uint8], stop: int) -> Iterator[Parsed]:
        """Yield the rows of buffer[:stop], each with ascending columns; in parts if products."""
        check_text(buffer, stop)
        detailed = self.named or bool(self.interactions)
        rules = LineRules(
            everything=self.hash == "all",
            unlabelled=self.unlabelled,
            last=self._last,
            ignored=self._ignored,
            # Products and names come first, then the constant.
            constant=0.0 if detailed else self.features.constant,
            slot=np.uint32(self.features.constant_column),
        )
        most_rows = most_lines(buffer, stop)
        # A feature and its gap have two bytes at least, and so has a row with its constant.
        most = len(buffer) // 2
        out = Written.take(self._slabs, most_rows, most, self.dtype)
        spans = np.empty((most if detailed else 0, SPANS), np.uint32)
        starts = np.empty(most_rows if detailed else 0, np.uint64)
        *counts, weighted, falls = read_lines(buffer, np.uint64(stop), rules, out, spans, starts)
        rows, lines, refused = map(int, counts)
        if detailed:
            text = Lines(out, starts, spans[: int(out.indptr[rows])]).rows(0, rows)
            faults = out.faults[:refused]
            yield from self._parts(buffer, stop, text, faults, lines, bool(weighted))
            return
        if falls:
            order_rows(out.indptr[: rows + 1], out.indices, out.values)
        ids = self._tags(buffer, stop, out, rows)
        yield out.parsed(rows, lines, refused, self.features.width, bool(weighted), ids=ids)

    def _tags(
        self, buffer: NDArray[np.uint8], end: int, out: Written, rows: int
    ) -> list[str] | None:
        """Return the tags of rows, where they are asked for."""
        if not self._tagged:
            return None
        lines = buffer[:end].tobytes().split(b"\n")
        return [tag_of(lines[k]) for k in out.line_of_row[:rows].tolist()]

    def _parts(
        self,
        buffer: NDArray[np.uint8],
        end: int,
        text: Lines,
        faults: NDArray[np.uint64],
        lines: int,
        weighted: bool,
    ) -> Iterator[Parsed]:
        """Yield the rows with products, columns by name and constant, in parts of size PART."""
        begins = text.spans[:, 0]
        groups = np.where(text.spans[:, 1] > begins, buffer[begins], np.uint8(ord(" ")))
        terms = as_matrix(self.interactions.terms(bytes(np.unique(groups).tolist())))
        counts = np.zeros(len(text.out.y), np.uint64)
        count_products(text.out.csr, groups, terms, counts)
        bad = counts > MOST_PRODUCTS
        if self._reserved:
            bad[text.rows_of(called(buffer, text.spans, self._reserved))] = True
        if bad.any():
            faults = np.sort(np.concatenate((faults, text.starts[bad])))
            groups = groups[np.repeat(~bad, np.diff(text.out.indptr).astype(np.intp))]
            text, counts = text.only(~bad), counts[~bad]
        sizes = counts + np.diff(text.out.indptr)
        first = 0
        for stop in cut_rows(sizes, PART):
            last = stop == len(sizes)
            # Lines that are refused go with the rows before them.
            count = len(faults) if last else int(faults.searchsorted(text.starts[stop]))
            total = int(sizes[first:stop].sum())
            part = text.rows(first, stop)
            rows = self._expanded(buffer, part, groups, terms, total)
            order_rows(*rows)
            out = part.out._replace(**rows._asdict(), faults=faults)
            ended = lines if last else 0
            ids = self._tags(buffer, end, part.out, stop - first)
            width = self.features.width
            yield out.parsed(stop - first, ended, count, width, weighted, ids=ids)
            first, faults = stop, faults[count:]

    def _expanded(
        self,
        buffer: NDArray[np.uint8],
        text: Lines,
        groups: NDArray[np.uint8],
        terms: Terms,
        total: int,
    ) -> Csr:
        """Return the rows with their products, `total` features in all, and the constant."""
        rows = Csr(
            np.zeros(len(text.out.indptr), np.uint64),
            np.empty(total, np.uint32),
            np.empty(total, self.dtype),
        )
        parts = np.empty((total if self.named else 0, terms.matrix.shape[1]), np.uint32)
        multiply(text.out.csr, groups, terms, self._last, rows, parts)
        names = self.features.names
        if self.named:
            written, ends = names_of(buffer, text.spans, parts)
            if isinstance(names, HashedNames):
                names.remember_all(written, ends, rows.indices)
            else:
                rows = rows._replace(indices=names.columns_of(written, ends, self.grow))
        rows = without_unknown(rows)
        if self.features.constant:
            rows = with_constant(rows, self.features.constant_column, self.features.constant)
        return rows

    def read_line(self, line: bytes, add: bool = False) -> tuple[Line, dict[int, float]] | None:
        """Return what one line means and its row, in plain Python; raise Malformed.

        Names that a dictionary does not know are left out unless it is to `add` them.
        """
        rounded: Callable[[float], Any] = self.dtype.type
        parsed = parse_line(line, unlabelled=self.unlabelled, rounded=rounded)
        if parsed is None:
            return None
        kept = tuple(one for one in parsed.features if not self._ignored[one.group])
        parsed = replace(parsed, features=kept)
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
        """Return the reason why a line is refused."""
        return explained(self.read_line, line)


def _ignored_letters(reading: Reading) -> NDArray[np.uint8]:
    """Return of every first letter of a namespace whether its features are left out."""
    option = "ignore" if reading.keep is None else "keep"
    letters = reading.ignore if reading.keep is None else reading.keep
    for one in letters:
        if len(one.encode()) != 1:
            raise StreamError(
                f"{option}={one!r}: expected the first letter of namespaces, one character of "
                "ASCII, a space for features without a namespace",
                option,
            )
    ignored = np.full(256, option == "keep", np.uint8)
    ignored[[ord(one) for one in letters]] = option == "ignore"
    return ignored


def open_vw(
    inputs: Inputs, reading: Reading, names: FeatureNames | None = None, grow: bool = True
) -> TextStream:
    """Open Vowpal Wabbit's text format as a stream of blocks."""
    labels = reading.labels
    if isinstance(labels, tuple) and any(isinstance(one, str) for one in labels):
        raise StreamError(f"labels of this format are numbers, found {labels!r}", "labels")
    text = VwFormat(reading, names, grow)
    features = text.features
    width = 0 if features.exact else features.width
    return TextStream(
        Source(inputs, encoding=reading.encoding), text, reading, width=width, names=features.names
    )
