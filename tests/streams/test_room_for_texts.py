"""A table of numbers has no room for references to texts, and a missing value takes none."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numba
import pytest

import noregret as nr

CODE = """
import sys, warnings
from pathlib import Path
warnings.simplefilter("ignore")
from tests.streams.test_room_for_texts import check
check(Path(sys.argv[1]))
"""


def check(path: Path) -> None:
    stream = nr.read(path, missing="refuse", on_error="skip")
    assert [block.y.tolist() for block in stream] == [[1.0, 4.0]] and stream.refused == 2


@pytest.mark.parametrize(
    "lines",
    [
        ["1.5,2.5,1", ",2.5,2", "3.5,,3", "4.5,5.5,4"],
        ["2024-01-01,2.5,1", ",2.5,2", "NA,2.5,3", "2024-01-02,5.5,4"],
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_a_missing_value_that_is_refused_writes_nothing(tmp_path: Path, lines: list[str]) -> None:
    path = tmp_path / "numbers.csv"
    path.write_text("\n".join(["a,b,y", *lines, ""]))
    # Interpreted, an index outside of an array is an error; compiled, it would write there.
    if numba.config.DISABLE_JIT:
        check(path)
        return
    run = subprocess.run(
        [sys.executable, "-c", CODE, str(path)],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
