"""The pages of the documentation: blocks run, public names are there; `make site` builds all."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.project.site import PACKAGES, public

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
README = (ROOT / "README.md").read_text(encoding="utf-8")
FENCES = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
PAGES = sorted(DOCS.rglob("*.md"))

# The docs are no package.
sys.path.insert(0, str(DOCS))
executing = importlib.import_module("executing")
sys.path.remove(str(DOCS))
CODE = [page for page in PAGES if executing.blocks(page.read_text(encoding="utf-8"))]


#: Pages that are long for the interpreter; `make docs` runs all of them compiled.
LONG = ("command-line", "index", "liblinear", "multiclass", "sklearn", "tracking", "tutorial")


def _name(page: Path) -> str:
    return str(page.relative_to(DOCS))


def _pages() -> list[Any]:
    return [
        pytest.param(
            page,
            id=_name(page),
            marks=[pytest.mark.compiled] if page.stem in LONG else [],
        )
        for page in CODE
    ]


@pytest.mark.parametrize("page", _pages())
def test_every_block_of_a_page_runs(page: Path, tmp_path: Path) -> None:
    text = page.read_text(encoding="utf-8")
    asked = set(re.findall(r"^(?:from|import) (\w+)", text, re.MULTILINE))
    for extra in ("matplotlib", "sklearn", *sorted({"pandas", "river"} & asked)):
        pytest.importorskip(extra)
    outputs = executing.run(text, tmp_path)
    assert len(outputs) == len(executing.blocks(text))
    assert any(output.text or output.pictures for output in outputs)


def test_the_readme_begins_with_the_two_commands() -> None:
    first = re.search(r"^```sh\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    assert first is not None
    assert [line.split("#")[0].strip() for line in first[1].splitlines()] == [
        "make demo",
        "make test",
    ]
    makefile = (ROOT / "Makefile").read_text()
    assert "\ndemo:" in makefile and "\ntest:" in makefile


@pytest.mark.compiled
def test_the_readme_runs(tmp_path: Path) -> None:
    printed = "".join(output.text for output in executing.run(README, tmp_path))
    for told in (
        "Expectile", "Perceptron", "can have lost less than", "Best in hindsight", "dual value",
        "Proved: no fixed predictor will do.", "Shifting bounds", "best of its members",
        "rounds of EXP3", "3 1\n", "statements that could be checked hold", "every U with ||U||_F",
    ):  # fmt: skip
        assert told in printed, told
    assert "certified floor" in (tmp_path / "digits.html").read_text(encoding="utf-8")
    assert len((tmp_path / "margins.txt").read_text().splitlines()) == 1_797


def test_the_first_screen_of_the_readme_has_everything() -> None:
    """What it is, two commands, a picture, ten lines of each language, the table, the sentence."""
    screen = README[: README.index("\n## ")]
    assert len(screen.splitlines()) <= 80
    assert (ROOT / "docs" / "demo.png").is_file() and 'src="docs/demo.png"' in screen
    assert "**The certificate in one sentence:**" in screen and "| speed" in screen
    by_language = {language: text for language, text in FENCES.findall(screen)}
    assert set(by_language) == {"sh", "python"}
    assert all(8 <= len(text.splitlines()) <= 12 for text in by_language.values())
    targets = re.findall(r"\]\((docs/[^)#]+)\)", README)
    assert targets and all((ROOT / target).is_file() for target in targets)


def test_a_block_that_fails_is_told_by_its_line(tmp_path: Path) -> None:
    with pytest.raises(executing.PageError, match=r"(?s)page: the block on line 3: .*ZeroDivision"):
        executing.run("# a\n```python\n1 / 0\n```\n", tmp_path)
    with pytest.raises(executing.PageError, match="the block on line 2 ended with 3"):
        executing.run("```sh\nexit 3\n```\n", tmp_path)


def test_a_page_may_have_the_name_of_a_package(tmp_path: Path) -> None:
    page = "```python\nimport json, numpy\nprint(json.__name__)\n```\n"
    assert [o.text for o in executing.run(page, tmp_path, name="numpy")] == ["json\n"]


def test_blocks_share_names_and_a_folder(tmp_path: Path) -> None:
    page = (
        "```python\nx = 2\nopen('a.txt', 'w').write('seen\\n')\n```\n"
        "```sh\ncat a.txt\n```\n```sh\nmake test\n```\n```text\nnot run\n```\n"
        "```python\nprint(x + 1, __name__)\n```\n"
    )
    assert [output.text for output in executing.run(page, tmp_path)] == [
        "",
        "seen\n",
        "3 __main__\n",
    ]


def test_all_pages_but_lists_have_an_example() -> None:
    lists = {"changelog.md", "gallery.md", *(_name(page) for page in (DOCS / "api").glob("*.md"))}
    assert {_name(page) for page in PAGES} - {_name(page) for page in CODE} == lists


def test_every_public_name_has_its_place_in_the_reference() -> None:
    reference = "".join(page.read_text(encoding="utf-8") for page in (DOCS / "api").glob("*.md"))
    whole = set(re.findall(r"automodule:: noregret\.(\w+)\n   :members:", reference))
    assert whole == set(PACKAGES)
    named = set(re.findall(r"auto(?:class|function):: noregret\.(\w+)\n", reference))
    package = importlib.import_module("noregret")
    assert set(package.__all__) - whole - named == set()


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_is_listed_and_has_a_docstring(package: str) -> None:
    module = _package(package)
    assert set(public(module)) <= set(dir(module))
    values = {name: getattr(module, name) for name in public(module)}
    spoken = {
        name: value
        for name, value in values.items()
        if inspect.isroutine(value) or inspect.isclass(value)
    }
    assert spoken
    assert [name for name, value in spoken.items() if not value.__doc__] == []


def _package(name: str) -> ModuleType:
    """Return a package of noregret, or skip where the package that it serves is missing."""
    if name in ("river", "sklearn"):
        pytest.importorskip(name)
    return importlib.import_module(f"noregret.{name}")


def test_the_layout_shows_the_layers_that_are_checked() -> None:
    page = (DOCS / "layout.md").read_text(encoding="utf-8")
    shown = re.search(r"^```text\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert shown is not None
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contract = settings["tool"]["importlinter"]["contracts"][0]
    layers = [re.findall(r"\w+", layer) for layer in contract["layers"]]
    assert [line.split(", ") for line in shown[1].splitlines()] == layers


def test_every_picture_is_made_by_one_script_and_shown() -> None:
    shown = set(re.findall(r"/_made/(\w+)\.png", "".join(page.read_text() for page in PAGES)))
    ours = {path.stem for path in (DOCS / "pictures").glob("*.py")}
    gallery = {path.stem for path in (ROOT / "examples" / "gallery").glob("*.py")}
    assert not ours & gallery
    assert ours <= shown <= ours | gallery
