"""Cases for the referee: what the command line prints, run inside this process."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import noregret as nr
from noregret import losses, mirrors, rates
from noregret.cli.main import main
from tests.printed.cases_linear import Random
from tests.printed.commands import Learn, around_hindsight, certify, compare, hindsight_rest
from tests.printed.data import Data
from tests.printed.hindsight import Hindsight
from tests.printed.linear import Reading
from tests.printed.losses import parameters_of
from tests.printed.tracking import drift
from tests.printed.verdicts import Verdicts


def run(*arguments: object) -> str:
    """Return what a command prints on standard output."""
    return ran(*arguments)[0]


def ran(*arguments: object) -> tuple[str, int]:
    """Return what a command prints on standard output, and its exit code."""
    code = 0
    printed, told = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2))
    with (
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(told),
        mock.patch.dict(os.environ, {"COLUMNS": "300", "NO_COLOR": "1"}),
        mock.patch.object(sys, "argv", ["noregret", *map(str, arguments)]),
    ):
        try:
            main()
        except SystemExit as leaving:
            code = int(leaving.code or 0)
    printed.flush()
    return printed.buffer.getvalue().decode(), code  # type: ignore[attr-defined]


def _stream(random: Random, folder: str) -> tuple[Path, Any, Any]:
    """Write a small file of examples; return its name, rows with a constant, and labels."""
    rounds, d = int(random.choice([3, 12, 30])), 2
    X = np.round(random.normal(size=(rounds, d)), 3)
    y = np.where(X[:, 0] + 0.5 * random.normal(size=rounds) > 0.0, 1.0, -1.0)
    y[0], y[1] = 1.0, -1.0
    path = Path(folder) / "rows.svm"
    lines = [
        f"{int(label):+d} " + " ".join(f"{j + 1}:{v}" for j, v in enumerate(row) if v)
        for row, label in zip(X, y, strict=True)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path, np.column_stack([X, np.ones(rounds)]), y


def _made(loss: Any, X: Any, y: Any, learner: Any) -> Data:
    predictions = np.asarray(learner.learn(X, y))
    return Data(X, y, type(loss).__name__, parameters_of(loss), None, predictions)


def learn(random: Random) -> Verdicts:
    """Judge `noregret learn`."""
    with tempfile.TemporaryDirectory() as folder:
        path, X, y = _stream(random, folder)
        options: list[Any] = ["--loss", "hinge", "--mirror", "ball", "--radius", "1"]
        options += ["--rate", "constant", "--eta", "0.1"]
        loss: Any = losses.Hinge()
        twin = nr.MirrorDescent(loss, mirrors.Ball(1.0), rates.Constant(0.1))
        if random.random() < 0.5:
            options, loss = ["--rate", "scale-free"], losses.Logistic()
            twin = nr.MirrorDescent(loss, mirrors.Euclidean(), rates.ScaleFree())
        text = run("learn", path, *options)
        told = json.loads(run("learn", path, *options, "--json"))
    reading = Reading(_made(loss, X, y, twin), random)
    return Learn(text, told, reading).judge()


def foreign(random: Random) -> Verdicts:
    """Judge `noregret certify`."""
    with tempfile.TemporaryDirectory() as folder:
        path, X, y = _stream(random, folder)
        predictions = np.round(random.normal(size=len(y)), 2)
        made = Path(folder) / "made.txt"
        made.write_text("\n".join(map(str, predictions)) + "\n")
        options = ["--loss", "hinge", "--class-radius", "1", "--class-radius", "7.5"]
        text = run("certify", made, path, *options)
        told = json.loads(run("certify", made, path, *options, "--json"))
    data = Data(X, y, "Hinge", {"margin": 1.0}, None, predictions)
    return certify(text, told, Reading(data, random))


def best(random: Random) -> Verdicts:
    """Judge `noregret hindsight`."""
    with tempfile.TemporaryDirectory() as folder:
        path, X, y = _stream(random, folder)
        form = ["--l2", "0.5"] if random.random() < 0.5 else ["--class-radius", "1.3"]
        weights = Path(folder) / "weights.txt"
        text = run("hindsight", path, "--loss", "hinge", *form)
        told = json.loads(
            run("hindsight", path, "--loss", "hinge", *form, "--json", "--weights", weights)
        )
        written = np.array([float(v) for v in weights.read_text().split()])
    solved, around = hindsight_rest(text, 4)
    # The constant is the first column in a file of numbers.
    ordered = np.column_stack([X[:, -1], X[:, :-1]])
    data = Data(ordered, y, "Hinge", {"margin": 1.0})
    judge = Hindsight(solved, Reading(data, random), written, 0.0, told)
    verdicts = judge.judge()
    shown = np.append(written[1:], written[0])
    verdicts.add(around_hindsight(around, shown, judge.objective, len(y)))
    return verdicts


def drifting(random: Random) -> Verdicts:
    """Judge `noregret drift`."""
    with tempfile.TemporaryDirectory() as folder:
        path, X, y = _stream(random, folder)
        options = ["--class-radius", "1"]
        text = run("drift", path, *options)
        told = json.loads(run("drift", path, *options, "--json"))
    data = Data(X, y, "Squared")
    rest = "\n".join(text.splitlines()[1:])
    return drift(rest, told, Reading(data, random))


def comparing(random: Random) -> Verdicts:
    """Judge `noregret compare`."""
    with tempfile.TemporaryDirectory() as folder:
        path, X, y = _stream(random, folder)
        options = ["--learner", "scale-free", "--learner", "perceptron"]
        text = run("compare", path, *options)
        told = json.loads(run("compare", path, *options, "--json"))
    rows = {
        "scale-free": _made(
            losses.Logistic(), X, y,
            nr.MirrorDescent(losses.Logistic(), mirrors.Euclidean(), rates.ScaleFree()),
        ),
        "perceptron": _made(losses.Hinge(), X, y, nr.catalogue.perceptron()),
    }  # fmt: skip
    return compare(text, told, rows)
