"""Several classes on the command line: learnt, resumed, predicted, looked at, compared."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import noregret as nr
from noregret.files import store
from noregret.runs.record import load
from noregret.scoring.growing import learn_block, predicted
from noregret.streams import read
from tests.cli.program import Call
from tests.sizes import sized

COLOURS = ("red", "green", "blue", "grey", "pink")


def _rows(rows: int, seed: int = 7) -> tuple[np.ndarray, list[str]]:
    """Features, and the classes that follow from them; the last class comes late."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, 4)).round(3)
    best = X @ np.array([[2, -1, 0, 1, 0.5], [0, 2, -1, 1, 1], [1, 0, 2, -2, 1], [0.0] * 5])
    told = [COLOURS[k] for k in best.argmax(axis=1)]
    late = rows // 2
    return X, ["red" if t < late and name == "pink" else name for t, name in enumerate(told)]


def _csv(rows: int, seed: int = 7) -> str:
    X, told = _rows(rows, seed)
    pairs = zip(X.tolist(), told, strict=True)
    lines = [f"{','.join(map(str, x))},{name}" for x, name in pairs]
    return "\n".join(["a,b,c,d,label", *lines]) + "\n"


@pytest.fixture
def stream(tmp_path: Path) -> Path:
    path = tmp_path / "colours.csv"
    path.write_text(_csv(150))
    return path


@pytest.fixture
def model(stream: Path, tmp_path: Path, call: Call) -> Path:
    path = tmp_path / "colours.nr"
    options = ("--multiclass", "--rate", "scale-free", "--save", path, "--quiet")
    assert call("learn", stream, *options).returncode == 0
    return path


def test_the_command_learns_what_the_library_learns(stream: Path, model: Path, call: Call) -> None:
    learner = nr.MatrixDescent(nr.losses.Softmax())
    for block in read(stream, labels="classes", constant=1.0):
        learn_block(learner, block)
    loaded, record = load(model)
    assert loaded.weights.tobytes() == learner.weights.tobytes()
    assert loaded.certificate().ledger.tobytes() == learner.certificate().ledger.tobytes()
    assert record.classes == list(dict.fromkeys(_rows(150)[1])) and len(record.classes) == 5


@pytest.mark.parametrize(
    ("options", "loss"),
    [
        (["--multiclass"], "Softmax()"),
        (["--multiclass", "--loss", "hinge:2"], "OneAgainstRest(loss=Hinge(margin=2.0))"),
        (["--loss", "one-against-rest"], "OneAgainstRest(loss=Logistic())"),
        (["--loss", "multiclass-hinge"], "MulticlassHinge(margin=1.0)"),
        (["--classes", "5"], "Softmax()"),
    ],
)
def test_losses_of_several_classes(stream: Path, call: Call, options: list[str], loss: str) -> None:
    result = call("learn", stream, *options, "--json")
    assert result.returncode == 0, result.stderr
    told = json.loads(result.stdout)
    assert told["learner"].startswith(loss)
    assert [one["value"] for one in told["labels"]] == [0, 1, 2, 3, 4]
    assert told["metrics"]["accuracy"] > 0.5 and 0.0 < told["metrics"]["macro_f1"] <= 1.0
    assert ("log_loss" in told["metrics"]) == ("inge" not in loss)
    confusion = np.array(told["confusion"])
    assert np.trace(confusion) / 150 == told["metrics"]["accuracy"]
    point = told["progress"][-1]
    assert point["floor"] <= point["loss"] and point["rounds"] == 150
    # A class may win the row where it first appears with the score 0 that it begins with.
    assert abs(point["mistakes"] - 150 * (1 - told["metrics"]["accuracy"])) <= 5


def test_a_person_sees_the_classes_and_the_measures(stream: Path, call: Call) -> None:
    shown = call("learn", stream, "--multiclass").stdout
    assert "classes " in shown and all(name in shown for name in COLOURS)
    assert "floor over every U of at most the size" in shown and "mistakes" in shown
    assert "progressive: accuracy" in shown and "macro F1" in shown and "log loss" in shown


KINDS = (
    (),
    ("--loss", "one-against-rest"),
    ("--loss", "multiclass-hinge", "--update", "mistakes", "--rate", "constant"),
    ("--loss", "logistic", "--mirror", "ball", "--radius", "2", "--holdout", "5"),
    ("--mirror", "p-norm:3", "--rate", "adaptive", "--class-radius", "1"),
    ("--classes", "4", "--holdout-after", sized("70", "140")),
    ("--passes", "2"),
)


@pytest.mark.parametrize("options", KINDS, ids=" ".join)
def test_resuming_equals_the_unbroken_run_to_the_bit(
    tmp_path: Path, call: Call, options: tuple[str, ...]
) -> None:
    text = _csv(sized(75, 150))
    path, cut, whole = tmp_path / "log.csv", tmp_path / "cut.nr", tmp_path / "whole.nr"
    path.write_text(text)
    unbroken = call("learn", path, "--multiclass", *options, "--save", whole, "--json")
    assert unbroken.returncode == 0, unbroken.stderr
    once = tuple(option for option in options if option not in ("--passes", "2"))
    for rows in sized((3, 40), (3, 61)):
        path.write_text("".join(text.splitlines(keepends=True)[: rows + 1]))
        first = call(
            "learn", path, "--multiclass", *(once if "--passes" in options else options),
            "--save", cut,
        )  # fmt: skip
        assert first.returncode == 0, first.stderr
        path.write_text(text)
        again = [option for option in options if option in ("--passes", "2")][:2]
        again = again if "--passes" in options else []
        second = call(
            "learn", path, "--resume", cut, "--same-input", "--save", cut, "--json", *again
        )
        assert second.returncode == 0, second.stderr
        for name in ("certificate", "metrics", "labels", "confusion"):
            assert json.loads(unbroken.stdout)[name] == json.loads(second.stdout)[name]
        assert whole.read_bytes() == cut.read_bytes()


def test_saving_on_the_way_keeps_only_the_classes_met(stream: Path, tmp_path: Path) -> None:
    """What the reader has seen ahead is no part of the model."""
    from noregret.runs.interrupt import Interruption
    from noregret.runs.record import Input, Record
    from noregret.runs.session import Session
    from noregret.vocabulary.learners import Spec

    path = tmp_path / "early.nr"
    spec = Spec(loss="softmax")
    record = Record(spec, [Input(["-"], {"constant": 1.0}, "classes")])
    opened = read(stream, labels="classes", constant=1.0)
    session = Session(spec.make(), opened, record, save=path, save_every=2)
    with Interruption() as interruption:
        for point in session.run(interruption):
            if point.rounds >= 3:
                break
    learner, kept = load(path)
    assert learner.rounds == 2 and len(opened.label_map) == 5
    assert kept.classes == list(dict.fromkeys(_rows(150)[1][:2]))


def test_new_data_may_bring_new_classes(tmp_path: Path, call: Call) -> None:
    lines = _csv(150).splitlines(keepends=True)
    first, second, both = (tmp_path / f"{name}.csv" for name in ("first", "second", "both"))
    first.write_text("".join(lines[:61]))
    second.write_text(lines[0] + "".join(lines[61:]))
    both.write_text("".join(lines))
    a, b = tmp_path / "a.nr", tmp_path / "b.nr"
    alone = ("--multiclass", "--rate", "scale-free", "--quiet")
    assert call("learn", both, *alone, "--save", a).returncode == 0
    assert call("learn", first, *alone, "--save", b).returncode == 0
    assert "pink" not in load(b)[1].classes
    result = call("learn", second, "--resume", b, "--save", b, "--quiet")
    assert result.returncode == 0, result.stderr
    assert load(b)[1].classes == load(a)[1].classes
    assert load(b)[0].weights.tobytes() == load(a)[0].weights.tobytes()


def test_every_format_gives_the_same_model(tmp_path: Path, call: Call) -> None:
    X, told = _rows(sized(30, 80))
    number = {name: k for k, name in enumerate(COLOURS, 1)}
    labels = [number[name] for name in told]
    texts = {
        "svm": "".join(
            f"{y} " + " ".join(f"{i}:{v}" for i, v in enumerate(x, 1)) + "\n"
            for y, x in zip(labels, X.tolist(), strict=True)
        ),
        "vw": "".join(
            f"{y} | " + " ".join(f"{n}:{v}" for n, v in zip("abcd", x, strict=True)) + "\n"
            for y, x in zip(labels, X.tolist(), strict=True)
        ),
        "csv": "a,b,c,d,label\n"
        + "".join(
            ",".join(map(str, [*x, y])) + "\n" for y, x in zip(labels, X.tolist(), strict=True)
        ),
    }
    # Learners that forget give the prior back in the order of the columns, which hashing changes.
    learner = ["--multiclass", "--rate", "scale-free"]
    found = {}
    for suffix, text in texts.items():
        path = tmp_path / f"same.{suffix}"
        path.write_text(text)
        bits = sized(["--bits", "8"], []) if suffix == "vw" else []
        result = call("learn", path, *learner, "--json", *bits)
        assert result.returncode == 0, result.stderr
        found[suffix] = json.loads(result.stdout)
    compact = tmp_path / "same.arrow"
    assert call("convert", tmp_path / "same.csv", "--out", compact, "--multiclass").returncode == 0
    found["arrow"] = json.loads(call("learn", compact, *learner, "--json").stdout)
    for told_of in found.values():
        assert told_of["labels"] == found["csv"]["labels"]
        assert told_of["metrics"] == pytest.approx(found["csv"]["metrics"])


def test_predictions_made_on_the_way_are_names(stream: Path, tmp_path: Path, call: Call) -> None:
    out = tmp_path / "made.txt"
    result = call("learn", stream, "--multiclass", "-p", out, "--json")
    told, made = _rows(150)[1], out.read_text().splitlines()
    assert len(made) == 150 and made[0] == "?" and set(made[1:]) <= set(COLOURS)
    for name in COLOURS:
        # Nobody can have said a name before it was written.
        assert told.index(name) < (made.index(name) if name in made else 150)
    right = sum(a == b for a, b in zip(made, told, strict=True))
    assert right / 150 == json.loads(result.stdout)["metrics"]["accuracy"]


def test_predict_writes_names_scores_or_probabilities(
    stream: Path, model: Path, tmp_path: Path, call: Call
) -> None:
    learner, record = load(model)
    (block,) = read(stream, labels="classes", constant=1.0)
    scores = learner.predict(block)
    result = call("predict", model, stream)
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == [record.classes[k] for k in predicted(scores)]
    right = np.mean(predicted(scores) == block.y)
    assert f"150 examples: accuracy {right:.2%}" in result.stderr
    lines = call("predict", model, stream, "--as", "score").stdout.splitlines()
    assert lines[0].split("\t") == record.classes
    assert np.array_equal(np.array([line.split("\t") for line in lines[1:]], float), scores)
    lines = call("predict", model, stream, "--as", "probability").stdout.splitlines()
    shares = np.array([line.split("\t") for line in lines[1:]], float)
    assert shares == pytest.approx(np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True))


def test_predict_takes_rows_without_a_class_or_of_a_strange_one(
    model: Path, tmp_path: Path, call: Call
) -> None:
    path = tmp_path / "new.csv"
    path.write_text("a,b,c,d\n1,2,3,4\n")
    result = call("predict", model, path)
    assert result.stdout.strip() in COLOURS and "none has a label" in result.stderr
    path.write_text("a,b,c,d,label\n1,2,3,4,mauve\n")
    result = call("predict", model, path)
    assert result.stdout.strip() in COLOURS and "accuracy 0.00%" in result.stderr


def test_a_class_that_was_only_held_out_has_a_name_and_no_weights(
    tmp_path: Path, call: Call
) -> None:
    path, model = tmp_path / "few.csv", tmp_path / "few.nr"
    path.write_text("x,label\n" + "1,a\n-1,b\n" * 4 + "5,c\n2,a\n")
    result = call(
        "learn", path, "--multiclass", "--rate", "scale-free", "--holdout", "9", "--save", model,
        "--json",
    )  # fmt: skip
    assert json.loads(result.stdout)["holdout"]["accuracy"] == 0.0
    learner, record = load(model)
    assert record.classes == ["a", "b", "c"] and learner.weights.shape == (2, 2)
    lines = call("predict", model, path, "--as", "probability").stdout.splitlines()
    assert lines[0] == "a\tb\tc" and all(line.endswith("\t0.0") for line in lines[1:])
    assert '"c"' not in json.dumps(json.loads(call("inspect", model, "--json").stdout)["top"])


def test_inspect_lists_the_weights_of_each_class(model: Path, call: Call) -> None:
    shown = call("inspect", model, "--top", "1").stdout
    learner, record = load(model)
    assert f"classes\t{', '.join(record.classes)}\n" in shown
    assert all(f"\n{name}\t" in shown for name in record.classes)
    top = json.loads(call("inspect", model, "--json", "--top", "1").stdout)["top"]
    effects, _ = nr.evaluate.effects.effects(learner)
    for k, (name, one) in enumerate(zip(record.classes, top, strict=True)):
        assert one["class"] == name and one["weight"] == learner.weights[one["column"], k]
        assert abs(one["effect"]) == np.abs(effects[:, k]).max()


def test_the_report_has_a_page(model: Path, tmp_path: Path, call: Call) -> None:
    pytest.importorskip("matplotlib")
    page = tmp_path / "page.html"
    result = call("report", model, "--out", page)
    assert result.returncode == 0, result.stderr
    text = page.read_text()
    assert "progressive macro F1" in text and "progressive log loss" in text
    assert (tmp_path / "page-mistakes.png").exists() and (tmp_path / "page-confusion.png").exists()
    assert all(name in text for name in COLOURS) and "Which class was taken for which" in text


def test_a_report_needs_no_saved_model(stream: Path, tmp_path: Path, call: Call) -> None:
    pytest.importorskip("matplotlib")
    page = tmp_path / "page.html"
    assert call("learn", stream, "--multiclass", "--report", page, "--quiet").returncode == 0
    assert "progressive accuracy" in page.read_text()
    assert (tmp_path / "page-confusion.png").exists()


def test_learners_of_several_classes_are_compared(stream: Path, call: Call) -> None:
    result = call("compare", stream, "--multiclass")
    assert result.returncode == 0, result.stderr
    assert "macro F1" in result.stdout and "multiclass-hinge\t" in result.stdout
    # The rows that a single certificate's line names, too.
    alone = call("learn", stream, "--multiclass").stdout
    left = re.search(r"log loss [\d.]+ \((without .* whose class was new)\)", alone)
    assert left is not None and f"log losses are {left[1]}" in result.stdout
    told = call("compare", stream, "--loss", "softmax", "-l", "default", "-l", "sgd:loss=hinge")
    assert "OneAgainstRest" in told.stdout, told.stderr
    bad = call("compare", stream, "--multiclass", "-l", "pa")
    assert bad.returncode == 2 and "several classes take one of descent, mistakes" in bad.stderr


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--update", "exact"), "--update exact: several classes take one of descent, mistakes"),
        (("--rate", "grid"), "--rate grid: several classes take one of scale-free"),
        (("--mirror", "entropy"), "--mirror entropy: several classes take one of euclidean"),
        (("--average",), "--average: belongs to learners of two classes or of numbers"),
        (("-C", "2"), "-C 2: belongs to learners of two classes or of numbers"),
        (("--loss", "squared"), "--loss squared: is a loss of numbers, expected one of classes"),
        (
            ("--classes-as", "a,b"),
            "--classes-as names two classes, and several are told by the examples",
        ),
        (("--loss", "one-against-rest:nope"), "--loss nope: no such loss"),
        (("--loss", "one-against-rest:softmax"), "must be a Loss, got Softmax()"),
        (("--loss", "one-against-rest:squared"), "needs a loss of labels -1 and +1"),
        (("--loss", "softmax:2"), "softmax takes nothing after a colon"),
    ],
)
def test_what_does_not_go_with_several_classes_is_refused(
    stream: Path, call: Call, options: tuple[str, ...], complaint: str
) -> None:
    result = call("learn", stream, "--multiclass", *options)
    assert result.returncode == 2 and complaint in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_other_commands_say_that_they_take_two_classes(
    stream: Path, model: Path, tmp_path: Path, call: Call
) -> None:
    made = tmp_path / "made.txt"
    made.write_text("1\n" * 150)
    only = "--loss softmax: is of several classes, expected one of one score"
    for arguments, complaint in (
        (("certify", made, stream, "--loss", "softmax"), only),
        (("hindsight", stream, "--loss", "softmax", "--l2", "1"), only),
        (("drift", stream, "--loss", "softmax", "--class-radius", "1"), only),
        (
            ("predict", model, stream, "--as", "margin"),
            "--as margin: expected one of label, score, probability",
        ),
        (("learn", stream, "--classes", "3", "--loss", "squared"), "is a loss of numbers"),
        (("learn", stream, "--resume", model, "--multiclass"), "drop --multiclass"),
    ):
        result = call(*arguments)
        assert result.returncode == 2 and complaint in result.stderr, result.stderr
        assert len(result.stderr.splitlines()) == 1


def test_scores_without_probabilities_are_not_written_as_such(
    stream: Path, tmp_path: Path, call: Call
) -> None:
    model = tmp_path / "hinge.nr"
    call("learn", stream, "--loss", "multiclass-hinge", "--save", model, "--quiet")
    result = call("predict", model, stream, "--as", "probability")
    assert result.returncode == 2 and "mean none" in result.stderr and not result.stdout


@pytest.mark.parametrize(
    "labels",
    [[["a", 0.0], ["b", 2.0]], [["a", 0.0], ["a", 1.0]], [["a", 0.0]], [[1, 0.0], ["b", 1.0]]],
    ids=str,
)
def test_a_record_whose_classes_do_not_fit_is_refused(
    tmp_path: Path, call: Call, labels: list[list[object]]
) -> None:
    path, model = tmp_path / "few.csv", tmp_path / "few.nr"
    path.write_text("x,label\n1,a\n-1,b\n")
    assert call("learn", path, "--multiclass", "--save", model, "--quiet").returncode == 0
    header, arrays = store.read(model)
    plain, own, extra = store.detached(header, arrays)
    extra.header["stream"]["inputs"][-1]["labels"] = labels
    store.write(model, *store.attached(plain, own, extra))
    result = call("inspect", model)
    assert result.returncode == 2 and "field 'labels' in the model file is invalid" in result.stderr
