"""The same loop in C: compiled when the benchmark runs, loaded by ctypes, never shipped."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

SOURCE = Path(__file__).with_name("loop.c")
OPTIONS = {
    "gcc -O3": ["-O3", "-march=native"],
    "gcc -O3 -ffast-math": ["-O3", "-march=native", "-ffast-math"],
}

Sgd = Callable[[Any, Any, Any, Any, Any, float], None]


def compiler() -> str | None:
    """Return the path of gcc, None where there is none."""
    return shutil.which("gcc")


def compile_loops(directory: Path) -> dict[str, Sgd]:
    """Compile loop.c once for each set of options; the result is called like hand_loop.sgd."""
    gcc = compiler()
    if gcc is None:
        return {}
    loops = {}
    for number, (name, options) in enumerate(OPTIONS.items()):
        compiled, library = directory / f"loop{number}.o", directory / f"loop{number}.so"
        # Linked without the options: with -ffast-math gcc links a start-up file that makes the
        # whole process flush small numbers to zero.
        commands = (
            [gcc, *options, "-fPIC", "-c", "-o", str(compiled), str(SOURCE)],
            [gcc, "-shared", "-o", str(library), str(compiled), "-lm"],
        )
        for command in commands:
            subprocess.run(command, check=True, capture_output=True)
        loops[name] = _bind(ctypes.CDLL(str(library)))
    return loops


def _bind(library: ctypes.CDLL) -> Sgd:
    def sgd(indptr: Any, indices: Any, values: Any, y: Any, weights: Any, eta: float) -> None:
        function = library.sgd_float32 if values.dtype == np.float32 else library.sgd_float64
        value = ctypes.c_float if values.dtype == np.float32 else ctypes.c_double
        function(
            ctypes.c_size_t(len(y)),
            _pointer(indptr, ctypes.c_uint64),
            _pointer(indices, ctypes.c_uint32),
            _pointer(values, value),
            _pointer(y, ctypes.c_double),
            _pointer(weights, ctypes.c_double),
            ctypes.c_double(eta),
        )

    return sgd


def _pointer(array: Any, kind: Any) -> Any:
    assert array.flags.c_contiguous and array.itemsize == ctypes.sizeof(kind)
    return array.ctypes.data_as(ctypes.POINTER(kind))
