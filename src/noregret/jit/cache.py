"""Compiled kernels to disk and back, found by the content of all they were made from."""

# Numba types its public face only, and differently in each version.
# mypy: allow-untyped-calls, allow-subclassing-any
# mypy: disable-error-code="attr-defined,arg-type,no-any-return"
from __future__ import annotations

import functools
import importlib.resources
import io
import pickle
import sys
import types
import warnings
from typing import Any

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
from numba.core.registry import cpu_target
from numba.core.runtime import rtsys

from noregret.jit import directory
from noregret.jit.components import ComponentType
from noregret.jit.directory import cache_events
from noregret.jit.fingerprint import Fingerprint, combine
from noregret.jit.functions import content_named, describe, teach

#: Settings of numba that change the machine code of one and the same function.
_SETTINGS = ("OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "BOUNDSCHECK", "DEBUGINFO_DEFAULT")


@functools.cache
def _surroundings() -> str:
    parts = [sys.version, numba.__version__, llvmlite.__version__, np.__version__]
    parts += map(repr, cpu_target.target_context.codegen().magic_tuple())
    parts += [f"{name}={getattr(config, name, None)}" for name in _SETTINGS]
    package = importlib.resources.files("noregret.jit")
    # All sources of this package but that of the directory, which makes no machine code.
    sources = [
        file
        for file in package.iterdir()
        if file.name.endswith(".py") and file.name != "directory.py"
    ]
    parts += [file.read_text("utf-8") for file in sorted(sources, key=lambda file: file.name)]
    return combine(*parts)


class _Pickler(serialize.NumbaPickler):
    """Writes component types as their place in the signature, so no import is ever needed."""

    def __init__(self, file: io.BytesIO, components: list[ComponentType]) -> None:
        super().__init__(file, protocol=5)
        self._places = {id(component): place for place, component in enumerate(components)}

    def persistent_id(self, value: object) -> int | None:
        if isinstance(value, ComponentType):
            return self._places[id(value)]
        return None

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, Environment):
            return _environment, (value.consts, value.env_name)
        return super().reducer_override(value)


class _Unpickler(pickle.Unpickler):
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


def _components(args: Any) -> list[ComponentType]:
    found: list[ComponentType] = []
    for arg in args:
        if isinstance(arg, ComponentType):
            found += [arg, *_components(arg.parts)]
        elif isinstance(arg, nb.BaseTuple):
            found += _components(arg.types)
    return found


def _symbols(result: CompileResult) -> list[str]:
    """Return the names of what the machine code expects to find in the process."""
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
        parts += [repr(arg.fields) for arg in args if isinstance(arg, nb.BaseNamedTuple)]
        # An address in a type's name means that it lives and dies with this process.
        cachable = walk.cachable and not any(" at 0x" in str(arg) for arg in args)
        return combine(_surroundings(), *parts), cachable, functions

    def load_overload(self, signature: Any, target_context: Any) -> CompileResult | None:
        """Return the compiled kernel from disk, or None and everything ready to compile it."""
        args, result = sigutils.normalize_signature(signature)
        key, cachable, functions = self._key(args, result)
        # A kernel compiled into another one rests in that one's file.
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
            # Loading all that numba can compile takes 0.3 s and machine code needs little of it.
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
