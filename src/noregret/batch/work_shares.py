"""How many rows each shard visits in a turn: fewer at a slow worker, so that others do not wait.

A full share is the shard's part of a turn, and shares are counted in 64ths of it. After each turn
the driver compares the seconds that the workers would need for full shares, and lowers those of the
slower ones, to a quarter at least. Shards visit their active rows in order, so that a lower share
takes more turns and leaves no row out; the bound of `side_by_side.joint_step` holds for any number
of visits. The shares depend on a clock, and with them every bit of the result: so each turn's are
logged, and a run that takes them from the log finds the same bits. A turn that is made again, after
a lost worker or a restart, takes its shares from the log, too.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from noregret.arguments import ArgumentError

#: The log of a run, in the folder of its checkpoints.
WORK_LOG = "work.jsonl"
#: A full share, and the smallest one, in the unit in which shares are counted.
FULL, LEAST = 64, 16
#: A share is lowered if the worker needs this many times the seconds of the median worker.
SLOWER = 1.25
#: and this many seconds more for its active rows. Each call has a fixed cost, shared by few rows
#: where a share is low: shares of short turns would stay there.
WORTH = 0.02
#: Part of the seconds per visit that is kept of the turns before, to smooth what a clock measures.
KEPT = 0.5


class Turn(NamedTuple):
    """One line of the log: a pass, the share of each shard, and the rows that it visited."""

    number: int
    shares: list[int]
    visits: list[int]


class WorkShares:
    """The shares of the shards in every turn of a run.

    Args:
        pieces: begin and end of the shards of each worker.
        log: a file that gets a line a turn [default: none].
        replay: a log whose shares are used; turns after its last one have full shares
            [default: none, shares follow the measured seconds].
        resume: whether `log` goes on, or begins afresh [default: False].
    """

    def __init__(
        self,
        pieces: Sequence[tuple[int, int]],
        log: str | os.PathLike[str] | None = None,
        replay: str | os.PathLike[str] | None = None,
        resume: bool = False,
    ) -> None:
        self.pieces, self.count = list(pieces), pieces[-1][1]
        self.log = None if log is None else Path(log)
        self.replaying = replay is not None
        #: Turns that were made or are to be made in the same way, by their number.
        self.turns = {} if replay is None else read_log(replay, "replay_work", self.count)
        #: The turns in the log.
        self.logged: dict[int, Turn] = {}
        if resume and self.log is not None and self.log.exists():
            self.logged = read_log(self.log, "checkpoint", self.count)
            if self.replaying and any(self.turns.get(k) != one for k, one in self.logged.items()):
                raise ArgumentError(
                    "replay_work", "differs from the log of the run that is resumed", str(replay)
                )
            self.turns |= self.logged
        self.source = str(replay if self.replaying else self.log)
        #: Seconds per visit of each worker, and the share of each shard in the turn to come.
        self.rates = [math.nan] * len(self.pieces)
        self.shares = [FULL] * self.count
        if self.logged and not self.replaying:
            self.shares = list(self.logged[max(self.logged)].shares)
        self._warm = False
        if self.log is not None:
            # Written afresh without a last line that was cut short when the driver was killed.
            fresh = self.log.with_name(f"{self.log.name}.new")
            fresh.write_text("".join(map(written, self.logged.values())), encoding="utf-8")
            os.replace(fresh, self.log)

    def of(self, number: int) -> list[int]:
        """Return the share of each shard in the turn that is the pass of this number."""
        turn = self.turns.get(number)
        if turn is not None:
            return turn.shares
        return [FULL] * self.count if self.replaying else self.shares

    def made(
        self,
        number: int,
        visits: Sequence[int],
        active: Sequence[int],
        seconds: Sequence[float],
    ) -> None:
        """Log a turn, and choose the shares of the next one.

        Args:
            number: of the pass.
            visits: rows that each shard visited.
            active: rows of each shard that are still active.
            seconds: that each worker took.
        """
        turn = Turn(number, list(self.of(number)), list(map(int, visits)))
        known = self.turns.setdefault(number, turn)
        if turn != known:
            raise ArgumentError(
                "replay_work" if self.replaying else "checkpoint",
                f"pass {number:,} visited {turn.visits} rows, the log has {known.visits}: it is "
                "the log of another run",
                self.source,
            )
        if number not in self.logged:
            self.logged[number] = turn
            if self.log is not None:
                with self.log.open("a", encoding="utf-8") as file:
                    file.write(written(turn))
        self._measure(visits, active, seconds)

    def _measure(
        self, visits: Sequence[int], active: Sequence[int], seconds: Sequence[float]
    ) -> None:
        """Lower the shares of the workers that would be late with full ones."""
        if not self._warm:
            # In the first turn of a process kernels are compiled or loaded.
            self._warm = True
            return
        needed = []
        for k, (begin, end) in enumerate(self.pieces):
            made = sum(visits[begin:end])
            if made:
                rate, before = seconds[k] / made, self.rates[k]
                self.rates[k] = rate if math.isnan(before) else rate + KEPT * (before - rate)
            needed.append(self.rates[k] * sum(active[begin:end]))
        known = sorted(one for one in needed if one > 0.0)
        if not known:
            return
        # The lower median: of two workers the faster one has a full share.
        median = known[(len(known) - 1) // 2]
        for (begin, end), one in zip(self.pieces, needed, strict=True):
            late = one > SLOWER * median + WORTH
            share = max(LEAST, int(FULL * median / one)) if late else FULL
            self.shares = [*self.shares[:begin], *[share] * (end - begin), *self.shares[end:]]


def chosen_shares(
    pieces: Sequence[tuple[int, int]],
    folder: str | os.PathLike[str],
    balance: bool,
    replay: str | os.PathLike[str] | None,
    resume: bool,
) -> WorkShares | None:
    """Return the shares of a run whose checkpoints are in a folder, None for full ones.

    Args:
        pieces: begin and end of the shards of each worker.
        folder: of its checkpoints.
        balance: whether shares follow the measured seconds.
        replay: a log whose shares are used, None for none.
        resume: whether the run goes on from a checkpoint.
    """
    log = Path(folder) / WORK_LOG
    if balance or replay is not None:
        return WorkShares(pieces, log, replay, resume)
    if resume and log.exists() and log.stat().st_size:
        raise ArgumentError(
            "balance_work", f"expected, as in the run that is resumed: {log} holds its log"
        )
    return None


def visits_of(share: int, full: int) -> int:
    """Return how many rows a share of a turn has, 1 at least if there are any.

    >>> visits_of(64, 10), visits_of(16, 10), visits_of(16, 0)
    (10, 3, 0)
    """
    return -(-full * share // FULL)


def written(turn: Turn) -> str:
    r"""Return a turn as a line of JSON.

    >>> written(Turn(1, [64, 16], [100, 25]))
    '{"pass": 1, "shares": [64, 16], "visits": [100, 25]}\n'
    """
    return json.dumps({"pass": turn.number, "shares": turn.shares, "visits": turn.visits}) + "\n"


def read_log(path: str | os.PathLike[str], argument: str, count: int) -> dict[int, Turn]:
    """Return the turns of a log by their number; a last line that was cut short is left out.

    Args:
        path: the file.
        argument: what names it, for errors.
        count: number of shards that it must have.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "is not text"
        raise ArgumentError(argument, f"cannot be read ({reason})", str(path)) from None
    found: dict[int, Turn] = {}
    for line, one in enumerate(text.splitlines(keepends=True), 1):
        if not one.endswith("\n"):
            break
        try:
            turn = json.loads(one)
            number, shares, visits = turn["pass"], turn["shares"], turn["visits"]
            sound = (
                number == line
                and all(type(k) is int and 0 <= k for k in (*shares, *visits))
                and all(LEAST <= k <= FULL for k in shares)
            )
        except (ValueError, TypeError, LookupError):
            sound = False
        if not sound:
            expected = f'expected {{"pass": {line}, "shares": [...], "visits": [...]}}'
            raise ArgumentError(argument, f"line {line}: {expected}", str(path))
        if not len(shares) == len(visits) == count:
            reason = f"line {line} is about {len(shares)} shards, the run has {count}"
            raise ArgumentError(argument, reason, str(path))
        found[line] = Turn(number, shares, visits)
    return found
