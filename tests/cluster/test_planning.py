"""Plans: memory and bytes against real shards and real rounds, seconds against the formula."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import noregret as nr
from noregret.batch.ascent import FAR
from noregret.batch.problem import Problem
from noregret.batch.shard import Shard
from noregret.batch.shared import SharedProblem, SharedSolver
from noregret.cluster import planning
from noregret.cluster.dealing import File
from noregret.cluster.planning import Data, Network, Rates, estimate
from noregret.cluster.plans import Plan, alternatives, planned_network, rounds_to
from noregret.cluster.ray_workers import size_of
from noregret.workers import Threads, shares

RATES = Rates(parsing=1e8, visits=5e7, pairs=1e9, pulls=2e8, solving=1e9)
NETWORK = Network(latency=1e-3, call=5e-4, bandwidth=1e9)


def data(
    rows: int = 1_000_000, width: int = 200_000, a_row: int = 50, files: int = 64, value: int = 8
) -> Data:
    held = [File(f"{k}.svm", 10 * rows * a_row // files) for k in range(files)]
    return Data(rows, width, rows * a_row, rows * a_row * a_row, value, held)


def made(rows: int, width: int, a_row: int, value: Any = np.float64) -> Any:
    """Return sparse rows with as many features each."""
    random = np.random.default_rng(3)
    columns = np.concatenate([np.sort(random.permutation(width)[:a_row]) for _ in range(rows)])
    values = random.standard_normal(rows * a_row).astype(value)
    X = sp.csr_matrix((values, columns, np.arange(0, rows * a_row + 1, a_row)), (rows, width))
    return X, np.where(random.random(rows) < 0.5, 1.0, -1.0)


def arrays(one: Any, seen: set[int], owners: dict[int, int]) -> dict[int, int]:
    """Return the bytes of every array that an object reaches, by what owns them."""
    if id(one) in seen:
        return owners
    seen.add(id(one))
    if isinstance(one, np.ndarray):
        base = one
        while isinstance(base.base, np.ndarray):
            base = base.base
        owners[base.__array_interface__["data"][0]] = base.nbytes
    elif isinstance(one, list | tuple):
        for part in one:
            arrays(part, seen, owners)
    elif type(one).__module__.startswith("noregret."):
        names = list(getattr(one, "__dict__", {}))
        names += [name for kind in type(one).__mro__ for name in getattr(kind, "__slots__", ())]
        for name in names:
            arrays(getattr(one, name, None), seen, owners)
    return owners


@pytest.mark.parametrize("value", [np.float32, np.float64])
@pytest.mark.parametrize("narrow", [False, True])
def test_memory_is_that_of_a_real_shard(value: Any, narrow: bool) -> None:
    rows, width, a_row = 400, 5 if narrow else 3_000, 5
    X, y = made(rows, width, a_row, value)
    shard = Shard(Problem.of(X, y, nr.losses.Hinge(), strength=1.0))
    weights = np.zeros(width)
    if narrow:
        shard.answer(weights, 0.0, 1.0)
        shard.bend(1.0)
    else:
        shard.visit(weights, 1.0, FAR, 1, 1)
        shard.plan(weights, 0.1)
        shard.turned(0.0)
        shard.tried(1.0)
    found = sum(arrays(shard, set(), {}).values())
    told = data(rows, width, a_row, value=np.dtype(value).itemsize)
    assert told.narrow == narrow
    # Without the process and the vectors, which do not stay.
    estimated = planning.memory(told, 1, rows) - planning.memory(told, 1, 0)
    assert found == pytest.approx(estimated, rel=0.2)


class Posting(Threads):
    """Threads that count the bytes of rounds with vectors as `RayWorkers` do."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.sent: dict[str, list[int]] = {}

    def hosts(self, method: str, *arguments: Any) -> list[Any]:
        found = super().hosts(method, *arguments)
        word = str(arguments[1] if method == "add" else arguments[0])
        sent = len(found) * size_of(arguments) + size_of(found)
        self.sent.setdefault(word, []).append(sent)
        return found


@pytest.mark.parametrize(("shards", "workers"), [(4, 2), (5, 2), (6, 6)])
@pytest.mark.parametrize("a_row", [3, 40])
def test_bytes_are_those_of_real_rounds(shards: int, workers: int, a_row: int) -> None:
    # More than some hundred columns, so that numbers beside the vectors do not count.
    rows, width = 60, 3_500
    X, y = made(rows, width, a_row)
    parts = [
        Shard(Problem.of(X[k::shards], y[k::shards], nr.losses.Hinge(), strength=1.0), number=k)
        for k in range(shards)
    ]
    posts = Posting(parts, workers)
    problem = SharedProblem(posts, nr.losses.Hinge(), nr.mirrors.Euclidean(), 1.0, width)
    solver = SharedSolver(problem, 1e-6, 100)
    told = data(rows, width, a_row)
    assert solver.turns == planning.turns(told, shards)
    solver.step()
    bound = planning.round_bytes(told, shards, shares(shards, workers))
    small = 1_000 * workers
    assert 0.8 * bound <= posts.sent["visit"][0] <= bound + small


def test_bytes_of_a_newton_step_are_real() -> None:
    X, y = made(300, 30, 30)
    loss, shards, workers = nr.losses.Logistic(), 4, 2
    parts = [Shard(Problem.of(X[k::4], y[k::4], loss, strength=1.0), number=k) for k in range(4)]
    posts = Posting(parts, workers)
    problem = SharedProblem(posts, loss, nr.mirrors.Euclidean(), 1.0, 30)
    solver = SharedSolver(problem, 1e-6, 100)
    assert solver.newton and data(300, 30, 30).narrow
    solver.step()
    posts.sent.clear()
    solver.step()
    step = sum(posts.sent[word][0] for word in ("bend", "squares", "answer", "pull"))
    told = planning.round_bytes(data(300, 30, 30), shards, shares(shards, workers))
    assert step == pytest.approx(planning.STEP * told, rel=0.2)


def test_seconds_follow_from_the_formula() -> None:
    one = data()
    found = estimate(one, 8, 2, 100, RATES, NETWORK)
    turned = planning.turns(one, 8)
    assert turned == int(50e6 / (12 * 8 * 200_000)) == 2
    # Two vectors down, and one up of each half of the tree.
    assert found.sent == 4 * 8 * 200_000
    assert found.network == pytest.approx(2 * (1e-3 + 2 * 5e-4) + found.sent / 1e9)
    turn = 0.5 * 50e6 / 5e7 / turned
    assert found.work == pytest.approx(max(turn, 0.5 * 2 * 50e6 / 2e8))
    assert found.pass_seconds == pytest.approx(turned * (turn + found.network))
    assert found.reading == pytest.approx(0.5 * one.bytes / 1e8)
    assert found.total == pytest.approx(found.reading + 100 * (found.work + found.network))


def test_a_newton_step_follows_from_the_formula() -> None:
    one = data(width=100, a_row=50)
    found = estimate(one, 4, 4, 10, RATES, NETWORK)
    assert one.narrow and found.sent == (4 * 800 + 4 * (8 * 101**2 + 800)) / 2
    work = 0.25 * (one.pairs / 1e9 + 2 * one.features / 2e8) + 100**3 / 3 / 1e9
    assert found.pass_seconds == pytest.approx(work + 2 * found.network)
    assert found.total == pytest.approx(found.reading + 10 * (work / 2 + found.network))


@pytest.mark.parametrize("width", [100, 200_000])
def test_more_workers_need_less_memory_and_work_and_send_more(width: int) -> None:
    every = [estimate(data(width=width), 128, 1 << k, 100, RATES, NETWORK) for k in range(8)]
    for before, after in pairwise(every):
        assert after.memory < before.memory and after.work <= before.work
        assert after.reading <= before.reading
        assert after.sent > before.sent and after.network > before.network
        assert after.driver > before.driver


def test_workers_that_share_files_read_them_whole() -> None:
    pieces = shares(8, 4)
    assert planning.most_read([File("a", 100)], 8, pieces) == 100
    assert planning.most_read([File("a", 100, 640)], 8, pieces) == 25
    assert planning.most_read([File(str(k), 10) for k in range(8)], 8, pieces) == 20


def test_the_least_number_of_workers_that_fits() -> None:
    one = data()
    for limit in (1e9, 5e8):
        least = planning.least_workers(one, 64, limit)
        assert least is not None
        fits = [estimate(one, 64, w, 1, RATES, NETWORK).memory <= limit for w in range(1, 65)]
        assert fits.index(True) + 1 == least
    assert planning.least_workers(one, 64, 1e8) is None
    few = Plan(one, RATES, NETWORK, 64, 1, 1e9)
    assert (
        "1 workers need" in few.remarks()[0] and f"at least {few.least} workers" in few.remarks()[0]
    )
    none = Plan(one, RATES, NETWORK, 64, 64, 1e8)
    assert "no number of workers up to 64 fits" in none.remarks()[0]
    assert Plan(one, RATES, NETWORK, 64, 64, 1e12).remarks() == []


def test_plans_assume_what_they_say() -> None:
    plan = Plan(data(), RATES, NETWORK, 8, 3, 1e12, tol=1e-3)
    assert plan.rounds == rounds_to(1e-3, narrow=False) == 150
    assert [one.workers for one in plan.estimates] == alternatives(8, 3) == [1, 2, 3, 4, 8]
    assert "150 rounds, 2 a pass" in plan.assumptions()[0]
    assert all("\n" not in line for line in plan.assumptions())
    assert Plan(data(), RATES, NETWORK, 8, 3, 1e12, given=7).rounds == 7
    assert planned_network(2.0, 100.0) == Network(2e-3, Network().call, 1e8)
    assert planned_network(None, None) == Network()


def test_more_workers_than_shards_are_refused() -> None:
    with pytest.raises(ValueError, match="at most one a shard: 3 workers for 2 shards"):
        estimate(data(), 2, 3, 1, RATES, NETWORK)


def test_the_model_is_found_again() -> None:
    model = pytest.importorskip("bench.rounds_model")
    true = model.Fit(2e-3, 5e-4, 4e8)
    every = [model.Measured(w, d, 16 * w * d, 0.0, 0.0) for w in (1, 2, 4) for d in (10, 10**6)]
    every = [one._replace(seconds=true.seconds(one)) for one in every]
    assert model.fitted(every) == pytest.approx(true, rel=1e-6)


def test_the_page_shows_the_figures_that_were_measured() -> None:
    docs = Path(__file__).parents[2] / "docs"
    every = json.loads((docs / "pictures" / "rounds_to_gap.json").read_text(encoding="utf-8"))
    page = (docs / "how-far.md").read_text(encoding="utf-8")
    found = {}
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 12 and cells[0] in ("a9a", "rcv1_small", "generated"):
            found[cells[0], cells[1], float(cells[2])] = [
                int(c.replace(",", "")) for c in cells[4:]
            ]
    assert len(found) == 12
    for (name, loss, gap), rounds in found.items():
        chosen = [
            one for one in every if (one["name"], one["loss"], one["gap"]) == (name, loss, gap)
        ]
        chosen = [one for one in chosen if name != "a9a" or one["method"] == "Newton"]
        assert [one["shards"] for one in chosen] == [1 << k for k in range(8)]
        assert [one["rounds"] for one in chosen] == rounds
        assert all(one["converged"] for one in chosen)
    network = Network()
    told = f"latency {network.latency * 1e3:.1f} ms, {network.call * 1e3:.1f} ms a worker"
    assert f"{told}, {network.bandwidth / 1e9:g} GB/s" in page
