"""The constants of rounding: what double precision can lose in one operation."""

from __future__ import annotations

#: The distance from 1 to the next double: one rounding loses at most half of it, relatively.
EPSILON = 2.0**-52
