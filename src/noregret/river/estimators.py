"""Estimators for River: a classifier of two classes, and more as they appear; a regressor."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np
from river import base

from noregret.arguments import ArgumentError
from noregret.learners import MatrixDescent, MirrorDescent
from noregret.losses import Loss, ScoreLoss
from noregret.losses.links import chances
from noregret.mirrors import Mirror
from noregret.proof.certificate import Certificate
from noregret.rates import Rate
from noregret.river.features import FeatureColumns
from noregret.rows.examples import as_labels, as_weights
from noregret.scoring.growing import segments, with_labels
from noregret.scoring.scorer import Scorer
from noregret.turns import one_at_a_time
from noregret.vocabulary.words import spec

if TYPE_CHECKING:
    import pandas as pd


class RiverEstimator:
    """What the two estimators share: parameters, the columns of features, sizes and pickles."""

    def __init__(
        self, loss: Any, rate: Any, mirror: Any, fit_intercept: bool, missing: str, blocks: bool
    ) -> None:
        self.loss = spec(loss, "loss")
        self.rate: Rate = spec(rate, "rate")
        self.mirror: Mirror = spec(mirror, "mirror")
        self.fit_intercept = fit_intercept
        self.missing = missing
        self.blocks = blocks
        self._features = FeatureColumns(fit_intercept, missing)

    def _descent(self) -> MirrorDescent:
        """Return a learner of one score; ValueError if it cannot take features as they come."""
        learner = MirrorDescent(self.loss, self.mirror, self.rate, blocks=self.blocks)
        if not learner.growable:
            raise ValueError(
                f"{learner.mirror} must know its features in advance, and those of a dictionary "
                "come as they please"
            )
        return learner

    @property
    def _raw_memory_usage(self) -> int:
        """Return the memory usage in bytes: that of the estimator as it would be stored.

        River walks through all that an object refers to, and from compiled code one comes
        everywhere.
        """
        return len(pickle.dumps(self))

    def __getstate__(self) -> dict[str, Any]:
        """Return what was learnt, to which whose turn it is to learn does not belong."""
        return {name: value for name, value in vars(self).items() if name != "_learning_turn"}


class OnlineClassifier(RiverEstimator, base.MiniBatchClassifier):
    """Linear classification by mirror descent, with a certificate.

    By default nothing is to be tuned and no scaler needed: features count in units of their own
    sizes. It is one learner, with the rate "scale-free": a mixture, as `nr.Mixture` and the
    estimators for scikit-learn, takes some 0.3 ms for a row. Labels may be anything hashable. Up
    to two are learnt by one vector of weights; when a third appears this becomes one vector a
    class, one against the rest, and nothing is forgotten.

    Parameters: `loss`, `rate` and `mirror` are words of `nr.words`, or objects of noregret: the
    loss one of two classes, as "hinge:0.5", or of the scores of all classes, as "softmax"; the
    map one that need not know its features in advance. `fit_intercept` adds a feature that is
    always 1; None and NaN are refused, or with
    `missing="indicator"` the feature "name=missing". `blocks` raises the floor of the certificate
    by lines under blocks of rows, for about 1 us a row more.

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
        blocks: bool = False,
    ) -> None:
        super().__init__(loss, rate, mirror, fit_intercept, missing, blocks)
        #: What the learner calls every label: -1 and +1, or 0, 1, 2, ... once there are scores.
        self._targets: dict[Any, float] = {}
        self._labels: tuple[Any, ...] = ()
        if isinstance(self.loss, ScoreLoss):
            self._scorer = Scorer(
                MatrixDescent(self.loss, self.mirror, self.rate, blocks=self.blocks)
            )
        elif self.loss.labels == "sign":
            self._scorer = Scorer(self._descent())
        else:
            raise ArgumentError("loss", "is for real targets, expected one of classes", loss)

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


class OnlineRegressor(RiverEstimator, base.MiniBatchRegressor):
    """Linear regression by mirror descent, with a certificate.

    By default nothing is to be tuned and no scaler needed: features count in units of their own
    sizes, targets in units of theirs.

    Parameters: `loss` is a word or loss of real targets, as "huber:2"; the others are those of
    `OnlineClassifier`.

    >>> from river import datasets, metrics
    >>> model, error = OnlineRegressor(), metrics.MAE()
    >>> for x, y in datasets.TrumpApproval():
    ...     error.update(y, model.predict_one(x))
    ...     model.learn_one(x, y)
    >>> print(error.get() < 1.0, model.certificate().rounds)
    True 1001
    """

    def __init__(
        self,
        loss: str | Loss = "squared",
        rate: str | Rate = "scale-free",
        mirror: str | Mirror = "euclidean",
        fit_intercept: bool = True,
        missing: str = "refuse",
        blocks: bool = False,
    ) -> None:
        super().__init__(loss, rate, mirror, fit_intercept, missing, blocks)
        if self.loss.labels != "real":
            raise ArgumentError("loss", "is for classes, expected one of real targets", loss)
        self._learner = self._descent()

    def certificate(self) -> Certificate:
        """Return what the examples so far prove, see `nr.Certificate`."""
        return self._learner.certificate()

    @property
    def weights(self) -> dict[str, float]:
        """The weights by the names of the features."""
        return self._features.named(self._learner.weights)

    @one_at_a_time
    def learn_one(self, x: Mapping[Any, Any], y: Any, w: float = 1.0) -> None:
        """Learn one example of weight w."""
        try:
            target = float(y)
        except (OverflowError, TypeError, ValueError):
            raise ValueError(f"y is {y!r}, expected a number") from None
        self._features.teach(self._learner, x, target, w)

    def predict_one(self, x: Mapping[Any, Any]) -> float:
        """Return the prediction."""
        prediction: float = self._features.ask(self._learner, x)
        return prediction

    @one_at_a_time
    def learn_many(self, X: pd.DataFrame, y: pd.Series, w: Any = 1.0) -> None:
        """Learn the rows of a data frame one after the other; w is a number or one a row."""
        targets = as_labels(y, len(X), self.loss)
        weight = as_weights(w if np.ndim(w) else [w] * len(X), len(X))
        with self._features.forgotten_if_refused(self._learner):
            self._learner.learn(self._features.rows(X, grow=True), targets, weight)

    def predict_many(self, X: pd.DataFrame) -> pd.Series:
        """Return the predictions for the rows of a data frame."""
        import pandas as pd

        predictions = self._learner.predict(self._features.rows(X, grow=False))
        return pd.Series(predictions, index=X.index)
