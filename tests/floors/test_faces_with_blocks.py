"""Blocks of rows behind an aggregate and behind estimators: floors that are higher, and true."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.floors.pending import Pending
from noregret.proof.statement import BLOCKS, PARABOLAS, PREDICTIONS

ROWS, WIDTH = 90, 3
LOGISTIC = nr.losses.Logistic()


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    begin = Pending.__init__
    monkeypatch.setattr(Pending, "__init__", lambda self, size: begin(self, min(size, 37)))


def draw(classes: int = 2, seed: int = 0) -> tuple[Any, Any]:
    random = np.random.default_rng(seed)
    X = random.normal(size=(ROWS, WIDTH)) * [1.0, 5.0, 0.2]
    scores = X @ random.normal(size=(WIDTH, classes)) + random.normal(size=(ROWS, classes))
    return X, np.argmax(scores, axis=1)


def with_constant(X: Any) -> Any:
    return np.column_stack([X, np.ones(len(X))])


def optimum(rows: Any, y: Any, loss: Any, radius: float) -> float:
    """Return the least loss over ||m u||_2 <= radius, rounded up."""
    m = np.abs(rows).max(axis=0)
    return float(nr.hindsight(rows / m, y, loss, radius=radius, tol=1e-6).primal)


def aggregate(blocks: Any = True, loss: Any = LOGISTIC) -> Any:
    rates = (nr.rates.ScaleFree(), nr.rates.CoinBetting(), nr.rates.Adaptive())
    learners = [nr.MirrorDescent(loss, nr.mirrors.Euclidean(), rate) for rate in rates]
    return nr.Aggregate(learners, blocks=blocks)


@pytest.mark.parametrize("kept", [True, "parabolas"])
def test_an_aggregate_has_floors_of_its_own_blocks(kept: Any) -> None:
    X, y = draw()
    signs = np.where(y == 1, 1.0, -1.0)
    plain, raised = aggregate(False), aggregate(kept)
    np.testing.assert_array_equal(plain.learn(X, signs), raised.learn(X, signs))
    old, new = plain.certificate(), raised.certificate()
    assert old.loss == new.loss and raised.blocks == kept
    for radius in (0.05, 0.3, 1.0):
        floors = new.floors(radius)
        assert floors[PREDICTIONS] == old.floor(radius)
        best = nr.hindsight(X, signs, LOGISTIC, radius=radius, tol=1e-6).primal
        assert max(floors.values()) <= best
        assert radius == 1.0 or floors[PREDICTIONS] < floors[BLOCKS] > 0.8 * best
        assert (PARABOLAS in floors) == (kept == "parabolas")
    assert "blocks of rows" in new.text(0.3)


@pytest.mark.parametrize("kept", [True, "parabolas"])
def test_an_aggregate_goes_on_to_the_bit(kept: Any, tmp_path: Path) -> None:
    X, y = draw()
    signs = np.where(y == 1, 1.0, -1.0)
    whole, cut = aggregate(kept), aggregate(kept)
    whole.learn(X, signs)
    for begin, end in ((0, 1), (1, 40), (40, 41), (41, ROWS)):
        cut.learn(X[begin:end], signs[begin:end])
        cut.save(tmp_path / "model.nr")
        cut = copy.deepcopy(nr.load(tmp_path / "model.nr"))
        assert cut.blocks == kept
    mine, its = cut._to_file(), whole._to_file()
    assert mine[0] == its[0] and mine[1].keys() == its[1].keys()
    for name, array in mine[1].items():
        np.testing.assert_array_equal(array, its[1][name], strict=True)
    assert cut.certificate().floors(0.3) == whole.certificate().floors(0.3)


def test_a_closed_aggregate_keeps_no_row() -> None:
    X, y = draw()
    signs = np.where(y == 1, 1.0, -1.0)
    one = aggregate()
    one.learn(X, signs)
    before, best = one.certificate().floor(0.3), nr.hindsight(X, signs, LOGISTIC, radius=0.3).primal
    one.close_block()
    assert len(one._book._lines.pending) == 0
    assert 0.9 * before <= one.certificate().floor(0.3) <= best
    _, arrays = one._to_file()
    assert not arrays["blocks_values"].size and not arrays["blocks_y"].size


def test_an_aggregate_whose_blocks_lack_rows_is_refused() -> None:
    X, y = draw()
    one = aggregate()
    one.learn(X, np.where(y == 1, 1.0, -1.0))
    header, arrays = one._to_file()
    damaged = arrays | {"blocks_entered": arrays["blocks_entered"] - 1}
    with pytest.raises(ValueError, match="the blocks hold 89 rows of 90"):
        nr.Aggregate._from_file(header, damaged)


def classifier(**more: Any) -> Any:
    online = pytest.importorskip("noregret.sklearn", reason="scikit-learn is not installed")
    return online.OnlineClassifier(passes=1, shuffle=False, **{"rate": "scale_free", **more})


@pytest.mark.parametrize("classes", [2, 3])
def test_scikit_learn_classifiers(classes: int) -> None:
    X, y = draw(classes)
    plain, raised = classifier().fit(X, y), classifier(blocks=True).fit(X, y)
    np.testing.assert_array_equal(plain.coef_, raised.coef_)
    assert raised.get_params()["blocks"] is True and plain.get_params()["blocks"] is False
    old, new = plain.certificate_, raised.certificate_
    assert old.loss == new.loss
    for radius in (0.3, 2.0):
        floors = new.floors(radius)
        assert floors[PREDICTIONS] == old.floor(radius) and floors[BLOCKS] > 0.5 * new.loss
    again = pickle.loads(pickle.dumps(raised))
    assert again.certificate_.floors(2.0) == new.floors(2.0)
    if classes == 2:
        best = optimum(with_constant(X), np.where(y == 1, 1.0, -1.0), LOGISTIC, 2.0)
        assert 0.85 * best < new.floor(2.0) <= best


def test_scikit_learn_calls_that_end_anywhere_change_nothing() -> None:
    X, y = draw()
    whole, cut = classifier(blocks=True), classifier(blocks=True)
    whole.partial_fit(X, y, classes=[0, 1])
    for begin, end in ((0, 1), (1, 50), (50, ROWS)):
        cut.partial_fit(X[begin:end], y[begin:end], classes=[0, 1])
        cut = pickle.loads(pickle.dumps(cut))
    assert cut.certificate_.floors(1.0) == whole.certificate_.floors(1.0)


def test_scikit_learn_regression_has_the_optimum_as_floor() -> None:
    online = pytest.importorskip("noregret.sklearn", reason="scikit-learn is not installed")
    X, y = draw()
    targets = X @ [1.0, -0.2, 3.0] + y
    model = online.OnlineRegressor(passes=1, shuffle=False, blocks=True, rate="scale_free").fit(
        X, targets
    )
    for radius in (0.5, 3.0, 50.0):
        best = optimum(with_constant(X), targets, nr.losses.Squared(), radius)
        found = model.certificate_.floor(radius)
        assert best * (1.0 - 2e-6) <= found <= best


@pytest.mark.parametrize("kind", ["OnlineClassifier", "OnlineRegressor"])
def test_river(kind: str) -> None:
    pytest.importorskip("river", reason="river is not installed")
    import noregret.river

    X, y = draw()
    make = getattr(noregret.river, kind)
    plain, raised = make(), make(blocks=True)
    for x, label in zip(X.tolist(), y.tolist(), strict=True):
        row = dict(enumerate(x))
        assert plain.predict_one(row) == raised.predict_one(row)
        for model in (plain, raised):
            model.learn_one(row, bool(label) if kind == "OnlineClassifier" else float(label))
        raised = copy.deepcopy(raised)
    old, new = plain.certificate(), raised.certificate()
    loss = LOGISTIC if kind == "OnlineClassifier" else nr.losses.Squared()
    signs = np.where(y == 1, 1.0, -1.0) if kind == "OnlineClassifier" else y.astype(float)
    for radius in (0.3, 2.0):
        floors = new.floors(radius)
        assert floors[PREDICTIONS] == old.floor(radius)
        best = optimum(with_constant(X), signs, loss, radius)
        assert 0.75 * best < max(floors.values()) <= best
