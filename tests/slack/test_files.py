"""Model files that no version of the library has written are refused, field by field."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import noregret as nr
from noregret.bandits import Exp3
from noregret.files import store


def test_a_version_that_never_was_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model"
    monkeypatch.setattr(store, "VERSION", 0)
    store.write(path, {}, {})
    monkeypatch.undo()
    with pytest.raises(ValueError, match="version 0 of a noregret model never was"):
        store.read(path)


def test_arrays_of_either_byte_order_come_back_as_numbers(tmp_path: Path) -> None:
    path = tmp_path / "model"
    given = np.array([1.5, -2.0, 3.25])
    store.write(path, {}, {"big": given.astype(">f8"), "little": given.astype("<f8")})
    _, arrays = store.read(path)
    assert arrays["big"].tolist() == arrays["little"].tolist() == given.tolist()


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros(4), r"estimates has shape \(4,\) of float64, expected \(3,\)"),
        (np.zeros(3, np.float32), r"estimates has shape \(3,\) of float32, expected .* float64"),
        (np.array([0.0, np.nan, 0.0]), "estimates holds NaN, expected numbers"),
        (np.array([0.0, np.inf, 0.0]), "estimates holds infinities, expected numbers"),
    ],
)
def test_an_array_that_no_bandit_has_is_refused(
    tmp_path: Path, array: np.ndarray, message: str
) -> None:
    path = tmp_path / "bandit"
    bandit = Exp3(arms=3, eta=0.1, seed=1)
    bandit.play(np.full((5, 3), 0.5))
    bandit.save(path)
    header, arrays = store.read(path)
    store.write(path, header, arrays | {"estimates": array})
    with pytest.raises(ValueError, match=message):
        nr.load(path)
