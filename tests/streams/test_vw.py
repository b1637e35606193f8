"""Vowpal Wabbit's format: what lines mean, and that kernels and plain Python agree on all."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noregret.arguments import ArgumentError
from noregret.streams import hashing, vw
from noregret.streams.errors import StreamError
from noregret.streams.format import padded
from noregret.streams.hashing import CONSTANT, mask
from noregret.streams.names import FeatureNames
from noregret.streams.vw import VwFormat
from tests.sizes import sized
from tests.streams.decimals import decimal
from tests.streams.opening import open_vw, vw_format
from tests.streams.plain_hashing import hash_name
from tests.streams.vw_examples import check, rows_of, sound_line, spoilt

OPTIONS: list[dict[str, Any]] = [
    {},
    {"bits": 24, "hash": "all", "constant": 1.0, "unlabelled": "keep"},
    {"dtype": "float32", "constant": 0.1},
    {"bits": 6, "interactions": ["ab", "aa", "a:c"], "remember": 20, "constant": -2.0},
    {"bits": None},
    {"bits": None, "interactions": ["::", "aab"], "constant": 1.0, "unlabelled": "keep"},
    {"bits": None, "interactions": [" :"], "dtype": "float32"},
]


def pair(number: int) -> tuple[VwFormat, VwFormat]:
    return vw_format(**OPTIONS[number]), vw_format(**OPTIONS[number])


@given(st.integers(0, len(OPTIONS) - 1), st.binary(max_size=60))
@settings(max_examples=sized(100, 300))
def test_kernels_agree_with_plain_python_on_any_bytes(number: int, text: bytes) -> None:
    check(*pair(number), text)


@given(
    st.integers(0, len(OPTIONS) - 1),
    st.lists(st.sampled_from([*"1 |:'a.-e\t\r\n", " |a ", "1 |", ":2"]), max_size=30),
)
@settings(max_examples=sized(100, 300))
def test_kernels_agree_with_plain_python_on_what_looks_alike(number: int, parts: list[str]) -> None:
    check(*pair(number), "".join(parts).encode())


@pytest.mark.parametrize("number", range(len(OPTIONS)))
def test_kernels_agree_with_plain_python_on_spoilt_lines(number: int) -> None:
    rng = random.Random(number)
    kernel, plain = pair(number)
    examples, texts = 0, sized(12, 40)
    for _ in range(texts):
        text = b"\n".join(spoilt(rng, sound_line(rng, 4)) for _ in range(6))
        examples += len(check(kernel, plain, text).y)
    assert examples > 1.5 * texts
    if kernel.features.exact:
        assert list(kernel.features.names) == list(plain.features.names)  # type: ignore[call-overload]


@pytest.mark.parametrize("number", [0, 1, 2, 4])
def test_kernels_agree_with_plain_python_on_numbered_features(number: int) -> None:
    rng = random.Random(number)
    kernel, plain = pair(number)
    for _ in range(sized(5, 20)):
        lines = []
        for _ in range(5):
            features = [
                f"{rng.randrange(10 ** rng.randrange(1, 12))}:{decimal(rng)}" for _ in "abcde"
            ]
            scale = rng.choice(["", ":2", ":1e-3"])
            lines.append(f"1 |f{scale} {rng.choice('  ').join(features)}".encode())
        check(kernel, plain, b"\n".join(lines))


@pytest.mark.fuzz
@pytest.mark.parametrize("number", range(len(OPTIONS)))
def test_kernels_agree_with_plain_python_for_long(number: int) -> None:
    rng = random.Random(1000 + number)
    kernel, plain = pair(number)
    for _ in range(3000):
        check(kernel, plain, b"\n".join(spoilt(rng, sound_line(rng)) for _ in range(20)))


def read_one(line: bytes, **options: Any) -> tuple[float, float, dict[int, float]]:
    text_format = vw_format(**options)
    (parsed,) = text_format.parse(*padded(line))
    assert len(parsed.y) == 1, text_format.explain(line)
    weight = 1.0 if parsed.weight is None else float(parsed.weight[0])
    return float(parsed.y[0]), weight, rows_of(parsed)[0]


def named(line: bytes, **options: Any) -> dict[str, float]:
    text_format = vw_format(bits=None, **options)
    (parsed,) = text_format.parse(*padded(line))
    assert len(parsed.y) == 1, text_format.explain(line)
    return {text_format.features.names.name(k): v for k, v in rows_of(parsed)[0].items()}


@pytest.mark.parametrize(
    ("line", "label", "weight"),
    [
        (b"1 |f x", 1.0, 1.0),
        (b"-1.5e1 2 |f x", -15.0, 2.0),
        (b"1 0.25 tag|f x", 1.0, 0.25),
        (b"1 0.25 0 'tag |f x", 1.0, 0.25),
        (b"  1   'tag   |f x", 1.0, 1.0),
        (b"\xef\xbb\xbf1 |f x", 1.0, 1.0),
        (b"1 |f x\r", 1.0, 1.0),
        (b"1 0 |f x", 1.0, 0.0),
    ],
)
def test_labels_importance_and_tags(line: bytes, label: float, weight: float) -> None:
    slot = hash_name(b"x", hash_name(b"f")) & mask(18)
    assert read_one(line) == (label, weight, {slot: 1.0})


def test_values_scales_words_and_features_without_name() -> None:
    assert named(b"1 |a:2 x y:3 z:red :4 :0 :5|b w:1|  v") == {
        "a^x": 2.0, "a^y": 6.0, "a^z^red": 1.0, "a^:0": 8.0, "a^:2": 10.0, "b^w": 1.0, "v": 1.0,
    }  # fmt: skip
    assert named(b"1 |a x:inform y:nano z:e5 w:b|c |") == {
        "a^x^inform": 1.0, "a^y^nano": 1.0, "a^z^e5": 1.0, "a^w^b|c": 1.0,
    }  # fmt: skip
    assert named(b"1 |a:0 x y:7 z:red |b u:0") == {"a^z^red": 1.0}
    assert named(b"1 |a x x:2 x:-3", constant=0.5) == {"intercept": 0.5, "a^x": 0.0}


def test_products_have_the_names_of_their_factors() -> None:
    line = b"1 |a x:2 y:3 |b z:5"
    assert named(line, interactions=["ba", "aa"]) == {
        "a^x": 2.0, "a^y": 3.0, "b^z": 5.0, "b^z*a^x": 10.0, "b^z*a^y": 15.0,
        "a^x*a^x": 4.0, "a^x*a^y": 6.0, "a^y*a^y": 9.0,
    }  # fmt: skip


REFUSED = [
    (b"1 f x", 1, "1 f x", "a '|' before the features"),
    (b"1|f x", 1, "1|", "a label and a space before the '|'"),
    (b"|f x", 1, "|", "a label"),
    (b"one |f x", 1, "one", "a finite number as label"),
    (b"nan |f x", 1, "nan", "a finite number as label"),
    (b"1_0 |f x", 1, "1_0", "a finite number as label"),
    (b"1 -2 |f x", 3, "-2", "an importance of 0 or more"),
    (b"1 tag |f x", 3, "tag", "a tag that begins with ' or touches the '|'"),
    (b"1 1 0.5 |f x", 5, "0.5", "no initial prediction other than 0"),
    (b"1 1 0 7 |f x", 7, "7", "at most three numbers"),
    (b"1 1 0 0 |f x", 7, "0", "at most three numbers"),
    (b"1\t|f x", 2, "\\t|", "spaces, not a tab"),
    (b"1 |f x\ry", 7, "\\r", "no carriage return"),
    (b"1 |:2 x", 3, "|:2 x", "a namespace or a space"),
    (b"1 |f:two x", 4, "f:two", "a finite number as scale"),
    (b"1 |f: x", 4, "f:", "a finite number as scale"),
    (b"1 |f x:1.5.2 y", 6, "x:1.5.2", "a finite number after the colon"),
    (b"1 |f x:0x10", 6, "x:0x10", "a finite number after the colon"),
    (b"1 |f x:1e999", 6, "x:1e999", "a finite number after the colon"),
    (b"1 |f x: y", 6, "x:", "a value after the colon"),
    (b"1 |f x:NaN y", 6, "x:NaN", "a value after the colon"),
    (b"1 |f:1e200 x:1e200", 12, "x:1e200", "a value times its scale that is finite"),
]


@pytest.mark.parametrize(("line", "column", "found", "expected"), REFUSED)
def test_what_is_refused_and_why(line: bytes, column: int, found: str, expected: str) -> None:
    text_format = vw_format()
    (parsed,) = text_format.parse(*padded(b"1 |f x\n" + line + b"\n\n1 |f y\n"))
    assert parsed.faults.tolist() == [7] and len(parsed.y) == 2 and parsed.lines == 4
    assert parsed.line_of_row is not None and parsed.line_of_row.tolist() == [0, 3]
    reason = str(text_format.explain(line))
    assert reason.startswith(f"column {column}: found ") and found in reason and expected in reason


@pytest.mark.compiled
def test_products_that_are_too_large_or_too_many_are_refused() -> None:
    text_format = vw_format(interactions=["aa"])
    many = b"1 |a " + b" ".join(b"%d" % k for k in range(2900))
    text = b"1 |a x:1e200\n" + b"1 |a y\n" + many + b"\n"
    (parsed,) = text_format.parse(*padded(text))
    assert parsed.faults.tolist() == [0, 20] and len(parsed.y) == 1
    assert "interactions whose values are finite" in str(text_format.explain(b"1 |a x:1e200"))
    assert "at most 4194304 products" in str(text_format.explain(many))
    # in float32 what overflows overflows earlier
    (parsed,) = vw_format(dtype="float32").parse(*padded(b"1 |a x:1e39\n"))
    assert len(parsed.faults) == 1


def test_a_feature_with_the_name_of_the_constant_is_refused() -> None:
    text = (
        b"1 | x\n\n1 | intercept:5\n1 |a intercept\n1 | intercept:red interception\n1 | y intercept"
    )
    exact, plain = (vw_format(bits=None, constant=1.0, interactions=["aa"]) for _ in range(2))
    parsed = check(exact, plain, text)
    assert len(parsed.y) == 3 and len(parsed.faults) == 2
    reason = str(exact.explain(b"1 | intercept:5"))
    assert reason == (
        "column 5: found 'intercept', expected another name: this is that of the constant feature"
    )
    assert named(b"1 | intercept:5 x") == {"intercept": 5.0, "x": 1.0}
    assert len(read_one(b"1 | intercept:5", constant=1.0)[2]) == 2


@pytest.mark.parametrize("others", [b"", b"1 ", b"262143 ", b"1 262143 "])
def test_a_feature_in_the_column_of_the_constant_is_added_to_it(others: bytes) -> None:
    slot = CONSTANT & mask(18)
    row = read_one(b"1 | %b%d:2" % (others, slot), constant=0.5)[2]
    assert row == {int(name): 1.0 for name in others.split()} | {slot: 2.5}


def test_lines_without_a_label_are_kept_when_asked() -> None:
    assert np.isnan(read_one(b"|f x", unlabelled="keep")[0])
    assert np.isnan(read_one(b"1|f x", unlabelled="keep")[0])


def test_names_that_are_not_in_a_fixed_dictionary_are_left_out() -> None:
    names = FeatureNames(["a^x", "b^y", "a^x*b^y"])
    fixed = vw_format(bits=None, names=names, grow=False, interactions=["ab"])
    assert fixed.parallel
    parsed = check(fixed, fixed, b"1 |a x z |b y\n1 |c x")
    assert rows_of(parsed) == [{0: 1.0, 1: 1.0, 2: 1.0}, {}] and len(names) == 3


def test_columns_do_not_depend_on_how_the_text_is_cut() -> None:
    rng = random.Random(5)
    lines = [sound_line(rng) for _ in range(60)]
    whole, cut = (vw_format(bits=None, interactions=["aa"], constant=1.0) for _ in range(2))
    (once,) = map(rows_of, whole.parse(*padded(b"\n".join(lines))))
    pieces = [parsed for line in lines for parsed in cut.parse(*padded(line))]
    assert once == [row for parsed in pieces for row in rows_of(parsed)]


@pytest.mark.each_value
@pytest.mark.parametrize("threads", [0, 2])
@pytest.mark.parametrize(
    "options",
    [{}, {"bits": None, "constant": 1.0}, {"remember": 50}, {"bits": None, "dtype": "float32"}],
)
def test_products_come_in_parts_that_are_not_too_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], threads: int
) -> None:
    rng = random.Random(9)
    # A zero among the first bytes would make it no text.
    lines = [spoilt(rng, sound_line(rng)).replace(b"\0", b"0") for _ in range(300)]
    # More products than are allowed, and values too large: refused where they stand.
    # 20,100 products of two: more than the 10,000 of below.
    many = b"1 |a " + b" ".join(b"%d" % k for k in range(200))
    lines[40], lines[41], lines[-1] = many, b"1 |a x:1e200", b"no example"
    monkeypatch.setattr(vw, "MOST_PRODUCTS", 10_000)
    monkeypatch.setattr(hashing, "MOST_PRODUCTS", 10_000)
    path = tmp_path / "a.vw"
    path.write_bytes(b"\n".join(lines))

    def seen(part: int) -> tuple[list[Any], list[str], int, list[str], int]:
        monkeypatch.setattr(vw, "PART", part)
        stream = open_vw(
            path, interactions=["aa", "ab"], threads=threads, on_error="count", **options
        )
        rows, most = [], 0
        for block in stream:
            most = max(most, block.nonzeros)
            weight = np.ones(len(block)) if block.weight is None else block.weight
            for t in range(len(block)):
                row = slice(int(block.indptr[t]), int(block.indptr[t + 1]))
                features = block.indices[row].tolist(), block.values[row].tolist()
                rows.append((block.y[t], weight[t], *features))
        assert stream.names is not None
        names = [stream.names.name(k) for k in range(min(40, len(stream.names)))]
        return rows, names, stream.refused, stream.complaints, most

    *whole, all_at_once = seen(1 << 20)
    *parts, largest = seen(60)
    assert parts == whole and len(whole[0]) > 100 and len(whole[3]) == 10
    # The constant comes with every row.
    assert largest <= 2 * max(60, *(len(row[2]) for row in whole[0])) < all_at_once / 5


def test_a_bad_line_between_parts_stops_in_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vw, "PART", 10)
    path = tmp_path / "a.vw"
    path.write_bytes(b"\n" + b"1 |a x y z\n" * 30 + b"1 a\n" + b"1 |a x\n" * 30)
    rows = 0
    with pytest.raises(StreamError, match=r"a\.vw, line 32, column 1: found '1 a'"):
        for block in open_vw(path, interactions=["aa"]):
            rows += len(block)
    assert rows == 30


def test_names_of_hashed_features_are_remembered() -> None:
    text_format = vw_format(remember=3, interactions=["ab"])
    list(text_format.parse(*padded(b"1 |a x |b y\n1 |a x z")))
    names = text_format.features.names
    assert not text_format.parallel and len(names) == 3
    slot = names.column("a^x*b^y")
    assert slot is not None and names.name(slot) == "a^x*b^y" and names.column("a^z") is None


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"bits": 40}, "bits=40: expected 1 to 31"),
        ({"hash": "none"}, "hash='none': expected 'strings' or 'all'"),
        ({"unlabelled": "maybe"}, "unlabelled='maybe': expected 'refuse' or 'keep'"),
        ({"dtype": "int8"}, "dtype='int8': expected 'float32' or 'float64'"),
        ({"constant": float("nan")}, "constant=nan: expected a finite number"),
        ({"interactions": ["a"]}, "interactions='a': expected 2 to 8 first letters"),
        ({"interactions": ["é:"]}, "interactions='é:': expected"),
        ({"grow": False}, "bits=18: names that are hashed have no dictionary"),
        ({"bits": None, "remember": 5}, "remember=5: a dictionary keeps all names"),
        ({"labels": ("ham", "spam")}, r"labels=.*: labels of this format are numbers"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    tmp_path: Path, options: dict[str, Any], complaint: str
) -> None:
    path = tmp_path / "a.vw"
    path.write_bytes(b"1 |f x\n")
    with pytest.raises(ArgumentError, match=complaint) as caught:
        open_vw(path, **options)
    assert caught.value.argument == complaint.partition("=")[0]


def test_a_stream_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a.vw"
    path.write_bytes(b"0 |f 3 x\n1 2 |f 4\n\n1 |f y:oops:\n2|f\n1 |f 7:0.5")
    stream = open_vw(path, labels="binary", constant=1.0, on_error="count")
    [block] = list(stream)
    assert block.y.tolist() == [-1.0, 1.0, 1.0, 1.0] and block.width == 2**18 == stream.width
    assert block.weight is not None and block.weight.tolist() == [1.0, 2.0, 1.0, 1.0]
    assert stream.refused == 1 and "line 5, column 1: found '2|'" in stream.complaints[0]
    assert stream.names.name(CONSTANT & mask(18)) == "Constant"
    with pytest.raises(
        StreamError, match=r"a\.vw, line 5, column 1: found '2\|', expected a label"
    ):
        list(open_vw(path))
