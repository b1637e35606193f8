"""noregret: online learning that can prove how well it is doing."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from noregret import (
        bandits,
        catalogue,
        classes,
        domains,
        evaluate,
        experts,
        losses,
        mirrors,
        oco,
        plot,
        rates,
        tracking,
    )
    from noregret.batch import ConstrainedSolution, Solution
    from noregret.batch.constrained import hindsight_constrained
    from noregret.batch.hindsight import hindsight, regularization_path
    from noregret.experts import Aggregate, Mixture
    from noregret.learners import DualAscent, MirrorDescent, load
    from noregret.learners.anyone import certify
    from noregret.learners.matrix import MatrixDescent
    from noregret.learners.ranking import Ranker
    from noregret.learners.standardized import Standardized
    from noregret.proof.certificate import Certificate
    from noregret.runs.model import Model, open_model
    from noregret.streams import Reading, read
    from noregret.tracking.drift import DriftProof, drift_proof
    from noregret.tracking.path import hindsight_path
    from noregret.vocabulary.listing import words
    from noregret.vocabulary.words import spec

__version__ = "0.1.0.dev0"

#: Names are imported when first asked for, so that `import noregret` is quick.
_LAZY = {
    "Aggregate": "noregret.experts",
    "Certificate": "noregret.proof.certificate",
    "ConstrainedSolution": "noregret.batch",
    "DriftProof": "noregret.tracking.drift",
    "DualAscent": "noregret.learners",
    "MatrixDescent": "noregret.learners.matrix",
    "MirrorDescent": "noregret.learners",
    "Mixture": "noregret.experts",
    "Model": "noregret.runs.model",
    "Ranker": "noregret.learners.ranking",
    "Reading": "noregret.streams",
    "Solution": "noregret.batch",
    "Standardized": "noregret.learners.standardized",
    "bandits": "noregret.bandits",
    "catalogue": "noregret.catalogue",
    "certify": "noregret.learners.anyone",
    "classes": "noregret.classes",
    "domains": "noregret.domains",
    "drift_proof": "noregret.tracking.drift",
    "evaluate": "noregret.evaluate",
    "experts": "noregret.experts",
    "hindsight": "noregret.batch",
    "hindsight_constrained": "noregret.batch",
    "hindsight_path": "noregret.tracking.path",
    "load": "noregret.learners",
    "losses": "noregret.losses",
    "mirrors": "noregret.mirrors",
    "oco": "noregret.oco",
    "open_model": "noregret.runs.model",
    "plot": "noregret.plot",
    "rates": "noregret.rates",
    "read": "noregret.streams",
    "regularization_path": "noregret.batch",
    "spec": "noregret.vocabulary.words",
    "tracking": "noregret.tracking",
    "words": "noregret.vocabulary.listing",
}

__all__ = [
    "Aggregate",
    "Certificate",
    "ConstrainedSolution",
    "DriftProof",
    "DualAscent",
    "MatrixDescent",
    "MirrorDescent",
    "Mixture",
    "Model",
    "Ranker",
    "Reading",
    "Solution",
    "Standardized",
    "bandits",
    "catalogue",
    "certify",
    "classes",
    "domains",
    "drift_proof",
    "evaluate",
    "experts",
    "hindsight",
    "hindsight_constrained",
    "hindsight_path",
    "load",
    "losses",
    "mirrors",
    "oco",
    "open_model",
    "plot",
    "rates",
    "read",
    "regularization_path",
    "spec",
    "tracking",
    "words",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'noregret' has no attribute {name!r}")
    module = importlib.import_module(_LAZY[name])
    return module if module.__name__ == f"noregret.{name}" else getattr(module, name)


def __dir__() -> list[str]:
    return sorted({*_LAZY, *(name for name in globals() if name.startswith("__"))})
