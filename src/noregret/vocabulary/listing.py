"""The words for losses, maps, rates and learners, listed with what may follow each."""

from __future__ import annotations

from noregret.arguments import ArgumentError, meant
from noregret.vocabulary.presets import MIXTURE, PRESETS
from noregret.vocabulary.words import Word, listed

#: Whose words are listed.
KINDS = ("loss", "mirror", "rate", "learner")


def words(kind: str) -> list[Word]:
    """Return the words of a kind, each with what may follow it and a line about it.

    Args:
        kind: "loss", "mirror", "rate" or "learner".

    >>> constant = next(word for word in words("rate") if word.name == "constant")
    >>> constant.usage, constant.about
    ('constant[:eta=1]', 'The constant rate eta, above 0 [default: 1].')
    """
    if kind not in KINDS:
        raise ArgumentError("kind", f"expected one of {', '.join(KINDS)}{meant(kind, KINDS)}", kind)
    if kind != "learner":
        return listed(kind)
    usual = {"loss": "logistic", "rate": MIXTURE}
    return [
        Word(name, name, ", ".join(f"{key} {value}" for key, value in (settings or usual).items()))
        for name, settings in PRESETS.items()
    ]
