"""Wealth of portfolios where rebalancing pays."""

from __future__ import annotations

import numpy as np
import picture

from noregret import experts

folder, _ = picture.asked(__doc__)
rng = np.random.default_rng(4)
moves = np.exp(rng.normal(0.0, 0.12, (400, 2)))  # two volatile assets without a trend
t = np.arange(1, len(moves) + 1)
figure, (axes,) = picture.page("Two volatile assets without a trend: wealth, from 1")
best = experts.best_rebalanced(moves)
for name, wealth, color, line in (
    ("best rebalanced, afterwards", experts.rebalanced(moves, best.weights), "black", ":"),
    ("exponentiated gradient", experts.portfolio_eg(moves, eta=0.05), picture.ORANGE, "-"),
    ("universal", experts.universal_pair(moves), picture.GREEN, "-"),
    ("online Newton", experts.online_newton(moves), picture.BLUE, "-"),
    ("buy and hold", experts.buy_and_hold(moves), picture.GREY, "-"),
):
    axes.plot(t, wealth, color=color, linestyle=line, linewidth=1.2, label=name)
axes.set(yscale="log", xlabel="round", ylabel="wealth", xlim=(1, len(moves)), ylim=(0.1, None))
axes.legend(frameon=False, fontsize=8, ncols=2, loc="lower right")
picture.write(figure, folder / "wealth.png")
