"""Fingerprints of Python code by content.

A fingerprint covers everything that can change what a function computes: its bytecode,
constants, defaults and closure, and by recursion every global it reads. Two files that
define the same thing have the same fingerprint, one edited constant gives another.
"""

from __future__ import annotations

import dis
import enum
import hashlib
import sys
import types
import weakref
from collections.abc import Callable, Iterator

import numpy as np

from noregret.component import Component, field_kinds

_SCALARS = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis), slice)
#: Packages named by the versions in every key; what they define is told apart by name.
_VERSIONED = frozenset({"numpy", "numba", "llvmlite", *sys.stdlib_module_names})

#: What each function and class was when first seen. Machine code made then may be reused
#: by a later compilation, whose key must not promise the newer content.
_first_seen: weakref.WeakKeyDictionary[object, str] = weakref.WeakKeyDictionary()


def combine(*parts: str) -> str:
    """Return the digest of a sequence of texts, unambiguous where one ends."""
    hasher = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        hasher.update(b"%d:" % len(data))
        hasher.update(data)
    return hasher.hexdigest()


def _versioned(module: str | None) -> bool:
    return (module or "").partition(".")[0] in _VERSIONED


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


class Fingerprint:
    """One walk over all that a kernel depends on.

    `describe` explains objects of the compiler's own: a tuple of parts that determine the
    object, None for what the compiler cannot use (which then cannot matter), and
    `NotImplemented` for what it can use but nobody can compare between processes.
    """

    def __init__(self, describe: Callable[[object], object]) -> None:
        self.cachable = True
        #: The plain functions met on the way, in order.
        self.functions: list[types.FunctionType] = []
        self._describe = describe
        self._done: dict[int, str] = {}

    def of(self, value: object, names: frozenset[str] = frozenset()) -> str:
        """Return the digest of any value; `names` are the attributes asked of a module."""
        if isinstance(value, np.ndarray | np.generic):
            return combine("array", repr(value.dtype), repr(value.shape), value.tobytes().hex())
        if isinstance(value, enum.Enum):
            return combine("enum", type(value).__qualname__, value.name, self.of(value.value))
        if isinstance(value, _SCALARS):
            return combine(type(value).__name__, repr(value))
        if isinstance(value, tuple | list):
            fields = repr(getattr(value, "_fields", None))
            return combine(type(value).__qualname__, fields, *map(self.of, value))
        if isinstance(value, set | frozenset):
            return combine("set", *sorted(map(self.of, value)))
        if isinstance(value, types.CodeType):
            return self._code(value)
        if isinstance(value, types.ModuleType):
            return self._module(value, names)
        if isinstance(value, staticmethod | classmethod):
            return combine(type(value).__name__, self.of(value.__func__))
        if isinstance(value, property):
            return combine("property", self.of(value.fget))
        known = self._done.get(id(value))
        if known is not None:
            return known
        name = str(getattr(value, "__qualname__", getattr(value, "__name__", "")))
        # Whoever refers back to an object still being walked finds only its name.
        self._done[id(value)] = combine("recursion", name)
        digest = self._of_object(value, name)
        self._done[id(value)] = digest
        return digest

    def _of_object(self, value: object, name: str) -> str:
        module = getattr(value, "__module__", None)
        if isinstance(value, type) and issubclass(value, Component):
            return self._remember(value, self._component(value))
        if isinstance(value, types.FunctionType) and not _versioned(module):
            self.functions.append(value)
            return self._remember(value, self._function(value))
        described = self._describe(value)
        if isinstance(described, tuple):
            return combine("described", *map(self.of, described))
        package = sys.modules.get((module or "").partition(".")[0])
        version = repr(getattr(package, "__version__", None))
        named = (type(value).__qualname__, str(module), name, version)
        if described is NotImplemented and not (name and _versioned(module)):
            self.cachable = False
        return combine("named", *named)

    def _remember(self, value: object, digest: str) -> str:
        if _first_seen.setdefault(value, digest) != digest:
            self.cachable = False
        return digest

    def _code(self, code: types.CodeType) -> str:
        names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
        shape = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
        table = code.co_exceptiontable
        return combine(
            "code",
            code.co_code.hex(),
            table.hex(),
            repr(names),
            repr(shape),
            self.of(code.co_consts),
        )

    def _function(self, function: types.FunctionType) -> str:
        names: set[str] = set()
        loads: set[str] = set()
        for code in _codes(function.__code__):
            names.update(code.co_names)
            for instruction in dis.get_instructions(code):
                if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                    loads.add(instruction.argval)
        attributes = frozenset(names)
        parts = [self._code(function.__code__)]
        # Arguments' defaults are constants of the compiled code as well.
        parts.append(self.of(function.__defaults__))
        parts.append(self.of(tuple(sorted((function.__kwdefaults__ or {}).items()))))
        parts.append(repr(function.__dict__.get("reassociable", False)))
        for cell in function.__closure__ or ():
            try:
                parts.append(self.of(cell.cell_contents, attributes))
            except ValueError:
                parts.append("empty cell")
        for name in sorted(loads & function.__globals__.keys()):
            parts += [name, self.of(function.__globals__[name], attributes)]
        return combine("function", *parts)

    def _module(self, module: types.ModuleType, names: frozenset[str]) -> str:
        parts = [module.__name__, repr(getattr(module, "__version__", None))]
        if not _versioned(module.__name__):
            for name in sorted(names & vars(module).keys()):
                parts += [name, self.of(vars(module)[name], names - {name})]
        return combine("module", *parts)

    def _component(self, cls: type[Component]) -> str:
        parts = [cls.__qualname__, repr(field_kinds(cls))]
        members: dict[str, object] = {}
        for base in reversed(cls.__mro__):
            if base is not object and base is not Component:
                members.update(vars(base))
        for name in sorted(members):
            # Special methods are never called from compiled code.
            if not name.startswith("__") and name != "_numba_type_":
                parts += [name, self.of(members[name])]
        return combine("component", *parts)
