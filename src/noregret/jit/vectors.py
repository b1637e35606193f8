"""Arithmetic that Python cannot express: sparse rows in vector registers.

Each function is plain Python where a kernel is interpreted, and machine instructions where it
is compiled. The arrays are what sparse passes hold: records of a few float64 columns, unsigned
column indices, values in float32 or float64. No index is checked. A kernel that asserts how
many columns its records have lets the compiler use a constant in address arithmetic.
"""

# Numba types its public face only, and differently in each version.
# mypy: allow-untyped-calls, disable-error-code="attr-defined"
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import types as nb

from noregret.jit.lanes import (
    DOUBLE,
    LANE,
    WORD,
    absolute,
    add_product,
    data,
    filled,
    joined,
    larger,
    load,
    prefetch,
    prefetch_records,
    records_of,
    register,
    require,
    smaller,
    stepwise,
)

#: Features at a time. The compiler alone would take sixteen, and do up to fifteen of a row one by
#: one.
_LANES = 4


def axpy1(array: Any, i: int, a: float, x: float) -> None:
    """Add a x to row i of an array with one column, rounded once as in `axpy2`."""
    array[i, 0] += a * float(x)


def axpy2(array: Any, i: int, a: float, b: float, x: float) -> None:
    """Add (a x, b x) to row i of an array with two columns.

    Compiled, both columns travel in one vector register, so that a second column costs
    nothing beside the first.
    """
    x = float(x)
    array[i, 0] += a * x
    array[i, 1] += b * x


def dot(array: Any, indices: Any, values: Any, begin: int, end: int) -> tuple[float, float, float]:
    """Return the sums over begin <= k < end of array[indices[k], 0] x_k, x_k^2 and |x_k|."""
    product = square = size = 0.0
    for k in range(begin, end):
        x = float(values[k])
        product += array[indices[k], 0] * x
        square += x * x
        size += abs(x)
    return product, square, size


def dot_ahead(
    array: Any, indices: Any, values: Any, begin: int, end: int
) -> tuple[float, float, float]:
    """Return `dot`, and prefetch the records of later rows."""
    return dot(array, indices, values, begin, end)


def mapped_dot(
    array: Any, indices: Any, values: Any, begin: int, end: int
) -> tuple[float, float, float, float, float]:
    """Return the sums of v_k x_k, v_k x_k^2 and |x_k|, the smallest and the largest x_k.

    v_k is array[indices[k], 1] for begin <= k < end.
    """
    product = local = size = 0.0
    low, high = math.inf, -math.inf
    for k in range(begin, end):
        x = float(values[k])
        product += array[indices[k], 1] * x
        local += array[indices[k], 1] * x * x
        size += abs(x)
        low, high = min(low, x), max(high, x)
    return product, local, size, low, high


def fetch(array: Any, k: Any) -> None:
    """Prefetch element k, which may be beyond the end. Interpreted, do nothing."""


def borrowed(array: Any) -> Any:
    """Return the array as one that is not reference-counted; its owner must outlive it.

    Interpreted, it is the array.
    """
    return array


def _adder(name: str, columns: int) -> Callable[..., Any]:
    """Return the definition of a step that adds multiples of x to the columns of a record."""

    def typed(array: Any, i: Any, *numbers: Any) -> Any:
        require(name, array)
        narrow = numbers[-1] == nb.float32
        wide = ir.VectorType(DOUBLE, columns)

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            row = context.cast(builder, args[1], signature.args[1], nb.uintp)
            start = builder.mul(row, WORD(columns))
            place = builder.gep(data(context, builder, array, args[0]), [start])
            place = builder.bitcast(place, wide.as_pointer())
            # Spread over the lanes before it is widened: an instruction less.
            spread = filled(builder, *(args[-1],) * columns)
            if narrow:
                spread = builder.fpext(spread, wide)
            # Rows of 16 bytes need not start at a multiple of 16.
            old = builder.load(place, align=8)
            new = add_product(builder, old, filled(builder, *args[2:-1]), spread)
            builder.store(new, place, align=8)
            return context.get_dummy_value()

        number = nb.float32 if narrow else nb.float64
        return nb.void(array, i, *(nb.float64,) * columns, number), generate

    return typed


def _gatherer(
    name: str,
    column: int,
    starts: tuple[float, ...],
    advance: Callable[..., tuple[Any, ...]],
    joins: tuple[Callable[..., Any], ...],
    ahead: bool = False,
) -> Callable[..., Any]:
    """Return the definition of a loop that reads one column of the records of a row.

    advance(builder, v, x, *kept): what is kept after these columns and values; joins: how the
    lanes of each are made one in the end; ahead: whether to prefetch later records.
    """

    def typed(array: Any, indices: Any, values: Any, begin: Any, end: Any) -> Any:
        require(name, array, indices, values)

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            places = data(context, builder, indices, args[1])
            features = data(context, builder, values, args[2])
            record = records_of(context, builder, array, args[0])

            def loop(lanes: int, begin: Any, kept: list[Any]) -> tuple[Any, list[Any]]:
                def body(k: Any, *now: Any) -> tuple[Any, ...]:
                    if ahead and lanes == _LANES:
                        prefetch_records(context, builder, (array, indices), args[:2], k)
                    x = load(builder, features, k, lanes)
                    ks = [builder.add(k, WORD(lane)) for lane in range(lanes)]
                    rows = [record(builder.load(builder.gep(places, [here]))) for here in ks]
                    cells = [builder.gep(row, [WORD(column)]) for row in rows]
                    v = filled(builder, *(builder.load(cell) for cell in cells))
                    return advance(builder, v, x, *now)

                return stepwise(builder, lanes, begin, args[4], kept, body)

            wide = ir.VectorType(DOUBLE, _LANES)
            k, kept = loop(_LANES, args[3], [ir.Constant(wide, [s] * _LANES) for s in starts])
            whole = [joined(builder, x, join) for x, join in zip(kept, joins, strict=True)]
            _, kept = loop(1, k, [filled(builder, x) for x in whole])
            results = [builder.extract_element(x, LANE(0)) for x in kept]
            return context.make_tuple(builder, signature.return_type, results)

        results = nb.UniTuple(nb.float64, len(starts))
        return results(array, indices, values, nb.uint64, nb.uint64), generate

    return typed


def _advance(builder: Any, v: Any, x: Any, product: Any, square: Any, size: Any) -> Any:
    product, square = add_product(builder, product, v, x), add_product(builder, square, x, x)
    return product, square, builder.fadd(size, absolute(builder, x))


def _advance_mapped(
    builder: Any, v: Any, x: Any, product: Any, local: Any, size: Any, low: Any, high: Any
) -> Any:
    term = builder.fmul(v, x)
    product, local = builder.fadd(product, term), add_product(builder, local, term, x)
    size = builder.fadd(size, absolute(builder, x))
    return product, local, size, smaller(builder, low, x), larger(builder, high, x)


@register(fetch)
def _type_fetch(array: Any, k: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = builder.gep(data(context, builder, array, args[0]), [args[1]])
        prefetch(builder, place, 2)
        return context.get_dummy_value()

    return nb.void(array, nb.uint64), generate


@register(borrowed)
def _type_borrowed(array: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        held = context.make_array(array)(context, builder, args[0])
        for owner in ("meminfo", "parent"):
            setattr(held, owner, ir.Constant(getattr(held, owner).type, None))
        return held._getvalue()

    return array(array), generate


register(axpy1)(_adder("axpy1", 1))
register(axpy2)(_adder("axpy2", 2))
register(dot)(_gatherer("dot", 0, (0.0,) * 3, _advance, (ir.IRBuilder.fadd,) * 3))
register(dot_ahead)(
    _gatherer("dot_ahead", 0, (0.0,) * 3, _advance, (ir.IRBuilder.fadd,) * 3, ahead=True)
)
register(mapped_dot)(
    _gatherer(
        "mapped_dot",
        1,
        (0.0, 0.0, 0.0, math.inf, -math.inf),
        _advance_mapped,
        (ir.IRBuilder.fadd, ir.IRBuilder.fadd, ir.IRBuilder.fadd, smaller, larger),
    )
)
