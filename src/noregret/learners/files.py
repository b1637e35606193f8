"""Learners back from the files that `save` wrote."""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

from noregret import store

if TYPE_CHECKING:
    from noregret.learners.dual_ascent import DualAscent
    from noregret.learners.mirror_descent import MirrorDescent

#: Where each kind of learner is defined; a program that needs one does not load the others.
KINDS = {
    "DualAscent": "noregret.learners.dual_ascent",
    "MirrorDescent": "noregret.learners.mirror_descent",
}


def load(path: str | os.PathLike[str]) -> MirrorDescent | DualAscent:
    """Return the learner that `save` wrote.

    >>> import tempfile, noregret as nr
    >>> learner = nr.catalogue.perceptron()
    >>> _ = learner.learn([[1.0, 2.0]], [1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     learner.save(f"{folder}/model.nr")
    ...     nr.load(f"{folder}/model.nr").weights
    array([1., 2.])
    """
    return load_with_extra(path)[0]


def load_with_extra(path: str | os.PathLike[str]) -> tuple[MirrorDescent | DualAscent, store.Extra]:
    """Return the learner that `save` wrote, and what was kept beside it."""
    header, arrays, extra = store.detached(*store.read(path))
    kind = header.get("learner")
    if not isinstance(kind, str) or kind not in KINDS:
        raise ValueError(f"{os.fspath(path)}: holds {kind!r}, not a learner")
    maker: Any = getattr(importlib.import_module(KINDS[kind]), kind)
    try:
        return maker._from_file(header, arrays), extra
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{os.fspath(path)}: holds no whole {kind}: {error!r}") from error
