"""Where and with what a benchmark ran."""

from __future__ import annotations

import datetime
import os
import platform
import shutil
import subprocess
from importlib.metadata import version
from pathlib import Path

PACKAGES = ("noregret", "numpy", "scipy", "numba", "scikit-learn", "liblinear-official")


def describe() -> dict[str, str]:
    """Return date, processor and versions."""
    facts = {
        "date": datetime.date.today().isoformat(),
        "processor": _processor(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }
    facts |= {name: version(name) for name in PACKAGES if _installed(name)}
    gcc = shutil.which("gcc")
    if gcc is None:
        facts["gcc"] = "not found: the comparison with C is left out"
    else:
        command = [gcc, "-dumpfullversion"]
        facts["gcc"] = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        facts["gcc"] = facts["gcc"].strip()
    return facts


def cpu_seconds() -> float:
    """Return the processor time of this process and its descendants so far (Linux only)."""
    parents, spent = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:  # the process has ended
            continue
        pid = int(path.parent.name)
        parents[pid], spent[pid] = int(fields[1]), int(fields[11]) + int(fields[12])
    total, family = 0, [os.getpid()]
    while family:
        one = family.pop()
        total += spent.get(one, 0)
        family += [pid for pid, parent in parents.items() if parent == one]
    return total / os.sysconf("SC_CLK_TCK")


def _installed(name: str) -> bool:
    from importlib.metadata import PackageNotFoundError

    try:
        version(name)
    except PackageNotFoundError:
        return False
    return True


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
