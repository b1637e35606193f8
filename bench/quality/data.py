"""The real streams: sparse rows and labels, the same features for every tool.

Every column of a file is a feature: numbers as they are, each text of a column of texts as a
feature of value 1. Rows keep the order of the file. Nothing is scaled, and zeros are left out.
"""

from __future__ import annotations

import gzip
import lzma
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy.sparse as sp

from bench.reuters import text

#: Features in other units: each times a number between these, evenly spread in its logarithm.
LEAST_UNIT, LARGEST_UNIT = 1e-3, 1e3
#: Spambase, mushrooms and splice are sorted by class or kind, and are shuffled, by this seed.
SEED = 20130101
#: Minutes after which a flight counts as late.
LATE = 15


@dataclass(frozen=True)
class Stream:
    """Rows in order: a CSR matrix without an intercept and what is to be predicted.

    Labels are -1/+1, class numbers 0, 1, ... where there are more than two `outputs`, or real
    targets where `classes` is false.
    """

    name: str
    rows: sp.csr_matrix
    y: npt.NDArray[np.float64]
    classes: bool
    outputs: int = 1

    def head(self, rows: int | None) -> Stream:
        """Return the first rows, or all."""
        return replace(self, rows=self.rows[:rows], y=self.y[:rows])

    def with_rows(self, rows: sp.csr_matrix) -> Stream:
        """Return the same labels with other rows."""
        return replace(self, rows=rows)

    def in_other_units(self) -> Stream:
        """Return the same examples with every feature in a unit of its own, by the seed."""
        random = np.random.default_rng(SEED)
        ends = np.log([LEAST_UNIT, LARGEST_UNIT])
        units = np.exp(random.uniform(*ends, self.rows.shape[1]))
        return replace(self, rows=sp.csr_matrix(self.rows @ sp.diags(units)))

    def describe(self) -> str:
        """Return the shape in words."""
        kind = "classes" if self.classes else "targets"
        kind = f"{self.outputs} classes" if self.outputs > 1 else kind
        count, width = self.rows.shape
        return f"{self.name}: {count:,} rows, {width:,} features, {self.rows.nnz:,} entries, {kind}"


def folder() -> Path:
    """Return the directory of the data sets, named by the variable NOREGRET_DATA."""
    return Path(os.environ["NOREGRET_DATA"])


def _table(path: str) -> pd.DataFrame:
    return pd.read_csv(folder() / path)


def columns(table: pd.DataFrame) -> sp.csr_matrix:
    """Return numbers as columns and texts as indicators; a blank is a feature that is absent."""
    parts = []
    for name in table.columns:
        column = table[name]
        if pd.api.types.is_numeric_dtype(column):
            parts.append(sp.csc_matrix(column.fillna(0.0).to_numpy(np.float64)[:, None]))
            continue
        codes, texts = pd.factorize(column)
        rows = np.flatnonzero(codes >= 0)
        shape = (len(table), len(texts))
        parts.append(sp.csc_matrix((np.ones(len(rows)), (rows, codes[rows])), shape))
    result = sp.csr_matrix(sp.hstack(parts, format="csr"))
    result.sort_indices()
    return result


def signs(positive: npt.NDArray[np.bool_] | pd.Series) -> npt.NDArray[np.float64]:
    return np.where(np.asarray(positive, bool), 1.0, -1.0)


def _csv(name: str, path: str, target: str, positive: object) -> Stream:
    table = _table(path)
    return Stream(name, columns(table.drop(columns=target)), signs(table[target] == positive), True)


def _svmlight(name: str, path: str, positive: float) -> Stream:
    from sklearn.datasets import load_svmlight_file

    with lzma.open(folder() / path) as file:
        rows, y = load_svmlight_file(file, zero_based=False)
    rows.eliminate_zeros()
    return Stream(name, sp.csr_matrix(rows), signs(y == positive), True)


def shuffled(stream: Stream) -> Stream:
    order = np.random.default_rng(SEED).permutation(len(stream.y))
    return replace(stream, rows=stream.rows[order], y=stream.y[order])


def _spambase() -> Stream:
    path = "spambase/spambase"
    return shuffled(_csv("spambase", f"{path}.csv.xz", _last(path), "spam"))


def _reuters(category: str) -> Stream:
    """The training half of Reuters, in its order: a topic, from the words of title and body."""
    documents = [document for document in text.read(folder()) if document.training]
    rows = sp.csr_matrix(text.occurrences(documents, "letters", "merged", None).X)
    return Stream(category, rows, text.labels(documents, category), True)


def _last(path: str) -> str:
    """Return the name of the last column."""
    with lzma.open(folder() / f"{path}.csv.xz", "rt") as file:
        return file.readline().strip().rpartition(",")[2]


def _flights() -> Stream:
    """Late arrival, from what the schedule says; flights that never arrived are left out."""
    table = _table("nycflights13/flights.csv.xz")
    table = table[table["arr_delay"].notna()]
    late = table["arr_delay"] > LATE
    unknown = ["dep_time", "dep_delay", "arr_time", "arr_delay", "air_time"]
    return Stream("nycflights13", columns(table.drop(columns=unknown)), signs(late), True)


def _regression(name: str, path: str, target: str, drop: tuple[str, ...] = ()) -> Stream:
    table = _table(path)
    y = table[target].to_numpy(np.float64)
    return Stream(name, columns(table.drop(columns=[target, *drop])), y, False)


def numbered(name: str, table: pd.DataFrame, target: str) -> Stream:
    """Return the classes of a column as numbers, in the order of their names."""
    names, y = np.unique(table[target], return_inverse=True)
    rows = columns(table.drop(columns=target))
    return Stream(name, rows, y.astype(np.float64), True, len(names))


def _gas() -> Stream:
    """Six gases by 128 sensor features and the concentration; the batch is not for learning."""
    table = _table("gas_drift/gas_drift_batches_1-6_8_9.csv.xz")
    return numbered("gas_drift", table.drop(columns="batch"), "gas")


def _mnist() -> Stream:
    """Ten digits by 784 grey values of 0 to 255."""

    def numbers(name: str, header: int) -> npt.NDArray[np.float64]:
        with gzip.open(folder() / "mnist_t10k" / name) as file:
            return np.frombuffer(file.read(), np.uint8, offset=header).astype(np.float64)

    y = numbers("t10k-labels-idx1-ubyte.gz", 8)
    pixels = numbers("t10k-images-idx3-ubyte.gz", 16).reshape(len(y), -1)
    return Stream("mnist_t10k", sp.csr_matrix(pixels), y, True, 10)


STREAMS: dict[str, Callable[[], Stream]] = {
    "elec2": lambda: _csv("elec2", "elec2/elec2.csv.xz", "class", "UP"),
    "covtype": lambda: _csv("covtype", "covtype/covtype.csv.xz", _last("covtype/covtype"), 2),
    "a9a": lambda: _svmlight("a9a", "a9a/a9a.svm.xz", 1.0),
    "phishing": lambda: _svmlight("phishing", "phishing/phishing.svm.xz", 1.0),
    "spambase": _spambase,
    "sea": lambda: _csv("sea", "sea/sea.csv.xz", "class", 1),
    "usenet": lambda: _csv("usenet", "usenet/usenet.csv.xz", "class", 1),
    "rcv1_small": lambda: _svmlight("rcv1_small", "rcv1_small/rcv1_small.svm.xz", 1.0),
    "nycflights13": _flights,
    "bike_sharing": lambda: _regression(
        "bike_sharing", "bike_sharing/bike_sharing_hour.csv.xz", "cnt", ("casual", "registered")
    ),
    "california": lambda: _regression(
        "california", "california_housing/cal_housing.csv.xz", "median_house_value"
    ),
    "mushrooms": lambda: shuffled(_svmlight("mushrooms", "mushrooms/mushrooms.svm.xz", 1.0)),
    "splice": lambda: shuffled(_svmlight("splice", "splice/splice.svm.xz", 1.0)),
    "earn": lambda: _reuters("earn"),
    "crude": lambda: _reuters("crude"),
    "abalone": lambda: _regression("abalone", "abalone/abalone.csv.xz", "rings"),
    "ccpp": lambda: _regression("ccpp", "ccpp/ccpp.csv.xz", "PE"),
    "trump_approval": lambda: _regression(
        "trump_approval", "trump_approval/trump_approval.csv.gz", "five_thirty_eight"
    ),
    "covtype7": lambda: numbered(
        "covtype7", _table("covtype/covtype.csv.xz"), _last("covtype/covtype")
    ),
    "mnist_t10k": _mnist,
    "gas_drift": _gas,
}


def load(name: str) -> Stream:
    """Return the stream of that name."""
    if name not in STREAMS:
        raise ValueError(f"no stream {name!r}: one of {', '.join(STREAMS)}")
    return STREAMS[name]()
