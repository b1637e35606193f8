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


def own(message: Any) -> Any:
    """Return a message with arrays that may be written to.

    Those that arrive are read-only, and kernels would be compiled anew for them.
    """
    if isinstance(message, np.ndarray):
        return np.array(message)
    if isinstance(message, dict):
        return {name: own(one) for name, one in message.items()}
    if type(message) in (list, tuple):
        return type(message)(map(own, message))
    return message


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
        try:
            found = getattr(self._host, method)(*map(own, arguments))
        except KNOWN as error:
            return {"error": told(error)}
        return {"found": found, "seconds": time.perf_counter() - begin}
