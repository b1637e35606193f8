"""Losses of one's own in forecasters, games and drift proofs: named, and looked at."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import noregret as nr
from noregret import losses, mirrors, oco, rates
from noregret.experts import Forecaster


@dataclass(frozen=True)
class Bent(losses.Regression):
    """|p - y|, whose slope has the wrong sign far from 0, where no trial point lies."""

    def value(self, y: float, p: float) -> float:
        return abs(p - y)

    def slope(self, y: float, p: float) -> float:
        sign = 1.0 if abs(p) < 20.0 else -1.0
        return sign if p > y else -sign


@pytest.mark.parametrize("against", ["experts", "combinations"])
def test_forecasters_look_at_every_round(against: str, tmp_path: Path) -> None:
    """A violation names its round, ends the theorems, not the forecasts, and is remembered."""
    forecaster = Forecaster(2, Bent(), against=against)
    predictions = [[0.1, 0.3], [0.2, 0.25], [30.0, 35.0], [0.1, 0.2]]
    forecaster.learn(predictions[:2], [0.2, 0.2])
    sound = forecaster.certificate()
    assert sound.broken is None and sound.bounds
    assert (sound.combination_regret is None) == (against == "experts")
    made = forecaster.learn(predictions[2:], [0.2, 0.2])
    assert np.isfinite(made).all() and forecaster.rounds == 4
    forecaster.save(tmp_path / "model")
    for one in (forecaster, nr.load(tmp_path / "model")):
        found = one.certificate()
        assert found.broken is not None and found.broken.round == 3
        assert found.bounds == [] and found.combination_regret is None
        assert "  no theorem: Bent broke its promise of convexity in round 3" in str(found)
        assert "at most" not in str(found)
        assert found.as_dict()["broken"]["round"] == 3
        # What was measured is no claim about the loss.
        assert found.regret() >= found.loss - found.totals.min()


def test_games_name_all_that_they_trust() -> None:
    convex = "the losses are taken at their word to be convex"
    plays = {"": oco.Linear([0.5]), " and to have the curvature they give": oco.Quadratic([0.5])}
    for words, loss in plays.items():
        game = oco.Game(1, mirrors.Ball(1.0), rates.Constant(0.5))
        assert oco.run(game, [loss]).assumption == convex + words
    game = oco.Game(1, mirrors.Ball(1.0), rates.Constant(0.5), nonnegative=True)
    assert oco.run(game, [oco.Quadratic([0.5])]).assumption == (
        f"{convex}, never to be negative and to have the curvature they give"
    )
    game = oco.Game(1, mirrors.Euclidean(), rates.StronglyConvex(1.0), nonnegative=True)
    assert oco.run(game, [oco.Quadratic([0.5])] * 3).assumption == (
        "the losses are taken at their word to be 1-strongly convex and never to be negative"
    )


@dataclass(frozen=True)
class Lifted(losses.Regression):
    """The square loss, with a conjugate that is too low by a half: its duals are too high."""

    def value(self, y: float, p: float) -> float:
        return (p - y) * (p - y)

    def slope(self, y: float, p: float) -> float:
        return 2.0 * (p - y)

    def intercept(self, y: float, p: float, value: float, slope: float) -> float:
        return value - slope * p

    def conjugate(self, y: float, s: float) -> float:
        return s * y + 0.25 * s * s - 0.5


@pytest.mark.parametrize("window", [None, 10])
def test_drift_ends_its_claims_where_a_conjugate_is_wrong(window: int | None) -> None:
    X, y = np.ones((40, 1)), np.repeat([0.25, -0.25], 20)
    proof = nr.drift_proof(X, y, Lifted(), radius=1.0, window=window)
    assert not proof.proved and proof.windows == ()
    first, second = str(proof).splitlines()
    assert first == "Nothing is proved."
    assert second.startswith("  no statement: ")
    assert second.endswith("Lifted.conjugate is not that of a convex value(y, p)")
    found = proof.as_dict()
    assert found["static_bound"] is None and found["margin"] is None
    assert "Lifted.conjugate" in found["broken"]
