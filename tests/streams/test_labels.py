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
