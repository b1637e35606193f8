"""Lines of Vowpal Wabbit's format for tests: sound ones, spoilt ones, and rows as both see them."""

from __future__ import annotations

import random

import numpy as np

from noregret.streams.errors import Malformed
from noregret.streams.format import Parsed, padded
from noregret.streams.vw import VwFormat
from tests.streams.plain_vw import Plain

LETTERS = "x y zz foo price 12 007 99999999999 18446744073709551617 héllo a^b w*v # 'q -5 1.5 e5"
NAMES = [name.encode() for name in LETTERS.split()]
NAMES += [
    b"\xff\xfe",
    b"a\x01",
    b"\x02",
    b"\x03b\x04",
    b"a_longer_name_of_many_bytes",
    b"\x7f",
    b"0",
]
SPACES = [b"", b"a", b"b", b"ab", b"c", b"12", "été".encode(), b"namespace"]
VALUES = [b"", b"", b":1", b":0.5", b":-2", b":1e2", b":.25", b":3.", b":+4", b":0", b":red"]
VALUES += [b":b|c", b":x:y", b":1e-400", b":123456789012345678901234567890", b":1e200"]
ODD = [b"\n", b" ", b"\t", b"\r", b"|", b":", b"-", b"+", b".", b"e", b"'", b"\x00", b"\xff", b"0"]
ODD += [b"inf", b"NaN", b"infinity", b"1e999", b"nano", b"|f:2 ", b" :1", b" a:", b"\xef\xbb\xbf"]


def sound_line(rng: random.Random, most: int = 6) -> bytes:
    """Return a line that Vowpal Wabbit reads without a warning."""
    line = rng.choice([b"1 ", b"-1 ", b"0.5 ", b"1 2.5 ", b"1 0.5 0 "])
    line += rng.choice([b"", b"", b"'tag ", b"tag", b"'"])
    for _ in range(rng.randrange(1, 4)):
        space = rng.choice(SPACES)
        line += b"|" + space
        if space and rng.random() < 0.3:
            line += rng.choice([b":2", b":0.5", b":-1", b":0"])
        for _ in range(rng.randrange(most)):
            line += rng.choice([b" ", b" ", b"  ", b"\t"])
            value = rng.choice(VALUES)
            line += (rng.choice(NAMES) if not value or rng.random() < 0.9 else b"") + value
    return line


def spoilt(rng: random.Random, text: bytes) -> bytes:
    """Return the text with a few bytes changed, put in, taken out or doubled."""
    changed = bytearray(text)
    for _ in range(rng.choice([0, 1, 1, 2, 5])):
        place = rng.randrange(len(changed) + 1)
        match rng.randrange(5):
            case 0:
                changed[place:place] = rng.choice(ODD)
            case 1:
                del changed[place : place + rng.randrange(1, 4)]
            case 2:
                changed[place : place + 1] = bytes([rng.randrange(256)])
            case 3:
                changed[place : place + 1] = rng.choice(ODD)
            case 4:
                changed[place:place] = changed[place : place + rng.randrange(1, 20)]
    return bytes(changed)


def rows_of(parsed: Parsed) -> list[dict[int, float]]:
    """Return the rows as dictionaries; columns must ascend."""
    rows = []
    for begin, end in zip(
        parsed.rows.indptr[:-1].tolist(), parsed.rows.indptr[1:].tolist(), strict=True
    ):
        columns = parsed.rows.indices[begin:end].tolist()
        assert columns == sorted(set(columns))
        rows.append(dict(zip(columns, parsed.rows.values[begin:end].tolist(), strict=True)))
    return rows


def check(kernel: VwFormat, plain: VwFormat, text: bytes) -> Parsed:
    """Compare what the kernels make of a text with what plain Python does, line by line.

    The two formats are alike; of dictionaries each has its own.
    """
    buffer, stop = padded(text)
    (parsed,) = kernel.parse(buffer, stop)
    faults, expected, lines_of_rows = [], [], []
    place, reader = 0, Plain(plain)
    lines = bytes(buffer[:stop]).split(b"\n")[:-1]
    for number, line in enumerate(lines):
        try:
            reader.read_line(line)
            read = reader.read_line(line, add=plain.features.grow)
        except Malformed as reason:
            faults.append(place)
            assert str(kernel.explain(line)) == str(reason), line
        else:
            if read is not None:
                expected.append(read)
                lines_of_rows.append(number)
        place += len(line) + 1
    assert parsed.lines == len(lines)
    assert parsed.faults.tolist() == faults
    lines_seen = parsed.line_of_row
    assert (range(len(parsed.y)) if lines_seen is None else lines_seen.tolist()) == (
        range(len(lines)) if lines_seen is None else lines_of_rows
    )
    np.testing.assert_array_equal(parsed.y, [line.label for line, _ in expected])
    weight = np.ones(len(parsed.y)) if parsed.weight is None else parsed.weight
    np.testing.assert_array_equal(weight, [line.weight for line, _ in expected])
    assert rows_of(parsed) == [row for _, row in expected]
    return parsed
