"""Everything a person can mend is one line on stderr and exit code 2, and nothing is lost."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import numpy as np
import pytest

import noregret as nr
from noregret.arguments import ArgumentError
from noregret.files import store
from tests.cli.program import Call, Result, svmlight


def refused(run: Result, *complaint: str) -> None:
    assert run.returncode == 2, run.stderr
    assert run.stdout == ""
    assert run.stderr.startswith("noregret: ") and run.stderr.count("\n") == 1, run.stderr
    for part in complaint:
        assert part in run.stderr, run.stderr


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--loss", "nonsense"], "--loss nonsense: no such loss; noregret list losses lists all"),
        (["--loss", "huber:x"], "--loss huber:x: expected a number for delta, found 'x'"),
        (["--loss", "logistic:1"], "--loss logistic:1: logistic takes nothing after a colon"),
        (["--loss", "quantile:2"], "Quantile(level) must lie strictly between 0 and 1, got 2.0"),
        (["--loss", "logisitc"], "--loss logisitc: no such loss, did you mean logistic?; nor"),
        (["--mirror", "ball"], "--radius: the map ball needs one"),
        (["--average"], "--average: the usual rate, mixture, keeps none: choose another rate, as"),
        (["--average", "--rate", "scale_free"], "--average: ScaleFree() keeps none"),
        (["--mirror", "p-norm:1"], "--mirror p-norm:1: PNorm(p) must"),
        (["--radius", "2"], "--radius 2: belongs to the maps ball, entropy, signed-entropy, and"),
        (["--mirror", "entropy"], "--features: the map entropy needs their number in advance"),
        (["--update", "exact", "--rate", "constant"], "--rate constant: the update exact has none"),
        (["--update", "conservative"], "steps on mistakes of the Hinge loss"),
        (["-C", "2"], "-C 2: belongs to the updates exact, aggressive"),
        (["--class-radius", "-1"], "--class-radius -1: expected a finite number >= 0"),
        (["--class-radius", "inf"], "--class-radius inf: expected a finite number >= 0"),
        (["--save", "no/such/folder/m"], "--save no/such/folder/m: there is no folder"),
        (["--predictions", "no/such/folder/p"], "--predictions no/such/folder/p: there is no"),
        (["--save-every", "5"], "--save-every needs --save"),
        (["--same-input"], "--same-input belongs to --resume"),
        (["--passes", "0"], "--passes 0: expected at least 1"),
        (["-", "--passes", "2"], "--passes needs files: standard input can be read once only"),
        (["--holdout", "1"], "--holdout 1: expected a whole number above 1, or a share below 1"),
        (["--holdout", "2.5"], "--holdout 2.5: expected a whole number above 1, or a share"),
        (["--holdout", "nan"], "--holdout nan: expected a whole number above 1, or a share"),
        (["--holdout-seed", "3"], "--holdout-seed belongs to --holdout with a share below 1"),
        (["--holdout-after", "0"], "--holdout-after 0: leaves nothing to learn"),
        (["--features", "0"], "--features 0: expected a number above 0"),
        (["--features", "4"], "expected an index up to 4"),
        (["--intercept", "nan"], "a finite number, 0 for none; --intercept"),
        (["--first-index", "2"], "expected 0 or 1; --first-index"),
        (["--classes-as", "7"], "--classes-as 7: expected NEGATIVE,POSITIVE as in 0,1"),
        (
            ["--loss", "squared", "--classes-as", "0,1"],
            "--classes-as belongs to classification losses",
        ),
        (["--on-error", "pray"], "--on-error pray: expected one of stop, skip, count"),
        (["--format", "morse"], "--format morse: expected one of svmlight"),
        (["--bits", "18"], "whose format takes --first-index, --features, --intercept"),
        (["--resume", "no/such/model"], "no such file, expected a noregret model"),
    ],
)
def test_arguments_that_make_no_sense(
    stream: Path, call: Call, arguments: list[str], complaint: str
) -> None:
    refused(call("learn", stream, *arguments), *complaint.split("; "))


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["learn", "x.svm", "--nonsense"], "No such option: --nonsense"),
        (["learn", "x.svm", "--passes", "x"], "'--passes': 'x' is not a valid int"),
        (["learn", "x.svm", "--save"], "'--save' requires an argument"),
        (["learn"], "Missing argument 'FILE...'; see noregret learn --help"),
        (["inspect", "m.nr", "--top", "-1"], "'--top': -1 is not in the range x>=0"),
        (["nonsense"], "No such command 'nonsense'; see noregret --help"),
    ],
)
def test_what_does_not_exist_is_told_in_a_line(
    call: Call, arguments: list[str], complaint: str
) -> None:
    refused(call(*arguments), complaint)


def test_what_is_read_is_never_written_over(
    stream: Path, model: Path, tmp_path: Path, call: Call
) -> None:
    rows, kept = tmp_path / "rows.svm", tmp_path / "m.nr"
    rows.write_bytes(stream.read_bytes())
    kept.write_bytes(model.read_bytes())
    link = tmp_path / "link.svm"
    link.symlink_to(rows)
    lost = "is what is read too, and would be lost"
    refused(call("learn", rows, "--save", rows), lost)
    refused(call("learn", link, "--save", rows), lost)
    refused(call("learn", tmp_path / "r*.svm", "-p", link), lost)
    refused(call("predict", kept, rows, "-o", rows), lost)
    refused(call("predict", kept, rows, "-o", kept), lost)
    refused(call("report", kept, "-o", kept), lost)
    refused(call("hindsight", rows, "--class-radius", "1", "--weights", rows), lost)
    both = tmp_path / "both"
    refused(call("learn", rows, "--save", both, "-p", both), "is where --save writes too")
    assert rows.read_bytes() == stream.read_bytes() and kept.read_bytes() == model.read_bytes()
    assert not both.exists()


def test_a_model_is_not_used_with_other_columns(
    stream: Path, model: Path, tmp_path: Path, call: Call
) -> None:
    table, text = tmp_path / "t.csv", tmp_path / "t.vw"
    table.write_text("y,a,b\n1,2,3\n0,4,5\n")
    text.write_text("1 |n a b\n-1 |n b c\n")
    named, hashed = tmp_path / "named.nr", tmp_path / "hashed.nr"
    assert call("learn", table, "--save", named).returncode == 0
    assert call("learn", text, "--save", hashed).returncode == 0
    for use in (("predict", model), ("audit", model), ("learn", "--resume", model)):
        refused(call(*use, stream, "--intercept", "0"), "the model was learnt with 1.0")
        refused(call(*use, table), "its features have names, and those of the model numbers")
    refused(call("predict", named, stream), "its features have numbers, and those of the model na")
    refused(call("predict", hashed, text, "-b", "10"), "--bits 10: the features of", "expected 18")
    with pytest.raises(ArgumentError, match=r"^bits=10: the features of .* into 1,024 slots"):
        nr.open_model(hashed).predict(text, bits=10)
    refused(call("predict", hashed, text, "-q", "nn"), "--interactions nn: the model was learnt")
    assert call("predict", hashed, text, "-b", "18").returncode == 0
    same = ("learn", stream, "--resume", model, "--same-input")
    refused(call(*same, "--holdout", "3"), "--same-input keeps what is held out as it was")


def test_a_compact_file_keeps_its_intercept(stream: Path, tmp_path: Path, call: Call) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    compact = tmp_path / "c.arrow"
    assert call("convert", stream, "-o", compact).returncode == 0
    refused(call("learn", compact, "--intercept", "0"), "columns were settled when it was written")


def test_complaints_of_the_library_name_options_and_leave_paths_alone(
    tmp_path: Path, call: Call
) -> None:
    folder = tmp_path / "missing=1"
    folder.mkdir()
    path = folder / "t.csv"
    path.write_text("y,a\n1,2\n0,\n")
    run = call("learn", path, "--quiet", "--missing", "refuse")
    refused(run, "--missing")
    assert str(path) in run.stderr


def _bad_files(folder: Path) -> dict[str, tuple[Path, str]]:
    def file(name: str, content: bytes) -> Path:
        path = folder / name
        path.write_bytes(content)
        return path

    (folder / "folder.svm").mkdir()
    text = svmlight(20).encode()
    return {
        "missing": (folder / "missing.svm", "no such file"),
        "directory": (folder / "folder.svm", "a directory, expected a file"),
        "unnamed": (file("data.xyz", text), "the name does not tell the format"),
        "empty": (file("empty.svm", b""), "empty"),
        "blank": (file("blank.svm", b"\n\n# nothing\n"), "no examples"),
        "binary": (file("binary.svm", b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"), "binary.svm"),
        "bad line": (file("bad.svm", text + b"0 2:x\n"), "line 21, column 3: found '2:x'"),
        "label": (file("label.svm", text + b"7 1:1\n"), "line 21: found label '7'"),
        "not gzip": (file("not.svm.gz", text), "the name ends in .gz but the content is not"),
        "gzip unsaid": (file("is.svm", gzip.compress(text)), "the content is gzip-compressed"),
        "cut gzip": (file("cut.svm.gz", gzip.compress(text)[:-20]), "damaged or cut short"),
    }


KINDS = (
    "missing", "directory", "unnamed", "empty", "blank", "binary", "bad line", "label",
    "not gzip", "gzip unsaid", "cut gzip",
)  # fmt: skip


def test_no_kind_of_bad_file_is_forgotten(tmp_path: Path) -> None:
    assert tuple(_bad_files(tmp_path)) == KINDS


@pytest.mark.parametrize("kind", KINDS)
def test_files_that_cannot_be_read_leave_the_old_model(
    tmp_path: Path, call: Call, kind: str
) -> None:
    path, complaint = _bad_files(tmp_path)[kind]
    model, out = tmp_path / "model", tmp_path / "predictions"
    for old in (model, out):
        old.write_bytes(b"as it was")
    run = call("learn", path, "--save", model, "--predictions", out, "--quiet")
    refused(run, complaint)
    assert str(path) in run.stderr
    assert model.read_bytes() == out.read_bytes() == b"as it was"
    assert not [name for name in os.listdir(tmp_path) if name.endswith(".tmp")]


def test_a_full_disk_is_one_line(stream: Path, call: Call) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full here")
    run = call("learn", stream, "--quiet", "--predictions", "/dev/full")
    refused(run, "/dev/full: No space")


def test_a_full_file_system_keeps_the_old_model(
    stream: Path, tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tmp_path / "m.nr"
    assert call("learn", stream, "--save", model).returncode == 0
    before = model.read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    run = call("learn", stream, "--save", model, "--quiet", "--loss", "hinge")
    refused(run, f"{model}: cannot write a noregret model: No space left on device")
    assert model.read_bytes() == before
    assert os.listdir(tmp_path) == ["m.nr"]


def test_a_folder_that_cannot_be_written_is_told_before_any_work(
    stream: Path, tmp_path: Path, call: Call
) -> None:
    folder = tmp_path / "locked"
    folder.mkdir()
    folder.chmod(0o500)
    if os.access(folder, os.W_OK):
        folder.chmod(0o700)
        pytest.skip("this user may write everywhere")
    refused(call("learn", stream, "--save", folder / "m"), "cannot be written")
    folder.chmod(0o700)


@pytest.mark.parametrize("command", ["predict", "audit", "learn"])
def test_files_that_are_no_models(stream: Path, tmp_path: Path, call: Call, command: str) -> None:
    text, foreign, cut = tmp_path / "text", tmp_path / "foreign.nr", tmp_path / "cut.nr"
    text.write_text("nonsense " * 20)
    store.write(foreign, {"learner": "Oracle"}, {"weights": np.zeros(1)})
    plain = tmp_path / "plain.nr"
    import noregret as nr

    learner = nr.catalogue.perceptron()
    learner.learn([[1.0, 2.0]], [1])
    learner.save(plain)
    cut.write_bytes(plain.read_bytes()[:-5])
    for path, complaint in (
        (text, "expected a noregret model"),
        (foreign, "holds 'Oracle', not a learner"),
        (plain, "it remembers no stream"),
        (cut, "is damaged"),
        (tmp_path, "is a directory"),
    ):
        arguments = ["--resume", path, stream] if command == "learn" else [path, stream]
        refused(call(command, *arguments), complaint)


def test_a_learner_that_diverges_says_what_to_do(stream: Path, tmp_path: Path, call: Call) -> None:
    path, model = tmp_path / "large.svm", tmp_path / "m.nr"
    path.write_text("".join(f"{y} 1:1e60\n" for y in (1, 2, 3, 4, 5, 6)))
    arguments = ["--loss", "squared", "--rate", "constant", "--eta", "1", "--save", model]
    run = call("learn", path, *arguments, "--quiet")
    refused(run, "use a smaller rate")
    assert not model.exists()


def test_pictures_need_matplotlib_and_say_so_first(
    stream: Path, tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    run = call("learn", stream, "--report", tmp_path / "r.html")
    refused(run, "pictures need matplotlib: pip install 'noregret[plot]'")


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("0.5\n" * 99, "holds 99 predictions, expected one for every example"),
        ("0.5\n" * 101, "holds more predictions than the 100 examples"),
        ("0.5\n" * 50 + "x\n" + "0.5\n" * 49, "line 51: found 'x', expected a finite number"),
        ("0.5\nnan\n", "line 2: found 'nan', expected a finite number"),
    ],
)
def test_predictions_that_do_not_fit(
    stream: Path, tmp_path: Path, call: Call, content: str, complaint: str
) -> None:
    path = tmp_path / "p.txt"
    path.write_text(content)
    refused(call("certify", path, stream), complaint)


def test_a_model_that_goes_on_keeps_its_learner(stream: Path, model: Path, call: Call) -> None:
    run = call("learn", stream, "--resume", model, "--loss", "hinge")
    assert run.returncode == 2
    assert "--resume keeps the learner as it is: drop --loss" in run.stderr


def test_options_that_are_required_are_asked_for(call: Call, tmp_path: Path) -> None:
    stream = tmp_path / "a.svm"
    stream.write_text(svmlight(4))
    refused(call("convert", stream), "Missing option '--out' / '-o'; see noregret convert --help")
    refused(call("drift", stream), "Missing option '--class-radius'")
