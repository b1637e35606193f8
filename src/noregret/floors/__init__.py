"""Floors that do not depend on the player: blocks of rows touched where a later leader predicts."""

from noregret.floors.block_lines import BlockLines, lines_below

__all__ = ["BlockLines", "lines_below"]
