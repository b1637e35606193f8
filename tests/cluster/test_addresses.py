"""An address at which no cluster answers is an error in one line, before Ray tries for minutes."""

from __future__ import annotations

import socket

import pytest

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


def test_somebody_listens_or_ray_looks_for_itself() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        require_answer(f"127.0.0.1:{server.getsockname()[1]}")
    require_answer("auto")
