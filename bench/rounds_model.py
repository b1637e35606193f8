"""Rounds of Ray beside the model of `noregret plan`: `python -m bench.rounds_model`.

A round sends a vector of d numbers to each of W actors on this machine and gets one back from each,
as a turn of `noregret.cluster.batch` does, here over shards of one row. The model is

    seconds = latency + W call + bytes / bandwidth,  bytes = 2 W 8 d: all vectors down and up.

The work of the slowest actor (copies of vectors, which a plan counts as work) is taken off. Of the
rounds of a kind the lower quartile counts, since other programs can only slow a round down. The
model is fitted to vectors that go through Ray's object store, those of 64 kB and more (smaller ones
are faster), by least squares of the relative errors, none of its parts below 0, and printed beside
the measurements. `noregret.cluster.planning` has the figures of such a run as its defaults. On a
cluster of several machines latency and bandwidth are those of its network: run this there with
`--address`.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import nnls

import noregret as nr
from noregret.cluster.batch import plain
from noregret.cluster.gathering import gather
from noregret.cluster.ray_workers import LOCAL, SHARED, RayWorkers, connected

HOST = "noregret.cluster.batch_host:BatchHost"
WIDTHS = (1_000, 10_000, 100_000, 262_144, 1_000_000)
WORKERS = (1, 2, 4)
#: Rounds of each kind; the first of them are not counted.
ROUNDS, FIRST = 50, 5


class Measured(NamedTuple):
    """The seconds of a round beside the work, and those of the work, of the slowest worker."""

    workers: int
    width: int
    sent: int
    seconds: float
    work: float


class Fit(NamedTuple):
    """Seconds a round, seconds a worker and round, bytes a second."""

    latency: float
    call: float
    bandwidth: float

    def seconds(self, one: Measured) -> float:
        """Return what the model says of a round."""
        return self.latency + one.workers * self.call + one.sent / self.bandwidth


def fitted(every: list[Measured]) -> Fit:
    """Return the model with the least squared relative errors.

    >>> made = [Measured(w, d, 16 * w * d, 0.002 + w * 0.001 + 16 * w * d / 1e9, 0.0)
    ...         for w in (1, 2) for d in (10, 1_000_000)]
    >>> [round(number, 6) for number in fitted(made)]
    [0.002, 0.001, 1000000000.0]
    """
    parts = np.array([[1.0, one.workers, one.sent * 1e-9] for one in every])
    seconds = np.array([one.seconds for one in every])
    latency, call, slowness = nnls(parts / seconds[:, None], np.ones(len(every)))[0]
    return Fit(latency, call, 1e9 / slowness if slowness > 0.0 else float("inf"))


def measured(address: str, counts: list[int], widths: list[int]) -> Iterator[Measured]:
    """Yield the rounds of every number of workers and width."""
    loss, mirror = nr.losses.Squared(), nr.mirrors.Euclidean()
    spec: dict[str, Any] = {"loss": plain("loss", loss), "mirror": plain("mirror", mirror)}
    spec |= {"strength": 1.0, "seed": 0}
    with tempfile.TemporaryDirectory() as folder, connected(address, max(counts)):
        for count in counts:
            hosts = RayWorkers(HOST, count, count)
            for width in widths:
                path = Path(folder) / f"{count}-{width}.svm"
                path.write_text(f"1 {width}:1\n" * count)
                gather(hosts, path, labels="real")
                hosts.hosts("open", spec)
                yield _rounds(hosts, width)
            hosts.close()


def _rounds(hosts: RayWorkers, width: int) -> Measured:
    vector: Any = np.ones(width)
    hosts.call("answer", vector, 0.0, 0.0)
    hosts.call("bend", 0.0)
    seconds, work = [], []
    for _ in range(ROUNDS):
        sent, before = hosts.traffic.sent, hosts.traffic.work
        begin = time.perf_counter()
        hosts.add("image", vector, 0.0)
        work.append(hosts.traffic.work - before)
        seconds.append(time.perf_counter() - begin - work[-1])
        sent = hosts.traffic.sent - sent
    quartiles = [statistics.quantiles(one[FIRST:])[0] for one in (seconds, work)]
    return Measured(hosts.count, width, sent, *quartiles)


def main() -> None:
    """Measure, fit and print."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.rounds_model", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--address", default=LOCAL, help="of a cluster [default: local]")
    parser.add_argument("--workers", nargs="*", type=int, default=list(WORKERS))
    parser.add_argument("--widths", nargs="*", type=int, default=list(WIDTHS))
    given = parser.parse_args()
    every = list(measured(given.address, given.workers, given.widths))
    fit = fitted([one for one in every if 8 * one.width >= SHARED])
    print(
        f"latency {fit.latency * 1e3:.2f} ms, {fit.call * 1e3:.2f} ms a worker, bandwidth "
        f"{fit.bandwidth / 1e6:,.0f} MB/s"
    )
    print(f"{'W':>3}{'columns':>11}{'bytes':>13}{'round ms':>13}{'model ms':>10}{'work ms':>12}")
    for one in every:
        print(
            f"{one.workers:>3}{one.width:>11,}{one.sent:>13,}{one.seconds * 1e3:>13.2f}"
            f"{fit.seconds(one) * 1e3:>10.2f}{one.work * 1e3:>12.2f}"
        )


if __name__ == "__main__":
    main()
