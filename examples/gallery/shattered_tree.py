"""A shattered tree: whatever the labels on the way down, some interval gives just these."""

from __future__ import annotations

import picture

from noregret import classes

folder, quick = picture.asked(__doc__)
h = classes.intervals(4 if quick else 7)
tree = classes.Littlestone(h).tree()
witnesses = tree.witnesses(h)
print(tree)
print("checked against the table:", tree.is_shattered_by(h))

title = f"Intervals on {h.points} points: Littlestone dimension {tree.depth}, VC dimension "
figure, (axes,) = picture.page(title + str(classes.vc_dimension(h)), height=4.6)
depth, leaves = tree.depth, 1 << tree.depth


def place(node: int) -> tuple[float, float]:
    level = node.bit_length() - 1
    return (node - (1 << level) + 0.5) * leaves / (1 << level), float(-level)


for node in range(2, 2 * leaves):
    (x0, y0), (x1, y1) = place(node // 2), place(node)
    axes.plot([x0, x1], [y0, y1], color=picture.GREY, linewidth=1, zorder=1)
    middle = ((x0 + x1) / 2, (y0 + y1) / 2)
    blank = {"boxstyle": "circle,pad=0.1", "color": "white"}
    axes.text(*middle, str(node % 2), fontsize=8, ha="center", va="center", bbox=blank)
for node, x in enumerate(tree.instances, start=1):
    axes.text(
        *place(node),
        str(x),
        ha="center",
        va="center",
        color="white",
        bbox={"boxstyle": "circle,pad=0.25", "color": picture.BLUE},
    )
for leaf, witness in enumerate(witnesses):
    left, top = leaf + 0.1, -depth - 0.12
    for x, label in enumerate(h.table[witness]):
        low = top - 0.9 * (x + 1) / h.points
        box = {"facecolor": picture.ORANGE if label else "#e2e8f0", "edgecolor": "white"}
        axes.bar(left + 0.4, 0.9 / h.points, 0.8, low, **box)
axes.text(-0.1, -depth - 0.57, "points\n0 to " + str(h.points - 1), ha="right", va="center")
axes.text(
    -1.5, -0.1, "circle: the point asked for\nedge: its label\nbelow: who says so", va="center"
)
axes.set_xlim(-1.5, leaves)
axes.set_axis_off()
picture.write(figure, folder / "shattered_tree.png")
