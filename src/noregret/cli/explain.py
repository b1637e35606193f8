"""`noregret explain`: what each feature adds to the prediction of a row."""

from __future__ import annotations

import math
import re
from pathlib import Path

from noregret.arguments import ArgumentError
from noregret.cli.console import plain_console, show_table
from noregret.cli.given import Given
from noregret.cli.writing import to_json
from noregret.runs.predicting import explained
from noregret.runs.record import load
from noregret.visible import visible

#: Number of hashed names that are kept while rows are read.
_NAMES = 1 << 20
_HEAD = ("row", "feature", "value", "weight × value")


def explain(
    given: Given,
    *,
    model: Path,
    rows: str | None,
    top: int,
    as_json: bool,
) -> None:
    """Run `noregret explain`."""
    wanted = _numbers(rows or "1-5")
    learner, record = load(model)
    hashed = {"remember": _NAMES} if "name_slots" in record.names else {}
    stream = given.saying(**hashed).again(learner, record)
    found = list(explained(learner, record, stream, wanted))
    if not found or (rows and found[-1]["row"] < wanted[-1]):
        raise ArgumentError("rows", f"{stream.name} has fewer rows", rows)
    if as_json:
        print(to_json({"model": str(model), "input": stream.name, "rows": found}))
        return
    lines: list[list[str]] = []
    for one in found:
        number = " ".join([f"{one['row']:,}", *([] if one["id"] is None else [visible(one["id"])])])
        parts = [(visible(e["name"]), f"{e['value']:g}", e["added"]) for e in one["features"]]
        others = parts[top:]
        total = "margin" if one["class"] is None else f"score of {visible(one['class'])}"
        whose = one["weights_of"]
        total = f"{total} of {whose}" if whose else total
        ending = "prediction, " + ("mixed" if whose else "kept within the range of labels")
        alike = math.isclose(one["prediction"], one["margin"], rel_tol=1e-6, abs_tol=1e-9)
        kept = alike and not whose
        parts = [
            *parts[:top],
            *[(f"{len(others):,} others", "", sum(part for _, _, part in others))] * bool(others),
            *[("offset", "", one["offset"])] * (one["offset"] != 0.0),
            (total, "", one["margin"]),
            *[(ending, "", one["prediction"])] * (not kept),
        ]
        lines += [[number, name, value, f"{part:+.5g}"] for name, value, part in parts]
    show_table(plain_console(), "ttnn", lines, _HEAD)


def _numbers(text: str) -> list[int]:
    """Return the numbers of rows that a list of numbers and ranges names.

    >>> _numbers("2,5-7")
    [2, 5, 6, 7]
    """
    parts = [re.fullmatch(r"\s*(\d{1,12})(?:-(\d{1,12}))?\s*", one) for one in text.split(",")]
    spans = [(int(one[1]), int(one[2] or one[1])) if one else (0, 0) for one in parts]
    if not all(1 <= first <= last < first + 100_000 for first, last in spans):
        raise ArgumentError("rows", "expected rows counted from 1, as in 1,4-6", text)
    return sorted({row for first, last in spans for row in range(first, last + 1)})
