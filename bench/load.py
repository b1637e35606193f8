"""Weekly electricity load of France, 1996-2009: simple forecasters, mixed, beside the bounds.

`python -m bench.load` reads the set of the R package opera (through NOREGRET_DATA), lets six
forecasters predict every week from the second year on, knowing the weeks before it and the week's
temperature, and mixes them: with the rate at which the square loss is exp-concave on the promised
range, and by AdaHedge against the best expert and against the best convex combination.
"""

from __future__ import annotations

import argparse
import math
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from noregret import experts, losses, plot

Vector = npt.NDArray[np.float64]

#: Loads in GW are promised to lie in this range, and forecasts are kept there.
LOW, HIGH = 25.0, 85.0
#: Weeks that are only learnt from.
WARM = 54
_YEAR = 52
SQUARED = losses.Squared()


@dataclass(frozen=True)
class Weeks:
    """The loads of the weeks that are forecast, and what each forecaster says about them."""

    names: list[str]
    forecasts: npt.NDArray[np.float64]
    load: Vector


def forecasts(table: pd.DataFrame) -> Weeks:
    """Return what six simple forecasters say, none of which sees the week it speaks about."""
    load = table["Load"].to_numpy(np.float64) / 1000.0
    temperature = table["Temp"].to_numpy(np.float64)
    angle = 2.0 * math.pi * table["NumWeek"].to_numpy(np.float64)
    cold = np.maximum(15.0 - temperature, 0.0)
    weeks = np.arange(WARM, len(load))
    season = np.column_stack([np.ones(len(load)), np.sin(angle), np.cos(angle)])
    warmer = np.column_stack([cold - np.roll(cold, 1), season[:, 1:]])
    change = load - np.roll(load, 1)
    made = {
        "last week": load[weeks - 1],
        "a year ago": load[weeks - _YEAR],
        "a year ago, moved": load[weeks - _YEAR] + load[weeks - 1] - load[weeks - _YEAR - 1],
        "season": _least_squares(season, load, weeks),
        "season and cold": _least_squares(np.column_stack([season, cold]), load, weeks),
        "last week, warmer": load[weeks - 1] + _least_squares(warmer, change, weeks),
    }
    values = np.clip(np.column_stack(list(made.values())), LOW, HIGH)
    return Weeks(list(made), values, load[weeks])


def _least_squares(features: Vector, target: Vector, weeks: npt.NDArray[np.int64]) -> Vector:
    """Return for every week the fit of the weeks before it, with a little ridge."""
    made = []
    for t in weeks:
        # The first year has no year before it.
        X, y = features[_YEAR:t], target[_YEAR:t]
        if len(X) < features.shape[1] + 8:
            X, y = features[1:t], target[1:t]
        centre = y.mean()
        matrix = X.T @ X + 1e-3 * np.eye(X.shape[1])
        made.append(features[t] @ np.linalg.solve(matrix, X.T @ (y - centre)) + centre)
    return np.array(made)


def run(weeks: Weeks) -> list[tuple[str, experts.ExpertCertificate]]:
    """Return the certificates of three mixtures."""
    count = len(weeks.names)
    mixtures = {
        "exp-concave rate": experts.Forecaster(count, SQUARED, "concave", LOW, HIGH),
        "AdaHedge": experts.Forecaster(count, SQUARED, "adaptive", LOW, HIGH),
        "AdaHedge on slopes": experts.Forecaster(
            count, SQUARED, "adaptive", LOW, HIGH, "combinations"
        ),
    }
    for mixture in mixtures.values():
        mixture.learn(weeks.forecasts, weeks.load)
    return [(name, mixture.certificate()) for name, mixture in mixtures.items()]


def history(weeks: Weeks) -> npt.NDArray[np.float64]:
    """Return the weights of every week in the mixture that competes with combinations."""
    count = len(weeks.names)
    mixture = experts.Forecaster(count, SQUARED, "adaptive", LOW, HIGH, "combinations")
    made = []
    for row, load in zip(weeks.forecasts, weeks.load, strict=True):
        made.append(mixture.weights)
        mixture.learn(row, load)
    return np.array(made)


def main() -> None:
    """Mix and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.load", description=__doc__)
    folder = Path(os.environ.get("NOREGRET_DATA", "."))
    default = folder / "opera_electric_load" / "electric_load.csv.xz"
    parser.add_argument("--file", type=Path, default=default)
    parser.add_argument("--picture", type=Path, help="where to draw the weights over time")
    arguments = parser.parse_args()
    weeks = forecasts(pd.read_csv(arguments.file))
    costs = (weeks.forecasts - weeks.load[:, None]) ** 2
    rounds = len(weeks.load)
    print(f"{rounds} weeks; root of the mean square, GW")
    for name, total in zip(weeks.names, costs.sum(axis=0), strict=True):
        print(f"  {name:<22}{math.sqrt(total / rounds):8.4f}")
    best, least = experts.best_expert(costs)
    whole = experts.best_combination(weeks.forecasts, weeks.load, SQUARED)
    shares = ", ".join(
        f"{w:.3f} {n}" for w, n in zip(whole.weights, weeks.names, strict=True) if w > 1e-6
    )
    print(f"best expert       {least:10.2f}  {weeks.names[best]}")
    print(f"best combination  {whole.loss:10.2f}  {shares} (gap {whole.gap:.1e})")
    for name, proof in run(weeks):
        print(f"\n{name}: {math.sqrt(proof.loss / rounds):.4f} GW")
        print(f"  regret against the best combination {proof.loss - whole.floor:.2f}")
        print(proof)
    if arguments.picture is not None:
        words = "AdaHedge on slopes, weekly load"
        axes = plot.shares(history(weeks), weeks.names, ax=plot.sheet(7.2, 4.2), subtitle=words)
        plot.save(axes, arguments.picture)


if __name__ == "__main__":
    main()
