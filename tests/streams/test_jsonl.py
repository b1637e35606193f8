"""JSON lines and pairs in Python: what the features are, and how bad ones are refused."""

from __future__ import annotations

import json
import lzma
import math
import os
import time
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noregret.arguments import ArgumentError
from noregret.streams.errors import StreamError
from noregret.streams.features import Features
from noregret.streams.format import padded
from noregret.streams.jsonl import JsonFormat
from noregret.streams.reading import Reading
from tests.sizes import sized
from tests.streams.named_rows import examples_of
from tests.streams.opening import open_jsonl, open_pairs

DATA = os.environ.get("NOREGRET_DATA")
needs_data = pytest.mark.skipif(DATA is None, reason="NOREGRET_DATA does not name a folder of data")


class Kind(str, Enum):  # noqa: UP042
    RED = "red"


def write(folder: Path, *lines: object, name: str = "examples.jsonl") -> Path:
    path = folder / name
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("\n".join(texts) + "\n")
    return path


def test_every_kind_of_value_becomes_what_the_rules_say(tmp_path):
    path = write(
        tmp_path,
        {"label": 1, "n": -2.5, "zero": 0, "t": True, "f": False, "s": "red", "w": 2},
        "",
        {"label": 0.5, "deep": {"a": {"b": 3}, "c": "x"}, "bag": ["u", "v", "u"], "w": 0},
    )
    stream = open_jsonl(path, weight="w", constant=1.0)
    assert examples_of(stream) == [
        (1.0, 2.0, {"intercept": 1.0, "n": -2.5, "t": 1.0, "s=red": 1.0}),
        (
            0.5,
            0.0,
            {"intercept": 1.0, "deep.a.b": 3.0, "deep.c=x": 1.0, "bag=u": 2.0, "bag=v": 1.0},
        ),
    ]
    assert stream.format.target == "label"


def test_keys_are_chosen_by_name(tmp_path):
    path = write(tmp_path, {"id": 7, "zip": 10115, "a": {"b": 1, "c": 2}, "Target": 3})
    stream = open_jsonl(path, ignore=["id", "a.b"], categorical="zip")
    assert examples_of(stream) == [(3.0, 1.0, {"zip=10115": 1.0, "a.c": 2.0})]
    assert examples_of(open_jsonl(path, target="id", keep="zip")) == [(7.0, 1.0, {"zip": 10115.0})]


def test_the_label_is_no_key_that_is_dropped_or_the_weight(tmp_path):
    path = write(tmp_path, {"label": 5, "target": 2, "y": 3, "a": 1})
    stream = open_jsonl(path, ignore="label", weight="target")
    assert examples_of(stream) == [(3.0, 2.0, {"a": 1.0})]
    with pytest.raises(ArgumentError, match=r"target='label': .* both label and ignored"):
        open_jsonl(path, ignore="label", target="label")


def test_a_key_may_not_have_the_name_of_the_constant(tmp_path):
    path = write(tmp_path, {"y": 1, "intercept": 3})
    with pytest.raises(StreamError, match="line 1, column 10: found '3', expected another key"):
        list(open_jsonl(path, constant=1.0))
    assert examples_of(open_jsonl(path)) == [(1.0, 1.0, {"intercept": 3.0})]
    dropped = open_jsonl(path, constant=1.0, ignore="intercept")
    assert examples_of(dropped) == [(1.0, 1.0, {"intercept": 1.0})]


def test_a_key_that_comes_twice_among_many_is_found_at_once(tmp_path):
    count = sized(40_000, 200_000)
    keys = ", ".join(f'"k{k}": 1' for k in range(count))
    path = write(tmp_path, f'{{"y": 1, {keys}, "k{count - 1}": 2}}')
    began = time.process_time()
    with pytest.raises(StreamError, match=f"expected a key that comes once, under 'k{count - 1}'"):
        list(open_jsonl(path, target="y"))
    # A comparison of all pairs would take hours of this process's own time, or many minutes.
    assert time.process_time() - began < 120.0


def test_null_is_refused_or_a_feature(tmp_path):
    path = write(tmp_path, {"y": 1, "a": 2}, {"y": 1, "a": None})
    with pytest.raises(StreamError, match=r"line 2, column 10: found 'null', expected a value"):
        list(open_jsonl(path, missing="refuse"))
    missing = (1.0, 1.0, {"a=missing": 1.0})
    stream = open_jsonl(path, missing="indicator")
    assert examples_of(stream) == [(1.0, 1.0, {"a": 2.0}), missing]
    # As Python's json module writes what is not a number.
    path = write(tmp_path, {"y": 1, "a": math.nan})
    assert examples_of(open_jsonl(path, missing="indicator")) == [missing]


def test_labels_are_numbers_truth_values_or_names(tmp_path):
    named = open_jsonl(write(tmp_path, {"y": "spam"}, {"y": "ham"}), labels="binary")
    assert [row[0] for row in examples_of(named)] == [1.0, -1.0]
    assert named.label_map == {"ham": -1.0, "spam": 1.0}
    truth = open_jsonl(write(tmp_path, {"y": True}, {"y": False}), labels="binary")
    assert [row[0] for row in examples_of(truth)] == [1.0, -1.0]
    path = write(tmp_path, {"a": 1}, {"a": 2, "y": None}, {"y": 3})
    kept = open_jsonl(path, unlabelled="keep", target="y")
    assert [math.isnan(row[0]) for row in examples_of(kept)] == [True, True, False]


@pytest.mark.parametrize(
    ("line", "column", "message"),
    [
        ('{"y": 1, "a": }', 15, "expected JSON (Expecting value)"),
        ('{"y": 1, "a": 01}', 16, "expected JSON"),
        ('{"y": 1, "a": -007}', 17, "expected JSON"),
        ('{"y": 1, "a": NaN}', 10, "found 'NaN', expected a value"),
        ('{"y": 1, "a": -Infinity}', 10, "expected a number of size at most 1.8e+308, under 'a'"),
        ('{"y": NaN, "a": 1}', 2, "expected a label, under 'y'"),
        ('{"y": 1, "a": 1e999}', 10, "expected a number of size at most 1.8e+308, under 'a'"),
        ('{"y": 1, "a": 1' + "0" * 400 + "}", 10, "expected a number of size at most"),
        ('{"y": 1, "a": 1' + "0" * 9000 + "}", 1, "numbers of modest length"),
        ('{"y": 1, "a": ' + "[" * 100_000, 1, "JSON of modest depth"),
        ('{"y": 1, "a": ' + '{"b":' * 70 + "1" + "}" * 71, 16, "dictionaries inside each other"),
        ('{"y": 1, "a": [1]}', 10, "found '1', expected texts only in a list"),
        (
            '{"y": 1, "' + "k" * 9000 + '": null}',
            10,
            "kkkk...",
        ),
        ('{"y": 1, "a": 1, "a": 2}', 10, "expected a key that comes once"),
        ('{"y": "up", "a": 1}', 2, "expected a number as label"),
        ('{"a": 1}', 1, "expected a label, under 'y'"),
        ("[1, 2]", 1, "expected an object"),
        ('{"y": 1, "a": 2} 3', 18, "expected JSON (Extra data)"),
        ('{"y": 1, "a', 10, "expected JSON (Unterminated string"),
        ('{"y": 1, "w": -1}', 10, "expected a number from 0 as weight, under 'w'"),
        ('{"y": 1, "w": "1_0"}', 10, "expected a number from 0 as weight, under 'w'"),
        ('{"y": 1, "w": null}', 10, "expected a number from 0 as weight, under 'w'"),
        ('{"y": 1, "w": 1e999}', 10, "expected a number from 0 as weight, under 'w'"),
    ],
)
def test_a_bad_line_is_refused_with_line_and_column(tmp_path, line, column, message):
    good = {"y": 1, "w": 1}
    weight = "w" if '"w"' in line else None
    path = write(tmp_path, good, line, good)
    with pytest.raises(StreamError) as caught:
        list(open_jsonl(path, target="y", weight=weight, missing="refuse"))
    assert str(caught.value).startswith(f"{path}, line 2, column {column}: found ")
    assert message in str(caught.value) and len(str(caught.value)) < 400
    counted = open_jsonl(path, target="y", weight=weight, missing="refuse", on_error="count")
    assert sum(map(len, counted)) == 2
    assert (counted.refused, counted.complaints) == (1, [str(caught.value)])


def test_bytes_that_are_not_text_are_refused(tmp_path):
    path = tmp_path / "bad.jsonl"
    path.write_bytes(b'{"y": 1, "a": "\xff"}\n')
    with pytest.raises(StreamError, match=r"line 1, column 16: found .* expected UTF-8"):
        list(open_jsonl(path, target="y"))


def test_a_file_without_a_key_for_labels_is_refused(tmp_path):
    with pytest.raises(ArgumentError, match="has no label, target, class or y") as caught:
        open_jsonl(write(tmp_path, {"a": 1}))
    assert caught.value.argument == "target"
    with pytest.raises(StreamError, match="found the label 'u' in the first rows, expected two"):
        open_jsonl(write(tmp_path, {"y": "u"}), labels="binary")


SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)


def flat(value: object, name: str, missing: bool) -> dict[str, float] | None:
    """Return the features of a value, None if it has none: the rules once more, from the end."""
    match value:
        case None:
            return {f"{name}=missing": 1.0} if missing else None
        case str():
            return {f"{name}={value}": 1.0}
        case bool() | int() | float():
            fits = abs(value) <= 1.7976931348623157e308
            return ({name: float(value)} if value else {}) if fits else None
        case list():
            if not all(isinstance(word, str) for word in value):
                return None
            return {f"{name}={word}": float(value.count(word)) for word in value}
        case dict():
            total: dict[str, float] = {}
            for key, inner in value.items():
                part = flat(inner, f"{name}.{key}", missing)
                if part is None:
                    return None
                for one, number in part.items():
                    total[one] = total.get(one, 0.0) + number
            return total
    raise AssertionError(value)


def reader(missing: bool) -> JsonFormat:
    reading = Reading(missing="indicator" if missing else "refuse")
    return JsonFormat(reading, Features(), "y", None)


@given(values=st.lists(VALUES, max_size=6), missing=st.booleans())
@settings(max_examples=sized(50, 150))
def test_features_are_those_of_the_rules(values, missing):
    formats = reader(missing)
    text = "".join(json.dumps({"y": k, "a": value}) + "\n" for k, value in enumerate(values))
    parsed = formats.parse(*padded(text.encode()))
    expected = {k: flat(value, "a", missing) for k, value in enumerate(values)}
    assert parsed.y.tolist() == [k for k, features in expected.items() if features is not None]
    assert len(parsed.faults) == len(values) - len(parsed.y)
    for t, label in enumerate(parsed.y.tolist()):
        part = slice(int(parsed.rows.indptr[t]), int(parsed.rows.indptr[t + 1]))
        keys = [formats.features.names.key(c) for c in parsed.rows.indices[part].tolist()]
        found = dict(zip(keys, parsed.rows.values[part].tolist(), strict=True))
        wanted = expected[int(label)] or {}
        named = {key.encode("utf-8", "surrogatepass"): value for key, value in wanted.items()}
        assert found == {key: value for key, value in named.items() if value}


def test_pairs_of_python_are_a_stream(tmp_path):
    pairs = [({"a": np.float32(2), "b": "x", 3: True}, "no"), ({"a": math.nan}, "yes")]
    stream = open_pairs(pairs, labels="binary", missing="indicator", rows=1)
    for _ in range(2):
        assert examples_of(stream) == [
            (-1.0, 1.0, {"a": 2.0, "b=x": 1.0, "3": 1.0}),
            (1.0, 1.0, {"a=missing": 1.0}),
        ]
    assert stream.label_map == {"no": -1.0, "yes": 1.0}


def test_numbers_and_texts_of_any_kind_are_features():
    features = {
        "half": np.float16(0.5),
        "gone": np.float32("nan"),
        "price": Decimal("0.1"),
        "share": Fraction(1, 4),
        "name": np.str_("x"),
        "kind": Kind.RED,
        "large": 10**300,
    }
    (row,) = examples_of(open_pairs([(features, math.nan)], missing="indicator", unlabelled="keep"))
    assert math.isnan(row[0]) and row[2] == {
        "half": 0.5,
        "gone=missing": 1.0,
        "price": 0.1,
        "share": 0.25,
        "name=x": 1.0,
        "kind=red": 1.0,
        "large": 1e300,
    }


def test_a_set_of_words_gets_its_columns_in_alphabetical_order():
    words = {f"word {k}" for k in range(50)}
    stream = open_pairs([({"w": words}, 1)])
    assert examples_of(stream)[0][2] == {f"w={word}": 1.0 for word in words}
    assert list(stream.names) == sorted(f"w={word}" for word in words)


@pytest.mark.parametrize("categorical", [(), "a"])
def test_an_integer_that_python_does_not_write_is_refused(categorical):
    with pytest.raises(StreamError, match="'a': found a int that is too long to show, expected a"):
        list(open_pairs([({"a": 10**5000}, 1)], categorical=categorical))


def test_an_iterator_of_pairs_can_be_read_once():
    stream = open_pairs(iter([({"a": 1}, "u"), ({"a": 2}, "v")]), labels="binary")
    assert [row[0] for row in examples_of(stream)] == [-1.0, 1.0]
    with pytest.raises(StreamError, match="can be read once only"):
        list(stream)


def test_a_bad_pair_is_refused_by_its_number():
    pairs = [({"a": 1}, 1.0), ({"a": object()}, 2.0), (None, 3.0), ({"b": 1}, 4.0)]
    with pytest.raises(StreamError, match=r"^a list, example 2, 'a': found <object .* a number, "):
        list(open_pairs(pairs))
    counted = open_pairs(pairs, on_error="count")
    assert [row[0] for row in examples_of(counted)] == [1.0, 4.0]
    assert "example 3, found (None, 3.0), expected a pair of" in counted.complaints[1]


def test_a_data_set_of_river_is_a_stream():
    datasets = pytest.importorskip("river.datasets")
    stream = open_pairs(datasets.Phishing(), labels="binary")
    rows = examples_of(stream)
    assert len(rows) == 1250 and stream.label_map == {0.0: -1.0, 1.0: 1.0}
    for (label, _, features), (x, y) in zip(rows, datasets.Phishing(), strict=True):
        assert label == (1.0 if y else -1.0)
        assert features == {name: float(value) for name, value in x.items() if value}


@pytest.mark.compiled
@needs_data
def test_text_messages_as_bags_of_words(tmp_path):
    with lzma.open(Path(str(DATA)) / "sms_spam/SMSSpamCollection.tsv.xz", "rt") as file:
        messages = [line.rstrip("\n").split("\t", 1) for line in file]
    lines = [{"class": kind, "words": text.split()} for kind, text in messages]
    stream = open_jsonl(write(tmp_path, *lines), labels=("ham", "spam"))
    rows = examples_of(stream)
    assert sum(label == 1.0 for label, _, _ in rows) == 747
    for (_, _, features), (_, text) in zip(rows, messages, strict=True):
        words = text.split()
        assert features == {f"words={word}": float(words.count(word)) for word in words}
