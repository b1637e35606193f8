"""Finite hypothesis classes: what can be learnt online, by whom, and the proofs as objects."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from noregret.classes.adversary import (
    Adversary,
    Bisection,
    RandomLabels,
    Transcript,
    mean_distance,
    play,
    worst_mistakes,
)
from noregret.classes.agnostic import Agnostic, AgnosticCertificate
from noregret.classes.cover import Contrarian, Demonstration, Hedged, Majority, demonstrate
from noregret.classes.disjunctions import Elimination, EliminationCertificate
from noregret.classes.littlestone import (
    Littlestone,
    SearchLimit,
    ShatteredTree,
    dyadic_tree,
    littlestone_dimension,
    tree_of_set,
)
from noregret.classes.ranking import Ranking, RankingCertificate
from noregret.classes.tables import FiniteClass
from noregret.classes.version_space import (
    SOA,
    Consistent,
    Expert,
    Halving,
    MistakeCertificate,
    VersionSpaceLearner,
)
from noregret.classes.worked import (
    all_functions,
    disjunctions,
    half_planes,
    intervals,
    lopsided,
    parities,
    singletons,
    thresholds,
)

if TYPE_CHECKING:
    from noregret.classes.vc import largest_shattered_set, vc_dimension

__all__ = [
    "SOA",
    "Adversary",
    "Agnostic",
    "AgnosticCertificate",
    "Bisection",
    "Consistent",
    "Contrarian",
    "Demonstration",
    "Elimination",
    "EliminationCertificate",
    "Expert",
    "FiniteClass",
    "Halving",
    "Hedged",
    "Littlestone",
    "Majority",
    "MistakeCertificate",
    "RandomLabels",
    "Ranking",
    "RankingCertificate",
    "SearchLimit",
    "ShatteredTree",
    "Transcript",
    "VersionSpaceLearner",
    "all_functions",
    "demonstrate",
    "disjunctions",
    "dyadic_tree",
    "half_planes",
    "intervals",
    "largest_shattered_set",
    "littlestone_dimension",
    "lopsided",
    "mean_distance",
    "parities",
    "play",
    "singletons",
    "thresholds",
    "tree_of_set",
    "vc_dimension",
    "worst_mistakes",
]


#: Names of a module that loads the compiler: imported at first use.
_LAZY = ("largest_shattered_set", "vc_dimension")


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module("noregret.classes.vc"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
