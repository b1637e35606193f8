"""Ray is needed only where a cluster is used."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.cli.program import ENVIRONMENT


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("import noregret as nr; nr.hindsight; nr.plot; nr.evaluate; nr.read", "noregret.cluster"),
        ("import noregret.cli.commands, noregret.cli.hindsight", "noregret.cluster"),
        ("import noregret.cluster", "ray"),
    ],
)  # fmt: skip
def test_what_is_not_used_is_not_imported(code: str, absent: str) -> None:
    check = f"{code}\nimport sys\nassert {absent!r} not in sys.modules"
    subprocess.run([sys.executable, "-c", check], check=True, env=ENVIRONMENT)


def test_without_ray_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.util

    from noregret.arguments import ArgumentError
    from noregret.cli.on_cluster import require_cluster

    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "ray" else found(name)
    )
    with pytest.raises(ArgumentError, match=r"needs ray: pip install 'noregret\[cluster\]'"):
        require_cluster()
