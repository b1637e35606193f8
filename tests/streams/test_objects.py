"""Streams from what is no file: data frames and (dict, label) pairs, as River's data sets are."""

from __future__ import annotations

import datetime

import numpy as np
import pytest

import noregret as nr
from noregret.arguments import ArgumentError
from noregret.streams import StreamError

PAIRS = [({"size": 0.5, "color": "red"}, 1), ({"size": 2.0, "color": "blue"}, 0)]


def rows(stream):
    return [(block.dense().tolist(), block.y.tolist()) for block in stream]


def test_pairs_are_read_as_often_as_they_can_be():
    stream = nr.read(PAIRS, labels="binary")
    assert rows(stream) == rows(stream) == [([[0.5, 1.0, 0.0], [2.0, 0.0, 1.0]], [1.0, -1.0])]


def test_an_iterator_keeps_its_first_pair_and_is_read_once():
    stream = nr.read(iter(PAIRS), labels="binary")
    assert rows(stream)[0][1] == [1.0, -1.0]
    with pytest.raises(StreamError, match="once"):
        list(stream)


def test_a_data_set_of_river():
    datasets = pytest.importorskip("river.datasets", reason="river is not installed")
    stream = nr.read(datasets.TrumpApproval())
    assert sum(len(block) for block in stream) == 1001


def test_a_data_frame():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.DataFrame({"size": [0.5, 2.0], "color": ["red", "blue"], "y": [1, 0]})
    (block,) = nr.read(frame, labels="binary")
    assert block.y.tolist() == [1.0, -1.0]
    assert np.array_equal(block.dense()[:, 0], [0.5, 2.0])


def test_paths_may_come_from_a_generator(tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.svm").write_text("1 1:2\n")
    assert sum(map(len, nr.read(sorted(tmp_path.glob("*.svm"))))) == 2
    assert sum(map(len, nr.read(tmp_path.glob("*.svm")))) == 2


@pytest.mark.parametrize("inputs", [3, None])
def test_what_is_nothing_of_these_is_refused(inputs):
    with pytest.raises(StreamError, match="expected paths, a data frame or"):
        nr.read(inputs)


def test_formats_and_threads_belong_to_files():
    with pytest.raises(ArgumentError, match="format='csv': formats are of files"):
        nr.read(PAIRS, format="csv")
    with pytest.raises(ArgumentError, match="threads=2: no option of format iterable"):
        nr.read(PAIRS, threads=2)


def test_what_pandas_calls_missing_is_missing() -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    records = [({"a": pandas.NA, "b": 1.0}, 1.0), ({"a": 2.0, "when": pandas.NaT}, 2.0)]
    with pytest.raises(StreamError, match="'a': found <NA>"):
        list(nr.read(records, missing="refuse"))
    stream = nr.read(records)
    blocks = list(stream)
    names = [stream.names.name(k) for k in range(blocks[-1].width)]
    assert sorted(names) == ["a", "a=missing", "b", "when=missing"]


def test_moments_with_a_zone_are_told_in_utc() -> None:
    zone = datetime.timezone(datetime.timedelta(hours=6))
    moments = [datetime.datetime(1970, 1, 2), datetime.datetime(1970, 1, 2, 6, tzinfo=zone)]
    (block,) = nr.read([({"when": moment}, 0.0) for moment in moments])
    assert block.values.tolist() == [1.0, 1.0]
