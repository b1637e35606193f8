"""Rounds until the gap is closed, by the number of shards; figures of bench/rounds_to_gap.py."""

from __future__ import annotations

import json
from pathlib import Path

import picture

folder, _ = picture.asked(__doc__)
# Beside this script, since a build is to show what was measured and not to measure for an hour.
every = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
figure, panels = picture.page("Rounds to a relative gap of 1e-3 (dashed) and 1e-6", panels=2)
colors = {"a9a": picture.BLUE, "rcv1_small": picture.ORANGE, "generated": picture.GREEN}
for axes, loss in zip(panels, ("hinge", "logistic"), strict=True):
    for name, color in colors.items():
        for gap, style in ((1e-3, "--"), (1e-6, "-")):
            chosen = [one for one in every if (one["name"], one["loss"]) == (name, loss)]
            points = [
                (one["shards"], one["rounds"])
                for one in chosen
                if one["gap"] == gap and not (name == "a9a" and one["method"] == "visits")
            ]
            label = name if gap == 1e-6 else None
            axes.plot(*zip(*points, strict=True), style, marker="o", markersize=3, color=color,
                      label=label)  # fmt: skip
    axes.set(xscale="log", yscale="log", ylim=(5, 2000), xlabel="shards K", title=loss)
    axes.set_xticks(
        [1, 2, 4, 8, 16, 32, 64, 128], labels=["1", "2", "4", "8", "16", "32", "64", "128"]
    )
    axes.minorticks_off()
panels[0].set_ylabel("sums of vectors over all shards")
panels[0].legend(frameon=False)
picture.write(figure, folder / "rounds_to_gap.png")
