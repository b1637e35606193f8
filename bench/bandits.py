"""What bandits cost and how well they do: rounds a second, logs of clicks, classes as arms.

`python -m bench.bandits` prints the parts one after the other; `--only` chooses among them.

  tree      nanoseconds a round of EXP3 for 100 to a million arms, all in compiled code, and a
            round on dense weights beside it: a tree grows like log d, a cumulative sum like d
  river     rounds of `decide` and `learn` beside River's `bandit.Exp3` with 1,000 arms
  clicks    Open Bandit: what a policy earns from the log of another, beside its own log, one
            learnt on half a log, and two that learn as they replay it
  classes   covtype and MNIST as bandits: the class is the right arm, every other costs 1;
            policies that see the cost of one arm beside a learner that sees those of all, and
            beside Vowpal Wabbit's if there are at most 20,000 rows

Times are the machine's; contestants take turns and the best turn counts.
"""

from __future__ import annotations

import argparse
import gzip
import lzma
import time
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy.sparse as sp

from bench.quality.data import folder
from bench.timing import Line, interleave
from noregret.bandits import (
    ContextualBandit,
    EpsilonGreedy,
    Exp3,
    InverseGap,
    Log,
    doubly_robust,
    ips,
    replay,
    snips,
)
from noregret.bandits.exp3 import play

Vector = npt.NDArray[np.float64]

PARTS = ("tree", "river", "clicks", "classes")
SEED = 2026
#: River must be so many times slower.
BAR = 20.0
#: Contexts that are decided before the first of their costs comes.
BLOCK = 50
#: Vowpal Wabbit is asked one round at a time: so many rows at most.
VOWPAL_ROWS = 20_000
VOWPAL = ("--epsilon 0.05", "--squarecb", "--squarecb --gamma_scale 100")


def compiled_rounds(arms: int, rounds: int) -> Callable[[], object]:
    """Return what plays so many rounds in compiled code, on costs that repeat."""
    bandit = Exp3(arms, horizon=10**9, seed=SEED)
    rng = np.random.default_rng(SEED)
    draws, drawn = rng.random(rounds), np.empty(rounds, np.int64)
    # One row of costs for all rounds: a matrix of its own would not fit for a million arms.
    costs = np.broadcast_to(rng.random(arms), (rounds, arms))
    parts = bandit._tree, bandit._estimates, bandit._book, 0.0, draws, costs, drawn
    return lambda: play(*parts)


def dense_rounds(arms: int, rounds: int) -> Callable[[], object]:
    """Return the same on dense weights: a cumulative sum a round."""
    rng = np.random.default_rng(SEED)
    weights, draws, costs = np.ones(arms), rng.random(rounds), rng.random(arms)

    def run() -> None:
        for u in draws:
            sums = np.cumsum(weights)
            arm = int(np.searchsorted(sums, u * sums[-1], side="right"))
            weights[arm] *= np.exp(-1e-5 * costs[arm] * sums[-1] / weights[arm])

    return run


def tree(turns: int) -> Iterator[str]:
    """Measure a round over the number of arms."""
    sizes = (100, 1000, 10_000, 100_000, 1_000_000)
    rounds = 200_000
    times = interleave({str(d): compiled_rounds(d, rounds) for d in sizes}, turns)
    few = {d: max(20, 2_000_000 // d) for d in sizes[:-1]}
    dense = interleave({str(d): dense_rounds(d, few[d]) for d in few}, turns)
    first = times.best("100") / np.log2(100)
    for d in sizes:
        cost = 1e9 * times.best(str(d)) / rounds
        shape = times.best(str(d)) / np.log2(d) / first
        beside = f"  dense {1e9 * dense.best(str(d)) / few[d]:10,.0f} ns" if d in few else ""
        yield f"EXP3, {d:>9,} arms  {cost:7.0f} ns a round  over log2(d): {shape:.2f}x{beside}"


def river(turns: int, arms: int = 1000) -> Iterator[str]:
    """Measure the rounds that a user plays one by one, ours and River's."""
    from river import bandit as rivals

    ours, theirs = Exp3(arms, eta=1e-3, seed=SEED), rivals.Exp3(gamma=0.1, seed=SEED)
    ids, costs = list(range(arms)), np.random.default_rng(SEED).random(arms).tolist()
    rounds = {"ours": 2000, "river": 40}

    def play_ours() -> None:
        for _ in range(rounds["ours"]):
            decision = ours.decide()
            ours.learn(decision.id, costs[decision.arm])

    def play_theirs() -> None:
        for _ in range(rounds["river"]):
            arm = theirs.pull(ids)
            theirs.update(arm, 1.0 - costs[arm])

    times = interleave({"ours": play_ours, "river": play_theirs}, turns)
    seconds = {name: times.best(name) / rounds[name] for name in rounds}
    ratio = seconds["river"] / seconds["ours"]
    pairs = zip(times.seconds["river"], times.seconds["ours"], strict=True)
    median = float(np.median([a / b for a, b in pairs])) * rounds["ours"] / rounds["river"]
    for name, each in seconds.items():
        yield f"{name:6s} {1e6 * each:9.1f} us a round, {1.0 / each:12,.0f} rounds a second"
    line = Line(f"rounds a second over River's, {arms:,} arms", ratio, median, at_least=BAR)
    yield "  ".join(line.cells())


def _clicks(name: str, rows: int | None) -> tuple[Log, pd.DataFrame]:
    table = pd.read_csv(lzma.open(folder() / "open_bandit" / f"{name}.csv.xz"))
    arms = int(table.item_id.max()) + 1
    table = table.head(len(table) if rows is None else rows)
    columns = (table[key].to_numpy() for key in ("item_id", "click", "propensity_score"))
    return Log(*columns, arms=arms), table


def _user_rows(table: pd.DataFrame) -> sp.csr_matrix:
    """Return position and user features as indicators."""
    names = ["position", *(f"user_feature_{k}" for k in range(4))]
    return sp.csr_matrix(pd.get_dummies(table[names].astype(str)).to_numpy(np.float64))


def clicks(limit: int | None) -> Iterator[str]:
    """Estimate each policy of the Open Bandit data from the other's log, and one of our own."""
    for campaign in ("all", "men", "women"):
        (uniform, rows), (thompson, others) = (
            _clicks(f"{policy}_{campaign}", limit) for policy in ("random", "bts")
        )
        K = uniform.count
        # The sampler's probabilities by position, as its own log shows them.
        table = pd.crosstab(others.position, others.item_id, normalize="index")
        table = table.reindex(columns=range(K), fill_value=0.0)
        shares = table.loc[rows.position].to_numpy()
        yield f"{campaign}: {K} items, {len(uniform):,} rows a log"
        evens = np.full(K, 1.0 / K)
        yield f"  uniform, its own log            {ips(uniform, evens, weight_limit=1.0)}"
        for each in (ips(thompson, evens), snips(thompson, evens)):
            yield f"  uniform, from the other's log   {each}"
        yield f"  Thompson, its own log           {thompson.outcomes.mean():26.6g}"
        most = K * float(shares.max())
        for each in (ips(uniform, shares, weight_limit=most), snips(uniform, shares)):
            yield f"  Thompson, from the uniform log  {each}"
        X = _user_rows(rows)
        yield from _own_policy(uniform, X)
        for policy, contexts in ((Exp3(K, seed=SEED), None), (ContextualBandit(K, seed=SEED), X)):
            lived = replay(policy, uniform, contexts, rewards=True, seed=SEED)
            yield f"  {type(policy).__name__:<17}{lived}"


def _own_policy(log: Log, X: sp.csr_matrix) -> Iterator[str]:
    """Learn on the first half of a uniform log, and estimate on the second."""
    half = len(log) // 2
    policy = ContextualBandit(log.count, EpsilonGreedy(0.1), seed=SEED)
    costs = 1.0 - log.outcomes
    policy.learn_logged(X[:half], log.arms[:half], costs[:half], log.propensities[:half])
    rest = Log(log.arms[half:], log.outcomes[half:], log.propensities[half:], log.count)
    chances, model = policy.probabilities(X[half:]), 1.0 - policy.predict(X[half:])
    most = float(log.count)
    for each in (
        ips(rest, chances, weight_limit=most),
        snips(rest, chances),
        doubly_robust(rest, chances, model, weight_limit=most),
    ):
        yield f"  learnt on one half, on the other {each}"


def covtype() -> tuple[sp.csr_matrix, npt.NDArray[np.int64]]:
    """Return the rows as they stand, and the classes from 0."""
    table = pd.read_csv(folder() / "covtype" / "covtype.csv.xz")
    values = table.drop(columns="Cover_Type").to_numpy(np.float64)
    return sp.csr_matrix(values), table.Cover_Type.to_numpy(np.int64) - 1


def mnist() -> tuple[sp.csr_matrix, npt.NDArray[np.int64]]:
    """Return the pixels in units of 1, and the digits."""
    source = folder() / "mnist_t10k"
    with gzip.open(source / "t10k-images-idx3-ubyte.gz") as stream:
        pixels = np.frombuffer(stream.read(), np.uint8, offset=16).reshape(-1, 784)
    with gzip.open(source / "t10k-labels-idx1-ubyte.gz") as stream:
        labels = np.frombuffer(stream.read(), np.uint8, offset=8)
    return sp.csr_matrix(pixels / 255.0), labels.astype(np.int64)


def bandit_errors(
    policy: ContextualBandit, X: sp.csr_matrix, labels: npt.NDArray[np.int64]
) -> Vector:
    """Return the cost of each decision: 1 but for the right arm. Costs come a block later."""
    errors = np.empty(len(labels))
    for start in range(0, len(labels), BLOCK):
        part = slice(start, start + BLOCK)
        decisions = policy.decide_many(X[part])
        errors[part] = decisions.arms != labels[part]
        policy.learn_many(decisions.ids, errors[part])
    return errors


def full_information_errors(arms: int, X: sp.csr_matrix, labels: npt.NDArray[np.int64]) -> Vector:
    """Return the errors of the same regressors when the costs of all arms are told."""
    policy = ContextualBandit(arms, EpsilonGreedy(0.0), seed=SEED)
    errors = np.empty(len(labels))
    for start in range(0, len(labels), BLOCK):
        part = slice(start, start + BLOCK)
        errors[part] = policy.predict(X[part]).argmin(axis=1) != labels[part]
        rows = np.repeat(np.arange(start, start + len(labels[part])), arms)
        every = np.tile(np.arange(arms), len(labels[part]))
        told = (every != labels[rows]).astype(float)
        policy.learn_logged(X[rows], every, told, np.ones(len(rows)))
    return errors


def policies(arms: int) -> dict[str, ContextualBandit]:
    """Return the contestants that see one cost a round."""
    explorations = (EpsilonGreedy(0.05), InverseGap(10.0, 0.5), InverseGap(100.0, 0.5))
    found = {str(each): ContextualBandit(arms, each, seed=SEED) for each in explorations}
    weighed = ContextualBandit(arms, EpsilonGreedy(0.05), importance=True, seed=SEED)
    chance = ContextualBandit(arms, EpsilonGreedy(1.0), seed=SEED)
    return {**found, "the first, weighted by 1/p": weighed, "any arm": chance}


def vowpal_errors(options: str, X: sp.csr_matrix, labels: npt.NDArray[np.int64]) -> Vector:
    """Return the errors of Vowpal Wabbit: contexts crossed with arms, costs told at once."""
    from vowpalwabbit import Workspace

    arms = range(int(labels.max()) + 1)
    model = Workspace(f"--cb_explore_adf {options} -q xa --ignore_linear x --quiet")
    draws, errors = np.random.default_rng(SEED).random(len(labels)), np.empty(len(labels))
    for t, label in enumerate(labels):
        row = X[t]
        pairs = zip(row.indices, row.data, strict=True)
        shared = "shared |x " + " ".join(f"{column}:{value:g}" for column, value in pairs)
        chances = np.array(model.predict([shared, *(f"|a {k}" for k in arms)]))
        sums = np.cumsum(chances)
        arm = min(int((draws[t] * sums[-1] >= sums).sum()), len(sums) - 1)
        errors[t] = arm != label
        told = f"0:{errors[t]:g}:{chances[arm]:.9g} "
        model.learn([shared, *(f"{told if k == arm else ''}|a {k}" for k in arms)])
    model.finish()
    return errors


def classes(rows: int | None) -> Iterator[str]:
    """Play the classes of real sets as arms."""
    yield f"{'set':<8}{'policy':<40}{'error':>8}{'last tenth':>12}{'seconds':>9}"
    for name, load in (("mnist", mnist), ("covtype", covtype)):
        X, labels = load()
        # Both files are sorted in part: classes must not come in runs.
        order = np.random.default_rng(SEED).permutation(len(labels))[:rows]
        X, labels = X[order], labels[order]
        arms = int(labels.max()) + 1
        runs: dict[str, Callable[[], Vector]] = {
            "all costs told": lambda a=arms, X=X, y=labels: full_information_errors(a, X, y)
        }
        for title, policy in policies(arms).items():
            runs[title] = lambda p=policy, X=X, y=labels: bandit_errors(p, X, y)
        for options in VOWPAL if len(labels) <= VOWPAL_ROWS else ():
            title = f"Vowpal Wabbit {options}"
            runs[title] = lambda o=options, X=X, y=labels: vowpal_errors(o, X, y)
        for title, run in runs.items():
            begin = time.perf_counter()
            errors = run()
            seconds = time.perf_counter() - begin
            last = errors[-len(errors) // 10 :].mean()
            yield f"{name:<8}{title:<40}{errors.mean():>8.4f}{last:>12.4f}{seconds:>9.1f}"


def main() -> None:
    """Parse the command line, run, print."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.bandits", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--only", choices=PARTS, nargs="+", default=PARTS)
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--rows", type=int, metavar="N", help="only N rows of each log and set")
    arguments = parser.parse_args()
    parts: dict[str, Callable[[], Iterator[str]]] = {
        "tree": lambda: tree(arguments.turns),
        "river": lambda: river(arguments.turns),
        "clicks": lambda: clicks(arguments.rows),
        "classes": lambda: classes(arguments.rows),
    }
    for name in arguments.only:
        for line in parts[name]():
            print(line, flush=True)


if __name__ == "__main__":
    main()
