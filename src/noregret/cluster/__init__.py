"""Runs on several machines: every shard of the rows lives at the worker that hosts it.

The driver holds no rows: it sends a plan, and gets back names, labels, numbers of rows, and sums of
vectors. `hindsight` and `session` solve batch problems, `learn` learns online. They need the extra
`cluster`.
"""

from __future__ import annotations

from noregret.cluster.batch import Session, hindsight, session
from noregret.cluster.dealing import File, Part, deal
from noregret.cluster.errors import ClusterError
from noregret.cluster.gathering import Gathered, gather
from noregret.cluster.learning import Learnt, learn
from noregret.cluster.reading import Reader
from noregret.cluster.solution import ClusterSolution, Round

__all__ = [
    "ClusterError",
    "ClusterSolution",
    "File",
    "Gathered",
    "Learnt",
    "Part",
    "Reader",
    "Round",
    "Session",
    "deal",
    "gather",
    "hindsight",
    "learn",
    "session",
]
