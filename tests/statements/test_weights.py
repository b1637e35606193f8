"""Every objective that is printed says how the examples are weighted."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.proof.wording import weighted
from tests.cli.program import Call

X = np.array([[1.0, 0.5], [-0.5, 1.0], [0.2, -1.0], [-1.0, -0.3], [0.4, 0.1], [0.6, -0.2]])
Y = np.array([1.0, -1.0, 1.0, -1.0, -1.0, 1.0])
UNEQUAL = np.array([0.5, 2.0, 20.0, 1.0, 0.5, 3.0])
RANGE = "weight x {} (weights 0.5 to 20)"


def _hinge(u: np.ndarray[Any, Any], weight: Any = 1.0) -> float:
    return float(np.sum(weight * np.maximum(0.0, 1.0 - Y * (X @ u))))


def test_the_dual_classifier_states_its_constant() -> None:
    from noregret.sklearn import DualClassifier

    model = DualClassifier(C=100, fit_intercept=False).fit(X, Y)
    solution = model.certificate_
    text = str(solution)
    stated = re.search(r"sum of ([\d.]+) x Hinge\S* \+ ([\d.]+) x Euclidean", text)
    least = re.search(r"no predictor has less than +(\S+)", text)
    assert stated is not None and least is not None, text
    # The solution itself by the sentence that is printed, which must not refute it.
    u = np.ravel(solution.weights)
    by_the_sentence = float(stated[1]) * _hinge(u) + float(stated[2]) * float(u @ u) / 2.0
    assert float(least[1]) <= by_the_sentence
    assert by_the_sentence == pytest.approx(solution.primal, rel=1e-6)


@pytest.mark.parametrize("options", [{"radius": 2.0}, {"l2": 1.0}, {"l2": 1.0, "bias": True}])
def test_the_best_in_hindsight_names_its_weights(options: dict[str, Any]) -> None:
    plain = nr.hindsight(X, Y, nr.losses.Hinge(), **options)
    assert "weight" not in plain.objective and "sum of Hinge" in str(plain)
    equal = nr.hindsight(X, Y, nr.losses.Hinge(), weight=np.full(6, 0.25), **options)
    assert "sum of 0.25 x Hinge" in equal.objective and equal.objective in str(equal)
    unequal = nr.hindsight(X, Y, nr.losses.Hinge(), weight=UNEQUAL, **options)
    assert f"sum of {RANGE.format('Hinge')}" in unequal.objective
    assert unequal.objective in str(unequal)


def test_the_best_in_hindsight_names_offsets() -> None:
    moved = nr.hindsight(X, Y, nr.losses.Hinge(), l2=1.0, offset=np.full(6, 0.5))
    assert "Hinge at <w, x> + offset" in moved.objective


@pytest.mark.parametrize("loss", [nr.losses.Softmax(), nr.losses.OneAgainstRest()])
def test_the_best_matrix_names_its_weights(loss: Any) -> None:
    classes = np.array([0, 1, 2, 1, 0, 2])
    assert "weight" not in nr.hindsight(X, classes, loss, l2=1.0).objective
    found = nr.hindsight(X, classes, loss, l2=1.0, weight=UNEQUAL)
    assert "sum of weight x " in found.objective and "(weights 0.5 to 20)" in found.objective


def test_a_path_of_strengths_names_its_weights() -> None:
    from noregret.batch import regularization_path

    path = regularization_path(X, Y, nr.losses.Hinge(), [2.0, 1.0], weight=UNEQUAL)
    assert all("(weights 0.5 to 20)" in solution.objective for solution in path)


def test_the_proof_of_drift_names_loss_and_weights() -> None:
    from noregret.tracking import drift_proof

    rows, labels = np.ones((40, 1)), np.repeat([1.0, -1.0], 20)
    assert " by Squared," in str(drift_proof(rows, labels, radius=1.0))
    heavy = drift_proof(rows, labels, radius=1.0, weight=np.full(40, 3.0))
    assert " by 3 x Squared," in str(heavy) and heavy.as_dict()["objective"] == "3 x Squared"
    mixed = drift_proof(rows, labels, radius=1.0, weight=np.repeat([1.0, 2.0], 20))
    assert " by weight x Squared (weights 1 to 2)," in str(mixed)


def test_ranges_are_rounded_outwards() -> None:
    words = weighted("Hinge", 0.12345678, 9.87654321)
    assert words == "weight x Hinge (weights 0.123456 to 9.87655)"
    assert weighted("Hinge", 1 / 3, 1 / 3) == "0.3333333333333333 x Hinge"


def _learners() -> dict[str, Any]:
    hinge, plain = nr.losses.Hinge(), nr.mirrors.Euclidean()
    return {
        "lazy": nr.MirrorDescent(hinge, plain, nr.rates.Constant(0.1)),
        "agile": nr.MirrorDescent(hinge, plain, nr.rates.Adaptive(), lazy=False),
        "conservative": nr.MirrorDescent(hinge, plain, nr.rates.Constant(1), conservative=True),
        "per coordinate": nr.MirrorDescent(hinge, plain, nr.rates.PerCoordinate()),
        "scale-free": nr.MirrorDescent(hinge, plain, nr.rates.ScaleFree()),
        "coin betting": nr.MirrorDescent(hinge, plain, nr.rates.CoinBetting()),
        "strongly convex": nr.catalogue.strongly_convex_ogd(hinge, 0.5),
        "dual ascent": nr.DualAscent(hinge, plain, 0.5),
        "window": nr.DualAscent(hinge, plain, 0.5, "window", 3),
        "matrix": nr.MatrixDescent(nr.losses.MulticlassHinge(), rate=nr.rates.Constant(0.1)),
        "matrix, scale-free": nr.MatrixDescent(nr.losses.MulticlassHinge()),
    }


@pytest.mark.parametrize("name", list(_learners()))
def test_the_certificate_of_every_learner_names_its_weights(name: str, tmp_path: Path) -> None:
    learner = _learners()[name]
    labels = (Y > 0.0).astype(float) if "matrix" in name else Y
    loss = "MulticlassHinge" if "matrix" in name else "Hinge"
    assert learner.certificate().objective.startswith(loss)
    learner.learn(X, labels, UNEQUAL)
    # Through a file, and on with rows that all weigh 1.
    learner.save(tmp_path / "m.nr")
    learner = nr.load(tmp_path / "m.nr")
    learner.learn(X, labels)
    certificate = learner.certificate()
    words = RANGE.format(loss)
    assert certificate.objective.startswith(words)
    text, facts = certificate.text(1.0), certificate.as_dict(1.0)
    assert f"12 rounds, {words}" in text and f"lost at least that much by {words}" in text
    assert facts["objective"] == certificate.objective
    assert facts["example_weights"] == [0.5, 20.0]
    assert "% of the rounds, not weighted" in text
    alone = _learners()[name]
    alone.learn(X, labels)
    assert "weight" not in alone.certificate().text(1.0).replace("weights", "")
    equal = _learners()[name]
    equal.learn(X, labels, np.full(6, 0.25))
    assert equal.certificate().objective.startswith(f"0.25 x {loss}")


def test_rows_one_by_one_count_their_weights() -> None:
    learner = _learners()["lazy"]
    for x, y, weight in zip(X, Y, UNEQUAL, strict=True):
        learner.learn_one([0, 1], x, y, weight)
    assert learner.certificate().objective == RANGE.format("Hinge")


def test_certify_names_its_weights() -> None:
    proof = nr.certify(X, Y, np.zeros(6), nr.losses.Hinge(), weight=UNEQUAL)
    assert proof.objective == RANGE.format("Hinge")
    # The floor by the sentence: zero is in every class.
    assert proof.floor(1.0) <= _hinge(np.zeros(2), UNEQUAL)


def test_the_ranker_names_its_weights() -> None:
    ranker = nr.Ranker()
    ranker.learn(X, [2.0, 1.0, 0.0, 0.0, 1.0, 2.0], [0, 0, 0, 1, 1, 1], [0.5] * 3 + [20.0] * 3)
    assert "(weights 0.5 to 20)" in ranker.certificate().objective


def test_the_dual_value_is_about_the_weighted_sum() -> None:
    learner = nr.DualAscent(nr.losses.Hinge(), nr.mirrors.Euclidean(), 0.5)
    learner.learn(X, Y, UNEQUAL)
    text = str(learner.certificate())
    stated = re.search(r"every u: sum of (.*) \+ F\(u\)/C is at least (\S+),", text)
    assert stated is not None and stated[1] == RANGE.format("Hinge")
    assert float(stated[2]) <= _hinge(np.zeros(2), UNEQUAL)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "t.csv"
    rows = [f"{a},{b},{w},{int(y)}" for (a, b), w, y in zip(X, UNEQUAL, Y, strict=True)]
    path.write_text("\n".join(["a,b,w,label", *rows]) + "\n")
    return path


def test_commands_name_the_weights(table: Path, tmp_path: Path, call: Call) -> None:
    model, made, page = tmp_path / "m.nr", tmp_path / "p.txt", tmp_path / "r.html"
    weight = ("--weight", "w")
    words = RANGE.format("Logistic")
    learnt = call("learn", table, *weight, "--save", model, "-p", made)
    assert words in learnt.stdout, learnt.stdout + learnt.stderr
    assert re.search(r"mistakes +\d+ +[\d.]+% of the rounds, not weighted", learnt.stdout)
    assert re.search(r"progressive: accuracy \S+ .*\(examples by weight\)", learnt.stdout)
    facts = json.loads(call("learn", table, *weight, "--json").stdout)
    assert facts["certificate"]["objective"] == words and facts["metrics"]["weighted"] is True
    certified = call("certify", made, table, *weight)
    assert f"lost less than this by {words}" in certified.stdout
    assert "(examples by weight)" in certified.stdout
    proof = json.loads(call("certify", made, table, *weight, "--json").stdout)
    assert proof["certificate"]["objective"] == words
    best = call("hindsight", table, *weight, "--class-radius", "1", "--loss", "hinge")
    assert f"sum of {RANGE.format('Hinge')}" in best.stdout
    best = call("hindsight", table, *weight, "--class-radius", "1", "--loss", "hinge", "--json")
    assert RANGE.format("Hinge") in json.loads(best.stdout)["objective"]
    ranked = call("compare", table, *weight, "-l", "default", "-l", "pa")
    assert "count each example by its weight" in " ".join(ranked.stdout.split())
    ranked = call("compare", table, *weight, "-l", "default", "--json")
    assert json.loads(ranked.stdout)["learners"][0]["objective"] == words
    looked = call("inspect", model)
    assert words in looked.stdout and "(examples by weight)" in looked.stdout
    audited = call("audit", model)
    assert audited.returncode == 0 and words in " ".join(audited.stdout.split())
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    assert call("report", model, "--out", page).returncode == 0
    assert words in page.read_text() and "progressive accuracy, by weight" in page.read_text()


def test_commands_without_weights_say_nothing_of_them(table: Path, call: Call) -> None:
    for arguments in (("learn", table, "--ignore", "w"), ("compare", table, "--ignore", "w")):
        told = call(*arguments).stdout
        assert "weighted" not in told and "by weight" not in told and "weight x" not in told
