"""`noregret plan`: what a run on a cluster would take, estimated before it is started."""

from __future__ import annotations

from dataclasses import asdict

from noregret.arrays import as_positive
from noregret.cli.console import plain_console, show_table
from noregret.cli.given import Given
from noregret.cli.writing import fitted, to_json
from noregret.cluster.measuring import machine_memory, rates, sample
from noregret.cluster.planning import require
from noregret.cluster.plans import Plan, planned_network
from noregret.runs.progress import telling
from noregret.streams.errors import StreamError
from noregret.visible import visible
from noregret.vocabulary import learners as choices

_HEAD = (
    *("workers", "memory", "driver", "a round"),
    *("work s", "net s", "pass s", "read s", "total s"),
)


def plan(
    given: Given,
    *,
    shards: int,
    workers: int,
    loss: str,
    l2: float | None,
    tol: float,
    rounds: int | None,
    latency: float | None,
    bandwidth: float | None,
    memory: float | None,
    as_json: bool,
) -> None:
    """Run `noregret plan`."""
    chosen = choices.make_loss(loss)
    require(shards, workers)
    if "-" in given.files:
        raise StreamError("standard input has no size to plan by: save it to a file")
    network = planned_network(latency, bandwidth)
    limit = float(machine_memory()) if memory is None else 1e6 * as_positive("memory", memory)
    as_positive("tol", tol)
    stream = given.open(given.label_rule(chosen.labels))
    with telling() as tell:
        tell("reading the first rows")
        taken = sample(given.files, stream, shards)
        tell("measuring the rates of this machine")
        found = rates(taken, chosen, l2)
    run = Plan(taken.data, found, network, shards, workers, limit, tol, rounds)
    data = taken.data
    facts = {
        "bytes": data.bytes,
        "rows": data.rows,
        "features": data.width,
        "nonzeros": data.features / data.rows,
        "value_bytes": data.value_bytes,
        "sampled_rows": len(taken.rows),
        "whole": taken.whole,
    }
    if as_json:
        estimates = [asdict(one) for one in run.estimates]
        more = {"shards": shards, "workers": workers, "method": run.method, "rounds": run.rounds}
        more |= {"rates": asdict(found), "network": asdict(network), "memory": limit}
        more |= {"estimates": estimates, "least_workers": run.least, "remarks": run.remarks()}
        print(to_json({"input": stream.name, **facts, **more, "assumptions": run.assumptions()}))
        return
    console = plain_console()
    title = f"{visible(stream.name)}: estimates for {shards:,} shards, {run.method}"
    console.print(fitted(title), style="bold")
    about = "" if taken.whole else "about "
    least = "" if taken.whole else "at least "
    read = "all of them" if taken.whole else f"the first {len(taken.rows):,}"
    rows = [
        ("size of the files", size(data.bytes)),
        ("rows", f"{about}{data.rows:,}, by {read}"),
        ("columns", f"{least}{data.width:,}"),
        ("stored features a row", f"{facts['nonzeros']:.4g}, of {4 + data.value_bytes} bytes"),
        ("one process parses", f"{size(found.parsing)} a second"),
    ]
    if data.narrow:
        rows.append(("one process adds", f"{found.pairs:.3g} pairs of features a second"))
    else:
        rows.append(("one process visits", f"{found.visits:.3g} stored features a second"))
    show_table(console, "tt", rows)
    console.print()
    lines = [
        (
            f"{one.workers:,}", size(one.memory), size(one.driver), size(one.sent),
            *(f"{seconds:.3g}" for seconds in (
                one.work, one.network, one.pass_seconds, one.reading, one.total,
            )),
        )
        for one in run.estimates
    ]  # fmt: skip
    show_table(console, "n" * len(_HEAD), lines, _HEAD)
    console.print()
    for remark in run.remarks():
        console.print(fitted(remark))
    for assumption in run.assumptions():
        console.print(fitted(f"assumed: {assumption}"), style="dim")


def size(count: float) -> str:
    """Return a number of bytes in words.

    >>> size(999), size(123_456), size(2.5e12)
    ('999 B', '123 kB', '2.5 TB')
    """
    units = ("B", "kB", "MB", "GB", "TB", "PB", "EB")
    power = 0
    while count >= 999.5 and power < len(units) - 1:
        count, power = count / 1000.0, power + 1
    return f"{count:.3g} {units[power]}"
