"""The gate before every pass: rows that could not be learnt are refused in one line."""

from __future__ import annotations

from noregret.examples import Rows, canonical
from noregret.passes.rows import INDEX_OUT_OF_RANGE, LARGEST_FEATURE, NOT_CANONICAL, check_rows


def sound_rows(rows: Rows, offset: int) -> Rows:
    """Return rows that a pass may read, sorted and merged if need be; `offset` names rows."""
    row, fault = check_rows(rows.indptr, rows.indices, rows.values, rows.width)
    if fault == NOT_CANONICAL:
        rows = canonical(rows)
        row, fault = check_rows(rows.indptr, rows.indices, rows.values, rows.width)
    if not fault:
        return rows
    if fault == INDEX_OUT_OF_RANGE:
        problem = f"a column index is outside 0 ... {rows.width - 1}"
    else:
        problem = f"a value is not finite or beyond {LARGEST_FEATURE:g}; expected finite numbers"
    raise ValueError(f"X row {offset + row}: {problem}")
