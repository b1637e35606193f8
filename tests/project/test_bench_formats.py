"""The bench's files of text hold what the matrix does."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from bench.data import make
from bench.formats import as_text, write
from noregret.streams.hashing import mask
from tests.streams.opening import open_svmlight, open_vw
from tests.streams.plain_hashing import hash_name

pytestmark = pytest.mark.compiled


def one(value: float) -> str:
    return as_text(csr_matrix([[value]]), np.ones(1), "svmlight").decode()


PLAIN = "1 -1 0.1 0.154545 1e-4 1e-5 1.5e-280 2.5e22 100 123456 1234567 999999.7 0.99999996 12.5"
HARDER = "100000 1e6 -0.00012345678 1e280"


@pytest.mark.parametrize("value", [float(text) for text in f"{PLAIN} {HARDER}".split()])
def test_numbers_are_written_as_python_writes_them(value: float) -> None:
    assert one(value) == f"1 1:{value:.6g}\n"


@pytest.mark.parametrize("value", [5e-324, 1e-300, 1.7e308, np.inf, np.nan])
def test_numbers_that_it_cannot_write_are_refused(value: float) -> None:
    with pytest.raises(ValueError, match="expected values of size 1e-290 to 1e290"):
        one(value)


def test_many_numbers_are_written_as_python_writes_them() -> None:
    rng = np.random.default_rng(3)
    values = rng.standard_normal(2000) * 10.0 ** rng.integers(-8, 9, 2000)
    text = as_text(csr_matrix(values[:, None]), np.ones(2000), "svmlight").decode()
    assert text.splitlines() == [f"1 1:{value:.6g}" for value in values]


def test_both_formats_hold_the_set(tmp_path: Path) -> None:
    data = make(300, features=500, nonzeros=6)
    for name in ("svmlight", "vw"):
        assert write(data, tmp_path / name, name) == (tmp_path / name).stat().st_size
    expected = np.array([float(f"{value:.6g}") for value in data.X.data])
    [plain] = open_svmlight(tmp_path / "svmlight")
    np.testing.assert_array_equal(plain.values, expected)
    np.testing.assert_array_equal(plain.indices, data.X.indices)
    np.testing.assert_array_equal(plain.y, data.y)
    [hashed] = open_vw(tmp_path / "vw")
    np.testing.assert_array_equal(hashed.y, data.y)
    slots = (data.X.indices.astype(np.int64) + 1 + hash_name(b"f")) & mask(18)
    for begin, end in itertools.pairwise(data.X.indptr.tolist()):
        order = begin + np.argsort(slots[begin:end], kind="stable")
        np.testing.assert_array_equal(hashed.indices[begin:end], slots[order])
        np.testing.assert_array_equal(hashed.values[begin:end], expected[order])
