"""No printed statement is false: floors, regrets and theorems on hostile streams."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from unittest import mock

import numpy as np
import pytest

from noregret import Certificate, losses
from noregret.learners import dual_certificate
from noregret.learners.unit_free_engines import ScaleFreeEngine
from noregret.mirrors import Mirror
from noregret.mirrors.predictors import Predictors
from noregret.proof.statement import Measured, Statement
from tests.sizes import sized
from tests.truth import dual_streams, soak
from tests.truth.claims import Tally, bare_theorems
from tests.truth.dual_streams import COMPILED, DUAL_COMBOS
from tests.truth.learners import BLOCKS, COMBOS, SCALE_FREE, TRACKERS
from tests.truth.referee import Referee, exact_loss
from tests.truth.streams import KINDS, LONG, Kind

#: Kinds of streams for each combination, and rounds at most; `make soak` plays thousands.
STREAMS, ROUNDS = sized(1, 2), sized(20, 60)


ALL = COMBOS + SCALE_FREE + TRACKERS


def shortened(kind: Kind) -> Kind:
    return replace(kind, rounds=min(kind.rounds, ROUNDS))


@pytest.mark.parametrize("number", range(len(ALL)), ids=[combo.name for combo in ALL])
def test_every_statement_is_true(number: int) -> None:
    total = Tally()
    for k in range(STREAMS):
        # Steps of 7 through 25 kinds: over all combinations every kind is met.
        kind = KINDS[(7 * number + 4 * k) % len(KINDS)]
        tally, what = soak.run_one(ALL[number], shortened(kind), [number, k])
        assert not tally.false, "\n".join([what, *tally.false[:5]])
        total.add(tally)
    assert total.checked["floor"] > 16 * STREAMS
    assert total.checked["regret"] > 8 * STREAMS


@pytest.mark.parametrize("number", range(len(BLOCKS)), ids=[combo.name for combo in BLOCKS])
def test_every_statement_with_blocks_is_true(number: int) -> None:
    kind = KINDS[(7 * number + 6) % len(KINDS)]
    tally, what = soak.run_one(BLOCKS[number], shortened(kind), [number, 8])
    assert not tally.false, "\n".join([what, *tally.false[:5]])
    assert tally.checked["floor"] > 16


@pytest.mark.parametrize("name", ["logistic, ball, adaptive", "hinge, plain, curved"])
def test_long_streams(name: str) -> None:
    combo = next(combo for combo in COMBOS if combo.name == name)
    tally, what = soak.run_one(combo, replace(LONG, rounds=sized(700, LONG.rounds)), [3])
    assert not tally.false, "\n".join([what, *tally.false[:5]])


#: Streams of dual ascent for each pair.
DUAL_STREAMS = sized(1, 2)


@pytest.mark.parametrize(
    "number", range(COMPILED), ids=[combo.name for combo in DUAL_COMBOS[:COMPILED]]
)
def test_every_statement_of_dual_ascent_is_true(number: int) -> None:
    total = Tally()
    for k in range(DUAL_STREAMS):
        kind = KINDS[(7 * number + 11 * k) % len(KINDS)]
        tally, what = dual_streams.run_one(DUAL_COMBOS[number], shortened(kind), [number, k])
        assert not tally.false, "\n".join([what, *tally.false[:5]])
        total.add(tally)
    for statement in ("floor", "regret", "dual value", "lambda", "theorem"):
        assert total.checked[statement] > 0


def test_the_referee_catches_a_dual_value_that_is_too_high() -> None:
    plain = dual_certificate.DualCertificate
    true_slack, true_delta = plain.slack.func, plain.delta.func
    found: list[str] = []
    with (
        mock.patch.object(plain, "slack", property(lambda self: 0.0 * true_slack(self))),
        mock.patch.object(plain, "delta", property(lambda self: 0.0 * true_delta(self))),
        mock.patch("noregret.rounding.EPSILON", 0.0),
        mock.patch("noregret.mirrors.norms.EPSILON", 0.0),
        mock.patch("noregret.mirrors.predictors.EPSILON", 0.0),
        mock.patch.object(plain, "dual", property(lambda self: self.C * self.regularized_floor())),
    ):
        for k in range(8):
            if not found:
                tally, _ = dual_streams.run_one(DUAL_COMBOS[0], KINDS[0], [6, k])
                found += [text for text in tally.false if text.startswith("dual value")]
    assert found


def _caught(combo: str, kind: str) -> Iterator[str]:
    """Yield falsehoods of four streams, each played when the ones before did not suffice."""
    chosen = next(c for c in ALL if c.name == combo)
    for k in range(4):
        tally, _ = soak.run_one(chosen, next(s for s in KINDS if s.name == kind), [5, k])
        yield from tally.false


def test_the_referee_catches_rounding_that_is_ignored() -> None:
    with (
        mock.patch.object(Certificate, "slack", 0.0),
        mock.patch.object(Certificate, "delta", 0.0),
        mock.patch("noregret.rounding.EPSILON", 0.0),
        mock.patch("noregret.mirrors.norms.EPSILON", 0.0),
        mock.patch("noregret.mirrors.predictors.EPSILON", 0.0),
    ):
        assert any(_caught("absolute, ball, doubling", "far targets"))


def test_the_referee_catches_a_floor_one_part_in_a_thousand_million_too_high() -> None:
    true_support = Predictors.support_upper
    with mock.patch.object(
        Predictors, "support_upper", lambda *given: true_support(*given) * (1.0 - 1e-9)
    ):
        false = _caught("hinge, plain, constant", "adversarial, weighted")
        assert any(text.startswith("floor") for text in false)


def test_the_referee_catches_a_floor_of_scaled_features_that_is_too_high() -> None:
    true_lengths = ScaleFreeEngine.scaled_lengths

    def shorter(engine: ScaleFreeEngine) -> tuple[float, float, float]:
        length, reach, smallest = true_lengths(engine)
        return length * (1.0 - 1e-9), reach, smallest

    with mock.patch.object(ScaleFreeEngine, "scaled_lengths", shorter):
        false = _caught("hinge, plain, scale-free", "adversarial, weighted")
        assert any(text.startswith("floor") for text in false)


def test_the_referee_catches_a_theorem_that_only_its_safeguard_saves() -> None:
    true_complexity = Mirror.complexity
    with mock.patch.object(Mirror, "complexity", lambda *given: 0.5 * true_complexity(*given)):
        kinds = {text.split(":")[0] for text in _caught("hinge, plain, constant", "constant")}
    assert kinds == {"bare theorem", "contradicted theorem"}


def test_the_referee_agrees_with_the_losses() -> None:
    kinds = [
        losses.Hinge(0.3),
        losses.SquaredHinge(),
        losses.Logistic(),
        losses.WinnowHinge(),
        losses.Squared(),
        losses.Absolute(),
        losses.EpsilonInsensitive(0.2),
        losses.Huber(0.7),
        losses.Quantile(0.9),
    ]
    random = np.random.default_rng(0)
    for loss in kinds:
        for _ in range(50):
            y, p = float(random.choice([-1.0, 1.0])), float(random.normal() * 3.0)
            low, high = exact_loss(loss, Fraction(y), Fraction(p))
            assert low <= high
            assert math.isclose(loss.value(y, p), float(high), rel_tol=1e-13, abs_tol=1e-15)
            referee = Referee(loss, np.array([[p]]), np.array([y]), np.ones(1))
            value, margin = referee.approximate(np.ones(1))
            assert abs(float(value) - float(high)) <= float(margin)


def test_a_conservative_learner_is_not_promised_a_bound_on_its_whole_loss() -> None:
    # It predicts the right label at a margin of 0.01 for ever: no update, a loss a round.
    from noregret import catalogue

    learner = catalogue.perceptron()
    learner.learn(np.full((1000, 1), 0.1), np.ones(1000))
    certificate = learner.certificate()
    assert certificate.loss > 900.0
    regrets = [b for b in certificate.bounds_for(20.0) if b.measure == "loss"]
    assert regrets == []
    assert {b.measure for b in certificate.bounds_for(20.0)} == {"loss on mistakes", "mistakes"}


def test_the_safeguard_is_the_one_that_the_tests_remove() -> None:
    theorem = Statement("a theorem", "", 1.0)
    run = Measured(2.0, 0.0, "nothing")
    with bare_theorems():
        assert run.judge(theorem.value) == (1.0, "")
    assert run.judge(theorem.value)[0] == math.inf


@pytest.mark.soak
def test_soak() -> None:
    assert soak.main(["--count", "2000"]) == 0


@pytest.mark.parametrize("index", [109, 119])
def test_the_smallest_C_contradicts_no_theorem(index: int) -> None:
    tally, what = dual_streams.stream(0, index)
    assert "C=1e-320" in what and not tally.false, tally.false
