"""Ranking by clicks: the expected position of each item, and the regret beside its bound."""

from __future__ import annotations

import numpy as np
import picture

from noregret import classes

folder, quick = picture.asked(__doc__)
rounds = 60 if quick else 400
shares = np.array([0.4, 0.25, 0.15, 0.12, 0.08])
items = len(shares)
clicks = np.random.default_rng(7).choice(items, size=rounds, p=shares)

learner = classes.Ranking(items, horizon=rounds)
places, regrets, bounds = [], [], []
for item in clicks:
    places.append(1.0 + learner.positions() @ np.arange(items))
    learner.learn(item)
    certificate = learner.certificate()
    regrets.append(certificate.regret)
    bounds.append(certificate.bounds[0].value)
print(certificate)
print("best list:", certificate.best_list, " a list drawn now:", learner.draw(1))

figure, (left, right) = picture.page("Five items, clicked with fixed chances", panels=2)
t = np.arange(1, rounds + 1)
colors = [picture.BLUE, picture.ORANGE, picture.GREEN, "#9b2226", picture.GREY]
for item, line in enumerate(np.array(places).T):
    left.plot(t, line, color=colors[item], label=f"item {item}, {shares[item]:.0%} of clicks")
left.set(xlabel="round", ylabel="expected position", ylim=(items, 1))
left.legend(frameon=False, fontsize=8, loc="lower left", bbox_to_anchor=(0.3, 0.42))
right.plot(t, bounds, color=picture.ORANGE, linestyle="--", label="bound")
right.plot(t, regrets, color=picture.BLUE, label="regret against the best list")
right.set(xlabel="round", ylabel="positions", ylim=(min(0.0, *regrets), None))
right.legend(frameon=False)
picture.write(figure, folder / "ranking.png")
