"""Maps on a sparse target: what irrelevant features cost each of them."""

from __future__ import annotations

import numpy as np
import picture

import noregret as nr

folder, quick = picture.asked(__doc__)
rounds, relevant = 2_000, 3
widths = [4, 16, 64, 256, 1024, 4096] if not quick else [4, 64]
maps = {
    "2-norm ball": (nr.mirrors.Ball(3.0**0.5), picture.BLUE, "-"),
    "p-norm, p = 2 ln d": (None, picture.GREEN, "-"),
    "signed entropy, 1-norm ball": (nr.mirrors.SignedEntropy(3.0), picture.ORANGE, "-"),
}
figure, (axes,) = picture.page("Three relevant features among d: average loss of 2,000 rounds")
for name, (fixed, color, line) in maps.items():
    losses = []
    for d in widths:
        rng = np.random.default_rng(d)
        X = rng.choice([-1.0, 1.0], (rounds, d))
        y = X[:, :relevant].sum(axis=1)
        mirror = fixed or nr.mirrors.PNorm(max(2.0, 2.0 * np.log(d)))
        learner = nr.MirrorDescent(nr.losses.Absolute(), mirror, nr.rates.Adaptive())
        learner.learn(X, y)
        losses.append(learner.certificate().average_loss)
    axes.plot(widths, losses, "o" + line, color=color, label=name)
axes.set(
    xscale="log", xlabel="number of features d", ylabel="absolute loss a round", ylim=(0, None)
)
axes.legend(frameon=False)
picture.write(figure, folder / "maps.png")
