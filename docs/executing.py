"""Run the code of a page block by block, and keep what each block printed and drew.

All blocks of a page share one process and one empty folder. Python runs in the namespace of
`__main__`, from a file, as a reader's script would; `sh` blocks find the command `noregret` on
their path. A block whose every line begins with `make` or `pip` is shown and not run.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import subprocess
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).resolve().parent.parent / "src"
FENCE = re.compile(r"^```(python|sh)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """Code of a page: its language, its text, the line it begins on, and where it ends."""

    language: str
    text: str
    line: int
    end: int


@dataclass(frozen=True)
class Output:
    """What a block printed, and the names of the pictures that it drew."""

    text: str
    pictures: list[str]


class PageError(Exception):
    """A block that failed: where, and with what."""


def blocks(page: str) -> list[Block]:
    """Return the blocks of a page that are run, in order."""
    found = [
        Block(match[1], match[2], page.count("\n", 0, match.start()) + 2, match.end())
        for match in FENCE.finditer(page)
    ]
    return [block for block in found if not _shown_only(block)]


def _shown_only(block: Block) -> bool:
    return block.language == "sh" and all(
        line.startswith(("make ", "pip ")) for line in block.text.splitlines()
    )


def run(page: str, folder: Path, pictures: Path | None = None, name: str = "page") -> list[Output]:
    """Run the blocks of a page in `folder`; pictures go to `pictures` as name-1.png and so on."""
    script = folder / f"{name}.py"
    script.write_text(_lines_kept(page), encoding="utf-8")
    task = {
        "blocks": blocks(page),
        "script": str(script),
        "pictures": None if pictures is None else str(pictures),
    }
    kept = [str(SOURCE), *filter(None, [os.environ.get("PYTHONPATH")])]
    here = str(Path(__file__).parent)
    process = subprocess.run(
        # Without the folder on the path: a page may have the name of a package.
        [sys.executable, "-P", "-c", f"import sys; sys.path.insert(0, {here!r}); "
         "import executing; sys.path.pop(0); executing.play()"],
        input=json.dumps(task), capture_output=True, text=True, cwd=folder,
        env=os.environ | {
            "PYTHONPATH": os.pathsep.join(kept), "PYTHONIOENCODING": "utf-8", "MPLBACKEND": "Agg",
            # Tables as a terminal without colours shows them, and not as records for a pipe.
            "COLUMNS": "90", "NO_COLOR": "1", "FORCE_COLOR": "1", "TERM": "dumb",
        },
    )  # fmt: skip
    if process.returncode:
        raise PageError(f"{name}: {process.stderr.strip() or process.stdout.strip()}")
    return [Output(**output) for output in json.loads(process.stdout)]


def _lines_kept(page: str) -> str:
    """Return the Python of a page on the lines where it stands, for tracebacks and inspection."""
    lines = [""] * (page.count("\n") + 1)
    for block in blocks(page):
        if block.language == "python":
            text = block.text.splitlines()
            lines[block.line - 1 : block.line - 1 + len(text)] = text
    return "\n".join(lines) + "\n"


def play() -> None:
    """Run a task from standard input in this process, and write its outputs to standard output."""
    import __main__

    task = json.load(sys.stdin)
    script = task["script"]
    __main__.__file__ = script
    environment = os.environ | {"PATH": _command(Path(script).parent) + os.environ["PATH"]}
    outputs = []
    for language, text, line, _ in task["blocks"]:
        printed = io.StringIO()
        if language == "python":
            code = compile("\n" * (line - 1) + text, script, "exec")
            with contextlib.redirect_stdout(printed):
                try:
                    exec(code, vars(__main__))
                except BaseException:
                    sys.exit(f"the block on line {line}: {traceback.format_exc()}")
        else:
            done = subprocess.run(
                ["sh", "-e", "-c", text], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                text=True, env=environment,
            )  # fmt: skip
            if done.returncode:
                sys.exit(f"the block on line {line} ended with {done.returncode}:\n{done.stdout}")
            printed.write(done.stdout)
        drawn = _keep_pictures(task["pictures"], Path(script).stem, len(outputs))
        outputs.append({"text": printed.getvalue(), "pictures": drawn})
    print(json.dumps(outputs))


def _command(folder: Path) -> str:
    """Put a command `noregret` for this interpreter beside the script; return its path entry."""
    place = folder / ".bin"
    place.mkdir(exist_ok=True)
    command = place / "noregret"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m noregret "$@"\n')
    command.chmod(0o755)
    return f"{place}{os.pathsep}"


def _keep_pictures(folder: str | None, name: str, block: int) -> list[str]:
    """Write the figures that are open as PNG, close them, and return their names."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is None:
        return []
    names = []
    for number in pyplot.get_fignums():
        names.append(f"{name}-{block}-{number}.png")
        if folder is not None:
            pyplot.figure(number).savefig(Path(folder) / names[-1], dpi=150, bbox_inches="tight")
        pyplot.close(number)
    return names
