"""The objective that a certificate is about is named wherever it is spoken of."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import noregret as nr
from noregret import catalogue, losses, mirrors, rates
from noregret.evaluate import Trial
from noregret.proof.certificate import Certificate
from tests.cli.conftest import call as call
from tests.cli.program import Call, svmlight

PENALISED = "Hinge + (0.5/2)||u||_2^2 a round"


def separable(rounds: int = 200) -> Certificate:
    """Rows x = 1 with label 1: u = 1 has no hinge loss at all, but a penalty."""
    learner = catalogue.strongly_convex_ogd(losses.Hinge(), 0.5)
    learner.learn(np.ones((rounds, 1)), np.ones(rounds))
    return learner.certificate()


def test_text_names_the_penalised_loss() -> None:
    lines = str(separable()).splitlines()
    assert lines[0] == f"Certificate after 200 rounds, {PENALISED}"
    (claim,) = [line for line in lines if "lost at least that much" in line]
    assert claim == f"    every u with ||u||_2 <= 1 lost at least that much by {PENALISED}"
    (meaning,) = [line for line in lines if line.strip().startswith("L(u):")]
    assert meaning == f"    L(u): what such a u lost by {PENALISED}"
    bounds = [line for line in lines if "L(u) <=" in line]
    assert bounds and all("penalised loss - L(u)" in line for line in bounds)


def test_plain_loss_stands_beside_the_penalised_one() -> None:
    certificate = separable()
    wrong = np.array([max(0.0, 1.0 - p) for p in _played()])
    assert certificate.plain_loss == pytest.approx(wrong.sum(), rel=1e-12)
    assert f"learner's plain loss      {certificate.plain_loss:>14.6g}" in str(certificate)
    told = certificate.as_dict()
    assert told["objective"] == PENALISED and told["plain_loss"] == certificate.plain_loss
    # What the floor and the regret belong to: u = 1 has a penalty of 0.25 a round and no loss.
    assert told["loss"] > told["plain_loss"] and told["floor"] <= 0.25 * 200


def _played() -> list[float]:
    learner = catalogue.strongly_convex_ogd(losses.Hinge(), 0.5)
    return [float(learner.learn([[1.0]], [1.0])[0]) for _ in range(200)]


def test_the_plain_certificate_is_about_the_loss_alone() -> None:
    plain = separable().plain()
    assert plain.objective == "Hinge" and plain.loss == plain.plain_loss
    # u = 1 lost nothing.
    assert plain.floor(1.0) == 0.0 and plain.regret([1.0]) >= plain.loss
    assert not plain.bounds and "penalised" not in str(plain)


@pytest.mark.parametrize(
    ("loss", "words"),
    [
        (losses.Hinge(), "Hinge"),
        (losses.Hinge(0.25), "Hinge(margin=0.25)"),
        (losses.Logistic(), "Logistic"),
    ],
)
def test_parameters_of_the_loss_are_part_of_the_objective(loss: losses.Loss, words: str) -> None:
    learner = nr.MirrorDescent(loss, mirrors.Ball(1.0), rates.Constant(0.5))
    learner.learn([[1.0, 2.0]], [1.0])
    certificate = learner.certificate()
    assert certificate.objective == words == certificate.as_dict()["objective"]
    assert f"rounds, {words}\n" in str(certificate)
    assert f"lost at least that much by {words}\n" in str(certificate)


def test_the_loss_inside_one_against_rest_is_named() -> None:
    learner = nr.MatrixDescent(losses.OneAgainstRest(losses.Hinge()), rate=rates.Constant(0.1))
    learner.learn([[1.0], [2.0]], [0, 1])
    text = str(learner.certificate())
    assert "OneAgainstRest(Hinge)" in text.splitlines()[0]
    assert "L(U)" in text and "L(u)" not in text


def test_points_of_a_plain_trial_compare_with_other_learners() -> None:
    learner = catalogue.strongly_convex_ogd(losses.Hinge(), 0.5)
    learner.learn(np.ones((200, 1)), np.ones(200))
    own, plain = Trial(learner).look(), Trial(learner, plain=True).look()
    certificate = learner.certificate()
    assert own.loss == certificate.loss and plain.loss == certificate.plain_loss
    assert plain.floor == certificate.plain().floor(plain.radius) == 0.0


@pytest.fixture
def easy(tmp_path: Path) -> Path:
    path = tmp_path / "easy.svm"
    path.write_text("1 1:1\n-1 1:-1\n" * 100)
    return path


def test_learn_names_the_penalised_loss(easy: Path, call: Call) -> None:
    options = ("--loss", "hinge", "--rate", "strongly-convex", "--eta", "0.5", "--intercept", "0")
    run = call("learn", easy, *options)
    assert run.returncode == 0, run.stderr
    assert f"loss, floor and regret are those of {PENALISED}" in run.stdout
    assert f"Certificate after 200 rounds, {PENALISED}" in run.stdout
    told = json.loads(call("learn", easy, *options, "--json").stdout)["certificate"]
    assert told["objective"] == PENALISED and told["plain_loss"] < told["loss"]


def test_compare_ranks_by_the_plain_loss(tmp_path: Path, call: Call) -> None:
    path = tmp_path / "rows.svm"
    path.write_text(svmlight(300, labels=(-1, 1)))
    # With a large sigma the penalised loss is far above the plain one.
    learners = ("euclidean/strongly-convex:eta=0.2", "euclidean/constant:eta=0.0001")
    arguments = [word for one in learners for word in ("--learner", one)]
    run = call("compare", path, "--loss", "hinge", "--json", *arguments)
    assert run.returncode == 0, run.stderr
    facts = {entry["learner"]: entry for entry in json.loads(run.stdout)["learners"]}
    strong = facts[learners[0]]
    learner = catalogue.strongly_convex_ogd(losses.Hinge(), 0.2)
    for block in nr.streams.read(path, constant=1.0):
        learner.learn(block, block.y)
    certificate = learner.certificate()
    assert strong["objective"] == "Hinge"
    assert strong["progress"][-1]["loss"] == certificate.plain_loss < certificate.loss
    shown = call("compare", path, "--loss", "hinge", *arguments).stdout
    assert "losses, floors and regrets are without the penalty of strongly-convex" in shown


def test_audit_says_which_objective_it_judges(easy: Path, tmp_path: Path, call: Call) -> None:
    model = tmp_path / "m.nr"
    options = ("--loss", "hinge", "--rate", "strongly-convex", "--eta", "0.5")
    assert call("learn", easy, *options, "--save", model).returncode == 0
    run = call("audit", model, easy, "--json")
    assert run.returncode == 0, run.stdout + run.stderr
    words = [entry["statement"] for entry in json.loads(run.stdout)["statements"]]
    assert [one for one in words if "lost at least" in one and one.endswith(f"by {PENALISED}")]
    assert [one for one in words if one.startswith(f"every u has a sum of {PENALISED} of at least")]
