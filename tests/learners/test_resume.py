"""Cut, save, load, go on: equal to the unbroken run to the bit, wherever the cut is."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import numpy.typing as npt
import pytest
from scipy.sparse import csr_array

import noregret as nr
from noregret import losses, mirrors, rates
from noregret.files import store
from tests.sizes import sized
from tests.truth.learners import COMBOS, Combo, Shifted
from tests.truth.streams import layout

Vector = npt.NDArray[np.float64]

ROUNDS, DIMENSION = sized(120, 300), 6

each_combo = pytest.mark.parametrize("combo", COMBOS, ids=lambda combo: combo.name)


def stream(seed: int) -> tuple[Vector, Vector, Vector]:
    """Return rows of changing sizes, so that sums are refreshed and rates fall on the way."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(ROUNDS, DIMENSION)) * 10.0 ** random.normal(0, 0.4, (ROUNDS, 1))
    X[random.random(X.shape) < 0.4] = 0.0
    weight = np.where(random.random(ROUNDS) < 0.1, 0.0, random.exponential(size=ROUNDS))
    return X, random.choice([-1.0, 1.0], ROUNDS), weight


def fresh(combo: Combo, dimension: int | None = DIMENSION) -> nr.MirrorDescent:
    return combo.learner(np.random.default_rng(7), 1.0, dimension)


def everything(learner: nr.MirrorDescent) -> dict[str, Any]:
    """Return all that a user can see of a learner, as bytes where it is numbers."""
    certificate = learner.certificate()
    seen: dict[str, Any] = {
        "weights": learner.weights.tobytes(),
        "ledger": certificate.ledger.tobytes(),
        "gradient": certificate.gradient.tobytes(),
        "dict": repr(certificate.as_dict(1.5)),
        "text": str(certificate),
        "arrays": {name: array.tobytes() for name, array in learner._arrays().items()},
    }
    if not (isinstance(learner.mirror, mirrors.SoftThreshold) and learner.mirror.l1 > 0.0):
        seen["average"] = learner.average.tobytes()
    return seen


def assert_same(got: nr.MirrorDescent, expected: nr.MirrorDescent) -> None:
    left, right = everything(got), everything(expected)
    for name, value in right.items():
        assert left[name] == value, name


@each_combo
def test_cut_anywhere_resumes_to_the_bit(combo: Combo, tmp_path: Path) -> None:
    X, y, weight = stream(1)
    rows = layout(X, combo.layout)
    whole = fresh(combo)
    expected = whole.learn(rows, y, weight)
    cuts = np.sort(np.random.default_rng(2).integers(0, ROUNDS + 1, sized(3, 10)))
    broken, got, begin = fresh(combo), [], 0
    for cut in [*cuts.tolist(), ROUNDS]:
        got.append(broken.learn(rows[begin:cut], y[begin:cut], weight[begin:cut]))
        broken.save(tmp_path / "model.nr")
        before = broken
        broken = nr.load(tmp_path / "model.nr")
        assert_same(broken, before)
        begin = cut
    assert np.concatenate(got).tobytes() == expected.tobytes()
    assert_same(broken, whole)


@each_combo
def test_chunks_do_not_matter(combo: Combo) -> None:
    X, y, weight = stream(3)
    rows = layout(X, combo.layout)
    whole = fresh(combo)
    expected = whole.learn(rows, y, weight)
    for size in (1, 7, 64):
        parts = fresh(combo)
        got = [
            parts.learn(rows[k : k + size], y[k : k + size], weight[k : k + size])
            for k in range(0, ROUNDS, size)
        ]
        assert np.concatenate(got).tobytes() == expected.tobytes(), f"chunks of {size}"
        assert_same(parts, whole)


def test_chunks_inside_one_call_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, weight = stream(4)
    for combo in COMBOS[:5]:
        rows = layout(X, combo.layout)
        whole, cut = fresh(combo), fresh(combo)
        expected = whole.learn(rows, y, weight)
        with monkeypatch.context() as patch:
            patch.setattr("noregret.rows.examples.CHUNK", 50)
            assert cut.learn(rows, y, weight).tobytes() == expected.tobytes()
        assert_same(cut, whole)


GROWING = [combo for combo in COMBOS if combo.layout.startswith("sparse")]


@pytest.mark.parametrize("combo", GROWING, ids=lambda combo: combo.name)
def test_a_growing_learner_resumes_to_the_bit(combo: Combo, tmp_path: Path) -> None:
    if not fresh(combo, None)._growable:
        with pytest.raises(ValueError, match="columns, the learner knows"):
            learner = fresh(combo, None)
            learner.learn(csr_array((1, 2)), [1])
            learner.learn(csr_array((1, 3)), [1])
        return
    X, y, weight = stream(5)
    unbroken, broken, plain = fresh(combo, None), fresh(combo, None), fresh(combo, None)
    width = 1
    step = ROUNDS // 12
    for k in range(0, ROUNDS, step):
        X[k : k + step, width:] = 0.0
        part = slice(k, k + step)
        rows = layout(X[part, :width], combo.layout)
        expected = unbroken.learn(rows, y[part], weight[part])
        assert broken.learn(rows, y[part], weight[part]).tobytes() == expected.tobytes()
        broken.save(tmp_path / "model.nr")
        broken = nr.load(tmp_path / "model.nr")
        assert_same(broken, unbroken)
        width = min(width + 1, DIMENSION)
    # Features that were never seen change nothing: all at once with the final width.
    plain.learn(layout(X, combo.layout), y, weight)
    assert plain.weights.tobytes() == unbroken.weights.tobytes()
    if combo.mirror != "soft":
        assert plain.average.tobytes() == unbroken.average.tobytes()
    assert plain.certificate().ledger.tobytes() == unbroken.certificate().ledger.tobytes()


def test_saving_or_looking_does_not_disturb(tmp_path: Path) -> None:
    X, y, weight = stream(6)
    for combo in COMBOS:
        rows = layout(X, combo.layout)
        watched, alone = fresh(combo), fresh(combo)
        for k in range(0, sized(30, 100), 10):
            part = slice(k, k + 10)
            watched.learn(rows[part], y[part], weight[part])
            alone.learn(rows[part], y[part], weight[part])
            everything(watched)
            watched.predict(rows[:5])
            watched.save(tmp_path / "model.nr")
        assert_same(watched, alone)


def test_a_fresh_learner_is_saved_too(tmp_path: Path) -> None:
    for dimension in (None, 3):
        learner = nr.MirrorDescent(
            losses.Hinge(), mirrors.PNorm(3), rates.Adaptive(), dimension=dimension, row_limit=2.0
        )
        learner.save(tmp_path / "model.nr")
        loaded = nr.load(tmp_path / "model.nr")
        assert_same(loaded, learner)
        assert loaded.learn([[1.0, 2.0, 3.0]], [1]).tolist() == [0.0]


def test_a_loss_of_ones_own_resumes_where_its_class_is_known(tmp_path: Path) -> None:
    learner = nr.MirrorDescent(Shifted(3.0), mirrors.Euclidean(), rates.Constant(0.1))
    learner.learn([[1.0, 2.0]], [0.5])
    learner.save(tmp_path / "model.nr")
    loaded = nr.load(tmp_path / "model.nr")
    assert loaded.loss == Shifted(3.0)
    assert_same(loaded, learner)


def test_a_loss_of_ones_own_is_refused_in_one_line_elsewhere(tmp_path: Path) -> None:
    learner = nr.MirrorDescent(Shifted(3.0), mirrors.Euclidean(), rates.Constant(0.1))
    learner.learn([[1.0, 2.0]], [0.5])
    learner.save(tmp_path / "model.nr")
    known = store._subclasses

    def elsewhere(base: type) -> list[type]:
        return [kind for kind in known(base) if kind is not Shifted]

    with (
        mock.patch.object(store, "_subclasses", elsewhere),
        pytest.raises(ValueError, match=r"Shifted.*not known here") as caught,
    ):
        nr.load(tmp_path / "model.nr")
    assert "\n" not in str(caught.value)


def test_another_stream_is_noticed() -> None:
    # The comparison itself can fail.
    # Seeds whose last row has a slope that is not 0.
    X, y, weight = stream(sized(9, 8))
    left, right = fresh(COMBOS[0]), fresh(COMBOS[0])
    left.learn(X, y, weight)
    X[-1, 0] = np.nextafter(X[-1, 0], 9.0)
    right.learn(X, y, weight)
    with pytest.raises(AssertionError):
        assert_same(left, right)
