"""What a process of the cluster runs: a host of shards, asked by the driver.

Arguments and answers are arrays, numbers, texts, and lists and dictionaries of these. The class of
the host is named, and imported here; nothing that a message holds is run.
"""

from __future__ import annotations

import importlib
import os
import platform
import time
from typing import Any

import numpy as np

from noregret.cluster.errors import KNOWN, told


def about() -> dict[str, str]:
    """Return the versions that results depend on to the bit."""
    import llvmlite
    import numba
    import scipy

    import noregret

    return {
        "noregret": noregret.__version__,
        "Python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
        "llvmlite": llvmlite.__version__,
        "scipy": scipy.__version__,
    }


class Worker:
    """Shards first to last - 1 of `count`, at one process.

    Args:
        host: the class that holds them, as "module:Class" of this package.
        first: number of the first shard hosted here.
        last: number after the last one.
        count: number of all shards.
    """

    def __init__(self, host: str, first: int, last: int, count: int) -> None:
        module, _, name = host.partition(":")
        if not module.startswith("noregret."):
            raise ValueError(f"{host}: expected a class of noregret")
        kind = getattr(importlib.import_module(module), name)
        self._host = kind([None] * (last - first), first, count)

    def about(self) -> dict[str, Any]:
        """Return the versions here, and the process."""
        return {"versions": about(), "process": os.getpid(), "node": platform.node()}

    def ask(self, method: str, *arguments: Any) -> dict[str, Any]:
        """Return what a method of the host returns and the seconds it took, or its error."""
        begin = time.perf_counter()
        # Arrays of a message are read-only, for which kernels would be compiled anew.
        own = [np.array(one) if isinstance(one, np.ndarray) else one for one in arguments]
        try:
            found = getattr(self._host, method)(*own)
        except KNOWN as error:
            return {"error": told(error)}
        return {"found": found, "seconds": time.perf_counter() - begin}
