"""Arrays that kernels hand on without reference counting."""

# Numba types its public face only, and differently in each version.
# mypy: allow-untyped-calls, disable-error-code="attr-defined"
from __future__ import annotations

from typing import Any

from llvmlite import ir

from noregret.jit.lanes import register


def borrowed(array: Any) -> Any:
    """Return the array as one that is not reference-counted; its owner must outlive it.

    Interpreted, it is the array.
    """
    return array


def _type_borrowed(context: Any, array: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        held = context.make_array(array)(context, builder, args[0])
        for owner in ("meminfo", "parent"):
            setattr(held, owner, ir.Constant(getattr(held, owner).type, None))
        return held._getvalue()

    return array(array), generate


register(borrowed, _type_borrowed)
