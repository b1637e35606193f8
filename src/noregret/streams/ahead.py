"""Prefetching: threads fetch and work on items ahead of the consumer, who gets them in order."""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Any, Generic, TypeVar

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


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
        self._ordered = ordered
        self._depth = depth
        #: Held by the one thread that fetches.
        self._turn = threading.Lock()
        self._changed = threading.Condition()
        self._fetched = 0
        self._worked = 0
        self._delivered = 0
        #: How many items there are, once that is known.
        self._total: int | None = None
        #: The results of each item that wait to be taken, and how many wait in all.
        self._results: defaultdict[int, deque[_Result | BaseException]] = defaultdict(deque)
        self._waiting = 0
        #: The items of which no more results will come.
        self._ended: set[int] = set()
        self.stopped = False

    def run(self) -> None:
        """Fetch and work until there is nothing left; the body of every thread."""
        while True:
            with self._turn:
                number = self._fetched
                try:
                    if not self._may_fetch(number):
                        return
                    item = self._fetch()
                except BaseException as error:
                    self._fail(number, error)
                    return
                if item is None:
                    self._finish(number)
                    return
                self._fetched += 1
            try:
                if self._ordered and not self._my_turn(number):
                    return
                for result in self._work(item):
                    if not self._store(number, result):
                        return
            except BaseException as error:
                self._fail(number, error)
            self._end(number)

    def _may_fetch(self, number: int) -> bool:
        with self._changed:
            self._changed.wait_for(
                lambda: (
                    self.stopped
                    or self._total is not None
                    or number - self._delivered < self._depth
                )
            )
            return not self.stopped and self._total is None

    def _my_turn(self, number: int) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: self.stopped or self._worked == number)
            return not self.stopped

    def _store(self, number: int, result: _Result) -> bool:
        """Leave a result for the consumer, once there is room; say whether to go on."""
        with self._changed:
            # The item that the consumer waits for always has room: otherwise both would deadlock.
            self._changed.wait_for(
                lambda: (
                    self.stopped
                    or self._waiting < self._depth
                    or (number == self._delivered and not self._results[number])
                )
            )
            if self.stopped:
                return False
            self._results[number].append(result)
            self._waiting += 1
            self._changed.notify_all()
            return True

    def _fail(self, number: int, error: BaseException) -> None:
        with self._changed:
            self._results[number].append(error)
            self._total = number + 1 if self._total is None else min(number + 1, self._total)
            self._changed.notify_all()

    def _end(self, number: int) -> None:
        with self._changed:
            self._ended.add(number)
            self._worked += 1
            self._changed.notify_all()

    def _finish(self, number: int) -> None:
        with self._changed:
            if self._total is None:
                self._total = number
            self._changed.notify_all()

    def take(self) -> Iterator[_Result]:
        """Yield the results in the order of their items."""
        while True:
            with self._changed:
                self._changed.wait_for(
                    lambda: (
                        self._results[self._delivered]
                        or self._delivered in self._ended
                        or self._delivered == self._total
                    )
                )
                if not self._results[self._delivered]:
                    if self._delivered == self._total:
                        return
                    del self._results[self._delivered]
                    self._ended.remove(self._delivered)
                    self._delivered += 1
                    self._changed.notify_all()
                    continue
                result = self._results[self._delivered].popleft()
                self._waiting -= 1
                self._changed.notify_all()
            if isinstance(result, BaseException):
                raise result
            yield result

    def stop(self) -> None:
        """Let every thread end after its current item."""
        with self._changed:
            self.stopped = True
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


def ahead(
    fetch: Callable[[], _Item | None], work: Callable[[_Item], _Result], **options: Any
) -> Generator[_Result, None, None]:
    """Yield work(item) for every item; otherwise as `parts_ahead`.

    >>> numbers = iter([1, 2, 3])
    >>> list(ahead(lambda: next(numbers, None), lambda n: n * n, threads=2))
    [1, 4, 9]
    """
    return parts_ahead(fetch, lambda item: (work(item),), **options)
