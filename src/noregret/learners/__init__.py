"""Learners: objects that predict, learn, certify themselves, and are saved and resumed."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from noregret.learners.files import KINDS, load, load_with_extra

if TYPE_CHECKING:
    from noregret.learners.dual_ascent import DualAscent
    from noregret.learners.matrix import MatrixDescent
    from noregret.learners.mirror_descent import MirrorDescent

__all__ = ["DualAscent", "MatrixDescent", "MirrorDescent", "load", "load_with_extra"]


def __getattr__(name: str) -> Any:
    if name not in KINDS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(KINDS[name]), name)
