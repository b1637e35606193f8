"""CSV and TSV with a header, plain or compressed, as a stream of blocks.

`columns` has the rules for what columns are, `csv_rows` the grammar of lines.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from noregret.streams.block import Csr
from noregret.streams.column_products import ColumnProducts
from noregret.streams.columns import (
    CATEGORY,
    CLASS,
    DATE,
    FEATURES,
    ID,
    LABEL,
    NAMED_LABEL,
    NUMBER,
    SKIPPED,
    TEXT,
    WEIGHT,
    missing_note,
)
from noregret.streams.csv_grammar import Grammar
from noregret.streams.csv_head import column_names, learn_grammar
from noregret.streams.csv_records import QuotedLines
from noregret.streams.csv_rows import ABSENT, LineRules, Texts, parse_lines, spell
from noregret.streams.errors import Malformed, StreamError
from noregret.streams.features import Features, without_unknown
from noregret.streams.format import Deferred, Parsed, Written, check_text, explained
from noregret.streams.inputs import Inputs
from noregret.streams.moments import PARTS, part_names
from noregret.streams.names import NO_ROOM, FeatureNames, Spelled, split_names
from noregret.streams.order import order_rows
from noregret.streams.reading import Reading
from noregret.streams.slabs import Slabs
from noregret.streams.source import Source
from noregret.streams.stream import TextStream
from noregret.streams.words import BAG, with_bags


def _writable(text: bytes) -> NDArray[np.uint8]:
    """Return bytes as an array that can be written to: kernels are compiled for one kind."""
    return np.frombuffer(bytearray(text), np.uint8)


_ABSENT = _writable(b"missing")


class CsvFormat:
    """Separated values whose columns are known."""

    def __init__(
        self,
        grammar: Grammar,
        features: Features,
        dtype: str = "float64",
        products: ColumnProducts | None = None,
    ):
        self.grammar = grammar
        self.features = features
        self.dtype = np.dtype(dtype)
        self._slabs = Slabs()
        self._products = products
        fields = len(grammar.roles)
        numbers = [f for f, role in enumerate(grammar.roles) if role == NUMBER]
        columns = features.columns([grammar.names[f] for f in numbers])
        slots = np.full(fields, NO_ROOM, np.uint32)
        slots[numbers] = columns
        roles = np.array(grammar.roles, np.uint8)
        # With a frozen dictionary, skip columns that it does not contain.
        roles[numbers] = np.where(columns == NO_ROOM, SKIPPED, NUMBER)
        parts = self._parts()
        constant_slot = features.constant_column
        if products:
            # The kernel writes which field a feature is of; its column and group are looked up.
            own = np.concatenate([slots, parts.ravel(), [np.uint32(constant_slot)]])
            groups = np.array([products.groups.get(name, 0) for name in grammar.names], np.uint8)
            self._own, self._groups = own, np.concatenate([groups, groups.repeat(PARTS), [0]])
            slots = np.arange(fields, dtype=np.uint32)
            places = np.arange(fields, len(own) - 1, dtype=np.uint32).reshape(parts.shape)
            parts = np.where(parts == NO_ROOM, NO_ROOM, places)
            constant_slot = len(own) - 1
        pairs = zip(grammar.names, grammar.roles, strict=True)
        prefixes = [b"" if role in (CLASS, ID) else f"{name}=".encode() for name, role in pairs]
        self._prefixes = _writable(b"".join(prefixes))
        self._prefix_ends = np.cumsum([0, *map(len, prefixes)]).astype(np.uint64)
        pair = [name.encode() for name in grammar.pair or ("", "")]
        self._rules = LineRules(
            separator=np.uint8(grammar.separator[0]),
            roles=roles,
            slots=slots,
            parts=parts,
            pair=_writable(b"".join(pair)),
            negative_length=np.uint64(len(pair[0])),
            indicate=grammar.indicate,
            unlabelled=grammar.unlabelled,
            largest=grammar.largest,
            constant=features.constant,
            constant_slot=np.uint32(constant_slot),
        )
        named = CATEGORY in grammar.roles or TEXT in grammar.roles or bool(products)
        #: Whether no line changes what is known about later ones; missing values wait for it.
        self.parallel = not (named and features.grows)
        self._defers = grammar.indicate and features.grows and self.parallel
        self._ascending = not products and DATE not in grammar.roles and features.ascending(columns)

    def _parts(self) -> NDArray[np.uint32]:
        """Return the columns of the parts of dates, of each field."""
        parts = np.full((len(self.grammar.roles), PARTS), NO_ROOM, np.uint32)
        for f, (name, role) in enumerate(zip(self.grammar.names, self.grammar.roles, strict=True)):
            if role == DATE:
                columns = self.features.columns(part_names(name, name in self.grammar.timed))
                parts[f, : len(columns)] = columns
        return parts

    @property
    def target(self) -> str | None:
        """The name of the column that holds the labels."""
        labels = (self.grammar.columns(role) for role in (LABEL, NAMED_LABEL, CLASS))
        return next((name for names in labels for name in names), None)

    @property
    def numeric(self) -> list[str]:
        """The names of the columns that are numbers."""
        return self.grammar.columns(NUMBER)

    @property
    def categorical(self) -> list[str]:
        """The names of the columns that are categories."""
        return self.grammar.columns(CATEGORY)

    @property
    def dates(self) -> list[str]:
        """The names of the columns that are dates or moments."""
        return self.grammar.columns(DATE)

    def parse(self, buffer: NDArray[np.uint8], stop: int) -> Parsed | Deferred:
        """Return the rows of buffer[:stop]; later, if names of missing values must be in order."""
        check_text(buffer, stop)
        # A line has two bytes at least, and so has a feature, unless its value may be missing;
        # the last line may be given up after its constant, and one place is written in advance.
        most_rows = len(buffer) // 2 + 1
        roles = self.grammar.roles
        field = 1 if self.grammar.indicate or ID in roles else 2
        most = len(buffer) // field + 2
        if self.features.constant:
            # In a line whose fields are all features, the constant is one more.
            most += len(buffer) // (field * len(roles))
        out = Written.take(self._slabs, most_rows, most, self.dtype)
        spells = self.grammar.indicate or not {CATEGORY, TEXT, CLASS, ID}.isdisjoint(roles)
        most_texts = most if spells else 0
        texts = Texts(
            self._slabs.take(np.uint32, 4 * most_texts).reshape(most_texts, 4),
            self._slabs.take(np.uint8, most_texts),
        )
        counts = parse_lines(buffer, np.uint64(stop), self._rules, out, texts)
        lines, rows, bad, met = map(int, counts)
        out = out._replace(indptr=out.indptr[: rows + 1])
        texts, classes, ids = Texts(texts.refs[:met], texts.styles[:met]), None, None
        if CLASS in roles:
            own, texts = self._apart(texts, CLASS)
            classes = self._classes(buffer, own, out.y)
        if ID in roles:
            own, texts = self._apart(texts, ID)
            ids = split_names(*self._spell(buffer, own))
        names = self._spell(buffer, texts) if len(texts.refs) else None

        def finish() -> Parsed:
            found = self._finished(out.csr, texts, names)
            return out._replace(**found._asdict()).parsed(
                rows,
                lines,
                bad,
                self.features.width,
                WEIGHT in roles,
                classes=classes,
                ids=ids,
                notes=self._notes(texts),
            )

        if names is not None and self._defers:
            return Deferred(out.faults[:bad], finish)
        return finish()

    def _apart(self, texts: Texts, role: int) -> tuple[Texts, Texts]:
        """Return the texts of fields with a role, and the others."""
        own = self._rules.roles[texts.refs[:, 1]] == role
        return Texts(texts.refs[own], texts.styles[own]), Texts(
            texts.refs[~own], texts.styles[~own]
        )

    def _finished(self, rows: Csr, texts: Texts, names: Spelled | None) -> Csr:
        """Return rows with the columns of names, words and products, in order."""
        places, fields = texts.refs[:, 0], texts.refs[:, 1]
        groups = None
        if self._products:
            used = int(rows.indptr[-1])
            # Places of names hold no field yet; those of the constant have no group.
            rows.indices[places] = len(self._own) - 1
            groups = self._groups[rows.indices[:used]]
            groups[places] = self._groups[fields]
            rows.indices[:used] = self._own[rows.indices[:used]]
        if names is not None and TEXT not in self.grammar.roles:
            rows.indices[places] = self.features.columns_of(*names)
        elif names is not None:
            bags = (self._rules.roles[fields] == TEXT) & (texts.styles != ABSENT)
            spelled, counts = self._with_words(names, fields, np.flatnonzero(bags))
            columns = self.features.columns_of(*spelled)
            ends = np.cumsum(counts)
            rows.indices[places[~bags]] = columns[(ends - counts)[~bags]]
            rows.indices[places[bags]] = BAG
            words = np.split(columns, ends[:-1])
            held = [words[k] for k in np.flatnonzero(bags).tolist()]
            rows, groups = with_bags(rows, groups, held)
        if self._products and groups is not None:
            rows = self._products.multiplied(rows, groups, self.features)
        if names is not None or self._products:
            rows = without_unknown(rows)
        if names is not None or not self._ascending:
            order_rows(*rows)
        return rows

    def _with_words(
        self, names: Spelled, fields: NDArray[np.uint32], bags: NDArray[np.intp]
    ) -> tuple[Spelled, NDArray[np.int64]]:
        """Return names in which texts are replaced by their words, and how many each gave."""
        arena, ends = names
        counts = np.ones(len(fields), np.int64)
        if not len(bags):
            return names, counts
        held = arena.tobytes()
        pieces: list[bytes] = []
        lengths: list[NDArray[np.uint64]] = []
        done = 0
        for k in bags.tolist():
            pieces.append(held[ends[done] : ends[k]])
            lengths.append(np.diff(ends[done : k + 1]))
            column = self.grammar.names[fields[k]]
            text = held[int(ends[k]) + len(column.encode()) + 1 : int(ends[k + 1])]
            words = self.grammar.words.names(column, text.decode("utf-8", "replace"))
            keys = [word.encode() for word in words]
            pieces += keys
            lengths.append(np.array([len(key) for key in keys], np.uint64))
            counts[k], done = len(keys), k + 1
        pieces.append(held[ends[done] :])
        lengths.append(np.diff(ends[done:]))
        stops = np.zeros(int(counts.sum()) + 1, np.uint64)
        np.cumsum(np.concatenate(lengths), out=stops[1:])
        return (_writable(b"".join(pieces)), stops), counts

    def _notes(self, texts: Texts) -> tuple[str, ...]:
        """Return remarks about the columns in which a value is missing."""
        fields = texts.refs[texts.styles == ABSENT, 1]
        found = np.flatnonzero(np.bincount(fields)) if len(fields) else ()
        return tuple(missing_note(self.grammar.names[int(f)]) for f in found)

    def _classes(
        self, buffer: NDArray[np.uint8], texts: Texts, y: NDArray[np.float64]
    ) -> list[str]:
        """Return the names of the classes met, and write into y which row has which."""
        names = FeatureNames()
        y[texts.refs[:, 0]] = names.columns_of(*self._spell(buffer, texts))
        return list(names)

    def _spell(self, buffer: NDArray[np.uint8], texts: Texts) -> Spelled:
        """Return the names of the categories met one after the other, and where they end."""
        refs, styles = texts
        lengths = np.diff(self._prefix_ends)[refs[:, 1]]
        lengths += np.where(styles == ABSENT, len(_ABSENT), refs[:, 3] - refs[:, 2])
        arena = np.empty(int(lengths.sum()), np.uint8)
        ends = np.empty(len(styles) + 1, np.uint64)
        spell(buffer, texts, self._prefixes, self._prefix_ends, _ABSENT, arena, ends)
        return arena, ends

    def explain(self, line: bytes) -> Malformed:
        """Return the reason why a line is refused."""
        return explained(self.grammar.read, line)


def open_csv(
    inputs: Inputs, reading: Reading, names: FeatureNames | None = None, grow: bool = True
) -> TextStream:
    """Open separated values as a stream of blocks; `stream.format` tells what its columns are."""
    mark = b"\t" if reading.format == "tsv" else reading.separator.encode()
    check_header = _SameHeader() if reading.header else None
    source = Source(inputs, check_header, QuotedLines(mark), reading.encoding)
    where = source.inputs[0].name
    columns = column_names(source.first_line(), mark, reading.header, where)
    grammar, notes = learn_grammar(columns, source.head, mark, reading, where)
    features = Features.of(reading, names, grow)
    features.refuse_intercept(grammar.columns(NUMBER), where)
    held = [name for role in FEATURES for name in grammar.columns(role)]
    products = ColumnProducts(reading.interactions, held, where) if reading.interactions else None
    text = CsvFormat(grammar, features, reading.dtype, products)
    return TextStream(source, text, reading, labels=grammar.pair, names=features.names, notes=notes)


class _SameHeader:
    """Refuses inputs whose header is not that of the first."""

    def __init__(self) -> None:
        self._first: tuple[bytes, str] | None = None

    def __call__(self, line: bytes, name: str) -> None:
        self._first = self._first or (line, name)
        if line != self._first[0]:
            found = line.decode("utf-8", "backslashreplace")
            raise StreamError(
                f"{name}, line 1: found the header {found!r:.60}, expected that of {self._first[1]}"
            )
