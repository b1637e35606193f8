"""Cases for the referee: `noregret learn` with weights, passes, grids, classes; then `audit`."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import noregret as nr
from noregret import experts, losses, mirrors, rates
from noregret.learners import MatrixDescent
from tests.printed.audits import audit
from tests.printed.cases_commands import ran, run
from tests.printed.cases_hindsight import _score_data
from tests.printed.cases_linear import Random
from tests.printed.cases_more import _data
from tests.printed.commands import Learn, LearnGrid
from tests.printed.linear import Reading
from tests.printed.scores import matrix_maps, matrix_units
from tests.printed.verdicts import Verdicts

#: Classes as a file writes them.
NAMES = np.array(["red", "green", "blue"])


def _rows(random: Random, several: bool) -> tuple[Any, Any, Any]:
    """Return rows with a constant, labels or classes in the order of appearance, and weights."""
    rounds = int(random.choice([4, 12, 25]))
    X = np.round(random.normal(size=(rounds, 2)), 3)
    y = np.where(X[:, 0] + 0.5 * random.normal(size=rounds) > 0.0, 1.0, -1.0)
    y[:2] = [1.0, -1.0]
    if several:
        y = random.integers(3, size=rounds).astype(float)
        y[:3] = [0.0, 1.0, 2.0]
    weight = random.choice([0.5, 1.0, 2.25], rounds)
    return np.column_stack([X, np.ones(rounds)]), y, weight


def _write(path: Path, X: Any, y: Any, weight: Any, several: bool) -> None:
    lines = ["label,a,b,mass"]
    for row, label, mass in zip(X, y, weight, strict=True):
        name = NAMES[int(label)] if several else int(label)
        lines.append(f"{name},{row[0]},{row[1]},{mass}")
    path.write_text("\n".join(lines) + "\n")


def learnt(random: Random) -> Verdicts:
    """Judge `learn` and the `audit` of the model that it saved, at times resumed."""
    kind = str(random.choice(["weights", "passes", "grid", "classes", "resumed"]))
    several = kind == "classes"
    X, y, weight = _rows(random, several)
    options: list[Any] = ["--target", "label"]
    passes = int(random.choice([2, 3])) if kind == "passes" else 1
    options += {
        "weights": ["--weight", "mass"],
        "passes": ["--passes", passes],
        "grid": ["--rate", "grid"],
        "classes": ["--multiclass", "--classes", 3],
    }.get(kind, [])
    rate = [] if kind == "grid" else ["--rate", "scale-free"]
    options += [] if kind == "weights" else ["--ignore", "mass"]
    with tempfile.TemporaryDirectory() as folder:
        path, other, model = (Path(folder) / name for name in ("a.csv", "b.csv", "m.nr"))
        _write(path, X, y, weight, several)
        text = run("learn", path, *options, *rate, "--save", model)
        told = json.loads(run("learn", path, *options, *rate, "--json"))
        rounds = passes * len(y)
        if kind == "resumed":
            _write(other, X, y, weight, several)
            run("learn", other, *options, "--resume", model, "--save", model)
            rounds = 2 * len(y)
        checked, code = ran("audit", model)
    total = audit(checked, rounds, code)
    total.add(_judge(random, kind, passes, (X, y, weight), text, told).judge())
    return total


def _judge(
    random: Random, kind: str, passes: int, rows: tuple[Any, Any, Any], text: str, told: Any
) -> Learn:
    """Return the judge of what `learn` printed."""
    X, y = np.tile(rows[0], (passes, 1)), np.tile(rows[1], passes)
    if kind == "classes":
        data = _score_data(losses.Softmax(), matrix_maps(X, 3), y, None)
        learner = MatrixDescent(losses.Softmax(), mirrors.Euclidean(), rates.ScaleFree(), 3)
        data.predictions = np.asarray(learner.learn(X, y))
        return Learn(text, told, Reading(data, random, units=matrix_units(X, 3)))
    weight = rows[2] if kind == "weights" else None
    data = _data(losses.Logistic(), X, y, weight)
    data.passes = (passes, passes)
    if kind == "grid":
        grid = [experts.rate_grid(losses.Logistic(), mirrors.Euclidean()) for _ in range(2)]
        data.predictions = np.asarray(grid[0].learn(X, y))
        others = [member.learn(X, y) for member in grid[1].learners]
        return LearnGrid(text, told, Reading(data, random), others)
    twin = nr.MirrorDescent(losses.Logistic(), mirrors.Euclidean(), rates.ScaleFree())
    data.predictions = np.asarray(twin.learn(X, y, weight))
    return Learn(text, told, Reading(data, random))
