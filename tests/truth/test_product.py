"""The product of components: which kinds it plays, and that a false statement fails it."""

from __future__ import annotations

import pytest

from tests.truth import product

#: What a reader expects of "the whole product", by words in the names of kinds.
EXPECTED = [
    "descent", "trackers", "scale-free", "dual", "matrix", "drift proofs", "hindsight",
    "floors", "floors of scores",
    "shifting bounds", "hindsight path", "hindsight, strengths", "EXP3", "EXP3-IX", "Tsallis-INF",
    "contextual bandit", "arms with features", "gradient bandit", "version spaces", "agnostic",
    "elimination", "ranking", "experts", "forecasters", "game", "kernel descent",
]  # fmt: skip


@pytest.mark.parametrize("name", EXPECTED)
def test_the_product_has_this_kind(name: str) -> None:
    assert name in product.KINDS or f"{name}, printed" in product.KINDS
    assert min(product.counts(2000).values()) >= 10


def test_all_kinds_together_are_the_streams_asked_for() -> None:
    assert 1900 <= sum(product.counts(2000).values()) <= 2100


def test_a_false_statement_fails_the_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("NUMBA_DISABLE_JIT", raising=False)
    kind = "version spaces, printed"
    assert product.main(["--count", "100", "--kind", kind]) == 0
    assert ", 0 false, " in capsys.readouterr().out
    monkeypatch.setitem(product.KINDS, kind, lambda seed, index: (1, ["a floor"]))
    assert product.main(["--count", "100", "--kind", kind]) == 1
    assert "FALSE --kind 'version spaces, printed'" in capsys.readouterr().out
