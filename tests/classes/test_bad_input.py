"""What is refused, in one line, with nothing changed; and models that come back from files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret import classes
from noregret.files import store

H = classes.thresholds(5)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ([[0, 2]], "row 0 column 1 is 2"),
        ([[0, np.nan]], "row 0 column 1 is nan"),
        ([0, 1], "got the shape \\(2,\\)"),
        ([], "got the shape"),
        ([[]], "got the shape \\(1, 0\\)"),
        ([[0, 1], [1]], "rows of one length"),
        ([["a", "b"]], "must hold 0 and 1"),
    ],
)
def test_tables(table: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words) as error:
        classes.FiniteClass(table)
    assert "\n" not in str(error.value)


LEARNERS: list[Callable[[], Any]] = [
    lambda: classes.Consistent(H),
    lambda: classes.Halving(H),
    lambda: classes.SOA(H),
    lambda: classes.Agnostic(H, 6),
    lambda: classes.Agnostic(H, flip=0.1, eta=0.5),
]


@pytest.mark.parametrize("make", LEARNERS)
@pytest.mark.parametrize(
    ("x", "y", "words"),
    [
        (5, 1, "x\\[0\\] must be a point from 0 to 4, got 5"),
        ([0, -1], [1, 1], "x\\[1\\] must be a point"),
        (1.5, 1, "must be a point"),
        (float("nan"), 1, "must be a point"),
        ("a", 1, "must be a point"),
        ([0, 1], [1, 2], "y\\[1\\] must be a label 0 or 1, got 2"),
        ([0, 1], [1], "got the shapes \\(2,\\), \\(1,\\)"),
        ([[0]], [[1]], "one line each"),
        (None, 1, "must be a point"),
    ],
)
def test_examples(make: Callable[[], Any], x: Any, y: Any, words: str) -> None:
    learner = make()
    learner.learn(2, 1)
    before = vars(learner.certificate())
    probability = learner.predict(3)
    with pytest.raises(ValueError, match=words) as error:
        learner.learn(x, y)
    assert "\n" not in str(error.value)
    assert vars(learner.certificate()) == before and learner.predict(3) == probability


def test_labels_after_the_last_hypothesis_are_refused_as_a_whole() -> None:
    learner = classes.Halving(H)
    with pytest.raises(ValueError, match="y\\[1\\] leaves no hypothesis"):
        learner.learn([0, 1, 2], [0, 1, 0])
    assert learner.rounds == 0 and learner.space == H.everything


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda: classes.Agnostic(H), "either the horizon or the probability"),
        (lambda: classes.Agnostic(H, 3, flip=0.1), "either the horizon"),
        (lambda: classes.Agnostic(H, 0), "horizon must be a whole number >= 1"),
        (lambda: classes.Agnostic(H, flip=0.6, eta=1.0), "flip must be a number between 0 and 0.5"),
        (lambda: classes.Agnostic(H, flip=0.1), "needs eta"),
        (lambda: classes.Agnostic(H, 3, eta=-1.0), "eta must be a number between 0 and 1e"),
        (lambda: classes.Agnostic(H, 2).learn([0, 1, 2], [0, 0, 0]), "beyond the horizon 2"),
        (lambda: classes.SOA(H, tie=2), "tie must be a label"),
        (lambda: classes.Expert(H, [0]), "a flip must be a whole number >= 1"),
        (lambda: classes.Littlestone(H)(1 << 6), "bits of 6 hypotheses"),
        (lambda: classes.Ranking(3), "either the horizon or eta"),
        (lambda: classes.Ranking(17, 5), "at most 16"),
        (lambda: classes.Ranking(3, eta=0.0), "eta must be a number between 0 and 1e"),
        (lambda: classes.Ranking(3, 5).learn([0, 3]), "an item from 0 to 2"),
        (lambda: classes.Ranking(3, 5).learn([0.5]), "items in one line"),
        (lambda: classes.Elimination(2, 1).learn([[0, 2]], [1]), "must hold 0 and 1"),
        (lambda: classes.Elimination(2, 1).learn([[0, 1]], [3]), "labels 0 and 1"),
        (lambda: classes.Elimination(2, 1).predict([1]), "has 2 variables"),
        (lambda: classes.RandomLabels(classes.dyadic_tree(3), 2), "cannot be cut into 3 blocks"),
        (lambda: classes.Adversary(H).answer(1), "ask for the instance"),
        (lambda: classes.Bisection().answer(1.5), "lie in \\[0, 1\\]"),
        (lambda: classes.thresholds(0), "points must be a whole number >= 1"),
        (lambda: classes.all_functions(17), "too many"),
        (lambda: classes.half_planes([[0.5, 0]]), "whole coordinates"),
        (lambda: classes.half_planes([[np.nan, 0]]), "whole coordinates"),
        (lambda: classes.half_planes([1, 2]), "points \\(x, y\\)"),
    ],
)
def test_everything_else(act: Callable[[], Any], words: str) -> None:
    with pytest.raises(ValueError, match=words) as error:
        act()
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("make", LEARNERS)
@pytest.mark.parametrize("cut", range(6))
def test_a_learner_goes_on_to_the_bit(make: Callable[[], Any], cut: int, tmp_path: Path) -> None:
    x, y = np.array([2, 4, 0, 3, 1, 3]), np.array([1, 0, 1, 0, 1, 0])
    whole, part = make(), make()
    expected = whole.learn(x, y)
    part.learn(x[:cut], y[:cut])
    part.save(tmp_path / "model.nr")
    again = nr.load(tmp_path / "model.nr")
    assert type(again) is type(part)
    rest = again.learn(x[cut:], y[cut:])
    assert rest.tobytes() == expected[cut:].tobytes()
    assert vars(again.certificate()) == vars(whole.certificate())
    again.save(tmp_path / "again.nr")
    whole.save(tmp_path / "whole.nr")
    assert (tmp_path / "again.nr").read_bytes() == (tmp_path / "whole.nr").read_bytes()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"learner": "Oracle"}, "not a model of a kind known here"),
        ({"mistakes": 9}, "it counts 9 mistakes in 1 rounds"),
        ({"broken": 1}, "no hypothesis left in 1"),
        ({"rounds": -1}, "rounds must be a whole number"),
    ],
)
def test_files_that_no_learner_wrote(change: dict[str, Any], words: str, tmp_path: Path) -> None:
    learner = classes.Halving(H)
    learner.learn(2, 1)
    learner.save(tmp_path / "model.nr")
    header, arrays = store.read(tmp_path / "model.nr")
    store.write(tmp_path / "odd.nr", header | change, arrays)
    with pytest.raises(ValueError, match=words):
        nr.load(tmp_path / "odd.nr")
    store.write(
        tmp_path / "part.nr", header, {"table": arrays["table"], "origin": arrays["origin"]}
    )
    with pytest.raises(ValueError, match="holds no whole model"):
        nr.load(tmp_path / "part.nr")
    store.write(tmp_path / "short.nr", header, arrays | {"space": np.ones(2)})
    with pytest.raises(ValueError, match="version space is not one of"):
        nr.load(tmp_path / "short.nr")


def test_an_agnostic_file_with_foreign_states_is_refused(tmp_path: Path) -> None:
    learner = classes.Agnostic(H, 6)
    learner.learn(2, 1)
    learner.save(tmp_path / "model.nr")
    header, arrays = store.read(tmp_path / "model.nr")
    changed = (
        {"weights": arrays["weights"] + 1.0},
        {"weights": np.full_like(arrays["weights"], np.nan)},
        {"flips": arrays["flips"] + 9},
        {"errors": arrays["errors"][1:]},
    )
    for change in changed:
        store.write(tmp_path / "odd.nr", header, arrays | change)
        with pytest.raises(ValueError, match="not those of an agnostic learner"):
            nr.load(tmp_path / "odd.nr")


def test_rankings_and_eliminations_go_on_to_the_bit(tmp_path: Path) -> None:
    path = tmp_path / "model.nr"
    for items in (1, 4):
        clicks = [0, items - 1, items // 2, 0]
        whole, part = classes.Ranking(items, 4), classes.Ranking(items, 4)
        expected = whole.learn(clicks)
        part.learn(clicks[:2])
        part.save(path)
        again = nr.load(path)
        assert isinstance(again, classes.Ranking)
        assert again.learn(clicks[2:]).tobytes() == expected[2:].tobytes()
        assert again.certificate() == whole.certificate()
    header, arrays = store.read(path)
    odd = [({"loss": 0.5}, {}), ({}, {"counts": -arrays["counts"]}), ({"items": 3}, {})]
    for more, other in odd:
        store.write(path, header | more, arrays | other)
        with pytest.raises(ValueError, match=r"is not one|are not those of"):
            nr.load(path)
    points, labels = [[1, 1, 0], [0, 1, 1], [0, 1, 0]], [1, 0, 1]
    entire, half = classes.Elimination(3, 1), classes.Elimination(3, 1)
    entire.learn(points, labels)
    half.learn(points[:2], labels[:2])
    half.save(path)
    resumed = nr.load(path)
    assert isinstance(resumed, classes.Elimination)
    resumed.learn(points[2:], labels[2:])
    assert resumed.certificate() == entire.certificate()
    assert resumed.candidates.tolist() == entire.candidates.tolist()
    header, arrays = store.read(path)
    odd = [({"mistakes": 9}, {}), ({}, {"excluded": np.ones(3)}), ({"dimension": 2}, {})]
    for more, other in odd:
        store.write(path, header | more, arrays | other)
        with pytest.raises(ValueError, match=r"9 mistakes in 2|are not flags of"):
            nr.load(path)
