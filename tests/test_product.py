"""All components together against a dense reference: interpreted in full, compiled pairwise."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from component_product import (
    LOSSES,
    MIRRORS,
    RATES,
    Case,
    learnt,
    placed,
    referred,
    stream,
    triples,
)
from scipy.sparse import csr_array

from noregret.mirrors import Mirror

HERE = Path(__file__).parent


def compare(case: Case, found: dict[str, Any], expected: dict[str, Any]) -> None:
    for name, right in expected.items():
        # Vectors are compared at the size of their largest entry, sums at that of their terms.
        scale = np.abs(right).max(initial=0.0) if isinstance(right, list) else max(abs(right), 1.0)
        slack = 1e-12 * scale if math.isfinite(scale) else 0.0
        assert found[name] == pytest.approx(right, rel=0.0, abs=slack), f"{case}: {name}"


def test_the_full_product_interpreted() -> None:
    """Every accepted combination, kernels and components run by the Python interpreter."""
    paths = [str(HERE), str(HERE.parent / "src"), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {
        "NUMBA_DISABLE_JIT": "1",
        "PYTHONPATH": os.pathsep.join(path for path in paths if path),
    }
    run = subprocess.run(
        [sys.executable, "-m", "component_product"], capture_output=True, text=True, env=environment
    )
    assert run.returncode == 0, run.stderr
    lines = run.stdout.splitlines()
    cases = triples() + placed()
    assert len(lines) == len(cases) > 500
    for case, line in zip(cases, lines, strict=True):
        found = json.loads(line)
        compare(case, found, referred(case, *stream(case.loss.labels)))
        assert found["same"], f"{case}: another outcome without an average"


def pairs(case: Case) -> set[tuple[Any, ...]]:
    """Return the pairs that a case compiles: of classes, since fields are only numbers."""
    return set(combinations((type(case.loss), type(case.mirror), type(case.rate)), 2))


def pairwise_cover() -> list[Case]:
    """Choose cases until every accepted pair of loss, map and rate has occurred."""
    left = [case for case in triples() if not case.conservative]
    missing = set().union(*(pairs(case) for case in left))
    cover = []
    while missing:
        best = max(left, key=lambda case: len(pairs(case) & missing))
        cover.append(best)
        missing -= pairs(best)
    return cover


COVER = pairwise_cover()


def test_the_cover_has_every_pair() -> None:
    covered = set().union(*(pairs(case) for case in COVER))
    for loss, mirror in product(LOSSES, MIRRORS):
        assert (type(loss), type(mirror)) in covered
    for loss, rate in product(LOSSES, RATES):
        assert (type(loss), type(rate)) in covered
    for case in triples():
        assert (type(case.mirror), type(case.rate)) in covered


@pytest.mark.parametrize("mirror", MIRRORS, ids=repr)
def test_a_pairwise_cover_compiled(mirror: Mirror) -> None:
    """Sparse and dense rows, single and double precision, spread over the cover."""
    cases = [case for case in COVER if case.mirror == mirror]
    assert len(cases) >= len(LOSSES)
    for number, case in enumerate(cases):
        X, y, weight = stream(case.loss.labels)
        rows: Any = (csr_array(X.astype(np.float32)), csr_array(X), X)[number % 3]
        compare(case, learnt(case, rows, y, weight), referred(case, X, y, weight))
