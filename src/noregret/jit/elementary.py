"""The compiled form of `noregret.elementary`: polynomials, no calls, fit for vector registers."""

# Numba types its public face only, and differently in each version.
# mypy: allow-untyped-calls, disable-error-code="attr-defined"
from __future__ import annotations

import math
from typing import Any

from llvmlite import ir
from numba.core import types as nb

from noregret import elementary
from noregret.jit.vectors import register

_DOUBLE = ir.DoubleType()
_WORD = ir.IntType(64)

#: ln 2 in two parts, of which the first has trailing zeros: its multiples up to 2^11 are exact.
_LN2_HIGH = 0.693147180369123816490
_LN2_LOW = 1.90821492927058770002e-10
#: Added to a number, this leaves its nearest integer in the last bits.
_ROUNDER = 1.5 * 2.0**52
#: Below the first the result is 0, above the second infinite.
_LOWEST, _HIGHEST = -708.0, 709.782712893384
#: Terms of the series that are above the rounding error for |r| <= ln(2)/2.
_DEGREE = 13


def _exp(builder: Any, x: Any) -> Any:
    """Return e^x = 2^n e^r with n the nearest integer to x / ln 2."""

    def number(value: float) -> Any:
        return ir.Constant(_DOUBLE, value)

    def add_product(a: Any, b: Any, c: Any) -> Any:
        return builder.fma(a, b, c)

    below = builder.fcmp_ordered("<", x, number(_LOWEST))
    above = builder.fcmp_ordered(">", x, number(_HIGHEST))
    inside = builder.select(below, number(_LOWEST), x)
    inside = builder.select(above, number(709.0), inside)
    shifted = add_product(inside, number(1.0 / math.log(2.0)), number(_ROUNDER))
    n = builder.fsub(shifted, number(_ROUNDER))
    r = add_product(n, number(-_LN2_LOW), add_product(n, number(-_LN2_HIGH), inside))
    # e^r = 1 + r + r^2 q(r), the terms of q in pairs of pairs, which do not wait for each other.
    terms = [number(1.0 / math.factorial(k)) for k in range(2, _DEGREE + 1)]
    power = r
    while len(terms) > 1:
        pairs = [add_product(terms[k + 1], power, terms[k]) for k in range(0, len(terms) - 1, 2)]
        terms = pairs + terms[len(pairs) * 2 :]
        power = builder.fmul(power, power)
    square = builder.fmul(r, r)
    near = builder.fadd(add_product(terms[0], square, r), number(1.0))
    # The last bits of `shifted` are n; added to the exponent they multiply by 2^n.
    exponent = builder.shl(builder.bitcast(shifted, _WORD), _WORD(52))
    result = builder.bitcast(builder.add(builder.bitcast(near, _WORD), exponent), _DOUBLE)
    result = builder.select(below, number(0.0), result)
    result = builder.select(above, number(math.inf), result)
    return builder.select(builder.fcmp_unordered("uno", x, x), x, result)


def _type_exp(context: Any, x: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _exp(builder, args[0])

    return nb.float64(nb.float64), generate


def _type_sqrt(context: Any, x: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        root = builder.module.declare_intrinsic("llvm.sqrt", [_DOUBLE])
        return builder.call(root, args)

    return nb.float64(nb.float64), generate


register(elementary.exp, _type_exp)
register(elementary.sqrt, _type_sqrt)
