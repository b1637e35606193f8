"""What passes use: the decorator that compiles, and arithmetic that Python cannot express."""

# Numba types its public face only, and differently in each version.
# mypy: allow-untyped-calls, disable-error-code="attr-defined"
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Generic, ParamSpec, Protocol, TypeVar, overload

import numba
from llvmlite import ir
from numba.core import config, errors
from numba.core import types as nb
from numba.core.typing.templates import infer, infer_global, make_intrinsic_template

from noregret.jit.cache import KernelCache
from noregret.jit.functions import FAST, STRICT

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


@overload
def kernel(function: Callable[_P, _R]) -> Kernel[_P, _R]: ...
@overload
def kernel(*, fast: bool = False) -> Callable[[Callable[_P, _R]], Kernel[_P, _R]]: ...
def kernel(function: Any = None, *, fast: bool = False) -> Any:
    """Compile a function on scalars, arrays and components, without the interpreter's lock.

    Arithmetic is strict IEEE, also when a fast kernel calls it; `fast` lets the compiler
    regroup sums and contract a*b + c within this function, as dot products want it.

    >>> @kernel
    ... def twice(x):
    ...     return 2.0 * x
    >>> twice(1.5), twice.py_func(1.5)
    (3.0, 3.0)
    """
    if function is None:
        return functools.partial(kernel, fast=fast)
    if config.DISABLE_JIT:
        function.py_func = function
        return function
    dispatcher: Any = numba.njit(**(FAST if fast else STRICT))(function)
    dispatcher._cache = KernelCache(dispatcher)
    return dispatcher


def axpy2(array: Any, i: int, a: float, b: float, x: float) -> None:
    """Add (a x, b x) to row i of a C-contiguous float64 array with two columns.

    Compiled, both columns travel in one vector register, so that a second column costs
    nothing beside the first. The row is not checked.
    """
    array[i, 0] += a * x
    array[i, 1] += b * x


def _type_axpy2(context: Any, array: Any, i: Any, a: Any, b: Any, x: Any) -> Any:
    wanted = nb.Array(nb.float64, 2, "C")
    if array != wanted or not isinstance(i, nb.Integer):
        raise errors.TypingError(f"axpy2 takes {wanted} and an integer, got {array} and {i}")
    signature = nb.void(array, i, nb.float64, nb.float64, nb.float64)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        row = context.cast(builder, args[1], signature.args[1], nb.intp)
        pair = ir.VectorType(ir.DoubleType(), 2)
        place = builder.gep(data, [builder.shl(row, ir.Constant(row.type, 1))])
        place = builder.bitcast(place, pair.as_pointer())

        def vector(first: Any, second: Any) -> Any:
            lane = ir.IntType(32)
            half = builder.insert_element(ir.Constant(pair, ir.Undefined), first, lane(0))
            return builder.insert_element(half, second, lane(1))

        # Rows of 16 bytes need not start at a multiple of 16.
        old = builder.load(place, align=8)
        step = builder.fmul(vector(args[2], args[3]), vector(args[4], args[4]), ("contract",))
        builder.store(builder.fadd(old, step, ("contract",)), place, align=8)
        return context.get_dummy_value()

    return signature, generate


# The Python function itself is what kernels name, so that their `py_func` runs as well.
_template = make_intrinsic_template(axpy2, _type_axpy2, "axpy2")
infer(_template)
infer_global(axpy2, nb.Function(_template))
