"""`noregret explain`: what each feature adds to the prediction of a row."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

from noregret.arguments import ArgumentError
from noregret.cli.console import plain_console, show_table
from noregret.cli.given import Given
from noregret.cli.writing import to_json
from noregret.visible import visible

#: Number of hashed names that are kept while rows are read.
_NAMES = 1 << 20


def explain(
    given: Given,
    *,
    model: Path,
    rows: str,
    top: int,
    as_json: bool,
) -> None:
    """Run `noregret explain`."""
    from noregret.runs import record as records
    from noregret.runs.explaining import explained
    from noregret.runs.naming import require_same_columns

    wanted = _numbers(rows)
    learner, record = records.load(model)
    if "name_slots" in record.names:
        given = given.saying(remember=_NAMES)
    width = learner.dimension if record.spec.needs_width else 0
    stream = given.open(
        record.rule(), record.reading, width, unlabelled="keep", **record.known(grow=False)
    )
    require_same_columns(learner, record, stream)
    found = list(explained(learner, record, stream, wanted))
    if as_json:
        print(to_json({"model": str(model), "input": stream.name, "rows": found}))
        return
    lines: list[list[str]] = []
    for one in found:
        row = f"{one['row']:,}" if one["id"] is None else f"{one['row']:,} {visible(one['id'])}"
        added = [(visible(e["name"]), f"{e['value']:g}", e["added"]) for e in one["features"]]
        rest = sum(entry[2] for entry in added[top:])
        added[top:] = [(f"{len(added) - top:,} others", "", rest)] * (len(added) > top)
        added += [("offset", "", one["offset"])] * (one["offset"] != 0.0)
        total = "margin" if one["class"] is None else f"score of {visible(one['class'])}"
        for name, value, part in [*added, (total, "", one["margin"])]:
            lines.append([row, name, value, f"{part:+.5g}"])
        if not math.isclose(one["prediction"], one["margin"], rel_tol=1e-6, abs_tol=1e-9):
            lines.append([row, "prediction, within the range", "", f"{one['prediction']:+.5g}"])
    show_table(plain_console(), "ttnn", lines, ["row", "feature", "value", "weight × value"])


def _numbers(text: str) -> list[int]:
    """Return the numbers of rows that a list of numbers and ranges names.

    >>> _numbers("2,5-7")
    [2, 5, 6, 7]
    """
    numbers: set[int] = set()
    for part in text.split(","):
        found: Any = re.fullmatch(r"\s*(\d{1,12})(?:-(\d{1,12}))?\s*", part)
        first, last = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
        if not 1 <= first <= last < first + 100_000:
            raise ArgumentError("rows", "expected rows counted from 1, as in 1,4-6", text)
        numbers.update(range(first, last + 1))
    return sorted(numbers)
