"""Floors that do not depend on the player: blocks of rows touched where a later leader predicts."""

from noregret.floors.block_floors import BlockFloors, lines_below
from noregret.floors.block_lines import BlockLines
from noregret.floors.parabolas import Parabolas

__all__ = ["BlockFloors", "BlockLines", "Parabolas", "lines_below"]
