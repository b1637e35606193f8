"""The blocks that a loss takes."""

from __future__ import annotations

from typing import Any

from noregret.arguments import ArgumentError
from noregret.floors.block_curves import BlockCurves
from noregret.floors.block_lines import BlockLines
from noregret.floors.blocks import Blocks
from noregret.floors.score_blocks import JointScores, SeparateScores
from noregret.losses import Loss, OneAgainstRest


def lines_below(loss: Any, radius: float | None = None) -> Blocks:
    """Return the blocks that prove floors for a loss, or refuse one that has none.

    radius: of the class ||u||_2 <= radius, if it is known in advance [default: it is not].

    >>> import noregret as nr
    >>> type(lines_below(nr.losses.Softmax())).__name__
    'JointScores'
    """
    if loss.checked() or not loss.has_conjugate():
        name = type(loss).__name__
        raise ArgumentError("blocks", f"only losses of noregret with a conjugate, not {name}", True)
    if isinstance(loss, Loss):
        return BlockCurves(loss, radius) if loss.has_curvature() else BlockLines(loss)
    return SeparateScores(loss) if type(loss) is OneAgainstRest else JointScores(loss)
