"""Files read by the workers of a cluster, for whatever is then done with their rows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from noregret.arguments import refuse
from noregret.arrays import as_count
from noregret.cluster.dealing import File, bytes_of
from noregret.cluster.errors import ClusterError
from noregret.cluster.gathering import Gathered, gather, planned
from noregret.cluster.ray_workers import RayWorkers, connected
from noregret.cluster.reading import Reader
from noregret.streams.reading import Reading


def require_memory(size: int) -> None:
    """Refuse files that are larger than the memory of all nodes."""
    import ray

    nodes: Any = ray
    memory = float(nodes.cluster_resources().get("memory", math.inf))
    if size > memory:
        raise ClusterError(
            f"the files have {size / 1e9:,.1f} GB, and the nodes of the cluster {memory / 1e9:,.1f}"
            " GB of memory for workers: add nodes, or use one process with --memory"
        )


@contextmanager
def hosted(
    kind: type[Reader],
    inputs: Any,
    reading: Reading,
    shards: int,
    workers: int,
    address: str,
    timeout: float,
) -> Iterator[tuple[RayWorkers, Gathered]]:
    """Start workers, let them read the files, and end them afterwards.

    Args:
        kind: the class of their hosts.
        inputs: paths, patterns or addresses of files that every worker can read.
        reading: how they are read.
        shards: number of shards, at least 1.
        workers: number of processes, at least 1 and at most one a shard.
        address: of a Ray cluster, or "local".
        timeout: seconds within which every worker has to answer, above 0.
    """
    shards, workers = as_count("shards", shards), as_count("workers", workers)
    refuse(
        {
            f"workers must be at most one a shard: {workers} workers for {shards} shards":
                workers > shards,
            f"timeout must be above 0 seconds, got {timeout}": not timeout > 0.0,
        }
    )  # fmt: skip
    # Before any worker is started: files that are not there.
    plan = planned(inputs, reading, shards)
    with connected(address, workers):
        require_memory(bytes_of(File(*one) for one in plan["files"]))
        hosts = RayWorkers(f"{kind.__module__}:{kind.__name__}", shards, workers, timeout)
        try:
            yield hosts, gather(hosts, inputs, reading)
        finally:
            hosts.close()
