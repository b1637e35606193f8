"""`noregret learn`: what it prints, saves and measures."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import noregret as nr
from tests.cli.program import ENVIRONMENT, ROOT, RUN, Call, noregret, svmlight
from tests.sizes import sized


def test_version_is_that_of_the_project(call: Call) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert call("--version").stdout == f"noregret {project['project']['version']}\n"


def test_help_is_complete_and_narrow(call: Call) -> None:
    run = call("--help")
    assert run.returncode == 0
    for (
        command
    ) in "learn predict certify hindsight audit compare inspect report warmup convert demo".split():
        assert f" {command} " in run.stdout
    run = call("learn", "--help")
    for option in ("--loss", "--mirror", "--radius", "--rate", "--eta", "--scale", "--save"):
        assert option in run.stdout
    assert max(map(len, run.stdout.splitlines())) <= 80


def test_help_does_not_load_anything_heavy() -> None:
    script = (
        "import sys\nfrom noregret.cli.main import main\n"
        "heavy = {'numba', 'numpy', 'rich', 'scipy', 'matplotlib', 'sklearn', 'pyarrow'}\n"
        "for command in ((), ('learn',), ('audit',), ('report',)):\n"
        "    sys.argv = ['noregret', *command, '--help']\n"
        "    try: main()\n"
        "    except SystemExit: pass\n"
        "    loaded = heavy & set(sys.modules)\n"
        "    if loaded: sys.exit(f'{command} loaded: {loaded}')\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=ENVIRONMENT
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.count("Usage") == 4


def test_learn_prints_powers_of_two_and_the_certificate(stream: Path, call: Call) -> None:
    run = call("learn", stream, "--mirror", "ball", "--radius", "3")
    assert (run.returncode, run.stderr) == (0, "")
    lines = run.stdout.splitlines()
    assert "labels 0 → -1, 1 → +1" in run.stdout
    assert "floor over every u with ||u||_2 <= 3, the map's own set" in run.stdout
    head = next(number for number, line in enumerate(lines) if line.startswith("examples\t"))
    assert max(map(len, lines[head - 1 :])) <= 80
    rounds = [line.split()[0] for line in lines[head + 1 : head + 9]]
    assert rounds == ["1", "2", "4", "8", "16", "32", "64", "100"]
    assert lines[head + 9] == "" and len(lines) > head + 10
    assert "accuracy" in lines[-2] and "AUC" in lines[-2] and "F1" in lines[-2]
    assert re.fullmatch(r"  repeating the last label: \d+\.\d\d% mistakes", lines[-1])


def test_json_agrees_with_the_library(stream: Path, call: Call) -> None:
    run = call("learn", stream, "--mirror", "ball", "--radius", "3", "--json", "--intercept", "0.5")
    summary = json.loads(run.stdout)
    learner = nr.MirrorDescent(nr.losses.Logistic(), nr.mirrors.Ball(3.0), nr.rates.Adaptive())
    (block,) = nr.read(stream, labels="binary", constant=0.5)
    predictions = learner.learn(block, block.y)
    certificate = learner.certificate()
    last = summary["progress"][-1]
    assert last["rounds"] == 100
    assert last["loss"] == certificate.loss
    assert last["floor"] == certificate.floor(3.0)
    assert last["average_regret"] * 100 == pytest.approx(last["loss"] - last["floor"])
    assert summary["labels"] == [{"label": "0", "value": -1.0}, {"label": "1", "value": 1.0}]
    assert summary["certificate"] == json.loads(json.dumps(certificate.as_dict(3.0)))
    right = np.mean(predictions * block.y > 0.0)
    assert summary["metrics"]["accuracy"] == pytest.approx(right)
    assert last["mistakes"] == round(100 * (1.0 - right))


def test_the_intercept_is_a_feature_unless_it_is_nought(stream: Path, call: Call) -> None:
    widths = []
    for value in ("1", "0"):
        run = call("learn", stream, "--intercept", value, "--save", stream.parent / "i.nr")
        assert run.returncode == 0, run.stderr
        widths.append(nr.load(stream.parent / "i.nr").dimension)
    assert widths == [6, 5]


def test_the_floor_is_below_the_loss_of_fixed_predictors_at_every_line(
    stream: Path, call: Call
) -> None:
    (block,) = nr.read(stream, labels="binary")
    dense, loss = block.dense(), nr.losses.Logistic()
    run = call(
        "learn", stream, "--rate", "adaptive", "--class-radius", "4", "--json", "--intercept", "0"
    )
    rng = np.random.default_rng(3)
    candidates = [4.0 * u / np.linalg.norm(u) for u in rng.standard_normal((50, 5))]
    candidates.append(np.array([1.0, -1.0, 0, 0, 0]) * 4.0 / np.sqrt(2.0))
    for point in json.loads(run.stdout)["progress"]:
        for u in candidates:
            rows = dense[: point["rounds"]] @ u
            total = sum(loss.value(y, p) for y, p in zip(block.y, rows, strict=False))
            assert point["floor"] <= total


def test_floor_of_the_current_weights_size_says_so(stream: Path, call: Call) -> None:
    run = call("learn", stream, "--rate", "scale-free")
    assert "floor over every u of at most the size of the weights then" in run.stdout


def test_quiet_prints_the_certificate_only(stream: Path, tmp_path: Path, call: Call) -> None:
    model = tmp_path / "model"
    run = call("learn", stream, "--quiet", "--save", model)
    learner = nr.load(model)
    assert run.stdout.startswith(learner.certificate().text())
    assert "since last" not in run.stdout and run.stderr == ""
    assert learner.certificate().rounds == 100


@pytest.mark.parametrize(
    "arguments",
    [
        ["--loss", "hinge", "--rate", "constant", "--eta", "0.1"],
        ["--loss", "squared-hinge:0.5", "--rate", "inverse-sqrt"],
        ["--loss", "squared", "--rate", "constant", "--eta", "0.01"],
        ["--loss", "huber:0.5", "--rate", "per-coordinate"],
        ["--loss", "epsilon-insensitive:0.2"],
        ["--loss", "absolute", "--mirror", "p-norm:4"],
        ["--loss", "quantile:0.8", "--mirror", "soft-threshold:0.001"],
        ["--mirror", "entropy", "--radius", "2", "--features", "5", "--intercept", "0"],
        ["--loss", "hinge", "--update", "exact", "-C", "0.5"],
        ["--loss", "hinge", "--update", "conservative"],
        ["--update", "window", "-k", "3"],
        ["--loss", "hinge", "--update", "mistakes", "--rate", "constant"],
        ["--update", "agile", "--mirror", "ball", "--radius", "2", "--rate", "inverse-sqrt"],
        ["--loss", "one-sided-huber", "--mirror", "hypentropy:0.1"],
    ],
    ids=" ".join,
)
def test_losses_maps_rates_and_updates_work_from_the_command_line(
    stream: Path, call: Call, arguments: list[str]
) -> None:
    run = call("learn", stream, *arguments, "--json")
    assert run.returncode == 0, run.stderr
    progress = json.loads(run.stdout)["progress"]
    assert progress[-1]["rounds"] == 100
    assert all(point["floor"] <= point["loss"] for point in progress)


def test_regression_has_errors_in_place_of_mistakes(stream: Path, call: Call) -> None:
    run = call("learn", stream, "--loss", "absolute")
    assert run.returncode == 0, run.stderr
    assert "mistakes" not in run.stdout.partition("─")[0]
    assert "RMSE" in run.stdout and "MAE" in run.stdout and "AUC" not in run.stdout


def test_held_out_examples_are_measured_and_not_learnt(stream: Path, call: Call) -> None:
    run = call(
        "learn", stream, "--rate", "scale-free", "--holdout", "4", "--holdout-after", "80", "--json"
    )
    summary = json.loads(run.stdout)
    assert summary["progress"][-1]["rounds"] == 60
    assert summary["metrics"]["examples"] == 60 and summary["holdout"]["examples"] == 40
    learner = nr.MirrorDescent(nr.losses.Logistic(), nr.mirrors.Euclidean(), nr.rates.ScaleFree())
    (block,) = nr.read(stream, labels="binary", constant=1.0)
    rows = [row for row in range(80) if row % 4 != 3]
    dense = block.dense()
    learner.learn(dense[rows], block.y[rows])
    assert summary["progress"][-1]["loss"] == pytest.approx(learner.certificate().loss, rel=1e-12)


def test_a_random_share_is_held_out_and_stays_so(stream: Path, tmp_path: Path, call: Call) -> None:
    model = tmp_path / "m.nr"
    options = ("--holdout", "0.3", "--holdout-seed", "5")
    whole = json.loads(call("learn", stream, *options, "--save", model, "--json").stdout)
    from noregret.evaluate import Holdout

    held = Holdout(share=0.3, seed=5).held(0, 100)
    assert whole["holdout"]["examples"] == held.sum() and 15 < held.sum() < 45
    assert whole["progress"][-1]["rounds"] == 100 - held.sum()
    assert call("audit", model, stream).returncode == 0
    lines = stream.read_text().splitlines(keepends=True)
    first = tmp_path / "first.svm"
    first.write_text("".join(lines[:41]))
    call("learn", first, *options, "--save", model, "--quiet")
    resumed = call("learn", stream, "--resume", model, "--same-input", "--json")
    assert json.loads(resumed.stdout)["progress"][-1] == whole["progress"][-1]
    assert json.loads(resumed.stdout)["holdout"]["examples"] == held.sum()


def test_entropies_work_on_every_format(stream: Path, tmp_path: Path, call: Call) -> None:
    table, text, model = tmp_path / "t.csv", tmp_path / "t.vw", tmp_path / "m.nr"
    table.write_text("y,a,b\n" + "1,2,x\n0,4,y\n" * sized(5, 20))
    text.write_text("1 |n a b\n-1 |n b c\n" * sized(5, 20))
    few = tmp_path / "few.svm"
    few.write_text("".join(stream.read_text().splitlines(keepends=True)[: sized(20, 100)]))
    map_ = ("--mirror", "signed-entropy", "--radius", "2", "--save", model)
    for path, options, width in (
        (few, ("--features", "5"), 6),
        (table, ("--features", "8"), 9),
        (text, ("-b", "6"), 64),
    ):
        run = call("learn", path, *map_, *options)
        assert run.returncode == 0, run.stderr
        assert nr.load(model).dimension == width
        assert call("audit", model, path).returncode == 0
        assert call("predict", model, path, "-o", tmp_path / "p").returncode == 0
        assert call("learn", path, "--resume", model).returncode == 0
    run = call("compare", text, "-b", "6", "-l", "entropy/adaptive", "-l", "default")
    assert run.returncode == 0, run.stderr


#: A model of 2^18 hashed slots takes a second to look at by the interpreter.
BITS = sized(("--bits", "8"), ())


def test_importance_weights_have_an_average_of_their_own(tmp_path: Path, call: Call) -> None:
    path, made = tmp_path / "w.vw", tmp_path / "p"
    rng = np.random.default_rng(6)
    y, weight = rng.choice([-1.0, 1.0], 40), rng.integers(0, 4, 40)
    path.write_text(
        "".join(
            f"{label:g} {heavy} |a x:{value:.3f}\n"
            for label, heavy, value in zip(y, weight, rng.random(40), strict=True)
        )
    )
    run = call("learn", path, *BITS, "-p", made, "--json")
    found = json.loads(run.stdout)["by_weight"]
    losses = np.logaddexp(0.0, -y * np.loadtxt(made))
    assert found["weight"] == weight.sum()
    assert found["loss"] == pytest.approx(weight @ losses / weight.sum(), rel=1e-12)
    assert f"by importance: {found['loss']:.6g} a unit of weight" in (
        call("learn", path, *BITS).stdout
    )
    twice = call("learn", path, *BITS, "--passes", "2", "--json").stdout
    assert json.loads(twice)["by_weight"] is None


def test_later_passes_learn_on_and_measure_nothing_progressive(stream: Path, call: Call) -> None:
    run = call("learn", stream, "--passes", "3", "--json")
    summary = json.loads(run.stdout)
    assert summary["progress"][-1]["rounds"] == 300
    assert summary["metrics"]["examples"] == 100
    once = json.loads(call("learn", stream, "--json").stdout)
    assert summary["metrics"] == once["metrics"]


def test_predictions_are_those_made_before_learning(
    stream: Path, tmp_path: Path, call: Call
) -> None:
    out = tmp_path / "p.txt"
    for holdout in ((), ("--holdout", "3")):
        assert call("learn", stream, "-p", out, *holdout).returncode == 0
        made = np.loadtxt(out)
        assert made.shape == (100,)
    learner = nr.MirrorDescent(nr.losses.Logistic(), nr.mirrors.Euclidean(), nr.rates.ScaleFree())
    (block,) = nr.read(stream, labels="binary", constant=1.0)
    call("learn", stream, "--rate", "scale-free", "-p", out)
    assert np.array_equal(np.loadtxt(out), learner.learn(block, block.y))


def test_predictions_on_stdout_leave_the_rest_to_stderr(stream: Path) -> None:
    run = noregret("learn", stream, "-p", "-")
    assert len([float(line) for line in run.stdout.splitlines()]) == 100
    assert "Certificate after 100 rounds" in run.stderr


def test_standard_input_several_files_and_patterns(tmp_path: Path, call: Call) -> None:
    text = svmlight(60)
    lines = text.splitlines(keepends=True)
    (tmp_path / "a1.svm").write_text("".join(lines[:25]))
    (tmp_path / "a2.svm").write_text("".join(lines[25:]))
    (tmp_path / "whole.svm").write_text(text)
    whole = json.loads(call("learn", tmp_path / "whole.svm", "--json").stdout)
    several = call("learn", tmp_path / "a1.svm", tmp_path / "a2.svm", "--json")
    pattern = call("learn", tmp_path / "a*.svm", "--json")
    piped = noregret("learn", "-", "--format", "svmlight", "--json", input=text)
    for run in (several, pattern, piped):
        assert run.returncode == 0, run.stderr
        assert json.loads(run.stdout)["progress"] == whole["progress"]


def test_bad_lines_may_be_left_out_and_are_counted(tmp_path: Path, call: Call) -> None:
    path = tmp_path / "bad.svm"
    path.write_text("1 1:1\nnonsense\n0 2:1\n1 3:x\n")
    run = call("learn", path, "--on-error", "count", "--json")
    assert run.returncode == 0
    assert json.loads(run.stdout)["refused"] == 2
    assert json.loads(run.stdout)["progress"][-1]["rounds"] == 2
    assert "2 lines were left out" in run.stderr and "line 4" in run.stderr


def test_the_reader_of_a_pipe_may_leave(stream: Path) -> None:
    run = subprocess.run(
        f'{sys.executable} -c "{RUN}" learn {stream} | head -n 1',
        shell=True,
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
    )
    assert run.stdout == f"noregret learn {stream}\n"
    assert "Traceback" not in run.stderr


def test_demo_learns_the_digits_and_draws(tmp_path: Path, call: Call) -> None:
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    picture = tmp_path / "demo.png"
    run = call("demo", "--out", picture)
    assert (run.returncode, run.stderr) == (0, "")
    rows = [line.split() for line in run.stdout.splitlines() if line.lstrip()[:1].isdigit()]
    rows = [row for row in rows if len(row) == 6]
    assert rows[-1][0] == "1,797"
    floors = [float(row[4]) for row in rows]
    assert all(float(row[4]) <= float(row[1]) for row in rows)
    assert floors[-1] > 0.25 and all(a <= b for a, b in pairwise(floors[-4:]))
    assert picture.read_bytes().startswith(b"\x89PNG") and picture.stat().st_size > 20_000


@pytest.mark.soak
def test_memory_does_not_grow_with_the_stream(tmp_path: Path) -> None:
    chunk = svmlight(1000, features=10)
    script = (
        "import sys\nfrom noregret.cli.main import main\nsys.argv[0] = 'noregret'\n"
        "try: main()\nexcept SystemExit: pass\n"
        "import resource\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)"
    )
    peaks = []
    # Both long enough to fill every buffer between the disk and the learner.
    for thousands in (600, 1800):
        path = tmp_path / f"{thousands}.svm"
        with path.open("w") as file:
            for _ in range(thousands):
                file.write(chunk)
        run = subprocess.run(
            [sys.executable, "-c", script, "learn", str(path), "--json"],
            capture_output=True,
            text=True,
            check=True,
            env=ENVIRONMENT,
        )
        assert json.loads(run.stdout)["progress"][-1]["rounds"] == thousands * 1000
        peaks.append(int(run.stderr.split()[-1]))
    assert peaks[1] < 1.1 * peaks[0], f"peak memory in KiB: {peaks}"


def test_what_is_held_out_is_measured_in_its_turn(stream: Path, tmp_path: Path, call: Call) -> None:
    model = tmp_path / "m.nr"
    whole = json.loads(call("learn", stream, "--holdout", "0.3", "--json").stdout)
    cut = call("learn", stream, "--holdout", "0.3", "--save", model, "--save-every", "7", "--json")
    assert json.loads(cut.stdout)["holdout"] == whole["holdout"]
    twice = json.loads(call("learn", stream, "--holdout", "0.3", "--passes", "2", "--json").stdout)
    assert twice["holdout"]["examples"] == whole["holdout"]["examples"]
