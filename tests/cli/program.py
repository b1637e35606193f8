"""The program as a real process, and inside this one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

ROOT = Path(__file__).parent.parent.parent
ENVIRONMENT = os.environ | {
    "COLUMNS": "80",
    "NO_COLOR": "1",
    "PYTHONIOENCODING": "utf-8",
    "PYTHONPATH": str(ROOT / "src"),
}
RUN = "import sys; from noregret.cli.main import run; sys.argv[0] = 'noregret'; run()"


class Result(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


Call = Callable[..., Result]


def noregret(*arguments: object, **options: Any) -> subprocess.CompletedProcess[Any]:
    return subprocess.run(
        [sys.executable, "-c", RUN, *map(str, arguments)],
        **{"capture_output": True, "text": True, "env": ENVIRONMENT} | options,
    )


def start(*arguments: object, **options: Any) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", RUN, *map(str, arguments)], env=ENVIRONMENT, **options
    )


def svmlight(rows: int, features: int = 5, seed: int = 7, labels: tuple[int, int] = (0, 1)) -> str:
    """Examples that a linear predictor mostly gets right."""
    rng = np.random.default_rng(seed)
    lines = []
    for _ in range(rows):
        x = rng.standard_normal(features).round(3)
        label = labels[int(x[0] - x[1] + 0.3 * rng.standard_normal() > 0)]
        lines.append(f"{label} " + " ".join(f"{i}:{v}" for i, v in enumerate(x, 1)))
    return "\n".join(lines) + "\n"
