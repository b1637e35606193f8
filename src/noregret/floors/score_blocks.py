"""Floors by lines at blocks of rows, for losses of several scores.

Scores that are added later belong to the losses of later rows only: where one is added, the block
ends.
"""

from __future__ import annotations

import copy

import numpy as np
import numpy.typing as npt

from noregret.floors.block_lines import BlockLines
from noregret.floors.blocks import BLOCK, Arrays, Blocks
from noregret.floors.lines import STRENGTH, Chosen, Lines, Proved
from noregret.floors.pending import Held
from noregret.floors.planes import Planes
from noregret.losses import OneAgainstRest, ScoreLoss
from noregret.proof.ledger import Entry, new_ledger
from noregret.rounding import two_sum


class ScoreBlocks(Blocks):
    """Blocks of rows with K scores.

    Args:
        loss: one of several scores with a conjugate.
        size: stored features with which a block is full, at least 1 [default: 262,144].
        strength: b, above 0; it counts example weights of 1 [default: 1].
    """

    def __init__(self, loss: ScoreLoss, size: int = BLOCK, strength: float = STRENGTH) -> None:
        super().__init__(size)
        self.loss, self.strength, self.outputs = loss, strength, 0

    def grow(self, outputs: int) -> None:
        """Add scores until there are that many."""
        if outputs > self.outputs:
            self.close()
            self._add_scores(outputs)
            self.outputs = outputs

    def _add_scores(self, outputs: int) -> None:
        raise NotImplementedError


class JointScores(ScoreBlocks):
    """Planes of a loss that joins its scores, such as `Softmax`.

    >>> import noregret as nr
    >>> from noregret.rows.examples import as_rows
    >>> planes = JointScores(nr.losses.Softmax())
    >>> planes.grow(3)
    >>> planes.add(as_rows([[1.0], [-0.5]]), np.array([0.0, 2.0]), np.ones(2))
    >>> floors = [one[Entry.INTERCEPT] - 0.2 * np.linalg.norm(Z) for one, Z in planes.proved()]
    >>> bool(1.8 < max(floors) < 2 * np.log(3))
    True
    """

    def __init__(self, loss: ScoreLoss, size: int = BLOCK, strength: float = STRENGTH) -> None:
        super().__init__(loss, size, strength)
        self.planes = Planes(loss, 0, strength)

    def _add_scores(self, outputs: int) -> None:
        self.planes.grow(outputs)

    def _widen(self, width: int) -> None:
        self.planes.widen(width)

    def _choose(self, held: Held) -> list[Chosen]:
        return [self.planes.choose(held)]

    def _enter(self, held: Held, chosen: list[Chosen], staying: npt.NDArray[np.bool_]) -> None:
        self.planes.enter(held, chosen[0], staying)

    def _retained(self) -> int:
        return len(self.planes.slopes)

    def _proved(self, held: Held | None, thorough: bool) -> list[Proved]:
        return self.planes.proved(held, thorough)

    def _entered_arrays(self) -> Arrays:
        return self.planes.arrays()

    def _restore_entered(self, arrays: Arrays) -> None:
        outputs = arrays["theta"].shape[-1]
        self.planes = Planes(self.loss, outputs, self.strength)
        self.planes.restore(arrays)
        self.width, self.outputs = self.planes.width, outputs


class SeparateScores(ScoreBlocks):
    """Lines of every score by itself, for `OneAgainstRest`.

    >>> import noregret as nr
    >>> from noregret.rows.examples import as_rows
    >>> lines = SeparateScores(nr.losses.OneAgainstRest())
    >>> lines.grow(3)
    >>> lines.add(as_rows([[1.0], [-0.5]]), np.array([0.0, 2.0]), np.ones(2))
    >>> len(lines.proved()[0][1]), lines.rounds
    (3, 2)
    """

    loss: OneAgainstRest

    def __init__(self, loss: ScoreLoss, size: int = BLOCK, strength: float = STRENGTH) -> None:
        super().__init__(loss, size, strength)
        self.lines: list[Lines] = []

    @classmethod
    def of_two_classes(cls, loss: OneAgainstRest, binary: BlockLines) -> SeparateScores:
        """Return the lines of two scores that are equivalent to those of one: class 1 is +1."""
        both = cls(loss, binary.pending.size, binary.lines.strength)
        first, second = (copy.deepcopy(binary.lines) for _ in range(2))
        first.sums, first.theta, first.slopes = -first.sums, -first.theta, -first.slopes
        both.lines, both.pending = [first, second], copy.deepcopy(binary.pending)
        both.pending.relabel(lambda y: np.where(y > 0.0, 1.0, 0.0))
        both.outputs, both.width, both.entered = 2, binary.width, binary.entered
        return both

    def _add_scores(self, outputs: int) -> None:
        for _ in range(self.outputs, outputs):
            self.lines.append(Lines(self.loss.loss, self.strength))
            self.lines[-1].widen(self.width)

    def _widen(self, width: int) -> None:
        for lines in self.lines:
            lines.widen(width)

    def _of_score(self, held: Held, score: int) -> Held:
        """Return the rows with labels -1 and +1 for one score."""
        chosen = held.y[:, score] > 0.0 if held.y.ndim == 2 else held.y == score
        return held._replace(y=np.where(chosen, 1.0, -1.0))

    def _choose(self, held: Held) -> list[Chosen]:
        return [lines.choose(self._of_score(held, k)) for k, lines in enumerate(self.lines)]

    def _enter(self, held: Held, chosen: list[Chosen], staying: npt.NDArray[np.bool_]) -> None:
        for score, (lines, own) in enumerate(zip(self.lines, chosen, strict=True)):
            lines.enter(self._of_score(held, score), own, staying)

    def _retained(self) -> int:
        return max((len(lines.slopes) for lines in self.lines), default=0)

    def _proved(self, held: Held | None, thorough: bool) -> list[Proved]:
        tried = [
            lines.proved(None if held is None else self._of_score(held, score), thorough)
            for score, lines in enumerate(self.lines)
        ]
        return [_joined(each) for each in zip(*tried, strict=True)]

    def _entered_arrays(self) -> Arrays:
        return {
            f"score{score}/{name}": array
            for score, lines in enumerate(self.lines)
            for name, array in lines.arrays().items()
        }

    def _restore_entered(self, arrays: Arrays) -> None:
        self.lines, self.outputs = [], 0
        while f"score{self.outputs}/sizes" in arrays:
            start = f"score{self.outputs}/"
            own = {
                name.removeprefix(start): array
                for name, array in arrays.items()
                if name.startswith(start)
            }
            lines = Lines(self.loss.loss, self.strength)
            lines.restore(own)
            self.lines.append(lines)
            self.outputs += 1
        widths = {lines.width for lines in self.lines}
        if len(widths) > 1:
            raise ValueError(f"the scores of blocks have {sorted(widths)} features")
        self.width = max(widths, default=0)


def _joined(proved: tuple[Proved, ...]) -> Proved:
    """Return the ledger and Z of the sum of the losses of all scores."""
    whole = new_ledger()
    for ledger, _ in proved:
        total, lost = two_sum(whole[Entry.INTERCEPT], ledger[Entry.INTERCEPT])
        whole[Entry.INTERCEPT] = total
        whole[Entry.INTERCEPT_LOW] += ledger[Entry.INTERCEPT_LOW] + lost
        for place in (Entry.MAGNITUDE, Entry.TRAVEL, Entry.SCALED_TRAVEL):
            whole[place] += ledger[place]
    return whole, np.concatenate([Z for _, Z in proved])
