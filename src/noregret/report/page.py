"""One HTML file that needs nothing else: numbers, pictures, and the certificate in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from noregret.report.pictures import Picture

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
.charts { display: grid; gap: 1rem; align-items: start;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); }
figure { margin: 0; min-width: 0; background: var(--sheet); border: 1px solid var(--line);
  border-radius: .6rem; padding: 1rem; }
figure.wide { grid-column: 1 / -1; }
figcaption { color: var(--soft); font-size: .85rem; line-height: 1.4; margin-bottom: .6rem;
  overflow-wrap: anywhere; }
figcaption b { display: block; color: var(--ink); font-size: 1rem; }
figure svg { width: 100%; height: auto; display: block; }
pre { white-space: pre-wrap; overflow-wrap: anywhere;
  background: var(--sheet); border: 1px solid var(--line); border-radius: .6rem; padding: 1rem;
  font: .82rem/1.5 ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
table { border-collapse: collapse; width: 100%; background: var(--sheet); }
td { border-bottom: 1px solid var(--line); padding: .4rem .6rem; vertical-align: top;
  overflow-wrap: anywhere; }
td:first-child { color: var(--soft); white-space: nowrap; width: 1%; }
@media (max-width: 30rem) {
  main { padding: 1.25rem .75rem 2.5rem; }
  .cards { grid-template-columns: 1fr 1fr; gap: .5rem; }
  .card, figure { padding: .6rem .7rem; }
  td:first-child { white-space: normal; overflow-wrap: break-word; }
  pre { font-size: .7rem; padding: .6rem .7rem; }
}
footer { color: var(--soft); font-size: .85rem; margin-top: 3rem; }
"""


@dataclass(frozen=True)
class Card:
    """A number that is shown large, and what it is."""

    value: str
    title: str


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
    drawn = "".join(
        f"<figure{' class=wide' * picture.wide}><figcaption><b>{escape(picture.title)}</b>"
        f"{escape(picture.note)}</figcaption>{picture.svg()}</figure>"
        for picture in pictures
    )
    rows = "".join(f"<tr><td>{escape(a)}</td><td>{escape(b)}</td></tr>" for a, b in facts)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body><main>"
        f'<h1>{escape(title)}</h1><p class="lead">{escape(lead)}</p>'
        f'<div class="cards">{shown}</div>'
        f'<p class="statement">{escape(statement)}</p>'
        f'<div class="charts">{drawn}</div>'
        f"<h2>The certificate</h2><pre>{escape(certificate)}</pre>"
        f"<h2>The run</h2><table>{rows}</table>"
        "<footer>Floors are rounded down and bounds up: what is printed here is proved for these "
        "examples, whatever they are. Made by noregret.</footer></main></body></html>\n"
    )
