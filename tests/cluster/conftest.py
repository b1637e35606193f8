from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cluster.solving import narrow_files, wide_file


@pytest.fixture(scope="session")
def ray_cluster() -> Iterator[None]:
    """A cluster of two processes on this machine, for all tests."""
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'noregret[cluster]'")
    from noregret.cluster.ray_workers import connected

    with connected("local", 2):
        yield


@pytest.fixture(scope="session")
def narrow(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return narrow_files(tmp_path_factory.mktemp("narrow"))


@pytest.fixture(scope="session")
def wide(tmp_path_factory: pytest.TempPathFactory) -> str:
    return wide_file(tmp_path_factory.mktemp("wide"))
