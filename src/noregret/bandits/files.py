"""Bandits back from the files that `save` wrote."""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from noregret import store
from noregret.learners.files import learner_of

if TYPE_CHECKING:
    from noregret.bandits.arms import ArmBandit
    from noregret.bandits.contextual import ContextualBandit
    from noregret.bandits.gradient import GradientBandit

    Bandit: TypeAlias = ArmBandit | ContextualBandit | GradientBandit

#: Where each kind of bandit is defined; a program that needs one does not load the others.
KINDS = {
    "ContextualBandit": "noregret.bandits.contextual",
    "Exp3": "noregret.bandits.exp3",
    "Exp3IX": "noregret.bandits.exp3_ix",
    "GradientBandit": "noregret.bandits.gradient",
    "TsallisINF": "noregret.bandits.tsallis",
}


def load(path: str | os.PathLike[str]) -> Bandit:
    """Return the bandit that `save` wrote, with its random generator where it was.

    >>> import tempfile
    >>> from noregret.bandits import Exp3
    >>> bandit = Exp3(arms=5, eta=0.1, seed=4)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     bandit.save(f"{folder}/bandit.nr")
    ...     load(f"{folder}/bandit.nr").decide() == bandit.decide()
    True
    """
    where = os.fspath(path)
    header, arrays = store.read(path)
    try:
        plain, own, extra = store.detached(header, arrays)
        kind = header.get("bandit", extra.header.get("bandit"))
        if not isinstance(kind, str) or kind not in KINDS:
            raise ValueError(f"holds {store.shown(kind)}, not a bandit")
        maker: Any = getattr(importlib.import_module(KINDS[kind]), kind)
        if "bandit" in extra.header:
            learner = learner_of(plain, own)
            return cast("Bandit", maker._from_file(learner, extra.header, extra.arrays))
        return cast("Bandit", maker._from_file(header, arrays))
    except ValueError as error:
        raise ValueError(f"{where}: {store.one_line(error)}") from error
    except (LookupError, TypeError, AttributeError, ArithmeticError, MemoryError) as error:
        raise ValueError(f"{where}: holds no whole bandit: {store.shown(error)}") from error
