"""All components together against a dense reference: interpreted in full, compiled pairwise."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from scipy.sparse import csr_array

from noregret.mirrors import Mirror
from tests.product.component_product import (
    LOSSES,
    MIRRORS,
    RATES,
    Case,
    cases,
    cover,
    learnt,
    learnt_twice,
    referred,
    stream,
    triples,
)
from tests.sizes import sized

ROOT = Path(__file__).parents[2]


def compare(case: Case, found: dict[str, Any], expected: dict[str, Any]) -> None:
    for name, right in expected.items():
        # Vectors are compared at the size of their largest entry, sums at that of their terms.
        scale = np.abs(right).max(initial=0.0) if isinstance(right, list) else max(abs(right), 1.0)
        slack = 1e-12 * scale if math.isfinite(scale) else 0.0
        assert found[name] == pytest.approx(right, rel=0.0, abs=slack), f"{case}: {name}"


def all_learnt() -> list[dict[str, Any]]:
    """Return what the interpreter makes of each case, in a process that compiles nothing."""
    if numba.config.DISABLE_JIT:
        return [learnt_twice(case, *stream(case.loss.labels)) for case in cases()]
    paths = [str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {
        "NUMBA_DISABLE_JIT": "1",
        "PYTHONPATH": os.pathsep.join(path for path in paths if path),
    }
    run = subprocess.run(
        [sys.executable, "-m", "tests.product.component_product"],
        capture_output=True,
        text=True,
        env=environment,
    )
    assert run.returncode == 0, run.stderr
    return [json.loads(line) for line in run.stdout.splitlines()]


def test_the_full_product_interpreted() -> None:
    """Every accepted combination, kernels and components run by the Python interpreter."""
    outcomes = all_learnt()
    assert len(outcomes) == len(cases()) > sized(150, 500)
    for case, found in zip(cases(), outcomes, strict=True):
        compare(case, found, referred(case, *stream(case.loss.labels)))
        assert found["same"], f"{case}: another outcome without an average"


def classes(case: Case) -> set[Any]:
    """Return what a case compiles by itself: its classes, since fields are only numbers."""
    return {type(case.loss), type(case.mirror), type(case.rate)}


def pairs(case: Case) -> set[Any]:
    """Return the pairs of these."""
    return set(combinations((type(case.loss), type(case.mirror), type(case.rate)), 2))


def covering(parts: Callable[[Case], set[Any]]) -> list[Case]:
    """Choose cases until every part of an accepted one has occurred."""
    return cover([case for case in triples() if not case.conservative], parts)


def compare_compiled(chosen: list[Case]) -> None:
    """Sparse and dense rows, single and double precision, spread over the cases."""
    for number, case in enumerate(chosen):
        X, y, weight = stream(case.loss.labels)
        rows: Any = (csr_array(X.astype(np.float32)), csr_array(X), X)[number % 3]
        compare(case, learnt(case, rows, y, weight), referred(case, X, y, weight))


def test_covers_have_every_class_and_every_pair() -> None:
    assert set().union(*map(classes, covering(classes))) == {
        *map(type, (*LOSSES, *MIRRORS, *RATES))
    }
    covered = set().union(*map(pairs, covering(pairs)))
    for loss, mirror in product(LOSSES, MIRRORS):
        assert (type(loss), type(mirror)) in covered
    for loss, rate in product(LOSSES, RATES):
        assert (type(loss), type(rate)) in covered
    for case in triples():
        assert (type(case.mirror), type(case.rate)) in covered


@pytest.mark.compiled
def test_every_class_compiled() -> None:
    compare_compiled(covering(classes))


@pytest.mark.soak
@pytest.mark.compiled
@pytest.mark.parametrize("mirror", MIRRORS, ids=repr)
def test_every_pair_of_classes_compiled(mirror: Mirror) -> None:
    chosen = [case for case in covering(pairs) if case.mirror == mirror]
    assert len(chosen) >= len(LOSSES)
    compare_compiled(chosen)
