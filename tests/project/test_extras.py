"""Without an optional package its module says in one line how to install it."""

from __future__ import annotations

import subprocess
import sys

import pytest

CODE = """
import importlib.util, sys
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == {package!r} else found(name, *rest)
import noregret.{module}
"""


@pytest.mark.parametrize(("module", "package"), [("sklearn", "sklearn"), ("river", "river")])
def test_a_missing_extra_is_named(module: str, package: str) -> None:
    code = CODE.format(module=module, package=package)
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    last = run.stderr.strip().splitlines()[-1]
    assert last == (
        f"ImportError: noregret.{module} needs {package}: pip install 'noregret[{module}]'"
    )
