"""An address at which no cluster answers is an error in one line, before Ray tries for minutes."""

from __future__ import annotations

import socket
import threading

import pytest

from noregret.cluster import ray_workers
from noregret.cluster.errors import ClusterError
from noregret.cluster.ray_workers import require_answer


def closed_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.mark.parametrize("prefix", ["", "ray://"])
def test_nobody_listens(prefix: str) -> None:
    address = f"{prefix}127.0.0.1:{closed_port()}"
    with pytest.raises(ClusterError) as caught:
        require_answer(address)
    text = str(caught.value)
    assert text.startswith(f"{address}: nobody answers (") and "'ray start --head'" in text
    assert "\n" not in text


@pytest.mark.parametrize("address", ["127.0.0.1:no", "127.0.0.1:", "127.0.0.1:99999999"])
def test_no_port(address: str) -> None:
    with pytest.raises(ClusterError, match="nobody answers"):
        require_answer(address)


class Server:
    """A port that answers everybody who connects with the same bytes."""

    def __init__(self, answer: bytes) -> None:
        self._socket, self._answer = socket.create_server(("127.0.0.1", 0)), answer
        self.address = f"127.0.0.1:{self._socket.getsockname()[1]}"
        self._open: list[socket.socket] = []

    def __enter__(self) -> Server:
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def _serve(self) -> None:
        connection, _ = self._socket.accept()
        self._open.append(connection)
        connection.sendall(self._answer)

    def __exit__(self, *_: object) -> None:
        for one in (*self._open, self._socket):
            one.close()


def test_who_greets_like_ray_is_believed() -> None:
    with Server(b"\0\0\0\4\0\0\0\0\0") as server:
        require_answer(server.address)
    require_answer("auto")


def test_something_else_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    with Server(b"HTTP/1.1 400 Bad Request\r\n") as server:
        with pytest.raises(ClusterError, match="what answers there is not Ray: start"):
            require_answer(server.address)
    monkeypatch.setattr(ray_workers, "CONNECTING", 0.2)
    with Server(b"") as server:
        with pytest.raises(ClusterError, match=r"nobody answers for 0\.2 s: start"):
            require_answer(server.address)
