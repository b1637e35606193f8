"""The scorer of exported models that the documentation shows, as functions."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np

PAGE = Path(__file__).parents[2] / "docs" / "models.md"


def shown() -> dict[str, Any]:
    """Run the functions that the page about models defines; return them by name."""
    text = PAGE.read_text(encoding="utf-8")
    found: dict[str, Any] = {}
    for block in re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        if "\ndef " in block:
            # What follows the functions shows them at work on a file of the page.
            exec("".join(re.findall(r"^(?:import|def).*\n(?:(?: .*)?\n)*", block, re.M)), found)
    return found


def scored(model: Any, rows: list[dict[str, Any]]) -> np.ndarray:
    """Score rows by the JSON of a model, a row a row."""
    score, exported = shown()["score"], json.loads(model.to_json())
    return np.array([score(exported, row) for row in rows])
