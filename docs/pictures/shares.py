"""Three experts that take turns: the weights of Hedge and of Fixed-Share."""

from __future__ import annotations

import numpy as np
import picture

from noregret import experts

folder, _ = picture.asked(__doc__)
costs = np.where((np.arange(900)[:, None] // 300) % 3 == np.arange(3), 0.1, 0.9)
games = {
    "Hedge": experts.Hedge(3, eta=0.05, low=0.0, high=1.0),
    "Fixed-Share, α = 0.01": experts.Shares(3, eta=0.05, alpha=0.01),
}
figure, panels = picture.page("Three experts take turns: weights over the rounds", 2, height=3.2)
for axes, (name, game) in zip(panels, games.items(), strict=True):
    weights, paid = [], 0.0
    for row in costs:
        weights.append(game.weights.copy())
        paid += game.suffer(row)
    colors = (picture.BLUE, picture.ORANGE, picture.GREEN)
    axes.stackplot(
        np.arange(900),
        np.array(weights).T,
        colors=colors,
        alpha=0.75,
        labels=["expert 1", "expert 2", "expert 3"],
    )
    axes.set(title=f"{name}: paid {paid:.0f}", xlabel="round", xlim=(0, 900), ylim=(0, 1))
panels[0].legend(loc="lower right", fontsize=8)
picture.write(figure, folder / "shares.png")
