"""Rows that are read again in every pass: true gaps, all files, bounded memory, plain errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import noregret as nr
from noregret.batch.out_of_core import OutOfCoreSolver, PieceProblem, Pieces
from noregret.batch.problem import Problem
from noregret.runs.out_of_core import hindsight_files
from noregret.streams import Block, StreamError, binary
from noregret.streams.binary import write_binary

LOSSES = [nr.losses.Hinge(), nr.losses.Logistic(), nr.losses.Squared(), nr.losses.Absolute()]


def stream(rows: int = 60, width: int = 9, seed: int = 0) -> tuple[sp.csr_array, Any]:
    random = np.random.default_rng(seed)
    X = sp.csr_array(random.normal(size=(rows, width)) * (random.random((rows, width)) < 0.5))
    return X, np.where(X @ random.normal(size=width) > 0.1, 1.0, -1.0)


def block_of(X: sp.csr_array, y: Any, weight: Any = None) -> Block:
    arrays = X.indptr.astype(np.uint64), X.indices.astype(np.uint32), X.data
    return Block(*arrays, y, X.shape[1], weight)


def pieces_of(problem: Problem, count: int) -> Pieces:
    ends = np.linspace(0, len(problem.rows), count + 1).astype(int)
    return Pieces(lambda k: problem.cut(int(ends[k]), int(ends[k + 1])), count)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("newton", [False, True])
@pytest.mark.parametrize("mirror", [nr.mirrors.Euclidean(), nr.mirrors.Ball(0.4)], ids=str)
def test_pieces_are_solved_as_the_whole(loss: Any, newton: bool, mirror: Any) -> None:
    X, y = stream()
    weight = np.random.default_rng(1).choice([0.0, 0.5, 2.0], len(y))
    problem = Problem.of(X, y, loss, mirror, 0.3, weight)
    pieces = pieces_of(problem, 4)
    try:
        shared = PieceProblem(pieces, loss, mirror, 0.3, X.shape[1])
        solver = OutOfCoreSolver(shared, 1e-6, 3000)
        solver.newton = newton
        for shard in pieces.shards:
            shard.hold()
        found = solver.run()
    finally:
        pieces.close()
    radius = {"radius": mirror.radius} if isinstance(mirror, nr.mirrors.Ball) else {}
    whole = nr.hindsight(X, y, loss, l2=0.3, weight=weight, tol=1e-8, **radius)
    assert found.converged
    assert found.dual <= whole.primal and whole.dual <= found.primal
    for shard in pieces.shards:
        assert not hasattr(shard, "problem"), "rows stay in memory"
    slopes = np.concatenate([shard.slopes for shard in pieces.shards])
    assert problem.dual_lower(slopes) == pytest.approx(found.dual, rel=1e-9)


@pytest.mark.parametrize("form", [{"radius": 0.7}, {"l2": 0.3, "bias": True}], ids=str)
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_a_ball_and_a_bias_are_solved_over_files(
    loss: Any, form: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(binary, "BATCH_ROWS", 7)
    X, y = stream()
    weight = np.random.default_rng(1).choice([0.0, 0.5, 2.0], len(y))
    path = tmp_path / "rows.arrow"
    write_binary([block_of(X, y, weight)], path)
    found = hindsight_files(path, loss, tol=1e-6, **form).solution
    whole = nr.hindsight(X, y, loss, weight=weight, tol=1e-8, **form)
    assert found.converged and found.objective == whole.objective
    assert found.dual <= whole.primal and whole.dual <= found.primal
    assert (found.bias != 0.0) == ("bias" in form)


def test_the_order_of_visits_is_kept_between_two_readings() -> None:
    X, y = stream(40)
    problem = Problem.of(X, y, nr.losses.Hinge(), strength=0.1)
    pieces = pieces_of(problem, 3)
    solver = OutOfCoreSolver(PieceProblem(pieces, problem.loss, problem.mirror, 0.1, 9))
    for _ in range(6):
        solver.visit()
        for shard in pieces.shards:
            assert sorted(shard._order.tolist()) == list(range(len(shard.slopes)))
        theta = -(X.T @ np.concatenate([shard.slopes for shard in pieces.shards])) / 0.1
        np.testing.assert_allclose(solver.theta, theta, atol=1e-9)
    pieces.close()


def test_files_of_the_compact_form_are_read_batch_by_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(binary, "BATCH_ROWS", 7)
    X, y = stream()
    weight = np.linspace(0.5, 2.0, len(y))
    # The second file knows of fewer columns.
    parts = (X[:35], y[:35], weight[:35]), (sp.csr_array(X[35:, :6]), y[35:], weight[35:])
    paths = [tmp_path / "a.arrow", tmp_path / "b.arrow"]
    for path, part in zip(paths, parts, strict=True):
        write_binary([block_of(*part)], path)
    found = hindsight_files(paths, nr.losses.Hinge(), l2=0.2)
    dense = X.toarray()
    dense[35:, 6:] = 0.0
    whole = nr.hindsight(dense, y, nr.losses.Hinge(), l2=0.2, weight=weight)
    assert found.rows == 60 and found.width == 9
    assert found.solution.converged
    assert found.solution.dual <= whole.primal and whole.dual <= found.solution.primal
    np.testing.assert_array_equal(found.sizes, np.abs(dense).max(axis=0))
    assert "weight" in found.solution.objective


def test_other_files_are_converted_first(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("a,city,y\n1,Rome,yes\n2,Bonn,no\n3,Rome,yes\n0,Bonn,no\n")
    found = hindsight_files(path, nr.losses.Logistic(), l2=0.5)
    block = next(iter(nr.read(path, labels="binary")))
    whole = nr.hindsight(block, block.y, nr.losses.Logistic(), l2=0.5)
    assert found.solution.dual <= whole.primal and whole.dual <= found.solution.primal
    assert list(found.names) == ["a", "city=Rome", "city=Bonn"]


def test_what_is_wrong_is_said_in_one_line(tmp_path: Path) -> None:
    X, y = stream()
    path = tmp_path / "rows.arrow"
    write_binary([block_of(X, y)], path)
    hinge = nr.losses.Hinge()
    with pytest.raises(ValueError, match=r"memory.* 60 rows of 9 columns need \d+ MB"):
        hindsight_files(path, hinge, l2=0.2, memory=100)
    with pytest.raises(ValueError, match="give radius=, l2="):
        hindsight_files(path, hinge)
    write_binary([block_of(X, np.where(y > 0, 3.0, 4.0))], path)
    with pytest.raises(ValueError, match="label"):
        hindsight_files(path, hinge, l2=0.2)
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(StreamError):
        hindsight_files(path, hinge, l2=0.2)
