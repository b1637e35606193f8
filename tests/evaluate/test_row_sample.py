"""A sample of the rows of a run: bounded, spread over all of it, and the same however it is cut."""

from __future__ import annotations

import numpy as np
import pytest

import noregret as nr
from noregret.evaluate.row_sample import MOST, RowSample, is_much_worse
from noregret.streams import Block


def _block(numbers: np.ndarray) -> Block:
    """One feature a row, which is the number of the row."""
    count = len(numbers)
    return Block(
        indptr=np.arange(count + 1).astype(np.uint64),
        indices=np.zeros(count, np.uint32),
        values=numbers.astype(np.float64),
        y=np.where(numbers % 3 == 0, 1.0, -1.0),
        width=1,
    )


def _sampled(count: int, step: int) -> RowSample:
    sample = RowSample()
    for start in range(0, count, step):
        numbers = np.arange(start, min(start + step, count))
        sample.add(_block(numbers), -numbers.astype(np.float64))
    return sample


def _rows(sample: RowSample) -> list[float]:
    seen: list[float] = []

    def predict(block: Block) -> np.ndarray:
        seen.extend(block.values.tolist())
        return np.zeros(len(block))

    sample.measured(nr.losses.Squared(), predict)
    return seen


def test_all_rows_are_kept_while_there_is_room() -> None:
    assert _rows(_sampled(MOST, 100)) == list(range(MOST))


@pytest.mark.parametrize("count", [MOST + 1, 50_000])
def test_the_sample_is_bounded_spread_and_the_same_however_it_is_cut(count: int) -> None:
    whole, cut = _sampled(count, count), _sampled(count, 777)
    rows = _rows(whole)
    assert rows == _rows(cut) and len(rows) == len(whole) == len(cut)
    assert MOST // 3 < len(rows) <= MOST
    # Each tenth of the stream has about a tenth of the sample.
    tenths = np.histogram(rows, 10, (0, count))[0] / len(rows)
    assert np.abs(tenths - 0.1).max() < 0.03


def test_both_predictions_are_of_the_same_rows() -> None:
    sample = _sampled(3000, 500)
    made = sample.measured(nr.losses.Squared())
    again = sample.measured(nr.losses.Squared(), lambda block: -block.values)
    assert made == again and made["examples"] == 3000
    assert "repeat_error" not in sample.measured(nr.losses.Hinge())


@pytest.mark.parametrize(
    ("before", "after", "worse"),
    [
        ({"accuracy": 0.999}, {"accuracy": 0.763}, True),
        ({"accuracy": 0.8, "f1": 0.556}, {"accuracy": 0.79, "f1": 0.178}, True),
        ({"accuracy": 0.8, "f1": 0.556}, {"accuracy": 0.82, "f1": 0.6}, False),
        ({"rmse": 1.0, "r2": 0.5}, {"rmse": 1.6, "r2": -0.4}, True),
        ({"rmse": 1.0}, {"rmse": 1.2}, False),
        ({}, {}, False),
    ],
)
def test_much_worse_is_said_of_what_is(
    before: dict[str, float], after: dict[str, float], worse: bool
) -> None:
    assert is_much_worse({"examples": 1000.0} | before, {"examples": 1000.0} | after) is worse
    # Of a handful of rows nothing can be said by labels.
    if "rmse" not in before:
        assert not is_much_worse({"examples": 4.0} | before, {"examples": 4.0} | after)
