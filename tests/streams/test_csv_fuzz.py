"""CSV: the kernel and the grammar in plain Python agree on every text, however it was spoilt."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from noregret.streams import source
from noregret.streams.columns import CATEGORY, DATE, LABEL, NAMED_LABEL, NUMBER, SKIPPED, WEIGHT
from noregret.streams.csv import CsvFormat
from noregret.streams.csv_grammar import Grammar, sound_rows, split_fields
from noregret.streams.errors import Malformed
from noregret.streams.features import INTERCEPT, Features
from noregret.streams.format import padded
from noregret.streams.reading import Reading
from tests.sizes import sized
from tests.streams.decimals import decimal
from tests.streams.named_rows import examples_of
from tests.streams.opening import open_csv
from tests.streams.plain_csv import Plain, Row

ROLES = (NUMBER, CATEGORY, SKIPPED, WEIGHT, LABEL)


def grammar_of(
    names: Iterable[str],
    roles: Iterable[int],
    pair: tuple[str, str] | None = None,
    separator: bytes = b",",
    timed: Iterable[str] = (),
    **options: Any,
) -> Grammar:
    """Return a grammar; options of its reading may be flags."""
    if options.pop("indicate", False) is False:
        options["missing"] = "refuse"
    if options.pop("unlabelled", False):
        options["unlabelled"] = "keep"
    if options.pop("narrow", False):
        options["dtype"] = "float32"
    columns = dict(zip(names, roles, strict=True))
    return Grammar(Reading(**options), separator, columns, pair, frozenset(timed))


#: A quoted field, line ends inside it included, or what a quote that is not closed begins.
FIELD = r' *"(?:[^"]|"")*"(?!")[^{0}\n]*|[^{0}\n]*'


def examples_in(text: bytes, separator: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield where the examples of a text begin, and their bytes: split by a regular expression."""
    mark = re.escape(separator.decode())
    pattern = re.compile(f"(?:{FIELD.format(mark)})(?:{mark}(?:{FIELD.format(mark)}))*\n".encode())
    start = 0
    while start < len(text):
        match = pattern.match(text, start)
        assert match is not None
        yield start, match.group()[:-1]
        start = match.end()


Reasons = list[tuple[bytes, Malformed]]


def rows_of(text: bytes, grammar: Grammar) -> tuple[list[tuple[int, Row]], list[int], Reasons]:
    """Return the rows of a text with their lines, where lines that are refused begin, and why."""
    reasons: Reasons = []
    rows, refused, plain = [], [], Plain(grammar)
    for start, line in examples_in(text, grammar.separator):
        try:
            row = plain.read(line)
        except Malformed as reason:
            refused.append(start)
            reasons.append((line, reason))
        else:
            if row is not None:
                rows.append((text.count(b"\n", 0, start), row))
    return rows, refused, reasons


def check(formats: CsvFormat, text: bytes) -> None:
    """Hold the kernel to the grammar on every line of a text."""
    grammar, features = formats.grammar, formats.features
    buffer, stop = padded(text)
    parsed = formats.parse(buffer, stop)
    if parsed.finish is not None:
        parsed.finish()
    whole = bytes(buffer[:stop])
    expected, refused, reasons = rows_of(whole, grammar)
    for line, reason in reasons:
        explained = formats.explain(line)
        assert (str(explained), explained.argument) == (str(reason), reason.argument), line
    assert parsed.lines == whole.count(b"\n")
    assert parsed.faults.tolist() == refused, text
    where = parsed.line_of_row
    found = range(len(parsed.y)) if where is None else where.tolist()
    assert list(found) == [number for number, _ in expected], text
    assert parsed.width == features.width
    assert len(parsed.rows.indices) == len(parsed.rows.values) == parsed.rows.indptr[-1]
    for t, (_, row) in enumerate(expected):
        part = slice(int(parsed.rows.indptr[t]), int(parsed.rows.indptr[t + 1]))
        wanted: dict[int, float] = {}
        if features.constant:
            wanted[features.constant_column] = features.constant
        for name, value in row.features:
            name_bytes = np.frombuffer(bytearray(name), np.uint8)
            column = int(features.columns_of(name_bytes, np.array([0, len(name)], np.uint64))[0])
            kept = float(parsed.rows.values.dtype.type(value))
            wanted[column] = wanted[column] + kept if column in wanted else kept
        assert parsed.rows.indices[part].tolist() == sorted(wanted), text
        values = np.array([wanted[column] for column in sorted(wanted)], parsed.rows.values.dtype)
        assert parsed.rows.values[part].tobytes() == values.tobytes(), text
        assert repr(float(parsed.y[t])) == repr(row.label), text
        if parsed.weight is not None:
            assert parsed.weight[t] == row.weight


NUMBERS = b"1 0 -2.5e3 1e400 3e38 4e38 12345678901234567890123 0.1 +.5 5. 1_0 inf".split()
TEXTS = [b"x", b"NA", b"NaN", b"nan", b"?", b"", b" ", b"up", b"down", b"\xff", b";"]
MARKS = [b",", b",", b",", b",", b'"', b'""', b"\n", b"\r\n", b"\r", b'"1"', b'"a, ""b"""']
TOKENS = st.sampled_from(NUMBERS + TEXTS + MARKS)
#: Lines of which many are examples: five fields, most of them of the right kind.
FIELDS = [NUMBERS, TEXTS, TEXTS, [b"2", b"0.5", b"-1", b"-0", b""], [b"1", b"up", b"down", b"?"]]
LINE = st.tuples(*(st.sampled_from(field) | TOKENS for field in FIELDS)).map(b",".join)
LINES = st.lists(LINE, max_size=8).map(b"\n".join)


@given(
    text=st.lists(TOKENS, max_size=40).map(b"".join) | LINES,
    named=st.booleans(),
    indicate=st.booleans(),
    unlabelled=st.booleans(),
    narrow=st.booleans(),
)
@settings(max_examples=sized(100, 400))
@example(b'1,a,"x\n",1,2\n', False, False, False, False)
@example(b'z,a,"x\n",1,2\n1,a,"x,1,2\n', False, False, False, False)
@example(b',,,,\n"",?,,0,NA\r\n', False, True, True, False)
def test_the_kernel_reads_what_the_grammar_reads(text, named, indicate, unlabelled, narrow):
    roles = ROLES[:-1] + ((NAMED_LABEL,) if named else (LABEL,))
    pair = ("down", "up") if named else None
    flags = {"indicate": indicate, "unlabelled": unlabelled, "narrow": narrow}
    check(CsvFormat(grammar_of("abcde", roles, pair, **flags), Features()), text)


@pytest.mark.parametrize("written", [b'"5"" nail"', b'"5"" nail" \r', b' "5"" nail"'])
def test_names_of_labels_may_hold_quotes(written):
    grammar = grammar_of("ay", (NUMBER, NAMED_LABEL), ('5" nail', '5"" nail'))
    formats = CsvFormat(grammar, Features())
    text = b"1," + written + b'\n2,"5"""" nail"\n3,"5 nail"\n4,5" nail\n5,5"" nail\n'
    check(formats, text)
    assert formats.parse(*padded(text)).y.tolist() == [-1.0, 1.0, -1.0, 1.0]


def test_a_name_of_a_label_is_not_missing_though_it_looks_so():
    grammar = grammar_of("ay", (NUMBER, NAMED_LABEL), ("NA", "EU"), unlabelled=True)
    formats = CsvFormat(grammar, Features())
    check(formats, b"1,NA\n2,EU\n3,\n4,?\n5,NaN\n")
    assert formats.parse(*padded(b"1,NA\n2,EU\n")).y.tolist() == [-1.0, 1.0]


@pytest.mark.parametrize("line", [b"1,2", b"1,", b",", b",2"])
@pytest.mark.parametrize("indicate", [False, True])
@pytest.mark.parametrize("roles", [(NUMBER, NUMBER), (NUMBER, LABEL), (CATEGORY, SKIPPED)])
def test_there_is_room_for_a_constant_in_the_shortest_lines(line, indicate, roles):
    grammar = grammar_of("ab", roles, indicate=indicate, unlabelled=True)
    check(CsvFormat(grammar, Features(constant=0.5)), (line + b"\n") * sized(80, 400))


def made(rng: random.Random) -> CsvFormat:
    """Return a format of two to six columns of any kind."""
    kinds = [NUMBER, NUMBER, CATEGORY, SKIPPED, DATE]
    roles = [rng.choice(kinds) for _ in range(rng.randint(2, 6))]
    pair = rng.choice([None, ("down", "up"), ('a"b', "NA"), ("", "x y")])
    unlabelled = rng.random() < 0.5
    if not unlabelled or rng.random() < 0.7:
        roles[rng.randrange(len(roles))] = LABEL if pair is None else NAMED_LABEL
    if rng.random() < 0.3 and SKIPPED in roles:
        roles[roles.index(SKIPPED)] = WEIGHT
    narrow = rng.random() < 0.3
    names = [f"column {k}" if rng.random() < 0.9 else f"é{k}" for k in range(len(roles))]
    grammar = grammar_of(
        separator=rng.choice([b",", b",", b";", b"\t", b":"]),
        names=names,
        timed=[name for name in names if rng.random() < 0.5],
        roles=roles,
        pair=pair,
        indicate=rng.random() < 0.5,
        unlabelled=unlabelled,
        narrow=narrow,
    )
    bits = rng.choice([None, None, None, 3, 18])
    features = Features(bits, constant=rng.choice([0.0, 0.0, 0.5]))
    return CsvFormat(grammar, features)


PLAIN = [b"x", b"a b", b" y ", b"", b"?", b"NA", b'say "no"', b"\xc3\xa9", b'"q"', b'"a ""b"""']
PLAIN += [b'"two\nlines"', b'"\r\n, ""\n"']
DATES = [b"2024-02-29", b"1970-01-01", b"1969-12-31T23:59:59.5Z", b"2001-09-09 01:46:40+0200"]


def field(rng: random.Random, role: int, pair: tuple[str, str] | None) -> bytes:
    if rng.random() < 0.05:
        return rng.choice(PLAIN)
    if role == DATE:
        return rng.choice(DATES)
    if role == NUMBER and rng.random() < 0.1:
        return rng.choice([b"true", b"False", b"TRUE", b"tRUE", b"fALSE", b"falsE", b"truex"])
    if role in (NUMBER, LABEL, WEIGHT):
        text = rng.choice([b"0", b"1", b"7", b"2.5", decimal(rng).encode()])
        return rng.choice([text] * 8 + [b'"' + text + b'"', b" " + text, text + b" "])
    text = rng.choice(pair).encode() if role == NAMED_LABEL and pair else rng.choice(PLAIN[:3])
    return b'"' + text.replace(b'"', b'""') + b'"' if rng.random() < 0.4 else text


def lines(rng: random.Random, grammar: Grammar) -> bytes:
    """Return a few lines, most of them sound."""
    rows = []
    for _ in range(rng.randint(1, 6)):
        row = [field(rng, role, grammar.pair) for role in grammar.roles.values()]
        rows.append(grammar.separator.join(row) + rng.choice([b"\n", b"\n", b"\r\n", b"\n\n"]))
    return b"".join(rows)


ODD = [b'"', b'""', b",", b";", b"\t", b"\n", b"\r", b"\r\n", b"\0", b"9" * 30, b"e", b"NA", b" "]
ODD += [b"1e999", b"-", b".", b"_", b"inf", b"\xff", b"?", b'"\r', b'" ']


def spoilt(rng: random.Random, text: bytes) -> bytes:
    """Return the text with a few bytes changed, put in, taken out or doubled."""
    changed = bytearray(text)
    for _ in range(rng.choice([0, 0, 1, 1, 2, 5])):
        at = rng.randrange(len(changed) + 1)
        match rng.randrange(4):
            case 0:
                changed[at : at + 1] = bytes([rng.randrange(256)])
            case 1:
                del changed[at : at + rng.randint(1, 5)]
            case 2:
                changed[at:at] = rng.choice(ODD)
            case 3:
                changed[at:at] = changed[at : at + rng.randrange(1, 20)]
    return bytes(changed)


def test_the_first_lines_are_split_as_the_grammar_splits_them() -> None:
    rng = random.Random(0)
    met = 0
    count = sized(400, 2000)
    for _ in range(count):
        grammar = made(rng).grammar
        for line in spoilt(rng, lines(rng, grammar)).split(b"\n"):
            try:
                texts = [text for _, text in split_fields(line, grammar.separator)]
            except Malformed:
                texts = []
            fields = [k for k in range(len(texts)) if rng.random() < 0.5]
            rows = list(sound_rows([line], grammar.separator, fields, len(texts)))
            assert rows == ([[texts[k] for k in fields]] if texts else []), line
            assert not list(sound_rows([line], grammar.separator, [], len(texts) + 1))
            met += len(rows)
    assert met > 2.5 * count


def mutate(seed: int, texts: int) -> None:
    rng = random.Random(seed)
    formats = made(rng)
    for k in range(texts):
        if k % 20 == 0:
            formats = made(rng)
        check(formats, spoilt(rng, lines(rng, formats.grammar)))


def test_spoilt_lines() -> None:
    mutate(seed=0, texts=sized(500, 2000))


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", range(1, 11))
def test_many_spoilt_lines(seed: int) -> None:
    mutate(seed, texts=30_000)


@pytest.mark.each_value
@pytest.mark.parametrize("threads", [0, 2])
@pytest.mark.parametrize("chunk", [150, 333, 1000])
def test_it_does_not_matter_where_chunks_are_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int, threads: int
) -> None:
    rng = random.Random(chunk)
    grammar = grammar_of("abcy", (NUMBER, CATEGORY, NUMBER, LABEL), indicate=True)
    text = b"".join(spoilt(rng, lines(rng, grammar)) for _ in range(sized(40, 100))).replace(
        b"\0", b""
    )
    path = tmp_path / "table.csv"
    path.write_bytes(b"a,b,c,y\r\n" + text)
    options = {"categorical": "b", "numeric": ["a", "c"], "missing": "indicator", "constant": 1.0}
    reference = open_csv(path, on_error="count", threads=0, **options)
    whole = examples_of(reference)
    assert len(reference.complaints) == 10
    monkeypatch.setattr(source, "CHUNK", chunk)
    stream = open_csv(path, on_error="count", threads=threads, **options)
    assert examples_of(stream) == whole
    assert list(stream.names) == list(reference.names)
    assert (stream.refused, stream.complaints) == (reference.refused, reference.complaints)
    rows, refused, _ = rows_of(text.removesuffix(b"\n") + b"\n", grammar)
    assert len(refused) == stream.refused
    for (label, _, features), (_, row) in zip(whole, rows, strict=True):
        assert label == row.label and features.pop(INTERCEPT) == 1.0
        assert features == {
            name.decode("utf-8", "backslashreplace"): value for name, value in row.features
        }
