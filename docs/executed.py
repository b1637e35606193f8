"""The extension of the site: pages show what their own code printed and drew in this build.

Outputs are kept in `_made` under a digest of the page and of all sources, so that a second build
runs only what has changed.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

from executing import Output, PageError, blocks, run
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
MADE = DOCS / "_made"
GALLERY = ROOT / "examples" / "gallery"
WORKERS = 2
#: Pictures and printed text that only a build with outputs has.
_MADE = re.compile(r"^!\[.*\]\(/_made/.*\)$|^```\{literalinclude\} /_made/[^`]*^```$", re.MULTILINE)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.add_config_value("execute", True, "env", [bool])
    app.connect("builder-inited", make_all)
    app.connect("source-read", show_outputs)
    return {"version": "1", "parallel_read_safe": True}


def make_all(app: Sphinx) -> None:
    """Run every page and draw every picture that is not up to date."""
    if not app.config.execute:
        return
    MADE.mkdir(exist_ok=True)
    sources = _digest(*sorted((ROOT / "src").rglob("*.py")), DOCS / "executing.py")
    tasks: list[Callable[[], None]] = [
        lambda page=page: _page(page, sources)  # type: ignore[misc]
        for page in sorted(DOCS.rglob("*.md"))
        if blocks(page.read_text(encoding="utf-8"))
    ]
    tasks += [
        lambda script=script: _picture(script, sources)  # type: ignore[misc]
        for script in [*sorted((DOCS / "pictures").glob("*.py")), *gallery_scripts()]
    ]
    failures = []
    with ThreadPoolExecutor(WORKERS) as pool:
        for future in [pool.submit(task) for task in tasks]:
            try:
                future.result()
            except PageError as error:
                failures.append(str(error))
    if failures:
        raise ExtensionError("\n\n".join(failures))


def _digest(*paths: Path) -> str:
    """Return a digest of the contents of files."""
    total = hashlib.sha256()
    for path in paths:
        total.update(path.read_bytes())
    return total.hexdigest()


def _name(page: Path) -> str:
    """Return the name under which the outputs of a page are kept."""
    return "-".join(page.relative_to(DOCS).with_suffix("").parts)


def _page(page: Path, sources: str) -> None:
    key = sources + _digest(page)
    place = MADE / f"{_name(page)}.json"
    if place.exists() and json.loads(place.read_text(encoding="utf-8"))["key"] == key:
        return
    with tempfile.TemporaryDirectory() as folder:
        outputs = run(page.read_text(encoding="utf-8"), Path(folder), MADE, _name(page))
    kept = {"key": key, "outputs": [asdict(output) for output in outputs]}
    place.write_text(json.dumps(kept), encoding="utf-8")


def _picture(script: Path, sources: str) -> None:
    key = sources + _digest(script, GALLERY / "picture.py")
    stamp = MADE / f"{script.stem}.key"
    if stamp.exists() and stamp.read_text() == key:
        return
    path = os.pathsep.join([str(ROOT / "src"), str(GALLERY)])
    done = subprocess.run(
        [sys.executable, str(script), str(MADE)], capture_output=True, text=True, cwd=MADE,
        env=os.environ | {"PYTHONPATH": path, "MPLBACKEND": "Agg"},
    )  # fmt: skip
    if done.returncode:
        raise PageError(f"{script.name}: {done.stderr.strip()}")
    printed = [line for line in done.stdout.splitlines() if not line.startswith("wrote ")]
    (MADE / f"{script.stem}.txt").write_text("\n".join(printed) + "\n", encoding="utf-8")
    stamp.write_text(key)


def show_outputs(app: Sphinx, docname: str, source: list[str]) -> None:
    """Put what a block printed and drew below it."""
    page = DOCS / f"{docname}.md"
    if docname == "gallery":
        source[0] += "".join(_section(script) for script in gallery_scripts())
    found = blocks(source[0])
    if not app.config.execute:
        source[0] = _MADE.sub("", source[0])
        return
    if not found:
        return
    kept_outputs = json.loads((MADE / f"{_name(page)}.json").read_text(encoding="utf-8"))["outputs"]
    for block, output in reversed(list(zip(found, kept_outputs, strict=True))):
        shown = _shown(Output(**output))
        source[0] = source[0][: block.end] + shown + source[0][block.end :]


def gallery_scripts() -> list[Path]:
    """Return the scripts of the gallery, without the module that they share."""
    return [script for script in sorted(GALLERY.glob("*.py")) if script.stem != "picture"]


def _section(script: Path) -> str:
    """Return what the gallery shows of a script: its claim, picture, printed text and source."""
    title = script.stem.replace("_", " ").capitalize()
    claim = ast.get_docstring(ast.parse(script.read_text(encoding="utf-8")))
    return f"""
## {title}

{claim}

![{title}](/_made/{script.stem}.png)

```{{literalinclude}} /_made/{script.stem}.txt
:language: text
:class: output
```

```{{literalinclude}} ../examples/gallery/{script.name}
:language: python
:start-at: from __future__
```
"""


def _shown(output: Output) -> str:
    text = output.text.rstrip()
    shown = f"\n\n````{{code-block}} text\n:class: output\n\n{text}\n````\n" if text else "\n"
    return shown + "".join(f"\n![what it draws](/_made/{name})\n" for name in output.pictures)
