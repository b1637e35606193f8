"""Labels mean the same in all shards, and what they mean to one process."""

import re

import numpy as np
import pytest

import noregret as nr
from noregret.streams import StreamError, labels
from tests.cluster.joint import gathered, same_as_one_process, written

SHARDS = (1, 2, 3, 5)


def svmlight(*y):
    return "".join(f"{label} {1 + k}:1\n" for k, label in enumerate(y))


@pytest.mark.parametrize(
    "files",
    [
        [(1, 1, 1), (-1, -1), (1, -1)],
        [(1, 1, 1), (0, 0), (1, 1)],
        [(1, 1, 1), (2, 2), (1, 1)],
        [(2, 2, 2), (1, 1), (1, 1)],
        [(1, 1, 1), (1, 1), (1, 1)],
        [(0, 0, 0), (0, 0), (0, 1)],
    ],
)
def test_files_with_one_of_two_labels(tmp_path, files):
    paths = written(tmp_path, "svm", *(svmlight(*y) for y in files))
    same_as_one_process(paths, SHARDS, labels="binary")


@pytest.mark.parametrize("label", [-1, 0, 2])
def test_the_first_rows_decide_what_one_means(tmp_path, monkeypatch, label):
    # In both readers: after LOOK rows of ones, these are positive.
    monkeypatch.setattr(labels, "LOOK", 6)
    monkeypatch.setattr("noregret.cluster.labelling.LOOK", 6)
    for ones in ((1,) * 4, (1,) * 5, (1,) * 9):
        paths = written(tmp_path, "svm", svmlight(*ones), svmlight(1, label, label))
        same_as_one_process(paths, (1, 2), labels="binary", on_error="skip", rows=1, threads=0)


@pytest.mark.parametrize("rule", [(3, 7), (7.0, 3.0)])
def test_a_pair_of_numbers(tmp_path, rule):
    paths = written(tmp_path, "svm", svmlight(7, 7, 7), svmlight(3, 3), svmlight(3, 7))
    same_as_one_process(paths, SHARDS, labels=rule)


def test_a_pair_of_names(tmp_path):
    paths = written(tmp_path, "svm", svmlight("up", "up", "up"), svmlight("down", "up"))
    same_as_one_process(paths, SHARDS, labels=("down", "up"))


@pytest.mark.parametrize(
    "rule", ["classes", labels.Classes(("d", "a")), labels.Classes(())], ids=str
)
def test_classes_by_name_are_numbered_in_the_order_of_the_files(tmp_path, rule):
    texts = ["x,y\n" + "".join(f"1,{y}\n" for y in several) for several in ("cbb", "abd", "dea")]
    found = same_as_one_process(written(tmp_path, "csv", *texts), SHARDS, labels=rule)
    if rule == "classes":
        assert found.label_map == {"c": 0.0, "b": 1.0, "a": 2.0, "d": 3.0, "e": 4.0}


def test_classes_by_number(tmp_path):
    paths = written(tmp_path, "svm", svmlight(7, 3, 3), svmlight(0.5, 3), svmlight(2, 7))
    same_as_one_process(paths, SHARDS, labels="classes")


def test_more_classes_than_allowed(tmp_path, monkeypatch):
    monkeypatch.setattr(labels, "MOST_CLASSES", 3)
    paths = written(tmp_path, "svm", svmlight(7, 3, 3), svmlight(1, 2), svmlight(4, 1))
    same_as_one_process(paths, SHARDS[:3], labels="classes", on_error="skip")
    for count in (1, 2, 3):
        with pytest.raises(StreamError, match=r"b.svm, line 2: found label '2', expected one of"):
            gathered(paths, 3, count, labels="classes")


def test_rows_without_a_label_keep_none(tmp_path):
    paths = written(tmp_path, "csv", "x,y\n1,1\n2,\n3,0\n", "x,y\n1,\n2,0\n")
    for rule in ("binary", "classes", "real"):
        same_as_one_process(paths, SHARDS, labels=rule, unlabelled="keep")


@pytest.mark.parametrize("count", [1, 2, 3])
def test_labels_that_do_not_go_together(tmp_path, count):
    a, b, c = written(tmp_path, "svm", svmlight(0, 1, 1), svmlight(1, 2), svmlight(1, 1))
    message = (
        f"{b}, line 2: found label '2', expected 0/1, since those before it were read 0 as -1, "
        "1 as +1; name the negative and the positive one if they are others, read labels as "
        f"several classes, or as numbers; {b} has the labels 1, 2, and {a} 0, 1"
    )
    for shards in (1, 3, 6):
        with pytest.raises(StreamError, match=re.escape(message) + "$") as caught:
            gathered([a, b, c], shards, count, labels="binary")
        assert caught.value.argument == "labels"


@pytest.mark.parametrize("count", [1, 2])
def test_a_strange_label_beside_others_in_its_file(tmp_path, count):
    paths = written(tmp_path, "csv", "x,y\n1,0\n1,5\n1,1\n", "x,y\n1,0\n1,1\n")
    with pytest.raises(StreamError) as alone:
        list(nr.read(paths, labels="binary", rows=1))
    with pytest.raises(StreamError) as caught:
        gathered(paths, 2, count, labels="binary")
    assert str(caught.value) == str(alone.value)
    assert "in column 'y'" in str(caught.value)


def test_refused_labels_are_left_out_and_counted(tmp_path):
    paths = written(tmp_path, "svm", svmlight(0, 1, 5, 1), svmlight(1, 2, 0), svmlight(8, 1))
    same_as_one_process(paths, (1, 2, 3), labels="binary", on_error="skip")
    for count in (1, 2, 3):
        found, blocks = gathered(paths, 3, count, labels="binary", on_error="count")
        assert found.refused == 3
        assert [text.split(", expected")[0] for text in found.complaints] == [
            f"{paths[0]}, line 3: found label '5'",
            f"{paths[1]}, line 2: found label '2'",
            f"{paths[2]}, line 1: found label '8'",
        ]
        assert np.concatenate([block.y for block in blocks]).tolist() == [-1, 1, 1, 1, -1, 1]
