"""Arithmetic that Python cannot express: sparse rows in vector registers.

Each function is plain Python where a kernel is interpreted, and machine instructions where it
is compiled. The arrays are what sparse passes hold: records of two float64 columns, unsigned
column indices, values in float32 or float64. No index is checked.
"""

# Numba types its public face only, and differently in each version.
# mypy: allow-untyped-calls, disable-error-code="attr-defined"
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import errors
from numba.core import types as nb
from numba.core.typing.templates import infer, infer_global, make_intrinsic_template

_WORD = ir.IntType(64)
_LANE = ir.IntType(32)
_DOUBLE = ir.DoubleType()
_FUSED = ("contract",)


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

    Compiled, four features at a time. Left to itself the compiler takes sixteen, and leaves
    up to fifteen of a row to be done one by one.
    """
    product = square = size = 0.0
    for k in range(begin, end):
        x = float(values[k])
        product += array[indices[k], 0] * x
        square += x * x
        size += abs(x)
    return product, square, size


def _require(name: str, array: Any, indices: Any = None, values: Any = None) -> None:
    if array != nb.Array(nb.float64, 2, "C"):
        raise errors.TypingError(f"{name} takes a C-contiguous float64 matrix, got {array}")
    if indices is not None and indices.dtype not in (nb.uint32, nb.uint64):
        raise errors.TypingError(f"{name} takes unsigned indices, got {indices}")
    if values is not None and values.dtype not in (nb.float32, nb.float64):
        raise errors.TypingError(f"{name} takes floating-point values, got {values}")


def _data(context: Any, builder: Any, kind: Any, array: Any) -> Any:
    return context.make_array(kind)(context, builder, array).data


def _record(builder: Any, data: Any, row: Any) -> Any:
    """Return the address of a record of two columns."""
    if row.type.width < _WORD.width:
        row = builder.zext(row, _WORD)
    return builder.gep(data, [builder.shl(row, _WORD(1))])


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


def _absolute(builder: Any, vector: Any) -> Any:
    words = ir.VectorType(_WORD, vector.type.count)
    bits = builder.and_(
        builder.bitcast(vector, words), ir.Constant(words, [2**63 - 1] * words.count)
    )
    return builder.bitcast(bits, vector.type)


def _type_axpy2(context: Any, array: Any, i: Any, a: Any, b: Any, x: Any) -> Any:
    _require("axpy2", array)
    narrow = x == nb.float32

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        row = context.cast(builder, args[1], signature.args[1], nb.uintp)
        place = _record(builder, _data(context, builder, array, args[0]), row)
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


def _type_dot2(context: Any, array: Any, indices: Any, values: Any, begin: Any, end: Any) -> Any:
    _require("dot2", array, indices, values)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kinds = signature.args
        records, columns, data = (
            _data(context, builder, kinds[place], args[place]) for place in range(3)
        )

        def add(lanes: int, k: Any, product: Any, square: Any, size: Any) -> tuple[Any, ...]:
            weights = []
            for lane in range(lanes):
                column = builder.load(builder.gep(columns, [builder.add(k, _WORD(lane))]))
                weights.append(builder.load(_record(builder, records, column)))
            x = _load(builder, data, k, lanes)
            product = _add_product(builder, product, _filled(builder, *weights), x)
            square = _add_product(builder, square, x, x)
            return product, square, builder.fadd(size, _absolute(builder, x))

        def loop(lanes: int, k: Any, sums: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
            before = builder.block
            head, body, after = (builder.append_basic_block() for _ in range(3))
            builder.branch(head)
            builder.position_at_end(head)
            here = builder.phi(_WORD)
            kept = tuple(builder.phi(ir.VectorType(_DOUBLE, lanes)) for _ in sums)
            left = builder.sub(args[4], here)
            builder.cbranch(builder.icmp_unsigned(">=", left, _WORD(lanes)), body, after)
            builder.position_at_end(body)
            new = (builder.add(here, _WORD(lanes)), *add(lanes, here, *kept))
            builder.branch(head)
            for phi, first, following in zip((here, *kept), (k, *sums), new, strict=True):
                phi.add_incoming(first, before)
                phi.add_incoming(following, body)
            builder.position_at_end(after)
            return here, kept

        zero = ir.Constant(ir.VectorType(_DOUBLE, 4), [0.0] * 4)
        k, wide = loop(4, args[3], (zero, zero, zero))
        narrow = tuple(_filled(builder, _sum(builder, vector)) for vector in wide)
        _, sums = loop(1, k, narrow)
        totals = [builder.extract_element(vector, _LANE(0)) for vector in sums]
        return context.make_tuple(builder, signature.return_type, totals)

    sums = nb.UniTuple(nb.float64, 3)
    return sums(array, indices, values, nb.uint64, nb.uint64), generate


def _sum(builder: Any, vector: Any) -> Any:
    lanes = [builder.extract_element(vector, _LANE(place)) for place in range(4)]
    return builder.fadd(builder.fadd(lanes[0], lanes[2]), builder.fadd(lanes[1], lanes[3]))


def _register(function: Callable[..., Any], definition: Callable[..., Any]) -> None:
    """Let kernels name the Python function itself, so that their `py_func` runs as well."""
    template = make_intrinsic_template(function, definition, function.__name__)
    infer(template)
    infer_global(function, nb.Function(template))


_register(axpy2, _type_axpy2)
_register(dot2, _type_dot2)
