"""Certificates whose class measures features by their sizes: true, and free of units."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

import noregret as nr
from noregret import losses
from noregret.learners.foreign import Certifier
from noregret.learners.foreign_sizes import SizedCertifier
from noregret.proof.ledger import Entry
from tests.learners.frozen_state import difference, frozen

KINDS = [
    losses.Logistic(),
    losses.Hinge(),
    losses.SquaredHinge(),
    losses.Squared(),
    losses.Absolute(),
    losses.Huber(0.5),
]
RADII = (0.0, 0.1, 1.0, 10.0)


def stream(random: np.random.Generator, loss: Any, rows: int = 60) -> tuple[Any, ...]:
    """Return rows whose features grow or shrink in time, labels, predictions and weights."""
    width = int(random.integers(1, 5))
    course = np.linspace(0.0, 1.0, rows)[:, None]
    X = random.normal(size=(rows, width)) * np.exp(random.uniform(-9.0, 9.0, width) * course)
    X *= np.exp(random.uniform(-20.0, 20.0, width)) * (random.random((rows, width)) < 0.7)
    y = random.normal(size=rows) * (1.0 if loss.labels == "real" else math.nan)
    y = np.where(np.isnan(y), random.choice([-1.0, 1.0], rows), y)
    weight = np.round(random.exponential(size=rows), 1)
    return X, y, random.normal(size=rows), weight


def sizes_of(X: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return np.abs(X[weight > 0.0]).max(axis=0, initial=0.0)


@pytest.mark.parametrize("blocks", [False, True, "parabolas"])
@pytest.mark.parametrize("loss", KINDS, ids=str)
def test_floors_are_true(loss: Any, blocks: bool | str) -> None:
    if blocks == "parabolas" and not loss.has_curvature():
        return
    random = np.random.default_rng(8)
    for _ in range(6):
        X, y, given, weight = stream(random, loss)
        certifier, resumed = SizedCertifier(loss, blocks), SizedCertifier(loss, blocks)
        for one in (certifier, resumed) if blocks else ():
            # Blocks of a few rows, so that units grow from one to the next.
            one._lines.pending.size = 30  # type: ignore[union-attr]
        cut = int(random.integers(1, len(y)))
        certifier.add(csr_array(X[:cut]), y[:cut], given[:cut], weight[:cut])
        resumed.restore(certifier.arrays())
        for one in (certifier, resumed):
            one.add(X[cut:], y[cut:], given[cut:], weight[cut:])
        sizes = sizes_of(X, weight)
        assert np.array_equal(certifier.sizes, sizes)
        units = np.divide(X, sizes, out=np.zeros_like(X), where=sizes > 0.0)
        proof, again = certifier.certificate(), resumed.certificate()
        for radius in RADII:
            floor = proof.floor(radius)
            assert again.floor(radius) == floor
            if radius == 0.0:
                best = float(weight @ [loss.value(*pair) for pair in zip(y, 0.0 * y, strict=True)])
            else:
                best = nr.hindsight(units, y, loss, radius=radius, weight=weight).primal
            assert floor <= best
        assert proof.floor(0.0) > -1e6


@pytest.mark.parametrize("blocks", [True, "parabolas"])
def test_blocks_come_close_to_the_best(blocks: bool | str) -> None:
    random = np.random.default_rng(4)
    X, _, _, _ = stream(random, KINDS[0], 300)
    y = np.where(random.random(300) < 0.7, 1.0, -1.0)
    sizes = sizes_of(X, np.ones(300))
    for radius in (0.3, 3.0):
        best = nr.hindsight(X / sizes, y, KINDS[0], radius=radius).primal
        lines, closer = SizedCertifier(KINDS[0]), SizedCertifier(KINDS[0], blocks)
        for one in (lines, closer):
            one.add(X, y, random.normal(size=300))
        assert lines.certificate().floor(radius) < 0.9 * best
        assert 0.97 * best < closer.certificate().floor(radius) <= best


def test_units_are_free() -> None:
    random = np.random.default_rng(5)
    X, y, given, weight = stream(random, KINDS[0], 200)
    for blocks in (False, True):
        proofs = []
        for units in (1.0, 2.0 ** random.integers(-30, 30, X.shape[1]), 1e-3 / 7.0):
            certifier = SizedCertifier(KINDS[0], blocks)
            certifier.add(X * units, y, given, weight)
            proofs.append(certifier.certificate())
        for radius in RADII:
            first, powers, factor = (proof.floor(radius) for proof in proofs)
            assert powers == pytest.approx(first, rel=1e-9)
            assert factor == pytest.approx(first, rel=1e-9)


def test_it_is_the_certificate_of_a_scale_free_learner() -> None:
    random = np.random.default_rng(6)
    X, y, _, weight = stream(random, KINDS[0], 200)
    learner = nr.MirrorDescent(KINDS[0], nr.mirrors.Euclidean(), nr.rates.ScaleFree())
    certifier = SizedCertifier(KINDS[0])
    certifier.add(X, y, learner.learn(X, y, weight), weight)
    own, proof = learner.certificate(), certifier.certificate()
    assert np.array_equal(learner.sizes, certifier.sizes)
    for radius in RADII:
        assert proof.floor(radius) == pytest.approx(own.floor(radius), rel=1e-9)
        assert proof.describe(radius) == own.describe(radius)
    assert own.reach == pytest.approx(certifier.weights_length(learner.weights), rel=1e-9)
    assert certifier.weights_length(np.zeros(1), -3.0) == pytest.approx(3.0)
    # A feature that never occurred has size 0.
    wider = np.append(learner.weights, 1e9)
    assert certifier.weights_length(wider) == certifier.weights_length(learner.weights)


def test_sizes_of_earlier_rows_would_be_no_class_of_the_whole_stream() -> None:
    """Once m has grown, ||m u|| <= B holds fewer u: earlier units would make floors too low."""
    y = np.ones(40)
    X = np.where(np.arange(40)[:, None] < 20, 1.0, 100.0)
    certifier = SizedCertifier(losses.Hinge())
    certifier.add(X[:20], y[:20], np.zeros(20))
    early = certifier.certificate().floor(0.5)
    certifier.add(X[20:], y[20:], np.zeros(20))
    floor = certifier.certificate().floor(0.5)
    assert early == pytest.approx(10.0)
    # u = 0.005: the rows of 1 lose 0.995 each, those of 100 lose 0.5.
    assert floor == pytest.approx(20 * 0.995 + 10.0)
    plain = Certifier(losses.Hinge())
    plain.add(X, y, np.zeros(40))
    assert plain.certificate().floor(0.005) == pytest.approx(floor)


def test_a_refused_row_changes_nothing() -> None:
    random = np.random.default_rng(7)
    X, y, given, weight = stream(random, KINDS[3])
    certifier = SizedCertifier(KINDS[3], True)
    for start in (False, True):
        if start:
            certifier.add(X, y, given, weight)
        before = frozen(certifier)
        spoilt = np.vstack([X, X[:1] * math.nan])
        bad: list[tuple[Any, ...]] = [
            (spoilt, np.append(y, 1.0), np.append(given, 1.0)),
            (X, y * math.nan, given),
            (X, y, given * math.inf),
            (X, y, given, -weight),
            (np.vstack([X, X[:1] + 1e99]), np.append(y, 1.0), np.append(given, 1e149)),
        ]
        for one in bad:
            with pytest.raises(ValueError):
                certifier.add(*one)
            assert not difference(frozen(certifier), before)


def test_sums_that_do_not_fit_are_refused() -> None:
    random = np.random.default_rng(9)
    X, y, given, weight = stream(random, KINDS[0])
    certifier = SizedCertifier(KINDS[0])
    certifier.add(X, y, given, weight)
    kept = certifier.arrays()
    fresh = SizedCertifier(KINDS[0])
    for sizes in (
        kept["sizes"][:-1],
        -kept["sizes"],
        kept["sizes"] * math.nan,
        0.0 * kept["sizes"],
    ):
        with pytest.raises(ValueError, match="size"):
            fresh.restore(kept | {"sizes": sizes})
        assert fresh.rounds == 0
    fresh.restore(kept)
    assert not difference(frozen(fresh), frozen(copy.deepcopy(certifier)))


def test_the_path_of_the_gradient_is_summed_in_units_of_its_time() -> None:
    """The rounding of Z is bounded by it: units that grow later would make it too short."""
    X, y, given, weight = stream(np.random.default_rng(10), KINDS[3])
    certifier = SizedCertifier(KINDS[3])
    certifier.add(X, y, given, weight)
    sizes, travel = np.zeros(X.shape[1]), 0.0
    for row, label, p, mass in zip(X, y, given, weight, strict=True):
        if mass > 0.0:
            sizes = np.maximum(sizes, np.abs(row))
            parts = np.abs(row[sizes > 0.0]) / sizes[sizes > 0.0]
            travel += mass * abs(2.0 * (p - label)) * parts.sum()
    assert certifier.arrays()["ledger"][Entry.SCALED_TRAVEL] == pytest.approx(travel, rel=1e-12)
