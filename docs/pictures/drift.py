"""A question that changes halfway: tracker and floor, window by window."""

from __future__ import annotations

import numpy as np
import picture
from sklearn.datasets import load_digits

import noregret as nr

folder, _ = picture.asked(__doc__)
images, digit = load_digits(return_X_y=True)
X = images / np.linalg.norm(images, axis=1, keepdims=True)
y = np.where(np.arange(len(X)) < 900, digit % 2 == 0, digit >= 5) * 2.0 - 1.0
proof = nr.drift_proof(X, y, radius=5.0, window=600)
figure, (axes,) = picture.page("Digits: even? from round 900 on: five or more?", height=3.6)
for span in proof.windows:
    wide = [span.first + 1, span.last]
    axes.plot(wide, [span.average_bound] * 2, color=picture.ORANGE)
    axes.plot(wide, [span.average_loss] * 2, color=picture.GREEN if span.proved else picture.GREY)
    if span.proved:
        axes.fill_between(
            wide, span.average_loss, span.average_bound, color=picture.GREEN, alpha=0.2
        )
axes.plot([], [], color=picture.ORANGE, label="every fixed predictor of the ball, at least")
axes.plot([], [], color=picture.GREY, label="the tracker in the ball")
axes.plot([], [], color=picture.GREEN, label="the tracker, where it proves drift")
axes.axvline(900, color=picture.GREY, linewidth=1, linestyle=":")
axes.set(xlabel="window of rounds", ylabel="squared loss a round", ylim=(0, None))
axes.legend(frameon=False, fontsize=8)
picture.write(figure, folder / "drift.png")
