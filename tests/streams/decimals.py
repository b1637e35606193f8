"""Decimal numbers of every shape, as text, for whoever reads them."""

from __future__ import annotations

import random
import struct
from decimal import Context
from fractions import Fraction

_LONG = Context(prec=1200)


def _float(bits: int) -> float:
    return float(struct.unpack("d", struct.pack("Q", bits))[0])


def _digits(rng: random.Random, count: int) -> str:
    return "".join(rng.choices("0123456789", k=count))


def half_way(rng: random.Random) -> str:
    """Return a number exactly between two floats, or a hair beside it."""
    bits = rng.getrandbits(63) % 0x7FE0_0000_0000_0000
    if rng.random() < 0.2:
        bits >>= 11
    middle = (Fraction(_float(bits)) + Fraction(_float(bits + 1))) / 2
    exact = _LONG.divide(middle.numerator, middle.denominator)
    mantissa, mark, exponent = (
        f"{exact:f}".partition("E") if rng.random() < 0.5 else str(exact).partition("E")
    )
    if "." in mantissa:
        match rng.randrange(4):
            case 0:
                mantissa += "0" * rng.randrange(40) + "1"
            case 1:
                mantissa = mantissa[:-1]
            case 2:
                mantissa += "0" * rng.randrange(900)
    return mantissa + mark.replace("E", rng.choice("eE")) + exponent


def decimal(rng: random.Random) -> str:
    """Return a number that Python's `float` reads, infinite ones among them."""
    sign = rng.choice(["", "", "-", "+"])
    power = rng.choice(["", f"e{rng.randrange(-400, 400)}", f"E+{rng.randrange(400):03}"])
    match rng.randrange(11):
        case 0:
            return sign + repr(_float(rng.getrandbits(63) % 0x7FF0_0000_0000_0000))
        case 1:
            return f"{sign}{rng.random():.{rng.randrange(1, 20)}g}"
        case 2:
            whole = rng.randrange(10 ** rng.randrange(1, 10))
            return f"{sign}{whole}.{rng.randrange(10 ** rng.randrange(1, 12))}"
        case 3:
            return sign + str(rng.getrandbits(rng.randrange(1, 200)))
        case 4:
            return f"{sign}{rng.getrandbits(rng.randrange(1, 70))}e{rng.randrange(-360, 320)}"
        case 5:
            return sign + half_way(rng)
        case 6:
            return f"{sign}.{_digits(rng, rng.randrange(1, 30))}"
        case 7:
            return f"{sign}{_digits(rng, rng.randrange(1, 30))}.{power}"
        case 8:
            zeros = "0" * rng.randrange(40) + "." + "0" * rng.randrange(400)
            return sign + zeros + str(rng.getrandbits(rng.randrange(1, 120))) + power
        case 9:
            return f"{sign}{_float(rng.getrandbits(53)):.{rng.randrange(25)}e}"
    text = _digits(rng, rng.randrange(20, 900))
    place = rng.randrange(1, len(text))
    return sign + text[:place] + "." + text[place:] + power
