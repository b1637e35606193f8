"""A file larger than the memory that is allowed: `python -m bench.out_of_core`.

Writes the generated sparse set as one file of the compact form (3,400,000 rows and 200,000 features
are 2 GB), then runs the command `noregret hindsight FILE --l2 n/10,000 --tol 1e-3` twice in a
process of its own: with `--memory 500`, where rows are read again in every pass, and in memory.
Prints for both the verified gap, passes, seconds of the whole process, and the largest RssAnon
(memory of its own) and RSS (with pages of files, which the system may take back) that
/proc/PID/status showed every 20 ms. Linux only.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.cluster import write_compact
from bench.data import make

FIELDS = ("RssAnon", "VmRSS")


def watched(command: list[str]) -> tuple[dict[str, float], float, str]:
    """Run a command; return the largest megabytes of each field, its seconds, and its output."""
    most = dict.fromkeys(FIELDS, 0.0)
    begin = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        status = Path(f"/proc/{process.pid}/status")
        while process.poll() is None:
            for line in status.read_text().splitlines():
                name, _, rest = line.partition(":")
                if name in most:
                    most[name] = max(most[name], int(rest.split()[0]) / 1e3)
            time.sleep(0.02)
        seconds = time.perf_counter() - begin
        assert process.stdout is not None
        output = process.stdout.read()
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")
    return most, seconds, output


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.out_of_core", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--rows", type=int, default=3_400_000)
    parser.add_argument("--features", type=int, default=200_000)
    parser.add_argument("--memory", type=int, default=500, help="megabytes [default: 500]")
    parser.add_argument("--losses", nargs="*", default=["hinge", "logistic"])
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.arrow"
        data = make(given.rows, given.features)
        write_compact(data.X, data.y, path)
        del data
        print(f"{path.stat().st_size / 1e9:.2f} GB, {given.rows:,} rows", flush=True)
        for loss in given.losses:
            base = [
                sys.executable, "-m", "noregret", "hindsight", str(path), "--loss", loss,
                "--l2", f"{1e-4 * given.rows:g}", "--tol", "1e-3", "--json",
            ]  # fmt: skip
            for name, more in (("out of core", ["--memory", str(given.memory)]), ("memory", [])):
                most, seconds, output = watched(base + more)
                found = json.loads(output)
                gap = (found["primal"] - found["dual"]) / found["primal"]
                print(
                    f"{loss:<10}{name:<12} gap {gap:.1e}, {found['passes']} passes, "
                    f"{seconds:.1f} s, RssAnon {most['RssAnon']:.0f} MB, "
                    f"RSS {most['VmRSS']:.0f} MB",
                    flush=True,
                )


if __name__ == "__main__":
    main()
