"""The record of a run: radii of floors, passes over inputs, and files that are not sound."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.evaluate import Point
from noregret.files import store
from noregret.runs.record import Input, Position, Record, load
from noregret.vocabulary.learners import Spec

X = np.array([[1.0, 0.5], [-0.5, 1.0], [1.0, 1.0]])
Y = np.array([1.0, -1.0, 1.0])


def learnt(files: list[str], passes: int = 1) -> Input:
    passed = [[3, 1]] * (passes - 1)
    return Input(files, position=Position(passes, 3, 3 * passes, 1, 0, passed))


def test_a_radius_holds_from_the_examples_after_it() -> None:
    record = Record(Spec(), [Input()], floor_radii=[[0, 1.0], [10, 2.0]])
    # A mark is looked at before the run ends there and another radius is named.
    assert record.radius_at(10, is_mark=True) == 1.0
    assert record.radius_at(10, is_mark=False) == 2.0
    assert record.radius_at(11, is_mark=True) == 2.0
    assert Record(Spec(), [Input()]).radius_at(10, is_mark=True) is None


@pytest.mark.parametrize(
    ("inputs", "passes"),
    [
        ([learnt(["a.svm"])], (1, 1)),
        ([learnt(["a.svm"], 2)], (2, 2)),
        ([learnt(["a.svm"], 2), learnt(["a.svm"])], (3, 3)),
        ([learnt(["a.svm"], 2), learnt(["b.svm"])], (1, 2)),
        # Standard input twice is not the same examples twice.
        ([learnt(["-"]), learnt(["-"])], (1, 1)),
    ],
)
def test_passes_are_counted_by_file(inputs: list[Input], passes: tuple[int, int]) -> None:
    learner = nr.MirrorDescent(nr.losses.Hinge(), nr.mirrors.Euclidean(), nr.rates.Constant(0.5))
    learner.learn(X, Y)
    assert Record(Spec(loss="hinge"), inputs).certificate(learner).passes == passes


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A model with one point."""
    learner = Spec(loss="hinge", rate="constant").make()
    learner.learn(X, Y)
    path = tmp_path / "m.nr"
    points = [Point(3, 1.0, 1, 0.5, 0.5, 1.0)]
    Record(Spec(loss="hinge", rate="constant"), [learnt(["a.svm"])], points=points).save(
        learner, path
    )
    return path


def forged(path: Path, change: Any) -> Path:
    header, arrays = store.read(path)
    change(header["extra"]["stream"], arrays)
    path.write_bytes(b"".join(store._encode("model", header, arrays)))
    return path


def test_a_sound_file_opens(saved: Path) -> None:
    learner, record = load(forged(saved, lambda stream, arrays: None))
    assert learner.rounds == 3 and record.points[0].rounds == 3


def test_another_version_is_refused(saved: Path) -> None:
    with pytest.raises(ValueError, match="version 99, expected 2"):
        load(forged(saved, lambda stream, arrays: stream.update(version=99)))


@pytest.mark.parametrize("place", [0, 1, 2])
def test_points_that_are_none_are_refused(saved: Path, place: int) -> None:
    def change(stream: Any, arrays: Any) -> None:
        stream["points"][0][place] = "3" if place else -3

    with pytest.raises(ValueError, match="field 'points' in the model file is invalid"):
        load(forged(saved, change))


def test_half_a_dictionary_of_names_is_refused(saved: Path) -> None:
    def change(stream: Any, arrays: Any) -> None:
        arrays["extra/names/name_text"] = np.frombuffer(b"ab", np.uint8)

    with pytest.raises(ValueError, match="field 'names' in the model file is invalid"):
        load(forged(saved, change))
