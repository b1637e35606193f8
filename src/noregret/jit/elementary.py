"""The compiled form of `noregret.elementary`: single instructions, or polynomials."""

# Numba types its public face only, and differently in each version.
# mypy: allow-untyped-calls, disable-error-code="attr-defined"
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import types as nb

from noregret import elementary
from noregret.jit.lanes import DOUBLE, WORD, register_scalar

#: ln 2 in two parts, of which the first has trailing zeros: its multiples up to 2^11 are exact.
_LN2_HIGH = 0.693147180369123816490
_LN2_LOW = 1.90821492927058770002e-10
#: Added to a number, this leaves its nearest integer in the last bits.
_ROUNDER = 1.5 * 2.0**52
#: Terms of the series of e^r that are above the rounding error for |r| <= ln(2)/2.
_EXP_DEGREE = 13
#: Terms of the series of ln((1 + s)/(1 - s)) that are, for s^2 <= (3 - sqrt(8))^2.
_LOG_DEGREE = 10


def _number(value: float) -> Any:
    return ir.Constant(DOUBLE, value)


def _polynomial(builder: Any, coefficients: list[float], x: Any) -> Any:
    """Return the polynomial, its terms in pairs of pairs, which do not wait for each other."""
    terms = [_number(c) for c in coefficients]
    while len(terms) > 1:
        pairs = [builder.fma(terms[k + 1], x, terms[k]) for k in range(0, len(terms) - 1, 2)]
        terms = pairs + terms[len(pairs) * 2 :]
        x = builder.fmul(x, x)
    return terms[0]


def _exp(builder: Any, x: Any) -> Any:
    """Return e^x = 2^n e^r with n the nearest integer to x / ln 2."""
    below = builder.fcmp_ordered("<", x, _number(elementary.LEAST_EXPONENT))
    inside = builder.select(below, _number(elementary.LEAST_EXPONENT), x)
    most = _number(elementary.LARGEST_EXPONENT)
    inside = builder.select(builder.fcmp_ordered("<", inside, most), inside, most)
    shifted = builder.fma(inside, _number(1.0 / math.log(2.0)), _number(_ROUNDER))
    n = builder.fsub(shifted, _number(_ROUNDER))
    r = builder.fma(n, _number(-_LN2_LOW), builder.fma(n, _number(-_LN2_HIGH), inside))
    # e^r = 1 + r + r^2 (a + r^4 (b + r^4 c)), parts that do not wait for each other.
    series = [1.0 / math.factorial(k) for k in range(2, _EXP_DEGREE + 1)]
    square = builder.fmul(r, r)
    fourth = builder.fmul(square, square)
    first, middle, last = (_polynomial(builder, series[k : k + 4], r) for k in (0, 4, 8))
    high = builder.fma(last, fourth, middle)
    near = builder.fma(builder.fma(high, fourth, first), square, r)
    # The last bits of `shifted` are n. For n > 0 half of 2^n is multiplied by 2 at the end, for
    # 2^1024 does not exist.
    upward = builder.fcmp_ordered(">", inside, _number(0.0))
    bits = builder.add(
        builder.bitcast(shifted, WORD), builder.select(upward, WORD(1022), WORD(1023))
    )
    power = builder.bitcast(builder.shl(bits, WORD(52)), DOUBLE)
    double = builder.select(upward, _number(2.0), _number(1.0))
    result = builder.fmul(builder.fma(near, power, power), double)
    result = builder.select(below, _number(0.0), result)
    # Infinity, or NaN.
    beyond = builder.fmul(x, _number(math.inf))
    return builder.select(builder.fcmp_unordered(">", x, most), beyond, result)


def _log1p_unit(builder: Any, x: Any) -> Any:
    """Return ln(1 + x) = n ln 2 + ln(1 + f) with n = 0 or 1 and |f| <= sqrt(2) - 1 or so.

    f is x or (x - 1)/2, both exact. With s = f/(2 + f), ln(1 + f) = ln((1 + s)/(1 - s)) =
    f - f^2/2 + s (f^2/2 + 2 s^2/3 + 2 s^4/5 + ...), where no term rounds f itself.
    """
    half, one = _number(0.5), _number(1.0)
    # Rounded rather than compared: a comparison would become a branch that mispredicts.
    nearest = builder.fma(x, _number(0.5 / (math.sqrt(2.0) - 1.0)), _number(_ROUNDER))
    n = builder.fsub(nearest, _number(_ROUNDER))
    f = builder.fmul(builder.fsub(x, n), builder.fsub(one, builder.fmul(n, half)))
    s = builder.fdiv(f, builder.fadd(f, _number(2.0)))
    z = builder.fmul(s, s)
    series = _polynomial(builder, [2.0 / (2 * k + 1) for k in range(1, _LOG_DEGREE + 1)], z)
    curve = builder.fmul(builder.fmul(f, f), half)
    tail = builder.fmul(s, builder.fma(z, series, curve))
    low = builder.fsub(builder.fma(n, _number(_LN2_LOW), tail), curve)
    return builder.fma(n, _number(_LN2_HIGH), builder.fadd(f, low))


def _called(name: str) -> Callable[..., Any]:
    """Return a builder of calls of the LLVM intrinsic of this name."""

    def build(builder: Any, *args: Any) -> Any:
        return builder.call(builder.module.declare_intrinsic(name, [DOUBLE]), args)

    return build


for function, build in (
    (elementary.exp, _exp),
    (elementary.log, _called("llvm.log")),
    (elementary.log1p_unit, _log1p_unit),
    (elementary.sqrt, _called("llvm.sqrt")),
    (elementary.power, _called("llvm.pow")),
    (elementary.divide, lambda builder, x, y: builder.fdiv(x, y)),
):
    register_scalar(function, nb.float64, build)
