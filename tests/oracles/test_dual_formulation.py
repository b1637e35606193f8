"""Numbers of "On the Dual Formulation of Regularized Linear Systems with Convex Risks" (Z)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from noregret import losses, mirrors
from noregret.batch.problem import evaluate, link
from tests.oracles.data import S_A, X_A, near
from tests.oracles.duals import FORMS, MAPS, Form, Map, interpreted, problem, solved, sweeps, zeta
from tests.sizes import sized

SQUARE = MAPS["square"]


@pytest.fixture(autouse=True)
def in_python() -> Iterator[None]:
    with interpreted():
        yield


def test_z1_the_bridge_to_the_online_dual() -> None:
    posed = problem(FORMS["hinge"], SQUARE)
    found = solved(posed)
    alpha = zeta(posed, found.alpha) / 0.6
    assert found.dual / 0.6 == near(4.19333910035)
    assert found.dual / 6.0 == near(0.419333910035)
    # Several alpha share the optimum; theta is unique, and so is what is at a bound.
    theta = [0, 0.406093810073, 0.683871587851, 0.948673587082, 1 / 0.6, 1 / 0.6]
    assert (alpha * S_A) @ X_A == pytest.approx((np.array(theta) * S_A) @ X_A, abs=1e-6)


def test_z4_the_gap_after_each_sweep() -> None:
    _, seen = sweeps(problem(FORMS["hinge"], SQUARE), 5)
    values, gaps = zip(*seen, strict=True)
    assert values == near(
        [-0.312132522659, -0.397533667822, -0.417302460048, -0.418903336745, -0.419333303948]
    )
    assert gaps == pytest.approx(
        [0.229060951479, 0.105833535231, 0.0403562881601, 0.00364270613886, 0.000174620375798],
        rel=1e-10,
    )


ZETAS = (0.25, 0.5, 1.0)


@pytest.mark.parametrize(
    ("loss", "target", "weight", "threshold", "expected"),
    [
        (losses.Squared(), 0.7, 0.5, 0.0, (-0.14375, -0.225, -0.2)),
        (losses.Squared(), 0.7, 1.0, 0.0, (-0.159375, -0.2875, -0.45)),
        (losses.Absolute(), 0.7, 1.0, 0.0, (-0.175, -0.35, -0.7)),
        (losses.EpsilonInsensitive(0.1), 0.7, 1.0, 0.0, (-0.15, -0.3, -0.6)),
        (losses.Huber(0.5), 0.7, 1.0, 0.0, (-0.14375, -0.225, math.inf)),
        (losses.Hinge(0.7), 1.0, 1.0, 0.0, (-0.175, -0.35, -0.7)),
        (losses.SquaredHinge(0.7), 1.0, 1.0, 0.0, (-0.14375, -0.225, -0.2)),
        (
            losses.PowerHinge(3.0, 0.7),
            1.0,
            1.0,
            0.0,
            (-0.0916666666667, -0.114297739604, -0.0333333333333),
        ),
        (losses.OneSidedHuber(0.7), 1.0, 1.0, 0.0, (-0.14375, -0.225, -0.2)),
        (losses.Logistic(), 1.0, 1.0, 0.7, (-0.737335144619, -1.04314718056, -0.7)),
        (losses.NegativeLog(), 0.0, 1.0, 0.0, (0.38629436112, -0.30685281944, -1.0)),
        (losses.Exponential(), 1.0, 1.0, 0.0, (-0.59657359028, -0.84657359028, -1.0)),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, losses.Loss) else "",
)
def test_z5_conjugates_of_the_losses(
    loss: Any, target: float, weight: float, threshold: float, expected: Any
) -> None:
    # c f has the conjugate c f*(s/c); a threshold b, as an offset -b, adds -b zeta.
    values = [weight * loss.conjugate(target, -z / weight) - threshold * z for z in ZETAS]
    assert values == near(expected)


def test_z6_conjugates_of_transforms() -> None:
    loss = losses.Logistic()
    assert 2.5 * loss.conjugate(1.0, -1.4 / 2.5) == near(-1.71482450063)
    assert loss.conjugate(1.0, -0.5 / 2.0) - 0.5 * 0.3 / 2.0 == near(-0.637335144619)


V = np.array([0.3, -0.8, 1.1])


@pytest.mark.parametrize(
    ("regularizer", "h", "w", "g"),
    [
        (SQUARE, 0.97, (0.3, -0.8, 1.1), 0.97),
        (
            MAPS["squared norm"],
            0.758923047579,
            (0.0730514163445, -0.51947673845, 0.982135708631),
            0.758923047579,
        ),
        (MAPS["power"], 0.623333333333, (0.09, -0.64, 1.21), 1.24666666667),
        (
            MAPS["normalised entropy"],
            0.470702092688,
            (0.281024231195, 0.0935448403832, 0.625430928422),
            0.226743325628,
        ),
        (
            MAPS["unnormalised entropy"],
            4.80335379564,
            (1.34985880758, 0.449328964117, 3.00416602395),
            -1.45327669832,
        ),
        (
            MAPS["two-sided entropy"],
            8.10258402851,
            (0.609040586894, -1.77621196438, 2.67129494025),
            -3.56047784667,
        ),
        (MAPS["soft 1-norm"], 0.45, (0.0, -0.6, 1.2), 1.35),
        (Map(mirrors.Box(-0.5, 0.5)), 0.745, (0.3, -0.5, 0.5), 0.295),
    ],
    ids=[*MAPS, "dual Huber"],
)
def test_z5_conjugates_of_the_regularizers(regularizer: Map, h: float, w: Any, g: float) -> None:
    mirror, factor = regularizer.mirror, regularizer.factor
    theta = V / factor
    value = factor * mirror.conjugate_upper(theta, 1.0, 0.0, 0.0) + regularizer.shift
    assert value == near(h)
    weights = link(mirror, theta)
    assert weights == near(w)
    own = factor * mirror.regularizer(weights, 1.0) - regularizer.shift
    assert own == near(g)


def test_z5_a_quadratic_form_is_a_change_of_features() -> None:
    # With x' = L^(-1/2) x the square of the new weights is w' L w.
    root = np.sqrt([1.0, 2.0, 4.0])
    theta = V / root
    assert 0.5 * theta @ theta == near(0.35625)
    assert link(mirrors.Euclidean(), theta) / root == near([0.3, -0.4, 0.275])


EXACT_SWEEPS = {
    ("sqhinge", "normalised entropy"): (
        (
            0.565627830991,
            0.518698477609,
            0.443078655817,
            0.556490196065,
            0.613067888979,
            1.03690907019,
        ),
        (0.562401437903, 0.0279525237102, 0.409646038387),
    ),
    ("logistic", "normalised entropy"): (
        (
            0.370251036751,
            0.390731032886,
            0.369414344281,
            0.409060174127,
            0.448101073667,
            0.52864863753,
        ),
        (0.590580396566, 0.075634404178, 0.333785199256),
    ),
    ("square", "normalised entropy"): (
        (
            0.492516012811,
            -0.107154965946,
            1.57539672573,
            0.706054254378,
            -0.219444017304,
            0.222621990617,
        ),
        (0.104039488151, 0.571805864801, 0.324154647048),
    ),
    ("huber", "normalised entropy"): (
        (0.492516012811, -0.107154965946, 0.5, 0.5, -0.199794118593, 0.241409424698),
        None,
    ),
    ("sqhinge", "squared norm"): (
        (
            0.469861846654,
            0.225703870656,
            0.26349151533,
            0.269099895846,
            0.335899784532,
            0.665119352105,
        ),
        (0.797508179845, -0.378376939052, 0.853715512804),
    ),
    ("logistic", "squared norm"): (
        (
            0.208347360034,
            0.274284671159,
            0.30831758768,
            0.316495852523,
            0.420298138365,
            0.531949291057,
        ),
        (1.01246434493, -0.0846036284093, 0.452504072357),
    ),
    ("square", "squared norm"): (
        (
            0.234930923327,
            0.0046217849003,
            0.420708598263,
            0.213442627954,
            -0.389451447259,
            0.102824295646,
        ),
        (-0.455819749331, -7.51530517472e-05, -0.57039457442),
    ),
}


@pytest.mark.parametrize(("form", "regularizer"), EXACT_SWEEPS, ids=map(" x ".join, EXACT_SWEEPS))
def test_z7_one_sweep_of_exact_steps(form: str, regularizer: str) -> None:
    posed = problem(FORMS[form], MAPS[regularizer])
    ascent, _ = sweeps(posed)
    expected, weights = EXACT_SWEEPS[form, regularizer]
    assert zeta(posed, ascent.slopes) == near(expected)
    if weights is not None:
        assert evaluate(posed, ascent.slopes)[0] == near(weights)


@pytest.mark.parametrize(
    ("regularizer", "gap"), [("squared norm", 1.47543847695e-07), ("power", 2.50562408266e-07)]
)
def test_z8_a_vanishing_curvature_makes_it_slow(regularizer: str, gap: float) -> None:
    posed = problem(FORMS["hinge"], MAPS[regularizer])
    ascent, seen = sweeps(posed, 300)
    assert seen[-1][1] == pytest.approx(gap, rel=1e-4)
    weights = evaluate(posed, ascent.slopes)[0]
    assert weights == pytest.approx([1.47058823529, 0.0, 0.441176470588], abs=1e-3)


OPTIMA = """
hinge 0.419333910035 0.433919089369 0.439896222983 0.675415167284 0.025908015284 -0.241732193167 0.455990484429
sqhinge 0.22825208319 0.242428989248 0.258319798594 0.275973376206 -0.111450407926 -0.407983847206 0.277142371098
modhuber 0.22825208319 0.242428989248 0.258319798594 0.275973376206 -0.111450407926 -0.407983847206 0.277142371098
logistic 0.526505865117 0.54674519059 0.558949467484 0.573969641971 0.104900259599 -0.146075292017 0.57720814048
phinge 0.147313196792 0.157149591219 0.173559399421 0.16316900272 -0.173887966328 -0.476243020992 0.191654999058
exp 0.647378477491 0.680171825468 0.681174169523 0.763111462737 0.214845261773 -0.0516344955439 0.703409379181
square 0.0963413491592 0.101398396556 0.114731800076 0.301222579746 0.0835721500156 -0.51471890407 0.12841403745
square2 0.170686400421 0.178101229715 0.193341402682 0.578270033908 0.297932347143 -0.443076482494 0.20967820691
abs 0.313573222096 0.326173730976 0.34238160259 0.561077614878 0.350692703047 -0.313628390159 0.360639073384
epsins 0.235130352658 0.24828115206 0.264093757318 0.477376310291 0.267227839714 -0.386536255118 0.282357893808
huber 0.0949441154906 0.100110104207 0.112910686552 0.198422836683 -0.0250758884559 -0.516623732257 0.125665511781
"""  # noqa: E501
TABLE = {
    (row.split()[0], name): float(value)
    for row in OPTIMA.strip().splitlines()
    for name, value in zip(MAPS, row.split()[1:], strict=True)
}
#: Where the curvature vanishes at the optimum the gap closes like a power of the sweeps.
SLOW = {("hinge", "squared norm"): 1e-7, ("hinge", "power"): 1e-7}


#: A step of 4 through the table, whose width is no multiple of it, meets each row and column.
VALUES = sized(list(TABLE)[::4], list(TABLE))


@pytest.mark.parametrize(("form", "regularizer"), VALUES, ids=map(" x ".join, VALUES))
def test_z27_optimal_values(form: str, regularizer: str) -> None:
    slow = SLOW.get((form, regularizer))
    found = solved(problem(FORMS[form], MAPS[regularizer]), 1e-11, 3000)
    expected, shift = TABLE[form, regularizer], 0.1 * MAPS[regularizer].shift
    assert found.dual / 6.0 - shift == pytest.approx(expected, rel=1e-8)
    assert found.gap / 6.0 <= (slow or 2e-11)
    assert found.gap >= 0.0


WEIGHTS = {
    ("sqhinge", "squared norm"): (0.936691947178, -0.121483247718, 0.45082154163),
    ("logistic", "squared norm"): (1.10416614171, -0.105886080885, 0.488794524294),
    ("square", "squared norm"): (-0.450145629434, -0.0356848015493, -0.353755583023),
    ("huber", "squared norm"): (-0.472068891532, -0.0322597602119, -0.309383156574),
    ("sqhinge", "normalised entropy"): (0.630458820169, 0.0359471105067, 0.333594069325),
    ("logistic", "normalised entropy"): (0.593871190636, 0.0751652820103, 0.330963527354),
    ("square", "normalised entropy"): (0.106441843253, 0.583097540443, 0.310460616304),
    ("huber", "normalised entropy"): (0.121095075579, 0.58661911711, 0.292285807311),
    ("abs", "normalised entropy"): (0.0412296349384, 0.704897530422, 0.25387283464),
}


@pytest.mark.parametrize(("form", "regularizer"), WEIGHTS, ids=map(" x ".join, WEIGHTS))
def test_z27_optimal_weights(form: str, regularizer: str) -> None:
    posed = problem(FORMS[form], MAPS[regularizer])
    ascent, _ = sweeps(posed, 150)
    weights = evaluate(posed, ascent.slopes)[0]
    assert weights == pytest.approx(WEIGHTS[form, regularizer], rel=1e-8, abs=1e-8)


def test_z2_slopes_and_weights_recover_each_other() -> None:
    form = Form(losses.Logistic(), S_A)
    posed = problem(form, SQUARE)
    ascent, _ = sweeps(posed, 100)
    weights = evaluate(posed, ascent.slopes)[0]
    slopes = [form.loss.slope(y, p) for y, p in zip(S_A, X_A @ weights, strict=True)]
    assert ascent.slopes == near(slopes)
    assert -(X_A.T @ ascent.slopes) / 0.6 == near(weights)
