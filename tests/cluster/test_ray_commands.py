"""The commands at the workers of a local Ray, and online learning there."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from noregret.cli import commands
from noregret.cluster import batch, learning
from noregret.cluster.errors import ClusterError
from noregret.cluster.gathering import Gathered, gather
from noregret.cluster.hosting import require_memory
from noregret.cluster.online import OnlineRun
from noregret.vocabulary.learners import Spec
from noregret.workers import Threads
from tests.cli.program import svmlight
from tests.cli.test_json import checked
from tests.sizes import sized

pytestmark = [pytest.mark.compiled, pytest.mark.usefixtures("ray_cluster")]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "rows.svm"
    found.write_text(svmlight(400))
    return found


@contextmanager
def threads(
    kind: Any, inputs: Any, reading: Any, shards: int, workers: int, *_: Any
) -> Iterator[tuple[Threads, Gathered]]:
    """Threads in place of processes, for what is printed."""
    hosts = Threads([None] * shards, workers, host=kind)
    hosts.traffic.sent = 1
    yield hosts, gather(hosts, inputs, reading)


def test_hindsight_prints_a_table_and_a_verified_gap(
    path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ["hindsight", str(path), "--l2", "0.1", "--cluster", "local", "--shards", "3"]
    picture = path.with_suffix(".png")
    with monkeypatch.context() as here:
        here.setattr(batch, "hosted", threads)
        assert commands.call([*command, "--picture", str(picture)]) == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    told = capsys.readouterr().out
    assert "none has less" in told and re.search("gap verified +by separate code", told)
    assert commands.call([*command, "--workers", "2", "--json"]) == 0
    found = checked("hindsight", capsys.readouterr().out)
    assert found["converged"] and found["cluster"]["shards"] == 3
    assert commands.call(["hindsight", str(path), "--l2", "0.1", "--json"]) == 0
    alone = checked("hindsight", capsys.readouterr().out)
    assert found["dual"] <= alone["primal"] and alone["dual"] <= found["primal"]
    assert [one["name"] for one in found["top"]] == [one["name"] for one in alone["top"]]
    free = ["hindsight", str(path), "--l2", "0.1", "--bias", "--json"]
    assert commands.call([*free, "--cluster", "local", "--shards", "3"]) == 0
    found = checked("hindsight", capsys.readouterr().out)
    assert commands.call(free) == 0
    alone = checked("hindsight", capsys.readouterr().out)
    assert found["dual"] <= alone["primal"] and alone["dual"] <= found["primal"]
    assert found["bias"] == pytest.approx(alone["bias"], abs=0.05) and found["bias"] != 0.0
    assert found["features"] == alone["features"]


def test_learn_prints_whose_loss_it_is(
    path: Path, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = tmp_path / "weights"
    command = [
        "learn", str(path), "--cluster", "local", "--shards", "4", "--mix-every", "20",
        "--class-radius", "3", "--weights", str(weights),
    ]  # fmt: skip
    with monkeypatch.context() as here:
        here.setattr(learning, "hosted", threads)
        assert commands.call(command) == 0
    told = capsys.readouterr().out
    parts = "Logistic(), Euclidean(), PerCoordinate(scale=1.0, invariant=False)"
    assert told.startswith(f"each shard: {parts}\n")
    assert "whose loss: 4 shards, each predicting with its own weights, mixed every 20 rows" in told
    assert len(weights.read_text().split()) == 6
    assert commands.call([*command, "--json"]) == 0
    found = checked("learn_cluster", capsys.readouterr().out)
    assert found["table"][-1]["rows"] == 400 and found["learner"] == parts
    assert found["table"][-1]["floor"] <= found["table"][-1]["loss"]


def test_options_that_do_not_go_with_a_cluster_are_refused(path: Path, tmp_path: Path) -> None:
    wrong = {
        ("learn", "--cluster", "local", "--save", "m"): "drop --save",
        ("learn", "--cluster", "local", "--passes", "2"): "drop --passes",
        ("learn", "--shards", "2"): "belong to --cluster",
        ("hindsight", "--l2", "1", "--resume"): "--resume needs --checkpoint",
        ("hindsight", "--l2", "1", "--checkpoint", str(tmp_path)): "belong to --cluster",
        ("hindsight", "--l2", "1", "--balance-work"): "--replay-work belong to --cluster",
        ("hindsight", "--l2", "1", "--replay-work", "log"): "--replay-work belong to --cluster",
        ("hindsight", "--l2", "1", "--picture", "gap.png"): "belong to --cluster",
        ("hindsight", "--class-radius", "1", "--cluster", "local", "--bias"): "in a ball add",
        ("hindsight", "--l2", "1", "--cluster", "local", "--loss", "softmax"): "of several classes",
        ("hindsight", "--l2", "1", "--cluster", "local", "--memory", "9"): "for one process",
        ("learn", "--cluster", "local", "--rate", "scale-free"): "cannot be mixed",
    }
    for (command, *options), message in wrong.items():
        with pytest.raises(ValueError, match=message):
            commands.call([command, str(path), *options])


def test_files_larger_than_the_memory_of_the_cluster_are_refused() -> None:
    require_memory(1)
    with pytest.raises(ClusterError, match=r"the files have 1,000,000\.0 GB"):
        require_memory(10**15)


def in_threads(path: Path, spec: Spec, shards: int, every: int) -> OnlineRun:
    workers = Threads([None] * shards, 1, host=learning.OnlineHost)
    gather(workers, path, labels="binary")
    workers.hosts("open", {"learner": vars(spec)})
    return OnlineRun(workers, spec.make(), every, 3.0).finish()  # type: ignore[arg-type]


@pytest.mark.parametrize("rate", sized(["per-coordinate"], ["per-coordinate", "adaptive"]))
def test_lost_workers_change_no_bit_of_online_learning(path: Path, rate: str) -> None:
    spec = Spec(rate=rate)
    alone = in_threads(path, spec, 4, 5)
    killed = []

    def kill(now: Any) -> None:
        # After the first state was kept, and before.
        if len(killed) < 2 and now.rows in (60, 260):
            killed.append(os.getpid())
            (hosts,) = [one for one in learning_workers if one._actors]
            os.kill(hosts.processes()[len(killed) % 2], signal.SIGKILL)

    learning_workers: list[Any] = []
    original = learning.hosted

    @contextmanager
    def watched(*arguments: Any) -> Iterator[Any]:
        with original(*arguments) as (hosts, found):
            learning_workers.append(hosts)
            yield hosts, found

    learning.hosted = watched  # type: ignore[assignment]
    try:
        found = learning.learn(path, spec, every=5, radius=3.0, shards=4, progress=kill)
    finally:
        learning.hosted = original
    assert found.lost == 2
    np.testing.assert_array_equal(found.weights, alone.weights)
    assert found.certificate.loss == alone.certificate().loss
    assert found.certificate.floor(3.0) == alone.certificate().floor(3.0)
