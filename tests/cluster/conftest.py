from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session")
def ray_cluster() -> Iterator[None]:
    """A cluster of two processes on this machine, for all tests."""
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'noregret[cluster]'")
    from noregret.cluster.ray_workers import connected

    with connected("local", 2):
        yield
