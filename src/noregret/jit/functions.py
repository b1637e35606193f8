"""How functions are compiled and named, and how compiled code calls plain ones."""

from __future__ import annotations

import types
from typing import Any

import numba
from numba.core import errors
from numba.core import types as nb
from numba.core.dispatcher import Dispatcher
from numba.core.extending import _Intrinsic
from numba.core.registry import cpu_target

from noregret.component import Component
from noregret.jit.fingerprint import Fingerprint

STRICT: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "boundscheck": False,
    # Set explicitly: functions without these flags inherit the caller's.
    "fastmath": False,
    "_nrt": True,
    "no_cfunc_wrapper": True,
    "forceinline": False,
}
FAST: dict[str, Any] = {**STRICT, "fastmath": {"reassoc", "contract"}}
#: Leaves arrays uncounted: the caller holds them, and nothing may be allocated.
UNCOUNTED: dict[str, Any] = {"_nrt": False}
#: Called by compiled code only, so that nothing is generated for a call from Python.
INNER: dict[str, Any] = {"no_cpython_wrapper": True}
INLINE: dict[str, Any] = {**INNER, "forceinline": True}


def describe(value: object) -> object:
    """Return the parts that determine an object of numba's, as `Fingerprint` takes them."""
    if isinstance(value, Dispatcher):
        return "kernel", _options_text(value.targetoptions), value.py_func
    if isinstance(value, _Intrinsic):
        return "intrinsic", value._defn
    if isinstance(value, nb.Type):
        return "type", str(value)
    if isinstance(value, Component):
        return "component", type(value), *value.fields().values()
    if isinstance(value, type) and issubclass(value, BaseException):
        return None
    if isinstance(value, type) and issubclass(value, tuple) and hasattr(value, "_fields"):
        return "bundle", value.__qualname__, value._fields
    try:
        cpu_target.typing_context.resolve_value_type(value)
    except (ValueError, TypeError, errors.NumbaError):
        return None
    return NotImplemented


def _options_text(options: dict[str, Any]) -> str:
    return repr(
        [(key, sorted(v) if isinstance(v, set) else v) for key, v in sorted(options.items())]
    )


def content_named(function: types.FunctionType, digest: str) -> types.FunctionType:
    """Return the same function under a name that contains its digest.

    Symbols of kernels from several processes meet in one; equal names would be mixed up.
    """
    copy = types.FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__module__ = function.__module__
    copy.__qualname__ = f"{function.__qualname__}.{digest[:16]}"
    return copy


_taught: dict[types.FunctionType, Dispatcher] = {}


def teach(functions: list[types.FunctionType]) -> None:
    """Let compiled code call plain Python functions, in strict arithmetic."""
    context = cpu_target.typing_context
    for function in functions:
        if context._lookup_global(function) is None:
            digest = Fingerprint(describe).of(function)
            # Kept here: the type refers to the compiled function only weakly.
            _taught[function] = numba.njit(**STRICT)(content_named(function, digest))
            context.insert_global(function, nb.Dispatcher(_taught[function]))
