"""Bandits beside their bounds, a policy against its best arm, and intervals that hold."""

from __future__ import annotations

import numpy as np
import picture

from noregret import bandits

folder, quick = picture.asked(__doc__)
rng = np.random.default_rng(3)
arms, rounds, plays, logs = (5, 400, 4, 20) if quick else (10, 10_000, 40, 300)
marks = np.unique(np.geomspace(20, rounds, 24).astype(int))
figure, (left, middle, right) = picture.page("Learning from the cost of one arm", panels=3)

# Ten arms that cost a coin's toss, one of them less: what each kind loses to the best.
means = np.full(arms, 0.6)
means[-1] = 0.4
kinds = {
    "EXP3": (lambda seed: bandits.Exp3(arms, seed=seed), picture.ORANGE),
    "EXP3-IX": (lambda seed: bandits.Exp3IX(arms, seed=seed), picture.GREEN),
    "Tsallis-INF": (lambda seed: bandits.TsallisINF(arms, seed=seed), picture.BLUE),
}
for name, (make, color) in kinds.items():
    regrets = np.zeros(len(marks))
    for seed in range(plays):
        costs = (rng.random((rounds, arms)) < means).astype(float)
        bandit = make(seed)
        drawn = bandit.play(costs)
        lost = np.cumsum(costs[np.arange(rounds), drawn])
        regrets += (lost[marks - 1] - np.cumsum(costs[:, -1])[marks - 1]) / plays
    left.plot(marks, regrets, color=color, label=f"{name}, mean of {plays} plays")
left.plot(
    marks,
    4.0 * np.sqrt(arms * marks),
    color=picture.GREY,
    linestyle="--",
    label="4 sqrt(d T), Tsallis-INF's bound",
)
left.set(xlabel="round T", ylabel="cost - cost of the best arm", xscale="log", yscale="log")
left.set_title(f"{arms} coins as arms, one of them better", fontsize=9)
left.legend(frameon=False, fontsize=8, loc="lower right")
print(bandit.certificate())

# Arms with features of their own, other arms in every round: one learner for all of them.
slopes = np.array([0.5, -0.3, 0.2])
policy = bandits.ArmFeatureBandit(seed=1)
paid, best, even = [], [], []
for _ in range(rounds // 4):
    rows = rng.random((int(rng.integers(2, 8)), 3))
    costs = np.clip(0.3 + rows @ slopes + rng.normal(0.0, 0.05, len(rows)), 0.0, 1.0)
    decision = policy.decide(rows)
    policy.learn(decision.id, costs[decision.arm])
    paid.append(costs[decision.arm])
    best.append((0.3 + rows @ slopes).min())
    even.append(costs.mean())
t = np.arange(1, len(paid) + 1)
for values, color, label in (
    (even, picture.GREY, "any arm"),
    (paid, picture.BLUE, "the policy"),
    (best, picture.GREEN, "the best of each round"),
):
    middle.plot(t, np.cumsum(values) / t, color=color, label=label)
middle.set(xlabel="round", ylabel="cost a round, so far", xscale="log", xlim=(10, None))
middle.set_title("2 to 7 arms, each with 3 features", fontsize=9)
middle.legend(frameon=False, fontsize=8)
print(policy.certificate())

# One arm in fifty was logged: which intervals hold what the policy that takes it would earn?
sizes = [5, 20, 100, 500] if quick else [5, 10, 20, 50, 100, 200, 500, 1000]
held = {"IPS, finite-sample": [], "SNIPS, asymptotic": []}
for size in sizes:
    counts = dict.fromkeys(held, 0)
    for _ in range(logs):
        drawn = (rng.random(size) >= 0.02).astype(int)
        outcomes = (rng.random(size) < np.where(drawn == 0, 0.3, 0.6)).astype(float)
        log = bandits.Log(drawn, outcomes, np.where(drawn == 0, 0.02, 0.98), arms=2)
        found = [bandits.ips(log, [1.0, 0.0], level=0.9)]
        # Without a single row of its arm the second has no answer at all.
        found += [bandits.snips(log, [1.0, 0.0], level=0.9)] if (drawn == 0).any() else []
        for name, each in zip(held, found, strict=False):
            counts[name] += each.low <= 0.3 <= each.high
    for name, count in counts.items():
        held[name].append(count / logs)
for (name, shares), color in zip(held.items(), (picture.BLUE, picture.ORANGE), strict=True):
    right.plot(sizes, shares, color=color, marker="o", label=name)
    pairs = zip(sizes, shares, strict=True)
    print(f"{name}: held in", ", ".join(f"{share:.0%} at {size}" for size, share in pairs))
right.axhline(0.9, color=picture.GREY, linestyle="--", label="as said: 0.9")
right.set(xlabel="rows of the log", ylabel="share of logs", xscale="log", ylim=(0, 1.03))
right.set_title("intervals that hold the truth", fontsize=9)
right.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(0.0, 0.84))
picture.write(figure, folder / "bandits.png")
