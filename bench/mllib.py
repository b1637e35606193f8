"""Spark MLlib on two cores of this machine: a session, rows in its cache, fits.

MLlib's LinearSVC minimises mean hinge + (regParam/2) ||w||^2 by OWLQN, its LogisticRegression the
same with the logistic loss by L-BFGS. Both scale the features to unit variance inside; with
standardization=False the penalty is that of the features as given. A feature without variance gets
the weight 0. Read in Spark's HingeBlockAggregator.scala, DifferentiableRegularization.scala.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]


def session(memory: str, folder: str) -> Any:
    """Return a Spark session on two cores of this machine."""
    from pyspark.sql import SparkSession

    options = {
        "spark.driver.memory": memory,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.local.dir": folder,
        "spark.log.level": "ERROR",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # Rows may be dealt to partitions in any order.
        "spark.sql.execution.sortBeforeRepartition": "false",
    }
    return SparkSession.builder.master("local[2]").config(map=options).getOrCreate()


def write_rows(X: Any, y: Vector, path: str) -> None:
    """Write a CSR matrix and its labels as Parquet, in the columns of Spark's sparse vectors."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    count, width = X.shape
    ends = pa.array(X.indptr.astype(np.int32))
    columns = {
        "type": pa.array(np.zeros(count, np.int8)),
        "size": pa.array(np.full(count, width, np.int32)),
        "indices": pa.ListArray.from_arrays(ends, pa.array(X.indices.astype(np.int32))),
        "values": pa.ListArray.from_arrays(ends, pa.array(X.data.astype(np.float64))),
    }
    vectors = pa.StructArray.from_arrays(list(columns.values()), names=list(columns))
    table = pa.table({"label": (y > 0.0).astype(np.float64), "features": vectors})
    pq.write_table(table, path, compression="NONE", use_dictionary=False, row_group_size=20_000)


def cached(spark: Any, path: str, partitions: int) -> Any:
    """Return the rows as a DataFrame in Spark's cache."""
    from pyspark.ml.linalg import VectorUDT
    from pyspark.sql.types import DoubleType, StructField, StructType

    fields = StructField("label", DoubleType()), StructField("features", VectorUDT())
    frame = spark.read.schema(StructType(list(fields))).parquet(path)
    frame = frame.repartition(partitions).persist()
    frame.count()
    return frame


def fit_spark(
    frame: Any, word: str, penalty: float, iterations: int, block: float, depth: int
) -> Any:
    """Return MLlib's model after a number of iterations."""
    from pyspark.ml.classification import LinearSVC, LogisticRegression

    kind = {"hinge": LinearSVC, "logistic": LogisticRegression}[word]
    return kind(
        maxIter=iterations, regParam=penalty, tol=0.0, fitIntercept=False, standardization=False,
        aggregationDepth=depth, maxBlockSizeInMB=block,
    ).fit(frame)  # fmt: skip


def history(model: Any) -> Vector:
    """Return MLlib's own values of its objective: at 0, then after each iteration."""
    summary = model.summary() if callable(model.summary) else model.summary
    return np.array(list(summary.objectiveHistory))
