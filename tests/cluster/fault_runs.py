"""Runs that need a Ray of their own, as programs: `python -m tests.cluster.fault_runs NAME FOLDER`.

Each prints one line: what it found, or the error in the form in which the program prints it.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np

import noregret as nr
from noregret.cluster import batch
from noregret.cluster.errors import ClusterError
from noregret.cluster.ray_workers import connected
from noregret.cluster.solution import Round
from tests.cluster.solving import in_threads, wide_file

HINGE = nr.losses.Hinge()
#: Columns whose vectors, 48 MB each, do not fit into the object store of 80 MB together.
COLUMNS, STORE = 6_000_000, 80_000_000
#: Seconds for which a slow node stands still: Ray takes it for lost after about 10.
STILL = 3.0


def full_store(folder: Path) -> str:
    """Solve for weights that are larger than the object store."""
    random, path = np.random.default_rng(0), folder / "long.svm"
    lines = []
    for k in range(40):
        columns = np.unique([*random.integers(1, COLUMNS, 20), COLUMNS])
        lines.append(f"{k % 2} " + " ".join(f"{one}:0.5" for one in columns))
    path.write_text("\n".join(lines) + "\n")
    with connected("local", 2, memory=STORE):
        found = batch.hindsight(path, HINGE, l2=1.0, shards=4, tol=1e-2, timeout=60.0)
    return f"converged {found.converged}"


def lost_node(folder: Path) -> str:
    """Remove one of two nodes in the middle of a run; a third one takes its place."""
    from ray.cluster_utils import Cluster

    path = wide_file(folder)
    whole = in_threads(path, HINGE, 4, l2=0.05, tol=1e-4, folder=folder / "whole")
    cluster: Any = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    node = cluster.add_node(num_cpus=1)
    removed = []

    def remove(now: Round) -> None:
        if now.passes >= 7 and not removed:
            removed.append(now.passes)
            cluster.remove_node(node)
            cluster.add_node(num_cpus=1)

    try:
        found = batch.hindsight(
            path, HINGE, l2=0.05, tol=1e-4, shards=4, workers=2, address=cluster.address,
            checkpoint=str(folder / "kept"), every=3, timeout=120.0, progress=remove,
        )  # fmt: skip
    finally:
        cluster.shutdown()
    same = found.weights.tobytes() == whole.weights.tobytes() and found.dual == whole.dual
    return f"lost {found.lost}, same bits {same}"


def node_without_successor(folder: Path) -> str:
    """Remove one of two nodes, and leave no processor for its worker."""
    from ray.cluster_utils import Cluster

    path = wide_file(folder)
    cluster: Any = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    node = cluster.add_node(num_cpus=1)

    def remove(now: Round) -> None:
        if now.passes == 7:
            cluster.remove_node(node)

    try:
        batch.hindsight(
            path, HINGE, l2=0.05, tol=1e-4, shards=4, workers=2, address=cluster.address,
            checkpoint=str(folder / "kept"), timeout=10.0, progress=remove,
        )  # fmt: skip
    finally:
        cluster.shutdown()
    return "finished"


def slow_node(folder: Path) -> str:
    """Let one of two nodes, with its worker, stand still for a while."""
    from ray.cluster_utils import Cluster

    path = wide_file(folder)
    whole = in_threads(path, HINGE, 4, l2=0.05, tol=1e-4, folder=folder / "whole")
    cluster: Any = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    node = cluster.add_node(num_cpus=1)
    raylet = node.all_processes["raylet"][0].process.pid
    timers = []

    def signal_all(processes: list[int], number: int) -> None:
        for process in processes:
            os.kill(process, number)

    try:
        with batch.session(path, HINGE, shards=4, workers=2, address=cluster.address) as run:
            there = [one for one in run.workers.processes() if parent(one) == raylet]

            def stop(now: Round) -> None:
                if now.passes >= 7 and not timers:
                    signal_all([raylet, *there], signal.SIGSTOP)
                    again = ([raylet, *there], signal.SIGCONT)
                    timers.append(threading.Timer(STILL, signal_all, again))
                    timers[0].start()

            found = run.solve(*batch.form(0.05), tol=1e-4, progress=stop)
            timers[0].join()
    finally:
        cluster.shutdown()
    waited = found.rounds[-1].wait >= 0.9 * STILL
    same = found.weights.tobytes() == whole.weights.tobytes() and found.dual == whole.dual
    return f"workers there {len(there)}, lost {found.lost}, waited {waited}, same bits {same}"


def parent(process: int) -> int:
    """Return the process that has started another one."""
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


if __name__ == "__main__":
    every = (full_store, lost_node, node_without_successor, slow_node)
    runs = {one.__name__: one for one in every}
    try:
        print(runs[sys.argv[1]](Path(sys.argv[2])))
    except ClusterError as error:
        print(f"noregret: {error}")
