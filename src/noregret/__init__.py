"""noregret: online learning that can prove how well it is doing."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from noregret import domains, losses, mirrors, rates

if TYPE_CHECKING:
    from noregret import catalogue, oco
    from noregret.certificate import Certificate
    from noregret.foreign import certify
    from noregret.learners import MirrorDescent, load
    from noregret.streams import read

__version__ = "0.1.0.dev0"

#: Names that need numba are imported when first asked for, so that `import noregret` is quick.
_LAZY = {
    "Certificate": "noregret.certificate",
    "MirrorDescent": "noregret.learners",
    "catalogue": "noregret.catalogue",
    "certify": "noregret.foreign",
    "load": "noregret.learners",
    "oco": "noregret.oco",
    "read": "noregret.streams",
}

__all__ = [
    "Certificate",
    "MirrorDescent",
    "catalogue",
    "certify",
    "domains",
    "load",
    "losses",
    "mirrors",
    "oco",
    "rates",
    "read",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'noregret' has no attribute {name!r}")
    module = importlib.import_module(_LAZY[name])
    return module if module.__name__ == f"noregret.{name}" else getattr(module, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
