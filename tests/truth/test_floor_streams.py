"""Floors of blocks on hostile streams: true for every loss, and the judge catches what is not."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any
from unittest import mock

import numpy as np
import pytest

from noregret import losses
from noregret.floors import blocks as blocks_of_rows
from noregret.floors.parabolas import Parabolas
from noregret.learners.unit_free_engines import ScaleFreeEngine
from noregret.losses import Logistic
from noregret.mirrors.predictors import Predictors
from noregret.proof.certificate import Certificate
from noregret.proof.quadratic import Quadratic
from tests.sizes import sized
from tests.truth.claims import Tally
from tests.truth.floor_streams import KINDS_OF_FLOORS, LOSSES, stream
from tests.truth.matrix_streams import stream as stream_of_scores

PARTS = sized(3, 12)
#: Streams of a part, and of several scores.
COUNT, SCORES = sized(30, 100), sized(12, 100)


@pytest.mark.parametrize("part", range(PARTS))
def test_every_floor_is_true(part: int) -> None:
    total = Tally()
    for index in range(part * COUNT, (part + 1) * COUNT):
        tally, what = stream(1, index)
        assert not tally.false, "\n".join([f"stream {index}: {what}", *tally.false[:5]])
        total.add(tally)
    for origin in ("predictions", "blocks of rows", "parabolas at blocks of rows"):
        assert total.checked[f"{origin}, own"] > 100
    assert total.checked["regret"] > 100 and total.checked["regularised"] > 100


def test_every_floor_of_scores_is_true() -> None:
    total = Tally()
    for index in range(SCORES):
        tally, what = stream_of_scores(1, index, blocks=True)
        assert not tally.false, "\n".join([f"stream {index}: {what}", *tally.false[:5]])
        total.add(tally)
    assert total.checked["floor, blocks"] > 100 and total.checked["trace, blocks"] > 50


def test_every_loss_with_a_conjugate_is_played() -> None:
    """But for -ln p, which is infinite at predictions of some u."""
    random = np.random.default_rng(0)
    played = {type(make(random)) for make in LOSSES} | {losses.NegativeLog}
    found = {
        one
        for one in vars(losses).values()
        if isinstance(one, type) and issubclass(one, losses.Loss) and one().has_conjugate()
    }
    assert found <= played
    names = {kind.name for kind in KINDS_OF_FLOORS}
    assert {"drifting", "jumping sizes", "huge", "tiny", "adversarial", "alike"} <= names


def test_floors_are_asked_where_they_are_close() -> None:
    """Within a part in a thousand of a predictor's loss, in two streams of five."""
    close = sum(
        min((d for kind, d in stream(2, k)[0].tightest.items() if "own" in kind), default=1.0)
        < 1e-3
        for k in range(30)
    )
    assert close >= 12


def _local(self: Any, y: float, p: float, low: float, high: float) -> float:
    return float(_CURVATURE(self, y, p, p, p))


_CURVATURE = Logistic.curvature_below
_ENTER, _TANGENT = Parabolas.enter, Quadratic.tangent


def _shrinking(self: Parabolas, full: Any, staying: Any = None) -> None:
    """Take the units of the block alone, as a player may."""
    if self.measured:
        self.state["sizes"][:] = 0.0
    _ENTER(self, full, staying)


def _beyond(self: Quadratic, reach: float) -> float:
    """Serve every class, with the curvatures of this radius."""
    return 1.0 if reach < math.inf else 0.0


def _diagonal(self: Quadratic, v: Any, share: float = 1.0) -> Any:
    """Keep the diagonal of the matrix only."""
    object.__setattr__(self, "matrix", np.diag(np.diag(self.matrix)))
    return _TANGENT(self, v, share)


def _twice(self: Any) -> None:
    """Enter the rows held back, and hold them back all the same."""
    if len(self.pending):
        held = self.pending.held(self.width)
        self._enter(held, self._choose(held), blocks_of_rows.none_stay(held))


@contextmanager
def _no_rounding() -> Iterator[None]:
    with (
        mock.patch.object(Certificate, "slack", 0.0),
        mock.patch.object(Certificate, "delta", 0.0),
        mock.patch("noregret.rounding.EPSILON", 0.0),
        mock.patch("noregret.mirrors.norms.EPSILON", 0.0),
        mock.patch("noregret.mirrors.predictors.EPSILON", 0.0),
    ):
        yield


_SUPPORT, _LENGTHS = Predictors.support_upper, ScaleFreeEngine.scaled_lengths


def _less(*given: Any) -> float:
    return _SUPPORT(*given) * (1.0 - 1e-9)


#: What may be built in that makes floors false; `nothing` must stay true.
TRAPS: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "nothing": nullcontext,
    "curvature at the point": lambda: mock.patch.object(Logistic, "curvature_below", _local),
    "units that fall": lambda: mock.patch.object(Parabolas, "enter", _shrinking),
    "a radius beyond the promise": lambda: mock.patch.object(Quadratic, "share", _beyond),
    "the diagonal of the matrix": lambda: mock.patch.object(Quadratic, "tangent", _diagonal),
    "a block entered twice": lambda: mock.patch.object(blocks_of_rows.Blocks, "close", _twice),
    "rounding": _no_rounding,
    "a support a little too small": lambda: mock.patch.object(Predictors, "support_upper", _less),
}


@pytest.mark.parametrize("name", TRAPS)
def test_the_judge_catches_what_is_built_in(name: str) -> None:
    caught: list[str] = []
    # Units fall far enough in few streams.
    begin = 260 if name in ("nothing", "units that fall") else 0
    with TRAPS[name]():
        for index in range(begin, begin + 50):
            caught += stream(3, index)[0].false
            if caught:
                break
    assert bool(caught) == (name != "nothing"), caught


def test_predictions_that_an_overflow_hides_are_not_made_up() -> None:
    """The learner keeps the rounds before, whose predictions nobody was told."""
    assert not stream(2027, 874)[0].false
