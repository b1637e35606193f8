"""Fingerprints of Python code by content.

A fingerprint covers everything that can change what a function computes: its bytecode,
constants, defaults and closure, and by recursion every global it reads. Two files that
define the same thing have the same fingerprint, one edited constant gives another.
"""

from __future__ import annotations

import dis
import enum
import functools
import hashlib
import itertools
import sys
import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from noregret.component import Component, field_kinds

_SCALARS = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis), slice)
#: Packages whose versions are in every key; what they define is identified by name.
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


#: Instructions that load a global, with the bits of their argument before the number of its name.
_LOADS_GLOBAL = {dis.opmap["LOAD_GLOBAL"]: 1, dis.opmap["LOAD_NAME"]: 0}
_LOADS_CONSTANT = {code for name, code in dis.opmap.items() if name.endswith("_CONST")}


def _steps(code: types.CodeType) -> Iterator[tuple[int, int]]:
    """Return the instructions of a function as numbers and arguments; `dis` takes 20 times long."""
    high = 0
    for number, low in zip(code.co_code[::2], code.co_code[1::2], strict=True):
        argument = high | low
        high = argument << 8 if number == dis.EXTENDED_ARG else 0
        yield number, argument


def _constants(code: types.CodeType) -> list[object]:
    """Return the constants of a function, class or module, None in place of its docstring.

    That compiles to nothing: a function never loads it, a class or module only to store it.
    """
    stored = dis.opmap["STORE_NAME"]
    users: dict[int, list[str]] = {}
    for (number, place), (following, name) in itertools.pairwise(_steps(code)):
        if number in _LOADS_CONSTANT:
            users.setdefault(place, []).append(code.co_names[name] if following == stored else "")
    constants: list[object] = list(code.co_consts)
    for place, one in enumerate(constants):
        unused = place == 0 and place not in users
        if isinstance(one, str) and (unused or users.get(place) == ["__doc__"]):
            constants[place] = None
    return constants


@functools.cache
def _code(code: types.CodeType) -> str:
    """Return the digest of a function's own code, without what it refers to."""
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    shape = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
    of = Fingerprint(lambda value: None).of
    constants = [
        f"{type(one).__name__} {one!r}" if isinstance(one, _SCALARS) else of(one)
        for one in _constants(code)
    ]
    table = code.co_exceptiontable
    return combine("code", code.co_code.hex(), table.hex(), repr(names), repr(shape), *constants)


@functools.cache
def _names(code: types.CodeType) -> tuple[frozenset[str], frozenset[str]]:
    """Return all names in a function and those inside it, and the ones it loads as globals."""
    inside = [_names(inner) for inner in code.co_consts if isinstance(inner, types.CodeType)]
    loads = {
        code.co_names[argument >> _LOADS_GLOBAL[number]]
        for number, argument in _steps(code)
        if number in _LOADS_GLOBAL
    }
    return (
        frozenset(code.co_names).union(*(names for names, _ in inside)),
        frozenset(loads).union(*(loaded for _, loaded in inside)),
    )


def _asked(module: types.ModuleType, names: frozenset[str]) -> list[tuple[str, object]]:
    """Return the members of a module that a function may use, none of versioned packages."""
    if _versioned(module.__name__):
        return []
    return [(name, vars(module)[name]) for name in sorted(names & vars(module).keys())]


class Fingerprint:
    """One walk over all that a kernel depends on.

    `describe` explains objects of the compiler's own: a tuple of parts that determine the
    object, None for what the compiler cannot use (which then cannot matter), and
    `NotImplemented` for what it can use but nobody can compare between processes.
    """

    def __init__(self, describe: Callable[[object], object]) -> None:
        self.cachable = True
        #: The plain functions met on the way, in order, as the keys.
        self.functions: dict[types.FunctionType, None] = {}
        self._describe = describe
        self._done: dict[int, str] = {}

    def of(self, value: object, names: frozenset[str] = frozenset()) -> str:
        """Return the digest of any value; `names` are the attributes asked of a module."""
        for kinds, parts in _PARTS:
            if isinstance(value, kinds):
                return combine(*parts(self, value))
        title = str(getattr(value, "__name__", ""))
        if isinstance(value, np.ufunc) and vars(np).get(title) is value:
            return combine("ufunc", title)
        if isinstance(value, types.CodeType):
            return _code(value)
        if isinstance(value, types.ModuleType):
            return self._module(value, names)
        known = self._done.get(id(value))
        if known is not None:
            return known
        name = str(getattr(value, "__qualname__", title))
        # A reference back to an object that is still being walked finds only its name.
        self._done[id(value)] = combine("recursion", name)
        digest = self._of_object(value, name)
        self._done[id(value)] = digest
        return digest

    def _of_object(self, value: object, name: str) -> str:
        module = getattr(value, "__module__", None)
        if isinstance(value, type) and issubclass(value, Component):
            return self._component(value)
        if isinstance(value, types.FunctionType) and not _versioned(module):
            self.functions[value] = None
            return self._function(value)
        described = self._describe(value)
        if isinstance(described, tuple):
            digest = combine("described", *map(self.of, described))
            # Functions that the compiler already holds in compiled form are not plain.
            for part in described:
                if isinstance(part, types.FunctionType):
                    self.functions.pop(part, None)
            return digest
        package = sys.modules.get((module or "").partition(".")[0])
        version = repr(getattr(package, "__version__", None))
        named = (type(value).__qualname__, str(module), name, version)
        if described is NotImplemented and not (name and _versioned(module)):
            self.cachable = False
        return combine("named", *named)

    def _remember(self, value: object, own: list[str]) -> None:
        """Note what an object is in itself, and that caching is off if it was another before."""
        digest = combine(*own)
        if _first_seen.setdefault(value, digest) != digest:
            self.cachable = False

    def _own(self, value: object, names: frozenset[str]) -> str:
        """Return the digest of a value without what it refers to, so without recursion."""
        for wrapper in ("py_func", "__func__", "fget"):
            value = getattr(value, wrapper, value)
        if isinstance(value, types.FunctionType):
            return _code(value.__code__)
        if isinstance(value, type) and not isinstance(value, enum.EnumMeta):
            return value.__qualname__
        if isinstance(value, types.ModuleType):
            asked = _asked(value, names)
            return combine(*(name + self._own(found, names - {name}) for name, found in asked))
        return self.of(value)

    def _function(self, function: types.FunctionType) -> str:
        attributes, loads = _names(function.__code__)
        reached: list[tuple[str, object]] = [
            # Arguments' defaults are constants of the compiled code as well.
            ("defaults", function.__defaults__),
            ("keyword defaults", tuple(sorted((function.__kwdefaults__ or {}).items()))),
            ("reassociable", function.__dict__.get("reassociable", False)),
        ]
        for cell in function.__closure__ or ():
            try:
                reached.append(("cell", cell.cell_contents))
            except ValueError:
                reached.append(("empty cell", None))
        known = function.__globals__
        reached += [(name, known[name]) for name in sorted(loads & known.keys())]
        body = _code(function.__code__)
        self._remember(function, [body, *(n + self._own(v, attributes) for n, v in reached)])
        return combine("function", body, *(n + self.of(v, attributes) for n, v in reached))

    def _module(self, module: types.ModuleType, names: frozenset[str]) -> str:
        parts = [module.__name__, repr(getattr(module, "__version__", None))]
        for name, found in _asked(module, names):
            parts += [name, self.of(found, names - {name})]
        return combine("module", *parts)

    def _component(self, cls: type[Component]) -> str:
        bases = [base for base in reversed(cls.__mro__) if base not in (object, Component)]
        members = {name: value for base in bases for name, value in vars(base).items()}
        # Special methods are never called from compiled code.
        reached = [
            (name, value)
            for name, value in sorted(members.items())
            if not name.startswith("__") and name != "_numba_type_"
        ]
        fields = repr(field_kinds(cls))
        self._remember(cls, [fields, *(n + self._own(v, frozenset()) for n, v in reached)])
        return combine("component", cls.__qualname__, fields, *(n + self.of(v) for n, v in reached))


#: The parts that tell a value apart, by its type; the first type that fits counts.
_PARTS: tuple[tuple[Any, Callable[[Fingerprint, Any], tuple[str, ...]]], ...] = (
    (
        (np.ndarray, np.generic),
        lambda walk, value: (
            "array",
            repr(value.dtype),
            repr(value.shape),
            value.tobytes().hex(),
        ),
    ),
    (
        enum.Enum,
        lambda walk, value: (
            "enum",
            type(value).__qualname__,
            value.name,
            walk.of(value.value),
        ),
    ),
    (enum.EnumMeta, lambda walk, value: ("enumeration", value.__qualname__, *map(walk.of, value))),
    (_SCALARS, lambda walk, value: (type(value).__name__, repr(value))),
    (
        (tuple, list),
        lambda walk, value: (
            type(value).__qualname__,
            repr(getattr(value, "_fields", None)),
            *map(walk.of, value),
        ),
    ),
    ((set, frozenset), lambda walk, value: ("set", *sorted(map(walk.of, value)))),
    (
        (staticmethod, classmethod),
        lambda walk, value: (type(value).__name__, walk.of(value.__func__)),
    ),
    (property, lambda walk, value: ("property", walk.of(value.fget))),
)
