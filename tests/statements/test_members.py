"""What is proved against members of a mixture, or experts, does not read as one about linear u."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import noregret as nr
from noregret import losses, mirrors, rates
from noregret.experts import Aggregate, Forecaster, Hedge, rate_grid
from noregret.sklearn import OnlineRegressor
from tests.cli.conftest import call as call
from tests.cli.program import Call, svmlight

ABSOLUTE = losses.Absolute()


def slow(etas: tuple[float, ...] = (1e-6, 1e-5, 1e-4)) -> tuple[Aggregate, float]:
    """Return a mixture of learners that hardly move, and its regret against the best linear u."""
    X = np.random.default_rng(0).normal(size=(100, 3))
    best = np.array([1.0, -2.0, 3.0])
    learner = Aggregate(
        [nr.MirrorDescent(ABSOLUTE, mirrors.Euclidean(), rates.Constant(eta)) for eta in etas]
    )
    learner.learn(X, X @ best)
    return learner, learner.certificate().loss


def theorem_lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if " <= " in line and " - " in line]


def test_a_mixture_is_compared_with_its_members_by_name() -> None:
    learner, regret = slow()
    text = str(learner.certificate())
    lines = theorem_lines(text)
    assert len(lines) == 3
    # No theorem of the mixture holds for every linear u: the best of them lost nothing.
    assert min(float(line.split()[-1]) for line in lines) < 0.01 * regret
    assert "L(u)" not in text
    assert all("loss - loss of any member <= " in line for line in lines)
    told = learner.certificate().as_dict()
    assert {bound["against"] for bound in told["members"]["bounds"]} == {"loss of any member"}
    assert told["bounds"] == []


def test_members_are_counted_from_one() -> None:
    learner, _ = slow()
    certificate = learner.certificate()
    assert certificate.members.best_expert == 2
    (line,) = [line for line in str(certificate).splitlines() if "best of its members" in line]
    assert line.endswith("member 3 of 3")
    assert certificate.as_dict()["members"]["best_member"] == 3
    assert "member 3\n" in str(certificate.members) and "expert 2" not in str(certificate.members)


@pytest.mark.parametrize("against", ["experts", "combinations"])
def test_experts_and_combinations_are_named(against: str) -> None:
    forecaster = Forecaster(2, losses.Squared(), low=0.0, high=1.0, against=against)
    forecaster.learn([[0.0, 1.0], [0.5, 1.0]], [1.0, 0.25])
    text = str(forecaster.certificate())
    lines = theorem_lines(text)
    assert lines and "L(u)" not in text
    assert all(f"loss - loss of any {against.removesuffix('s')} <= " in line for line in lines)


def test_hedge_names_its_experts() -> None:
    learner = Hedge(2, 0.5)
    learner.learn([[0.0, 1.0], [1.0, 0.0], [0.0, 0.5]])
    lines = theorem_lines(str(learner.certificate()))
    assert lines and all("loss - loss of any expert <= " in line for line in lines)


def test_the_grids_of_rates_speak_of_members(tmp_path: Path, call: Call) -> None:
    X = np.random.default_rng(1).normal(size=(60, 2))
    learner = rate_grid(ABSOLUTE, low=0.5, high=2.0)
    learner.learn(X, X @ [1.0, 2.0])
    model = OnlineRegressor("absolute", rate="grid", passes=1, shuffle=False)
    model.fit(X, X @ [1.0, 2.0])
    path = tmp_path / "rows.svm"
    path.write_text(svmlight(60))
    run = call("learn", path, "--rate", "grid")
    assert run.returncode == 0, run.stderr
    for text in (str(learner.certificate()), str(model.certificate_), run.stdout):
        assert "L(u)" not in text and "loss - loss of any member <= " in text
        assert " of its members " in text
    told = json.loads(call("learn", path, "--rate", "grid", "--json").stdout)["certificate"]
    assert told["bounds"] == [] and told["members"]["best_member"] >= 1


def test_a_member_that_diverged_makes_the_regret_a_bound() -> None:
    """Rounding of its losses is more than the regret: that is not what was measured."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(40, 2)) * 4.0, rng.normal(size=40)
    made = [
        nr.MirrorDescent(losses.Squared(), mirrors.Euclidean(), rates.Constant(eta))
        for eta in (1e-3, 2.0)
    ]
    mixture = nr.experts.Aggregate(made)
    mixture.learn(X, y)
    certificate = mixture.certificate()
    members = certificate.members
    assert members.regret() > 10.0 * (members.loss - members.best_loss)
    (line,) = (one for one in str(certificate).splitlines() if "regret against it" in one)
    assert line.endswith(" a round, at most")
    calm = nr.experts.Hedge(2, eta=0.5)
    calm.suffer([0.0, 1.0])
    assert " a round, measured" in str(calm.certificate())
