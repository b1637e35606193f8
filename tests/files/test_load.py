"""One door for model files of every kind."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret import bandits, classes, experts, losses
from noregret.files import store
from noregret.learners.files import GAMES, KINDS

MADE: dict[str, Callable[[], Any]] = {
    "Agnostic": lambda: classes.Agnostic([[0, 1], [1, 1]], 5),
    "Consistent": lambda: classes.Consistent([[0, 1], [1, 1]]),
    "ArmFeatureBandit": lambda: bandits.ArmFeatureBandit(),
    "ContextualBandit": lambda: bandits.ContextualBandit(3),
    "Elimination": lambda: classes.Elimination(3, 2),
    "Exp3": lambda: bandits.Exp3(arms=3, eta=0.1),
    "Exp3IX": lambda: bandits.Exp3IX(arms=3, horizon=9),
    "Forecaster": lambda: experts.Forecaster(3, losses.Squared()),
    "GradientBandit": lambda: bandits.GradientBandit(2, nr.domains.Ball(1.0), 0.1, 0.2),
    "Halving": lambda: classes.Halving([[0, 1], [1, 1]]),
    "Hedge": lambda: experts.Hedge(3, eta=0.5),
    "ProbabilityForecaster": lambda: experts.ProbabilityForecaster(3),
    "Ranker": lambda: nr.Ranker(dimension=3),
    "Ranking": lambda: classes.Ranking(3, 9),
    "SOA": lambda: classes.SOA([[0, 1], [1, 1]]),
    "ScoreForecaster": lambda: experts.ScoreForecaster(3),
    "Shares": lambda: experts.Shares(3, eta=0.5, alpha=0.1),
    "Specialists": lambda: experts.Specialists(3, eta=0.5),
    "TsallisINF": lambda: bandits.TsallisINF(arms=3),
}


def test_every_kind_has_an_example() -> None:
    assert set(MADE) == set(GAMES) and not set(KINDS) & set(GAMES)


@pytest.mark.parametrize("kind", [*KINDS, *GAMES])
def test_kinds_are_where_the_table_says(kind: str) -> None:
    maker = getattr(importlib.import_module((KINDS | GAMES)[kind]), kind)
    assert callable(maker._from_file) and callable(maker.save)


@pytest.mark.parametrize("kind", MADE)
def test_games_come_back(kind: str, tmp_path: Path) -> None:
    game = MADE[kind]()
    assert type(game).__name__ == kind
    game.save(tmp_path / "model.nr")
    again = nr.load(tmp_path / "model.nr")
    assert type(again) is type(game)
    again.save(tmp_path / "again.nr")
    assert (tmp_path / "again.nr").read_bytes() == (tmp_path / "model.nr").read_bytes()


@pytest.mark.parametrize("header", [{}, {"game": "Chess"}, {"learner": 3}, {"bandit": ["Exp3"]}])
def test_a_file_of_an_unknown_kind_is_refused_in_one_line(
    header: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "model.nr"
    store.write(path, header, {})
    with pytest.raises(ValueError, match=r"model\.nr: holds .*, not a model of a kind known") as e:
        nr.load(path)
    assert "\n" not in str(e.value)


def test_a_component_is_found_wherever_its_module_has_moved_to(tmp_path: Path) -> None:
    learner = nr.catalogue.perceptron()
    learner.learn([[1.0, 2.0]], [1])
    learner.save(tmp_path / "model.nr")
    header, arrays = store.read(tmp_path / "model.nr")
    assert header["mirror"]["class"] == "noregret.mirrors:Euclidean"
    header["mirror"]["class"] = "noregret.mirrors.moved.since:Euclidean"
    store.write(tmp_path / "old.nr", header, arrays)
    np.testing.assert_array_equal(nr.load(tmp_path / "old.nr").weights, learner.weights)
    header["mirror"]["class"] = "noregret.losses:Euclidean"
    store.write(tmp_path / "wrong.nr", header, arrays)
    with pytest.raises(ValueError, match="not known here"):
        nr.load(tmp_path / "wrong.nr")
