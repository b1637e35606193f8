"""What is said of the columns before the first line of a run."""

from __future__ import annotations

from pathlib import Path

import pytest

import noregret as nr
from noregret.cli.telling import describe_columns


@pytest.mark.parametrize(
    ("name", "content", "options", "expected"),
    [
        (
            "t.csv",
            "a,day,city,note,y\n1,2024-01-02,Rome,red car,1\n2,2024-02-03,Oslo,blue car,0\n",
            {"text": "note"},
            "target y (by default; --target names another); "
            "columns: 1 numbers, 1 categories, 1 dates, 1 texts",
        ),
        ("t.csv", "a,b\n1,2\n3,4\n", {"target": "a"}, "target a; columns: 1 numbers"),
        ("t.jsonl", '{"y": 1, "a": 2}\n{"y": 0, "a": 3}\n', {"target": "y"}, "target y"),
        ("t.svm", "1 1:2\n0 2:1\n", {}, ""),
    ],
)
def test_the_target_and_the_kinds_of_columns(
    tmp_path: Path, name: str, content: str, options: dict[str, str], expected: str
) -> None:
    path = tmp_path / name
    path.write_text(content)
    stream = nr.read(path, labels="binary", **options)
    assert describe_columns(stream, options) == expected
