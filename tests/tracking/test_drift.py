"""Proofs that no fixed predictor will do: what they say, and that they say it of real streams."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any
from unittest import mock

import numpy as np
import pytest
from scipy.sparse import csr_array

import noregret as nr
from noregret import plot
from noregret.rows.examples import as_rows
from noregret.streams import Block
from noregret.tracking import watch
from noregret.tracking.drift import DriftProof, drift_proof
from noregret.tracking.static import Moments, static_floor
from noregret.tracking.watch import Span
from tests.sizes import sized

SQUARED = nr.losses.Squared()


def alternating(rounds: int = 600, parts: int = 4, d: int = 3) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    X = random.normal(size=(rounds, d)) / math.sqrt(d)
    X[:, -1] = 1.0
    sign = np.where(np.arange(rounds) * parts // rounds % 2, -1.0, 1.0)
    return X, sign * np.sign(X[:, 0] + 0.5)


def blocks(X: np.ndarray, y: np.ndarray, rows: int) -> Iterator[Block]:
    for start in range(0, len(y), rows):
        part = csr_array(X[start : start + rows])
        yield Block(
            part.indptr.astype(np.uint64),
            part.indices.astype(np.uint32),
            part.data,
            y[start : start + rows],
            X.shape[1],
        )


def test_the_statement_word_for_word() -> None:
    n = sized(240, 600)
    X, y = alternating(n)
    proof = drift_proof(X, y, radius=3.0)
    assert proof.proved and proof.rounds == n and proof.margin > 0.0
    first, *lines = str(proof).splitlines()
    assert first == "Proved: no fixed predictor will do."
    b, a = lines[0].split()[-3], lines[1].split()[-3]
    each_b, each_a = lines[1].split()[0], lines[2].split()[0]
    assert lines == [
        f"  On these {n} rounds every fixed predictor with norm <= 3 loses at least "
        f"{b} by Squared,",
        f"  {each_b} a round; the tracker, inside the same ball, lost at most {a} < {b},",
        f"  {each_a} a round.",
    ]
    assert proof.tracker_loss <= float(a) < float(b) <= proof.static_bound
    assert proof.tracker_loss / n <= float(each_a) < float(each_b) <= proof.static_bound / n


def test_nothing_is_claimed_where_nothing_is_proved() -> None:
    X, _ = alternating(sized(150, 600))
    proof = drift_proof(X, np.ones(len(X)), radius=3.0)
    assert not proof.proved and proof.margin <= 0.0
    text = str(proof)
    assert text.startswith("Nothing is proved.") and " < " not in text
    assert proof.static_bound <= 1e-9


def test_digits_are_added_until_the_order_shows() -> None:
    close = DriftProof(1, 2, 1.0, math.nextafter(1.0, 2.0), 1.0, SQUARED)
    assert close.proved
    assert "loses at least 1.0000000000000002 by Squared," in str(close)
    assert "lost at most 1 < 1.0000000000000002," in str(close)


WINDOWS = sized([1, 7, 24, 60], [1, 7, 100, 250])


@pytest.mark.parametrize("window", WINDOWS)
def test_windows_are_what_they_would_be_alone(window: int) -> None:
    rounds = sized(144, 600)
    X, y = alternating(rounds)
    proof = drift_proof(X, y, radius=2.0, window=window)
    step = max(1, window // 4)
    firsts = list(range(1, rounds - window + 2, step))
    assert [span.first for span in proof.windows] == firsts
    for span in proof.windows[:: max(1, len(firsts) // 10)]:
        part = slice(span.first - 1, span.last)
        assert span.rounds == window
        alone = static_floor(X[part], y[part], SQUARED, 2.0)
        assert span.static_bound >= alone
        assert span.static_bound == pytest.approx(alone, rel=1e-6, abs=1e-6)
    assert f"Windows of {window} rounds that prove" in str(proof) and f"of {len(firsts)}." in str(
        proof
    )
    apart = [proof.windows[k] for k in range(0, len(firsts), max(1, window // step))]
    if window == WINDOWS[2]:
        assert sum(span.tracker_loss for span in apart) == pytest.approx(proof.tracker_loss)


#: Rows of a stream that is read in blocks.
ROWS = sized(120, 600)


@pytest.mark.parametrize("rows", [1, 3 * ROWS // 20, 1000])
def test_a_stream_is_read_once_and_says_the_same(rows: int) -> None:
    X, y = alternating(ROWS)
    # Larger rows later: rates are measured by the same ones, whatever the blocks.
    X[2 * ROWS // 3 :] *= 3.0
    with mock.patch.object(watch, "PORTION", sized(26, 128)):
        arrays = drift_proof(csr_array(X), y, radius=2.0, window=ROWS // 6)
        stream = drift_proof(blocks(X, y, rows), radius=2.0, window=ROWS // 6)
    assert stream.tracker_loss == arrays.tracker_loss
    assert stream.static_bound == pytest.approx(arrays.static_bound, rel=1e-8)
    assert len(stream.windows) == len(arrays.windows)
    for one, other in zip(stream.windows, arrays.windows, strict=True):
        assert (one.first, one.last, one.proved) == (other.first, other.last, other.proved)
        assert one.static_bound == pytest.approx(other.static_bound, rel=1e-8)


def test_one_pass_keeps_no_rows_but_those_of_a_window() -> None:
    X, y = alternating(ROWS)
    told: list[str] = []
    for loss, window, most in ((SQUARED, None, 0), (SQUARED, 40, 60), (nr.losses.Hinge(), None, 0)):
        with mock.patch.object(watch, "PORTION", 25):
            watched = watch.Watch(loss, 1.0, window, one_pass=True, tell=told.append)
            for block in blocks(X, y, 20):
                watched.add(as_rows(block), block.y, None)
                waiting = watched._given - watched._learnt
                assert waiting < 25
                assert sum(len(part) for part in watched._parts) <= most + waiting
            assert watched.proof()[0].rounds == ROWS
    assert f"tracking, {ROWS} examples" in told
    assert f"judging windows, up to example {ROWS}" in told


@pytest.mark.compiled
@pytest.mark.parametrize(
    "loss", [nr.losses.Hinge(), nr.losses.Logistic(), nr.losses.Huber(1.0)], ids=str
)
def test_other_losses(loss: nr.losses.Loss) -> None:
    X, y = alternating(rounds=900, parts=3)
    proof = drift_proof(X, y, loss, radius=4.0, window=300)
    assert proof.proved
    best = nr.hindsight(X, y, loss, radius=4.0, tol=1e-7)
    assert best.dual * (1.0 - 1e-3) <= proof.static_bound <= best.primal
    stream = drift_proof(blocks(X, y, 100), None, loss, 4.0)
    # Blocks of a stream are read once, without the passes of the batch solver.
    assert 0.97 * best.dual <= stream.static_bound <= best.primal and stream.proved


@dataclass(frozen=True)
class Sunk(nr.losses.Loss):
    """A square loss that begins far below zero."""

    labels = "real"
    nonnegative = False

    def value(self, y: float, p: float) -> float:
        return (p - y) ** 2 - 5.0

    def slope(self, y: float, p: float) -> float:
        return 2.0 * (p - y)


def test_a_loss_of_ones_own_is_taken_at_its_word_and_may_be_negative() -> None:
    proof = drift_proof(np.ones((40, 1)), np.repeat([1.0, -1.0], 20), Sunk(), 1.0)
    assert "Assumed: Sunk is taken at its word to be convex." in str(proof)
    assert "loses at least -" in str(proof)
    # Only the tracker's own certificates speak about it; the optimum is that of u = 0.
    assert -200.0 <= proof.static_bound <= -160.0 < proof.tracker_loss + 40.0


@dataclass(frozen=True)
class Doubled(nr.losses.Absolute):
    """A loss of one's own whose conjugate is believed as well."""

    def value(self, y: float, p: float) -> float:
        return 2.0 * abs(p - y)

    def slope(self, y: float, p: float) -> float:
        return 2.0 * float(np.sign(p - y))

    def conjugate(self, y: float, s: float) -> float:
        return s * y if abs(s) <= 2.0 else math.inf

    def lipschitz(self) -> float:
        return 2.0

    def lowest_slope(self, y: float) -> float:
        return -2.0

    def highest_slope(self, y: float) -> float:
        return 2.0


def test_a_conjugate_of_ones_own_is_an_assumption_too() -> None:
    proof = DriftProof(1, 2, 1.0, 2.0, 1.0, Doubled())
    assert str(proof).endswith("and to have the conjugate it gives.")
    assert DriftProof(1, 2, 1.0, 2.0, 1.0, nr.losses.Absolute()).assumption is None


def test_weights_count() -> None:
    n = sized(150, 600)
    X, y = alternating(n)
    weight = np.where(np.arange(n) < n // 2, 0.0, 2.0)
    proof = drift_proof(X, y, radius=2.0, weight=weight)
    half = static_floor(X[n // 2 :], y[n // 2 :], SQUARED, 2.0)
    assert proof.static_bound == pytest.approx(2.0 * half, rel=1e-8)


def test_json_and_picture() -> None:
    n = sized(240, 600)
    X, y = alternating(n)
    proof = drift_proof(X, y, radius=2.0, window=n // 6)
    found = json.loads(json.dumps(proof.as_dict()))
    assert found["proved"] is True and found["rounds"] == n and found["radius"] == 2.0
    assert [span["first"] for span in found["windows"]] == [w.first for w in proof.windows]
    axes = plot.drift(proof, ax=plot.sheet(), title="a stream")
    tracker, bound = axes.lines
    np.testing.assert_allclose(tracker.get_ydata(), [w.average_loss for w in proof.windows])
    np.testing.assert_allclose(bound.get_ydata(), [w.average_bound for w in proof.windows])
    proved = sum(span.proved for span in proof.windows)
    words = " ".join(text.get_text() for text in axes.texts)
    assert f"{proved} of {len(proof.windows)} windows of {n // 6} rounds" in words
    with pytest.raises(ValueError, match="at least two windows, got 1"):
        plot.drift(replace(proof, windows=proof.windows[:1]))


def test_averages_are_rounded_outwards() -> None:
    span = Span(1, 3, 1.0, 1.0)
    assert span.average_loss > 1 / 3 > span.average_bound and span.margin < 0.0


@pytest.mark.parametrize(
    ("X", "y", "options", "words"),
    [
        ([[1.0]], [1.0], {}, "radius must be a finite number above 0"),
        ([[1.0]], [1.0], {"radius": 0.0}, "radius must be a finite number above 0"),
        ([[1.0]], [1.0], {"radius": 1.0, "window": 0}, "window must be a whole number"),
        ([[1.0]], [1.0], {"radius": 1.0, "window": 2.5}, "window must be a whole number"),
        ([[1.0]], None, {"radius": 1.0}, "must be a stream of blocks; give y for arrays"),
        (3, None, {"radius": 1.0}, "must be a stream of blocks; give y for arrays"),
        ([], None, {"radius": 1.0}, "there are no rounds"),
        ([], None, {"radius": 1.0, "weight": [1.0]}, "weight belongs to arrays"),
        ([[1.0]], [math.nan], {"radius": 1.0}, "y row 0"),
        ([[math.nan]], [1.0], {"radius": 1.0}, "X row 0"),
        ([[1.0]], [1.0], {"radius": 1e101}, "radius 1e.101 with rows of norm 1: predictions"),
    ],
)
def test_one_line_says_what_is_wrong(X: Any, y: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        drift_proof(X, y, **options)


real = pytest.mark.skipif(
    "NOREGRET_DATA" not in os.environ, reason="NOREGRET_DATA does not name a folder of real data"
)


def prepared(name: str) -> tuple[np.ndarray, np.ndarray]:
    """A constant feature appended, labels -1/+1, all rows divided by the largest row norm."""
    from bench.drift import load

    stream = load(name)
    return stream.X, stream.y


@pytest.mark.compiled
@real
def test_usenet_needs_a_moving_predictor() -> None:
    X, y = prepared("usenet")
    proof = drift_proof(X, y, radius=5.0)
    assert proof.proved
    assert proof.average_bound == pytest.approx(0.853141, abs=1e-6)
    # Better than the 0.816 of plain descent with the theorem's rate.
    assert proof.average_loss < 0.75


@pytest.mark.compiled
@real
def test_elec2_needs_a_moving_predictor() -> None:
    X, y = prepared("elec2")
    moments = Moments()
    moments.add(X, y)
    # The smallest ball that helps the fixed predictor as much as any larger one.
    radius = float(np.linalg.norm(moments.minimizer(math.inf)))
    assert radius == pytest.approx(69.954, abs=1e-3)
    assert moments.floor(0.99 * radius) > moments.floor(radius) + 0.1
    assert moments.floor(radius) >= moments.floor(100.0 * radius) - 1e-2
    proof = drift_proof(X, y, radius=radius, window=1000)
    assert proof.proved
    assert proof.average_bound == pytest.approx(0.780466, abs=1e-6)
    assert proof.average_loss < 0.56
    assert sum(span.proved for span in proof.windows) > len(proof.windows) / 2
