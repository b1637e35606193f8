"""Batch runs over files at workers: balls, biases, several classes, checkpoints and losses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.batch import shared
from noregret.cluster import batch
from noregret.cluster.errors import ClusterError
from tests.cluster.batch_runs import rows_of, session, written

FORMS: list[dict[str, Any]] = [
    {"radius": 0.8},
    {"l2": 0.3, "bias": True},
    {"mirror": nr.mirrors.ElasticNet(0.4), "strength": 0.5, "bias": True},
    {"l2": 0.3, "radius": 0.5},
]
TIGHT: dict[str, Any] = {"tol": 1e-7}


def solved(files: Any, loss: Any, form: dict[str, Any], folder: Path, **options: Any) -> Any:
    """Solve over threads; the options of a session and of `solve` together."""
    own = {name: options.pop(name) for name in ("shards", "workers", "every", "losses")
           if name in options}  # fmt: skip
    with session(files, loss, folder, **own) as run:
        return run.solve(*batch.form(**form), **options)


def numbers(found: Any) -> Any:
    """Return what has to be the same to the bit."""
    return (
        found.primal, found.dual, found.passes, found.converged, found.bias,
        found.weights.tobytes(), found.objective,
    )  # fmt: skip


class Stopped(Exception):
    """A driver that ends in the middle of a run."""


def stopping(calls: int) -> Any:
    """Return what ends a run after this many calls of all shards."""

    def stop(now: Any) -> None:
        if now.calls >= calls:
            raise Stopped

    return stop


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], Any, Any]:
    """Files of two classes, with their rows."""
    X, y = rows_of(2)
    return written(tmp_path_factory.mktemp("two"), X, y), X, y


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], Any, Any]:
    """Files of three classes, with their rows."""
    X, y = rows_of(3)
    return written(tmp_path_factory.mktemp("three"), X, y), X, y


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("loss", [nr.losses.Hinge(), nr.losses.Logistic()], ids=str)
def test_files_are_solved_as_rows_in_memory(
    two: Any, form: dict[str, Any], loss: Any, tmp_path: Path
) -> None:
    files, X, y = two
    found = solved(files, loss, form, tmp_path, **TIGHT)
    alone = nr.hindsight(X, y, loss, **form, **TIGHT)
    assert found.converged and found.objective == alone.objective
    assert max(found.dual, alone.dual) <= min(found.primal, alone.primal)
    np.testing.assert_allclose(found.weights, alone.weights, atol=1e-2)
    assert found.bias == pytest.approx(alone.bias, abs=1e-2)
    assert bool(found.bias) == bool(form.get("bias"))
    assert ("bias" in found.text()) == bool(form.get("bias"))


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_workers_losses_and_checkpoints_change_no_bit(
    two: Any, form: dict[str, Any], tmp_path: Path
) -> None:
    files, _, _ = two
    loss = nr.losses.Hinge()
    whole = solved(files, loss, form, tmp_path / "one", **TIGHT)
    expected, calls = numbers(whole), whole.rounds[-1].calls
    assert numbers(solved(files, loss, form, tmp_path / "two", workers=3, **TIGHT)) == expected
    for part in (0.3, 0.6, 0.9):
        folder, losses = tmp_path / f"lost-{part}", (int(part * calls),)
        found = solved(files, loss, form, folder, workers=2, losses=losses, **TIGHT)
        assert found.lost == 1
        assert numbers(found) == expected, f"a worker lost after {part} of the calls"
    folder = tmp_path / "resumed"
    with pytest.raises(Stopped):
        solved(files, loss, form, folder, every=1, progress=stopping(calls // 2), **TIGHT)
    assert numbers(solved(files, loss, form, folder, resume=True, **TIGHT)) == expected


def test_a_checkpoint_of_another_form_is_refused(two: Any, tmp_path: Path) -> None:
    files, _, _ = two
    loss = nr.losses.Hinge()
    solved(files, loss, {"l2": 0.3, "bias": True}, tmp_path / "a", max_passes=2)
    solved(files, loss, {"radius": 2.0}, tmp_path / "b", max_passes=2)
    for name, form in (("a", {"l2": 0.3}), ("b", {"radius": 2.5}), ("b", {"l2": 0.3})):
        with pytest.raises(ClusterError, match="of another run"):
            solved(files, loss, form, tmp_path / name, resume=True)


def test_one_session_solves_several_forms(two: Any, tmp_path: Path) -> None:
    """Each from a cold start, so that those before it change nothing."""
    files, _, _ = two
    loss = nr.losses.Logistic()
    forms = [{"l2": 0.3}, {"radius": 0.8}, {"l2": 0.3, "bias": True}, {"radius": 0.4}]
    alone = [numbers(solved(files, loss, one, tmp_path / str(k))) for k, one in enumerate(forms)]
    with session(files, loss, tmp_path / "all") as run:
        assert [numbers(run.solve(*batch.form(**one))) for one in forms] == alone


@pytest.mark.parametrize("first", [True, False], ids=["Newton", "ascent"])
def test_a_worker_lost_at_the_start_of_a_warm_call_changes_no_bit(
    two: Any, first: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has no checkpoint of this call yet, and the slopes of the call before are needed."""
    if not first:
        monkeypatch.setattr(shared, "narrow", lambda *_: False)
    files, _, _ = two

    def path(folder: str, losses: tuple[int, ...] = ()) -> tuple[list[Any], list[int], int]:
        with session(files, nr.losses.Hinge(), tmp_path / folder, workers=2, losses=losses) as run:
            found, asked = [], []
            for one in run.path(nr.mirrors.Euclidean(), [1.0, 0.1]):
                found.append(numbers(one))
                asked.append(run.workers.asked)
            return found, asked, one.lost

    expected, asked, _ = path("whole")
    # The calls after "open", up to the first checkpoint.
    for later in (2, 3, 4):
        found, _, lost = path(f"lost-{later}", (asked[0] + later,))
        assert lost == 1 and found == expected


@pytest.mark.parametrize(
    "form", [{"l2": 0.3}, {"radius": 0.8},
             {"mirror": nr.mirrors.ElasticNet(0.4), "strength": 0.5}], ids=str
)  # fmt: skip
@pytest.mark.parametrize("loss", [nr.losses.Hinge(), nr.losses.Logistic()], ids=str)
def test_each_class_against_the_rest_as_in_memory(
    three: Any, form: dict[str, Any], loss: Any, tmp_path: Path
) -> None:
    files, X, y = three
    several = nr.losses.OneAgainstRest(loss)
    alone = nr.hindsight(X, y, several, **form, **TIGHT)
    found = solved(files, several, form, tmp_path / "one", **TIGHT)
    assert found.converged and found.weights.shape == (4, 3)
    assert max(found.dual, alone.dual) <= min(found.primal, alone.primal)
    np.testing.assert_allclose(found.weights, alone.weights, atol=2e-2)
    assert found.objective == alone.objective
    assert found.gathered.label_map == {"0": 0.0, "1": 1.0, "2": 2.0}


def test_several_classes_survive_lost_workers_and_drivers(three: Any, tmp_path: Path) -> None:
    """Also between two classes: the first has its checkpoints, the third has none yet."""
    files, _, _ = three
    loss, form = nr.losses.OneAgainstRest(nr.losses.Hinge()), {"l2": 0.05}
    whole = solved(files, loss, form, tmp_path / "whole", **TIGHT)
    expected, calls = numbers(whole), whole.rounds[-1].calls
    losses = calls // 4, calls // 2
    lost = solved(files, loss, form, tmp_path / "lost", losses=losses, workers=3, **TIGHT)
    assert lost.lost == 2 and numbers(lost) == expected
    folder = tmp_path / "stopped"
    with pytest.raises(Stopped):
        solved(files, loss, form, folder, every=1, progress=stopping(calls // 2), **TIGHT)
    assert sorted(one.name for one in folder.iterdir()) == ["call-0", "call-1"]
    assert numbers(solved(files, loss, form, folder, every=1, resume=True, **TIGHT)) == expected


def test_classes_are_summed_with_rounding_outwards(three: Any, tmp_path: Path) -> None:
    files, X, y = three
    found = solved(files, nr.losses.OneAgainstRest(), {"l2": 0.3}, tmp_path, **TIGHT)
    exact = [
        nr.hindsight(X, np.where(y == k, 1.0, -1.0), nr.losses.Logistic(), l2=0.3, tol=1e-12)
        for k in range(3)
    ]
    assert found.primal >= sum(one.dual for one in exact)
    assert found.dual <= sum(one.primal for one in exact)
    assert len(found.rounds) >= 3 and found.rounds[-1].vectors == max(
        one.vectors for one in found.rounds
    )


def test_what_is_not_solved_is_refused_in_one_line(two: Any, three: Any, tmp_path: Path) -> None:
    rest = nr.losses.OneAgainstRest()
    hinge = nr.losses.Hinge()
    wrong: list[tuple[Any, Any, dict[str, Any], str]] = [
        (three, nr.losses.Softmax(), {"l2": 1.0}, "Softmax joins several scores.*OneAgainstRest"),
        (three, nr.losses.MulticlassHinge(), {"l2": 1.0}, "MulticlassHinge joins several scores"),
        (three, rest, {"l2": 1.0, "bias": True}, "OneAgainstRest takes no bias"),
        (three, hinge, {"l2": 1.0}, "found label '2', expected 0/1"),
        (two, hinge, {"radius": 1.0, "bias": True}, "in a ball add a constant feature"),
        (two, hinge, {}, "give radius=, l2= or strength="),
        (two, nr.losses.NegativeLog(), {"l2": 1.0, "bias": True}, "falls forever along a bias"),
    ]
    for number, ((files, _, _), loss, form, message) in enumerate(wrong):
        with pytest.raises(ValueError, match=message) as caught:
            solved(files, loss, form, tmp_path / str(number))
        assert "\n" not in str(caught.value)
    files, _, _ = three
    with session(files, rest, tmp_path / "path") as run, pytest.raises(ValueError, match="warm"):
        list(run.path(nr.mirrors.Euclidean(), [2.0, 1.0]))


def test_class_indices_may_be_read_as_numbers(three: Any, tmp_path: Path) -> None:
    """Then there are as many classes as the largest index says; other numbers are refused."""
    X, y = rows_of(3)
    loss = nr.losses.OneAgainstRest()
    files = written(tmp_path, X, y)
    with session(files, loss, tmp_path / "a", labels="real") as run:
        found = run.solve(*batch.form(l2=0.3))
    assert not found.gathered.label_map
    assert numbers(found) == numbers(solved(three[0], loss, {"l2": 0.3}, tmp_path / "b"))
    files = written(tmp_path, X, y + 0.5)
    with (
        session(files, loss, tmp_path / "c", labels="real") as run,
        pytest.raises(ValueError, match=r"0\.5 is not a class index"),
    ):
        run.solve(*batch.form(l2=0.3))
