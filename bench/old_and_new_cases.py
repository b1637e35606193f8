"""What is timed in two source trees: a case for every family of kernels, by public names only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

import noregret as nr
from bench.data import make
from noregret import bandits, domains, experts, losses, mirrors, rates, tracking

#: A case is made once, and then run as often as it is timed.
Case = Callable[[], Any]
Cases = dict[str, Callable[[], Case]]
LAYOUTS = ("dense64", "dense32", "sparse64", "sparse32")
LOGISTIC, SQUARED, HINGE = losses.Logistic(), losses.Squared(), losses.Hinge()
PLAIN, CONSTANT, ADAPTIVE = mirrors.Euclidean(), rates.Constant(0.05), rates.Adaptive()
AGILE = {"lazy": False}


class Data:
    """Rows in every layout: sparse ones of a wide set, dense ones of a narrow set."""

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self._kept: dict[str, tuple[Any, np.ndarray]] = {}

    def __call__(self, layout: str, part: int = 1) -> tuple[Any, np.ndarray]:
        """Return rows, or a part of them, and labels -1 and +1."""
        if layout not in self._kept:
            dtype = np.float32 if layout.endswith("32") else np.float64
            if layout.startswith("sparse"):
                made = make(rows=self.rows, features=5_000, nonzeros=30, dtype=dtype)
                self._kept[layout] = made.X, made.y
            else:
                random = np.random.default_rng(1)
                X = random.normal(size=(self.rows, 40)) / 8.0
                y = np.where(
                    X @ random.normal(size=40) + 0.3 * random.normal(size=len(X)) > 0, 1, -1
                )
                self._kept[layout] = X.astype(dtype), y.astype(float)
        X, y = self._kept[layout]
        few = max(8, self.rows // part)
        return X[:few], y[:few]

    def width(self, layout: str) -> int:
        """Return the number of columns."""
        return int(self(layout)[0].shape[1])


def _learn(data: Data, layout: str, make_learner: Callable[..., Any], part: int = 1) -> Case:
    X, y = data(layout, part)
    learner = make_learner(dimension=data.width(layout))
    return lambda: learner.learn(X, y)


def _descent(*parts: Any, **options: Any) -> Callable[..., Any]:
    return partial(nr.MirrorDescent, *parts, **options)


def _descents() -> Iterator[tuple[str, str, Callable[..., Any]]]:
    """Yield name, layout and learner of every family of mirror descent."""
    for layout in LAYOUTS:
        for averaging in (True, False):
            words = "" if averaging else ", no average"
            made = _descent(LOGISTIC, PLAIN, CONSTANT, averaging=averaging)
            yield f"lazy linear, constant{words}", layout, made
    yield (
        "lazy linear, conservative",
        "sparse64",
        _descent(HINGE, PLAIN, CONSTANT, conservative=True),
    )
    yield "lazy linear, adaptive", "sparse32", _descent(SQUARED, PLAIN, ADAPTIVE)
    yield "lazy linear, adaptive, ball", "dense64", _descent(LOGISTIC, mirrors.Ball(2), ADAPTIVE)
    curved = rates.StronglyConvex(0.1)
    yield "lazy linear, strongly convex", "sparse64", _descent(HINGE, PLAIN, curved)
    soft = mirrors.SoftThreshold(1e-3)
    yield (
        "lazy linear, soft threshold",
        "sparse64",
        _descent(LOGISTIC, soft, rates.InverseSqrt(0.1)),
    )
    yield "lazy linear, doubling", "dense64", _descent(HINGE, mirrors.Ball(2), rates.Doubling(0.1))
    for mirror in (
        mirrors.Entropy(5), mirrors.SignedEntropy(5), mirrors.UnnormalizedEntropy(),
        mirrors.PNorm(3), mirrors.Hypentropy(0.5), mirrors.Power(1.5), mirrors.ElasticNet(0.01),
        mirrors.Box(-1, 1),
    ):  # fmt: skip
        for layout in ("dense64", "sparse32"):
            made = _descent(LOGISTIC, mirror, CONSTANT)
            yield f"lazy mapped, {type(mirror).__name__}", layout, made
    signed = mirrors.SignedEntropy(5)
    yield (
        "lazy mapped, no average",
        "sparse64",
        _descent(LOGISTIC, signed, CONSTANT, averaging=False),
    )
    yield "lazy mapped, adaptive", "sparse64", _descent(LOGISTIC, signed, ADAPTIVE)
    each = rates.PerCoordinate(0.5)
    for layout in ("sparse64", "dense32"):
        yield "coordinate", layout, _descent(LOGISTIC, PLAIN, each)
        yield "coordinate, no average", layout, _descent(LOGISTIC, PLAIN, each, averaging=False)
    for layout in LAYOUTS:
        yield "scale-free", layout, _descent(LOGISTIC, PLAIN, rates.ScaleFree())
    yield "scale-free, real targets", "dense64", _descent(SQUARED, PLAIN, rates.ScaleFree())
    for layout in ("dense64", "sparse32"):
        yield "coin betting", layout, _descent(LOGISTIC, PLAIN, rates.CoinBetting())
    for domain in (domains.Ball(2), domains.Box(-0.5, 0.5), domains.Simplex(3), domains.Orthant()):
        for layout in ("dense64", "sparse64"):
            made = _descent(LOGISTIC, PLAIN, CONSTANT, domain, **AGILE)
            yield f"agile, {type(domain).__name__}", layout, made
    made = _descent(LOGISTIC, PLAIN, CONSTANT, domains.Ball(2), averaging=False, **AGILE)
    yield "agile, Ball, no average", "sparse64", made
    floored = mirrors.Entropy(3), CONSTANT, domains.ClippedSimplex(0.1, 3)
    for layout in ("dense64", "sparse64"):
        yield "clipped simplex", layout, _descent(LOGISTIC, *floored, **AGILE)
        made = _descent(LOGISTIC, PLAIN, CONSTANT, domains.Ball(2), implicit=True, **AGILE)
        yield "implicit, ball", layout, made
    yield "implicit, simplex", "dense64", _descent(LOGISTIC, *floored, implicit=True, **AGILE)


def _matrices() -> Iterator[tuple[str, str, Callable[..., Any]]]:
    several = losses.Softmax(), losses.OneAgainstRest(LOGISTIC), losses.MulticlassHinge()
    for layout in ("dense64", "sparse32"):
        for loss in several:
            name = type(loss).__name__
            made = partial(nr.MatrixDescent, loss, None, CONSTANT, 5)
            yield f"matrix, linear, {name}", layout, made
            yield f"matrix, scale-free, {name}", layout, partial(nr.MatrixDescent, loss, outputs=5)
        mapped = partial(nr.MatrixDescent, several[0], mirrors.SignedEntropy(5), ADAPTIVE, 5)
        yield "matrix, mapped", layout, mapped
        implicit = partial(nr.MatrixDescent, several[0], None, CONSTANT, 5, implicit=True)
        yield "matrix, implicit", layout, implicit


def _classes(data: Data, layout: str, make_learner: Callable[..., Any]) -> Case:
    X, y = data(layout, 4)
    classes = (np.cumsum(y > 0) % 5).astype(float)
    learner = make_learner(dimension=data.width(layout))
    return lambda: learner.learn(X, classes)


def _duals() -> Iterator[tuple[str, str, Callable[..., Any], int]]:
    updates: dict[str, dict[str, Any]] = {
        "conservative": {}, "aggressive": {}, "exact": {}, "window": {"k": 2}, "mini": {"k": 4},
    }  # fmt: skip
    for layout in ("dense64", "sparse32"):
        for update, options in updates.items():
            made = partial(nr.DualAscent, HINGE, PLAIN, 0.1, update, **options)
            yield f"dual ascent, {update}", layout, made, 2
        made = partial(nr.DualAscent, LOGISTIC, PLAIN, 0.1, "window", k=4)
        yield "dual ascent, window 4, logistic", layout, made, 10
        for mirror in (mirrors.PNorm(3), mirrors.Entropy(2), mirrors.SignedEntropy(2)):
            made = partial(nr.DualAscent, HINGE, mirror, 0.1, "exact")
            yield f"dual maps, {type(mirror).__name__}", layout, made, 10


def _solve(data: Data, layout: str, part: int, loss: Any, options: dict[str, Any]) -> Case:
    X, y = data(layout, part)
    given = {"tol": 1e-3, "max_passes": 8} | options
    return lambda: nr.hindsight(X, y, loss, **given)


def _solvers(data: Data) -> Cases:
    found: Cases = {}
    signed = {"mirror": mirrors.SignedEntropy(5), "strength": 1.0}
    forms: tuple[tuple[str, Any, dict[str, Any], int], ...] = (
        ("hinge, l2", HINGE, {"l2": 1.0}, 4),
        ("logistic, l2", LOGISTIC, {"l2": 1.0}, 4),
        ("squared, l2", SQUARED, {"l2": 1.0}, 4),
        ("absolute, l2", losses.Absolute(), {"l2": 1.0}, 4),
        ("hinge, radius", HINGE, {"radius": 2.0}, 4),
        ("logistic, bias", LOGISTIC, {"l2": 1.0, "bias": True}, 10),
        ("logistic, signed entropy", LOGISTIC, signed, 20),
    )
    for layout in ("dense64", "sparse32"):
        for name, loss, options, part in forms:
            solve = partial(_solve, data, layout, part, loss, options)
            found[f"hindsight, {name}, {layout}"] = solve
    return found


def _foreign(data: Data, layout: str) -> Case:
    X, y = data(layout)
    predictions = 0.5 * y
    return lambda: nr.certify(X, y, predictions, LOGISTIC)


def _drift(data: Data, layout: str) -> Case:
    X, y = data(layout, 4)
    return lambda: nr.drift_proof(X, y, SQUARED, 1.0)


def _ranker(data: Data, layout: str) -> Case:
    X, y = data(layout, 4)
    ranker, groups = nr.Ranker(), np.arange(len(y)) // 8
    return lambda: ranker.learn(X, y + 1.0, groups)


def _kernel(data: Data) -> Case:
    X, y = data("dense64", 40)
    learner = tracking.KernelDescent(tracking.Gaussian(1.0), 2.0, 0.1, budget=100)
    return lambda: learner.learn(X, y)


def _hedge(eta: Any, count: int, rounds: int) -> Case:
    costs = np.random.default_rng(0).random((rounds, count))
    learner = experts.Hedge(count, eta, 0.0, 1.0)

    def run() -> None:
        for row in costs:
            learner.suffer(row)

    return run


def _bandit(kind: Any, rounds: int) -> Case:
    table = np.random.default_rng(0).random((rounds, 10))
    bandit = kind(10, seed=1)

    def run() -> None:
        for row in table:
            decision = bandit.decide()
            bandit.learn(decision.id, float(row[decision.arm]))

    return run


def _bandit_table(kind: Any, rounds: int) -> Case:
    table = np.random.default_rng(0).random((rounds, 10))
    bandit = kind(10, seed=1)
    return lambda: bandit.play(table)


def _contextual(rounds: int) -> Case:
    X = np.random.default_rng(0).normal(size=(rounds, 10))
    bandit = bandits.ContextualBandit(5, seed=1)

    def run() -> None:
        for x in X:
            bandit.learn(bandit.decide(x), 0.5)

    return run


def _singly(make_learner: Callable[[], Any], rounds: int, asks: bool, classes: int = 0) -> Case:
    X = list(np.random.default_rng(2).normal(size=(rounds, 30)))
    columns = np.arange(30, dtype=np.uint32)
    labels: list[Any] = [k % classes if classes else 1.0 - 2.0 * (k % 2) for k in range(rounds)]
    learner = make_learner()
    for x, y in zip(X, labels, strict=True):
        learner.learn_one(columns, x, y)

    def learn() -> None:
        for x, y in zip(X, labels, strict=True):
            learner.learn_one(columns, x, y)

    def ask() -> None:
        for x in X:
            learner.predict_one(columns, x)

    return ask if asks else learn


def _river(name: str, rounds: int, asks: bool) -> Case:
    from noregret import river

    X = np.random.default_rng(2).normal(size=(rounds, 30)).tolist()
    rows = [dict(zip(map("f{}".format, range(30)), row, strict=True)) for row in X]
    model = getattr(river, name)()
    labels = [bool(row["f0"] > 0.0) if "Class" in name else row["f0"] for row in rows]

    def learn() -> None:
        for x, y in zip(rows, labels, strict=True):
            model.learn_one(x, y)

    def ask() -> None:
        for x in rows:
            model.predict_one(x)

    learn()
    return ask if asks else learn


def _alone(kind: str, rounds: int) -> Case:
    from noregret import sklearn

    X = np.random.default_rng(2).normal(size=(rounds, 30))
    y = np.where(X[:, 0] > 0.0, 1.0, -1.0)
    rows = [(X[k : k + 1], y[k : k + 1]) for k in range(rounds)]
    if kind == "learn":
        learner = nr.MirrorDescent(LOGISTIC, PLAIN, rates.ScaleFree())
        learner.learn(X, y)
        play = learner.learn
    else:
        play = getattr(sklearn, kind)().partial_fit(X, y).partial_fit

    def run() -> None:
        for row, label in rows:
            play(row, label)

    return run


def _unsorted(rows: int) -> Case:
    from scipy.sparse import random_array

    X = random_array((rows, 5_000), density=0.02, format="csr", random_state=2)
    y = np.where(np.arange(rows) % 2, 1.0, -1.0)
    rng = np.random.default_rng(2)
    for begin, end in pairwise(X.indptr):
        order = begin + rng.permutation(end - begin)
        X.indices[begin:end], X.data[begin:end] = X.indices[order], X.data[order]
    learner = nr.MirrorDescent(LOGISTIC, PLAIN, rates.ScaleFree(), dimension=5_000)
    return lambda: learner.learn(X, y)


def _statement(data: Data) -> Case:
    X, y = data("dense64")
    learner = nr.MirrorDescent(LOGISTIC, PLAIN, ADAPTIVE)
    learner.learn(X, y)
    return lambda: [str(learner.certificate()) for _ in range(20)]


def cases(rows: int) -> Cases:
    """Return every case by name; `rows` is the size of the longest streams."""
    data = Data(rows)
    found: Cases = {}
    for name, layout, made in _descents():
        found[f"{name}, {layout}"] = partial(_learn, data, layout, made)
    for name, layout, made in _matrices():
        found[f"{name}, {layout}"] = partial(_classes, data, layout, made)
    for name, layout, made, part in _duals():
        found[f"{name}, {layout}"] = partial(_learn, data, layout, made, part)
    found |= _solvers(data)
    for layout in ("dense64", "sparse32"):
        found[f"certify, {layout}"] = partial(_foreign, data, layout)
        found[f"ranker, {layout}"] = partial(_ranker, data, layout)
    found["drift_proof, dense64"] = partial(_drift, data, "dense64")
    found["kernel descent"] = partial(_kernel, data)
    found["certificate and its text"] = partial(_statement, data)
    rounds = max(10, rows // 40)
    for name, eta in {"Hedge": 0.01, "Hedge anytime": "anytime", "AdaHedge": "adaptive"}.items():
        found[f"experts, {name}"] = partial(_hedge, eta, 1_000, rounds)
    for kind in (bandits.Exp3, bandits.Exp3IX, bandits.TsallisINF):
        found[f"bandit, {kind.__name__}"] = partial(_bandit, kind, rounds)
        found[f"bandit, {kind.__name__}, table"] = partial(_bandit_table, kind, rows)
    found["bandit, contextual"] = partial(_contextual, rounds)
    for kind in ("learn", "OnlineClassifier", "OnlineRegressor"):
        found[f"one row, {kind}"] = partial(_alone, kind, rounds)
    found["unsorted rows"] = partial(_unsorted, rows // 4)
    singles: dict[str, Callable[[], Any]] = {
        "scale-free": _descent(LOGISTIC, PLAIN, rates.ScaleFree()),
        "constant": _descent(LOGISTIC, PLAIN, CONSTANT),
        "adaptive, signed entropy": _descent(
            LOGISTIC, mirrors.SignedEntropy(5), ADAPTIVE, dimension=30
        ),
        "matrix": partial(nr.MatrixDescent, losses.Softmax(), outputs=3),
    }
    for asks, word in ((False, "learn_one"), (True, "predict_one")):
        for name, made in singles.items():
            classes = 3 if name == "matrix" else 0
            found[f"{word}, {name}"] = partial(_singly, made, rounds, asks, classes)
        for name in ("OnlineClassifier", "OnlineRegressor"):
            found[f"{word}, River {name}"] = partial(_river, name, rounds, asks)
    return found


#: Compiled into an empty cache: a fixed choice of all families.
COLD = (
    "lazy linear, constant, sparse32", "lazy linear, constant, no average, dense64",
    "lazy mapped, SignedEntropy, sparse32", "lazy mapped, PNorm, dense64", "coordinate, sparse64",
    "scale-free, sparse64", "coin betting, dense64", "agile, Ball, dense64",
    "agile, Simplex, sparse64",
    "clipped simplex, dense64", "matrix, linear, Softmax, dense64", "matrix, mapped, dense64",
    "dual ascent, exact, sparse32", "dual ascent, window, sparse32", "dual maps, PNorm, dense64",
    "hindsight, hinge, l2, sparse32", "hindsight, logistic, signed entropy, dense64",
    "certify, sparse32", "experts, AdaHedge", "learn_one, scale-free",
)  # fmt: skip
