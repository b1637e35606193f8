"""Three sizes of a class: VC dimension <= Littlestone dimension <= log2 |H|."""

from __future__ import annotations

import numpy as np
import picture
from matplotlib.ticker import MultipleLocator

from noregret import classes

folder, quick = picture.asked(__doc__)
sizes = [3, 6, 10] if quick else list(range(2, 51, 2))
grid = np.random.default_rng(3).integers(0, 10**6, (max(sizes), 2))
families = {
    "thresholds": classes.thresholds,
    "intervals": classes.intervals,
    "half-planes": lambda n: classes.half_planes(grid[:n]),
}

figure, panels = picture.page(
    "The mistakes of the best online learner grow where the VC dimension stays", 3
)
for axes, (name, make) in zip(panels, families.items(), strict=True):
    made = [make(n) for n in sizes]
    online = [classes.littlestone_dimension(h) for h in made]
    fixed = [classes.vc_dimension(h) for h in made]
    print(f"{name:<12} Ldim {online} VC {fixed}")
    axes.xaxis.set_major_locator(MultipleLocator(10))
    axes.plot(sizes, [np.log2(h.size) for h in made], color=picture.GREY, label="log2 |H|")
    axes.step(sizes, online, where="post", color=picture.BLUE, label="Littlestone")
    axes.step(sizes, fixed, where="post", color=picture.ORANGE, label="VC")
    axes.set(title=name, xlabel="points", ylim=(0, 12))
panels[0].legend(frameon=False)
picture.write(figure, folder / "dimensions.png")
