"""What the test of the runner itself is run against: one formula, asserted."""

from __future__ import annotations

from noregret.rounding import down


def test_down_rounds_down() -> None:
    assert down(0.99999999) == "0.999999"
