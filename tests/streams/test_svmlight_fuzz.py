"""The kernel and the rules in plain Python agree on every text, however it was spoilt."""

from __future__ import annotations

import random
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noregret.streams.errors import Malformed
from noregret.streams.format import padded
from noregret.streams.svmlight import SvmlightText
from tests.sizes import sized
from tests.streams.decimals import decimal
from tests.streams.plain_svmlight import Rules

ODD = [b"\n", b" ", b"\t", b"\r", b"#", b":", b"-", b"+", b".", b"e", b"_", b"\x00", b"\xff", b"0"]
ODD += [b"qid:1", b"inf", b"nan", b"1e999", b"4294967296", b"9" * 30, b"\x0b", b"\x0c", b"1:1 "]
FLOAT32 = float(np.finfo(np.float32).max)
RULES = [
    Rules(),
    Rules(first_index=0, width=1000),
    Rules(constant=1.0, largest=FLOAT32),
    Rules(names=("ham", "spam")),
]
#: Rules and the format that must agree with them.
FORMATS = [
    (rules, rules.compiled("float32" if rules.largest == FLOAT32 else "float64")) for rules in RULES
]


def example(rng: random.Random, names: tuple[str, str] | None) -> bytes:
    """Return a sound line."""
    columns = sorted(rng.sample(range(1, rng.choice([20, 1000, 2**32])), rng.randrange(8)))
    label = rng.choice(names) if names else rng.choice(["-1", "+1", "0", "2.5", decimal(rng)])
    words = [label, *(["qid:7"] if rng.random() < 0.1 else [])]
    words += [f"{column}:{rng.choice(['1', '0.25', decimal(rng)])}" for column in columns]
    tail = rng.choice(["", "", " ", "\t\r", " # 1:1", "#"])
    return (rng.choice([" ", " ", "  ", "\t"]).join(words) + tail + "\n").encode()


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


def check(rules: Rules, text_format: SvmlightText, text: bytes) -> None:
    """Compare the kernel's reading with that of the rules, line by line."""
    buffer, stop = padded(text)
    parsed = text_format.parse(buffer, stop)
    y, columns, values, ends, of_row, faults = [], [], [], [0], [], []
    lines = bytes(buffer[:stop]).split(b"\n")[:-1]
    offset = 0
    for number, line in enumerate(lines):
        try:
            row = rules.parse_line(line)
        except Malformed as reason:
            faults.append(offset)
            explained = text_format.explain(line)
            assert (str(explained), explained.argument) == (str(reason), reason.argument), line
        else:
            if row is not None:
                y.append(row[0])
                columns += row[1]
                values += row[2]
                ends.append(len(columns))
                of_row.append(number)
        offset += len(line) + 1
    assert parsed.faults.tolist() == faults, text
    assert parsed.lines == len(lines) and parsed.rows.indptr.tolist() == ends
    assert parsed.y.tobytes() == np.array(y, np.float64).tobytes()
    assert parsed.rows.indices.tolist() == columns
    assert parsed.rows.values.tobytes() == np.array(values, parsed.rows.values.dtype).tobytes(), (
        text
    )
    assert parsed.width == max(columns, default=-1) + 1
    if parsed.line_of_row is None:
        assert of_row == list(range(len(lines)))
    else:
        assert parsed.line_of_row.tolist() == of_row


def mutate(seed: int, texts: int) -> None:
    rng = random.Random(seed)
    for rules, text_format in FORMATS:
        # Compiled here, so that the time below is that of reading.
        check(rules, text_format, b"")
    for k in range(texts):
        rules, text_format = FORMATS[k % len(FORMATS)]
        lines = [example(rng, rules.names) for _ in range(rng.randrange(1, 6))]
        text = spoilt(rng, b"".join(lines))
        began = time.process_time()
        check(rules, text_format, text)
        # A few lines take no time worth speaking of, unless reading them hangs.
        assert time.process_time() - began < 120.0


@pytest.mark.compiled
def test_spoilt_lines() -> None:
    mutate(seed=0, texts=3000)


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", range(1, 11))
def test_many_spoilt_lines(seed: int) -> None:
    mutate(seed, texts=100_000)


@given(st.text(alphabet="01259+-.:#eqidnaf_ \t\r\n\x00", max_size=60).map(str.encode) | st.binary())
def test_any_bytes(text: bytes) -> None:
    for rules, text_format in FORMATS:
        check(rules, text_format, text)


finite = st.floats(allow_nan=False, allow_infinity=False)


@settings(max_examples=sized(30, 100))
@given(
    st.lists(
        st.tuples(finite, st.dictionaries(st.integers(0, 2**32 - 1), finite, max_size=8)),
        min_size=1,
        max_size=20,
    )
)
def test_what_is_written_is_read_back_to_the_bit(
    rows: list[tuple[float, dict[int, float]]],
) -> None:
    lines = [
        f"{label!r} " + " ".join(f"{column + 1}:{x[column]!r}" for column in sorted(x))
        for label, x in rows
    ]
    parsed = FORMATS[0][1].parse(*padded("\n".join(lines).encode()))
    assert parsed.y.tobytes() == np.array([label for label, _ in rows]).tobytes()
    assert parsed.rows.indices.tolist() == [column for _, x in rows for column in sorted(x)]
    written = np.array([x[column] for _, x in rows for column in sorted(x)])
    assert parsed.rows.values.tobytes() == written.tobytes()


def test_text_that_a_kernel_could_read_beyond_is_refused() -> None:
    buffer, stop = padded(b"1 1:1\n")
    for place in (stop - 1, stop + 1):
        with pytest.raises(ValueError, match="expected it to end with a line end"):
            FORMATS[0][1].parse(buffer, place)
