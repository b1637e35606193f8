"""One thread at a time: a second one that would change the same learner gets an error.

Two threads that learn with one learner would lose rounds, and a certificate of the rest could be
false. So every method that changes a learner takes its *turn* first and gives it back at the end;
a thread that finds it taken gets an error and does not wait. Methods that only read take none.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class Turn(list[None]):
    """The turn of one learner: a list with one entry while it is free, empty while it is taken.

    `pop` and `append` of a list are atomic and cost less than those of a lock. The turn is not
    part of what is learnt: a copy or an unpickled learner has a free one of its own.

    >>> import copy
    >>> turn = Turn()
    >>> turn.pop(), len(turn), len(copy.deepcopy(turn))
    (None, 0, 1)
    """

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__((None,))

    def __reduce_ex__(self, protocol: Any) -> tuple[type[Turn], tuple[()]]:
        """Return a free turn for copies."""
        return Turn, ()


def turn_of(owner: Any) -> Turn:
    """Return the turn of a learner, made when it is first asked for."""
    try:
        found: Turn = owner._learning_turn
    except AttributeError:
        # Atomic: two threads that ask at once get the same one.
        found = vars(owner).setdefault("_learning_turn", Turn())
    return found


def taken(owner: Any) -> RuntimeError:
    """Return the error for the thread that comes second."""
    return RuntimeError(
        f"{type(owner).__name__}: another thread is learning with it; let one thread learn at a "
        "time, or give each its own learner"
    )


def one_at_a_time(
    method: Callable[Concatenate[Any, P], T],
) -> Callable[Concatenate[Any, P], T]:
    """Let a method be run by one thread at a time; RuntimeError for others, with nothing changed.

    Such a method must not call another one of the same object.

    >>> class Counter:
    ...     @one_at_a_time
    ...     def learn(self, step):
    ...         return step() if callable(step) else step
    >>> counter = Counter()
    >>> counter.learn(1)
    1
    >>> counter.learn(lambda: counter.learn(1))
    Traceback (most recent call last):
    RuntimeError: Counter: another thread is learning with it; let one thread learn at a time, ...
    """

    @functools.wraps(method)
    def alone(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        # `turn_of`, inlined: a call a round would cost more than the turn.
        try:
            turn: Turn = self._learning_turn
        except AttributeError:
            turn = turn_of(self)
        mine = True
        try:
            # An interrupt can come right after `pop`: it is within `try`, and `mine` is True.
            try:
                turn.pop()
            except IndexError:
                mine = False
                raise taken(self) from None
            return method(self, *args, **kwargs)
        finally:
            if mine:
                turn.append(None)

    return alone
