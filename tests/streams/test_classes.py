"""Labels that are classes: numbered as they appear, by the same names in every format."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from noregret.arguments import ArgumentError
from noregret.streams import StreamError, read
from noregret.streams.binary import write_binary
from noregret.streams.labels import MOST_CLASSES, Classes
from tests.streams.plain_csv import Plain

NAMES = ["3", "1", "3", "2", "1", "7"]
NUMBERS = [0.0, 1.0, 0.0, 2.0, 1.0, 3.0]
MAP = {"3": 0.0, "1": 1.0, "2": 2.0, "7": 3.0}


def _written(folder: Path, suffix: str, names: list[str]) -> Path:
    path = folder / f"classes.{suffix}"
    pairs = list(enumerate(names, 1))
    if suffix == "parquet":
        columns = {"x": [float(x) for x, _ in pairs], "label": names}
        pyarrow.parquet.write_table(pa.table(columns), path)
        return path
    lines = {
        "svm": [f"{name} 1:{x}" for x, name in pairs],
        "vw": [f"{name} |a x:{x}" for x, name in pairs],
        "csv": ["x,label", *(f"{x},{name}" for x, name in pairs)],
        "jsonl": [json.dumps({"label": name, "x": x}) for x, name in pairs],
    }[suffix]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("rows", [1, 4, 100])
@pytest.mark.parametrize("suffix", ["svm", "vw", "csv", "jsonl", "parquet"])
def test_classes_are_numbered_as_they_appear(tmp_path: Path, suffix: str, rows: int) -> None:
    stream = read(_written(tmp_path, suffix, NAMES), labels="classes", rows=rows)
    for _ in range(2):
        assert [y for block in stream for y in block.y.tolist()] == NUMBERS
        assert stream.label_map == MAP


@pytest.mark.parametrize("suffix", ["svm", "vw", "csv", "jsonl", "parquet"])
def test_classes_that_are_known_keep_their_numbers(tmp_path: Path, suffix: str) -> None:
    stream = read(_written(tmp_path, suffix, NAMES), labels=Classes(("7", "3", "other")))
    assert [y for block in stream for y in block.y.tolist()] == [1, 3, 1, 4, 3, 0]
    assert stream.label_map == {"7": 0, "3": 1, "other": 2, "1": 3, "2": 4}


def test_numbers_have_the_name_that_people_write(tmp_path: Path) -> None:
    path = tmp_path / "numbers.svm"
    path.write_text("1.0 1:1\n1e0 1:1\n-0 1:1\n0.5 1:1\n")
    stream = read(path, labels="classes")
    assert [block.y.tolist() for block in stream] == [[0, 0, 1, 2]]
    assert stream.label_map == {"1": 0, "0": 1, "0.5": 2}
    lines = tmp_path / "numbers.jsonl"
    lines.write_text('{"label": 1, "a": 1}\n{"label": true, "a": 1}\n{"label": 1.0, "a": 1}\n')
    stream = read(lines, labels="classes")
    assert [block.y.tolist() for block in stream] == [[0, 1, 0]]
    assert stream.label_map == {"1": 0, "true": 1}


def test_names_in_csv_are_what_the_grammar_reads(tmp_path: Path) -> None:
    fields = ["red", '"blu""e"', " red ", '"a, b"', "élan", '""""']
    path = tmp_path / "quoted.csv"
    path.write_text("\n".join(["x,label,w", *(f"1,{field},2" for field in fields)]) + "\n")
    stream = read(path, labels="classes", target="label", threads=0)
    found = [y for block in stream for y in block.y.tolist()]
    plain = Plain(stream.format.grammar)  # type: ignore[attr-defined]
    names = {number: str(name) for name, number in stream.label_map.items()}
    for field, number in zip(fields, found, strict=True):
        row = plain.read(f"1,{field},2".encode())
        assert row is not None and row.label == names[number].encode()
    assert stream.format.target == "label"  # type: ignore[attr-defined]


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_a_missing_class_is_refused_or_kept_without_a_number(tmp_path: Path, suffix: str) -> None:
    names = ["a", "b"]
    path = _written(tmp_path, suffix, names)
    if suffix == "parquet":
        pyarrow.parquet.write_table(pa.table({"x": [1.0, 2.0], "label": ["a", None]}), path)
    else:
        path.write_text(path.read_text().replace('"b"', "null").replace(",b", ","))
    with pytest.raises(StreamError, match=r"expected a (class as )?label"):
        list(read(path, labels="classes"))
    (block,) = read(path, labels="classes", unlabelled="keep")
    assert block.y[0] == 0.0 and np.isnan(block.y[1])


def test_so_many_classes_are_no_classes(tmp_path: Path) -> None:
    for suffix, line in (("svm", MOST_CLASSES + 1), ("csv", MOST_CLASSES + 2)):
        path = _written(tmp_path, suffix, [str(k) for k in range(MOST_CLASSES + 5)])
        message = rf"line {line}: found label '1000'.*, expected one of the 1,000 classes before"
        with pytest.raises(StreamError, match=message):
            list(read(path, labels="classes"))
        stream = read(path, labels="classes", on_error="count")
        assert sum(len(block) for block in stream) == MOST_CLASSES and stream.refused == 5


def test_the_compact_form_keeps_the_names(tmp_path: Path) -> None:
    source = read(_written(tmp_path, "csv", ["red", "blue", "red"]), labels="classes")
    path = tmp_path / "compact.arrow"
    write_binary(source, path)
    stream = read(path, labels=Classes(("green", "blue")))
    assert [y for block in stream for y in block.y.tolist()] == [2, 1, 2]
    assert stream.label_map == {"green": 0, "blue": 1, "red": 2}
    with pytest.raises(
        StreamError, match=r"are classes, numbered .* read them as classes"
    ) as caught:
        read(path, labels="binary")
    assert caught.value.argument == "labels"
    two = read(_written(tmp_path, "csv", ["no", "yes", "no"]), labels="binary")
    write_binary(two, path)
    stream = read(path, labels="classes")
    assert [y for block in stream for y in block.y.tolist()] == [0, 1, 0]
    assert stream.label_map == {"no": 0, "yes": 1}


def test_a_compact_file_with_labels_it_does_not_name_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "compact.arrow"
    write_binary(read(_written(tmp_path, "csv", ["a", "b", "c"]), labels="classes"), path)
    table = pyarrow.feather.read_table(path)
    label = pa.array([0.0, 5.0, 2.0])
    pyarrow.feather.write_feather(table.set_column(0, table.field(0), label), path, "uncompressed")
    with pytest.raises(StreamError, match="damaged"):
        list(read(path, labels="classes"))


def test_what_are_no_names_of_classes_is_refused(tmp_path: Path) -> None:
    path = _written(tmp_path, "svm", NAMES)
    with pytest.raises(ArgumentError, match="each of them once"):
        read(path, labels=Classes(("a", "a")))
    with pytest.raises(ArgumentError, match='expected "real", "binary", "classes"'):
        read(path, labels="several")  # type: ignore[arg-type]


def test_classes_of_examples_in_python() -> None:
    examples = [({"a": 1}, "x"), ({"a": 2}, 7), ({"a": 3}, np.bool_(True)), ({"a": 4}, "x")]
    stream = read(examples, labels="classes")
    assert [y for block in stream for y in block.y.tolist()] == [0, 1, 2, 0]
    assert stream.label_map == {"x": 0, "7": 1, "true": 2}
