"""`noregret audit` of an aggregate: what it states about its members is checked as well."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.cli.given import Given
from noregret.experts import Aggregate
from noregret.runs.record import Input, load
from noregret.runs.replay import Replay
from noregret.runs.verdicts_matrix import MatrixStatements
from noregret.runs.verdicts_members import member_verdicts
from noregret.streams import Stream
from tests.cli.program import Call


@pytest.fixture(scope="module")
def rows() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    X = np.round(rng.normal(size=(60, 2)), 3)
    return X, np.where(X[:, 0] + 0.5 * rng.normal(size=60) > 0.0, 1.0, -1.0)


@pytest.mark.parametrize(("rate", "theorems_stated"), [("grid", 3), ("mixture", 1)])
def test_an_aggregate_of_the_command_line(
    rate: str, theorems_stated: int, rows: Any, tmp_path: Path, call: Call
) -> None:
    X, y = rows
    lines = [f"{int(label)},{a},{b}" for (a, b), label in zip(X, y, strict=True)]
    path, model = tmp_path / "a.csv", tmp_path / "m.nr"
    path.write_text("label,a,b\n" + "\n".join(lines) + "\n")
    learnt = call("learn", path, "--target", "label", "--rate", rate, "--save", model)
    assert learnt.returncode == 0, learnt.stderr
    found = call("audit", model, "--json")
    assert found.returncode == 0, found.stdout
    stated = {one["statement"]: one["holds"] for one in json.loads(found.stdout)["statements"]}
    # Every line that the certificate prints about members is there, and holds.
    printed = [" ".join(line.split()) for line in learnt.stdout.splitlines()]
    theorems = [line for line in printed if "loss of any member <=" in line]
    assert len(theorems) == theorems_stated
    # What is saved of a mixture is more than weights.
    assert (
        ("saved model, " in learnt.stdout)
        == (rate == "mixture")
        != ("saved weights, " in learnt.stdout)
    )
    assert all(stated[line] for line in theorems)
    best = next(line for line in printed if line.startswith("best of its members"))
    member = best.split("member ")[-1]
    assert stated[f"the best of its members is member {member} and lost {best.split()[4]}"]
    regret = next(line for line in printed if line.startswith("regret against it")).split()[3]
    assert stated[f"the regret against it is at most {regret}"]


@pytest.fixture(scope="module")
def late() -> list[str]:
    """Lines of a table with weights, the classes of which appear one after the other."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(160, 3)) * [1.0, 100.0, 0.01] + [0.0, 500.0, 0.0]
    scores = np.column_stack([X[:, 0], X[:, 1] / 100.0 - 5.0, 100.0 * X[:, 2], -X[:, 0]])
    y = np.minimum(scores.argmax(axis=1), np.arange(160) // 30)
    weight = rng.integers(0, 3, 160)
    rows = zip(X.round(5).tolist(), y, weight, strict=True)
    return [f"{a},{b},{c},k{k},{w}" for (a, b, c), k, w in rows]


@pytest.mark.parametrize(
    "options", [(), ("--weight", "w", "--holdout", "4", "--passes", "2", "--blocks")]
)
def test_a_mixture_whose_classes_appear_late(
    options: tuple[str, ...], late: list[str], tmp_path: Path, call: Call
) -> None:
    path, model = tmp_path / "a.csv", tmp_path / "m.nr"
    path.write_text("a,b,c,kind,w\n" + "\n".join(late) + "\n")
    words = ("--target", "kind", "--multiclass", "--rate", "mixture")
    learnt = call("learn", path, *words, *options, "--save", model)
    assert learnt.returncode == 0, learnt.stderr
    found = call("audit", model, "--json")
    stated = {one["statement"]: one for one in json.loads(found.stdout)["statements"]}
    assert found.returncode == 0 and all(one["holds"] for one in stated.values()), found.stdout
    printed = [" ".join(line.split()) for line in learnt.stdout.splitlines()]
    theorem = next(line for line in printed if "loss of any member <=" in line)
    assert stated[theorem]["holds"] and stated["its loss is what its predictions lost"]["holds"]
    # The row at which a class appears has a loss, and the score that the class then has is in it.
    learner, record = load(model)
    spoilt = MatrixStatements(learner, record, tol=1e-3, max_passes=9)

    def unmet(scores: np.ndarray) -> None:
        spoilt.met.append(np.append(scores[:-1], scores[-1] + 1e-3))

    def opened(one: Input) -> Stream:
        return Given(one.files, {}).again(learner, record, grow=True, one=one)

    Replay(record, opened, spoilt.add, unmet).run()
    assert spoilt._loss().holds is False


def aggregate(rows: Any) -> Aggregate:
    X, y = rows
    made = [
        nr.MirrorDescent(nr.losses.Logistic(), nr.mirrors.Euclidean(), nr.rates.Constant(eta))
        for eta in (0.01, 0.1, 1.0)
    ]
    learner = Aggregate(made)
    learner.learn(X, y)
    return learner


def test_false_statements_about_members_are_found(rows: Any) -> None:
    learner = aggregate(rows)
    proof = learner.certificate()
    assert [one.holds for one in member_verdicts(proof, learner)] == [True] * 5
    members = proof.members
    low = members.totals.copy()
    low[0] -= 1.0
    wrong = replace(proof, members=replace(members, totals=low))
    assert next(member_verdicts(wrong, learner)).holds is False
    bounds = [replace(bound, value=0.5 * members.regret()) for bound in members.bounds]
    wrong = replace(proof, members=replace(members, bounds=bounds))
    assert [one.holds for one in member_verdicts(wrong, learner)][2:] == [False] * 3
    high = members.totals + 1.0
    wrong = replace(proof, members=replace(members, totals=high))
    assert [one.holds for one in member_verdicts(wrong, learner)][:2] == [False, False]


def test_members_with_other_losses_are_not_checked_and_counted_so(rows: Any) -> None:
    X, y = rows
    made = [
        nr.MirrorDescent(loss, nr.mirrors.Euclidean(), nr.rates.Constant(0.1))
        for loss in (nr.losses.Logistic(), nr.losses.Hinge())
    ]
    learner = Aggregate(made)
    learner.learn(X, y)
    found = list(member_verdicts(learner.certificate(), learner))
    assert len(found) == 5 and all(one.unchecked for one in found)
    assert "another loss" in found[0].detail
