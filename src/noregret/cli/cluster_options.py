"""Options of commands that use several cores or the workers of a cluster."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from noregret.cli.table import Option

_cluster = partial(Option, group="Cluster")
CLUSTER_OPTIONS = (
    Option(
        "workers",
        "hindsight",
        "Threads that work at a time, with --l2 or --class-radius; processes with --cluster.",
        kind=int,
        least=1,
        default=1,
    ),
    Option(
        "shards",
        "hindsight",
        "Parts of the rows for --workers; given these, the result is the same for any number of"
        " workers.",
        kind=int,
        least=1,
        shown="as many as workers, 1 for few rows; 8 with --cluster",
    ),
    Option(
        "memory",
        "hindsight",
        "Do not hold the rows: read them again in every pass, within X megabytes.",
        kind=float,
    ),
    _cluster(
        "cluster",
        "hindsight learn",
        "Work at the processes of this Ray cluster, which read the files themselves; 'local' starts"
        " one on this machine.",
        value="ADDRESS",
    ),
    _cluster("workers", "learn", "Processes of --cluster.", kind=int, least=1, shown="2"),
    _cluster(
        "shards",
        "learn",
        "Parts of the rows, each learnt by a learner of its own; the result is the same for any"
        " number of workers.",
        kind=int,
        least=1,
        shown="8",
    ),
    _cluster(
        "mix_every",
        "learn",
        "Rows that each shard learns between two mixings of their learners.",
        kind=int,
        least=1,
        shown="1000",
    ),
    _cluster("weights", "learn", "Write the weights of --cluster here.", kind=Path),
    _cluster(
        "checkpoint",
        "hindsight",
        "Keep the state of the run in this folder, which all workers see.",
        kind=Path,
        value="DIR",
    ),
    _cluster(
        "resume",
        "hindsight",
        "Go on from the last state in the folder of --checkpoint.",
        kind=bool,
    ),
    _cluster(
        "balance_work",
        "hindsight",
        "Let a shard at a slow worker visit fewer rows in a turn. The result then depends on"
        " measured seconds; the visits are logged in the file work.jsonl of --checkpoint.",
        kind=bool,
    ),
    _cluster(
        "replay_work",
        "hindsight",
        "Visit as many rows as this log of --balance-work says, for the same result.",
        kind=Path,
        value="LOG",
    ),
    _cluster("picture", "hindsight", "Draw the gap of --cluster to this file.", kind=Path),
    _cluster(
        "timeout",
        "hindsight learn",
        "Seconds within which every worker has to answer.",
        kind=float,
        shown="600",
    ),
)
