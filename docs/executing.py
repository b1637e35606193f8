"""Run the code of a page block by block, and keep what each block printed and drew.

All blocks of a page share one process and one empty folder. Python runs in the namespace of
`__main__`, from a file, as a reader's script would; `sh` blocks find the command `noregret` on
their path. A block whose every line begins with `make` or `pip` is shown and not run.

Most of the time of a page would go into importing numba and matplotlib: pages, and the commands
of their shells, are forked from a process that has imported them.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import io
import json
import os
import re
import subprocess
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from forking import Commands

SOURCE = Path(__file__).resolve().parent.parent / "src"
#: What pages import, as far as it is installed.
PRELOADED = (
    "noregret.cli.main", "noregret.learners.mirror_descent", "matplotlib.pyplot", "pandas",
    "sklearn.linear_model",
)  # fmt: skip
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
    answer = folder / ".answer"
    task = {
        "blocks": blocks(page),
        "script": str(script),
        "pictures": None if pictures is None else str(pictures),
        "answer": str(answer),
    }
    server = _server()
    assert server.stdin is not None and server.stdout is not None
    server.stdin.write(json.dumps(task) + "\n")
    server.stdin.flush()
    if server.stdout.readline() != "0\n":
        raise PageError(f"{name}: {answer.read_text(encoding='utf-8').strip()}")
    return [Output(**output) for output in json.loads(answer.read_text(encoding="utf-8"))]


@functools.cache
def _server() -> subprocess.Popen[str]:
    """Start the process that pages are forked from, once; it ends with this one."""
    kept = [str(SOURCE), *filter(None, [os.environ.get("PYTHONPATH")])]
    here = str(Path(__file__).parent)
    return subprocess.Popen(
        # Without the folder on the path: a page may have the name of a package.
        [sys.executable, "-P", "-c", f"import sys; sys.path.insert(0, {here!r}); "
         "import executing; sys.path.pop(0); executing.serve()"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env=os.environ | {
            "PYTHONPATH": os.pathsep.join(kept), "PYTHONIOENCODING": "utf-8", "MPLBACKEND": "Agg",
            # Tables as a terminal without colours shows them, and not as records for a pipe.
            "COLUMNS": "90", "NO_COLOR": "1", "FORCE_COLOR": "1", "TERM": "dumb",
        },
    )  # fmt: skip


def _lines_kept(page: str) -> str:
    """Return the Python of a page on the lines where it stands, for tracebacks and inspection."""
    lines = [""] * (page.count("\n") + 1)
    for block in blocks(page):
        if block.language == "python":
            text = block.text.splitlines()
            lines[block.line - 1 : block.line - 1 + len(text)] = text
    return "\n".join(lines) + "\n"


def serve() -> None:
    """Run the tasks from standard input, each in a child that has imported what pages need."""
    for name in PRELOADED:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    for line in sys.stdin:
        child = os.fork()
        if not child:
            os.dup2(os.open(os.devnull, os.O_RDWR), 0)
            os.dup2(2, 1)
            task = json.loads(line)
            failure = _answered(task)
            if failure:
                Path(task["answer"]).write_text(failure, encoding="utf-8")
            os._exit(bool(failure))
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _answered(task: dict[str, Any]) -> str:
    """Run the blocks of a task and write its answer; return why a block failed, or ''."""
    import __main__

    script = Path(task["script"])
    os.chdir(script.parent)
    __main__.__file__ = str(script)
    outputs = []
    with Commands(script.parent) as commands:
        for language, text, line, _ in task["blocks"]:
            printed = io.StringIO()
            if language == "python":
                code = compile("\n" * (line - 1) + text, str(script), "exec")
                with contextlib.redirect_stdout(printed):
                    try:
                        exec(code, vars(__main__))
                    except BaseException:
                        return f"the block on line {line}: {traceback.format_exc()}"
            else:
                code, said = commands.shell(text)
                if code:
                    return f"the block on line {line} ended with {code}:\n{said}"
                printed.write(said)
            drawn = _keep_pictures(task["pictures"], script.stem, len(outputs))
            outputs.append({"text": printed.getvalue(), "pictures": drawn})
    Path(task["answer"]).write_text(json.dumps(outputs), encoding="utf-8")
    return ""


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
