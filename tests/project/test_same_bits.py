"""The comparison of two source trees finds a planted difference, and calls equal trees equal."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.same_bits import compare as comparing
from tests.same_bits.__main__ import main, report
from tests.sizes import FULL

ROOT = Path(__file__).parents[2]

CHOSEN = ["--interpreted", "--family", "components", "--only", "loss *uare*"]


def test_equal_trees_are_equal_and_a_formula_is_missed(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    record, other = tmp_path / "old.jsonl", tmp_path / "src"
    assert main([*CHOSEN, "--record", str(record), str(ROOT / "src")]) == 0
    # A run takes seconds; the one below shows as well that what was not changed is equal.
    old = comparing.read(record)
    assert (main([*CHOSEN, "--against", str(record)]) if FULL else report(old, old, 50)) == 0
    assert len(old) > 1 and "0 differ" in capfd.readouterr().out
    shutil.copytree(ROOT / "src", other, ignore=shutil.ignore_patterns("__pycache__"))
    file = other / "noregret" / "losses" / "regression.py"
    text = file.read_text("utf-8")
    formula = "return 2.0 * (p - y)\n"
    assert text.count(formula) == 1
    # The same but for rounding.
    file.write_text(text.replace(formula, "return 2.0 * p - (2.0 + 5e-15) * y\n"), "utf-8")
    assert main([*CHOSEN, "--against", str(record), str(other)]) == 1
    told = capfd.readouterr().out
    assert "components: loss Squared()" in told and "slope: " in told and " relative" in told
    assert "1 differ" in told and "value: " not in told


def _run(**quantities: object) -> comparing.Run:
    return {"one": {"sha256": json.dumps(quantities, sort_keys=True), "content": quantities}}


def test_differences_are_measured() -> None:
    nan = float("nan")
    old = _run(a=[1.0, 2.0], b=nan, c="x", d=0.0, e=[1.0], f=[nan], g=1)
    new = _run(a=[1.0, 2.5], b=nan, c="y", d=-0.0, e=[1.0, 2.0], f=[3.0], h=2)
    (found,), added = comparing.compare(old, new)
    assert added == 1
    assert found.numbers == {"a": pytest.approx(0.2), "d": 0.0, "f": float("inf")}
    assert [words.split(":")[0] for words in found.words] == ["c", "e", "g"]
    assert comparing.compare(old, old) == ([], 0)
    assert [each.words for each in comparing.compare(old, {})[0]] == [
        ["not played in the new tree"]
    ]
    assert [each.words for each in comparing.compare({}, old)[0]] == [
        ["not played in the old tree"]
    ]


def test_new_quantities_are_no_difference() -> None:
    assert comparing.compare(_run(a=1.0), _run(a=1.0, b=2.0)) == ([], 1)


def test_differences_are_summed_up_and_shown_where_they_part() -> None:
    words = "the same beginning, " * 40

    def run(number: float, end: str) -> comparing.Run:
        contents = {k: {f"a[{k}]": number, "b": words + end} for k in "12"}
        return {f"family: {k}": {"sha256": end, "content": contents[k]} for k in contents}

    found, _ = comparing.compare(run(1.0, ""), run(1.5, "end"))
    assert found[0].numbers == {"a[1]": pytest.approx(1 / 3)}
    assert any(text.endswith('end"') and len(text) < 400 for text in found[0].words)
    lines = list(comparing.summary(found))
    assert sorted(line.split()[:3] for line in lines) == [
        ["family", "2", "a:"],
        ["family", "2", "b:"],
    ]
    assert all("first in family: 1" in line for line in lines)
