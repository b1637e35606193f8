"""Cases for the referee: problems solved and streams learnt over shards of the rows."""

from __future__ import annotations

import tempfile
from typing import Any

import numpy as np
import scipy.sparse as sp

from noregret import losses, mirrors, rates
from noregret.cluster import batch
from noregret.cluster.batch_host import BatchHost
from noregret.cluster.gathering import Gathered
from noregret.cluster.online import OnlineRun
from noregret.cluster.online_shard import OnlineShard, Part
from noregret.learners import MirrorDescent
from noregret.shards import Shards
from noregret.streams import Block
from noregret.workers import Threads
from tests.printed.cases_hindsight import VECTOR_LOSSES
from tests.printed.cases_linear import Random, stream
from tests.printed.data import Data
from tests.printed.grammar import Line, parse
from tests.printed.hindsight import Hindsight
from tests.printed.linear import Linear, Reading
from tests.printed.losses import parameters_of
from tests.printed.verdicts import Verdicts

MAPS = [mirrors.Euclidean(), mirrors.Ball(0.7), mirrors.PNorm(3.0), mirrors.ElasticNet(0.05)]
MIXED_LOSSES = [losses.Hinge(), losses.Logistic(), losses.Squared(), losses.Absolute()]
RATES = [rates.Constant(0.3), rates.InverseSqrt(0.5), rates.Adaptive(), rates.PerCoordinate()]


class OnShards(Hindsight):
    """Judges the printed solution of a run over so many shards."""

    def __init__(self, text: str, reading: Reading, solution: Any, shards: int) -> None:
        super().__init__("", reading, solution.weights, told=solution.as_dict())
        self.lines, self.shards = parse(text, "hindsight", "on shards"), shards

    def on_verified(self, line: Line) -> None:
        """The numbers of the other lines are those that were verified, and judged there."""

    def on_shards(self, line: Line) -> None:
        self.verdicts.enter("shards", line.figure("shards").value == self.shards, line.raw)


def block_of(X: Any, y: Any, weight: Any) -> Block:
    """Return rows as a block."""
    rows = sp.csr_array(X)
    arrays = rows.indptr.astype(np.uint64), rows.indices.astype(np.uint32), rows.data
    return Block(*arrays, np.asarray(y, np.float64), X.shape[1], weight)


def solved(
    X: Any, y: Any, weight: Any, loss: Any, mirror: Any, strength: float, **more: Any
) -> Any:
    """Return the solution over three shards, or one a row, in this process."""
    count = min(3, len(y))
    parts = [
        block_of(X[b:e], y[b:e], None if weight is None else weight[b:e])
        for b, e in Shards(count).pieces(len(y))
    ]
    workers = Threads(parts, 1, host=BatchHost)
    known = Gathered([], [len(one) for one in parts], [], X.shape[1], None, {}, 0, [], [])
    spec = {"loss": batch.plain("loss", loss), "seed": 0, "width": X.shape[1]}
    with tempfile.TemporaryDirectory() as folder:
        run = batch.Session(workers, loss, spec, known, folder, 10)
        return run.solve(mirror, strength, **more)


def best(random: Random) -> Verdicts:
    """Judge the best in hindsight over shards."""
    loss = VECTOR_LOSSES[int(random.integers(len(VECTOR_LOSSES)))]
    given = stream(random, loss.labels == "real")
    mirror = MAPS[int(random.integers(len(MAPS)))]
    strength = float(random.choice([0.01, 0.3, 1.0, 7.0]))
    found = solved(given.X, given.y, given.weight, loss, mirror, strength, max_passes=60)
    data = Data(given.X, given.y, type(loss).__name__, parameters_of(loss), given.weight)
    count = min(3, len(given.y))
    return OnShards(str(found), Reading(data, random), found, count).judge()


class Mixed(Linear):
    """Judges the printed certificate of shards whose learners are mixed."""

    def __init__(self, text: str, told: Any, reading: Reading, shards: int, every: int) -> None:
        head, *lines = text.splitlines()
        forms = [one for one in lines if not _about_shards(one)]
        super().__init__("\n".join([head, *forms]), told, reading)
        self.lines += parse("\n".join(one for one in lines if _about_shards(one)), "mixed")
        self.shards, self.every = shards, every

    def on_whose(self, line: Line) -> None:
        same = line.figure("shards").value == self.shards
        if line.has("every"):
            same = same and line.figure("every").value == self.every
        self.verdicts.enter("whose loss", same, line.raw)

    def on_all_rows(self, line: Line) -> None:
        if line.has("shards"):
            same = line.figure("shards").value == self.shards
            self.verdicts.enter("shards", same, line.raw)


def _about_shards(line: str) -> bool:
    starts = ("whose loss:", "the floor is that of", "looser the more")
    return line.strip().startswith(starts) or "before a negative one" in line


class Watched(OnlineShard):
    """A shard whose predictions are looked at."""

    made: list[Any]

    def _enter(self, part: Part, predictions: Any) -> None:
        self.made.append(np.asarray(predictions))
        super()._enter(part, predictions)


def mixed(random: Random) -> Verdicts:
    """Judge the certificate of online learning over shards."""
    loss = MIXED_LOSSES[int(random.integers(len(MIXED_LOSSES)))]
    given = stream(random, loss.labels == "real")
    rate = RATES[int(random.integers(len(RATES)))]
    learner = MirrorDescent(loss, mirrors.Euclidean(), rate)
    count, every = int(random.integers(1, 4)), int(random.choice([1, 3, 8]))
    shards = []
    for number, (b, e) in enumerate(Shards(count).pieces(len(given.y))):
        weight = None if given.weight is None else given.weight[b:e]
        shard = Watched(number, [(given.X[b:e], given.y[b:e], weight)] if e > b else [], learner)
        shard.made = []
        shards.append(shard)
    run = OnlineRun(Threads(shards), learner, every).finish()
    data = Data(given.X, given.y, type(loss).__name__, parameters_of(loss), given.weight)
    data.predictions = np.concatenate([one for shard in shards for one in shard.made])
    certificate, radius = run.certificate(), float(random.choice([0.5, 1.0, 7.3]))
    told = certificate.as_dict(radius)
    reading = Reading(data, random)
    return Mixed(certificate.text(radius), told, reading, count, every).judge()
