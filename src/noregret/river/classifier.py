"""A classifier for River: two classes, and more as they appear."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np
from river import base

from noregret.arguments import ArgumentError
from noregret.learners import MirrorDescent
from noregret.learners.matrix import MatrixDescent
from noregret.losses import Loss, ScoreLoss
from noregret.losses.links import chances
from noregret.mirrors import Mirror
from noregret.rates import Rate
from noregret.river.features import FeatureColumns, Measured, growing
from noregret.rows.examples import as_weights
from noregret.scoring.growing import segments
from noregret.scoring.labels import with_labels
from noregret.scoring.scorer import Scorer
from noregret.turns import one_at_a_time
from noregret.vocabulary.words import spec

if TYPE_CHECKING:
    import pandas as pd


class OnlineClassifier(Measured, base.MiniBatchClassifier):
    """Linear classification by mirror descent, with a certificate.

    By default nothing is to be tuned and no scaler needed: features count in units of their own
    sizes. Labels may be anything hashable. Up to two are learnt by one vector of weights; when a
    third appears this becomes one vector a class, one against the rest, and nothing is forgotten.

    Parameters: `loss`, `rate` and `mirror` are words of `nr.words`, or objects of noregret: the
    loss one of two classes, as "hinge:0.5", or of the scores of all classes, as "softmax"; the
    map one that need not know its features in advance. `fit_intercept` adds a feature that is
    always 1; None and NaN are refused, or with
    `missing="indicator"` the feature "name=missing".

    >>> from river import datasets, metrics
    >>> model, accuracy = OnlineClassifier(), metrics.Accuracy()
    >>> for x, y in datasets.Phishing():
    ...     accuracy.update(y, model.predict_one(x))
    ...     model.learn_one(x, y)
    >>> accuracy.get() > 0.87, model.certificate().rounds
    (True, 1250)
    """

    def __init__(
        self,
        loss: str | Loss | ScoreLoss = "logistic",
        rate: str | Rate = "scale-free",
        mirror: str | Mirror = "euclidean",
        fit_intercept: bool = True,
        missing: str = "refuse",
    ) -> None:
        self.loss = spec(loss, "loss")
        self.rate: Rate = spec(rate, "rate")
        self.mirror: Mirror = spec(mirror, "mirror")
        self.fit_intercept = fit_intercept
        self.missing = missing
        self._features = FeatureColumns(fit_intercept, missing)
        #: What the learner calls every label: -1 and +1, or 0, 1, 2, ... once there are scores.
        self._targets: dict[Any, float] = {}
        self._labels: tuple[Any, ...] = ()
        if isinstance(self.loss, ScoreLoss):
            self._scorer = Scorer(MatrixDescent(self.loss, self.mirror, self.rate))
        else:
            if self.loss.labels != "sign":
                raise ArgumentError("loss", "is for real targets, expected one of classes", loss)
            self._scorer = Scorer(growing(MirrorDescent(self.loss, self.mirror, self.rate)))

    @property
    def _multiclass(self) -> bool:
        return True

    @property
    def classes(self) -> list[Any]:
        """The labels known so far."""
        return list(self._targets)

    @property
    def rounds(self) -> int:
        """How many examples were learnt."""
        return self._scorer.rounds

    def certificate(self) -> Any:
        """Return what the examples so far prove, see `nr.Certificate`."""
        return self._scorer.certificate()

    @property
    def weights(self) -> dict[str, Any]:
        """The weights by the names of the features: a number, or one a class.

        With two classes a positive one speaks for the second of `classes`.
        """
        return self._features.named(self._scorer.learner.weights)

    @one_at_a_time
    def learn_one(self, x: Mapping[Any, Any], y: Any, w: float = 1.0) -> None:
        """Learn one example of weight w."""
        target, scorer = self._targets.get(y), self._scorer
        if target is not None:
            # Without a calibration the learner itself is quicker.
            taught = scorer.learner if scorer.platt is None else scorer
            self._features.teach(taught, x, target, w)
            return
        # What would be refused must not bring a label.
        self._features.by_rules(x, grow=False)
        as_weights(w, 1)
        with self._admitted(y):
            self._features.teach(self._scorer, x, self._targets[y], w)

    def predict_one(self, x: Mapping[Any, Any], **options: Any) -> Any:
        """Return the label, None before there is any."""
        labels = self._labels
        if len(labels) < 2:
            return labels[0] if labels else None
        score = self._features.ask(self._scorer.learner, x)
        return labels[int(score > 0.0) if isinstance(score, float) else int(score.argmax())]

    def predict_proba_one(self, x: Mapping[Any, Any], **options: Any) -> dict[Any, float]:
        """Return the probability of every label; hinges have Platt's, see `Platt`."""
        labels, scorer = self._labels, self._scorer
        if len(labels) < 2:
            return dict.fromkeys(labels, 1.0)
        score = self._features.ask(scorer.learner, x)
        single = isinstance(score, float)
        if single and scorer.platt is None:
            first, second = labels
            less, more = chances(score)
            return {first: less, second: more}
        found = scorer.probabilities(np.array([score]) if single else score[np.newaxis])
        return dict(zip(labels, found[0].tolist(), strict=True))

    @one_at_a_time
    def learn_many(self, X: pd.DataFrame, y: pd.Series, w: Any = 1.0) -> None:
        """Learn the rows of a data frame one after the other; w is a number or one a row."""
        labels = list(y)
        if len(labels) != len(X):
            raise ValueError(f"y has {len(labels)} labels, expected {len(X)}: one a row of X")
        known = with_labels(self._targets, labels)
        weight = as_weights(w if np.ndim(w) else [w] * len(X), len(X))
        self._scorer.require_more(len(known))
        codes = np.array([known[label] for label in labels], np.intp)
        with self._features.forgotten_if_refused(self):
            rows = self._features.rows(X, grow=True)
            for start, stop in segments(codes, len(self._targets)):
                new = labels[start] not in self._targets
                with self._admitted(labels[start]) if new else nullcontext():
                    part = slice(start, stop)
                    self._scorer.learn(rows.part(start, stop), codes[part], weight[part])

    def predict_many(self, X: pd.DataFrame) -> pd.Series:
        """Return the labels of the rows of a data frame, None before there is any."""
        import pandas as pd

        labels = list(self._targets)
        if len(labels) < 2:
            return pd.Series((labels or [None]) * len(X), index=X.index)
        scores = self._scorer.learner.predict(self._features.rows(X, grow=False))
        best = scores > 0.0 if scores.ndim == 1 else scores.argmax(axis=1)
        return pd.Series([labels[int(k)] for k in best], index=X.index)

    def predict_proba_many(self, X: pd.DataFrame) -> pd.DataFrame:
        """Return the probabilities of the rows of a data frame, one column a label."""
        import pandas as pd

        labels = list(self._targets)
        if len(labels) < 2:
            return pd.DataFrame(np.ones((len(X), len(labels))), index=X.index, columns=labels)
        scores = self._scorer.learner.predict(self._features.rows(X, grow=False))
        chances = self._scorer.probabilities(scores)
        return pd.DataFrame(chances, index=X.index, columns=labels)

    @contextmanager
    def _admitted(self, label: Any) -> Iterator[None]:
        """Give a new label its target, and take it back if no row of it is learnt."""
        known = with_labels(self._targets, [label])
        self._scorer.require_more(len(known))
        # Copied for new labels only: a third one makes another learner, and all have a score each.
        before, scorer = (self._targets, self._labels), copy.deepcopy(self._scorer)
        self._scorer.grow(len(known))
        self._targets = {one: self._scorer.target(code) for one, code in known.items()}
        self._labels = tuple(known)
        try:
            yield
        except (OverflowError, ValueError):
            if self._scorer.rounds == scorer.rounds:
                (self._targets, self._labels), self._scorer = before, scorer
            raise
