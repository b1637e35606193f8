"""The benchmark of single examples runs, and an example takes few calls."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

pytest.importorskip("river", reason="river is not installed")
from bench import one_example as program
from bench.timing import interleave


def _calls(run: Callable[[], object], rows: int) -> float:
    """How many functions are called for an example, those of the extension modules included."""
    run()
    count = 0

    def call(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(call)
    try:
        run()
    finally:
        sys.setprofile(None)
    return count / rows


@pytest.mark.compiled
def test_the_table_has_every_contestant_and_both_bars() -> None:
    rows = 200
    table = list(program.lines(interleave(program.contestants(30, rows), 2), rows))
    assert len(table) == 1 + 16 + 6 and program.OURS in table[-6]


@pytest.mark.compiled
def test_examples_cost_little() -> None:
    """Time is for the benchmark: a busy machine must not decide this.

    Copies, checks and compilation in a call would be calls of functions: there are 19 for an
    example, where River has 25, and 12 for a row of arrays.
    """
    rows = 200
    runs = program.contestants(30, rows)
    ours = _calls(runs[program.OURS], rows)
    assert ours < 19.5 and ours < _calls(runs[program.RIVAL], rows)
    assert _calls(runs[program.CORE], rows) < 12.5
    # A matrix of one row has 13 and 32, where blocks of rows take more than a hundred.
    assert _calls(runs[program.MATRIX], rows) < 14.5
    assert _calls(runs[program.PARTIAL], rows) < 40.5
