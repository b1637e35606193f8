"""A classifier for River: two classes, and more as they appear."""

from __future__ import annotations

import copy
import math
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from river import base

from noregret.arguments import ArgumentError
from noregret.learners import MirrorDescent
from noregret.learners.matrix import MatrixDescent, two_classes
from noregret.losses import Logistic, Loss, OneAgainstRest, ScoreLoss, Softmax
from noregret.losses.links import logistic, multinomial
from noregret.mirrors import Mirror
from noregret.rates import Rate
from noregret.river.features import FeatureColumns, Measured, growing
from noregret.rows.examples import as_weights
from noregret.turns import one_at_a_time
from noregret.vocabulary.words import spec

if TYPE_CHECKING:
    import pandas as pd
Matrix = npt.NDArray[np.float64]


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
    >>> accuracy.get() > 0.87, model.certificate.rounds
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
        #: The target of every label: -1 and +1, or 0, 1, 2, ... once there are scores.
        self._targets: dict[Any, float] = {}
        self._learner: MirrorDescent | MatrixDescent
        if isinstance(self.loss, ScoreLoss):
            self._learner = MatrixDescent(self.loss, self.mirror, self.rate)
        else:
            if self.loss.labels != "sign":
                raise ArgumentError("loss", "is for real targets, expected one of classes", loss)
            self._learner = growing(MirrorDescent(self.loss, self.mirror, self.rate))

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
        return self._learner.rounds

    @property
    def certificate(self) -> Any:
        """What the examples so far prove, see `nr.Certificate`."""
        return self._learner.certificate()

    @property
    def weights(self) -> dict[str, Any]:
        """The weights by the names of the features: a number, or one a class.

        With two classes a positive one speaks for the second of `classes`.
        """
        return self._features.named(self._learner.weights)

    @one_at_a_time
    def learn_one(self, x: Mapping[Any, Any], y: Any, w: float = 1.0) -> None:
        """Learn one example of weight w."""
        target = self._targets.get(y)
        if target is None:
            # What would be refused must not bring a label.
            self._features.by_rules(x, grow=False)
            as_weights(w, 1)
            with self._admitted(y):
                self._features.teach(self._learner, x, self._targets[y], w)
            return
        self._features.teach(self._learner, x, target, w)

    def predict_one(self, x: Mapping[Any, Any], **options: Any) -> Any:
        """Return the label, None before there is any."""
        labels = list(self._targets)
        if len(labels) < 2:
            return labels[0] if labels else None
        score = self._features.ask(self._learner, x)
        return labels[int(score > 0.0) if isinstance(score, float) else int(score.argmax())]

    def predict_proba_one(self, x: Mapping[Any, Any], **options: Any) -> dict[Any, float]:
        """Return the probability of every label; only the logistic losses know them."""
        self._require_probabilities()
        labels = self._targets
        if len(labels) < 2:
            return dict.fromkeys(labels, 1.0)
        score = self._features.ask(self._learner, x)
        if isinstance(score, float):
            negative, positive = labels
            return {negative: _chance(-score), positive: _chance(score)}
        chances = self._chances(score[np.newaxis])[0]
        return dict(zip(labels, chances.tolist(), strict=True))

    @one_at_a_time
    def learn_many(self, X: pd.DataFrame, y: pd.Series, w: Any = 1.0) -> None:
        """Learn the rows of a data frame one after the other; w is a number or one a row."""
        labels = list(y)
        if len(labels) != len(X):
            raise ValueError(f"y has {len(labels)} labels, expected {len(X)}: one a row of X")
        for label in labels:
            _require_label(label)
        weight = as_weights(w if np.ndim(w) else [w] * len(X), len(X))
        parts = list(self._parts(labels))
        self._require_room({*self._targets, *labels})
        with self._features.forgotten_if_refused(self):
            rows = self._features.rows(X, grow=True)
            for start, stop in parts:
                new = labels[start] not in self._targets
                with self._admitted(labels[start]) if new else nullcontext():
                    targets = [self._targets[label] for label in labels[start:stop]]
                    self._learner.learn(rows.part(start, stop), targets, weight[start:stop])

    def predict_many(self, X: pd.DataFrame) -> pd.Series:
        """Return the labels of the rows of a data frame, None before there is any."""
        import pandas as pd

        labels = list(self._targets)
        if len(labels) < 2:
            return pd.Series((labels or [None]) * len(X), index=X.index)
        scores = self._learner.predict(self._features.rows(X, grow=False))
        best = scores > 0.0 if scores.ndim == 1 else scores.argmax(axis=1)
        return pd.Series([labels[int(k)] for k in best], index=X.index)

    def predict_proba_many(self, X: pd.DataFrame) -> pd.DataFrame:
        """Return the probabilities of the rows of a data frame, one column a label."""
        import pandas as pd

        self._require_probabilities()
        labels = list(self._targets)
        if len(labels) < 2:
            return pd.DataFrame(np.ones((len(X), len(labels))), index=X.index, columns=labels)
        scores = self._learner.predict(self._features.rows(X, grow=False))
        return pd.DataFrame(self._chances(scores), index=X.index, columns=labels)

    def _parts(self, labels: list[Any]) -> Iterator[tuple[int, int]]:
        """Yield (start, stop) of parts that bring a new label in their first row only."""
        seen = set(self._targets)
        starts = [0] if labels else []
        for place, label in enumerate(labels):
            if label not in seen:
                seen |= {False, True} if isinstance(label, bool | np.bool_) else {label}
                starts += [place] if place else []
        yield from zip(starts, [*starts[1:], len(labels)], strict=True)

    @contextmanager
    def _admitted(self, label: Any) -> Iterator[None]:
        """Give a new label its target, and take it back if no row of it is learnt."""
        # Copied for new labels only: a third one makes another learner, and all have a score each.
        targets, learner = self._targets, copy.deepcopy(self._learner)
        self._admit(label)
        try:
            yield
        except (OverflowError, ValueError):
            if self._learner.rounds == learner.rounds:
                self._targets, self._learner = targets, learner
            raise

    def _admit(self, label: Any) -> None:
        """Give a new label its target; a third one turns the vector of weights into scores."""
        _require_label(label)
        # Of truth values both are known as soon as one is.
        news = [False, True] if isinstance(label, bool | np.bool_) else [label]
        known = [*self._targets, *(new for new in news if new not in self._targets)]
        self._require_room(set(known))
        if isinstance(self._learner, MirrorDescent) and len(known) <= 2:
            self._targets = dict(zip(known, (-1.0, 1.0), strict=False))
        else:
            if isinstance(self._learner, MirrorDescent):
                self._learner = MatrixDescent.from_binary(self._learner)
            self._learner.grow(len(known))
            self._targets = {one: float(place) for place, one in enumerate(known)}

    def _require_probabilities(self) -> None:
        loss = self.loss.loss if type(self.loss) is OneAgainstRest else self.loss
        if type(loss) is not Logistic and type(loss) is not Softmax:
            raise NotImplementedError(f"{self.loss} knows no probabilities; Logistic() does")

    def _require_room(self, labels: set[Any]) -> None:
        """Refuse labels that the learner of two could not go on with."""
        if not isinstance(self._learner, MirrorDescent):
            return
        # Of truth values both are known as soon as one is.
        truth = any(isinstance(label, bool | np.bool_) for label in labels)
        if len(labels | ({False, True} if truth else set())) <= 2:
            return
        try:
            two_classes(self._learner)
        except ValueError:
            raise ValueError(
                f"y has a third label, and a learner of two with {self.loss}, {self.mirror} and "
                f"{self.rate} cannot go on with more: use OneAgainstRest(loss) from the start"
            ) from None

    def _chances(self, scores: Matrix) -> Matrix:
        """Return the probabilities of rows of scores."""
        return multinomial(scores) if type(self.loss) is Softmax else logistic(scores)


def _require_label(label: Any) -> None:
    if label is None or not isinstance(label, Hashable) or label != label:
        raise ValueError(f"y is {label!r}, expected a label that can be the key of a dictionary")


def _chance(score: float) -> float:
    """Return 1 / (1 + exp(-score)).

    >>> _chance(0.0), _chance(-1e4)
    (0.5, 0.0)
    """
    if score >= 0.0:
        return 1.0 / (1.0 + math.exp(-score))
    power = math.exp(score)
    return power / (1.0 + power)
