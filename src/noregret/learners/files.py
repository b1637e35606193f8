"""Load a model file of any kind: a registry of the classes that `save` writes."""

from __future__ import annotations

import importlib
import math
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from noregret.files import store
from noregret.proof.ledger import MOST_ROUNDS, SIZE, Entry
from noregret.visible import shown

if TYPE_CHECKING:
    from noregret.learners.dual_ascent import DualAscent
    from noregret.learners.mirror_descent import MirrorDescent

Arrays = dict[str, Any]

#: Module of each learner; imported when a file names it.
KINDS = {
    "Aggregate": "noregret.experts.aggregate",
    "DualAscent": "noregret.learners.dual_ascent",
    "KernelDescent": "noregret.tracking.hilbert",
    "MatrixDescent": "noregret.learners.matrix",
    "MirrorDescent": "noregret.learners.mirror_descent",
    "Mixture": "noregret.experts.mixture",
    "ScoreAggregate": "noregret.experts.score_aggregate",
    "Standardized": "noregret.learners.standardized",
}
#: Module of each game other than learning from rows: experts, arms, finite classes.
GAMES = {
    "Agnostic": "noregret.classes.agnostic",
    "ArmFeatureBandit": "noregret.bandits.contextual",
    "Consistent": "noregret.classes.version_space",
    "ContextualBandit": "noregret.bandits.contextual",
    "Elimination": "noregret.classes.disjunctions",
    "Exp3": "noregret.bandits.exp3",
    "Exp3IX": "noregret.bandits.exp3",
    "Forecaster": "noregret.experts.forecaster",
    "GradientBandit": "noregret.bandits.gradient",
    "Halving": "noregret.classes.version_space",
    "Hedge": "noregret.experts.hedge",
    "ProbabilityForecaster": "noregret.experts.probabilities",
    "Ranker": "noregret.learners.ranking",
    "Ranking": "noregret.classes.ranking",
    "SOA": "noregret.classes.version_space",
    "ScoreForecaster": "noregret.experts.score_probabilities",
    "Shares": "noregret.experts.shares",
    "Specialists": "noregret.experts.sleeping",
    "TsallisINF": "noregret.bandits.tsallis",
}
#: The headers that name a kind.
_NAMED = ("learner", "game", "bandit")
#: Policies that are stored in the extra part of their learner.
_POLICIES = ("ArmFeatureBandit", "ContextualBandit")
_SWITCHES = {"lazy", "conservative", "averaging", "implicit", "fixed"}
_PAST = ("past_gradient", "past_iterates")
_NUMBERS = {"state", "slots", "ledger", "accounts", "book", "values", "heap", "groups", *_PAST}
_NUMBERS |= {"triangle", "target"}
#: Sums of a ledger that stay finite: a learner refuses the row that would overflow them.
_FINITE = [*range(Entry.MAGNITUDE + 1), Entry.REGULARIZER, Entry.REGULARIZER_SLACK]


def load(path: str | os.PathLike[str]) -> Any:
    """Return the model that `save` wrote, of any kind; it resumes to the bit.

    >>> import tempfile, noregret as nr
    >>> learner = nr.catalogue.perceptron()
    >>> _ = learner.learn([[1.0, 2.0]], [1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     learner.save(f"{folder}/model.nr")
    ...     nr.load(f"{folder}/model.nr").weights
    array([1., 2.])
    """
    return _opened(path, _model)


def load_with_extra(path: str | os.PathLike[str]) -> tuple[MirrorDescent | DualAscent, store.Extra]:
    """Return the learner that `save` wrote, and the extra part stored with it."""

    def parts(header: dict[str, Any], arrays: Arrays) -> Any:
        plain, own, extra = store.detached(header, arrays)
        return learner_of(plain, own), extra

    opened: tuple[MirrorDescent | DualAscent, store.Extra] = _opened(path, parts)
    return opened


def _opened(path: str | os.PathLike[str], made: Callable[[dict[str, Any], Arrays], Any]) -> Any:
    """Read a file, pass its header and arrays to `made`, and name the file in every error.

    The checksum shows that a file is intact, not who wrote it: every field is checked.
    """
    where = os.fspath(path)
    header, arrays = store.read(path)
    try:
        return made(header, arrays)
    except ValueError as error:
        raise ValueError(f"{where}: {store.one_line(error)}") from error
    except (LookupError, TypeError, AttributeError, ArithmeticError, MemoryError) as error:
        raise ValueError(f"{where}: holds no whole model: {shown(error)}") from error


def _model(header: dict[str, Any], arrays: Arrays) -> Any:
    plain, own, extra = store.detached(header, arrays)
    kind = next((plain[name] for name in _NAMED if name in plain), None)
    if not isinstance(kind, str) or kind not in KINDS | GAMES:
        raise ValueError(f"holds {shown(kind)}, not a model of a kind known here")
    if kind in GAMES:
        return _maker(kind)._from_file(plain, own)
    learner = learner_of(plain, own)
    policy = extra.header.get("bandit")
    if policy not in _POLICIES:
        return learner
    return _maker(policy)._beside(learner, extra.header, extra.arrays)


def _maker(kind: str) -> Any:
    return getattr(importlib.import_module((KINDS | GAMES)[kind]), kind)


def learner_of(header: dict[str, Any], arrays: Arrays) -> Any:
    """Return the learner of a header and arrays, or refuse invalid ones."""
    kind = header.get("learner")
    if not isinstance(kind, str) or kind not in KINDS:
        raise ValueError(f"holds {shown(kind)}, not a learner")
    _require_sound(header, arrays)
    learner = _maker(kind)._from_file(header, arrays)
    kept = learner.coefficients if kind == "KernelDescent" else learner._current_weights()
    if not _is_finite(kept):
        raise ValueError("its weights are not finite, expected those of a learner")
    return learner


def _require_sound(header: dict[str, Any], arrays: Arrays) -> None:
    """Refuse invalid settings and arrays before memory is allocated for them."""
    for name in _SWITCHES & set(header):
        if not isinstance(header[name], bool):
            raise ValueError(f"{name} is {shown(header[name])}, expected true or false")
    for name in _NUMBERS & set(arrays):
        array = arrays[name]
        if array.dtype != np.float64:
            raise ValueError(f"{name} holds {array.dtype}, expected float64")
        if math.isnan(array.max(initial=0.0)):
            raise ValueError(f"{name} holds NaN, expected numbers")
    if not arrays:
        return
    state, ledger = arrays.get("state", np.zeros(1)), arrays["ledger"]
    if state.ndim == 0 or state.size < len(state):
        raise ValueError(f"state has shape {state.shape}, expected records of numbers")
    if ledger.shape != (SIZE,):
        raise ValueError(f"the ledger has shape {ledger.shape}, expected ({SIZE},)")
    for name, part in (("state", state), ("the ledger", ledger[_FINITE])):
        if not _is_finite(part):
            raise ValueError(f"{name} holds infinities, expected finite numbers")
    rounds, mistakes = ledger[[Entry.ROUNDS, Entry.MISTAKES]]
    if not (0.0 <= mistakes <= rounds <= MOST_ROUNDS) or rounds % 1.0 or mistakes % 1.0:
        raise ValueError(f"the ledger counts {mistakes:g} mistakes in {rounds:g} rounds")
    past = [arrays[name] for name in _PAST if name in arrays]
    if past and [array.shape for array in past] != 2 * [past[0].shape[:1]]:
        raise ValueError(f"{' and '.join(_PAST)} must be two vectors of one length")
    if past and len(past[0]) > len(state):
        raise ValueError(f"{_PAST[0]} has {len(past[0])} entries, and the state {len(state)}")


def _is_finite(array: Any) -> bool:
    # Avoid a temporary array of booleans, which is large for a large model.
    return math.isfinite(array.min(initial=0.0)) and math.isfinite(array.max(initial=0.0))
