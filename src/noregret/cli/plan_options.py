"""The options of `noregret plan`, once."""

from __future__ import annotations

from functools import partial

from noregret.cli.table import Option

_MODEL = "Model"
_plan = partial(Option, commands="plan")
_model = partial(Option, commands="plan", group=_MODEL, kind=float)

PLAN_OPTIONS = (
    _plan("shards", help="Parts of the rows, K.", kind=int, least=1, default=8),
    _plan(
        "workers",
        help="Processes that host the shards, W, at most one a shard.",
        kind=int,
        least=1,
        default=2,
    ),
    _plan(
        "loss",
        help="The loss, whose visits are timed; see `noregret list losses`.",
        words="loss",
        default="logistic",
    ),
    _plan("l2", help="Factor of half the squared norm.", kind=float, shown="1e-4 a row"),
    _plan(
        "tol",
        help="Relative duality gap at which the run ends; it sets --rounds.",
        kind=float,
        default=1e-6,
    ),
    _plan(
        "rounds",
        help="Sums of vectors over all shards that the run is assumed to take.",
        kind=int,
        least=1,
        shown="50 for each factor of 10 in --tol, 20 with Newton's method",
    ),
    _model(
        "latency",
        help="Milliseconds of a call of all workers, whatever it sends.",
        shown="3.4 and 3 a worker, measured on one machine",
    ),
    _model(
        "bandwidth",
        help="Megabytes (1e6) a second that pass through the driver.",
        shown="2500, measured on one machine",
    ),
    _model(
        "memory",
        help="Megabytes (1e6) of a machine, which hosts one worker.",
        shown="that of this machine",
    ),
)
