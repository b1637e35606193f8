"""Compiled kernels that take mathematical objects as arguments, kept on disk by content.

Importing this package imports numba; no other module of noregret does. A `Component` passed
to a kernel becomes a struct of its fields, its methods compiled functions. `kernel` compiles
a function on its first call and keeps the machine code in `cache_directory()`.
"""

from noregret.jit import elementary as _elementary  # noqa: F401 - registers compiled forms
from noregret.jit.directory import cache_directory, cache_events, usable_directory
from noregret.jit.kernels import Call, Kernel, add_compensated, entry, kernel
from noregret.jit.records import collect, put_back, step, weigh, write_step
from noregret.jit.vectors import axpy1, axpy2, borrowed, dot, dot_ahead, fetch, mapped_dot
from noregret.jit.words import (
    byte_at,
    float_of,
    high_product,
    leading_zeros,
    load_word,
    low_product,
    ones,
    span_above,
    strangers,
    text_of,
    trailing_zeros,
)

__all__ = [
    "Call",
    "Kernel",
    "add_compensated",
    "axpy1",
    "axpy2",
    "borrowed",
    "byte_at",
    "cache_directory",
    "cache_events",
    "collect",
    "dot",
    "dot_ahead",
    "entry",
    "fetch",
    "float_of",
    "high_product",
    "kernel",
    "leading_zeros",
    "load_word",
    "low_product",
    "mapped_dot",
    "ones",
    "put_back",
    "span_above",
    "step",
    "strangers",
    "text_of",
    "trailing_zeros",
    "usable_directory",
    "weigh",
    "write_step",
]
