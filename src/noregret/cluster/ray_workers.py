"""Workers as processes of a Ray cluster, each an actor that hosts a run of shards."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from noregret.cluster.errors import ClusterError, WorkerLost, raised
from noregret.cluster.worker import Worker, about
from noregret.extras import require_extra
from noregret.runs.interrupt import handlers_kept
from noregret.workers import Entries, Traffic, Workers, shares

LOCAL = "local"
#: Calls that set up a worker; a new one in its place gets them again.
SETTING_UP = ("scan", "settle", "open")
#: Arrays of at least this many bytes are stored once for all workers.
SHARED = 1 << 16
#: Times that a worker may be lost while it is set up.
MOST_LOSSES = 5
#: Seconds within which an address has to answer.
CONNECTING = 10.0
#: What a client of HTTP/2 sends first (RFC 9113, section 3.4), and the type of a settings frame.
_SETTINGS = b"\x04"
_GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0" + _SETTINGS + b"\0\0\0\0\0"
#: Ray neither reports its use nor warns about accelerators, nor prints the error of a second worker
#: after that of the first one was raised.
QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_IGNORE_UNHANDLED_ERRORS": "1",
}


@contextmanager
def connected(address: str, workers: int, memory: int | None = None) -> Iterator[None]:
    """Connect to a cluster, or start one on this machine and end it afterwards.

    What is started here asks for a token, which only this process and its workers know. A process
    that is connected already stays so.

    Args:
        address: of the cluster, "local" for one on this machine, "auto" for one that runs here.
        workers: processes that a local one has, at least 1.
        memory: bytes of the object store of a local one [default: Ray's choice].
    """
    if address == LOCAL:
        # Ray asks for a token in what it starts here, unless RAY_AUTH_MODE says otherwise.
        if "RAY_AUTH_TOKEN_PATH" not in os.environ:
            os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    require_extra("noregret.cluster", "ray", "cluster")
    import ray

    if ray.is_initialized():
        yield
        return
    require_answer(address)
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    if address == LOCAL:
        options |= {"num_cpus": workers, "include_dashboard": False}
        if memory is not None:
            options["object_store_memory"] = memory
    else:
        options["address"] = address
    try:
        # What is half started could not be ended: signals wait until it is whole.
        with _unblocked(), handlers_kept(hold=address == LOCAL), _without_handlers(ray):
            ray.init(**options, configure_logging=True)
        yield
    except _Refused as error:
        raise ClusterError(
            f"{address}: no cluster answers ({error}): start one with 'ray start --head', or "
            "say 'local'"
        ) from None
    finally:
        with handlers_kept():
            ray.shutdown()


class _Refused(Exception):
    """Ray could not start or connect."""


@contextmanager
def _unblocked() -> Iterator[None]:
    """Let SIGTERM through again afterwards, should it be blocked within."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _without_handlers(ray: Any) -> Iterator[None]:
    """Start Ray within, which must not handle SIGTERM where this program has a handler of its own.

    Ray sets one in Python, which would end the program in the middle of its start, and one in C,
    which prints a trace. The latter comes with the connection: SIGTERM is blocked from there on,
    when the processes of a local cluster, which would inherit that, are there.
    """
    utils, worker = ray._private.utils, ray._private.worker
    ours = callable(signal.getsignal(signal.SIGTERM))
    before = utils.set_sigterm_handler, worker.connect

    def connect(*arguments: Any, **options: Any) -> Any:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        return before[1](*arguments, **options)

    try:
        if ours:
            utils.set_sigterm_handler, worker.connect = lambda handler: None, connect
        yield
    except (ConnectionError, TimeoutError, ValueError, RuntimeError, OSError) as error:
        raise _Refused(" ".join(str(error).split())[:200] or type(error).__name__) from None
    finally:
        utils.set_sigterm_handler, worker.connect = before


def require_answer(address: str) -> None:
    """Refuse an address of host and port at which no Ray answers: Ray would try for minutes.

    Ray speaks gRPC, that is HTTP/2: whoever connects gets a frame of settings at once.
    """
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host:
        return
    remedy = "start a cluster with 'ray start --head', or say 'local'"
    try:
        with socket.create_connection((host, int(port)), CONNECTING) as connection:
            if os.environ.get("RAY_USE_TLS", "0") != "0":
                # Settings come encrypted.
                return
            connection.sendall(_GREETING)
            answer = connection.recv(9)
    except TimeoutError:
        raise ClusterError(f"{address}: nobody answers for {CONNECTING:g} s: {remedy}") from None
    except (OSError, ValueError) as error:
        raise ClusterError(f"{address}: nobody answers ({error}): {remedy}") from None
    if answer[3:4] != _SETTINGS:
        raise ClusterError(f"{address}: what answers there is not Ray: {remedy}")


class RayWorkers(Workers):
    """Actors that host the shards; they end with this object.

    Args:
        host: the class of a host, as "module:Class" of this package.
        count: number of shards, at least 1.
        workers: number of processes, at least 1, at most one a shard.
        timeout: seconds within which every worker has to answer a call [default: 600].
    """

    def __init__(self, host: str, count: int, workers: int, timeout: float = 600.0) -> None:
        import ray

        self.count, self.timeout, self._host = count, timeout, host
        self.pieces = shares(count, workers)
        self.seconds = [0.0] * len(self.pieces)
        self.traffic = Traffic()
        self._ray = ray
        self._history: list[tuple[str, tuple[Any, ...]]] = []
        self._actors: list[Any] = []
        try:
            for k in range(len(self.pieces)):
                self._actors.append(self._start(k))
            self._require_versions(range(len(self.pieces)))
        except BaseException:
            self.close()
            raise

    def _start(self, k: int) -> Any:
        kind = self._ray.remote(Worker).options(num_cpus=1, max_restarts=0, max_task_retries=0)
        return kind.remote(self._host, *self.pieces[k], self.count)

    def _require_versions(self, which: Any) -> None:
        own = about()
        for k in which:
            found = self._answers({k: self._actors[k].about.remote()})[k]["versions"]
            for name, version in own.items():
                if found[name] != version:
                    raise ClusterError(
                        f"worker {k + 1} has {name} {found[name]} and the driver {version}: "
                        "results would differ; install the same versions"
                    )

    def close(self) -> None:
        """End all workers."""
        for actor in self._actors:
            self._ray.kill(actor)
        self._actors = []

    def processes(self) -> list[int]:
        """Return the process of each worker."""
        calls = {k: actor.about.remote() for k, actor in enumerate(self._actors)}
        found = self._answers(calls)
        return [int(found[k]["process"]) for k in range(len(self._actors))]

    def hosts(self, method: str, *arguments: Any) -> list[Any]:
        """Return what a method of each host returns; raise `WorkerLost` if one has ended.

        A worker lost while it is set up is set up again here.
        """
        begin = time.perf_counter()
        wanted, found = set(range(len(self.pieces))), dict[int, Any]()
        for attempt in range(MOST_LOSSES + 1):
            found |= self._asked(wanted, method, arguments)
            lost = wanted - found.keys()
            if not lost:
                break
            if method not in SETTING_UP:
                raise WorkerLost(f"{len(lost)} of {len(self.pieces)} workers ended")
            if attempt == MOST_LOSSES:
                raise ClusterError(
                    f"a worker ended {MOST_LOSSES + 1} times while it read its shards: it may have "
                    "too little memory; use more workers or more shards"
                )
            self._replace(lost)
            wanted = lost
        if method in SETTING_UP:
            self._history.append((method, arguments))
        seconds = [float(found[k]["seconds"]) for k in sorted(found)]
        answers = [found[k]["found"] for k in sorted(found)]
        self._count(arguments, answers, time.perf_counter() - begin, max(seconds))
        self.seconds = seconds
        return answers

    def renew(self) -> int:
        """Set up workers again that have ended; return how many."""
        calls = {k: actor.about.remote() for k, actor in enumerate(self._actors)}
        lost = calls.keys() - self._answers(calls).keys()
        self._replace(lost)
        return len(lost)

    def _replace(self, lost: Any) -> None:
        for _ in range(MOST_LOSSES):
            for k in lost:
                self._actors[k] = self._start(k)
            for method, arguments in self._history:
                found = self._asked(lost, method, arguments)
                if found.keys() != set(lost):
                    break
            else:
                return
        raise ClusterError(f"a worker ended {MOST_LOSSES} times while it was set up again")

    def _asked(self, which: Any, method: str, arguments: tuple[Any, ...]) -> dict[int, Any]:
        """Return the answers of those workers that have not ended."""
        ready = [self._shared(one) for one in arguments]
        calls = {k: self._actors[k].ask.remote(method, *ready) for k in sorted(which)}
        found = self._answers(calls)
        errors = [found[k]["error"] for k in sorted(found) if "error" in found[k]]
        if errors:
            raise raised(errors[0]) from None
        return found

    def _shared(self, one: Any) -> Any:
        large = isinstance(one, np.ndarray) and one.nbytes >= SHARED
        with self._plain_errors():
            return self._ray.put(one) if large else one

    def _answers(self, calls: dict[int, Any]) -> dict[int, Any]:
        found, errors = {}, self._ray.exceptions
        end = time.monotonic() + self.timeout
        for k, call in calls.items():
            try:
                with self._plain_errors():
                    found[k] = self._ray.get(call, timeout=max(end - time.monotonic(), 0.1))
            except errors.GetTimeoutError:
                raise ClusterError(
                    f"worker {k + 1} of {len(self.pieces)} has not answered for {self.timeout:g} "
                    "s: its node is gone, slow, or has no free processor; raise the timeout, or "
                    "ask for fewer workers"
                ) from None
            except (errors.RayActorError, errors.WorkerCrashedError, errors.ObjectLostError):
                # Missing in the answers: the caller knows what to do.
                continue
        return found

    @contextmanager
    def _plain_errors(self) -> Iterator[None]:
        errors = self._ray.exceptions
        try:
            yield
        except (errors.ObjectStoreFullError, errors.OutOfDiskError):
            raise ClusterError(
                "the object store of the cluster is full: give it more memory, or use fewer columns"
            ) from None

    def _count(self, arguments: Any, answers: Any, seconds: float, work: float) -> None:
        sent = len(self.pieces) * size_of(arguments) + size_of(answers)
        self.traffic.sent += sent
        self.traffic.work += work
        self.traffic.wait += max(seconds - work, 0.0)
        self.traffic.calls += 1


def size_of(message: Any) -> int:
    """Return about how many bytes a message has.

    >>> size_of([np.zeros(3), {"a": 1.0}])
    32
    """
    if isinstance(message, np.ndarray):
        return int(message.nbytes)
    if isinstance(message, Entries):
        return int(message.columns.nbytes + message.values.nbytes)
    if isinstance(message, dict):
        return sum(map(size_of, message.values()))
    if isinstance(message, list | tuple):
        return sum(map(size_of, message))
    return len(message) if isinstance(message, str | bytes) else 8
