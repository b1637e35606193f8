"""predict, certify, hindsight, audit, compare, inspect, report, warmup and convert."""

from __future__ import annotations

import dataclasses
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import noregret as nr
from noregret.runs.record import load
from tests.cli.program import Call, svmlight
from tests.sizes import sized


def test_predict_writes_what_the_model_says(
    stream: Path, model: Path, tmp_path: Path, call: Call
) -> None:
    (block,) = nr.read(stream, labels="binary", constant=1.0)
    margins = nr.load(model).predict(block)
    run = call("predict", model, stream)
    assert run.returncode == 0
    assert np.array_equal(np.array(run.stdout.split(), float), margins)
    right = np.mean(margins * block.y > 0.0)
    assert f"100 examples: accuracy {right:.2%}" in run.stderr
    out = tmp_path / "p.txt"
    assert call("predict", model, stream, "--as", "probability", "-o", out).stdout == ""
    np.testing.assert_allclose(np.loadtxt(out), 1.0 / (1.0 + np.exp(-margins)), rtol=1e-14)
    run = call("predict", model, stream, "--as", "label", "--quiet")
    assert run.stdout.split() == ["1" if p > 0.0 else "0" for p in margins] and run.stderr == ""
    run = call("predict", model, stream, "--average")
    assert run.returncode == 2 and "--average: the model keeps none" in run.stderr
    averaged = tmp_path / "a.nr"
    assert (
        call("learn", stream, "--average", "--rate", "adaptive", "--save", averaged).returncode == 0
    )
    average = call("predict", averaged, stream, "--average").stdout.split()
    learner = nr.load(averaged)
    assert isinstance(learner, nr.MirrorDescent)
    expected = block.dense() @ learner.average
    np.testing.assert_allclose(np.array(average, float), expected, rtol=1e-12, atol=1e-14)


def test_certify_says_what_the_library_says(stream: Path, tmp_path: Path, call: Call) -> None:
    (block,) = nr.read(stream, labels="binary", constant=1.0)
    made = block.dense() @ np.array([0.0, 1.0, -1.0, 0.1, 0.0, 0.0])
    path, odds = tmp_path / "margins.txt", tmp_path / "odds.txt"
    path.write_text("".join(f"{p!r} tag\n" for p in made.tolist()))
    odds.write_text("".join(f"{p!r}\n" for p in (1.0 / (1.0 + np.exp(-made))).tolist()))
    run = call("certify", path, stream, "--class-radius", "2", "--json")
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    expected = nr.certify(block, block.y, made, nr.losses.Logistic())
    told = found["certificate"]
    assert told["loss"] == expected.loss and told["floor"] == expected.floor(2.0)
    assert found["floors"] == [{"radius": 2.0, "floor": expected.floor(2.0)}]
    other = json.loads(call("certify", odds, stream, "--probabilities", "--json").stdout)
    assert other["certificate"]["loss"] == pytest.approx(expected.loss, rel=1e-12)
    text = call("certify", path, stream, "--class-radius", "2").stdout
    assert "their own loss" in text and "every u with ||u||_2 <= 2" in text
    # Certainty is a number too, and a wrong one costs a lot.
    odds.write_text("1\n" * 100)
    sure = json.loads(call("certify", odds, stream, "--probabilities", "--json").stdout)
    assert sure["certificate"]["loss"] == pytest.approx(700.0 * np.sum(block.y < 0.0))


def test_hindsight_is_exact_and_shows_its_gap(stream: Path, tmp_path: Path, call: Call) -> None:
    weights = tmp_path / "w.txt"
    run = call("hindsight", stream, "--class-radius", "3", "--json", "--weights", weights)
    found = json.loads(run.stdout)
    assert found["dual"] <= found["primal"] and found["converged"]
    assert found["gap"] <= 1e-6 * found["primal"]
    (block,) = nr.read(stream, labels="binary", constant=1.0)
    u = np.loadtxt(weights)
    margins = block.y * (block.dense() @ u)
    assert np.linalg.norm(u) <= 3.0 * (1 + 1e-12)
    assert np.logaddexp(0.0, -margins).sum() == pytest.approx(found["primal"], rel=1e-9)
    assert found["top"][0]["name"] in ("feature 1", "feature 2")
    sizes = np.abs(block.dense()).max(axis=0)
    for one in found["top"]:
        assert one["effect"] == one["weight"] * sizes[one["column"]]
    run = call("hindsight", stream, "--l2", "1", "--loss", "hinge", "--bias")
    assert "Best in hindsight" in run.stdout and "bias" in run.stdout
    for form in (("--l2", "1", "--bias"), ("--class-radius", "3")):
        inside = json.loads(call("hindsight", stream, *form, "--json").stdout)
        read = json.loads(call("hindsight", stream, *form, "--memory", "900", "--json").stdout)
        assert max(inside["dual"], read["dual"]) <= min(inside["primal"], read["primal"])
        assert read["converged"] and read["objective"] == inside["objective"]
        assert read["bias"] == pytest.approx(inside["bias"], abs=0.05)
        assert read["features"] == inside["features"]
    run = call("hindsight", stream, "--l2", "1", "--memory", "900", "--workers", "2")
    assert run.returncode == 2 and "--memory is for one process, without --workers" in run.stderr
    run = call("hindsight", stream)
    assert run.returncode == 2 and "say over what: --class-radius, --l2" in run.stderr


AUDITED = (
    ("--mirror", "ball", "--radius", "3"),
    ("--rate", "per-coordinate"),
    ("--rate", "strongly-convex", "--eta", "0.1"),
    ("--loss", "hinge", "--update", "exact", "-C", "0.3"),
    ("--loss", "hinge", "--update", "mistakes", "--rate", "constant"),
    ("--mirror", "p-norm:3", "--passes", "2", "--holdout", "7"),
    ("--mirror", "signed-entropy", "--radius", "2", "--features", "5", "--intercept", "0"),
    ("--loss", "squared", "--rate", "constant", "--eta", "0.02"),
)


@pytest.mark.parametrize("options", AUDITED, ids=" ".join)
def test_audit_finds_that_what_learn_states_is_true(
    tmp_path: Path, call: Call, options: tuple[str, ...]
) -> None:
    model, stream = tmp_path / "m.nr", tmp_path / "few.svm"
    stream.write_text(svmlight(sized(25, 100)))
    assert call("learn", stream, *options, "--save", model).returncode == 0
    run = call("audit", model, stream, "--json")
    assert run.returncode == 0, run.stdout + run.stderr
    statements = json.loads(run.stdout)["statements"]
    passed = [entry for entry in statements if entry["holds"]]
    assert len(passed) >= 4 and not [entry for entry in statements if entry["holds"] is False]
    assert any("lost at least" in entry["statement"] for entry in passed)
    assert any("to the last bit" in entry["statement"] for entry in passed)


@pytest.mark.parametrize(
    ("lie", "exposed"),
    [
        ({"LOSS": -5.0}, "its loss is what its predictions lost"),
        ({"INTERCEPT": 30.0}, "lost at least"),
        ({"INTERCEPT": 30.0}, "the regret against this class is at most"),
        ({"ROUNDS": 1.0}, "to the last bit"),
    ],
)
def test_audit_exposes_a_certificate_that_lies(
    stream: Path, model: Path, tmp_path: Path, call: Call, lie: dict[str, float], exposed: str
) -> None:
    from noregret.files import store
    from noregret.proof.ledger import Entry

    header, arrays = store.read(model)
    for name, change in lie.items():
        arrays["ledger"][Entry[name]] += change
    forged = tmp_path / "forged.nr"
    store.write(forged, header, arrays)
    run = call("audit", forged, stream)
    assert run.returncode == 1, run.stdout
    assert "FAIL" in run.stdout and "statements are false" in run.stdout
    found = json.loads(call("audit", forged, stream, "--json").stdout)["statements"]
    false = [entry["statement"] for entry in found if entry["holds"] is False]
    assert any(exposed in statement for statement in false), false


def test_audit_exposes_a_theorem_that_lies(
    stream: Path, model: Path, tmp_path: Path, call: Call
) -> None:
    from noregret.files import store
    from noregret.proof.ledger import Entry

    header, arrays = store.read(model)
    ledger = arrays["ledger"]
    # The linear regret that would contradict the theorem is forged with it.
    ledger[Entry.INTERCEPT] += 30.0
    ledger[Entry.RATED_SQUARES] *= 1e-9
    ledger[Entry.LAST_ETA] *= 1e9
    forged = tmp_path / "forged.nr"
    store.write(forged, header, arrays)
    found = json.loads(call("audit", forged, stream, "--json").stdout)["statements"]
    false = [entry["statement"] for entry in found if entry["holds"] is False]
    assert any("observed gradients" in statement for statement in false), false


def test_audit_exposes_measures_that_lie(
    stream: Path, model: Path, tmp_path: Path, call: Call
) -> None:
    learner, record = load(model)
    record.metrics["counts"][0, 0] += 1.0
    forged = tmp_path / "forged.nr"
    record.save(learner, forged)
    found = json.loads(call("audit", forged, stream, "--json").stdout)["statements"]
    false = [entry["statement"] for entry in found if entry["holds"] is False]
    assert false == ["the measures of its progress are what the replay gives"]


def test_audit_of_another_file_checks_nothing(model: Path, tmp_path: Path, call: Call) -> None:
    other = tmp_path / "other.svm"
    for text, reason in ((svmlight(100, seed=9), "not those"), (svmlight(50), "holds 50 examples")):
        other.write_text(text)
        run = call("audit", model, other)
        told = " ".join(run.stdout.split())
        assert run.returncode == 3 and reason in told and "nothing could be checked" in told
        assert "PASS" not in told and "FAIL" not in told


def test_compare_reads_once_and_equals_learn(stream: Path, call: Call) -> None:
    run = call("compare", stream, "-l", "default", "-l", "pa:C=0.5", "-l", "ogd:eta=0.2", "--json")
    assert run.returncode == 0, run.stderr
    found = {entry["learner"]: entry for entry in json.loads(run.stdout)["learners"]}
    alone = json.loads(call("learn", stream, "--json").stdout)
    assert found["default"]["metrics"] == alone["metrics"]
    assert found["default"]["progress"][-1] == alone["progress"][-1]
    hinge = call("learn", stream, "--loss", "hinge", "--update", "exact", "-C", "0.5", "--json")
    assert found["pa:C=0.5"]["metrics"] == json.loads(hinge.stdout)["metrics"]
    table = call("compare", stream).stdout
    for name in ("default", "adagrad", "perceptron", "pa2"):
        assert re.search(rf"^{name}\t", table, re.MULTILINE)
    run = call("compare", stream, "-l", "pa", "-l", "default:loss=squared")
    assert run.returncode == 2 and "expected one kind" in run.stderr


def test_compare_leaves_a_diverging_learner_behind(tmp_path: Path, call: Call) -> None:
    path = tmp_path / "large.svm"
    path.write_text("".join(f"{y} 1:1e60\n" for y in (1, 2, 3, 4, 5, 6)))
    run = call("compare", path, "--loss", "squared", "-l", "ogd:eta=1", "-l", "default")
    assert run.returncode == 0, run.stderr
    assert re.search(r"^ogd:eta=1\tSquared\tdiverged$", run.stdout, re.MULTILINE)
    assert "use a smaller rate" in " ".join(run.stdout.split())


def test_inspect_names_the_largest_weights(model: Path, call: Call) -> None:
    run = call("inspect", model, "--top", "2", "--json")
    facts = json.loads(run.stdout)
    learner, record = load(model)
    weights = learner.weights
    # No sizes of features are known to a ball with an adaptive rate.
    shown = [entry["weight"] for entry in facts["top"]]
    assert shown == sorted(weights, key=abs, reverse=True)[:2]
    assert {entry["name"] for entry in facts["top"]} == {"feature 1", "feature 2"}
    assert {entry["effect"] for entry in facts["top"]} == {None}
    assert facts["certificate"]["rounds"] == 100 and facts["examples"] == 100
    assert facts["labels"] == [{"label": "0", "value": -1.0}, {"label": "1", "value": 1.0}]
    text = call("inspect", model).stdout
    assert "Certificate after 100 rounds" in text and "\nintercept\t" in text
    assert "labels\t0 → -1, 1 → +1\n" in text
    assert dataclasses.asdict(record.spec)["mirror"] == "ball"


def test_names_that_hashing_lost_are_found_in_the_file(tmp_path: Path, call: Call) -> None:
    rng = np.random.default_rng(4)
    path, model = tmp_path / "a.vw", tmp_path / "m.nr"
    with path.open("w") as file:
        for _ in range(sized(120, 300)):
            words = rng.permutation(40)[:6]
            label = 1 if 7 in words else -1
            file.write(f"{label} |text {' '.join(f'w{k}' for k in words)} |user id\n")
    assert call("learn", path, "-q", "tu", "--bits", "12", "--save", model).returncode == 0
    hidden = json.loads(call("inspect", model, "--json").stdout)["top"]
    lost = [one["name"] for one in hidden]
    assert all(name.startswith("slot ") or name == "intercept" for name in lost)
    assert "`noregret inspect" in call("inspect", model).stdout
    named = json.loads(call("inspect", model, path, "--json").stdout)["top"]
    assert [one | {"name": ""} for one in named] == [one | {"name": ""} for one in hidden]
    assert {one["name"] for one in named[:2]} == {"text^w7", "text^w7*user^id"}
    assert not [one for one in named if one["name"].startswith("slot ")]
    # Every name is told to the slot where the parser puts it.
    full = tmp_path / "full.nr"
    call("learn", path, "-q", "tu", "--bits", "12", "--remember", "1000", "--save", full)
    assert json.loads(call("inspect", full, "--json").stdout)["top"] == named
    best = json.loads(
        call("hindsight", path, "--class-radius", "3", "--bits", "12", "--json").stdout
    )["top"]
    assert "text^w7" in {one["name"] for one in best}
    run = call("inspect", full, path)
    assert run.returncode == 0 and "text^w7*user^id" in run.stdout


def test_names_are_found_however_many_come_between(tmp_path: Path) -> None:
    from noregret.runs import predicting

    path = tmp_path / "many.vw"
    rows = sized(600, 3000)
    path.write_text("".join(f"1 |a w{k} v{k}\n" for k in range(rows)))
    whole = nr.read(path, bits=22, remember=10_000)
    list(whole)
    assert whole.names is not None
    places = (0, rows // 2, rows - 1)
    wanted = [column for column in (whole.names.column(f"a^w{k}") for k in places)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(predicting, "_MANY", 10)
        stream = nr.read(path, bits=22, remember=1, rows=rows // 30)
        names = predicting.find_names(stream, [column for column in wanted if column], False)
    assert [names.name(column) for column in wanted if column] == [f"a^w{k}" for k in places]
    assert stream.names is not None and len(stream.names) < 2 * rows


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if name == "id":
                self.ids.append(str(value))
            if name in ("href", "src", "xlink:href"):
                self.links.append(str(value))
        if tag not in ("meta", "path", "use", "rect", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self.open:
            assert self.open.pop() == tag


def test_report_is_one_page_that_needs_nothing_else(
    model: Path, tmp_path: Path, call: Call
) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    out = tmp_path / "page.html"
    run = call("report", model, "-o", out)
    assert run.returncode == 0, run.stderr
    text = out.read_text()
    page = _Page()
    page.feed(text)
    assert page.open == [] and len(set(page.ids)) == len(page.ids)
    inside = [link for link in page.links if not link.startswith("data:image/png;base64,")]
    assert all(link.startswith("#") for link in inside)
    assert {link[1:] for link in inside} <= set(page.ids)
    assert text.count("<svg") == 9 and "http://www.w3.org" in text
    learner = nr.load(model)
    assert f"<b>{learner.certificate().average_loss:.4f}</b>" in text
    pictures = sorted(path.name for path in tmp_path.glob("*.png"))
    kinds = (
        *("confusion", "loss", "mistakes", "precision-recall", "rate", "regret", "reliability"),
        *("roc", "weights"),
    )
    assert pictures == [f"page-{kind}.png" for kind in kinds]
    for name in pictures:
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")
    again = tmp_path / "again.html"
    assert call("report", model, "-o", again, "--no-pictures").stdout.split() == [str(again)]
    assert again.read_bytes() == out.read_bytes()


@pytest.mark.usefixtures("one_picture")
def test_learn_writes_the_same_report(stream: Path, tmp_path: Path, call: Call) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    out, model, again = tmp_path / "a.html", tmp_path / "m.nr", tmp_path / "b.html"
    assert call("learn", stream, "--report", out, "--save", model).returncode == 0
    assert call("report", model, "-o", again).returncode == 0
    assert out.read_bytes() == again.read_bytes()


def test_a_report_without_a_model_has_names_and_large_numbers(tmp_path: Path, call: Call) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    path, out = tmp_path / "t.csv", tmp_path / "r.html"
    rng = np.random.default_rng(5)
    rows = [f"{x:.3f},{3e6 * x:.1f}\n" for x in rng.random(50)]
    path.write_text("size,price\n" + "".join(rows))
    assert call("learn", path, "--loss", "squared", "--report", out).returncode == 0
    text = out.read_text()
    assert "size" in text and "feature 1" not in text
    assert re.search(r"<b>\d\.\d{3}e\+\d+</b><span>average loss", text)
    assert "prefers-color-scheme: dark" in text


def test_warmup_says_what_it_compiles_and_where(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = call("warmup", "default")
    assert run.returncode == 0, run.stderr
    assert "learner default" in run.stdout and "ready" in run.stdout
    run = call("warmup", "nonsense")
    assert run.returncode == 2 and "learner nonsense: no such learner" in run.stderr
