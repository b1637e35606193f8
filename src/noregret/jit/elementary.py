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
    above = builder.fcmp_ordered(">", x, _number(elementary.LARGEST_EXPONENT))
    inside = builder.select(below, _number(elementary.LEAST_EXPONENT), x)
    inside = builder.select(above, _number(709.0), inside)
    shifted = builder.fma(inside, _number(1.0 / math.log(2.0)), _number(_ROUNDER))
    n = builder.fsub(shifted, _number(_ROUNDER))
    r = builder.fma(n, _number(-_LN2_LOW), builder.fma(n, _number(-_LN2_HIGH), inside))
    # e^r = 1 + r + r^2 q(r).
    q = _polynomial(builder, [1.0 / math.factorial(k) for k in range(2, _EXP_DEGREE + 1)], r)
    near = builder.fadd(builder.fma(q, builder.fmul(r, r), r), _number(1.0))
    # The last bits of `shifted` are n; added to the exponent they multiply by 2^n.
    exponent = builder.shl(builder.bitcast(shifted, WORD), WORD(52))
    result = builder.bitcast(builder.add(builder.bitcast(near, WORD), exponent), DOUBLE)
    result = builder.select(below, _number(0.0), result)
    result = builder.select(above, _number(math.inf), result)
    return builder.select(builder.fcmp_unordered("uno", x, x), x, result)


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
