"""Building blocks of vector code: loops over the features of a row, in lanes of a register."""

# Numba types its public face only, and differently in each version.
# mypy: allow-untyped-calls, disable-error-code="attr-defined"
from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import cgutils, errors
from numba.core import types as nb
from numba.core.typing.templates import infer, infer_global, make_intrinsic_template

WORD = ir.IntType(64)
LANE = ir.IntType(32)
DOUBLE = ir.DoubleType()
_FUSED = ("contract",)

#: Records are prefetched this many features ahead of where a row is read: about the next row.
AHEAD = 96


def register(function: Callable[..., Any]) -> Callable[[Callable[..., Any]], None]:
    """Let kernels call the Python function itself, so that their `py_func` runs as well.

    Decorates a function that takes the types of the arguments and returns the signature and a
    function (context, builder, signature, args) that generates the instructions.
    """

    def registered(typed: Callable[..., Any]) -> None:
        def definition(context: Any, *kinds: Any) -> Any:
            return typed(*kinds)

        # Numba binds arguments by the names that it finds here, after that of the context.
        own = inspect.signature(function)
        context = inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        parameters = [context, *own.parameters.values()]
        definition.__signature__ = own.replace(parameters=parameters)
        template = make_intrinsic_template(function, definition, function.__name__)
        infer(template)
        infer_global(function, nb.Function(template))

    return registered


def register_scalar(
    function: Callable[..., Any], kind: Any, build: Callable[..., Any], result: Any = None
) -> None:
    """Register a function of numbers of one type that is a few instructions.

    build(builder, *args) generates them; `result` is the type of the result [default: `kind`].
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return build(builder, *args)

    register(function)(lambda *kinds: ((result or kind)(*(kind,) * len(kinds)), generate))


def require(name: str, array: Any, indices: Any = None, values: Any = None) -> None:
    """Refuse, when a kernel is compiled, arrays that the vector code cannot read."""
    if array != nb.Array(nb.float64, 2, "C"):
        raise errors.TypingError(f"{name} takes a C-contiguous float64 matrix, got {array}")
    if indices is not None and indices.dtype not in (nb.uint32, nb.uint64):
        raise errors.TypingError(f"{name} takes unsigned indices, got {indices}")
    if values is not None and values.dtype not in (nb.float32, nb.float64):
        raise errors.TypingError(f"{name} takes floating-point values, got {values}")


def data(context: Any, builder: Any, kind: Any, array: Any) -> Any:
    """Return the address of an array's first element."""
    return context.make_array(kind)(context, builder, array).data


def records_of(context: Any, builder: Any, kind: Any, array: Any) -> Callable[[Any], Any]:
    """Return a function of an index that gives the address of that record of a matrix."""
    held = context.make_array(kind)(context, builder, array)
    width = builder.extract_value(held.shape, 1)

    def record(i: Any) -> Any:
        wide = builder.zext(i, WORD) if i.type.width < WORD.width else i
        return builder.gep(held.data, [builder.mul(wide, width)])

    return record


def filled(builder: Any, *lanes: Any) -> Any:
    """Return a vector of these lanes."""
    vector = ir.Constant(ir.VectorType(lanes[0].type, len(lanes)), ir.Undefined)
    for place, lane in enumerate(lanes):
        vector = builder.insert_element(vector, lane, LANE(place))
    return vector


def vector_at(builder: Any, place: Any, lanes: int) -> Any:
    """Return an address as that of a vector of float64 lanes."""
    return builder.bitcast(place, ir.VectorType(DOUBLE, lanes).as_pointer())


def load(builder: Any, data: Any, k: Any, lanes: int) -> Any:
    """Return values k, k + 1, ... as float64 lanes; rows need not begin at a multiple."""
    place = builder.gep(data, [k])
    narrow = place.type.pointee == ir.FloatType()
    place = builder.bitcast(place, ir.VectorType(place.type.pointee, lanes).as_pointer())
    vector = builder.load(place, align=4 if narrow else 8)
    return builder.fpext(vector, ir.VectorType(DOUBLE, lanes)) if narrow else vector


def stepwise(
    builder: Any,
    lanes: int,
    begin: Any,
    end: Any,
    kept: list[Any],
    body: Callable[..., tuple[Any, ...]],
) -> tuple[Any, list[Any]]:
    """Run body(k, *kept) for k = begin, begin + lanes, ... while as many are left.

    The body returns what is kept afterwards; returned are the k it ended with and what is kept.
    """
    before = builder.block
    head, inner, after = (builder.append_basic_block() for _ in range(3))
    builder.branch(head)
    builder.position_at_end(head)
    here = builder.phi(WORD)
    now = [builder.phi(value.type) for value in kept]
    left = builder.sub(end, here)
    builder.cbranch(builder.icmp_unsigned(">=", left, WORD(lanes)), inner, after)
    builder.position_at_end(inner)
    following = (builder.add(here, WORD(lanes)), *body(here, *now))
    builder.branch(head)
    for phi, first, next_ in zip((here, *now), (begin, *kept), following, strict=True):
        phi.add_incoming(first, before)
        phi.add_incoming(next_, builder.block)
    builder.position_at_end(after)
    return here, now


def remainder(
    builder: Any, begin: Any, end: Any, kept: list[Any], body: Callable[..., tuple[Any, ...]]
) -> list[Any]:
    """Run body(begin, *kept, end=end) if anything is left; return what is kept afterwards."""
    before = builder.block
    inner, after = (builder.append_basic_block() for _ in range(2))
    builder.cbranch(builder.icmp_unsigned("<", begin, end), inner, after)
    builder.position_at_end(inner)
    following = body(begin, *kept, end=end)
    last = builder.block
    builder.branch(after)
    builder.position_at_end(after)
    results = [builder.phi(value.type) for value in kept]
    for phi, untouched, value in zip(results, kept, following, strict=True):
        phi.add_incoming(untouched, before)
        phi.add_incoming(value, last)
    return results


def joined(builder: Any, vector: Any, join: Callable[..., Any]) -> Any:
    """Return the four lanes of a vector, joined to one number."""
    a, b, c, d = (builder.extract_element(vector, LANE(place)) for place in range(4))
    return join(builder, join(builder, a, c), join(builder, b, d))


def prefetch(builder: Any, place: Any, near: int) -> None:
    """Prefetch memory to a level of cache: 3 is the nearest. The address need not exist."""
    byte = ir.IntType(8).as_pointer()
    hint = ir.FunctionType(ir.VoidType(), [byte, LANE, LANE, LANE])
    function = cgutils.get_or_insert_function(builder.module, hint, "llvm.prefetch.p0")
    # To be read, and data.
    builder.call(function, [builder.bitcast(place, byte), LANE(0), LANE(near), LANE(1)])


def prefetch_records(context: Any, builder: Any, kinds: Any, arrays: Any, k: Any) -> None:
    """Prefetch the records of four features, AHEAD of feature k; its own at the end."""
    record = records_of(context, builder, kinds[0], arrays[0])
    indices = context.make_array(kinds[1])(context, builder, arrays[1])
    far = builder.add(k, WORD(AHEAD))
    last = builder.sub(builder.extract_value(indices.shape, 0), WORD(4))
    far = builder.select(builder.icmp_unsigned("<", far, last), far, k)
    for lane in range(4):
        i = builder.load(builder.gep(indices.data, [builder.add(far, WORD(lane))]))
        prefetch(builder, record(i), 3)


def transposed(builder: Any, rows: list[Any]) -> list[Any]:
    """Return the columns of a square of four vectors."""

    def mixed(a: Any, b: Any, *lanes: int) -> Any:
        return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(LANE, 4), list(lanes)))

    a, b, c, d = rows
    low, high = mixed(a, b, 0, 4, 2, 6), mixed(c, d, 0, 4, 2, 6)
    odd, top = mixed(a, b, 1, 5, 3, 7), mixed(c, d, 1, 5, 3, 7)
    return [
        mixed(low, high, 0, 1, 4, 5),
        mixed(odd, top, 0, 1, 4, 5),
        mixed(low, high, 2, 3, 6, 7),
        mixed(odd, top, 2, 3, 6, 7),
    ]


def add_product(builder: Any, total: Any, a: Any, b: Any) -> Any:
    """Return total + a b, rounded once where the machine can."""
    return builder.fadd(total, builder.fmul(a, b, _FUSED), _FUSED)


def absolute(builder: Any, x: Any) -> Any:
    """Return |x|."""
    words = ir.VectorType(WORD, x.type.count)
    bits = builder.and_(builder.bitcast(x, words), ir.Constant(words, [2**63 - 1] * words.count))
    return builder.bitcast(bits, x.type)


def root(builder: Any, x: Any) -> Any:
    """Return the square roots of a vector."""
    kind = ir.FunctionType(x.type, [x.type])
    name = f"llvm.sqrt.v{x.type.count}f64"
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), [x])


def smaller(builder: Any, a: Any, b: Any) -> Any:
    """Return b where it is below a, else a."""
    return builder.select(builder.fcmp_ordered("<", b, a), b, a)


def larger(builder: Any, a: Any, b: Any) -> Any:
    """Return b where it is above a, else a."""
    return builder.select(builder.fcmp_ordered(">", b, a), b, a)
