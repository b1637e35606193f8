"""Consistent, Halving and SOA on the class that makes each look worst: lopsided groups."""

from __future__ import annotations

import picture

from noregret import classes


def worst_found(learner: classes.VersionSpaceLearner) -> int:
    """Contradict the learner wherever this leaves most hypotheses, until it cannot be."""
    h = learner.hypotheses
    while True:
        best = (0, 0, 0)
        for x in range(h.points):
            y = 1 - learner.predict(x)
            best = max(best, (h.part(learner.space, x, y).bit_count(), x, y))
        if best[0] == 0:
            return learner.mistakes
        learner.learn(best[1], best[2])


folder, quick = picture.asked(__doc__)
levels = range(1, 5 if quick else 8)
found = {
    rule: [worst_found(rule(classes.lopsided(m))) for m in levels]
    for rule in (classes.Consistent, classes.Halving, classes.SOA)
}
optimum = [classes.littlestone_dimension(classes.lopsided(m)) for m in levels]
soa = classes.SOA(classes.lopsided(levels[-1]))
worst_found(soa)
print(soa.certificate())

figure, (axes,) = picture.page("Mistakes forced by an adversary that stays in the class")
axes.plot(levels, optimum, color=picture.GREY, linewidth=6, alpha=0.5, label="Ldim(H), the optimum")
marks = zip(found.items(), (picture.ORANGE, picture.BLUE, picture.GREEN), "o^s", strict=True)
for (rule, mistakes), color, mark in marks:
    axes.plot(levels, mistakes, color=color, marker=mark, label=rule.__name__)
    axes.annotate(f" {mistakes[-1]}", (levels[-1], mistakes[-1]), color=color, va="center")
axes.set_yscale("log", base=2)
axes.set(xlabel="levels m of the class, 2^(m+1) - 1 hypotheses", ylabel="mistakes")
axes.set_xticks(list(levels))
axes.legend(frameon=False)
picture.write(figure, folder / "three_learners.png")
