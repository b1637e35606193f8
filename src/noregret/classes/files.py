"""Learners on finite classes back from the files that `save` wrote."""

from __future__ import annotations

import os
from typing import Any

import numpy.typing as npt

from noregret import store
from noregret.classes.agnostic import Agnostic
from noregret.classes.disjunctions import Elimination
from noregret.classes.ranking import Ranking
from noregret.classes.soa import SOA
from noregret.classes.tables import FiniteClass
from noregret.classes.version_space import Consistent, Halving, VersionSpaceLearner

Saved = VersionSpaceLearner | Agnostic | Ranking | Elimination


def load(path: str | os.PathLike[str]) -> Saved:
    """Return the learner that `save` wrote, to go on to the bit.

    >>> import tempfile
    >>> from noregret.classes import Halving, thresholds
    >>> learner = Halving(thresholds(7))
    >>> _ = learner.learn(3, 1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     learner.save(f"{folder}/model.nr")
    ...     again = load(f"{folder}/model.nr")
    >>> again.certificate() == learner.certificate()
    True
    """
    header, arrays = store.read(path)
    try:
        return from_file(header, arrays)
    except ValueError as error:
        raise ValueError(f"{os.fspath(path)}: {store.one_line(error)}") from error
    except (LookupError, TypeError, AttributeError, ArithmeticError) as error:
        raise ValueError(
            f"{os.fspath(path)}: holds no whole learner: {store.shown(error)}"
        ) from error


def from_file(header: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> Saved:
    """Return the learner that a header and arrays describe."""
    kind = header.get("learner")
    if kind == "Ranking":
        return Ranking._from_file(header, arrays)
    if kind == "Elimination":
        return Elimination._from_file(header, arrays)
    if kind not in ("Consistent", "Halving", "SOA", "Agnostic"):
        raise ValueError(f"holds {store.shown(kind)}, not a learner on a finite class")
    hypotheses = FiniteClass(arrays["table"])
    learner: VersionSpaceLearner | Agnostic
    if kind == "Agnostic":
        learner = Agnostic(
            hypotheses,
            header["horizon"],
            flip=header["flip"],
            # The rate 0 of a class of one hypothesis is the default, and no rate to ask for.
            eta=header["eta"] or None,
            tie=header["tie"],
        )
    elif kind == "SOA":
        learner = SOA(hypotheses, header["tie"])
    else:
        learner = (Consistent if kind == "Consistent" else Halving)(hypotheses)
    learner._resume(header, arrays)
    return learner
