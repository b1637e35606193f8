"""Certificates of several scores whose class measures features by their sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

import noregret as nr
from noregret import losses
from noregret.learners.foreign_sizes import SizedScoreCertifier

RADII = (0.0, 0.1, 1.0, 10.0)
SOFTMAX = losses.Softmax()


def stream(random: np.random.Generator, rows: int = 60) -> tuple[Any, ...]:
    """Return rows of sizes far apart, classes of which the third comes late, and weights."""
    width = int(random.integers(1, 4))
    X = random.normal(size=(rows, width)) * np.exp(random.uniform(-20.0, 20.0, width))
    X *= np.linspace(3.0, 1.0, rows)[:, None] * (random.random((rows, width)) < 0.8)
    y = np.minimum(random.integers(0, 3, rows), 1 + (np.arange(rows) >= rows // 2))
    return (
        X,
        y.astype(float),
        random.normal(size=(rows, 3)),
        np.round(random.exponential(size=rows), 1),
    )


def entered(certifier: SizedScoreCertifier, given: tuple[Any, ...], units: Any = 1.0) -> Any:
    """Enter a stream in two parts, of two scores and of three."""
    X, y, scores, weight = given
    cut = len(y) // 2
    certifier.add(X[:cut] * units, y[:cut], scores[:cut, :2], weight[:cut])
    certifier.add(csr_array(X[cut:] * units), y[cut:], scores[cut:], weight[cut:])
    return certifier.certificate()


def loss_of(given: tuple[Any, ...], U: np.ndarray) -> float:
    """Return the loss of a fixed matrix, the third score of which counts in the second half."""
    X, y, _, weight = given
    cut = len(y) // 2
    total = 0.0
    for t, (x, label) in enumerate(zip(X, y.astype(int), strict=True)):
        scores = (x @ U)[: 2 if t < cut else 3]
        total += weight[t] * (np.logaddexp.reduce(scores) - scores[label])
    return total


@pytest.mark.parametrize("blocks", [False, True])
def test_no_matrix_of_the_class_loses_less_than_the_floor(blocks: bool) -> None:
    random = np.random.default_rng(3)
    closest = np.inf
    for _ in range(4):
        given = stream(random)
        certifier, resumed = (SizedScoreCertifier(SOFTMAX, blocks) for _ in range(2))
        proof = entered(certifier, given)
        resumed.restore(certifier.arrays())
        sizes = np.abs(given[0][given[3] > 0.0]).max(axis=0)
        assert np.array_equal(certifier.sizes, sizes)
        gradient = proof.gradient.reshape(3, -1).T
        # The plane is least along -Z / m^2.
        steepest = -np.divide(gradient, sizes[:, None] ** 2)
        for radius in RADII:
            floor = proof.floor(radius)
            assert resumed.certificate().floor(radius) == floor
            for U in [steepest, *random.normal(size=(20, *gradient.shape)) / sizes[:, None]]:
                U = U * (radius / np.linalg.norm(U * sizes[:, None]))
                lost = loss_of(given, U)
                assert floor <= lost * (1.0 + 1e-12)
                assert proof.loss - lost <= proof.regret(U) * (1.0 + 1e-12) + 1e-9
                closest = min(closest, lost - floor) if radius == 0.1 else closest
    assert closest < 20.0


@pytest.mark.parametrize("blocks", [False, True])
def test_units_are_free(blocks: bool) -> None:
    random = np.random.default_rng(5)
    given = stream(random, 100)
    units = 2.0 ** random.integers(-30, 30, given[0].shape[1])
    first, other = (
        entered(SizedScoreCertifier(SOFTMAX, blocks), given, one) for one in (1.0, units)
    )
    for radius in RADII:
        assert other.floor(radius) == pytest.approx(first.floor(radius), rel=1e-9)


def test_it_is_the_certificate_of_a_scale_free_learner() -> None:
    random = np.random.default_rng(6)
    X, y, _, weight = stream(random, 100)
    learner = nr.MatrixDescent(SOFTMAX, outputs=3)
    certifier = SizedScoreCertifier(SOFTMAX)
    certifier.add(X, y, learner.learn(X, y, weight), weight)
    own, proof = learner.certificate(), certifier.certificate()
    assert learner.sizes is not None
    assert np.array_equal(learner.sizes, np.tile(certifier.sizes[:, None], 3))
    for radius in RADII:
        assert proof.floor(radius) == pytest.approx(own.floor(radius), rel=1e-9)
        # Theirs are sizes that each score has seen, which here is the same.
        assert proof.describe(radius) == own.describe(radius).replace("m_ik", "every m_i")
    assert own.reach == pytest.approx(certifier.weights_length(learner.weights), rel=1e-9)
    assert certifier.weights_length(np.zeros((1, 3)), np.array([3.0, 0.0, -4.0])) == pytest.approx(
        5
    )


def test_arrays_that_are_none_of_a_certifier_are_refused() -> None:
    given = stream(np.random.default_rng(7))
    certifier = SizedScoreCertifier(SOFTMAX)
    entered(certifier, given)
    arrays = certifier.arrays()
    for wrong, words in (
        (np.append(arrays["sizes"], 1.0), "sizes must be"),
        (-arrays["sizes"], "sizes must be"),
        (0.0 * arrays["sizes"], "never occurred"),
    ):
        with pytest.raises(ValueError, match=words):
            SizedScoreCertifier(SOFTMAX).restore(arrays | {"sizes": wrong})


def test_a_mixture_keeps_its_class_in_a_file(tmp_path: Any) -> None:
    X, y, _, weight = stream(np.random.default_rng(8))
    for mirror in (None, nr.mirrors.PNorm(3.0)):
        learner = nr.experts.ScoreAggregate(mirror=mirror)
        learner.learn(X, y, weight)
        learner.save(tmp_path / "a.nr")
        again = nr.load(tmp_path / "a.nr")
        for one in (learner, again):
            one.learn(X, y, weight)
        assert str(again.certificate()) == str(learner.certificate())
        assert ("every m_i the largest" in learner.certificate().describe(1.0)) == (mirror is None)
