"""The parts of the command line: marks, progress and table."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np
import pytest

from noregret.cli.console import Table
from noregret.evaluate import Point, follow, marks
from noregret.streams import Block


def test_marks_are_powers_of_two_however_far() -> None:
    assert list(islice(marks(), 63)) == [2**k for k in range(63)]
    fine = list(islice(marks(8), 200))
    assert fine == sorted(set(fine)) and {1, 2, 4, 1024} <= set(fine)


class Recorder:
    """A learner that remembers how it was called; every example costs its label."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self.labels: list[float] = []

    def learn(self, X: Block, y: Any, weight: Any = None) -> None:
        assert X.y is y
        self.sizes.append(len(X))
        self.labels += y.tolist()

    @property
    def rounds(self) -> int:
        return len(self.labels)

    @property
    def loss(self) -> float:
        return sum(self.labels)

    mistakes = 0
    radius = None

    def certificate(self) -> Recorder:
        return self

    def floor(self, radius: float) -> float:
        return self.loss - radius

    def regret_bound(self, radius: float) -> float:
        return radius


def blocks(*sizes: int) -> list[Block]:
    labels = iter(np.arange(1.0, sum(sizes) + 1))
    return [
        Block(
            np.zeros(n + 1, np.uint64),
            np.zeros(0, np.uint32),
            np.zeros(0),
            np.array(list(islice(labels, n))),
            width=0,
        )
        for n in sizes
    ]


@pytest.mark.parametrize("sizes", [(21,), (1,) * 21, (3, 7, 11), (20, 1), (16, 5)])
def test_following_cuts_blocks_at_the_marks_and_loses_nothing(sizes: tuple[int, ...]) -> None:
    learner = Recorder()
    points = list(follow(learner, blocks(*sizes), lambda: 2.0))
    assert [point.rounds for point in points] == [1, 2, 4, 8, 16, 21]
    assert learner.labels == list(range(1, 22))
    assert points[-1] == Point(
        rounds=21, loss=231.0, mistakes=0, radius=2.0, floor=229.0, regret=2.0
    )
    assert points[-1].average_regret == pytest.approx(2.0 / 21)


def test_a_stream_that_ends_on_a_mark_is_not_reported_twice() -> None:
    assert [p.rounds for p in follow(Recorder(), blocks(8), lambda: 0.0)] == [1, 2, 4, 8]
    assert list(follow(Recorder(), [], lambda: 0.0)) == []


def test_the_table_rounds_floors_down_and_regret_up(capsys: pytest.CaptureFixture[str]) -> None:
    from rich.console import Console

    table = Table(Console(width=80, color_system=None, force_terminal=True), classification=True)
    table.head("title", "remark")
    table.row(Point(rounds=1, loss=0.5, mistakes=1, radius=1.0, floor=0.29999, regret=0.20001))
    table.row(Point(rounds=3, loss=0.9, mistakes=1, radius=1.0, floor=0.29999, regret=0.60001))
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[-2].split() == ["1", "0.5000", "0.5000", "100.00%", "0.2999", "0.2001"]
    assert lines[-1].split() == ["3", "0.3000", "0.2000", "33.33%", "0.0999", "0.2001"]


def test_a_narrow_terminal_has_a_narrower_table(capsys: pytest.CaptureFixture[str]) -> None:
    from rich.console import Console

    table = Table(Console(width=60, color_system=None, force_terminal=True), classification=True)
    table.head("title")
    table.row(Point(rounds=10**7, loss=5e6, mistakes=1, radius=1.0, floor=3e6, regret=2e6))
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 60 and "since last" not in lines[2]
    assert lines[-1].split() == ["10,000,000", "0.5000", "0.00%", "0.2999", "0.2001"]
