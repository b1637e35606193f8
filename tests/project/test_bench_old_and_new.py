"""The benchmark of two trees: its cases have names of their own, its table shows ratios."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import old_and_new
from bench.old_and_new_cases import COLD, cases
from bench.timing import Times

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.compiled


def test_what_is_compiled_cold_is_among_the_cases() -> None:
    names = cases(rows=64)
    assert set(COLD) <= set(names)
    assert len(names) > 100


def test_the_table_ends_with_the_slowest() -> None:
    found = {
        "slower": Times({"old": [1.0, 2.0], "new": [1.5, 2.5]}),
        "faster": Times({"old": [2.0, 2.0], "new": [1.0, 1.5]}),
    }
    _, first, second, medians, worst = old_and_new.table(found)
    assert first.startswith("faster") and second.startswith("slower") and "again" in second
    assert "median ratio of 2 cases: 1.000 of best times" in medians
    assert worst.endswith("1.375")


def test_a_case_is_timed_in_turns(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--only", "experts, Hedge", "--rows", "64", "--turns", "2", "--processes", "1"]
    old_and_new.main([str(ROOT / "src"), *options, "--part", "warm"])
    told = capsys.readouterr().out
    assert "experts, Hedge anytime" in told and "median ratio of 2 cases" in told
