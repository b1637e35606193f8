"""JSON lines: what is read of any text is what Python's json module and the rules make of it."""

from __future__ import annotations

import json
import math
import random
from dataclasses import replace
from operator import attrgetter
from typing import Any

import numpy as np
import pytest

from noregret.streams.errors import Malformed
from noregret.streams.features import Features
from noregret.streams.format import Parsed, padded
from noregret.streams.jsonl import JsonFormat
from noregret.streams.reading import Reading
from noregret.streams.record_rows import RowBuilder
from tests.sizes import sized

LARGEST = float(np.finfo(np.float64).max)
NESTED = 64


class Refused(Exception):
    """A line that the rules do not allow."""


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) < len(pairs):
        raise Refused
    return dict(pairs)


def flat(value: Any, name: str, missing: bool, deep: int = 1) -> list[tuple[str, float]]:
    """Return the features of a value, the rules once more."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        if not missing:
            raise Refused
        return [(f"{name}=missing", 1.0)]
    if isinstance(value, str):
        return [(f"{name}={value}", 1.0)]
    if isinstance(value, bool | int | float):
        if not -LARGEST <= value <= LARGEST:
            raise Refused
        return [(name, float(value))] if value else []
    if isinstance(value, list):
        if not all(isinstance(word, str) for word in value):
            raise Refused
        return [(f"{name}={word}", 1.0) for word in value]
    if deep > NESTED:
        raise Refused
    return [one for key in value for one in flat(value[key], f"{name}.{key}", missing, deep + 1)]


def expected(line: bytes, missing: bool) -> tuple[float, dict[bytes, float]] | None:
    """Return label and features of a line, None if it is blank; raise Refused."""
    if not line.strip(b" \t\r"):
        return None
    try:
        record = json.loads(line.decode(), object_pairs_hook=once)
    except (ValueError, RecursionError):
        raise Refused from None
    if not isinstance(record, dict):
        raise Refused
    label = record.pop("y", None)
    if not isinstance(label, bool | int | float) or not -LARGEST <= label <= LARGEST:
        raise Refused
    total: dict[bytes, float] = {}
    for key, value in record.items():
        for name, number in flat(value, key, missing):
            written = name.encode("utf-8", "surrogatepass")
            total[written] = total.get(written, 0.0) + number
    return float(label), total


def check(formats: JsonFormat, text: bytes) -> None:
    """Compare what is read with what is expected, line by line."""
    missing = formats.reading.missing == "indicator"
    buffer, stop = padded(text)
    parsed = formats.parse(buffer, stop)
    whole = bytes(buffer[:stop])
    rows, places, faults, start = [], [], [], 0
    for number, line in enumerate(whole.split(b"\n")[:-1]):
        try:
            row = expected(line, missing)
        except Refused:
            faults.append(start)
            reason = formats.explain(line)
            assert isinstance(reason, Malformed)
            assert len(str(reason)) < 400 and "\n" not in str(reason)
        else:
            if row is not None:
                rows.append(row)
                places.append(number)
        start += len(line) + 1
    assert parsed.faults.tolist() == faults, text
    assert parsed.lines == whole.count(b"\n")
    if parsed.line_of_row is not None:
        assert parsed.line_of_row.tolist() == places
    assert parsed.y.tolist() == [label for label, _ in rows]
    for t, (_, features) in enumerate(rows):
        part = slice(int(parsed.rows.indptr[t]), int(parsed.rows.indptr[t + 1]))
        columns = parsed.rows.indices[part].tolist()
        assert columns == sorted(set(columns))
        keys = map(formats.features.names.key, columns)
        assert dict(zip(keys, parsed.rows.values[part].tolist(), strict=True)) == features, text


def scalar(rng: random.Random) -> Any:
    return rng.choice(
        [0, 1, -3, 2.5, 1e308, 2**70, True, False, None, "x", "", "é", "\ud83d", "a b", math.nan]
    )


def value(rng: random.Random, deep: int = 0) -> Any:
    kind = rng.random()
    if kind < 0.6 or deep > 3:
        return scalar(rng)
    if kind < 0.8:
        return [rng.choice(["u", "v", "ü"]) for _ in range(rng.randrange(4))]
    return {rng.choice("abc"): value(rng, deep + 1) for _ in range(rng.randrange(3))}


def lines(rng: random.Random) -> bytes:
    """Return a few lines, most of them sound."""
    texts = []
    for _ in range(rng.randint(1, 4)):
        record = {key: value(rng) for key in rng.sample(["a", "b", "a.b", "c", "é"], 3)}
        record["y"] = rng.choice([1, 0, -2.5, True, 1e9])
        texts.append(json.dumps(record, ensure_ascii=rng.random() < 0.5))
    end = rng.choice(["\n", "\r\n", "\n\n", " \n"])
    return (end.join(texts) + end).encode("utf-8", "surrogatepass")


ODD = [b'"', b"{", b"}", b"[", b"]", b",", b":", b"\n", b"\r", b"\\", b"\\u", b"\\ud800", b"\0"]
ODD += [b"9" * 25, b"e", b"-", b".", b"null", b"NaN", b"-Infinity", b"1e999", b'"y":1,', b"\xff"]
ODD += [b"1" * 5000, b'{"a":' * 70, b"[" * 2000, b"\xed\xa0\x80", b" "]


def spoilt(rng: random.Random, text: bytes) -> bytes:
    """Return the text with a few bytes changed, put in, taken out or doubled."""
    changed = bytearray(text)
    for _ in range(rng.choice([0, 1, 1, 2, 4])):
        at = rng.randrange(len(changed) + 1)
        match rng.randrange(4):
            case 0:
                changed[at : at + 1] = bytes([rng.randrange(256)])
            case 1:
                del changed[at : at + rng.randint(1, 4)]
            case 2:
                changed[at:at] = rng.choice(ODD)
            case 3:
                changed[at:at] = changed[at : at + rng.randrange(1, 20)]
    return bytes(changed)


def mutate(seed: int, texts: int) -> None:
    rng = random.Random(seed)
    for k in range(texts):
        if k % 500 == 0:
            readings = [Reading(missing=missing) for missing in ("refuse", "indicator")]
            formats = [JsonFormat(reading, Features(), "y", None) for reading in readings]
        check(formats[k % 2], spoilt(rng, lines(rng)))


FLAT = [
    0,
    1,
    -3,
    2.5,
    -0.0,
    1e-7,
    12345678901234567890,
    True,
    False,
    "x",
    "é",
    "",
    "a=b",
    "missing",
]
ODDITIES = [None, [], ["u", "v"], {"b": 1}, "a\\b", 'q"q', 1e308, 2**2000, math.inf]
LABELS = [0, 1, 1, -2.5, True, "up", "down", "3", None]
KEYS = ["a", "b", "c", "é", "w", "id", "intercept", "a=b", "z" * 40]


def record(rng: random.Random, odd: float) -> str:
    keys = rng.sample(KEYS, rng.randrange(6))
    held = {key: rng.choice(ODDITIES if rng.random() < odd else FLAT) for key in keys}
    if rng.random() < 0.95:
        held["y"] = rng.choice(LABELS)
    if rng.random() < 0.9:
        held["w"] = rng.choice([1, 0.5, 3])
    pairs = list(held.items())
    rng.shuffle(pairs)
    separators = rng.choice([(", ", ": "), (",", ":"), (" ,\t", " : ")])
    return json.dumps(dict(pairs), ensure_ascii=False, separators=separators)


def two_formats(rng: random.Random) -> list[JsonFormat]:
    """Return the same format twice, each with features of its own."""
    pair = rng.choice([None, None, ("down", "up")])
    keep = rng.choice([None, None, ("a", "b", "é")])
    reading = Reading(
        labels=pair or rng.choice(["real", "real", "classes"]),
        unlabelled=rng.choice(["refuse", "keep"]),
        missing=rng.choice(["refuse", "indicator"]),
        ignore=() if keep else rng.sample(["a", "id"], rng.randrange(2)),
        keep=keep,
        categorical=rng.choice([(), ["b"], ["b", "c"]]),
        weight=rng.choice([None, "w"]),
        dtype=rng.choice(["float64", "float32"]),
    )
    if "c" not in reading.categorical and rng.random() < 0.1:
        reading = replace(reading, text=("c",))
    if "id" not in reading.ignore and rng.random() < 0.5:
        reading = replace(reading, id="id")
    bits, constant = rng.choice([None, None, 6, 18]), rng.choice([0.0, 0.0, 0.5])
    return [JsonFormat(reading, Features(bits, constant), "y", pair) for _ in range(2)]


def exact(form: JsonFormat, text: bytes) -> Parsed:
    """Return the rows of a text, every line in plain Python."""
    builder = RowBuilder(form.features, form._features, form.reading.dtype)
    lines = text.split(b"\n")[:-1]
    faults: list[int] = []
    start = 0
    for place, line in enumerate(lines):
        try:
            form._add(line, builder, place)
        except Malformed:
            faults.append(start)
        start += len(line) + 1
    weighted = form.reading.weight is not None
    return builder.rows().parsed(form.features, len(lines), faults, weighted, builder.absent)


def compare(rng: random.Random, texts: int) -> int:
    """Hold the kernel with its odd lines to the exact path, bit for bit; return how many rows."""
    found = 0
    for k in range(texts):
        if k % 10 == 0:
            fast, slow = two_formats(rng)
        odd = rng.choice([0.0, 0.02, 0.5])
        text = "\n".join(record(rng, odd) for _ in range(rng.randrange(1, 30))).encode()
        text = spoilt(rng, text) if rng.random() < 0.4 else text
        buffer, stop = padded(text)
        one, other = fast.parse(buffer, stop), exact(slow, buffer[:stop].tobytes())
        for name in ("rows.indptr", "rows.indices", "rows.values", "weight", "faults"):
            a, b = attrgetter(name)(one), attrgetter(name)(other)
            assert a is b if b is None else a.tobytes() == b.tobytes(), (name, text)
            assert b is None or a.dtype == b.dtype
        assert (one.lines, one.width, one.ids) == (other.lines, other.width, other.ids), text
        assert numbers_of(one) == numbers_of(other), text
        assert named_labels(one) == named_labels(other), text
        assert sorted(one.notes) == sorted(other.notes)
        if fast.features.exact:
            assert list(fast.features.names) == list(slow.features.names), text
        found += len(one.y)
    return found


def numbers_of(parsed: Parsed) -> list[int]:
    return [*range(len(parsed.y))] if parsed.line_of_row is None else parsed.line_of_row.tolist()


def named_labels(parsed: Parsed) -> list[str]:
    if parsed.classes is None:
        return [repr(y) for y in parsed.y.tolist()]
    return ["nan" if math.isnan(y) else parsed.classes[int(y)] for y in parsed.y.tolist()]


@pytest.mark.compiled
def test_the_kernel_reads_what_the_exact_path_reads() -> None:
    assert compare(random.Random(5), texts=1700) > 11_000


@pytest.mark.parametrize("labels", ["real", "classes"])
def test_plain_records_do_not_take_the_exact_path(
    monkeypatch: pytest.MonkeyPatch, labels: Any
) -> None:
    text = b'{"y": 1, "a": 0.5, "b": "x", "c": null, "d": true}\n' * 50 + b'{"y": 2, "a": [""]}\n'
    form = JsonFormat(Reading(labels=labels), Features(), "y", None)
    added: list[bytes] = []
    add = form._add

    def noted(line: bytes, *more: Any) -> None:
        added.append(line)
        add(line, *more)

    monkeypatch.setattr(form, "_add", noted)
    parsed = form.parse(*padded(text))
    assert added == [b'{"y": 2, "a": [""]}']
    assert len(parsed.y) == 51 and list(form.features.names)[-1] == "a="


def test_spoilt_lines() -> None:
    mutate(seed=0, texts=sized(500, 2000))


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", range(1, 11))
def test_many_spoilt_lines(seed: int) -> None:
    mutate(seed, texts=30_000)
