"""Shells whose command `noregret` runs in a fork of this process, which has imported it.

The command on their path is a client of a few lines: it sends its arguments, folder, environment
and open files over a socket, waits for the exit code, and leaves with it.
"""

from __future__ import annotations

import json
import os
import select
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType
from typing import NoReturn, Self

CLIENT = """
import json, os, socket, sys
server = socket.socket(socket.AF_UNIX)
server.connect({address!r})
asked = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
socket.send_fds(server, [len(asked).to_bytes(8, "big")], [0, 1, 2])
server.sendall(asked)
os._exit(int(server.recv(8) or b"70"))
"""


class Commands:
    """Runs shells that find `noregret`; close it when the page is over."""

    def __init__(self, folder: Path) -> None:
        # The name of a socket may have a hundred characters: not below any folder.
        self._place = tempfile.TemporaryDirectory(prefix="noregret-")
        address = str(Path(self._place.name) / "socket")
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(address)
        self._listener.listen()
        client = folder / ".client.py"
        client.write_text(CLIENT.format(address=address))
        self._commands = folder / ".bin"
        self._commands.mkdir(exist_ok=True)
        command = self._commands / "noregret"
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -IS "{client}" "$@"\n')
        command.chmod(0o755)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self._listener.close()
        self._place.cleanup()

    def shell(self, text: str) -> tuple[int, str]:
        """Run lines of a shell up to the first that fails; return its exit code and the output."""
        path = f"{self._commands}{os.pathsep}{os.environ['PATH']}"
        with tempfile.TemporaryFile() as output:
            process = subprocess.Popen(
                ["sh", "-e", "-c", text],
                stdout=output, stderr=output, env=os.environ | {"PATH": path},
            )  # fmt: skip
            while process.poll() is None:
                if select.select([self._listener], [], [], 0.01)[0]:
                    self._serve(self._listener.accept()[0])
            output.seek(0)
            return process.returncode, output.read().decode()

    def _serve(self, client: socket.socket) -> None:
        """Run a command in a child of a child: the first waits, so that shells may start more."""
        waiter = os.fork()
        if waiter:
            client.close()
            return
        head, files, _, _ = socket.recv_fds(client, 8, 3)
        with client.makefile("rb") as stream:
            arguments, folder, environment = json.loads(stream.read(int.from_bytes(head, "big")))
        runner = os.fork()
        if not runner:
            for place, file in enumerate(files):
                os.dup2(file, place)
            os.chdir(folder)
            os.environ.clear()
            os.environ.update(environment)
            _run(arguments)
        _, status = os.waitpid(runner, 0)
        code = os.waitstatus_to_exitcode(status)
        client.sendall(str(code if code >= 0 else 128 - code).encode())
        os._exit(0)


def _run(arguments: list[str]) -> NoReturn:
    """Run the command with the standard files of this process as they are now."""
    sys.stdin, sys.stdout, sys.stderr = (
        open(place, mode, encoding="utf-8", closefd=False) for place, mode in enumerate("rww")
    )
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr
    sys.argv = ["noregret", *arguments]
    from noregret.cli.start import run

    run()
