"""Every certificate, proof and solution of the library is read in the same ways."""

from __future__ import annotations

import html
import importlib
import inspect
import json
import math
import pkgutil
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import noregret
import noregret as nr
from noregret import bandits, catalogue, classes, experts, losses, mirrors, oco, rates, tracking
from noregret.bandits import ArmFeatureBandit, ContextualBandit, Exp3IX, GradientBandit
from noregret.cluster import online
from noregret.learners import DualAscent
from noregret.proof.statement import Proof, Statement, plain, row
from noregret.sklearn import DualClassifier, OnlineClassifier
from tests.printed.cases_reached import NO_STATEMENTS
from tests.printed.cases_shards import solved

X = np.array([[0.6, 0.8], [0.8, 0.6], [1.0, 0.0], [0.0, 1.0]])
SIGNS, REALS, CLASSES = np.array([1, -1, 1, -1]), np.array([0.5, -1.0, 1.0, 0.0]), [0, 1, 2, 0]
#: Classes without a floor, with the reason.
NO_FLOOR = {
    "SleepingCertificate": "the rounds differ from expert to expert",
    "SurrogateCertificate": "the best hypothesis is measured by another loss",
    "BanditCertificate": "`floor` is a number that holds with a probability",
    "ContextualCertificate": "`floor` is a number that holds with a probability",
    "ArmFeatureCertificate": "other policies are estimated",
    "EstimatedCertificate": "the losses themselves are not known, only estimates",
    "GradientCertificate": "the losses themselves are not known, only estimates",
    "MistakeCertificate": "a hypothesis that gives all labels has no loss",
    "EliminationCertificate": "a hypothesis that gives all labels has no loss",
    "AgnosticCertificate": "the best hypothesis is known exactly: `best`",
    "RankingCertificate": "the best list is known exactly: `best`",
}


def _learnt(learner: Any, rows: Any = X, labels: Any = SIGNS) -> Any:
    learner.learn(rows, labels)
    return learner.certificate()


def _descent(rate: Any) -> nr.MirrorDescent:
    return nr.MirrorDescent(losses.Hinge(), mirrors.Euclidean(), rate)


def _game() -> Any:
    game = oco.Game(2, mirrors.Ball(1.0), rates.Constant(0.5))
    return oco.run(game, [oco.Linear([1.0, 0.0]), oco.Linear([0.0, 1.0])])


def _sleeping() -> Any:
    learner = experts.Specialists(2, eta=0.5)
    learner.suffer([0.0, 1.0], awake=[True, True])
    return learner.certificate()


def _surrogate() -> Any:
    learner = experts.SurrogateClassifier(2)
    for label in (0, 0, 1):
        learner.learn([1, 0], label)
    return learner.certificate()


def _bandit(bandit: Any, *context: Any) -> Any:
    for _ in range(3):
        bandit.learn(bandit.decide(*context).id, cost=0.5)
    return bandit.certificate()


def _gradient() -> Any:
    bandit = GradientBandit(2, nr.domains.Ball(1), eta=0.1, delta=0.5, seed=0)
    bandit.play()
    bandit.suffer(0.5)
    return bandit.certificate()


def _estimated() -> Any:
    game = bandits.EstimatedGame(oco.Game(2, mirrors.Entropy(), rates.Constant(0.5)))
    game.play()
    game.suffer(1.0, [2.0, 0.0])
    return game.certificate()


def _ranker() -> Any:
    ranker = nr.Ranker(rate=rates.Constant(0.1))
    ranker.learn(X, [1.0, 0.0, 1.0, 0.0], [0, 0, 1, 1])
    return ranker.certificate()


def _anchored() -> Any:
    model = DualClassifier(loss="logistic").fit(X, SIGNS)
    model.partial_fit(X, SIGNS)
    return model.certificate_


def _shifting() -> Any:
    learner = catalogue.c_gd(radius=1.0, row_limit=1.0)
    learner.learn(X, REALS)
    schedule = tracking.Schedule([(0, [0.1, 0.0]), (2, [0.0, 0.1])])
    return tracking.shifting_bounds(learner, schedule, X, REALS)


def _log() -> bandits.Log:
    return bandits.Log([0, 1, 1], [1.0, 0.0, 1.0], [0.5, 0.5, 0.5], arms=2)


MADE: dict[str, Callable[[], Any]] = {
    "Certificate": lambda: _learnt(_descent(rates.CoinBetting())),
    "MixedCertificate": lambda: online.learn(
        [[(X, SIGNS)], [(X, SIGNS)]], _descent(rates.Constant(1.0)), every=1
    ).certificate(),
    "DualCertificate": lambda: _learnt(DualAscent(losses.Hinge(), mirrors.Euclidean(), C=0.5)),
    "AnchoredCertificate": _anchored,
    "MatrixCertificate": lambda: _learnt(
        nr.MatrixDescent(losses.Softmax(), mirrors.Ball(1), rates.Constant(1)), X, CLASSES
    ),
    "ScoresCertificate": _ranker,
    "AggregateCertificate": lambda: _learnt(nr.Aggregate([_descent(rates.Constant(1.0))])),
    "ScoreAggregateCertificate": lambda: _learnt(experts.ScoreAggregate(), X, CLASSES),
    "GameCertificate": _game,
    "KernelCertificate": lambda: _learnt(
        tracking.KernelDescent(tracking.Gaussian(), radius=1.0, eta=0.25), X, REALS
    ),
    "ClassCertificates": lambda: OnlineClassifier(rate="coin_betting").fit(X, CLASSES).certificate_,
    "ExpertCertificate": lambda: _played(experts.Hedge(2, eta=0.5)),
    "ShareCertificate": lambda: _played(experts.Shares(2, eta=0.5, alpha=0.1)),
    "SleepingCertificate": _sleeping,
    "SurrogateCertificate": _surrogate,
    "BanditCertificate": lambda: _bandit(Exp3IX(2, eta=0.1, seed=0)),
    "ContextualCertificate": lambda: _bandit(ContextualBandit(2, seed=0), [1.0, 0.0]),
    "ArmFeatureCertificate": lambda: _bandit(ArmFeatureBandit(seed=0), X),
    "EstimatedCertificate": _estimated,
    "GradientCertificate": _gradient,
    "MistakeCertificate": lambda: _learnt(classes.Halving(classes.thresholds(3)), [1, 0], [1, 1]),
    "EliminationCertificate": lambda: _learnt(
        classes.Elimination(2, k=1), [[1, 0], [0, 1]], [1, 0]
    ),
    "AgnosticCertificate": lambda: _learnt(
        classes.Agnostic(classes.thresholds(3), horizon=5), [1, 0], [1, 0]
    ),
    "RankingCertificate": lambda: _clicked(classes.Ranking(3, horizon=5)),
}
#: What is proved about a sample, a log or a game as a whole.
OTHERS: dict[str, Callable[[], Any]] = {
    "Solution": lambda: nr.hindsight(X, SIGNS, losses.Hinge(), l2=1.0),
    "ClusterSolution": lambda: solved(
        X, SIGNS, None, losses.Hinge(), mirrors.Euclidean(), 1.0, tol=1e-6
    ),
    "ConstrainedSolution": lambda: nr.hindsight_constrained(
        X, SIGNS, losses.Hinge(), A=[[1.0, 0.0]], limits=[1.0], l2=1.0
    ),
    "ClassSolutions": lambda: DualClassifier().fit(X, CLASSES).certificate_,
    "DriftProof": lambda: nr.drift_proof(np.ones((40, 1)), np.repeat([1.0, -1.0], 20), radius=1.0),
    "HindsightPath": lambda: nr.hindsight_path(X, REALS, shifts=1),
    "ShiftingBounds": _shifting,
    "BatchPredictor": lambda: catalogue.batch_predictor(
        catalogue.ogd(losses.Absolute(), 0.3, dimension=2), X, REALS
    ),
    "Estimate": lambda: bandits.ips(_log(), [0.0, 1.0]),
    "Replay": lambda: bandits.replay(bandits.Exp3(2, eta=0.1, seed=1), _log()),
    "Demonstration": lambda: classes.demonstrate(classes.Majority(), 5),
}


def _played(learner: Any) -> Any:
    learner.suffer([0.0, 1.0])
    return learner.certificate()


def _clicked(learner: Any) -> Any:
    learner.learn([1, 2])
    return learner.certificate()


def _proofs() -> set[str]:
    found = set()
    for module in pkgutil.walk_packages(noregret.__path__, "noregret."):
        if module.name.endswith("__main__"):
            continue
        for name, made in vars(importlib.import_module(module.name)).items():
            own = inspect.isclass(made) and made.__module__ == module.name
            if own and (issubclass(made, Proof) or "Certificate" in name):
                found.add(name)
    return found - set(NO_STATEMENTS)


def test_every_certificate_and_proof_is_looked_at() -> None:
    assert _proofs() == set(MADE) | set(OTHERS)


@pytest.mark.parametrize("name", [*MADE, *OTHERS])
def test_what_is_proved_is_read_in_the_same_ways(name: str) -> None:
    proof = (MADE | OTHERS)[name]()
    assert type(proof).__name__ == name and isinstance(proof, Proof)
    text = proof.text()
    assert str(proof) == text and len(text.splitlines()) >= 1
    shown = re.sub(r"</strong><pre[^>]*>", "\n", proof._repr_html_())
    assert html.unescape(re.sub(r"<[^>]*>", "", shown)).rstrip("\n") == text
    json.dumps(proof.as_dict(), allow_nan=False)


@pytest.mark.parametrize("name", MADE)
def test_certificates_have_the_same_attributes(name: str) -> None:
    proof = MADE[name]()
    assert isinstance(proof.rounds, int) and proof.rounds >= 1
    assert isinstance(proof.loss, float) and math.isfinite(proof.loss)
    assert proof.describe() and isinstance(proof.describe(), str)
    assert all(isinstance(bound, Statement) for bound in proof.bounds)
    told = proof.as_dict()
    assert told["rounds"] == proof.rounds
    if name not in NO_FLOOR:
        # Rounding may lift the sum of the losses above the floor, never far.
        assert proof.floor() <= proof.loss + 1e-9


def test_a_value_that_json_has_not_becomes_none_or_a_list() -> None:
    assert plain([math.nan, np.float64(2.0), np.arange(2), rates.Constant(1.0)]) == [
        None,
        2.0,
        [0, 1],
        "Constant(eta=1.0)",
    ]
    assert row("a", "1", "b", (2, 3)) == "  a   1  b" and row("a", "1", "", (2, 3)) == "  a   1"
