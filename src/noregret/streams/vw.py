"""Streams of Vowpal Wabbit's text format; `vw_grammar` defines it.

Features are hashed to the slots where Vowpal Wabbit has them, or get columns of their own by
an exact dictionary of their names.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noregret.streams.block import Csr
from noregret.streams.errors import Malformed, StreamError
from noregret.streams.features import INTERCEPT, Features, largest_of
from noregret.streams.format import Parsed, Written, check_text, padded
from noregret.streams.hashing import mask
from noregret.streams.inputs import Inputs
from noregret.streams.interactions import (
    MOST_PRODUCTS,
    Interactions,
    Terms,
    as_matrix,
    count_products,
    multiplied,
)
from noregret.streams.names import FeatureNames, HashedNames
from noregret.streams.order import order_rows
from noregret.streams.reading import Reading
from noregret.streams.slabs import Slabs
from noregret.streams.source import Source, most_lines
from noregret.streams.sparse import gathered, settled, summed
from noregret.streams.stream import TextStream
from noregret.streams.vw_grammar import refusal, tag_of
from noregret.streams.vw_lines import SPANS, LineRules, read_lines
from noregret.streams.vw_names import called, names_of

_ALL = 0xFFFFFFFF
#: At most this many features and products are held at once, unless a single line has more.
PART = 1 << 20


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

    def _read(
        self, buffer: NDArray[np.uint8], stop: int
    ) -> tuple[Written, NDArray[np.uint32], NDArray[np.uint64], tuple[Any, ...]]:
        """Return what the kernel writes: rows, of each feature its spans, of each row its start.

        Spans and starts are empty unless names or products need them. The results of `read_lines`
        come last.
        """
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
        found = read_lines(buffer, np.uint64(stop), rules, out, spans, starts)
        rows = int(found[0])
        out = out.rows(0, rows)
        return out, spans[: int(out.indptr[rows])], starts[:rows], found

    def parse(self, buffer: NDArray[np.uint8], stop: int) -> Iterator[Parsed]:
        """Yield the rows of buffer[:stop], each with ascending columns; in parts if products."""
        out, spans, starts, (_, lines, refused, weighted, falls, _) = self._read(buffer, stop)
        held = buffer[:stop].tobytes().split(b"\n") if self._tagged else []

        def parsed(part: Written, lines: int, refused: int) -> Parsed:
            ids = [tag_of(held[k]) for k in part.line_of_row.tolist()] if self._tagged else None
            facts = len(part.y), lines, refused, self.features.width, bool(weighted)
            return part.parsed(*facts, ids=ids)

        if not (self.named or self.interactions):
            if falls:
                order_rows(*out.csr)
            yield parsed(out, int(lines), int(refused))
            return
        groups, terms, counts, bad = self._multiplied(buffer, out, spans)
        faults = out.faults[: int(refused)]
        if bad.any():
            good = np.flatnonzero(~bad)
            faults = np.sort(np.concatenate((faults, starts[bad])))
            indptr, places = gathered(out.indptr, good)
            beside = [array[good] for array in (out.y, out.weight, out.line_of_row)]
            out = Written(indptr, out.indices[places], out.values[places], *beside, faults)
            spans, starts = spans[places], starts[good]
            groups, counts = groups[places], counts[good]
        sizes = counts + np.diff(out.indptr)
        first = 0
        for end in cut_rows(sizes, PART):
            last = end == len(sizes)
            # Lines that are refused go with the rows before them.
            count = len(faults) if last else int(faults.searchsorted(starts[end]))
            part = out.rows(first, end)
            total = int(sizes[first:end].sum())
            arrays = self._expanded(buffer, spans, part.csr, groups, terms, total)
            part = part._replace(**arrays._asdict(), faults=faults)
            yield parsed(part, int(lines) if last else 0, count)
            first, faults = end, faults[count:]

    def _multiplied(
        self, buffer: NDArray[np.uint8], out: Written, spans: NDArray[np.uint32]
    ) -> tuple[NDArray[np.uint8], Terms, NDArray[np.uint64], NDArray[np.bool_]]:
        """Return groups of features, terms, numbers of products by row, and rows to refuse."""
        begins = spans[:, 0]
        groups = np.where(spans[:, 1] > begins, buffer[begins], np.uint8(ord(" ")))
        terms = as_matrix(self.interactions.terms(bytes(np.unique(groups).tolist())))
        counts = count_products(out.csr, groups, terms)
        bad = counts > MOST_PRODUCTS
        if self._reserved:
            features = called(buffer, spans, self._reserved).astype(np.uint64)
            bad[out.indptr.searchsorted(features, side="right") - 1] = True
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
        rows, parts = multiplied(rows, groups, terms, self._last, total, self.named)
        names = self.features.names
        if self.named:
            written = names_of(buffer, spans, parts)
            if isinstance(names, HashedNames):
                names.remember_all(*written, rows.indices)
            else:
                rows = rows._replace(indices=names.columns_of(*written, self.grow))
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


def cut_rows(sizes: NDArray[np.uint64], most: int) -> list[int]:
    """Return where to cut rows of these sizes so that no part is larger, or it is one row.

    >>> cut_rows(np.array([3, 1, 1, 9, 2], np.uint64), 4)
    [2, 3, 4, 5]
    >>> cut_rows(np.empty(0, np.uint64), 4)
    [0]
    """
    ends = summed(sizes)
    stops = [0]
    while stops[-1] < len(sizes):
        begin = stops[-1]
        reached = int(ends.searchsorted(int(ends[begin]) + most, side="right")) - 1
        stops.append(max(reached, begin + 1))
    return stops[1:] or stops


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
