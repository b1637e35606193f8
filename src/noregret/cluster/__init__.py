"""Runs on several machines: every shard of the rows lives at the worker that hosts it.

The driver holds no rows: it sends a plan, and gets back names, labels and numbers of rows.
"""

from __future__ import annotations

from noregret.cluster.dealing import File, Part, deal
from noregret.cluster.gathering import Gathered, gather
from noregret.cluster.reading import Reader

__all__ = ["File", "Gathered", "Part", "Reader", "deal", "gather"]
