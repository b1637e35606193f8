"""A table of numbers has no room for references to texts, and a missing value takes none."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CODE = """
import sys, warnings
warnings.simplefilter("ignore")
import noregret as nr
stream = nr.read(sys.argv[1], missing="refuse", on_error="skip")
print([block.y.tolist() for block in stream], stream.refused)
"""


@pytest.mark.parametrize(
    "lines",
    [
        ["1.5,2.5,1", ",2.5,2", "3.5,,3", "4.5,5.5,4"],
        ["2024-01-01,2.5,1", ",2.5,2", "NA,2.5,3", "2024-01-02,5.5,4"],
    ],
)
def test_a_missing_value_that_is_refused_writes_nothing(tmp_path: Path, lines: list[str]) -> None:
    path = tmp_path / "numbers.csv"
    path.write_text("\n".join(["a,b,y", *lines, ""]))
    # Interpreted, an index outside of an array is an error; compiled, it would write there.
    run = subprocess.run(
        [sys.executable, "-c", CODE, str(path)],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"}, capture_output=True, text=True,
    )  # fmt: skip
    assert run.stdout == "[[1.0, 4.0]] 2\n", run.stderr
