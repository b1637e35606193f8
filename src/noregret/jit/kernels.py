"""What passes use: the decorator that compiles."""

# Numba types its public face only, and differently in each version.
# mypy: allow-untyped-calls, allow-subclassing-any, disable-error-code="attr-defined"
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Generic, ParamSpec, Protocol, TypeAlias, TypeVar, overload

import numba
from numba.core import config
from numba.core.registry import CPUDispatcher

from noregret.jit.cache import KernelCache
from noregret.jit.functions import FAST, INNER, STRICT, UNCOUNTED

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
"""A kernel and what it is called with."""


class _Inner(CPUDispatcher):
    """A kernel for compiled code only; called from Python, it runs interpreted."""

    def __call__(self, *args: Any) -> Any:
        return self.py_func(*args)


@overload
def kernel(function: Callable[_P, _R]) -> Kernel[_P, _R]: ...
@overload
def kernel(
    *, fast: bool = False, inline: bool = False, counted: bool | None = None
) -> Callable[[Callable[_P, _R]], Kernel[_P, _R]]: ...
def kernel(
    function: Any = None, *, fast: bool = False, inline: bool = False, counted: bool | None = None
) -> Any:
    """Compile a function on scalars, arrays and components, without the interpreter's lock.

    Arithmetic is strict IEEE, also when a fast kernel calls it; `fast` lets the compiler
    regroup sums and contract a*b + c within this function, as dot products want it.
    `inline` is for what every row calls. Without `counted` [default: unless inlined] arrays are
    not reference-counted, which is atomic and can cost more than a row: the caller holds them,
    and the function may neither allocate nor return an array.

    >>> @kernel
    ... def twice(x):
    ...     return 2.0 * x
    >>> twice(1.5), twice.py_func(1.5)
    (3.0, 3.0)
    """
    if function is None:
        return functools.partial(kernel, fast=fast, inline=inline, counted=counted)
    if config.DISABLE_JIT:
        function.py_func = function
        return function
    counted = not inline if counted is None else counted
    options = (FAST if fast else STRICT) | ({} if counted else UNCOUNTED)
    dispatcher: Any = numba.njit(**options, **(INNER if inline else {}))(function)
    if inline:
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
    >>> entry((first, (np.zeros(1),)))(np.array([2.5, 1.0]))
    2.5
    """
    if config.DISABLE_JIT:
        return call[0].py_func
    dispatcher: Any
    dispatcher, arguments = call
    return dispatcher.compile(tuple(map(dispatcher.typeof_pyval, arguments)))  # type: ignore[no-any-return]
