"""Games with experts back from the files that `save` wrote."""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from noregret import store

if TYPE_CHECKING:
    from noregret.experts.forecaster import Forecaster
    from noregret.experts.hedge import Hedge
    from noregret.experts.shares import Shares
    from noregret.experts.sleeping import Specialists

    Game: TypeAlias = Hedge | Shares | Specialists | Forecaster

#: Where each kind of game is defined.
KINDS = {
    "Forecaster": "noregret.experts.forecaster",
    "Hedge": "noregret.experts.hedge",
    "Shares": "noregret.experts.shares",
    "Specialists": "noregret.experts.sleeping",
}


def load(path: str | os.PathLike[str]) -> Game:
    """Return the game with experts that `save` wrote; `nr.load` is for learners.

    >>> import tempfile
    >>> from noregret.experts import Hedge
    >>> learner = Hedge(2, eta=0.5)
    >>> _ = learner.suffer([0.0, 1.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     learner.save(f"{folder}/hedge.nr")
    ...     bool((load(f"{folder}/hedge.nr").weights == learner.weights).all())
    True
    """
    where = os.fspath(path)
    header, arrays = store.read(path)
    try:
        kind = header.get("game")
        if not isinstance(kind, str) or kind not in KINDS:
            raise ValueError(f"holds {store.shown(kind)}, not a game with experts")
        maker: Any = getattr(importlib.import_module(KINDS[kind]), kind)
        return cast("Game", maker._from_file(header, arrays))
    except ValueError as error:
        raise ValueError(f"{where}: {store.one_line(error)}") from error
    except (LookupError, TypeError, AttributeError, ArithmeticError, MemoryError) as error:
        raise ValueError(f"{where}: holds no whole game: {store.shown(error)}") from error
