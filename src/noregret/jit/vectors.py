"""Arithmetic that Python cannot express: sparse rows in vector registers.

Each function is plain Python where a kernel is interpreted, and machine instructions where it
is compiled. The arrays are what sparse passes hold: records of two, four or six float64
columns, unsigned column indices, values in float32 or float64. No index is checked.
"""

# Numba types its public face only, and differently in each version.
# mypy: allow-untyped-calls, disable-error-code="attr-defined"
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import cgutils, errors
from numba.core import types as nb
from numba.core.typing.templates import infer, infer_global, make_intrinsic_template

_WORD = ir.IntType(64)
_LANE = ir.IntType(32)
_DOUBLE = ir.DoubleType()
_FUSED = ("contract",)

#: Features at a time. Left to itself the compiler takes sixteen, and leaves up to fifteen of a
#: row to be done one by one.
_LANES = 4


def axpy2(array: Any, i: int, a: float, b: float, x: float) -> None:
    """Add (a x, b x) to row i of an array with two columns.

    Compiled, both columns travel in one vector register, so that a second column costs
    nothing beside the first.
    """
    x = float(x)
    array[i, 0] += a * x
    array[i, 1] += b * x


def dot2(array: Any, indices: Any, values: Any, begin: int, end: int) -> tuple[float, float, float]:
    """Return the sums over begin <= k < end of array[indices[k], 0] x_k, x_k^2 and |x_k|.

    The array has two columns.
    """
    product = square = size = 0.0
    for k in range(begin, end):
        x = float(values[k])
        product += array[indices[k], 0] * x
        square += x * x
        size += abs(x)
    return product, square, size


def dot4(
    array: Any, indices: Any, values: Any, begin: int, end: int
) -> tuple[float, float, float, float, float]:
    """Return the sums of v_k x_k, v_k x_k^2 and |x_k|, the smallest and the largest x_k.

    v_k is array[indices[k], 1] for begin <= k < end; the array has four columns.
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


def dot6(
    array: Any, indices: Any, values: Any, begin: int, end: int, weight: float
) -> tuple[float, float, float, float]:
    """Return the sums of a_k b_k x_k, x_k^2 and |x_k|, and max(weight |x_k| - c_k, |x_k| - d_k).

    a, b, c, d are columns 0, 1, 4, 5 of rows indices[k] for begin <= k < end of an array with
    six columns.
    """
    product = square = size = 0.0
    excess = -math.inf
    for k in range(begin, end):
        x, row = float(values[k]), array[indices[k]]
        product += row[0] * row[1] * x
        square += x * x
        size += abs(x)
        excess = max(excess, weight * abs(x) - row[4], abs(x) - row[5])
    return product, square, size, excess


def fetch(array: Any, k: int) -> None:
    """Have element k brought near without waiting for it, k beyond the end included.

    Interpreted, do nothing.
    """


def _data(context: Any, builder: Any, kind: Any, array: Any) -> Any:
    return context.make_array(kind)(context, builder, array).data


def _record(builder: Any, data: Any, row: Any, columns: int) -> Any:
    """Return the address of a record."""
    if row.type.width < _WORD.width:
        row = builder.zext(row, _WORD)
    return builder.gep(data, [builder.mul(row, _WORD(columns))])


def _filled(builder: Any, *lanes: Any) -> Any:
    vector = ir.Constant(ir.VectorType(lanes[0].type, len(lanes)), ir.Undefined)
    for place, lane in enumerate(lanes):
        vector = builder.insert_element(vector, lane, _LANE(place))
    return vector


def _load(builder: Any, data: Any, k: Any, lanes: int) -> Any:
    """Return values k, k + 1, ... as float64 lanes; rows need not begin at a multiple."""
    place = builder.gep(data, [k])
    narrow = place.type.pointee == ir.FloatType()
    place = builder.bitcast(place, ir.VectorType(place.type.pointee, lanes).as_pointer())
    vector = builder.load(place, align=4 if narrow else 8)
    return builder.fpext(vector, ir.VectorType(_DOUBLE, lanes)) if narrow else vector


def _add_product(builder: Any, total: Any, a: Any, b: Any) -> Any:
    return builder.fadd(total, builder.fmul(a, b, _FUSED), _FUSED)


def _absolute(builder: Any, x: Any) -> Any:
    words = ir.VectorType(_WORD, x.type.count)
    bits = builder.and_(builder.bitcast(x, words), ir.Constant(words, [2**63 - 1] * words.count))
    return builder.bitcast(bits, x.type)


def _add(builder: Any, a: Any, b: Any) -> Any:
    return builder.fadd(a, b)


def _smaller(builder: Any, a: Any, b: Any) -> Any:
    return builder.select(builder.fcmp_ordered("<", b, a), b, a)


def _larger(builder: Any, a: Any, b: Any) -> Any:
    return builder.select(builder.fcmp_ordered(">", b, a), b, a)


def _type_axpy2(context: Any, array: Any, i: Any, a: Any, b: Any, x: Any) -> Any:
    _require("axpy2", array)
    narrow = x == nb.float32

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        row = context.cast(builder, args[1], signature.args[1], nb.uintp)
        place = _record(builder, _data(context, builder, array, args[0]), row, 2)
        place = builder.bitcast(place, ir.VectorType(_DOUBLE, 2).as_pointer())
        # Spread over both lanes before it is widened: an instruction less.
        both = _filled(builder, args[4], args[4])
        if narrow:
            both = builder.fpext(both, ir.VectorType(_DOUBLE, 2))
        # Rows of 16 bytes need not start at a multiple of 16.
        old = builder.load(place, align=8)
        new = _add_product(builder, old, _filled(builder, args[2], args[3]), both)
        builder.store(new, place, align=8)
        return context.get_dummy_value()

    number = nb.float32 if narrow else nb.float64
    return nb.void(array, i, nb.float64, nb.float64, number), generate


def _gatherer(
    name: str,
    width: int,
    columns: tuple[int, ...],
    starts: tuple[float, ...],
    advance: Callable[..., tuple[Any, ...]],
    joins: tuple[Callable[..., Any], ...],
) -> Callable[..., Any]:
    """Return the definition of a loop that reads some columns of the records of a row.

    advance(builder, records, x, extra, *kept): what is kept after these records and values;
    joins: how the lanes of each are made one in the end.
    """

    def definition(array: Any, indices: Any, values: Any, extra: int = 0) -> Any:
        _require(name, array, indices, values)
        kinds = (array, indices, values)

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            data, places, features = (
                _data(context, builder, kind, arg) for kind, arg in zip(kinds, args, strict=False)
            )

            def gathered(k: Any, lanes: int) -> list[Any]:
                rows = []
                for lane in range(lanes):
                    row = builder.load(builder.gep(places, [builder.add(k, _WORD(lane))]))
                    rows.append(_record(builder, data, row, width))
                return [
                    _filled(
                        builder, *(builder.load(builder.gep(row, [_WORD(column)])) for row in rows)
                    )
                    for column in columns
                ]

            def loop(lanes: int, k: Any, kept: list[Any]) -> tuple[Any, list[Any]]:
                before = builder.block
                others = [_filled(builder, *(arg,) * lanes) for arg in args[5:]]
                head, body, after = (builder.append_basic_block() for _ in range(3))
                builder.branch(head)
                builder.position_at_end(head)
                here = builder.phi(_WORD)
                now = [builder.phi(ir.VectorType(_DOUBLE, lanes)) for _ in kept]
                left = builder.sub(args[4], here)
                builder.cbranch(builder.icmp_unsigned(">=", left, _WORD(lanes)), body, after)
                builder.position_at_end(body)
                x = _load(builder, features, here, lanes)
                new = advance(builder, gathered(here, lanes), x, others, *now)
                following = (builder.add(here, _WORD(lanes)), *new)
                builder.branch(head)
                for phi, first, next_ in zip((here, *now), (k, *kept), following, strict=True):
                    phi.add_incoming(first, before)
                    phi.add_incoming(next_, body)
                builder.position_at_end(after)
                return here, now

            wide = ir.VectorType(_DOUBLE, _LANES)
            k, kept = loop(_LANES, args[3], [ir.Constant(wide, [s] * _LANES) for s in starts])
            joined = [_joined(builder, x, join) for x, join in zip(kept, joins, strict=True)]
            _, kept = loop(1, k, [_filled(builder, x) for x in joined])
            results = [builder.extract_element(x, _LANE(0)) for x in kept]
            return context.make_tuple(builder, signature.return_type, results)

        results = nb.UniTuple(nb.float64, len(starts))
        numbers = (nb.uint64, nb.uint64, *(nb.float64,) * extra)
        return results(array, indices, values, *numbers), generate

    return definition


def _joined(builder: Any, vector: Any, join: Callable[..., Any]) -> Any:
    a, b, c, d = (builder.extract_element(vector, _LANE(place)) for place in range(_LANES))
    return join(builder, join(builder, a, c), join(builder, b, d))


def _require(name: str, array: Any, indices: Any = None, values: Any = None) -> None:
    if array != nb.Array(nb.float64, 2, "C"):
        raise errors.TypingError(f"{name} takes a C-contiguous float64 matrix, got {array}")
    if indices is not None and indices.dtype not in (nb.uint32, nb.uint64):
        raise errors.TypingError(f"{name} takes unsigned indices, got {indices}")
    if values is not None and values.dtype not in (nb.float32, nb.float64):
        raise errors.TypingError(f"{name} takes floating-point values, got {values}")


def _advance2(builder: Any, v: Any, x: Any, _: Any, product: Any, square: Any, size: Any) -> Any:
    product, square = _add_product(builder, product, v[0], x), _add_product(builder, square, x, x)
    return product, square, builder.fadd(size, _absolute(builder, x))


def _advance4(
    builder: Any, v: Any, x: Any, _: Any, product: Any, local: Any, size: Any, low: Any, high: Any
) -> Any:
    term = builder.fmul(v[0], x)
    product, local = builder.fadd(product, term), _add_product(builder, local, term, x)
    size = builder.fadd(size, _absolute(builder, x))
    return product, local, size, _smaller(builder, low, x), _larger(builder, high, x)


def _advance6(
    builder: Any, v: Any, x: Any, extra: Any, product: Any, square: Any, size: Any, excess: Any
) -> Any:
    product = _add_product(builder, product, builder.fmul(v[0], v[1]), x)
    length = _absolute(builder, x)
    weighted = builder.fsub(builder.fmul(extra[0], length), v[2])
    excess = _larger(builder, _larger(builder, excess, weighted), builder.fsub(length, v[3]))
    return product, _add_product(builder, square, x, x), builder.fadd(size, length), excess


def _type_fetch(context: Any, array: Any, k: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        byte = ir.IntType(8).as_pointer()
        hint = ir.FunctionType(ir.VoidType(), [byte, _LANE, _LANE, _LANE])
        function = cgutils.get_or_insert_function(builder.module, hint, "llvm.prefetch.p0")
        place = builder.gep(_data(context, builder, array, args[0]), [args[1]])
        # To be read, into the second level of cache, data.
        builder.call(function, [builder.bitcast(place, byte), _LANE(0), _LANE(2), _LANE(1)])
        return context.get_dummy_value()

    return nb.void(array, nb.uint64), generate


def register(function: Callable[..., Any], definition: Callable[..., Any]) -> None:
    """Let kernels name the Python function itself, so that their `py_func` runs as well."""
    template = make_intrinsic_template(function, definition, function.__name__)
    infer(template)
    infer_global(function, nb.Function(template))


register(axpy2, _type_axpy2)
register(fetch, _type_fetch)
_gather2 = _gatherer("dot2", 2, (0,), (0.0,) * 3, _advance2, (_add,) * 3)
_gather4 = _gatherer(
    "dot4",
    4,
    (1,),
    (0.0, 0.0, 0.0, math.inf, -math.inf),
    _advance4,
    (_add, _add, _add, _smaller, _larger),
)
_gather6 = _gatherer(
    "dot6", 6, (0, 1, 4, 5), (0.0, 0.0, 0.0, -math.inf), _advance6, (_add, _add, _add, _larger)
)


def _type_dot2(context: Any, array: Any, indices: Any, values: Any, begin: Any, end: Any) -> Any:
    return _gather2(array, indices, values)


def _type_dot4(context: Any, array: Any, indices: Any, values: Any, begin: Any, end: Any) -> Any:
    return _gather4(array, indices, values)


def _type_dot6(
    context: Any, array: Any, indices: Any, values: Any, begin: Any, end: Any, weight: Any
) -> Any:
    return _gather6(array, indices, values, extra=1)


register(dot2, _type_dot2)
register(dot4, _type_dot4)
register(dot6, _type_dot6)
