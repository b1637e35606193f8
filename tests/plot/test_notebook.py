"""What a prompt and a notebook show: one line for `repr`, the certificate for HTML."""

from __future__ import annotations

import types
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret import bandits, experts
from noregret.proof.statement import Proof

_NAMES = (
    *("MirrorDescent", "DualAscent", "Aggregate", "MatrixDescent", "Ranker", "Exp3", "Hedge"),
    *("Solution", "DriftProof"),
)


def _examples() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    return X, np.where(X[:, 0] > 0.0, 1.0, -1.0)


def _learner() -> nr.MirrorDescent:
    return nr.MirrorDescent(nr.losses.Hinge(), nr.mirrors.Ball(2.0), nr.rates.Constant(0.5))


def _things() -> list[Any]:
    X, y = _examples()
    learners = [
        _learner(),
        nr.DualAscent(nr.losses.Hinge(), nr.mirrors.Euclidean(), C=0.5),
        nr.Aggregate([_learner(), _learner()]),
        nr.MatrixDescent(nr.losses.Softmax(), outputs=2),
    ]
    for learner in learners[:3]:
        learner.learn(X, y)
    learners[3].learn(X, (y > 0.0).astype(float))
    ranker = nr.Ranker()
    ranker.learn(X[:4], [1, 0, 1, 0], qid=[1, 1, 2, 2])
    bandit = bandits.Exp3(3)
    bandit.play(np.random.default_rng(1).random((9, 3)))
    hedge = experts.Hedge(3)
    hedge.learn(np.ones((5, 3)))
    solved = [nr.hindsight(X, y, nr.losses.Hinge(), l2=1.0), nr.drift_proof(X, y, radius=1.0)]
    return [*learners, ranker, bandit, hedge, *solved]


@dataclass(frozen=True)
class Negative(nr.losses.Loss):
    """Below 0 at one label only, where nobody looks beforehand."""

    labels = "real"

    def value(self, y: float, p: float) -> float:
        return -1.0 if y == 77.0 else 0.5 * (y - p) ** 2

    def slope(self, y: float, p: float) -> float:
        return 0.0 if y == 77.0 else p - y


class _Tags(HTMLParser):
    """Refuses tags that do not close in turn."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def _read(html: str) -> str:
    page = _Tags()
    page.feed(html)
    assert page.open == []
    return page.text


@pytest.fixture(scope="module")
def things() -> dict[str, Any]:
    return {type(thing).__name__: thing for thing in _things()}


@pytest.mark.parametrize("name", _NAMES)
def test_a_repr_is_one_line_without_arrays(name: str, things: dict[str, Any]) -> None:
    thing = things[name]
    proof = thing if isinstance(thing, Proof) else thing.certificate()
    for one in (thing, proof):
        text = repr(one)
        assert text.startswith(f"<{type(one).__name__}") and text.endswith(">")
        assert "\n" not in text and "array(" not in text and " at 0x" not in text
        assert len(text) < 200


@pytest.mark.parametrize("name", _NAMES)
def test_html_holds_the_whole_text_of_the_certificate(name: str, things: dict[str, Any]) -> None:
    thing = things[name]
    proof = thing if isinstance(thing, Proof) else thing.certificate()
    text = _read(thing._repr_html_())
    assert all(line in text for line in proof.text().splitlines())


def test_a_repr_tells_the_parts_the_rounds_and_a_floor_that_is_true() -> None:
    X, y = _examples()
    learner = nr.MirrorDescent(
        nr.losses.Logistic(), nr.mirrors.Euclidean(), nr.rates.Constant(0.5), averaging=False
    )
    made = "MirrorDescent(Logistic(), Euclidean(), Constant(eta=0.5), averaging=False)"
    assert repr(learner) == f"<{made}: 0 rounds>"
    learner.learn(X, y)
    certificate = learner.certificate()
    words = repr(learner)
    assert words.startswith(f"<{made}: 60 rounds, average loss ")
    shown = float(words.partition("floor ")[2].split()[0])
    assert 0.0 < shown <= certificate.floor() / 60 < shown + 1e-3


def test_a_broken_promise_is_said_in_place_of_a_floor() -> None:
    learner = nr.MirrorDescent(Negative(), nr.mirrors.Euclidean(), nr.rates.Constant(0.1))
    learner.learn([[1.0]], [77.0])
    assert "no statement: Negative broke its promise" in repr(learner)
    assert "floor" not in repr(learner)


def test_names_in_html_are_escaped() -> None:
    class Marked(nr.losses.Squared):
        def __repr__(self) -> str:
            return "<script>"

    learner = nr.MirrorDescent(Marked(), nr.mirrors.Euclidean(), nr.rates.Constant(0.1))
    assert "MirrorDescent(<script>, " in repr(learner)
    assert "<script>" not in learner._repr_html_() and "&lt;script&gt;" in learner._repr_html_()


def test_dir_shows_what_is_public() -> None:
    names = [name for name in dir(nr) if not name.startswith("__")]
    assert sorted(nr.__all__) == names
    assert not any(isinstance(getattr(nr, name), types.BuiltinFunctionType) for name in names)
    assert "importlib" not in names and "Any" not in names
