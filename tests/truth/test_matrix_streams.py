"""Is what a learner of several scores proves true? A short run, and of the judge itself."""

from __future__ import annotations

from unittest import mock

import pytest

from noregret.learners.matrix_certificate import MatrixCertificate
from tests.truth.claims import Tally
from tests.truth.matrix_streams import main, stream

STREAMS = range(36)


@pytest.mark.parametrize("first", STREAMS[::12])
def test_every_statement_is_true(first: int) -> None:
    total = Tally()
    for index in range(first, first + 12):
        tally, what = stream(99, index)
        assert not tally.false, "\n".join([f"stream {index}: {what}", *tally.false[:5]])
        total.add(tally)
    assert total.checked["floor"] >= 40 and total.checked["regret"] >= 40
    assert total.checked["columns"] >= 40 and total.checked["loss"] >= 8


def _caught() -> set[str]:
    tallies = [stream(99, index)[0] for index in STREAMS]
    return {text.split(":")[0] for tally in tallies for text in tally.false}


def test_the_judge_catches_floors_one_part_in_a_million_million_too_high() -> None:
    true_floor = MatrixCertificate.floor

    def higher(self: MatrixCertificate, radius: float | None = None, norm: object = None) -> float:
        return true_floor(self, radius, norm) * (1.0 + 1e-12)  # type: ignore[arg-type]

    with mock.patch.object(MatrixCertificate, "floor", higher):
        assert {"floor", "columns"} <= _caught()


def test_the_judge_catches_rounding_that_is_ignored() -> None:
    with (
        mock.patch.object(MatrixCertificate, "slack", 0.0),
        mock.patch.object(MatrixCertificate, "delta", 0.0),
        mock.patch("noregret.rounding.EPSILON", 0.0),
        mock.patch("noregret.mirrors.norms.EPSILON", 0.0),
        mock.patch("noregret.mirrors.predictors.EPSILON", 0.0),
    ):
        assert {"floor", "1-norm", "regularised"} <= _caught()


@pytest.mark.soak
def test_a_thousand_streams() -> None:
    assert main(["--count", "1000", "--seed", "7"]) == 0
