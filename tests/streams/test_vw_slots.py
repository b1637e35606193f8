"""Features are in the slots of Vowpal Wabbit, by what it printed and by itself where it is there.

`vw_audit.json` holds lines and, for each, slots and values as `vw --audit` of version 9.11
shows them, with and without interactions.
"""

from __future__ import annotations

import importlib.util
import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from noregret.streams.format import padded
from noregret.streams.vw import VwFormat
from tests.streams.opening import vw_format
from tests.streams.vw_examples import NAMES, SPACES, rows_of

Audit = list[tuple[bytes, list[tuple[int, float]]]]
RECORDED = json.loads((Path(__file__).parent / "vw_audit.json").read_text(encoding="utf-8"))


def compare(text_format: VwFormat, audit: Audit) -> None:
    """Hold rows to what was printed: single precision, six digits."""
    (parsed,) = text_format.parse(*padded(b"\n".join(line for line, _ in audit)))
    assert len(parsed.faults) == 0
    for row, (line, features) in zip(rows_of(parsed), audit, strict=True):
        expected: dict[int, float] = {}
        for slot, value in features:
            expected[slot] = expected.get(slot, 0.0) + value
        assert row == pytest.approx(expected, rel=1e-5), line


@pytest.mark.parametrize("record", RECORDED, ids=lambda r: f"{r['bits']} {r['interactions']}")
def test_slots_are_those_that_were_printed(record: dict) -> None:
    text_format = vw_format(
        bits=record["bits"],
        hash=record["hash"],
        interactions=record["interactions"],
        constant=1.0,
    )
    audit = [(line.encode("latin1"), features) for line, features in record["examples"]]
    compare(text_format, audit)


def test_enough_was_recorded() -> None:
    assert sum(len(record["examples"]) for record in RECORDED) >= 300


def run_vw(folder: Path, lines: list[bytes], *options: str) -> Audit:
    """Return lines with the slots and values that vw prints."""
    path = folder / "lines.vw"
    path.write_bytes(b"\n".join(lines) + b"\n")
    command = [sys.executable, "-m", "vowpalwabbit", "--audit", "--quiet", "-t", "-d", str(path)]
    run = subprocess.run([*command, *options], capture_output=True, cwd=folder, check=True)
    printed = [line[1:] for line in run.stdout.split(b"\n") if line.startswith(b"\t")]
    audit = []
    for line, features in zip(lines, printed, strict=True):
        parts = [feature.rsplit(b":", 3) for feature in features.split(b"\t")]
        audit.append((line, [(int(slot), float(value)) for _, slot, value, _ in parts]))
    return audit


@pytest.mark.skipif(
    importlib.util.find_spec("vowpalwabbit") is None, reason="vowpalwabbit is not installed"
)
@pytest.mark.parametrize(
    ("bits", "rule", "interactions"),
    [(18, "strings", []), (22, "all", ["::"]), (18, "strings", ["ba", "aab", "c:"])],
)
def test_slots_are_those_of_vw_itself(
    tmp_path: Path, bits: int, rule: str, interactions: list[str]
) -> None:
    rng = random.Random(bits)
    values = [b"", b":1", b":0.5", b":-2", b":1e2", b":0", b":red", b":b|c"]
    lines = []
    for _ in range(150):
        line = b"1 "
        for _ in range(rng.randrange(1, 4)):
            space = rng.choice(SPACES)
            line += b"|" + space + (rng.choice([b"", b":2"]) if space else b"")
            for _ in range(rng.randrange(4)):
                line += b" " + rng.choice(NAMES) + rng.choice(values)
        lines.append(line)
    options = [word for term in interactions for word in ("--interactions", term)]
    audit = run_vw(tmp_path, lines, "-b", str(bits), "--hash", rule, *options)
    compare(vw_format(bits=bits, hash=rule, interactions=interactions, constant=1.0), audit)  # type: ignore[arg-type]
