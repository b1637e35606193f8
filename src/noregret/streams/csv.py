"""CSV and TSV with a header, plain or compressed, as a stream of blocks.

`columns` has the rules for what columns are, `csv_rows` the grammar of lines.
"""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from noregret.streams.block import Csr
from noregret.streams.columns import (
    CATEGORY,
    CLASS,
    DATE,
    FEATURES,
    ID,
    NUMBER,
    SKIPPED,
    WEIGHT,
    WORDS,
    having,
    missing_note,
    target_of,
)
from noregret.streams.csv_grammar import Grammar, column_names, learn_grammar
from noregret.streams.csv_records import QuotedLines
from noregret.streams.csv_rows import LineRules, Texts, parse_lines
from noregret.streams.errors import Malformed
from noregret.streams.features import ColumnProducts, Features, Words, largest_of
from noregret.streams.format import Parsed, Slabs, Written, padded
from noregret.streams.inputs import Inputs
from noregret.streams.moments import PARTS, part_names
from noregret.streams.names import NO_ROOM, FeatureNames, Spelled, laid_out, split_names
from noregret.streams.reading import Reading
from noregret.streams.source import Source
from noregret.streams.sparse import settled, with_names
from noregret.streams.stream import TextStream
from noregret.streams.texts import MISSING, Pair, spelled, woven


class CsvFormat:
    """Separated values whose columns are known."""

    def __init__(
        self, grammar: Grammar, features: Features, products: ColumnProducts | None = None
    ):
        self.grammar, self.features, self._products = grammar, features, products
        reading, roles = grammar.reading, grammar.roles
        self.target = target_of(roles)
        self.numeric, self.categorical, self.dates = (
            having(roles, role) for role in (NUMBER, CATEGORY, DATE)
        )
        self._dtype = np.dtype(reading.dtype)
        self._words = Words(reading.ngram, reading.skips)
        self._slabs = Slabs()
        kinds = np.array([*roles.values()], np.uint8)
        columns = features.columns(self.numeric)
        slots = np.full(len(kinds), NO_ROOM, np.uint32)
        slots[kinds == NUMBER] = columns
        # With a frozen dictionary, skip columns that it does not contain.
        kinds[(kinds == NUMBER) & (slots == NO_ROOM)] = SKIPPED
        # The columns of the parts of dates, of each field.
        parts = np.full((len(kinds), PARTS), NO_ROOM, np.uint32)
        for f, (name, role) in enumerate(roles.items()):
            if role == DATE:
                found = features.columns(part_names(name, name in grammar.timed))
                parts[f, : len(found)] = found
        constant_slot = features.constant_column
        if products:
            # The kernel writes which field a feature is of; its column and group are looked up.
            own = np.concatenate([slots, parts.ravel(), [np.uint32(constant_slot)]])
            groups = np.array([products.groups.get(name, 0) for name in roles], np.uint8)
            self._own, self._groups = own, np.concatenate([groups, groups.repeat(PARTS), [0]])
            slots = np.arange(len(kinds), dtype=np.uint32)
            places = np.arange(len(kinds), len(own) - 1, dtype=np.uint32).reshape(parts.shape)
            parts = np.where(parts == NO_ROOM, NO_ROOM, places)
            constant_slot = len(own) - 1
        # The names of classes and ids are those of their texts, after an equals sign.
        keys = ["" if role in (CLASS, ID) else name for name, role in roles.items()]
        self._keys, self._key_ends = laid_out(keys)
        self._indicates = reading.missing == "indicator"
        self._rules = LineRules(
            separator=np.uint8(grammar.separator[0]),
            roles=kinds,
            slots=slots,
            parts=parts,
            pair=Pair.of(grammar.pair),
            indicate=self._indicates,
            unlabelled=reading.unlabelled == "keep",
            largest=largest_of(reading.dtype),
            constant=features.constant,
            constant_slot=np.uint32(constant_slot),
        )
        named = {CATEGORY, WORDS} & {*roles.values()} or products
        #: Whether no line changes what is known about later ones; missing values wait for it.
        self.parallel = not (named and features.grows)
        self._defers = self._indicates and features.grows and self.parallel
        self._ascending = not products and not self.dates and features.ascending(columns)

    def _read(self, buffer: NDArray[np.uint8], stop: int) -> tuple[Written, Texts, list[int]]:
        """Return what the kernel writes, and its counts."""
        roles = [*self.grammar.roles.values()]
        # A line has two bytes at least, and so has a feature, unless its value may be missing;
        # the last line may be given up after its constant, and one place is written in advance.
        field = 1 if self._indicates or ID in roles else 2
        most = len(buffer) // field + 2
        if self.features.constant:
            # In a line whose fields are all features, the constant is one more.
            most += len(buffer) // (field * len(roles))
        out = Written.take(self._slabs, buffer, stop, len(buffer) // 2 + 1, most, self._dtype)
        spells = self._indicates or not {CATEGORY, WORDS, CLASS, ID}.isdisjoint(roles)
        texts = Texts.take(self._slabs, most if spells else 0)
        counts = list(map(int, parse_lines(buffer, np.uint64(stop), self._rules, out, texts)))
        met = counts[3]
        return out, Texts(texts.refs[:met], texts.styles[:met]), counts

    def parse(self, buffer: NDArray[np.uint8], stop: int) -> Parsed:
        """Return the rows of buffer[:stop]; they finish later if names must be in order."""
        out, texts, (lines, rows, bad, _, _) = self._read(buffer, stop)
        roles = {*self.grammar.roles.values()}
        classes = ids = None
        if CLASS in roles:
            own, texts = texts.apart(self._rules.roles == CLASS)
            names = FeatureNames()
            out.y[own.refs[:, 0]] = names.columns_of(*self._spell(buffer, own))
            classes = [name[1:] for name in names]
        if ID in roles:
            own, texts = texts.apart(self._rules.roles == ID)
            ids = [name[1:] for name in split_names(*self._spell(buffer, own))]
        spelt = self._names(buffer, texts) if len(texts.refs) else None
        columns, absent = [*self.grammar.roles], texts.refs[texts.styles == MISSING, 1]
        notes = tuple(missing_note(columns[f]) for f in np.unique(absent).tolist())
        facts = {"classes": classes, "ids": ids, "notes": notes}
        parsed = out.parsed(rows, lines, bad, self.features.width, WEIGHT in roles, **facts)

        def finish() -> None:
            parsed.rows = self._finished(parsed.rows, texts, spelt)
            parsed.width = self.features.width

        if spelt is not None and self._defers:
            parsed.finish = finish
        else:
            finish()
        return parsed

    def _spell(self, buffer: NDArray[np.uint8], texts: Texts) -> Spelled:
        """Return the names of texts, "column=text"."""
        fields = texts.refs[:, 1]
        spans = texts.refs.copy()
        spans[:, 0], spans[:, 1] = self._key_ends[fields], self._key_ends[fields + np.uint32(1)]
        return spelled(self._keys, buffer, spans, texts.styles)

    def _names(
        self, buffer: NDArray[np.uint8], texts: Texts
    ) -> tuple[Spelled, NDArray[np.int64] | None]:
        """Return the names of texts or of their words, and how many each has if not one."""
        if WORDS not in self.grammar.roles.values():
            return self._spell(buffer, texts), None
        columns, fields = [*self.grammar.roles], texts.refs[:, 1]
        bags = (self._rules.roles[fields] == WORDS) & (texts.styles != MISSING)
        arena, ends = self._spell(buffer, Texts(texts.refs[bags], texts.styles[bags]))
        spans = itertools.pairwise(ends.tolist())
        counts, words = np.ones(len(fields), np.int64), []
        for k, (begin, end) in zip(np.flatnonzero(bags).tolist(), spans, strict=True):
            column = columns[fields[k]]
            text = arena[begin + len(column.encode()) + 1 : end].tobytes()
            found = self._words.names(column, text.decode("utf-8", "replace"))
            counts[k] = len(found)
            words += found
        others = self._spell(buffer, Texts(texts.refs[~bags], texts.styles[~bags]))
        return woven(others, laid_out(words), np.repeat(~bags, counts)), counts

    def _finished(
        self, rows: Csr, texts: Texts, names: tuple[Spelled, NDArray[np.int64] | None] | None
    ) -> Csr:
        """Return rows with the columns of names, words and products, in order."""
        places, groups = texts.refs[:, 0], None
        if self._products:
            # Places of names hold no field yet; those of the constant have no group.
            rows.indices[places] = len(self._own) - 1
            groups = self._groups[rows.indices]
            groups[places] = self._groups[texts.refs[:, 1]]
            rows.indices[:] = self._own[rows.indices]
        if names is not None:
            columns, counts = self.features.columns_of(*names[0]), names[1]
            if counts is None:
                rows.indices[places] = columns
            else:
                rows, groups = with_names(rows, groups, places, counts, columns)
        if self._products and groups is not None:
            rows = self._products.multiplied(rows, groups, self.features)
        elif names is None and self._ascending:
            return rows
        return settled(rows)

    def explain(self, line: bytes) -> Malformed:
        """Return the reason why a line is refused."""
        return self.grammar.refusal(line, self._read(*padded(line))[2][-1])


def open_csv(
    inputs: Inputs, reading: Reading, names: FeatureNames | None = None, grow: bool = True
) -> TextStream:
    """Open separated values as a stream of blocks; `stream.format` tells what its columns are."""
    mark = b"\t" if reading.format == "tsv" else reading.separator.encode()
    source = Source(inputs, reading.header, QuotedLines(mark), reading.encoding)
    where = source.inputs[0].name
    columns = column_names(source.peek().first_line(), mark, reading.header, where)
    grammar, notes = learn_grammar(columns, source.peek().head, mark, reading, where)
    features = Features.of(reading, names, grow)
    features.refuse_intercept(having(grammar.roles, NUMBER), where)
    held = having(grammar.roles, *FEATURES)
    products = ColumnProducts(reading.interactions, held, where) if reading.interactions else None
    text = CsvFormat(grammar, features, products)
    return TextStream(source, text, reading, labels=grammar.pair, names=features.names, notes=notes)
