"""The decorator that compiles kernels, and their cache on disk, found by content."""

# Numba types its public face only, and differently in each version.
# mypy: allow-untyped-calls, allow-subclassing-any
# mypy: disable-error-code="attr-defined,arg-type,no-any-return"
from __future__ import annotations

import functools
import io
import pickle
import pkgutil
import sys
import types
import warnings
from collections.abc import Callable
from typing import Any, Generic, ParamSpec, Protocol, TypeAlias, TypeVar, overload

import llvmlite
import numba
import numpy as np
from llvmlite import binding
from numba.core import config, serialize, sigutils, targetconfig
from numba.core import types as nb
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.dispatcher import Dispatcher
from numba.core.environment import Environment, lookup_environment
from numba.core.registry import CPUDispatcher, cpu_target
from numba.core.runtime import rtsys

from noregret import rounding
from noregret.jit import directory
from noregret.jit.components import ComponentType
from noregret.jit.directory import cache_events
from noregret.jit.fingerprint import Fingerprint, combine
from noregret.jit.functions import (
    FAST,
    INLINE,
    INNER,
    STRICT,
    UNCOUNTED,
    content_named,
    describe,
    teach,
)

#: Settings of numba that change the machine code of one and the same function.
_SETTINGS = ("OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "BOUNDSCHECK", "DEBUGINFO_DEFAULT")


@functools.cache
def _surroundings() -> str:
    parts = [sys.version, numba.__version__, llvmlite.__version__, np.__version__]
    parts += map(repr, cpu_target.target_context.codegen().magic_tuple())
    parts += [f"{name}={getattr(config, name, None)}" for name in _SETTINGS]
    # The code of all modules of this package but the directory, which generates no machine code.
    walk, package = Fingerprint(describe), __name__.rpartition(".")[0]
    for module in sorted(
        pkgutil.iter_modules(sys.modules[package].__path__), key=lambda one: one.name
    ):
        if module.name != "directory":
            finder: Any = module.module_finder
            name = f"{package}.{module.name}"
            parts += [name, walk.of(finder.find_spec(name).loader.get_code(name))]
    return combine(*parts)


class _Pickler(serialize.NumbaPickler):
    """Writes component types as their place in the signature, so that loading imports none."""

    def __init__(self, file: io.BytesIO, components: list[ComponentType]) -> None:
        super().__init__(file, protocol=5)
        self._places = {id(component): place for place, component in enumerate(components)}

    def persistent_id(self, value: object) -> int | None:
        return self._places[id(value)] if isinstance(value, ComponentType) else None

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, Environment):
            return _environment, (value.consts, value.env_name)
        return super().reducer_override(value)


class _Unpickler(pickle.Unpickler):
    """Reads component types as those of the signature."""

    def __init__(self, file: io.BytesIO, components: list[ComponentType]) -> None:
        super().__init__(file)
        self._components = components

    def persistent_load(self, place: int) -> ComponentType:
        return self._components[place]


def _environment(constants: list[Any], name: str) -> Environment:
    """Return the constants of a compiled function, without importing where it was defined."""
    found = lookup_environment(name)
    if found is None:
        found = Environment({})
        found.consts[:] = constants
        found.env_name = name
        Environment._memo[name] = found
    return found


def _inside(args: Any) -> list[nb.Type]:
    """Return the types of arguments, and of all that bundles and components among them hold."""
    found: list[nb.Type] = []
    for arg in args:
        parts = arg.parts if isinstance(arg, ComponentType) else getattr(arg, "types", ())
        found += [arg, *_inside(parts)]
    return found


def _components(args: Any) -> list[ComponentType]:
    return [kind for kind in _inside(args) if isinstance(kind, ComponentType)]


def _symbols(result: CompileResult) -> list[str]:
    """Return the names of the symbols that the machine code expects in the process."""
    module = result.library._final_module
    everything = [*module.functions, *module.global_variables]
    names = [value.name for value in everything if value.is_declaration]
    return [name for name in names if not name.startswith("llvm.")]


class KernelCache(NullCache):
    """Stands in for numba's cache of one dispatcher."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher
        self._function = dispatcher.py_func

    @property
    def cache_path(self) -> str:
        """Return the directory, as numba's statistics show it."""
        return str(directory.cache_directory())

    def _key(self, args: Any, result: Any) -> tuple[str, bool, list[types.FunctionType]]:
        """Return the key, whether it may be used, and the plain functions to be compiled."""
        walk = Fingerprint(describe)
        parts = [walk.of(self._dispatcher), str(result), *map(str, args)]
        functions = list(walk.functions)
        parts += [walk.of(component.cls) for component in _components(args)]
        # The name of a bundle's type does not tell the order of its fields.
        parts += [repr(one.fields) for one in _inside(args) if isinstance(one, nb.BaseNamedTuple)]
        # An address in a type's name means that it lives and dies with this process.
        cachable = walk.cachable and not any(" at 0x" in str(arg) for arg in args)
        return combine(_surroundings(), *parts), cachable, functions

    def load_overload(self, signature: Any, target_context: Any) -> CompileResult | None:
        """Return the compiled kernel from disk, or None and everything ready to compile it."""
        args, result = sigutils.normalize_signature(signature)
        key, cachable, functions = self._key(args, result)
        # A kernel compiled into another one is part of that one's file.
        if not len(targetconfig.ConfigStack()):
            loaded = self._load(key, _components(args), target_context) if cachable else None
            if loaded is not None:
                cache_events.hits += 1
                return loaded
            cache_events.misses += cachable
            cache_events.bypassed += not cachable
        target_context.refresh()
        teach(functions)
        self._dispatcher._compiler.py_func = content_named(self._function, key)
        return None

    @staticmethod
    def _load(
        key: str, components: list[ComponentType], target_context: Any
    ) -> CompileResult | None:
        payload = directory.load(key)
        if payload is None:
            return None
        try:
            symbols, data = _Unpickler(io.BytesIO(payload), components).load()
            rtsys.initialize(target_context)
            # Loading all that numba can compile takes 0.3 s: only if a symbol is missing.
            if any(binding.address_of_symbol(symbol) is None for symbol in symbols):
                target_context.refresh()
            return CompileResult._rebuild(target_context, *data)
        except Exception as error:
            warnings.warn(f"compiling anew, cannot load kernel {key}: {error!r}", stacklevel=2)
            return None

    def save_overload(self, signature: Any, result: CompileResult) -> None:
        """Write the compiled kernel to disk unless it depends on this very process."""
        if len(targetconfig.ConfigStack()) or result.library.has_dynamic_globals or result.lifted:
            return
        args, returned = sigutils.normalize_signature(signature)
        key, cachable, _ = self._key(args, returned)
        if cachable:
            file = io.BytesIO()
            _Pickler(file, _components(args)).dump((_symbols(result), result._reduce()))
            directory.save(key, file.getvalue())


_P = ParamSpec("_P")
_R_co = TypeVar("_R_co", covariant=True)
_R = TypeVar("_R")


class Kernel(Protocol, Generic[_P, _R_co]):
    """A compiled function; `py_func` is the interpreted one."""

    @property
    def py_func(self) -> Callable[_P, _R_co]:
        """Return the function as it was written."""

    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R_co:
        """Run the compiled function."""


Call: TypeAlias = tuple[Kernel[..., Any], tuple[Any, ...]]
"""A kernel and its arguments."""


class _Inner(CPUDispatcher):
    """A kernel for compiled code only; called from Python, it runs interpreted."""

    def __call__(self, *args: Any) -> Any:
        return self.py_func(*args)


@overload
def kernel(function: Callable[_P, _R]) -> Kernel[_P, _R]: ...
@overload
def kernel(
    *, fast: bool = False, inline: bool = False, inner: bool = False, counted: bool | None = None
) -> Callable[[Callable[_P, _R]], Kernel[_P, _R]]: ...
def kernel(
    function: Any = None,
    *,
    fast: bool = False,
    inline: bool = False,
    inner: bool = False,
    counted: bool | None = None,
) -> Any:
    """Compile a function on scalars, arrays and components, without the interpreter's lock.

    Arithmetic is strict IEEE, also when a fast kernel calls it; `fast` lets the compiler
    regroup sums and contract a*b + c within this function, as dot products want it.
    `inner`: called by compiled code alone; no entry for Python is compiled, and a call from Python
    runs interpreted. `inline`: inner, and compiled into its callers, for what runs once a row.
    Without `counted` [default: unless `inner` or `inline`] arrays are not reference-counted, which
    is atomic and can cost more than a row: the caller holds them, and the function may neither
    allocate nor return an array.

    >>> @kernel
    ... def twice(x):
    ...     return 2.0 * x
    >>> twice(1.5), twice.py_func(1.5)
    (3.0, 3.0)
    """
    if function is None:
        return functools.partial(kernel, fast=fast, inline=inline, inner=inner, counted=counted)
    if config.DISABLE_JIT:
        function.py_func = function
        return function
    counted = not (inner or inline) if counted is None else counted
    options = (FAST if fast else STRICT) | ({} if counted else UNCOUNTED)
    options |= INLINE if inline else INNER if inner else {}
    dispatcher: Any = numba.njit(**options)(function)
    if inline or inner:
        dispatcher.__class__ = _Inner
    dispatcher._cache = KernelCache(dispatcher)
    return dispatcher


def entry(call: Call) -> Callable[..., Any]:
    """Return the machine code of a kernel for arguments of the types of these.

    Called one row at a time, a kernel spends most of its time on telling types apart, which
    its machine code does not do. It must be called with arguments of these very types:
    arrays of one dtype, dimension and layout, components of one class.

    >>> import numpy as np
    >>> @kernel
    ... def first(x):
    ...     return x[0]
    >>> float(entry((first, (np.zeros(1),)))(np.array([2.5, 1.0])))
    2.5
    """
    if config.DISABLE_JIT:
        return call[0].py_func
    dispatcher: Any
    dispatcher, arguments = call
    return dispatcher.compile(tuple(map(dispatcher.typeof_pyval, arguments)))


#: `rounding.add_compensated`, compiled into the kernel that calls it.
add_compensated = kernel(inline=True)(rounding.add_compensated)
