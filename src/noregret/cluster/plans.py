"""The plan of a run: estimates for several numbers of workers, with remarks and assumptions."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

from noregret.arrays import as_positive
from noregret.cluster.planning import (
    CALLS,
    PROCESS,
    STEP,
    Data,
    Estimate,
    Network,
    Rates,
    estimate,
    least_workers,
    most_read,
    turns,
)
from noregret.workers import shares

#: Rounds by which a run is assumed to lower the relative gap by a factor of 10.
NEWTON_ROUNDS, VISIT_ROUNDS = 20, 50
#: A worker that parses more than this times its share deserves a remark.
UNEVEN = 1.5


def alternatives(shards: int, workers: int, most: int = 128) -> list[int]:
    """Return the numbers of workers to compare: W, and powers of 2 up to one a shard.

    >>> alternatives(8, 3)
    [1, 2, 3, 4, 8]
    """
    powers = {1 << k for k in range(most.bit_length()) if 1 << k <= min(shards, most)}
    return sorted(powers | {workers})


def planned_network(latency: float | None, bandwidth: float | None) -> Network:
    """Return the network with a latency in milliseconds and a bandwidth in 1e6 bytes a second."""
    network = Network()
    if latency is not None:
        network = replace(network, latency=1e-3 * as_positive("latency", latency))
    if bandwidth is not None:
        network = replace(network, bandwidth=1e6 * as_positive("bandwidth", bandwidth))
    return network


@dataclass(frozen=True)
class Plan:
    """The estimates for K shards at W workers and at other numbers of workers, in words as well.

    Attributes:
        data: the rows.
        rates: of the process of a worker.
        network: between the driver and the workers.
        shards: K.
        workers: W, at most one a shard.
        limit: bytes of memory of a machine, which hosts one worker.
        tol: the relative gap at which the run ends, above 0.
        given: rounds that the run is assumed to take [default: by `tol`].
    """

    data: Data
    rates: Rates
    network: Network
    shards: int
    workers: int
    limit: float
    tol: float = 1e-6
    given: int | None = None

    @property
    def rounds(self) -> int:
        """The rounds that the run is assumed to take."""
        return rounds_to(self.tol, self.data.narrow) if self.given is None else self.given

    @property
    def method(self) -> str:
        """What the solver does."""
        return "Newton's method" if self.data.narrow else "dual ascent"

    @cached_property
    def estimates(self) -> list[Estimate]:
        """The estimate for each number of workers."""
        rest = self.rounds, self.rates, self.network
        counts = alternatives(self.shards, self.workers)
        return [estimate(self.data, self.shards, count, *rest) for count in counts]

    @property
    def least(self) -> int | None:
        """The least number of workers that fit in memory, None if no number does."""
        return least_workers(self.data, self.shards, self.limit)

    def remarks(self) -> list[str]:
        """Return what to mind, each in one line."""
        found = []
        one = next(one for one in self.estimates if one.workers == self.workers)
        if one.memory > self.limit:
            least = self.least
            remedy = (
                f"at least {least:,} workers fit" if least else
                f"no number of workers up to {self.shards:,} fits: use more shards and workers"
            )  # fmt: skip
            found.append(
                f"{self.workers:,} workers need {one.memory / 1e9:.3g} GB each and a machine has "
                f"{self.limit / 1e9:.3g} GB: {remedy}"
            )
        read = most_read(self.data.files, self.shards, shares(self.shards, self.workers))
        if read > UNEVEN * self.data.bytes / self.workers:
            files = len(self.data.files)
            found.append(
                f"{files:,} file{'s' * (files > 1)} for {self.workers:,} workers: one of them "
                f"parses {read / self.data.bytes:.0%} of all bytes; give a file of similar size a "
                "worker, or convert the input (noregret convert)"
            )
        return found

    def assumptions(self) -> list[str]:
        """Return what the estimates take for granted, each in one line."""
        network = self.network
        kind = (
            f"{STEP} a Newton step" if self.data.narrow else
            f"{turns(self.data, self.shards)} a pass over the rows"
        )  # fmt: skip
        return [
            f"{self.rounds:,} rounds, {kind}; docs/how-far.md has measured ones",
            f"a round takes {CALLS} calls of {network.latency * 1e3:.3g} ms and "
            f"{network.call * 1e3:.3g} ms a worker, and its bytes pass through the driver at "
            f"{network.bandwidth / 1e6:.4g} MB/s",
            "each worker has a core as fast as one of this machine, and its files in the cache; "
            f"its process takes {PROCESS / 1e6:.0f} MB",
            "rows further on are like the first ones, and bring no new columns",
            "vectors are sent whole unless a turn cannot touch enough columns: an upper bound",
        ]


def rounds_to(tol: float, narrow: bool) -> int:
    """Return the rounds that a run to a relative gap is assumed to take.

    >>> rounds_to(1e-3, True), rounds_to(1e-6, False)
    (60, 300)
    """
    each = NEWTON_ROUNDS if narrow else VISIT_ROUNDS
    return max(STEP, round(each * -math.log10(tol)))
