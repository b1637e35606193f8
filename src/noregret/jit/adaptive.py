"""The two loops over a row of the pass that tunes itself, four features at a time.

A record is (theta, G, m, v). Rows are sparse, or those of a matrix, where `indices` is not
looked at. No index is checked, and none may occur twice in a row. The records of later rows
are asked for in the first loop: they are more than the nearest levels of the cache hold.
"""

# Numba types its public face only, and differently in each version.
# mypy: allow-untyped-calls, disable-error-code="attr-defined"
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import errors
from numba.core import types as nb

from noregret.jit.lanes import (
    DOUBLE,
    LANE,
    WORD,
    absolute,
    add,
    add_product,
    address,
    ask_for_records,
    data,
    filled,
    joined,
    larger,
    load,
    register,
    remainder,
    require,
    root,
    stepwise,
    transposed,
    vector_at,
)

_LANES = 4
_SUMS = 6


def weigh(
    array: Any,
    indices: Any,
    values: Any,
    t: int,
    begin: int,
    end: int,
    square: float,
    tiny: float,
    least: float,
) -> tuple[float, ...]:
    """Return six sums over the features begin to end - 1 of row t.

    With m = max(m, |x|, least) and root = sqrt(G + square m^2 + tiny) they are: x theta /
    (m root), x v / m, (x/m)^2, x^2, |x| and by how much the m in the records will grow.
    """
    sums = [0.0] * _SUMS
    for k in range(begin, end):
        i, x = (k, float(values[t, k])) if values.ndim == 2 else (indices[k], float(values[k]))
        theta, squares, size, path = map(float, array[i])
        grown = max(size, abs(x))
        m = max(grown, least)
        inverse = 1.0 / (m * math.sqrt(squares + square * (m * m) + tiny))
        terms = (x * inverse * theta, x / m * path, (x / m) ** 2, x * x, abs(x), grown - size)
        sums = [total + term for total, term in zip(sums, terms, strict=True)]
    return tuple(sums)


def step(
    array: Any,
    indices: Any,
    values: Any,
    t: int,
    begin: int,
    end: int,
    slope: float,
    tiny: float,
) -> None:
    """Step by z = slope x in the features begin to end - 1 of row t.

    theta loses z, G gains z^2, m becomes at least |x|, v loses z / sqrt(G + tiny).
    """
    for k in range(begin, end):
        i, x = (k, float(values[t, k])) if values.ndim == 2 else (indices[k], float(values[k]))
        theta, squares, size, path = map(float, array[i])
        z = slope * x
        squares += z * z
        array[i] = theta - z, squares, max(size, abs(x)), path - z / math.sqrt(squares + tiny)


def _require(name: str, array: Any, indices: Any, values: Any) -> None:
    require(name, array, indices if values.ndim == 1 else None, values)
    if values.layout != "C":
        raise errors.TypingError(f"{name} takes C-contiguous values, got {values}")


def _features(
    context: Any, builder: Any, signature: Any, args: Any
) -> Callable[..., tuple[list[Any], Any]]:
    """Return a function of k that gives the addresses of four records and their features.

    Told where the row ends, it has the lanes beyond repeat the first, with a feature of 0.
    """
    array, indices, values = signature.args[:3]
    dense = values.ndim == 2
    held = context.make_array(array)(context, builder, args[0])
    width = builder.extract_value(held.shape, 1)
    places = None if dense else data(context, builder, indices, args[1])
    rows = context.make_array(values)(context, builder, args[2])
    xs = rows.data
    if dense:
        xs = builder.gep(xs, [builder.mul(args[3], builder.extract_value(rows.shape, 1))])

    def record(k: Any) -> Any:
        i = k if dense else builder.load(builder.gep(places, [k]))
        return address(builder, held.data, i, width)

    def given(k: Any, end: Any = None) -> tuple[list[Any], Any]:
        ks = [builder.add(k, WORD(lane)) for lane in range(_LANES)]
        if end is None:
            return [record(here) for here in ks], load(builder, xs, k, _LANES)
        records, features = [], []
        for here in ks:
            inside = builder.icmp_unsigned("<", here, end)
            place = builder.select(inside, here, k)
            x = builder.extract_element(load(builder, xs, place, 1), LANE(0))
            records.append(record(place))
            features.append(builder.select(inside, x, DOUBLE(0.0)))
        return records, filled(builder, *features)

    return given


def _columns(builder: Any, records: list[Any]) -> list[Any]:
    loaded = [builder.load(vector_at(builder, row, _LANES), align=8) for row in records]
    return transposed(builder, loaded)


def _spread(builder: Any, numbers: Any) -> list[Any]:
    return [filled(builder, *(number,) * _LANES) for number in numbers]


def _type_weigh(
    context: Any,
    array: Any,
    indices: Any,
    values: Any,
    t: Any,
    begin: Any,
    end: Any,
    square: Any,
    tiny: Any,
    least: Any,
) -> Any:
    _require("weigh", array, indices, values)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        features = _features(context, builder, signature, args)
        square, tiny, least, one = _spread(builder, [*args[6:], DOUBLE(1.0)])

        def body(k: Any, *sums: Any, end: Any = None) -> tuple[Any, ...]:
            if values.ndim == 1 and end is None:
                ask_for_records(context, builder, signature.args[:2], args[:2], k)
            records, x = features(k, end)
            theta, squares, size, path = _columns(builder, records)
            length = absolute(builder, x)
            grown = larger(builder, size, length)
            m = larger(builder, grown, least)
            under = add_product(builder, squares, square, builder.fmul(m, m))
            below = root(builder, builder.fadd(under, tiny))
            # One division: 1/m is root / (m root).
            inverse = builder.fdiv(one, builder.fmul(m, below))
            ratio = builder.fmul(x, builder.fmul(inverse, below))
            return (
                add_product(builder, sums[0], builder.fmul(x, inverse), theta),
                add_product(builder, sums[1], ratio, path),
                add_product(builder, sums[2], ratio, ratio),
                add_product(builder, sums[3], x, x),
                builder.fadd(sums[4], length),
                builder.fadd(sums[5], builder.fsub(grown, size)),
            )

        zeros = [ir.Constant(ir.VectorType(DOUBLE, _LANES), [0.0] * _LANES)] * _SUMS
        k, sums = stepwise(builder, _LANES, args[4], args[5], zeros, body)
        sums = remainder(builder, k, args[5], sums, body)
        results = [joined(builder, total, add) for total in sums]
        return context.make_tuple(builder, signature.return_type, results)

    numbers = (nb.uint64,) * 3 + (nb.float64,) * 3
    return nb.UniTuple(nb.float64, _SUMS)(array, indices, values, *numbers), generate


def _type_step(
    context: Any,
    array: Any,
    indices: Any,
    values: Any,
    t: Any,
    begin: Any,
    end: Any,
    slope: Any,
    tiny: Any,
) -> Any:
    _require("step", array, indices, values)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        features = _features(context, builder, signature, args)
        slope, tiny = _spread(builder, args[6:])

        def body(k: Any, end: Any = None) -> tuple[Any, ...]:
            records, x = features(k, end)
            theta, squares, size, path = _columns(builder, records)
            z = builder.fmul(slope, x)
            squares = add_product(builder, squares, z, z)
            size = larger(builder, size, absolute(builder, x))
            path = builder.fsub(path, builder.fdiv(z, root(builder, builder.fadd(squares, tiny))))
            stepped = transposed(builder, [builder.fsub(theta, z), squares, size, path])
            # The first comes last, since lanes beyond the end repeat it as it was.
            for record, row in zip(reversed(records), reversed(stepped), strict=True):
                builder.store(row, vector_at(builder, record, _LANES), align=8)
            return ()

        k, _ = stepwise(builder, _LANES, args[4], args[5], [], body)
        remainder(builder, k, args[5], [], body)
        return context.get_dummy_value()

    numbers = (nb.uint64,) * 3 + (nb.float64,) * 2
    return nb.void(array, indices, values, *numbers), generate


register(weigh, _type_weigh)
register(step, _type_step)
