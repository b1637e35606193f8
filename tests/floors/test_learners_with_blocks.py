"""Learners that hold back blocks of rows: higher floors, the same play, resumed to the bit."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import noregret as nr
from noregret.floors import BlockLines
from noregret.floors.pending import Pending
from noregret.proof.ledger import Entry
from noregret.proof.statement import BLOCKS, PARABOLAS, PREDICTIONS

ROWS, WIDTH = 90, 4
LOGISTIC = nr.losses.Logistic()

MAKERS: dict[str, Callable[..., Any]] = {
    **{
        str(rate): lambda rate=rate, **more: nr.MirrorDescent(
            LOGISTIC, nr.mirrors.Euclidean(), rate, **more
        )
        for rate in (
            nr.rates.ScaleFree(),
            nr.rates.CoinBetting(),
            nr.rates.PerCoordinate(),
            nr.rates.Adaptive(),
            nr.rates.Doubling(),
            nr.rates.StronglyConvex(0.1),
        )
    },
    "entropy": lambda **more: nr.MirrorDescent(
        nr.losses.Hinge(), nr.mirrors.SignedEntropy(2.0), nr.rates.Adaptive(), **more
    ),
    "agile": lambda **more: nr.MirrorDescent(
        LOGISTIC, nr.mirrors.Euclidean(), nr.rates.InverseSqrt(), nr.domains.Ball(1.0), lazy=False,
        **more,
    ),
    "targets": lambda **more: nr.MirrorDescent(
        nr.losses.Squared(), nr.mirrors.Euclidean(), nr.rates.ScaleFree(), **more
    ),
    "dual": lambda **more: nr.DualAscent(LOGISTIC, nr.mirrors.Euclidean(), 0.3, **more),
    "leader": lambda **more: nr.DualAscent(
        nr.losses.Hinge(), nr.mirrors.Euclidean(), 0.3, "leader", **more
    ),
}  # fmt: skip


#: Every learner with lines, those with a curved loss with parabolas, too.
KEPT = [(name, True) for name in MAKERS] + [
    (name, "parabolas") for name in MAKERS if name not in ("entropy", "leader")
]


@pytest.fixture(params=KEPT, ids=lambda one: f"{one[0]}, {one[1]}")
def make(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that makes a learner; its blocks hold a few rows."""
    begin = Pending.__init__
    monkeypatch.setattr(Pending, "__init__", lambda self, size: begin(self, 37))
    name, kept = request.param
    maker = MAKERS[name]
    return lambda blocks=False, **more: maker(blocks=blocks and kept, **more)


def draw(seed: int = 0) -> tuple[Any, Any, Any]:
    random = np.random.default_rng(seed)
    X = random.normal(size=(ROWS, WIDTH)) * (random.random((ROWS, WIDTH)) < 0.7)
    X *= 10.0 ** random.integers(-1, 2, WIDTH)
    y = np.sign(X @ random.normal(size=WIDTH) + random.normal(size=ROWS) + 1e-9)
    return X, y, random.choice([0.0, 0.5, 1.0, 2.0], ROWS)


def learnt(make: Any, **more: Any) -> Any:
    learner = make(**more)
    learner.learn(*draw())
    return learner


def require_same(one: Any, other: Any) -> None:
    mine, its = one._to_file(), other._to_file()
    assert mine[0] == its[0] and mine[1].keys() == its[1].keys()
    for name, array in mine[1].items():
        np.testing.assert_array_equal(array, its[1][name], strict=True)


def test_blocks_change_the_floor_only(make: Any) -> None:
    plain, with_blocks = learnt(make), learnt(make, blocks=True)
    np.testing.assert_array_equal(plain.weights, with_blocks.weights)
    old, new = plain.certificate(), with_blocks.certificate()
    assert old.loss == new.loss
    for radius in (0.1, 1.0, 5.0):
        floors = new.floors(radius)
        known = {PREDICTIONS, BLOCKS, PARABOLAS}
        assert floors[PREDICTIONS] == old.floor(radius) and {BLOCKS} <= floors.keys() <= known
        assert (PARABOLAS in floors) == any(one.share(radius) > 0.0 for one in new.curves)
        assert new.floor(radius) == max(floors.values())
        own, its = old.bounds_for(radius), new.bounds_for(radius)
        assert [str(bound) for bound in own] == [str(bound) for bound in its]


def test_no_predictor_of_the_class_is_below_a_floor(make: Any) -> None:
    """The class is that of the learner: features in units of their sizes for scale-free ones."""
    learner = learnt(make, blocks=True)
    X, y, weight = draw()
    certificate, random = learner.certificate(), np.random.default_rng(1)
    sizes = getattr(learner, "sizes", None)
    norm = certificate.mirror.predictors()
    for radius in (0.03, 1.0, 20.0):
        floors = certificate.floors(radius)
        best = np.inf
        for direction in random.normal(size=(200, WIDTH)):
            u = direction / norm.norm(direction)
            u = radius * (u if sizes is None else u / np.where(sizes > 0.0, sizes, 1.0))
            lost = sum(
                c * certificate.loss_function.value(label, p)
                for c, label, p in zip(weight, y, X @ u, strict=True)
            )
            best = min(best, lost + 0.5 * certificate.curvature * float(u @ u))
            assert certificate.loss - lost <= certificate.regret(u) + 1e-9 * (1.0 + lost) or (
                certificate.curvature > 0.0
            )
        assert max(floors.values()) <= best


def test_floors_are_the_heights_of_the_lines_in_the_units_of_the_learner(make: Any) -> None:
    learner = learnt(make, blocks=True)
    certificate, sizes = learner.certificate(), getattr(learner, "sizes", None)
    if sizes is None or certificate.curvature > 0.0:
        return
    units = np.where(sizes > 0.0, sizes, 1.0)
    for radius in (0.03, 1.0, 20.0):
        heights = [
            ledger[Entry.INTERCEPT] - radius * np.linalg.norm(Z / units)
            for ledger, Z in learner._lines.proved()
        ]
        floor = certificate.floors(radius)[BLOCKS]
        assert floor == pytest.approx(max(*heights, 0.0), rel=1e-9, abs=1e-9)


def test_the_rounding_of_other_lines_is_that_of_their_own_sums(make: Any) -> None:
    for lines in learnt(make, blocks=True).certificate().blocks:
        assert lines.delta == lines.moved(Entry.TRAVEL) > 0.0


def test_no_bit_depends_on_cuts_copies_files_or_layouts(make: Any, tmp_path: Path) -> None:
    X, y, weight = draw()
    whole = learnt(make, blocks=True)
    for layout, cuts in ((np.asarray, (1, 2, 40)), (sp.csr_matrix, (33, 34))):
        cut = make(blocks=True)
        for begin, end in zip((0, *cuts), (*cuts, ROWS), strict=True):
            cut.learn(layout(X[begin:end]), y[begin:end], weight[begin:end])
            cut.save(tmp_path / "model.nr")
            cut = nr.load(tmp_path / "model.nr")
            kept = cut.certificate()
            cut = copy.deepcopy(cut)
            assert str(cut.certificate()) == str(kept)
        if layout is np.asarray:
            require_same(cut, whole)
        else:
            assert cut.certificate().floors(1.0)[BLOCKS] == whole.certificate().floors(1.0)[BLOCKS]


def test_single_rows_are_held_back_like_many() -> None:
    X, y, _ = draw()
    for layout in ("dense", "sparse"):
        one, many = (MAKERS["ScaleFree()"](blocks=True) for _ in range(2))
        one._lines, many._lines = BlockLines(LOGISTIC, 37), BlockLines(LOGISTIC, 37)
        many.learn(X if layout == "dense" else sp.csr_matrix(X), y)
        for x, label in zip(X, y, strict=True):
            if layout == "dense":
                one.learn(x[None], np.array([label]))
            else:
                one.learn_one(np.flatnonzero(x).astype(np.uint32), x[x != 0.0], label)
        require_same(one, many)


def test_refused_rows_are_not_held_back() -> None:
    X, y, weight = draw()
    learner, expected = (MAKERS["ScaleFree()"](blocks=True) for _ in range(2))
    expected.learn(X[:40], y[:40], weight[:40])
    learner.learn(X[:40], y[:40], weight[:40])
    bad = X.copy()
    bad[60, 2] = np.nan
    with pytest.raises(ValueError, match="row 20"):
        learner.learn(bad[40:], y[40:], weight[40:])
    require_same(learner, expected)


def test_rows_before_one_that_overflows_are_held_back() -> None:
    rate, squared = nr.rates.Constant(0.01), nr.losses.Squared()
    learner, expected = (
        nr.MirrorDescent(squared, nr.mirrors.Euclidean(), rate, blocks=True) for _ in range(2)
    )
    X, y, weight = draw()
    X[70], y[70], weight[70] = 1e99, 1e99, 1.0
    expected.learn(X[:70], y[:70], weight[:70])
    with pytest.raises(OverflowError):
        learner.learn(X, y, weight)
    assert learner.rounds == 70
    require_same(learner, expected)


def test_offsets_and_margins_of_trials_belong_to_the_losses_of_every_predictor() -> None:
    """One feature: every u is tried."""
    random = np.random.default_rng(3)
    x, y = random.normal(size=(50, 1)), random.choice([-1.0, 1.0], 50)
    offset, margin = random.normal(size=50), 3.0 * random.random(50)
    learner = nr.DualAscent(nr.losses.Hinge(), nr.mirrors.Euclidean(), 0.3, blocks=True)
    learner.learn(x, y, offset=offset, margin=margin)
    certificate = learner.certificate()
    for radius in (0.1, 1.0, 10.0):
        grid = np.linspace(-radius, radius, 4001)
        losses = np.maximum(margin - y * (grid[:, None] * x[:, 0] + offset), 0.0).sum(axis=1)
        floors = certificate.floors(radius)
        assert 0.9 * losses.min() < floors[BLOCKS] <= losses.min()
        assert floors[PREDICTIONS] <= losses.min()


def test_losses_without_a_conjugate_are_refused() -> None:
    class Own(nr.losses.Loss):
        labels = "real"

        def value(self, y: float, p: float) -> float:
            return (p - y) * (p - y)

        def slope(self, y: float, p: float) -> float:
            return 2.0 * (p - y)

    with pytest.raises(ValueError, match="blocks"):
        nr.MirrorDescent(Own(), nr.mirrors.Euclidean(), nr.rates.Constant(0.1), blocks=True)


@pytest.mark.parametrize(
    ("name", "damage", "found"),
    [
        ("blocks/sums", lambda a: a * np.nan, "finite"),
        ("blocks/theta", lambda a: a[1:], "shape"),
        ("blocks/y", lambda a: a[1:], "entries"),
        ("blocks/weight", lambda a: a - 1e9, "out of range"),
        ("blocks/indices", lambda a: a + np.uint32(99), "out of range"),
        ("blocks/lengths", lambda a: a + np.uint64(1), "longer or shorter"),
        ("blocks/entered", lambda a: a + 1, "rows"),
    ],
)
def test_damaged_blocks_are_refused(name: str, damage: Any, found: str) -> None:
    learner = learnt(MAKERS["ScaleFree()"], blocks=True)
    header, arrays = learner._to_file()
    arrays = arrays | {name: damage(arrays[name].copy())}
    with pytest.raises(ValueError, match=found):
        nr.MirrorDescent._from_file(header, arrays)


def test_a_closed_block_leaves_no_row_in_the_file(make: Any, tmp_path: Path) -> None:
    learner = learnt(make, blocks=True)
    before = learner.certificate().floor(1.0)
    learner.close_block()
    learner.save(tmp_path / "model.nr")
    again = nr.load(tmp_path / "model.nr")
    assert len(again._lines.pending) == 0 and again._lines.rounds == again.rounds == ROWS
    assert 0.9 * before <= again.certificate().floor(1.0) <= before * (1.0 + 1e-9)
    again.learn(*draw(1))
    assert again._lines.rounds == 2 * ROWS
