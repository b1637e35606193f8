"""Cover's impossibility: a learner without chance errs in every round, one with chance escapes."""

from __future__ import annotations

import numpy as np
import picture

from noregret import classes

folder, quick = picture.asked(__doc__)
rounds = 40 if quick else 400
certain = classes.demonstrate(classes.Majority(), rounds)
chance = classes.demonstrate(classes.Hedged(rounds), rounds)
print(certain, chance, sep="\n")


def regret(shown: classes.Demonstration) -> np.ndarray:
    labels = np.array(shown.labels)
    loss = np.cumsum(np.abs(np.array(shown.predictions) - labels))
    ones = np.cumsum(labels)
    return loss - np.minimum(ones, np.arange(1, rounds + 1) - ones)


t = np.arange(1, rounds + 1)
figure, (axes,) = picture.page("Against the better of two constants: regret, labels always adverse")
axes.plot(t, t / 2, color=picture.GREY, linewidth=6, alpha=0.5, label="T/2, forced without chance")
axes.plot(t, regret(certain), color=picture.ORANGE, label="majority so far: errs in every round")
axes.plot(t, regret(chance), color=picture.BLUE, label="probabilities announced, coin tossed after")
bound = np.sqrt(0.5 * rounds * np.log(2))
axes.axhline(bound, color=picture.BLUE, linestyle="--", label="its bound for all T rounds")
axes.set(xlabel="round", ylabel="regret", xlim=(0, rounds))
axes.legend(frameon=False)
picture.write(figure, folder / "cover.png")
