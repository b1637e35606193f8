"""Games play compiled as interpreted: every class of experts, bandits and finite classes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.same_bits.__main__ import ROOT, play
from tests.same_bits.compare import compare, read
from tests.same_bits.names import COMPILED, INTERPRETED

pytestmark = pytest.mark.compiled
#: Relative to the largest number of a quantity: sums may be grouped differently.
TOLERANCE = 1e-9


@pytest.mark.parametrize("family", ["experts", "arms", "finite"])
def test_compiled_equals_interpreted(family: str, tmp_path: Path) -> None:
    runs = [
        read(play(ROOT / "src", [family], level, None, folder))
        for level in (INTERPRETED, COMPILED)
        if (folder := tmp_path / str(level)).mkdir() is None
    ]
    interpreted, compiled = runs
    assert len(compiled) > 100 and compiled.keys() <= interpreted.keys()
    differences, _ = compare({name: interpreted[name] for name in compiled}, compiled)
    far = {
        f"{difference.name}: {quantity}": size
        for difference in differences
        for quantity, size in difference.numbers.items()
        # What a compensated sum has lost is rounding alone.
        if not quantity.endswith("_LOW") and not size <= TOLERANCE
    }
    words = [words for difference in differences for words in difference.words]
    # Sentences may quote a number that differs in its last digit.
    blank = [re.sub(r"\d+\.\d+(e[+-]?\d+)?", "#", each.partition(": ")[2]) for each in words]
    assert not far
    assert not [each for each in blank if len({*each.split(" -> ")}) > 1], words[:5]
