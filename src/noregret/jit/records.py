"""Loops over records of four columns, four features at a time.

`collect`, `put_back` and `write_step` copy the records of a row to columns and back; `weigh` and
`step` are the two loops of the scale-free pass. Rows are sparse, or dense if `values` has two
dimensions. No index is checked, and none may occur twice in a row.
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
    add_product,
    data,
    filled,
    joined,
    larger,
    load,
    prefetch_records,
    records_of,
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


def collect(array: Any, indices: Any, values: Any, t: int, begin: int, end: int, work: Any) -> None:
    """Copy the records of features begin to end - 1 of row t into columns 0, 1, ... of `work`.

    Rows 0 to 3 of `work` take the first columns of the records, row 4 the values. Columns up to a
    multiple of four repeat the first of their four, with a value of 0.
    """
    count = int(end - begin)
    for column in range(-(-count // _LANES) * _LANES):
        k = begin + (column if column < count else count // _LANES * _LANES)
        i, x = (k, values[t, k]) if values.ndim == 2 else (indices[k], values[k])
        work[:4, column] = array[i, :4]
        work[4, column] = x if column < count else 0.0


def put_back(
    array: Any, indices: Any, values: Any, t: int, begin: int, end: int, work: Any
) -> None:
    """Copy what `collect` collected, changed since, back from rows 0 to 3 of `work`."""
    places, features = _row(indices, values, t, begin, end)
    array[places, :4] = work[:4, : len(features)].T


def write_step(
    array: Any,
    indices: Any,
    values: Any,
    t: int,
    begin: int,
    end: int,
    work: Any,
    slope: float,
    weight: float,
) -> None:
    """Write what `collect` collected back, moved by the values x that came with it.

    With z = slope x: column 0 loses z, column 1 gains z^2, columns 2 and 3 become at least
    weight |x| and |x|.
    """
    for column in range(int(end - begin)):
        k = begin + column
        theta, squares, reach, size, x = map(float, work[:5, column])
        z = slope * x
        moved = theta - z, squares + z * z, max(reach, weight * abs(x)), max(size, abs(x))
        array[k if values.ndim == 2 else indices[k], :4] = moved


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
    places, features = _row(indices, values, t, begin, end)
    for x, (theta, squares, size, path) in zip(features, array[places].tolist(), strict=True):
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
    places, features = _row(indices, values, t, begin, end)
    moved = []
    for x, (theta, squares, size, path) in zip(features, array[places].tolist(), strict=True):
        z = slope * x
        squares += z * z
        moved.append((theta - z, squares, max(size, abs(x)), path - z / math.sqrt(squares + tiny)))
    if moved:
        array[places] = moved


def _row(indices: Any, values: Any, t: int, begin: int, end: int) -> tuple[Any, list[float]]:
    """Return where the records of features begin to end - 1 of row t are, and their values."""
    if values.ndim == 2:
        return slice(begin, end), values[t, begin:end].tolist()
    return indices[begin:end], values[begin:end].tolist()


def _require(name: str, array: Any, indices: Any, values: Any) -> None:
    require(name, array, indices if values.ndim == 1 else None, values)
    if values.layout != "C":
        raise errors.TypingError(f"{name} takes C-contiguous values, got {values}")


def _features(
    context: Any, builder: Any, signature: Any, args: Any
) -> Callable[..., tuple[list[Any], Any]]:
    """Return a function of k that gives the addresses of four records and their features.

    Given where the row ends, lanes beyond the end repeat the first, with a feature of 0.
    """
    array, indices, values = signature.args[:3]
    dense = values.ndim == 2
    record_at = records_of(context, builder, array, args[0])
    places = None if dense else data(context, builder, indices, args[1])
    rows = context.make_array(values)(context, builder, args[2])
    xs = rows.data
    if dense:
        xs = builder.gep(xs, [builder.mul(args[3], builder.extract_value(rows.shape, 1))])

    def record(k: Any) -> Any:
        return record_at(k if dense else builder.load(builder.gep(places, [k])))

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


def _in_fours(builder: Any, args: Any, kept: list[Any], body: Callable[..., Any]) -> list[Any]:
    """Run body(k, *kept) for four features of a row at a time, and for what is left."""
    k, kept = stepwise(builder, _LANES, args[4], args[5], kept, body)
    return remainder(builder, k, args[5], kept, body)


def _load(builder: Any, places: list[Any]) -> list[Any]:
    return [builder.load(vector_at(builder, place, _LANES), align=8) for place in places]


def _columns(builder: Any, records: list[Any]) -> list[Any]:
    return transposed(builder, _load(builder, records))


def _write(builder: Any, records: list[Any], columns: list[Any]) -> None:
    rows = transposed(builder, columns)
    # The first comes last, since lanes beyond the end repeat it as it was.
    for record, row in zip(reversed(records), reversed(rows), strict=True):
        builder.store(row, vector_at(builder, record, _LANES), align=8)


def _cells(context: Any, builder: Any, work: Any, args: Any) -> Callable[[Any, int], list[Any]]:
    """Return a function of feature k and n: its places in rows 0 to n - 1 of `work`, args[6]."""
    row = records_of(context, builder, work, args[6])

    def given(k: Any, rows: int) -> list[Any]:
        column = builder.sub(k, args[4])
        return [builder.gep(row(WORD(place)), [column]) for place in range(rows)]

    return given


def _spread(builder: Any, numbers: Any) -> list[Any]:
    return [filled(builder, *(number,) * _LANES) for number in numbers]


@register(weigh)
def _type_weigh(array: Any, indices: Any, values: Any, *rest: Any) -> Any:
    _require("weigh", array, indices, values)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        features = _features(context, builder, signature, args)
        square, tiny, least, one = _spread(builder, [*args[6:], DOUBLE(1.0)])

        def body(k: Any, *sums: Any, end: Any = None) -> tuple[Any, ...]:
            if values.ndim == 1 and end is None:
                prefetch_records(context, builder, signature.args[:2], args[:2], k)
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
        sums = _in_fours(builder, args, zeros, body)
        results = [joined(builder, total, ir.IRBuilder.fadd) for total in sums]
        return context.make_tuple(builder, signature.return_type, results)

    numbers = (nb.uint64,) * 3 + (nb.float64,) * 3
    return nb.UniTuple(nb.float64, _SUMS)(array, indices, values, *numbers), generate


@register(step)
def _type_step(array: Any, indices: Any, values: Any, *rest: Any) -> Any:
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
            _write(builder, records, [builder.fsub(theta, z), squares, size, path])
            return ()

        _in_fours(builder, args, [], body)
        return context.get_dummy_value()

    numbers = (nb.uint64,) * 3 + (nb.float64,) * 2
    return nb.void(array, indices, values, *numbers), generate


@register(collect)
def _type_collect(array: Any, indices: Any, values: Any, *rest: Any) -> Any:
    _require("collect", array, indices, values)
    require("collect", rest[3])

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        features = _features(context, builder, signature, args)
        cells = _cells(context, builder, rest[3], args)

        def body(k: Any, end: Any = None) -> tuple[Any, ...]:
            records, x = features(k, end)
            for place, column in zip(cells(k, 5), [*_columns(builder, records), x], strict=True):
                builder.store(column, vector_at(builder, place, _LANES), align=8)
            return ()

        _in_fours(builder, args, [], body)
        return context.get_dummy_value()

    return nb.void(array, indices, values, *(nb.uint64,) * 3, rest[3]), generate


@register(put_back)
def _type_put_back(array: Any, indices: Any, values: Any, *rest: Any) -> Any:
    _require("put_back", array, indices, values)
    require("put_back", rest[3])

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        features = _features(context, builder, signature, args)
        cells = _cells(context, builder, rest[3], args)

        def body(k: Any, end: Any = None) -> tuple[Any, ...]:
            _write(builder, features(k, end)[0], _load(builder, cells(k, _LANES)))
            return ()

        _in_fours(builder, args, [], body)
        return context.get_dummy_value()

    return nb.void(array, indices, values, *(nb.uint64,) * 3, rest[3]), generate


@register(write_step)
def _type_write_step(array: Any, indices: Any, values: Any, *rest: Any) -> Any:
    _require("write_step", array, indices, values)
    require("write_step", rest[3])

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        features = _features(context, builder, signature, args)
        cells = _cells(context, builder, rest[3], args)
        slope, weight = _spread(builder, args[7:])

        def body(k: Any, end: Any = None) -> tuple[Any, ...]:
            records, _ = features(k, end)
            theta, squares, reach, size, x = _load(builder, cells(k, 5))
            z, length = builder.fmul(x, slope), absolute(builder, x)
            squares = builder.fadd(squares, builder.fmul(z, z))
            reach = larger(builder, reach, builder.fmul(length, weight))
            moved = [builder.fsub(theta, z), squares, reach, larger(builder, size, length)]
            _write(builder, records, moved)
            return ()

        _in_fours(builder, args, [], body)
        return context.get_dummy_value()

    numbers = (nb.uint64,) * 3
    return nb.void(array, indices, values, *numbers, rest[3], nb.float64, nb.float64), generate
