"""Is what a learner of several scores proves true? A short run, and of the judge itself."""

from __future__ import annotations

from unittest import mock

import pytest

from noregret.learners.matrix_certificate import MatrixCertificate
from tests.sizes import sized
from tests.truth.claims import Tally
from tests.truth.matrix_streams import main, stream

#: A stream of each loss, map and rate among the first 36, those of few rounds or scores.
CHOSEN = [2, 3, 12, 13, 15, 16, 17, 19, 20, 24, 26, 27, 29]
STREAMS = [*CHOSEN, *(index for index in range(36) if index not in CHOSEN)]


@pytest.mark.parametrize("streams", sized([CHOSEN], [STREAMS[k::3] for k in range(3)]))
def test_every_statement_is_true(streams: list[int]) -> None:
    total = Tally()
    for index in streams:
        tally, what = stream(99, index)
        assert not tally.false, "\n".join([f"stream {index}: {what}", *tally.false[:5]])
        total.add(tally)
    assert total.checked["floor"] >= 40 and total.checked["regret"] >= 40
    assert total.checked["columns"] >= 40 and total.checked["loss"] >= 8


def _caught(statements: set[str]) -> bool:
    """Return whether each of these statements is found false in a stream."""
    missing = set(statements)
    for index in STREAMS:
        missing -= {text.split(":")[0] for text in stream(99, index)[0].false}
        if not missing:
            return True
    return False


def test_the_judge_catches_floors_one_part_in_a_million_million_too_high() -> None:
    true_floor = MatrixCertificate.floor

    def higher(self: MatrixCertificate, radius: float | None = None, norm: object = None) -> float:
        return true_floor(self, radius, norm) * (1.0 + 1e-12)  # type: ignore[arg-type]

    with mock.patch.object(MatrixCertificate, "floor", higher):
        assert _caught({"floor", "columns"})


def test_the_judge_catches_rounding_that_is_ignored() -> None:
    with (
        mock.patch.object(MatrixCertificate, "slack", 0.0),
        mock.patch.object(MatrixCertificate, "delta", 0.0),
        mock.patch("noregret.rounding.EPSILON", 0.0),
        mock.patch("noregret.mirrors.norms.EPSILON", 0.0),
        mock.patch("noregret.mirrors.predictors.EPSILON", 0.0),
    ):
        assert _caught({"floor", "1-norm", "regularised"})


@pytest.mark.soak
def test_a_thousand_streams() -> None:
    assert main(["--count", "1000", "--seed", "7"]) == 0
