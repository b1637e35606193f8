"""Labels: two kinds in three conventions or by name, told apart however the rows are cut."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noregret.streams import StreamError, read
from noregret.streams.labels import LOOK, LabelMap, LabelReader


@pytest.fixture
def stream(tmp_path: Path):  # type: ignore[no-untyped-def]
    def open_(text: str, **options: object):  # type: ignore[no-untyped-def]
        path = tmp_path / "labels.svm"
        path.write_text(text)
        return read(path, **options)  # type: ignore[arg-type]

    return open_


@pytest.mark.parametrize(
    ("text", "y", "label_map"),
    [
        ("-1\n+1\n", [-1, 1], {-1: -1, 1: 1}),
        ("0\n1\n0\n", [-1, 1, -1], {0: -1, 1: 1}),
        ("2\n1\n", [1, -1], {1: -1, 2: 1}),
        ("1.0\n1e0\n", [1, 1], {1: 1}),
        ("2\n2\n", [1, 1], {2: 1}),
    ],
)
def test_binary_labels_are_mapped_and_the_mapping_is_told(stream, text, y, label_map) -> None:  # type: ignore[no-untyped-def]
    opened = stream(text, labels="binary")
    (block,) = opened
    assert block.y.tolist() == y
    assert opened.label_map == label_map


def test_a_label_that_disagrees_later_is_refused(stream) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(StreamError, match=r"line 4: found label '-1', expected 0/1, since those"):
        list(stream("0\n1\n1\n-1\n", labels="binary", rows=2))
    with pytest.raises(StreamError, match=r"line 3: found label '3', expected -1/1 or 0/1, since"):
        list(stream("1\n1\n3\n", labels="binary"))


@pytest.mark.parametrize("rows", [1, 2, 100])
def test_ones_are_told_apart_by_what_follows_however_blocks_are_cut(stream, rows) -> None:  # type: ignore[no-untyped-def]
    for text, expected in [("1\n1\n0\n1\n", [1, 1, -1, 1]), ("1\n1\n2\n1\n", [-1, -1, 1, -1])]:
        blocks = list(stream(text, labels="binary", rows=rows))
        assert [label for block in blocks for label in block.y] == expected


def test_so_many_ones_are_positive_and_bind_what_follows(stream) -> None:  # type: ignore[no-untyped-def]
    blocks = list(stream("1\n" * LOOK + "0\n", labels="binary"))
    assert blocks[0].y[0] == 1 and blocks[-1].y[-1] == -1
    with pytest.raises(StreamError, match=rf"line {LOOK + 1}: found label '2', expected -1/1 or 0"):
        list(stream("1\n" * LOOK + "2\n", labels="binary"))
    blocks = list(stream("1\n" * LOOK + "2\n", labels=(1, 2)))
    assert blocks[0].y[0] == -1 and blocks[-1].y[-1] == 1


def test_any_pair_of_numbers_can_be_named(stream) -> None:  # type: ignore[no-untyped-def]
    (block,) = stream("7\n3.5\n7\n", labels=(7, 3.5))
    assert block.y.tolist() == [-1, 1, -1]
    with pytest.raises(
        StreamError,
        match=r"line 2: found label '4', expected 7/3.5, since those before it were read 7",
    ):
        list(stream("7\n4\n", labels=(7, 3.5)))


def one_by_one(labels: list[float]) -> tuple[list[float], list[int]]:
    """Read labels in one go, the simplest way: what they become, and the rows refused."""
    pairs = [(-1.0, 1.0), (0.0, 1.0), (1.0, 2.0)]
    refused = []
    for row, label in enumerate(labels):
        fitting = [pair for pair in pairs if label in pair]
        if fitting:
            pairs = fitting
        else:
            refused.append(row)
    if len(pairs) > 1:
        pairs = pairs[:2]
    return [-1.0 if any(label == pair[0] for pair in pairs) else 1.0 for label in labels], refused


@given(
    st.lists(st.sampled_from([-1.0, 0.0, 1.0, 1.0, 1.0, 2.0, 3.0]), min_size=1, max_size=20),
    st.lists(st.integers(0, 20), max_size=5),
)
def test_how_labels_are_cut_into_pieces_changes_nothing(
    labels: list[float], cuts: list[int]
) -> None:
    expected, bad = one_by_one(labels)
    pieces = np.split(np.array(labels), sorted(cut for cut in cuts if cut <= len(labels)))
    label_map: LabelMap = {}
    reader = LabelReader("binary", label_map)
    for piece in pieces:
        if reader.look(piece):
            break
    else:
        reader.decide()
    mapped, refused, before = [], [], 0
    for piece in pieces:
        y, strange = reader.read(piece)
        mapped += y.tolist()
        refused += (strange + before).tolist()
        before += len(piece)
    assert refused == bad
    kept = [k for k in range(len(labels)) if k not in bad]
    assert [mapped[k] for k in kept] == [expected[k] for k in kept]
    assert label_map == {labels[k]: expected[k] for k in kept}


def test_rows_without_a_label_stay_without() -> None:
    reader = LabelReader("binary", {})
    reader.look(np.array([np.nan, 0.0, 1.0]))
    y, strange = reader.read(np.array([np.nan, 0.0, 1.0]))
    assert np.isnan(y[0]) and y[1:].tolist() == [-1, 1] and len(strange) == 0


def test_only_labels_before_a_bad_one_are_given_as_the_reason(stream) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(StreamError) as refused:
        list(stream("5\n1\n2\n", labels="binary"))
    told = str(refused.value)
    assert "line 1: found label '5', expected -1/1 or 0/1 or 1/2;" in told and "since" not in told
    with pytest.raises(StreamError) as refused:
        list(stream("1\n5\n2\n", labels="binary"))
    assert "line 2: found label '5', expected 1/2, since those" in str(refused.value)
    assert "read 1 as -1;" in str(refused.value) and refused.value.argument == "labels"


def test_the_message_about_a_label_names_its_column_and_the_number_as_written(
    tmp_path: Path,
) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,price\n1,27.0302\n2,3.5\n")
    with pytest.raises(StreamError) as refused:
        list(read(path, labels="binary"))
    assert "line 2: found label '27.0302' in column 'price', expected" in str(refused.value)


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl"])
def test_a_missing_label_is_told_apart_from_a_wrong_one(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    rows = [(1, "1"), (2, ""), (3, "0")]
    csv = "a,y\n" + "".join(f"{a},{y}\n" for a, y in rows)
    lines = "".join(f'{{"a": {a}, "y": {y or "null"}}}\n' for a, y in rows)
    path.write_text(csv if name == "t.csv" else lines)
    with pytest.raises(StreamError) as refused:
        list(read(path, labels="binary", target="y"))
    assert refused.value.argument == "on_error"
    (block,) = read(path, labels="binary", target="y", on_error="skip")
    assert len(block) == 2


def test_long_labels_are_repeated_in_part(tmp_path: Path) -> None:
    path = tmp_path / "t.tsv"
    path.write_text("kind\tmessage\n" + "".join(f"x\tmessage {k} {'!' * 99}\n" for k in range(9)))
    with pytest.raises(StreamError) as refused:
        list(read(path, labels="binary"))
    told = str(refused.value).removeprefix(str(path))
    assert len(told) < 300 and "and 5 more in the first rows" in told
