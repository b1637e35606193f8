"""All families of certificates, by name: each case is one certificate before the referee."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import partial

import numpy as np

from tests.printed import cases_audit as audits
from tests.printed import cases_bandits as bandits
from tests.printed import cases_classes as classes
from tests.printed import cases_commands as commands
from tests.printed import cases_games as games
from tests.printed import cases_hindsight as batch
from tests.printed import cases_linear as linear
from tests.printed import cases_more as more
from tests.printed import cases_rest as rest
from tests.printed import cases_shards as shards
from tests.printed.verdicts import Verdicts

Case = Callable[[np.random.Generator], Verdicts]

FAMILIES: dict[str, Case] = {
    "linear": linear.any_linear,
    "dual": linear.any_dual,
    "matrix": batch.matrix,
    "ranker": batch.ranker,
    "hindsight": batch.hindsight,
    "hindsight, strengths": batch.strengths,
    "hindsight, matrix": batch.best_matrix,
    "hindsight path": batch.moving,
    "hindsight, shards": shards.best,
    "learning, shards": shards.mixed,
    "game": games.game,
    "estimated game": games.estimated,
    "experts": games.hedge,
    "shares": games.shares,
    "forecasters": games.forecaster,
    "mixed probabilities": games.probabilities,
    "specialists": games.sleeping,
    "surrogate classifier": games.classifier,
    "aggregate": more.aggregate,
    "mixture": more.mixture,
    "mixture of kinds": more.mixture_of_kinds,
    "mixture of scores": batch.mixture,
    "EXP3": partial(bandits.arms, kinds=(0, 1)),
    "EXP3-IX": partial(bandits.arms, kinds=(2, 3)),
    "Tsallis-INF": partial(bandits.arms, kinds=(4,)),
    "contextual bandit": bandits.contextual,
    "arms with features": bandits.arm_features,
    "gradient bandit": bandits.descent,
    "off-policy": bandits.logged,
    "version spaces": classes.version_spaces,
    "agnostic": classes.agnostic,
    "elimination": classes.elimination,
    "ranking": classes.ranking,
    "adversary": classes.adversary,
    "shifting bounds": more.shifts,
    "kernel descent": more.kernels,
    "drift": more.proofs,
    "foreign": more.foreign,
    "estimators": more.estimator,
    "dual estimators": more.dual_estimator,
    "river": more.rivers,
    "user's loss or map": more.user,
    "classifiers": partial(rest.classifiers, apart=False),
    "classes against rest": partial(rest.classifiers, apart=True),
    "dual classifiers": rest.dual_classifiers,
    "anchored": rest.anchored,
    "replay": rest.replays,
    "constrained": rest.constrained,
    "risks": rest.risks,
    "broken promises": rest.promises,
    "learn": commands.learn,
    "audit": audits.learnt,
    "certify": commands.foreign,
    "hindsight command": commands.best,
    "drift command": commands.drifting,
    "compare": commands.comparing,
}
#: How much of a long run each family has, beside 1.
SHARES = {"linear": 8.0, "dual": 3.0, "matrix": 2.0, "hindsight": 1.5}
#: Families whose cases take longest.
SLOW = {"learn", "audit", "certify", "hindsight command", "drift command", "compare", "hindsight"}


def judged(family: str, seed: int, index: int) -> Verdicts:
    """Judge the certificate of that number of a family."""
    # By its name: other families may come and go.
    place = zlib.crc32(family.encode())
    with np.errstate(all="ignore"):
        return FAMILIES[family](np.random.default_rng([seed, place, index]))


def counts(total: int, least: int = 0) -> dict[str, int]:
    """Return how many certificates of each family make up about the total."""
    shares = {name: SHARES.get(name, 0.4 if name in SLOW else 1.0) for name in FAMILIES}
    whole = sum(shares.values())
    return {name: max(least, round(total * share / whole)) for name, share in shares.items()}
