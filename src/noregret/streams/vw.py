"""Streams of Vowpal Wabbit's text format; `vw_grammar` defines it.

Features are hashed to the slots where Vowpal Wabbit has them, or get columns of their own by
an exact dictionary of their names, which are put together as Vowpal Wabbit shows them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noregret.arguments import ArgumentError
from noregret.jit import kernel
from noregret.streams.block import Csr, cut_rows
from noregret.streams.errors import Malformed
from noregret.streams.features import INTERCEPT, Features, largest_of
from noregret.streams.format import Parsed, Slabs, Written, padded
from noregret.streams.hashing import (
    MOST_PRODUCTS,
    NO_PART,
    Interactions,
    Terms,
    as_matrix,
    count_products,
    multiplied,
)
from noregret.streams.inputs import Inputs
from noregret.streams.names import FeatureNames, HashedNames
from noregret.streams.reading import Reading
from noregret.streams.source import Source, most_lines
from noregret.streams.sparse import gathered, order_rows, settled
from noregret.streams.stream import TextStream
from noregret.streams.vw_grammar import refusal, tag_of
from noregret.streams.vw_lines import SPANS, LineRules, read_lines

#: At most this many features and products are held at once, unless a single line has more.
PART = 1 << 20
_0, _1, _10 = np.uint64(0), np.uint64(1), np.uint64(10)
_CARET, _STAR, _COLON, _ZERO = (np.uint8(ord(c)) for c in "^*:0")
#: Most bytes of a name beside its parts: two carets, or a colon and ten digits.
_BESIDE = 12


@kernel
def _copy(buffer, begin, end, text, at):  # type: ignore[no-untyped-def]
    for k in range(np.uint64(begin), np.uint64(end)):
        text[at] = buffer[k]
        at += _1
    return at


@kernel
def _write(buffer, spans, k, text, at):  # type: ignore[no-untyped-def]
    """Write namespace^name, namespace^name^word or namespace^:number; return where it ends."""
    if spans[k, 1] > spans[k, 0]:
        at = _copy(buffer, spans[k, 0], spans[k, 1], text, at)
        text[at] = _CARET
        at += _1
    at = _copy(buffer, spans[k, 2], spans[k, 3], text, at)
    if spans[k, 4] > np.uint32(0):
        text[at] = _CARET
        at = _copy(buffer, spans[k, 4], spans[k, 5], text, at + _1)
    elif spans[k, 2] == spans[k, 3]:
        text[at] = _COLON
        power = _1
        number = np.uint64(spans[k, 5])
        while number // power >= _10:
            power *= _10
        while power > _0:
            at += _1
            text[at] = _ZERO + np.uint8(number // power % _10)
            power //= _10
        at += _1
    return at


@kernel
def _sizes(spans, parts):  # type: ignore[no-untyped-def]
    """Return room enough for all names."""
    total = _0
    for row in range(np.uint64(parts.shape[0])):
        for d in range(np.uint64(parts.shape[1])):
            k = parts[row, d]
            if k != NO_PART:
                total += np.uint64(_BESIDE)
                total += np.uint64(spans[k, 1] - spans[k, 0])
                total += np.uint64(spans[k, 3] - spans[k, 2])
                if spans[k, 4] > np.uint32(0):
                    total += np.uint64(spans[k, 5] - spans[k, 4])
    return total


@kernel
def _write_all(buffer, spans, parts, text, ends):  # type: ignore[no-untyped-def]
    at = _0
    ends[0] = at
    for row in range(np.uint64(parts.shape[0])):
        for d in range(np.uint64(parts.shape[1])):
            if parts[row, d] != NO_PART:
                if d > _0:
                    text[at] = _STAR
                    at += _1
                at = _write(buffer, spans, np.uint64(parts[row, d]), text, at)
        ends[row + _1] = at


def names_of(
    buffer: NDArray[np.uint8], spans: NDArray[np.uint32], parts: NDArray[np.uint32]
) -> tuple[NDArray[np.uint8], NDArray[np.uint64]]:
    """Return the names of products of features, one after the other, and where each ends.

    Row k of `parts` has the features that are multiplied, row j of `spans` where in the buffer
    the pieces of feature j are.
    """
    text = np.empty(int(_sizes(spans, parts)), np.uint8)
    ends = np.empty(len(parts) + 1, np.uint64)
    _write_all(buffer, spans, parts, text, ends)
    return text, ends


def called(buffer: NDArray[np.uint8], spans: NDArray[np.uint32], name: bytes) -> NDArray[np.intp]:
    """Return which features, described as for `names_of`, have a name and no namespace or word."""
    begin, end, first, last, word, _ = spans.T
    found = np.flatnonzero((begin == end) & (last - first == len(name)) & (word == 0))
    letters = buffer[first[found].astype(np.intp)[:, None] + np.arange(len(name))]
    same: NDArray[np.bool_] = (letters == np.frombuffer(name, np.uint8)).all(axis=1)
    return found[same]


class VwFormat:
    r"""Lines of Vowpal Wabbit's text format to rows.

    >>> from noregret.streams.format import padded
    >>> text = b"1 |a x y:2\n-1 0.5 |a y |b 7\n"
    >>> reading = Reading(format="vw", bits=0, interactions=["ab"])
    >>> (parsed,) = VwFormat(reading).parse(*padded(text))
    >>> parsed.y.tolist(), parsed.weight.tolist()
    ([1.0, -1.0], [1.0, 0.5])
    >>> [array.tolist() for array in parsed.rows]
    [[0, 2, 5], [0, 1, 1, 2, 3], [1.0, 2.0, 1.0, 1.0, 1.0]]
    """

    def __init__(
        self, reading: Reading, names: FeatureNames | None = None, grow: bool = True
    ) -> None:
        constant = reading.constant
        if not abs(constant) <= largest_of(reading.dtype):
            raise ArgumentError(
                "constant", f"expected a number that is finite as {reading.dtype}", constant
            )
        self.reading = reading
        self.interactions = Interactions(reading.interactions)
        self.features = Features.of(reading, names, grow)
        #: Whether names are looked up, in a dictionary or to be remembered.
        self.named = self.features.exact or reading.remember > 0
        #: Whether names or products need to know where in the text each feature is.
        self._detailed = self.named or bool(self.interactions.wanted)
        #: The name that no feature may have, since the constant has it.
        self._reserved = INTERCEPT.encode() if self.features.exact and constant else b""
        self.parallel = not self.features.grows
        self._slabs = Slabs()
        option = "ignore" if reading.keep is None else "keep"
        letters: tuple[str, ...] = getattr(reading, option)
        for one in letters:
            if len(one.encode()) != 1:
                raise ArgumentError(
                    option,
                    "expected the first letter of namespaces, one of ASCII, a space for none",
                    one,
                )
        ignored = np.full(256, option == "keep", np.uint8)
        ignored[[ord(one) for one in letters]] = option == "ignore"
        if reading.id not in (None, "tag"):
            raise ArgumentError("id", 'the id of this format is its "tag"', reading.id)
        self._rules = LineRules(
            everything=reading.hash == "all",
            unlabelled=reading.unlabelled == "keep",
            last=self.features.last,
            ignored=ignored,
            # Products and names come first, then the constant.
            constant=0.0 if self._detailed else self.features.constant,
            slot=np.uint32(self.features.constant_column),
        )

    def _read(
        self, buffer: NDArray[np.uint8], stop: int
    ) -> tuple[Written, NDArray[np.uint32], NDArray[np.uint64], tuple[Any, ...]]:
        """Return what the kernel writes: rows, of each feature its spans, of each row its start.

        Spans and starts are empty unless names or products need them. The results of `read_lines`
        come last.
        """
        most_rows = most_lines(buffer, stop)
        # A feature and its gap have two bytes at least, and so has a row with its constant.
        most = len(buffer) // 2
        dtype = np.dtype(self.reading.dtype)
        out = Written.take(self._slabs, buffer, stop, most_rows, most, dtype)
        spans = np.empty((most if self._detailed else 0, SPANS), np.uint32)
        starts = np.empty(most_rows if self._detailed else 0, np.uint64)
        found = read_lines(buffer, np.uint64(stop), self._rules, out, spans, starts)
        rows = int(found[0])
        out = out.part(0, rows)
        return out, spans[: int(out.rows.indptr[rows])], starts[:rows], found

    def parse(self, buffer: NDArray[np.uint8], stop: int) -> Iterator[Parsed]:
        """Yield the rows of buffer[:stop], each with ascending columns; in parts if products."""
        out, spans, starts, (_, lines, refused, weighted, falls, _) = self._read(buffer, stop)
        tagged = self.reading.id is not None
        held = buffer[:stop].tobytes().split(b"\n") if tagged else []

        def parsed(part: Written, lines: int, refused: int) -> Parsed:
            ids = [tag_of(held[k]) for k in part.line_of_row.tolist()] if tagged else None
            facts = len(part.y), lines, refused, self.features.width, bool(weighted)
            return part.parsed(*facts, ids=ids)

        if not self._detailed:
            if falls:
                order_rows(*out.rows)
            yield parsed(out, int(lines), int(refused))
            return
        groups, terms, counts, bad = self._multiplied(buffer, out, spans)
        faults = out.faults[: int(refused)]
        if bad.any():
            good = np.flatnonzero(~bad)
            faults = np.sort(np.concatenate((faults, starts[bad])))
            indptr, places = gathered(out.rows.indptr, good)
            rows = Csr(indptr, out.rows.indices[places], out.rows.values[places])
            out = Written(rows, out.y[good], out.weight[good], out.line_of_row[good], faults)
            spans, starts = spans[places], starts[good]
            groups, counts = groups[places], counts[good]
        sizes = counts + np.diff(out.rows.indptr)
        first = 0
        for end in cut_rows(sizes, PART):
            last = end == len(sizes)
            # Lines that are refused go with the rows before them.
            count = len(faults) if last else int(faults.searchsorted(starts[end]))
            part = out.part(first, end)
            total = int(sizes[first:end].sum())
            rows = self._expanded(buffer, spans, part.rows, groups, terms, total)
            part = part._replace(rows=rows, faults=faults)
            yield parsed(part, int(lines) if last else 0, count)
            first, faults = end, faults[count:]

    def _multiplied(
        self, buffer: NDArray[np.uint8], out: Written, spans: NDArray[np.uint32]
    ) -> tuple[NDArray[np.uint8], Terms, NDArray[np.uint64], NDArray[np.bool_]]:
        """Return groups of features, terms, numbers of products by row, and rows to refuse."""
        begins = spans[:, 0]
        groups = np.where(spans[:, 1] > begins, buffer[begins], np.uint8(ord(" ")))
        terms = as_matrix(self.interactions.terms(bytes(np.unique(groups).tolist())))
        counts = count_products(out.rows, groups, terms)
        bad = counts > MOST_PRODUCTS
        if self._reserved:
            features = called(buffer, spans, self._reserved).astype(np.uint64)
            bad[out.rows.indptr.searchsorted(features, side="right") - 1] = True
        return groups, terms, counts, bad

    def _expanded(
        self,
        buffer: NDArray[np.uint8],
        spans: NDArray[np.uint32],
        rows: Csr,
        groups: NDArray[np.uint8],
        terms: Terms,
        total: int,
    ) -> Csr:
        """Return the rows with their products, `total` features in all, and the constant."""
        rows, parts = multiplied(rows, groups, terms, self.features.last, total, self.named)
        if self.named:
            written, names = names_of(buffer, spans, parts), self.features.names
            if isinstance(names, HashedNames):
                names.remember_all(*written, rows.indices)
            else:
                rows = rows._replace(indices=self.features.columns_of(*written))
        return settled(rows, self.features.constant_column, self.features.constant)

    def explain(self, line: bytes) -> Malformed:
        """Return the reason why a line is refused."""
        buffer, stop = padded(line)
        out, spans, _, (*_, refused, _, _, token) = self._read(buffer, stop)
        if refused:
            return refusal(line, int(token))
        if self._reserved and len(called(buffer, spans, self._reserved)):
            expected = "another name: this is that of the constant feature"
            return Malformed(line.find(self._reserved), self._reserved, expected)
        (number,) = self._multiplied(buffer, out, spans)[2]
        many = f"interactions of at most {MOST_PRODUCTS} products"
        finite = "interactions whose values are finite"
        return Malformed(0, line, many if number == MOST_PRODUCTS + 1 else finite)


def open_vw(
    inputs: Inputs, reading: Reading, names: FeatureNames | None = None, grow: bool = True
) -> TextStream:
    """Open Vowpal Wabbit's text format as a stream of blocks."""
    labels = reading.labels
    if isinstance(labels, tuple) and any(isinstance(one, str) for one in labels):
        raise ArgumentError("labels", "labels of this format are numbers", labels)
    text = VwFormat(reading, names, grow)
    features = text.features
    width = 0 if features.exact else features.width
    return TextStream(
        Source(inputs, encoding=reading.encoding), text, reading, width=width, names=features.names
    )
