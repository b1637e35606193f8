"""Learners as estimators of River: dictionaries in, one example after the other.

They take River's own kind of input (`learn_one`, `predict_one`, `learn_many`, pipelines, metrics)
and keep what noregret adds: nothing to tune by default, and a certificate at every moment. The
other way round `nr.read` reads any stream of River's data sets.
"""

from noregret.extras import require_extra

require_extra("noregret.river", "river", "river")

from noregret.river.estimators import OnlineClassifier, OnlineRegressor  # noqa: E402

__all__ = ["OnlineClassifier", "OnlineRegressor"]
