"""Experts that take turns to be best: who is believed, and the regret beside its bound."""

from __future__ import annotations

import numpy as np
import picture

from noregret import experts

folder, quick = picture.asked(__doc__)
rounds, count = (90, 4) if quick else (900, 4)
#: The best sequence so far is found anew every so many rounds.
STEP = 5
random = np.random.default_rng(5)
# Each cost is a coin; the coin of the expert whose turn it is falls well more often.
turn = np.arange(rounds) * 3 // rounds
chances = np.full((rounds, count), 0.5)
chances[np.arange(rounds), turn] = 0.2
costs = (random.uniform(size=(rounds, count)) < chances).astype(float)

hedge = experts.Hedge(count)
share = experts.Shares(count, eta=0.5, alpha=0.01)
believed: dict[str, list[np.ndarray]] = {"AdaHedge": [], "fixed share": []}
regrets, bounds, tracked, switching = [], [], [], []
for t, row in enumerate(costs):
    believed["AdaHedge"].append(hedge.weights)
    believed["fixed share"].append(share.weights)
    hedge.suffer(row)
    share.suffer(row)
    proof = hedge.certificate()
    regrets.append(proof.regret())
    bounds.append({bound.name: bound.value for bound in proof.bounds}["AdaHedge, second order"])
    if (t + 1) % STEP == 0:
        shared, switches = share.certificate(), int(turn[t])
        least = experts.best_sequence(costs[: t + 1], switches).costs[-1]
        tracked.append(shared.loss - least)
        switching.append(shared.switching_bound(switches))
print(proof)
print(shared)
print(f"{tracked[-1]:.2f} lost to the best sequence with 2 switches, at most {switching[-1]:.2f}")

figure, panels = picture.page(f"{count} experts, the best one changing twice", panels=4, height=3.2)
figure.set_size_inches(14.0, 3.4)
t = np.arange(1, rounds + 1)
colors = [picture.BLUE, picture.ORANGE, picture.GREEN, picture.GREY]
for axes, (name, weights) in zip(panels[::2], believed.items(), strict=True):
    axes.stackplot(t, np.array(weights).T, colors=colors, labels=map(str, range(count)))
    axes.set(title=f"{name}: weights", xlabel="round", xlim=(1, rounds), ylim=(0, 1))
panels[0].legend(title="expert", fontsize=8, loc="lower right")
for axes, title, at, lost, most in (
    (panels[1], "AdaHedge against one expert", t, regrets, bounds),
    (panels[3], "share against sequences", t[STEP - 1 :: STEP], tracked, switching),
):
    axes.plot(at, most, color=picture.ORANGE, linestyle="--", label="bound")
    axes.plot(at, lost, color=picture.BLUE, label="regret")
    axes.set(title=title, xlabel="round", xlim=(1, rounds))
    axes.legend(frameon=False)
picture.write(figure, folder / "experts.png")
