"""Is what `drift_proof` prints true? A short run of the streams, and of the judge itself."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest

from noregret.proof.certificate import Certificate
from noregret.tracking import static, watch
from tests.sizes import sized
from tests.truth.claims import Tally
from tests.truth.drift_streams import KINDS, main, stream


@pytest.mark.parametrize("first", range(0, len(KINDS), 8))
def test_every_statement_is_true(first: int) -> None:
    total, proofs = Tally(), 0
    for index in range(first, first + 8):
        tally, what, proved = stream(99, index, sized(14, None))
        assert not tally.false, "\n".join([f"stream {index}: {what}", *tally.false[:5]])
        total.add(tally)
        proofs += proved
    assert total.checked["static bound"] >= 8 * 7
    assert total.checked["tracker loss"] >= 8


def _caught(*statements: str) -> bool:
    """Return whether one of these statements is found false in a stream."""
    falsehoods = (text for index in range(len(KINDS)) for text in stream(99, index)[0].false)
    return any(text.split(":")[0] in statements for text in falsehoods)


def test_the_judge_catches_a_bound_one_part_in_a_thousand_million_too_high() -> None:
    true_floor = static.static_floor
    with mock.patch.object(watch, "static_floor", lambda *given: true_floor(*given) * (1.0 + 1e-9)):
        assert _caught("static bound")


def test_the_judge_catches_rounding_that_is_ignored() -> None:
    with (
        mock.patch("noregret.rounding.EPSILON", 0.0),
        mock.patch.object(static, "UNDERFLOW", 0.0),
        mock.patch.object(Certificate, "slack", 0.0),
        mock.patch.object(Certificate, "delta", 0.0),
    ):
        assert _caught("static bound", "tracker loss")


def test_the_judge_catches_a_tracker_outside_the_ball() -> None:
    def outside(*given: object) -> np.ndarray:
        return np.full(len(given[0]), np.inf)  # type: ignore[arg-type]

    with (
        mock.patch("noregret.tracking.mixture.row_norms", outside),
        mock.patch("noregret.tracking.mixture.MARGIN", -0.5),
    ):
        assert _caught("inside the ball")


@pytest.mark.soak
def test_a_thousand_streams() -> None:
    assert main(["--count", "1000", "--seed", "7"]) == 0
