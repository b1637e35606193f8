"""Tangents lie below convex losses, and their sum below the sum: that is the whole certificate."""

from __future__ import annotations

import numpy as np
import picture

from noregret.losses import Logistic

folder, _ = picture.asked(__doc__)
loss = Logistic()
rounds = [(1.0, 1.0, 0.4), (-1.0, 0.6, 0.9), (1.0, 0.8, -0.6)]  # label, feature, prediction
u = np.linspace(-4.0, 4.0, 400)


def losses(y: float, x: float) -> np.ndarray:
    """Return the loss of every u in a round."""
    return np.array([loss.value(y, x * point) for point in u])


figure, (one, total) = picture.page("Lines below losses, one feature, three rounds", 2)
above, below = np.zeros_like(u), np.zeros_like(u)
for (y, x, p), color in zip(rounds, (picture.BLUE, picture.ORANGE, picture.GREEN), strict=True):
    line = loss.value(y, p) + loss.slope(y, p) * (x * u - p)
    one.plot(u, losses(y, x), color=color)
    one.plot(u, line, color=color, linestyle="--", linewidth=1)
    one.plot(p / x, loss.value(y, p), "o", color=color)
    above += losses(y, x)
    below += line
one.set(title="each round: loss, prediction, tangent", xlabel="u", ylim=(-1.0, 4.0))
radius = 2.0
inside = np.abs(u) <= radius
floor = below[inside].min()
total.plot(u, above, color=picture.BLUE, label="sum of the losses")
total.plot(u, below, color=picture.ORANGE, linestyle="--", label="sum of the tangents")
total.axvspan(-radius, radius, color=picture.GREY, alpha=0.15, label="the class: |u| ≤ 2")
total.hlines(floor, -radius, radius, color=picture.ORANGE, label=f"floor {floor:.2f}")
best = above[inside].min()
total.hlines(best, -radius, radius, color=picture.BLUE, linewidth=1, label=f"best {best:.2f}")
total.set(title="their sums, and the floor", xlabel="u", ylim=(-1.0, 8.0))
total.legend(frameon=False, fontsize=8, loc="upper center", ncols=2)
picture.write(figure, folder / "tangents.png")
