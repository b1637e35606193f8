"""Maps of "On the Dual Formulation of Regularized Linear Systems" beyond norms (Z-9 to Z-11)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from noregret import losses, mirrors
from noregret.batch.mapped import MapAscent
from noregret.batch.problem import Problem, link
from noregret.mirrors import Mirror
from tests.oracles.data import near
from tests.oracles.duals import EXACT, FORMS, Map, interpreted, problem, settled, zeta
from tests.oracles.duals import solved as solve


@pytest.fixture(autouse=True)
def in_python() -> Iterator[None]:
    with interpreted():
        yield


@pytest.mark.parametrize(
    ("form", "mirror", "factor", "value", "weights"),
    [
        (
            "square",
            mirrors.ElasticNet(1.0),
            0.5,
            0.12841403745,
            (-0.410463557468, 0, -0.282814741645),
        ),
        ("hinge", mirrors.ElasticNet(1.0), 0.5, 0.455990484429, (1.47058823529, 0, 0.441176470588)),
        (
            "square",
            mirrors.Box(-0.5, 0.5),
            1.0,
            0.0963413491592,
            (-0.463043277872, -0.0845591299785, -0.402896407686),
        ),
        ("sqhinge", mirrors.Box(-0.5, 0.5), 1.0, 0.272506689602, (0.5, -0.135321100917, 0.5)),
    ],
)
def test_z9_smooth_one_norm_and_box(
    form: str, mirror: Mirror, factor: float, value: float, weights: Any
) -> None:
    found, _, low = settled(problem(FORMS[form], Map(mirror, factor)))
    assert low == pytest.approx(value, rel=1e-8)
    assert found == pytest.approx(weights, rel=1e-8, abs=1e-8)


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("c", "weights", "distance"),
    [
        (2.0, (-0.289811613632, 0.0, -0.143818057809), 0.043020733891),
        (20.0, (-0.32796101949, 0.0, -0.161481759121), 0.00487132803221),
        (200.0, (-0.332338676714, 0.0, -0.163483797693), 0.000493670808406),
    ],
)
def test_z9_the_elastic_net_nears_the_lasso(c: float, weights: Any, distance: float) -> None:
    posed = problem(FORMS["square"], Map(mirrors.ElasticNet(c), 1.0 / c))
    found = solve(posed, 0.0, 8000).weights
    assert found == pytest.approx(weights, rel=1e-8, abs=1e-8)
    lasso = np.array([-0.332832347523, 0.0, -0.1637092343])
    assert np.max(np.abs(found - lasso)) == pytest.approx(distance, rel=1e-6)


def test_z9_the_soft_threshold_of_a_batch_is_the_elastic_net() -> None:
    form = FORMS["square"]
    one = solve(problem(form, Map(mirrors.SoftThreshold(1.0), 0.5)))
    assert one.dual / 6.0 == pytest.approx(0.12841403745, rel=1e-8)
    assert one.weights[1] == 0.0


def test_z9_the_soft_largest_norm() -> None:
    v = np.array([0.3, -0.2, 0.1])
    assert mirrors.SignedEntropy(1.0).regularizer(v, 1.0) == near(0.223057974417)
    weights = np.array([0.990481206832, -0.712007847248, 0.377803307563])
    assert link(mirrors.SignedEntropy(1.0), weights) == near(v)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("threshold", [0.8, -0.8])
def test_z11_closed_forms_for_rows_of_one_size(sign: float, threshold: float) -> None:
    # hinge [b - <w, s 1_S>]+ as margin 1 - y o with label s: o = s (1 - b).
    rows, strength = np.array([[1.0, 1.0, 0.0]]), 0.7
    for mirror, first in (
        (mirrors.UnnormalizedEntropy(0.5), 0.3),
        (mirrors.Hypentropy(0.5), 0.3),
        (mirrors.Entropy(), 0.0),
    ):
        posed = Problem.of(
            rows,
            [sign],
            losses.Hinge(),
            mirror,
            strength=strength,
            offset=[sign * (1.0 - threshold)],
        )
        ascent = MapAscent(posed, np.array([-sign * first]))
        weights = link(mirror, ascent.memory.state[:, 0])
        theta = ascent.memory.state[:, 0].copy()
        ascent.visit(np.zeros(1, int), EXACT)
        inside = weights[:2].sum()
        goal = sign * threshold
        if isinstance(mirror, mirrors.UnnormalizedEntropy):
            best = first + sign * strength * math.log(goal / inside) if goal > 0.0 else -sign
        elif isinstance(mirror, mirrors.Entropy):
            odds = goal * (1.0 - inside) / (inside * (1.0 - goal))
            best = (
                first + sign * strength * math.log(odds)
                if 0.0 < goal < 1.0
                else math.copysign(1.0, threshold)
            )
        else:
            up = 0.5 * np.exp(sign * theta[:2]).sum()
            down = 0.5 * np.exp(-sign * theta[:2]).sum()
            ratio = (threshold + math.sqrt(threshold**2 + 4.0 * up * down)) / (2.0 * up)
            best = first + strength * math.log(ratio)
        assert zeta(posed, ascent.slopes)[0] == near(min(max(best, 0.0), 1.0))
