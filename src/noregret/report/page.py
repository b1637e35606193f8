"""One HTML file that needs nothing else: numbers, pictures, and the certificate in words."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from noregret.report.figures import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_STYLE = """
:root { color-scheme: light dark; --ink: #0f172a; --soft: #475569; --line: #e2e8f0;
  --paper: #f8fafc; --sheet: #fff; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e2e8f0; --soft: #a3b1c6; --line: #2b3648; --paper: #0b1220; --sheet: #131c2e; }
  figure svg { filter: invert(1) hue-rotate(180deg); }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
main { max-width: 62rem; margin: 0 auto; padding: 2.5rem 1.25rem 4rem; }
h1 { font-size: 1.7rem; margin: 0 0 .25rem; letter-spacing: -.01em; overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; margin: 2.5rem 0 .75rem; }
p.lead { color: var(--soft); margin: 0 0 1.75rem; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: .75rem; }
.card { background: var(--sheet); border: 1px solid var(--line); border-radius: .6rem;
  padding: .8rem 1rem; }
.card b { display: block; font-size: 1.45rem; font-variant-numeric: tabular-nums;
  overflow-wrap: anywhere; }
.card span { color: var(--soft); font-size: .85rem; }
.statement { background: var(--sheet); border-left: 4px solid #ca6702; padding: .8rem 1.1rem;
  margin: 1.5rem 0; border-radius: 0 .6rem .6rem 0; }
figure { margin: 0 0 1.25rem; background: var(--sheet); border: 1px solid var(--line);
  border-radius: .6rem; padding: 1rem; overflow-x: auto; }
figure svg { width: 100%; min-width: 32rem; height: auto; display: block; }
pre { background: var(--sheet); border: 1px solid var(--line); border-radius: .6rem; padding: 1rem;
  overflow-x: auto; font: .82rem/1.5 ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
table { border-collapse: collapse; width: 100%; background: var(--sheet); }
td { border-bottom: 1px solid var(--line); padding: .4rem .6rem; vertical-align: top;
  overflow-wrap: anywhere; }
td:first-child { color: var(--soft); white-space: nowrap; width: 1%; }
footer { color: var(--soft); font-size: .85rem; margin-top: 3rem; }
"""
_PROLOGUE = re.compile(r"^.*?(?=<svg)", re.DOTALL)
_METADATA = re.compile(r"<metadata>.*?</metadata>", re.DOTALL)


@dataclass(frozen=True)
class Card:
    """A number that is shown large, and what it is."""

    value: str
    title: str


@dataclass(frozen=True)
class Picture:
    """A figure by its short name, which is also that of its file."""

    name: str
    figure: Figure

    def svg(self) -> str:
        """Return the figure as an element of an HTML page."""
        text = io.StringIO()
        with style():
            # The ground is the page's own, light or dark.
            self.figure.savefig(text, format="svg", metadata={"Date": None}, transparent=True)
        inner = _METADATA.sub("", _PROLOGUE.sub("", text.getvalue()))
        # Several figures share a page: the names inside must not meet.
        inner = re.sub(r'id="([^"]+)"', rf'id="{self.name}-\1"', inner)
        inner = re.sub(r'href="#([^"]+)"', rf'href="#{self.name}-\1"', inner)
        return re.sub(r"url\(#([^)]+)\)", rf"url(#{self.name}-\1)", inner)

    def png(self) -> bytes:
        """Return the figure as a PNG file."""
        data = io.BytesIO()
        with style():
            self.figure.savefig(data, format="png", metadata={"Software": None})
        return data.getvalue()


def page(
    title: str,
    lead: str,
    cards: Sequence[Card],
    statement: str,
    pictures: Sequence[Picture],
    certificate: str,
    facts: Sequence[tuple[str, str]],
) -> str:
    """Return the whole page as text.

    >>> "<b>0.31</b>" in page("a", "b", [Card("0.31", "loss")], "c", [], "d", [("e", "<f>")])
    True
    """
    shown = "".join(
        f'<div class="card"><b>{escape(card.value)}</b><span>{escape(card.title)}</span></div>'
        for card in cards
    )
    drawn = "".join(f"<figure>{picture.svg()}</figure>" for picture in pictures)
    rows = "".join(f"<tr><td>{escape(a)}</td><td>{escape(b)}</td></tr>" for a, b in facts)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body><main>"
        f'<h1>{escape(title)}</h1><p class="lead">{escape(lead)}</p>'
        f'<div class="cards">{shown}</div>'
        f'<p class="statement">{escape(statement)}</p>'
        f"{drawn}"
        f"<h2>The certificate</h2><pre>{escape(certificate)}</pre>"
        f"<h2>The run</h2><table>{rows}</table>"
        "<footer>Floors are rounded down and bounds up: what is printed here is proved for these "
        "examples, whatever they are. Made by noregret.</footer></main></body></html>\n"
    )
