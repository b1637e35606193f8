"""Records of four columns, several at a time: from sparse rows to columns and back."""

# Numba types its public face only, and differently in each version.
# mypy: allow-untyped-calls, disable-error-code="attr-defined"
from __future__ import annotations

from typing import Any

from numba.core import types as nb

from noregret.jit.lanes import (
    LANE,
    WORD,
    absolute,
    addresses,
    cells_of,
    data,
    filled,
    larger,
    load,
    register,
    require,
    stepwise,
    transposed,
    vector_at,
)


def collect(array: Any, indices: Any, values: Any, begin: int, end: int, work: Any) -> None:
    """Copy records indices[begin:end], four columns of each, into columns 0, 1, ... of `work`.

    Rows 0 to 3 of `work` take the columns of the records, row 4 the values.
    """
    for k in range(end - begin):
        work[:4, k] = array[indices[begin + k], :4]
        work[4, k] = values[begin + k]


def write_step(
    array: Any, indices: Any, begin: int, end: int, work: Any, slope: float, weight: float
) -> None:
    """Write what `collect` collected back, moved by the values x that came with it.

    With z = slope x: column 0 loses z, column 1 gains z^2, columns 2 and 3 become at least
    weight |x| and |x|.
    """
    for k in range(end - begin):
        x, row = work[4, k], array[indices[begin + k]]
        z = slope * x
        row[0], row[1] = work[0, k] - z, work[1, k] + z * z
        row[2], row[3] = max(work[2, k], weight * abs(x)), max(work[3, k], abs(x))


def _type_collect(
    context: Any, array: Any, indices: Any, values: Any, begin: Any, end: Any, work: Any
) -> Any:
    require("collect", array, indices, values)
    require("collect", work)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        features = data(context, builder, values, args[2])
        rows = addresses(context, builder, array, args[0], data(context, builder, indices, args[1]))
        cell = cells_of(context, builder, work, args[5])

        def four(k: Any) -> tuple[Any, ...]:
            loaded = [builder.load(vector_at(builder, row, 4), align=8) for row in rows(k, 4)]
            columns = [*transposed(builder, loaded), load(builder, features, k, 4)]
            for column, vector in enumerate(columns):
                place = cell(column, builder.sub(k, args[3]))
                builder.store(vector, vector_at(builder, place, 4), align=8)
            return ()

        def one(k: Any) -> tuple[Any, ...]:
            (row,) = rows(k, 1)
            numbers = [builder.load(builder.gep(row, [WORD(column)])) for column in range(4)]
            numbers.append(builder.extract_element(load(builder, features, k, 1), LANE(0)))
            for column, number in enumerate(numbers):
                builder.store(number, cell(column, builder.sub(k, args[3])))
            return ()

        k, _ = stepwise(builder, 4, args[3], args[4], [], four)
        stepwise(builder, 1, k, args[4], [], one)
        return context.get_dummy_value()

    return nb.void(array, indices, values, nb.uint64, nb.uint64, work), generate


def _type_write_step(
    context: Any, array: Any, indices: Any, begin: Any, end: Any, work: Any, slope: Any, weight: Any
) -> Any:
    require("write_step", array, indices)
    require("write_step", work)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        rows = addresses(context, builder, array, args[0], data(context, builder, indices, args[1]))
        cell = cells_of(context, builder, work, args[4])

        def stepped(k: Any, lanes: int) -> list[Any]:
            column = builder.sub(k, args[2])
            places = [vector_at(builder, cell(row, column), lanes) for row in range(5)]
            theta, squares, reach, size, x = (builder.load(place, align=8) for place in places)
            slopes, weights = (filled(builder, *(arg,) * lanes) for arg in args[5:])
            z, length = builder.fmul(x, slopes), absolute(builder, x)
            squares = builder.fadd(squares, builder.fmul(z, z))
            reach = larger(builder, reach, builder.fmul(length, weights))
            return [builder.fsub(theta, z), squares, reach, larger(builder, size, length)]

        def four(k: Any) -> tuple[Any, ...]:
            records = transposed(builder, stepped(k, 4))
            for row, record in zip(rows(k, 4), records, strict=True):
                builder.store(record, vector_at(builder, row, 4), align=8)
            return ()

        def one(k: Any) -> tuple[Any, ...]:
            (row,) = rows(k, 1)
            for column, number in enumerate(stepped(k, 1)):
                place = builder.gep(row, [WORD(column)])
                builder.store(builder.extract_element(number, LANE(0)), place)
            return ()

        k, _ = stepwise(builder, 4, args[2], args[3], [], four)
        stepwise(builder, 1, k, args[3], [], one)
        return context.get_dummy_value()

    numbers = (nb.uint64, nb.uint64, work, nb.float64, nb.float64)
    return nb.void(array, indices, *numbers), generate


register(collect, _type_collect)
register(write_step, _type_write_step)
