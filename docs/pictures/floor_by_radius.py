"""Floor, truth and loss against the radius of the class."""

from __future__ import annotations

import numpy as np
import picture

import noregret as nr
from noregret.cli.demo import digits

folder, _ = picture.asked(__doc__)
(block,) = digits()
X, y = block.dense(), block.y
learner = nr.MirrorDescent(nr.losses.Logistic(), nr.mirrors.Ball(10.0), nr.rates.Adaptive())
learner.learn(X, y)
proof = learner.certificate()
radii = np.linspace(0.0, 40.0, 161)
looked = np.array([0.25, 0.5, 1, 2, 3, 5, 7, 10, 14, 20, 30, 40])
truth = [nr.hindsight(X, y, nr.losses.Logistic(), radius=r, tol=1e-4).primal for r in looked]
figure, (axes,) = picture.page("Handwritten digits: what each class lost, a round")
axes.axhline(proof.average_loss, color=picture.BLUE, label="the learner, in a ball of radius 10")
axes.plot(looked, np.array(truth) / len(y), "o-", color=picture.GREEN, markersize=4,
          label="the best of the class, by hindsight")  # fmt: skip
axes.plot(radii, [proof.floor(r) / len(y) for r in radii], color=picture.ORANGE,
          label="certified floor")  # fmt: skip
axes.axvline(10.0, color=picture.GREY, linewidth=1)
axes.set(xlabel="radius of the class", ylabel="logistic loss a round", ylim=(0, 0.75), xlim=(0, 40))
axes.legend(frameon=False)
picture.write(figure, folder / "floor_by_radius.png")
