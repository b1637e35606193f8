"""Prefetching: threads fetch and work on items ahead of the consumer, who gets them in order."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Any, Generic, TypeVar

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


#: The end of the results of an item.
_END: Any = object()


class _Pipeline(Generic[_Item, _Result]):
    """What the threads of one iteration share."""

    def __init__(
        self,
        fetch: Callable[[], _Item | None],
        work: Callable[[_Item], Iterable[_Result]],
        ordered: bool,
        depth: int,
    ):
        self._fetch, self._work = fetch, work
        self._ordered, self._depth = ordered, depth
        #: Held by the one thread that fetches.
        self._turn = threading.Lock()
        self._changed = threading.Condition()
        #: The results of the items under way that wait to be taken, in the order of the items.
        self._items: deque[deque[Any]] = deque()
        self._fetched = self._worked = 0
        #: How many results wait in all.
        self._waiting = 0
        #: Whether nothing more is to be fetched.
        self._over = False
        self._stopped = False

    def run(self) -> None:
        """Fetch and work until there is nothing left; the body of every thread."""
        while True:
            results, item = deque[Any](), None
            try:
                with self._turn:
                    if not self._may(lambda: len(self._items) < self._depth) or self._over:
                        return
                    number = self._fetched
                    self._fetched += 1
                    self._items.append(results)
                    # After an exception nothing is fetched either.
                    self._over = True
                    item = self._fetch()
                    self._over = item is None
                # The lambda is done with before `number` changes.
                if self._ordered and not self._may(lambda: self._worked == number):  # noqa: B023
                    return
                for result in () if item is None else self._work(item):
                    if not self._store(results, result):
                        return
            except BaseException as error:
                results.append(error)
            with self._changed:
                results.append(_END)
                self._worked += item is not None
                self._changed.notify_all()

    def _may(self, ready: Callable[[], bool]) -> bool:
        """Wait until something is so; say whether to go on."""
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or ready())
            return not self._stopped

    def _store(self, results: deque[Any], result: _Result) -> bool:
        """Leave a result for the consumer, once there is room; say whether to go on."""
        with self._changed:
            # The item that the consumer waits for always has room: otherwise both would deadlock.
            going = self._may(
                lambda: self._waiting < self._depth or (results is self._items[0] and not results)
            )
            results.append(result)
            self._waiting += 1
            self._changed.notify_all()
            return going

    def take(self) -> Iterator[_Result]:
        """Yield the results in the order of their items."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._items[0] if self._items else self._over)
                if not self._items:
                    return
                result = self._items[0].popleft()
                if result is _END:
                    self._items.popleft()
                else:
                    self._waiting -= 1
                self._changed.notify_all()
            if isinstance(result, BaseException):
                raise result
            if result is not _END:
                yield result

    def stop(self) -> None:
        """Let every thread end after its current item."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()


def parts_ahead(
    fetch: Callable[[], _Item | None],
    work: Callable[[_Item], Iterable[_Result]],
    *,
    threads: int,
    ordered: bool = False,
    wake: Callable[[], None] = lambda: None,
) -> Generator[_Result, None, None]:
    """Yield all of work(item) for every item that fetch returns until it returns None.

    `fetch` is called by one thread at a time, `work` by several at once unless it is `ordered`;
    at most three items a thread are under way, and as many results (one more at most) wait to be
    taken. An exception reaches the consumer in its place. When the iteration ends, however it
    ends, no thread is left; `wake` is called for a `fetch` that may be waiting. Without threads
    all is done by the consumer.

    >>> numbers = iter([1, 2, 3])
    >>> list(parts_ahead(lambda: next(numbers, None), range, threads=2))
    [0, 0, 1, 0, 1, 2]
    """
    if threads == 0:
        while (item := fetch()) is not None:
            yield from work(item)
        return
    pipeline = _Pipeline(fetch, work, ordered, 3 * threads)
    # Daemons: an iteration that nobody ends (its frame lives on in a traceback) must not keep
    # the interpreter from ending.
    crew = [
        threading.Thread(target=pipeline.run, name=f"noregret-ahead-{k}", daemon=True)
        for k in range(threads)
    ]
    try:
        for thread in crew:
            thread.start()
        yield from pipeline.take()
    finally:
        pipeline.stop()
        wake()
        for thread in crew:
            if thread.ident is not None:
                thread.join()
