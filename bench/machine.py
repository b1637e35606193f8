"""Where and with what a benchmark ran."""

from __future__ import annotations

import datetime
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
