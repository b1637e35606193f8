"""The program inside this process, for statements that it prints."""

from tests.cli.conftest import call, model, stream

__all__ = ["call", "model", "stream"]
