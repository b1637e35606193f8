"""Floors that do not depend on the player: blocks of rows touched where a later leader predicts."""

from noregret.floors.block_curves import BlockCurves
from noregret.floors.block_lines import BlockLines
from noregret.floors.blocks import Blocks
from noregret.floors.choice import as_blocks, lines_below
from noregret.floors.score_blocks import JointScores, ScoreBlocks, SeparateScores

__all__ = [
    "BlockCurves",
    "BlockLines",
    "Blocks",
    "JointScores",
    "ScoreBlocks",
    "SeparateScores",
    "as_blocks",
    "lines_below",
]
