"""`OnlineClassifier` and `OnlineRegressor`: the core's mirror descent, row by row."""

# scikit-learn is not typed.
# mypy: disable-error-code="misc, no-any-return, no-untyped-call"
from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from noregret.experts.representative import linear_part, words_of
from noregret.losses import Loss
from noregret.mirrors import Mirror
from noregret.proof.certificate import Certificate
from noregret.rates import Rate
from noregret.scoring.scorer import Scorer
from noregret.sklearn.chosen import new_learner, open_scorer
from noregret.sklearn.columns import Columns
from noregret.sklearn.estimator import RowEstimator, StreamRegressor, require_count
from noregret.sklearn.several import ByClass
from noregret.sklearn.stream import StreamClassifier
from noregret.turns import one_at_a_time
from noregret.vocabulary.words import spec


class OnlineEstimator(RowEstimator):
    """Mirror descent behind scikit-learn's names."""

    #: How often `fit` learnt each row, and how many rounds that made.
    _fitted: tuple[int, int] = (1, 0)

    @one_at_a_time
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Forget everything and learn the rows, `passes` times."""
        rows, kept, targets, weight = self._all_rows(X, y, sample_weight)
        passes = require_count("passes", self.passes)
        random = check_random_state(self.random_state) if self.shuffle else None
        every = len(kept)
        self._fitted = passes, passes * every
        self._open()
        for _ in range(passes):
            places = np.arange(every) if random is None else random.permutation(every)
            self._play(rows, targets[places], weight[places], kept[places])
        return self

    @property
    def certificate_(self) -> Any:
        """What the rounds played so far prove; every pass over a row is a round, and named."""
        found = super().certificate_
        passes, rounds = self._fitted

        def named(one: Certificate) -> Certificate:
            # Rows of a later `partial_fit` were learnt once.
            least = passes if one.rounds == rounds else 1
            return replace(one, passes=(least, passes))

        return found.mapped(named) if isinstance(found, ByClass) else named(found)

    @property
    def weights_of_(self) -> str | tuple[str | None, ...] | None:
        """Whose weights `coef_` and `intercept_` show: a member of a mixture, or None for all.

        A mixture predicts by all its members. One against the rest has a member a class.
        """
        check_is_fitted(self)
        learner = self._learner
        if isinstance(learner, Columns) and len(learner.columns) > 1:
            return tuple(words_of(column.learner) for column in learner.columns)
        if isinstance(learner, Columns):
            return words_of(learner.columns[0].learner)
        return words_of(learner.learner if isinstance(learner, Scorer) else learner)


class OnlineClassifier(StreamClassifier, OnlineEstimator):
    """Linear classifier learnt one row after the other, with a certificate of its own loss.

    `partial_fit` takes rows as they come: row by row or all at once gives the same model to the
    bit, classes may appear at any row, `fit` plays the rows `passes` times in random orders.

    Parameters: `loss`, `rate` and `mirror` are words of `nr.words`, or objects of noregret.
    `loss` is one of two classes, as "logistic", "hinge:0.5" or "squared_hinge" (which carries a
    half). `rate` is None for what `noregret learn` chooses: `Mixture`, learners of several kinds
    to which shifts and units of up to 512 features do not matter. "scale_free" is one learner that
    needs no tuning either, at a fraction of its cost; "grid" an aggregate of rates. With another
    `mirror` than "euclidean" None is "adaptive".
    `multiclass` is "one_against_rest" ("ovr": the sum of the losses of every class against the
    rest), "softmax" ("multinomial", logistic loss only) or "multiclass_hinge" ("crammer_singer",
    hinge loss only; the rival with the best score counts) [default: softmax for the mixture of
    logistic losses, else one_against_rest]. The mixture has one form for two classes and one for
    more, which is softmax: `fit` and `classes` in the first `partial_fit` tell which; with classes
    that only rows name it is softmax. With other losses of more than two classes None is
    "scale_free". "grid" and "coin_betting" go with "one_against_rest" only.
    A mixture is not linear: `coef_` and `intercept_` are those of its linear member with the
    largest share, which `weights_of_` names.
    `class_weight` is None, a dict or "balanced":
    n / (K n_k), counted over all rows in `fit` and over the rows so far in `partial_fit`.
    `shuffle` and `random_state` order the rows of `fit`. `blocks` raises the floor of
    `certificate_` by lines under blocks of rows, for about 1 us a row more.
    Attributes: `classes_` (sorted by `fit` or where they are declared, else as they came),
    `coef_`, `intercept_` (one row, or a row a class), `weights_of_` (None where these are what
    predicts), `n_features_in_`, `certificate_`.

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = OnlineClassifier(random_state=0).fit(X, y)
    >>> model.coef_.shape, bool(model.score(X, y) > 0.9)
    ((3, 4), True)
    """

    def __init__(
        self,
        loss: str | Loss = "logistic",
        *,
        multiclass: str | None = None,
        rate: str | Rate | None = None,
        mirror: str | Mirror = "euclidean",
        blocks: bool = False,
        class_weight: Any = None,
        fit_intercept: bool = True,
        passes: int = 10,
        shuffle: bool = True,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            loss=loss,
            multiclass=multiclass,
            rate=rate,
            mirror=mirror,
            blocks=blocks,
            class_weight=class_weight,
            fit_intercept=fit_intercept,
            passes=passes,
            shuffle=shuffle,
            random_state=random_state,
        )

    def _open(self) -> None:
        self._learner = open_scorer(
            self._chosen_loss(),
            self.multiclass,
            spec(self.mirror, "mirror"),
            self.rate,
            self._dimension(),
            self.blocks,
            len(self.classes_),
        )


class OnlineRegressor(StreamRegressor, OnlineEstimator):
    """Linear regression learnt one row after the other, with a certificate of its own loss.

    Parameters: `loss` is a word of `nr.words("loss")` for real targets, as "squared" ((p - y)^2,
    without a half), "absolute", "quantile:0.9" or "huber:1", or a loss of noregret; the others
    are those of `OnlineClassifier`.
    Attributes: `coef_`, `intercept_`, `weights_of_`, `n_features_in_`, `certificate_`. With the
    rate "scale_free" predictions are made around the mean of the targets, which is part of
    `intercept_`, and stay within the range of the targets seen.

    >>> import numpy as np
    >>> X = np.arange(20.0).reshape(-1, 1)
    >>> model = OnlineRegressor(random_state=0).fit(X, 3.0 * X[:, 0] + 2.0)
    >>> bool(abs(model.predict([[10.0]])[0] - 32.0) < 1.0), model.certificate_.rounds
    (True, 200)
    """

    def __init__(
        self,
        loss: str | Loss = "squared",
        *,
        rate: str | Rate | None = None,
        mirror: str | Mirror = "euclidean",
        blocks: bool = False,
        fit_intercept: bool = True,
        passes: int = 10,
        shuffle: bool = True,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            loss=loss,
            rate=rate,
            mirror=mirror,
            blocks=blocks,
            fit_intercept=fit_intercept,
            passes=passes,
            shuffle=shuffle,
            random_state=random_state,
        )

    def _open(self) -> None:
        self._learner = new_learner(
            self._chosen_loss(),
            spec(self.mirror, "mirror"),
            self.rate,
            self._dimension(),
            self.blocks,
        )

    @property
    def intercept_(self) -> float:
        """What predictions have beside <coef_, x>: also the mean of the targets, if they do."""
        return super().intercept_ + getattr(linear_part(self._learner), "offset", 0.0)
