"""The agnostic learner between its bound and what random labels down a tree force on anyone."""

from __future__ import annotations

import numpy as np
import picture

from noregret import classes

folder, quick = picture.asked(__doc__)
plays = 10 if quick else 300
horizons = [12, 24] if quick else [12, 24, 48, 96, 192]
dimension = classes.Littlestone(classes.thresholds(7))
tree = dimension.tree()

figure, (axes,) = picture.page(
    "Thresholds of Littlestone dimension 3: regret against random labels"
)
means, errors, forced, bounds = [], [], [], []
for horizon in horizons:
    regrets = []
    for seed in range(plays):
        opponent = classes.RandomLabels(tree, horizon, seed)
        learner = classes.Agnostic(dimension, horizon)
        classes.play(learner, opponent, horizon)
        regrets.append(learner.certificate().regret)
    means.append(np.mean(regrets))
    errors.append(2.0 * np.std(regrets) / np.sqrt(plays))
    forced.append(opponent.forced_regret)
    bounds.append(learner.certificate().bounds[1].value)
print(learner.certificate())
print(f"{learner.experts:,} experts in {learner.states} states")

axes.plot(horizons, bounds, color=picture.ORANGE, linestyle="--", label="bound, for all labels")
axes.errorbar(
    horizons,
    means,
    errors,
    color=picture.BLUE,
    marker="o",
    capsize=3,
    label=f"mean of {plays} plays, two standard errors",
)
axes.plot(horizons, forced, color=picture.GREEN, label="expected regret forced on any learner")
axes.set_xscale("log", base=2)
axes.set_yscale("log", base=2)
axes.set_xticks(horizons, [str(horizon) for horizon in horizons])
axes.set_yticks([2, 4, 8, 16, 32], ["2", "4", "8", "16", "32"])
axes.set(xlabel="rounds T", ylabel="regret")
axes.legend(frameon=False)
picture.write(figure, folder / "agnostic.png")
