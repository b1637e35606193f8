"""Losses of several scores: value, slopes and intercept belong to one convex function."""

from __future__ import annotations

import math
import pickle
from typing import Any

import mpmath
import numpy as np
import pytest

from noregret import losses
from noregret.files import store
from noregret.jit import kernel
from noregret.losses import ScoreLoss
from noregret.losses.score_duals import entropy, softmax_slopes
from noregret.losses.scores import excess

CLASSES: list[ScoreLoss] = [
    losses.Softmax(),
    losses.MulticlassHinge(),
    losses.MulticlassHinge(0.3),
    losses.OneAgainstRest(),
    losses.OneAgainstRest(losses.Hinge(2.0)),
    losses.OneAgainstRest(losses.SquaredHinge()),
]
ROWS: list[ScoreLoss] = [
    losses.OneAgainstRest(),
    losses.OneAgainstRest(losses.SquaredHinge(0.5)),
    losses.PairwiseHinge(),
    losses.PairwiseHinge(0.2),
    losses.PairwiseLogistic(),
]
CASES = [*((loss, "class") for loss in CLASSES), *((loss, "row") for loss in ROWS)]
each = pytest.mark.parametrize(("loss", "kind"), CASES, ids=str)


def target_of(random: np.random.Generator, loss: ScoreLoss, kind: str, outputs: int) -> Any:
    if kind == "class":
        return float(random.integers(outputs))
    if loss.labels == "relevance":
        return random.integers(4, size=outputs).astype(float)
    return random.integers(2, size=outputs).astype(float)


def played(loss: ScoreLoss, target: Any, s: np.ndarray) -> tuple[float, np.ndarray, float]:
    slopes = np.empty(len(s))
    value = loss.value_and_slopes(target, s, slopes)
    return value, slopes, loss.intercept(target, s, slopes, value)


@each
def test_every_plane_supports_the_loss(loss: ScoreLoss, kind: str) -> None:
    random = np.random.default_rng(1)
    for _ in range(200):
        outputs = int(random.integers(1, 9))
        target = target_of(random, loss, kind, outputs)
        s, u = random.normal(size=(2, outputs)) * random.choice([0.1, 1.0, 20.0])
        value, slopes, intercept = played(loss, target, s)
        size = 1.0 + abs(value) + float(np.abs(slopes) @ (np.abs(s) + np.abs(u)))
        assert value >= 0.0
        assert intercept + slopes @ s == pytest.approx(value, abs=1e-14 * size)
        assert played(loss, target, u)[0] >= intercept + slopes @ u - 1e-14 * size


@each
def test_slopes_are_derivatives(loss: ScoreLoss, kind: str) -> None:
    random, step, outputs = np.random.default_rng(2), 1e-6, 5
    for _ in range(50):
        target, s = target_of(random, loss, kind, outputs), 2.0 * random.normal(size=outputs)
        _, slopes, _ = played(loss, target, s)
        for k in range(outputs):
            ahead, behind = s.copy(), s.copy()
            ahead[k] += step
            behind[k] -= step
            change = played(loss, target, ahead)[0] - played(loss, target, behind)[0]
            assert change / (2.0 * step) == pytest.approx(slopes[k], abs=1e-5)


@each
def test_slopes_stay_within_what_is_said_of_them(loss: ScoreLoss, kind: str) -> None:
    random = np.random.default_rng(3)
    for outputs in (1, 2, 7):
        for _ in range(50):
            target, s = target_of(random, loss, kind, outputs), 5.0 * random.normal(size=outputs)
            value, slopes, _ = played(loss, target, s)
            assert np.abs(slopes).max() <= loss.lipschitz() * (1.0 + 1e-12)
            assert np.linalg.norm(slopes) <= loss.slope_norm(outputs) * (1.0 + 1e-12)
            assert np.abs(slopes).sum() <= loss.slope_mass(slopes, value) * (1.0 + 1e-12)


@kernel
def _sums(loss, targets, scores, slopes, results):  # type: ignore[no-untyped-def]
    for t in range(targets.shape[0]):
        target, s = targets[t], scores[t]
        value = loss.value_and_slopes(target, s, slopes[t])
        results[t, 0] = value
        results[t, 1] = loss.intercept(target, s, slopes[t], value)
        results[t, 2] = loss.slope_mass(slopes[t], value)
        results[t, 3] = 1.0 if loss.mistake(target, s) else 0.0


@pytest.mark.compiled
@each
def test_compiled_and_interpreted_agree(loss: ScoreLoss, kind: str) -> None:
    random = np.random.default_rng(4)
    scores = random.normal(size=(40, 6)) * random.choice([0.0, 1.0, 300.0], size=(40, 1))
    targets = np.array([target_of(random, loss, kind, 6) for _ in scores])
    found = []
    for run in (_sums, _sums.py_func):
        slopes, results = np.empty((40, 6)), np.empty((40, 4))
        run(loss, targets, scores, slopes, results)
        found.append(np.hstack([slopes, results]))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-13, atol=1e-300)


@pytest.mark.parametrize("size", [1e-3, 1.0, 30.0, 700.0])
def test_softmax_to_the_last_digits(size: float) -> None:
    random = np.random.default_rng(5)
    for _ in range(40):
        s, y = size * random.normal(size=4), int(random.integers(4))
        value, slopes, intercept = played(losses.Softmax(), float(y), s)
        with mpmath.workdps(60):
            exponentials = [mpmath.exp(mpmath.mpf(v) - mpmath.mpf(s[y])) for v in s]
            total = mpmath.fsum(exponentials)
            chances = [e / total for e in exponentials]
            rest = mpmath.fsum(p for k, p in enumerate(chances) if k != y)
            truth = mpmath.log1p(mpmath.fsum(e for k, e in enumerate(exponentials) if k != y))
            # The plane must belong to the slopes as they were computed; the label has the rest.
            others = [mpmath.mpf(p) for k, p in enumerate(slopes) if k != y and p > 0.0]
            left = mpmath.fsum(others)
            entropy = -mpmath.fsum(p * mpmath.log(p) for p in others)
            entropy -= (1 - left) * mpmath.log1p(-left) if left < 1 else 0
            assert value == pytest.approx(float(truth), rel=1e-13, abs=1e-300)
            assert slopes[y] == pytest.approx(-float(rest), rel=2e-13, abs=1e-300)
            # What the ledger adds up beside the entropy itself; certificates allow twice that.
            scale = value + float(np.abs(slopes) @ np.abs(s)) + float(entropy)
            assert abs(intercept - float(entropy)) <= 16.0 * np.finfo(float).eps * scale + 1e-300


@pytest.mark.parametrize("q", [1e-6, 0.3, 10.0, 1e4, 1e9])
def test_the_best_slopes_of_softmax_solve_their_equation(q: float) -> None:
    random = np.random.default_rng(8)
    for _ in range(20):
        z = random.normal(size=int(random.integers(2, 7))) * random.choice([0.1, 1.0, q])
        slopes = np.empty(len(z))
        softmax_slopes(1, z, q, slopes)
        own = np.eye(len(z))[1]
        p = slopes + own
        # Where a probability underflows beside 1, its equation has no digits left.
        clear = p > 1e-9
        levels = (z + q * own - np.log(np.maximum(p, 1e-300)) - q * p)[clear]
        size = 1.0 + q + float(np.abs(z).max())
        assert np.ptp(levels) <= 1e-6 + 1e-12 * size and p.sum() == pytest.approx(1.0, rel=1e-12)
        terms = [-x * math.log(x) for x in p if x > 0.0]
        assert entropy(1, slopes) == pytest.approx(math.fsum(terms), rel=1e-9, abs=1e-12)


def test_binary_softmax_is_the_logistic_loss() -> None:
    slopes = np.empty(2)
    for p in (-800.0, -3.0, 0.0, 1e-9, 2.5, 40.0):
        value = losses.Softmax().value_and_slopes(1.0, np.array([0.0, p]), slopes)
        assert value == pytest.approx(losses.Logistic().value(1.0, p), rel=1e-14)
        assert slopes[1] == pytest.approx(losses.Logistic().slope(1.0, p), rel=1e-14)


def test_the_sign_of_an_excess_is_exact() -> None:
    random = np.random.default_rng(6)
    from fractions import Fraction

    for _ in range(2000):
        behind = random.normal() * 2.0 ** random.integers(-60, 5)
        ahead = np.nextafter(1.0 + behind, random.choice([-9.0, 9.0]))
        truth = 1 - Fraction(float(ahead)) + Fraction(float(behind))
        found = excess(1.0, ahead, behind)
        assert (found > 0) == (truth > 0)
        assert found == pytest.approx(float(truth), rel=1e-12, abs=0.0)


def test_mistakes() -> None:
    hinge, rest = losses.MulticlassHinge(), losses.OneAgainstRest()
    assert hinge.mistake(0.0, np.zeros(3)) and rest.mistake(0.0, np.zeros(3))
    assert not hinge.mistake(1.0, np.array([0.0, 0.1, -1.0]))
    assert not rest.mistake(1.0, np.array([0.3, 0.4]))
    assert rest.mistake(np.array([0.0, 1.0]), np.array([0.3, 0.4]))
    assert not rest.mistake(np.array([0.0, 1.0]), np.array([-0.3, 0.4]))
    pairs = losses.PairwiseHinge()
    assert pairs.mistake(np.array([1.0, 0.0, 0.0]), np.array([0.5, 0.5, 0.0]))
    assert not pairs.mistake(np.array([2.0, 0.0, 0.0]), np.array([0.5, 0.2, 0.2]))
    assert not pairs.mistake(np.zeros(2), np.zeros(2))


@each
def test_headers_and_pickles(loss: ScoreLoss, kind: str) -> None:
    assert store.component_from_header(store.component_to_header(loss), ScoreLoss) == loss
    assert pickle.loads(pickle.dumps(loss)) == loss


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="MulticlassHinge"):
        losses.MulticlassHinge(0.0)
    with pytest.raises(ValueError, match="must be a Loss, got 3"):
        losses.OneAgainstRest(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="labels -1 and \\+1"):
        losses.OneAgainstRest(losses.Squared())
    header = store.component_to_header(losses.OneAgainstRest())
    header["fields"]["loss"] = 3.0
    with pytest.raises(ValueError, match="'class' and 'fields'"):
        store.component_from_header(header, ScoreLoss)


def test_one_score_is_never_wrong() -> None:
    slopes = np.empty(1)
    for loss in (losses.Softmax(), losses.MulticlassHinge()):
        assert loss.value_and_slopes(0.0, np.array([-5.0]), slopes) == 0.0
        assert slopes[0] == 0.0 and not loss.mistake(0.0, np.array([-5.0]))
    assert math.isclose(losses.OneAgainstRest().slope_norm(4), 2.0)
