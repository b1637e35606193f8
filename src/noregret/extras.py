"""Optional packages: what is missing is said in one line, with the command that installs it."""

from __future__ import annotations

import importlib.util


def require_extra(module: str, package: str, extra: str) -> None:
    """Refuse the import of a module whose package is not installed.

    Args:
        module: what was to be imported.
        package: the package that it needs, by the name of its import.
        extra: the extra of noregret that installs the package.

    >>> require_extra("noregret.river", "no_such_package", "river")
    Traceback (most recent call last):
    ImportError: noregret.river needs no_such_package: pip install 'noregret[river]'
    """
    if importlib.util.find_spec(package) is None:
        raise ImportError(f"{module} needs {package}: pip install 'noregret[{extra}]'")
