"""The benchmark of single examples runs, and the bars are far away."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytest.importorskip("river", reason="river is not installed")
sys.path.insert(0, str(Path(__file__).parents[2]))

from bench import one_example as program
from bench.timing import interleave


def test_examples_cost_little() -> None:
    rows, turns = 200, 15
    times = interleave(program.contestants(30, rows), turns)
    table = list(program.lines(times, rows))
    assert len(table) == 1 + 12 + 2 and program.OURS in table[-2]
    # Best turns of one process: twice the bar leaves room for a slower machine, not for copies,
    # checks or compilation in a call.
    assert program.microseconds_above(times, rows) < 2.0 * program.BAR
    assert times.ratio(program.OURS, program.RIVAL) < 1.0
