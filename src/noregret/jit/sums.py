"""Compensated sums in kernels."""

from __future__ import annotations

from noregret.jit.kernels import kernel
from noregret.rounding import slack

#: `noregret.rounding.slack.add_compensated`, compiled into the kernel that calls it.
add_compensated = kernel(inline=True)(slack.add_compensated)
