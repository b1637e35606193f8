"""The options of reading: plain data, known to formats, refused by name."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

import pytest

import noregret as nr
from noregret.arguments import ArgumentError
from noregret.streams import Reading, Resolved, resolve
from noregret.streams.labels import Classes
from noregret.streams.reading import FORMATS, translated

SAID: dict[str, Any] = {
    "format": "csv", "labels": ("no", "yes"), "target": -1, "weight": "w", "ignore": ["id", "x"],
    "categorical": "zip", "numeric": ["age"], "missing": "refuse", "unlabelled": "keep",
    "header": False, "separator": ";", "bits": 12, "remember": 3, "hash": "all",
    "interactions": ["ab"], "constant": 2.0, "first_index": 0, "width": 9, "dtype": "float32",
    "rows": 5, "threads": 0, "on_error": "skip", "text": "note", "ngram": 2, "skips": 1,
    "id": "key", "dates": "day", "encoding": "latin-1", "shuffle": 7,
}  # fmt: skip


def test_every_option_survives_a_model_file() -> None:
    reading = Reading(**SAID)
    assert set(reading.said) == set(SAID)
    assert Reading.from_dict(json.loads(json.dumps(reading.as_dict()))) == reading
    for labels in ("binary", "classes", Classes(("a", "b")), (0.0, 1.0)):
        one = Reading(labels=labels)  # type: ignore[arg-type]
        assert Reading.from_dict(json.loads(json.dumps(one.as_dict()))) == one
    kept = Reading(keep=["a"])
    assert Reading.from_dict(json.loads(json.dumps(kept.as_dict()))) == kept


def test_what_older_model_files_keep_means_what_it_meant() -> None:
    older = Reading.from_dict({"label": "price", "drop": ["id"], "bits": 0})
    assert (older.target, older.ignore, older.missing) == ("price", ("id",), "refuse")
    assert Reading.from_dict(Reading().as_dict()).missing == "indicator"
    assert translated({"missing": "indicator"}) == {"missing": "indicator"}
    with pytest.raises(ArgumentError, match="colour=1: no option of reading") as caught:
        Reading.from_dict({"colour": 1})
    assert caught.value.argument == "colour"


def test_every_option_has_one_line_and_a_format_that_knows_it() -> None:
    for one in fields(Reading):
        assert one.metadata["help"] and "\n" not in one.metadata["help"]
        assert one.metadata["formats"] & {*FORMATS}
    assert Resolved((), "svmlight").fields == [
        "format", "labels", "encoding", "first_index", "width", "constant", "dtype", "shuffle",
        "rows", "threads", "on_error",
    ]  # fmt: skip
    assert resolve([({"a": 1}, 1)]).fields == Resolved((), "iterable").fields


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("missing", "no"), ("unlabelled", "no"), ("hash", "no"), ("dtype", "int"), ("rows", 0),
        ("on_error", "no"), ("first_index", 2), ("separator", "xy"), ("bits", 32), ("bits", -1),
        ("remember", -1), ("constant", float("inf")), ("width", -1), ("threads", -1),
        ("labels", "no"), ("header", 2),
    ],
)  # fmt: skip
def test_a_value_that_cannot_be_is_refused_by_the_name_of_its_option(
    argument: str, value: Any
) -> None:
    with pytest.raises(ArgumentError, match=f"^{argument}=") as caught:
        Reading(**{argument: value})
    assert caught.value.argument == argument and "\n" not in str(caught.value)


def test_an_option_that_the_format_does_not_know_is_refused(tmp_path: Any) -> None:
    path = tmp_path / "a.svm"
    path.write_text("1 1:1\n")
    for options in ({"target": "y"}, {"separator": ","}):
        with pytest.raises(ArgumentError, match="no option of format svmlight, but of") as caught:
            nr.read(path, **options)
        assert caught.value.argument == next(iter(options))
    with pytest.raises(ArgumentError, match="weight='w': no option of format svmlight"):
        nr.read(path, Reading(weight="w"))
    with pytest.raises(ArgumentError, match="colour=3: no option of reading, expected format,"):
        nr.read(path, colour=3)


def test_keywords_replace_what_a_reading_says(tmp_path: Any) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a,b,c\n1,2,3\n")
    stream = nr.read(path, Reading(target="a", constant=1.0), target="b")
    assert stream.reading == Reading(format="csv", target="b", constant=1.0)
    assert [block.y.tolist() for block in stream] == [[2.0]]


def test_bits_are_those_of_the_format() -> None:
    assert Reading(format="vw").hashed_bits == 18 and Reading(format="csv").hashed_bits is None
    assert Reading(format="vw", bits=0).hashed_bits is Reading(format="vw", bits=None).hashed_bits
    assert Reading(format="csv", bits=10).hashed_bits == 10
