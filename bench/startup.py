"""What a user waits for: start-up, and memory over a long stream, each in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

from bench.timing import Line

HELP = """
import json, sys, time
begin = time.perf_counter()
sys.argv = ["noregret", "--help"]
from noregret.cli.main import main
try:
    main()
except SystemExit:
    pass
seconds = time.perf_counter() - begin
print(json.dumps({"seconds": seconds, "numba": "numba" in sys.modules}))
"""

FIRST_RESULT = """
import json, time
begin = time.perf_counter()
import numba
imported = time.perf_counter()
import numpy as np
import noregret as nr
from scipy.sparse import csr_matrix
X = csr_matrix(np.eye(4, dtype=np.float32))
learner = nr.MirrorDescent(nr.losses.Logistic(), nr.mirrors.Euclidean(), nr.rates.Constant(0.5))
learner.learn(X, [1, -1, 1, -1])
done = time.perf_counter()
print(json.dumps({"numba": imported - begin, "ours": done - imported}))
"""

BLOCKS = 20
MEMORY = f"""
import json, resource, sys
import noregret as nr
from bench.data import make
data = make(rows=int(sys.argv[1]))
learner = nr.MirrorDescent(nr.losses.Logistic(), nr.mirrors.Euclidean(), nr.rates.Constant(0.5))
peaks = []
for _ in range({BLOCKS}):
    learner.learn(data.X, data.y)
    learner.certificate()
    peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
print(json.dumps({{"first": peaks[0], "last": peaks[-1], "rounds": learner.rounds}}))
"""


def _run(script: str, *args: str, cache: str | None = None) -> Any:
    environment = dict(os.environ)
    environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    if cache is not None:
        environment["NOREGRET_CACHE_DIR"] = cache
    command = [sys.executable, "-c", script, *args]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def starting(turns: int = 5) -> Iterator[Line]:
    """Measure `noregret --help` and the first result of a process."""
    helps = [_run(HELP) for _ in range(turns)]
    if any(entry["numba"] for entry in helps):
        raise AssertionError("`noregret --help` imported numba")
    yield Line("noregret --help, numba not imported", _best(helps, "seconds"), unit=" s")
    with tempfile.TemporaryDirectory() as cache:
        cold = _run(FIRST_RESULT, cache=cache)
        warm = [_run(FIRST_RESULT, cache=cache) for _ in range(turns)]
    yield Line("import numba", _best(warm, "numba"), unit=" s")
    yield Line("from there to the first result, empty cache", cold["ours"], unit=" s")
    what = "from there to the first result, second process"
    yield Line(what, _best(warm, "ours"), at_most=0.5, unit=" s")


def _best(entries: list[dict[str, float]], key: str) -> float:
    return min(entry[key] for entry in entries)


def memory(rows: int = 100_000) -> Iterator[Line]:
    """Measure how much the peak of memory grows from the first block to the last."""
    peak = _run(MEMORY, str(rows))
    what = f"peak memory after {BLOCKS} blocks of {rows:,} rows / after the first"
    yield Line(what, peak["last"] / peak["first"], at_most=1.02)
