"""Blocks of rows with several scores: true floors, scores added later, resumed to the bit."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import noregret as nr
from noregret.floors.lines import FACTORS
from noregret.floors.pending import Pending
from noregret.floors.planes import Planes
from noregret.proof.ledger import Entry
from noregret.proof.statement import BLOCKS, PREDICTIONS

ROWS, WIDTH, CLASSES = 80, 4, 3
LOSSES = [
    nr.losses.Softmax(),
    nr.losses.MulticlassHinge(0.7),
    nr.losses.OneAgainstRest(),
    nr.losses.OneAgainstRest(nr.losses.Hinge()),
]
RATES = [nr.rates.ScaleFree(), nr.rates.Adaptive()]


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    begin = Pending.__init__
    monkeypatch.setattr(Pending, "__init__", lambda self, size: begin(self, min(size, 37)))


def draw(seed: int = 0) -> tuple[Any, Any, Any]:
    random = np.random.default_rng(seed)
    X = random.normal(size=(ROWS, WIDTH)) * (random.random((ROWS, WIDTH)) < 0.7)
    X *= 10.0 ** random.integers(-1, 2, WIDTH)
    y = np.argmax(X @ random.normal(size=(WIDTH, CLASSES)) + random.normal(size=CLASSES), axis=1)
    return X, y, random.choice([0.0, 0.5, 1.0, 2.0], ROWS)


def learner(loss: Any, rate: Any = RATES[0], blocks: bool = True, **more: Any) -> Any:
    return nr.MatrixDescent(loss, rate=rate, outputs=CLASSES, blocks=blocks, **more)


def lost(loss: Any, data: Any, W: Any) -> float:
    X, y, weight = data
    slopes = np.empty(W.shape[1])
    return sum(
        c * loss.value_and_slopes(float(label), s, slopes)
        for c, label, s in zip(weight, y, X @ W, strict=True)
    )


def require_same(one: Any, other: Any) -> None:
    mine, its = one._to_file(), other._to_file()
    assert mine[0] == its[0] and mine[1].keys() == its[1].keys()
    for name, array in mine[1].items():
        np.testing.assert_array_equal(array, its[1][name], strict=True)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("rate", RATES, ids=str)
def test_no_matrix_of_the_class_is_below_the_floor(loss: Any, rate: Any) -> None:
    for seed in range(2):
        data = draw(seed)
        scale = np.abs(data[0]).max(axis=0)
        plain, one = learner(loss, rate, blocks=False), learner(loss, rate)
        plain.learn(*data)
        one.learn(*data)
        certificate, random = one.certificate(), np.random.default_rng(9)
        sizes = np.ones((WIDTH, CLASSES)) if one.sizes is None else one.sizes
        best = nr.hindsight(data[0] / scale, data[1], loss, l2=1.0, weight=data[2], tol=1e-2)
        directions = [(best.weights.T / scale).T, *random.normal(size=(30, WIDTH, CLASSES))]
        for radius in (0.1, 2.0, 30.0):
            floors = certificate.floors(radius)
            assert floors[PREDICTIONS] == plain.certificate().floor(radius)
            for direction in directions:
                W = radius * direction / np.linalg.norm(sizes * direction)
                assert floors[BLOCKS] <= lost(loss, data, W)
                assert certificate.loss - lost(loss, data, W) <= certificate.regret(W) * (1 + 1e-9)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_one_block_of_all_rows_is_close_to_the_regularised_optimum(loss: Any) -> None:
    X, y, weight = draw()
    X /= np.abs(X).max(axis=0)
    one = learner(loss, RATES[1])
    one._lines.pending.size = 10**6
    one.learn(X, y, weight)
    best = nr.hindsight(X, y, loss, l2=1.0, weight=weight, tol=1e-6)
    found = one.certificate().regularized_floor(1.0)
    assert 0.95 * best.primal <= found <= best.primal


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_no_bit_depends_on_cuts_copies_files_or_layouts(loss: Any, tmp_path: Path) -> None:
    X, y, weight = draw()
    whole = learner(loss)
    whole.learn(X, y, weight)
    for layout, cuts in ((np.asarray, (1, 2, 40)), (sp.csr_matrix, (33, 34))):
        cut = learner(loss)
        for begin, end in zip((0, *cuts), (*cuts, ROWS), strict=True):
            cut.learn(layout(X[begin:end]), y[begin:end], weight[begin:end])
            cut.save(tmp_path / "model.nr")
            cut = copy.deepcopy(nr.load(tmp_path / "model.nr"))
        floors = cut.certificate().floors(1.0)
        assert floors[BLOCKS] == whole.certificate().floors(1.0)[BLOCKS]
        if layout is np.asarray:
            require_same(cut, whole)


@pytest.mark.parametrize("size", [37, 10**6])
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_a_score_added_later_belongs_to_the_losses_of_later_rows(loss: Any, size: int) -> None:
    """The loss of the first rows is over two scores, for every matrix."""
    X, y, weight = draw()
    early, late = (X[:40], np.minimum(y[:40], 1), weight[:40]), (X[40:], y[40:], weight[40:])
    one = nr.MatrixDescent(loss, outputs=2, blocks=True)
    one._lines.pending.size = size
    one.learn(*early)
    one.grow(CLASSES)
    one.learn(*late)
    certificate, random = one.certificate(), np.random.default_rng(9)
    assert certificate.blocks[0].rounds == ROWS
    sizes = np.where(one.sizes > 0.0, one.sizes, 1.0)
    for radius in (0.0, 0.1, 2.0, 30.0):
        floor = certificate.floors(radius)[BLOCKS]
        for direction in random.normal(size=(30, WIDTH, CLASSES)):
            W = radius * direction / np.linalg.norm(sizes * direction)
            assert floor <= lost(loss, early, W[:, :2]) + lost(loss, late, W)


def test_theta_is_that_of_the_planes_in_the_units_so_far(monkeypatch: Any) -> None:
    """theta = -Z / (b m) before and after a block, for each b that is tried at a print, too."""
    choose, enter, seen = Planes.choose, Planes.enter, []

    def judge(planes: Planes) -> None:
        sizes = np.where(planes.sizes > 0.0, planes.sizes, 1.0)[:, None]
        expected = -planes.sums.sum(axis=2) / (planes.strength * sizes)
        np.testing.assert_allclose(planes.theta, expected, rtol=1e-9, atol=1e-12)
        seen.append(planes.strength)

    def judged_before(self: Planes, *given: Any) -> Any:
        judge(self)
        return choose(self, *given)

    def judged_after(self: Planes, *given: Any) -> None:
        enter(self, *given)
        judge(self)

    monkeypatch.setattr(Planes, "choose", judged_before)
    monkeypatch.setattr(Planes, "enter", judged_after)
    one = learner(LOSSES[0])
    one.learn(*draw())
    assert len(one._lines.planes.slopes) > 0
    assert one.certificate().blocks and len(set(seen)) == len(FACTORS)


def test_sets_of_labels_have_lines_of_every_score() -> None:
    X, _, weight = draw()
    random = np.random.default_rng(2)
    sets = (random.random((ROWS, CLASSES)) < 0.4).astype(float)
    loss = nr.losses.OneAgainstRest()
    one = learner(loss)
    one.learn(X[:30], sets[:30], weight[:30])
    one = copy.deepcopy(one)
    one.learn(X[30:], sets[30:], weight[30:])
    certificate = one.certificate()
    for radius in (0.1, 2.0, 30.0):
        floor = certificate.floors(radius)[BLOCKS]
        for direction in random.normal(size=(30, WIDTH, CLASSES)):
            W = radius * direction / np.linalg.norm(one.sizes * direction)
            slopes = np.empty(CLASSES)
            total = sum(
                c * loss.value_and_slopes(target, s, slopes)
                for c, target, s in zip(weight, sets, X @ W, strict=True)
            )
            assert floor <= total


def test_two_classes_become_two_scores_to_the_bit() -> None:
    X, y, weight = draw()
    signs, binary = np.where(y > 0, 1.0, -1.0), None
    binary = nr.MirrorDescent(
        nr.losses.Logistic(), nr.mirrors.Euclidean(), nr.rates.ScaleFree(), blocks=True
    )
    binary.learn(X[:50], signs[:50], weight[:50])
    grown = nr.MatrixDescent.from_binary(binary)
    grown.learn(X[50:], (y[50:] > 0).astype(int), weight[50:])
    whole = nr.MatrixDescent(nr.losses.OneAgainstRest(), outputs=2, blocks=True)
    whole.learn(X, (y > 0).astype(int), weight)
    require_same(grown, whole)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_single_rows_are_held_back_like_many(loss: Any) -> None:
    X, y, _ = draw()
    one, many = learner(loss), learner(loss)
    many.learn(sp.csr_matrix(X), y)
    for x, label in zip(X, y, strict=True):
        one.learn_one(np.flatnonzero(x).astype(np.uint32), x[x != 0.0], int(label))
    require_same(one, many)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_a_closed_block_keeps_no_row_and_the_floor_holds(loss: Any) -> None:
    X, y, weight = draw()
    one = learner(loss)
    one.learn(X, y, weight)
    before = one.certificate().floor(2.0)
    one._lines.close()
    assert len(one._lines.pending) == 0 and one._lines.rounds == ROWS
    assert 0.9 * before <= one.certificate().floor(2.0) <= before + 1e-9


@pytest.mark.parametrize("loss", LOSSES[:2], ids=str)
def test_a_row_of_weight_0_leaves_the_units_alone(loss: Any) -> None:
    X, y, weight = draw()
    weight[5] = 0.0
    outlier = X.copy()
    outlier[5] *= 1e6
    floors = []
    for rows in (X, outlier):
        one = learner(loss)
        one.learn(rows, y, weight)
        floors.append(one.certificate().floors(1.0)[BLOCKS])
    assert floors[0] == pytest.approx(floors[1], rel=1e-9) and floors[0] > 0.0


def test_roundings_of_a_score_added_later_count_in_its_own_units() -> None:
    learner = nr.MatrixDescent(nr.losses.Softmax(), blocks=True)
    learner.learn([[1e6], [-1e6]], [0, 1])
    (alone,) = {float(one.ledger[Entry.SCALED_TRAVEL]) for one in learner.certificate().blocks[:1]}
    learner.grow(3)
    learner.learn([[1.0], [0.5]], [2, 0])
    sizes = learner.sizes
    assert sizes is not None and sizes[0].tolist() == [1e6, 1e6, 1.0]
    for block in learner.certificate().blocks:
        # In units of the size that the first scores have seen this would be a few units.
        assert block.ledger[Entry.SCALED_TRAVEL] >= 1e6 * alone > 0.0
