"""The blocks that a loss takes."""

from __future__ import annotations

from typing import Any

from noregret.arguments import ArgumentError
from noregret.floors.block_curves import BlockCurves
from noregret.floors.block_lines import BlockLines
from noregret.floors.blocks import Blocks
from noregret.floors.parabolas import is_parabola
from noregret.floors.score_blocks import JointScores, SeparateScores
from noregret.losses import Loss, OneAgainstRest

#: Also for radii that nobody named, and up to 512 features.
PARABOLAS = "parabolas"
#: The most features for which parabolas are made without being asked for: a row costs 17 us.
NARROW = 128


def as_blocks(blocks: Any) -> bool | str:
    """Return whether blocks are kept, or `PARABOLAS`; refuse anything else.

    >>> as_blocks(1), as_blocks("parabolas")
    (True, 'parabolas')
    """
    if isinstance(blocks, str) and blocks != PARABOLAS:
        raise ArgumentError("blocks", f"expected True, False or {PARABOLAS!r}", blocks)
    return blocks if isinstance(blocks, str) else bool(blocks)


def lines_below(loss: Any, blocks: bool | str = True, radius: float | None = None) -> Blocks:
    """Return the blocks that prove floors for a loss, or refuse one that has none.

    blocks: whether there are parabolas, too, for a curved loss and classes that are not known in
        advance [default: True, for the square loss and a known radius only].
    radius: of the class ||u||_2 <= radius, if it is known in advance [default: it is not].

    >>> import noregret as nr
    >>> type(lines_below(nr.losses.Softmax())).__name__
    'JointScores'
    """
    if loss.checked() or not loss.has_conjugate():
        name = type(loss).__name__
        raise ArgumentError("blocks", f"only losses of noregret with a conjugate, not {name}", True)
    if blocks == PARABOLAS and not (isinstance(loss, Loss) and loss.has_curvature()):
        name = type(loss).__name__
        raise ArgumentError("blocks", f"{name} has no parabolas below it: give True", blocks)
    if isinstance(loss, Loss):
        if blocks == PARABOLAS:
            return BlockCurves(loss, radius)
        if loss.has_curvature() and (radius is not None or is_parabola(loss)):
            return BlockCurves(loss, radius, widest=NARROW)
        return BlockLines(loss)
    return SeparateScores(loss) if type(loss) is OneAgainstRest else JointScores(loss)
