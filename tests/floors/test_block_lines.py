"""Lines under blocks of rows: true for every loss, close to the optimum, resumed exactly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import noregret as nr
from noregret.floors import BlockLines
from noregret.floors.lines import FACTORS, Lines
from noregret.learners.foreign import Certifier
from noregret.proof.ledger import Entry
from noregret.proof.statement import BLOCKS, PREDICTIONS
from noregret.rows.examples import as_rows
from tests.truth.hindsight_problems import LOSSES

ROWS, WIDTH = 60, 4
#: -ln p is infinite at 0, so that nobody certifies it.
PROVABLE = [loss for loss in LOSSES if not isinstance(loss, nr.losses.NegativeLog)]


def draw(loss: Any, seed: int = 0, rows: int = ROWS) -> tuple[Any, Any, Any]:
    """Return rows of very different sizes, labels and weights; some weights are 0."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(rows, WIDTH)) * (random.random((rows, WIDTH)) < 0.7)
    X *= 10.0 ** random.integers(-2, 3, WIDTH)
    X[rows // 2] *= 50.0
    y = np.sign(X @ random.normal(size=WIDTH) + random.normal(size=rows) + 1e-9)
    if loss.labels == "real":
        y = y * random.random(rows) * 3.0
    return X, y, random.choice([0.0, 0.5, 1.0, 2.0], rows)


def entered(loss: Any, data: Any, size: int, cuts: Any = (), layout: Any = np.asarray) -> Any:
    """Return the lines of all rows, added in parts."""
    X, y, weight = data
    lines = BlockLines(loss, size)
    for begin, end in zip((0, *cuts), (*cuts, len(y)), strict=True):
        lines.add(as_rows(layout(X[begin:end])), y[begin:end], weight[begin:end])
    return lines


def require_same(one: BlockLines, other: BlockLines) -> None:
    mine, its = one.arrays(), other.arrays()
    assert mine.keys() == its.keys()
    for name, array in mine.items():
        np.testing.assert_array_equal(array, its[name], strict=True)


@pytest.mark.parametrize("loss", PROVABLE, ids=str)
@pytest.mark.parametrize("size", [1, 16, 1 << 18])
@pytest.mark.parametrize("radius", [0.01, 1.0, 30.0])
def test_no_predictor_of_the_class_is_below_the_floor(loss: Any, size: int, radius: float) -> None:
    """Judged by the best in hindsight, whose value is rounded up."""
    for seed in range(3):
        X, y, weight = draw(loss, seed)
        certifier = Certifier(loss, blocks=True)
        certifier._lines = BlockLines(loss, size)
        certifier.add(X, y, np.full(len(y), 0.1), weight)
        certificate = certifier.certificate()
        found = nr.hindsight(X, y, loss, radius=radius, weight=weight, tol=1e-6, max_passes=400)
        assert certificate.blocks
        assert certificate.floors(radius)[BLOCKS] <= found.primal
        assert certificate.floor(radius) == max(certificate.floors(radius).values())


@pytest.mark.parametrize("loss", PROVABLE, ids=str)
def test_regularised_floors_and_regrets_are_true_for_the_lines_of_blocks(loss: Any) -> None:
    X, y, weight = draw(loss)
    certificate = nr.certify(X, y, np.full(len(y), 0.1), loss, weight, blocks=True)
    found = nr.hindsight(X, y, loss, l2=0.5, weight=weight, tol=1e-6, max_passes=400)
    assert certificate.regularized_floor(2.0) <= found.primal
    lost = found.primal - 0.25 * float(found.weights @ found.weights)
    assert certificate.loss - lost <= certificate.regret(found.weights) + 1e-9 * abs(lost)


def test_theta_is_that_of_the_lines_in_the_units_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    """theta = -Z / (b m) before and after a block, for each b that is tried at a print, too."""
    choose, enter, seen = Lines.choose, Lines.enter, []

    def judge(lines: Lines) -> None:
        sizes = np.where(lines.sizes > 0.0, lines.sizes, 1.0)
        expected = -lines.sums.sum(axis=1) / (lines.strength * sizes)
        np.testing.assert_allclose(lines.theta, expected, rtol=1e-9, atol=1e-12)
        seen.append(lines.strength)

    def judged_before(self: Lines, *given: Any) -> Any:
        judge(self)
        return choose(self, *given)

    def judged_after(self: Lines, *given: Any) -> None:
        enter(self, *given)
        judge(self)

    monkeypatch.setattr(Lines, "choose", judged_before)
    monkeypatch.setattr(Lines, "enter", judged_after)
    lines = entered(nr.losses.Logistic(), draw(nr.losses.Logistic()), 37)
    assert len(lines.lines.slopes) > 0
    assert len(lines.proved()) == len(FACTORS) == len(set(seen))
    assert len(lines.proved(thorough=False)) == 1


def test_the_ledger_covers_what_was_summed() -> None:
    """Sizes of terms and lengths of gradients, to which the errors of rounding are proportional."""
    loss = nr.losses.Logistic()
    X, y, weight = draw(loss)
    lines = entered(loss, (X, y, weight), 1)
    ledger, gradient = lines.proved()[0]
    Z, travel, scaled, magnitude = np.zeros(WIDTH), 0.0, 0.0, 0.0
    sizes = np.zeros(WIDTH)
    for x, label, c, s in zip(X, y, weight, slopes_of(X, y, weight), strict=True):
        # Rows of weight 0 do not count for the units.
        sizes = np.maximum(sizes, np.abs(x) * (c > 0.0))
        Z += c * s * x
        travel += c * abs(s) * np.abs(x).sum()
        scaled += c * abs(s) * (np.abs(x[sizes > 0.0]) / sizes[sizes > 0.0]).sum()
        magnitude += 2.0 * c * abs(loss.conjugate(label, s))
    np.testing.assert_allclose(gradient, Z, rtol=1e-9)
    assert ledger[Entry.TRAVEL] == pytest.approx(travel, rel=1e-9)
    assert ledger[Entry.SCALED_TRAVEL] == pytest.approx(scaled, rel=1e-9)
    assert ledger[Entry.MAGNITUDE] >= magnitude > 0.0
    assert lines.rounds == ROWS


def slopes_of(X: Any, y: Any, weight: Any) -> Any:
    """Return the slopes of blocks of one row each, from the sums before and after."""
    lines, found = BlockLines(nr.losses.Logistic(), 1), []
    for x, label, c in zip(X, y, weight, strict=True):
        before = lines.lines.ledger[Entry.INTERCEPT], lines.lines.sums.sum(axis=1)
        lines.add(as_rows(x[None]), np.array([label]), np.array([c]))
        after = lines.lines.sums.sum(axis=1)
        change = after - (before[1] if len(before[1]) else 0.0)
        j = int(np.argmax(np.abs(x)))
        found.append(change[j] / (c * x[j]) if c > 0.0 and x[j] != 0.0 else 0.0)
    return found


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_matrix])
def test_no_bit_depends_on_where_calls_end(layout: Any) -> None:
    loss = nr.losses.Logistic()
    data = draw(loss)
    whole = entered(loss, data, 37, layout=layout)
    assert 0 < whole.pending.stored < 37
    for cuts in ((1,), (20, 21, 50), tuple(range(1, ROWS))):
        require_same(entered(loss, data, 37, cuts), whole)


def test_a_print_changes_nothing_and_a_resumed_run_goes_on_to_the_bit() -> None:
    loss = nr.losses.Logistic()
    X, y, weight = draw(loss)
    p = np.full(len(y), 0.1)
    whole, first, second = (Certifier(loss, blocks=True) for _ in range(3))
    for one in (whole, first, second):
        one._lines = BlockLines(loss, 37)
    whole.add(X, y, p, weight)
    first.add(X[:25], y[:25], p[:25], weight[:25])
    assert str(first.certificate()) == str(first.certificate())
    second.restore(first.arrays())
    second.add(X[25:], y[25:], p[25:], weight[25:])
    for name, array in whole.arrays().items():
        np.testing.assert_array_equal(second.arrays()[name], array, strict=True)
    assert second.certificate().floor(2.0) == whole.certificate().floor(2.0)


@pytest.mark.parametrize(
    ("loss", "least"), [(nr.losses.Logistic(), 0.99), (nr.losses.Hinge(), 0.98)], ids=str
)
def test_one_block_of_all_rows_is_close_to_the_optimum(loss: Any, least: float) -> None:
    random = np.random.default_rng(5)
    X = random.normal(size=(2000, 3))
    y = np.where(X @ [1.0, -2.0, 0.5] + random.normal(size=2000) > 0.0, 1.0, -1.0)
    sizes = np.abs(X).max(axis=0)
    best = nr.hindsight(X / sizes, y, loss, l2=3.0, tol=1e-6)
    radius = float(np.linalg.norm(best.weights))
    optimum = nr.hindsight(X / sizes, y, loss, radius=radius, tol=1e-6).primal
    certificate = nr.certify(X / sizes, y, np.zeros(2000), loss, blocks=True)
    floors = certificate.floors(radius)
    assert least * optimum <= floors[BLOCKS] <= optimum
    assert floors[PREDICTIONS] < 0.0 or floors[PREDICTIONS] < floors[BLOCKS]


def test_the_print_names_the_origin_of_the_floor() -> None:
    X, y, _ = draw(nr.losses.Logistic())
    loss = nr.losses.Logistic()
    both = nr.certify(X, y, np.zeros(ROWS), loss, blocks=True)
    plain = nr.certify(X, y, np.zeros(ROWS), loss)
    floors = both.as_dict(0.01)["floors"]
    assert floors == both.floors(0.01) and floors[PREDICTIONS] == plain.floor(0.01)
    origin = max(floors, key=lambda name: floors[name])
    assert f"a round, by lines at {origin}\n" in both.text(0.01)
    assert "by lines at" not in plain.text(0.01) and "floors" not in plain.as_dict(0.01)


class Own(nr.losses.Loss):
    """A loss of one's own."""

    def value(self, y: float, p: float) -> float:
        return (p - y) * (p - y)

    def slope(self, y: float, p: float) -> float:
        return 2.0 * (p - y)


def test_losses_of_ones_own_are_refused() -> None:
    with pytest.raises(ValueError, match="losses of noregret with a conjugate, not Own"):
        Certifier(Own(), blocks=True)
