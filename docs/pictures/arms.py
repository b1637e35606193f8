"""Three bandits on the same independent costs: how often the best arm was pulled."""

from __future__ import annotations

import numpy as np
import picture

from noregret import bandits

folder, quick = picture.asked(__doc__)
rounds, repeats = (1_000, 2) if quick else (8_000, 10)
means = np.array([0.5, 0.5, 0.4, 0.5, 0.5])
figure, (axes,) = picture.page("Five arms, one of them cheaper by 0.1: share of pulls of it so far")
t = np.arange(1, rounds + 1)
for kind, color in (
    (bandits.Exp3, picture.ORANGE),
    (bandits.Exp3IX, picture.GREEN),
    (bandits.TsallisINF, picture.BLUE),
):
    share = np.zeros(rounds)
    for seed in range(repeats):
        costs = (np.random.default_rng(seed).random((rounds, 5)) < means).astype(float)
        share += np.cumsum(kind(5, seed=seed).play(costs) == 2) / t / repeats
    axes.plot(t[10:], share[10:], color=color, label=kind.__name__)
axes.axhline(0.2, color=picture.GREY, linewidth=1, linestyle=":", label="by chance")
axes.set(xlabel="round", ylabel="share of the best arm", xlim=(0, rounds), ylim=(0, 1))
axes.legend(frameon=False)
picture.write(figure, folder / "arms.png")
