"""Classifiers of streams: classes that appear at any row, weights of classes, what is predicted."""

# scikit-learn is not typed.
# mypy: disable-error-code="misc, no-any-return, no-untyped-call"
from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from noregret.jit import kernel
from noregret.rows.examples import Rows, as_weights
from noregret.scoring.growing import (
    Codes,
    codes_of,
    new_classes,
    require_classes,
    segments,
    with_more,
)
from noregret.scoring.scorer import Scorer
from noregret.sklearn.columns import Columns
from noregret.sklearn.estimator import RowEstimator, Vector
from noregret.sklearn.rows import Order
from noregret.sklearn.several import ByClass
from noregret.turns import one_at_a_time


@kernel
def _balance(codes, weight, counts, totals, result):  # type: ignore[no-untyped-def]
    for t in range(codes.shape[0]):
        k = codes[t]
        if counts[k] == 0.0:
            totals[1] += 1.0
        counts[k] += weight[t]
        totals[0] += weight[t]
        result[t] = weight[t] * (totals[0] / (totals[1] * counts[k]))


class Balance:
    """Balanced weights on the run: n / (K n_k) for a row of class k, itself counted.

    n is the weight of all rows so far, n_k that of its class, K the number of classes among
    them, as in scikit-learn's rule for all rows at once.

    >>> Balance().learn(np.array([0, 0, 1, 0]), np.ones(4), 2).tolist()
    [1.0, 1.0, 1.5, 0.6666666666666666]
    """

    def __init__(self) -> None:
        self.counts = np.zeros(0)
        self.totals = np.zeros(2)

    def learn(self, codes: Codes, weight: Vector, classes: int) -> Vector:
        """Count the rows; return the weight of each."""
        # New arrays: a shallow copy of what was counted before stays as it is.
        self.counts = np.concatenate([self.counts, np.zeros(classes - len(self.counts))])
        self.totals = self.totals.copy()
        result = np.empty(len(codes))
        _balance(codes, weight, self.counts, self.totals, result)
        return result


class Weighed(NamedTuple):
    """Rows with the weights of their classes, and all rows counted by class, these included."""

    #: The weights that were given, None for 1 each.
    given: Vector | None
    #: Those multiplied by the weights of the classes, None for 1 each.
    weight: Vector | None
    balance: Balance

    def place(self, learnt: int) -> int:
        """Return the place of the row after `learnt` learnt ones, rows of weight 0 left out.

        >>> Weighed(None, np.array([1.0, 0.0, 1.0]), Balance()).place(1)
        2
        """
        return learnt if self.weight is None else int(np.flatnonzero(self.weight)[learnt])


class StreamClassifier(ClassifierMixin, RowEstimator):
    """Plays rows of classes to a scorer."""

    _labels = "sign"
    class_weight: Any
    classes_: npt.NDArray[Any]
    _balance: Balance
    #: The classes, and the place of each label among them.
    _codes: tuple[Any, dict[Any, int]] = (None, {})

    def _all_rows(self, X: Any, y: Any, sample_weight: Any) -> tuple[Rows, Order, Codes, Vector]:
        """Return all rows, those of them that weigh something, and their classes and weights.

        Sets `classes_`, sorted.
        """
        self._require_class_weight()
        # What was learnt before is forgotten, also if these rows cannot be learnt.
        self.__dict__.pop("_learner", None)
        rows, labels = self._checked(X, y)
        check_classification_targets(labels)
        weight = self._checked_weight(sample_weight, rows)
        kept = np.arange(len(rows)) if weight is None else np.flatnonzero(weight)
        masses = np.ones(len(kept)) if weight is None else weight[kept]
        self.classes_, codes = np.unique(labels[kept], return_inverse=True)
        factors = compute_class_weight(
            self.class_weight, classes=self.classes_, y=labels[kept], sample_weight=masses
        )
        self._balance = Balance()
        self._balance.learn(codes, masses, len(self.classes_))
        return rows, kept, codes, as_weights(masses * factors[codes], len(kept))

    @one_at_a_time
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn the rows one after the other; rows of weight 0 change nothing.

        `classes` may declare classes before any row of theirs; without it the rows do.
        """
        return self._learn(X, y, classes, sample_weight)

    def _learn(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> Self:
        self._require_class_weight()
        if classes is None and sample_weight is None:
            try:
                if self._learnt_single(X, y) or self._learnt_quickly(X, y):
                    return self
            except ValueError:
                self._checked(X, reset=False)
                raise
        with self._as_it_was_if_refused():
            return self._partial_fit_checked(X, y, classes, sample_weight)

    def _learnt_single(self, X: Any, y: Any) -> bool:
        """Learn a matrix of one row of a known class; False, with nothing changed, for others."""
        if self.class_weight is not None or not self._is_single(X, y):
            return False
        scorer, (known, codes) = self._learner, self._codes
        if known is not self.classes_:
            codes = {label: code for code, label in enumerate(self.classes_.tolist())}
            self._codes = self.classes_, codes
        code = codes.get(y.item()) if y.dtype == self.classes_.dtype else None
        if code is None or code >= scorer.outputs or type(scorer) is not Scorer:
            return False
        scorer.learn(self._feeder.single(X), np.array([code]), None)
        return True

    def _learnt_quickly(self, X: Any, y: Any) -> bool:
        """Learn plain rows of known classes; False, with nothing changed, for others."""
        rows = self._quick_rows(X) if type(y) is np.ndarray and y.ndim == 1 else None
        if rows is None or len(rows) != len(y):
            return False
        codes, known = codes_of(y, self.classes_)
        if known:
            weighed = self._weighed(codes, None, self._balance, self.classes_)
            self._play_all(rows, codes, weighed, None, len(self.classes_))
        return known

    def _partial_fit_checked(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> Self:
        opened = hasattr(self, "_learner")
        rows, labels = self._checked(X, y, reset=not opened)
        weight = self._checked_weight(sample_weight, rows, allow_all_zero_weights=True)
        order = None if weight is None or weight.all() else np.flatnonzero(weight)
        if order is not None and weight is not None:
            labels, weight = labels[order], weight[order]
        known = self.classes_ if opened else labels[:0]
        if classes is not None:
            declared = np.unique(column_or_1d(classes))
            known = with_more(known, new_classes(declared, codes_of(declared, known)[0]))
        fresh = new_classes(labels, codes_of(labels, known)[0])
        require_classes(fresh)
        everything = with_more(known, fresh)
        codes = codes_of(labels, everything)[0]
        weighed = self._weighed(codes, weight, self._balance if opened else Balance(), everything)
        if not opened:
            self.classes_ = known
            self._balance = Balance()
            self._open()
        # All that can be refused comes before the learner changes.
        scorer = self._learner
        late = np.flatnonzero(codes >= max(scorer.outputs, len(known)))
        before = slice(0, late[0] if len(late) else 0)
        masses = weighed.weight
        begun = len(codes[before]) > 0 if masses is None else bool(masses[before].any())
        scorer.require_room(len(known), len(everything), begun)
        if len(known) > scorer.outputs:
            # A copy grows: if no row is learnt, the scorer is put back as it was.
            self._learner = copy.deepcopy(scorer)
            self._learner.grow(len(known))
        self.classes_ = everything
        self._play_all(rows, codes, weighed, order, len(known))
        return self

    def _weighed(
        self,
        codes: Codes,
        weight: Vector | None,
        balance: Balance,
        classes: npt.NDArray[Any],
    ) -> Weighed:
        """Return the rows with the weights of their classes, and the rows counted."""
        given = weight
        if self.class_weight == "balanced":
            balance = copy.copy(balance)
            masses = np.ones(len(codes)) if weight is None else weight
            weight = balance.learn(codes, masses, len(classes))
        elif self.class_weight is not None:
            factors = np.array([self.class_weight.get(one, 1.0) for one in classes.tolist()])
            weight = factors[codes] if weight is None else weight * factors[codes]
        return Weighed(given, None if weight is None else as_weights(weight, len(codes)), balance)

    def _play_all(
        self, rows: Rows, codes: Codes, weighed: Weighed, order: Order | None, known: int
    ) -> None:
        """Learn and count the rows, after which every class has a score.

        A row that overflows is refused: it is not counted, and its class, if it is not among the
        first `known` or that of a row before it, is not known.
        """
        rounds = self._learner.rounds
        try:
            self._play(rows, codes, weighed.weight, order)
        except OverflowError:
            codes = codes[: weighed.place(self._learner.rounds - rounds)]
            self.classes_ = self.classes_[: max(known, int(codes.max(initial=-1)) + 1)]
            given = None if weighed.given is None else weighed.given[: len(codes)]
            weighed = self._weighed(codes, given, self._balance, self.classes_)
            self._balance = weighed.balance
            raise
        finally:
            # Also where the learner has diverged, every class has a score.
            self._learner.grow(len(self.classes_))
        self._balance = weighed.balance

    def _play(self, rows: Rows, codes: Codes, weight: Vector | None, order: Order | None) -> None:
        """Learn the rows of the order; a class gets a score at its first row."""
        whole = len(codes) > 0 and len(self.classes_) <= self._learner.outputs
        for start, stop in [(0, len(codes))] if whole else segments(codes, self._learner.outputs):
            kept = self._learner
            if codes[start] >= kept.outputs:
                # A copy grows: if the first row of the class is refused, nothing has changed.
                self._learner = copy.deepcopy(kept)
                self._learner.grow(int(codes[start]) + 1)
            try:
                self._play_segment(rows, codes, weight, order, start, stop)
            except OverflowError:
                if self._learner.rounds == kept.rounds:
                    self._learner = kept
                raise

    def _play_segment(
        self,
        rows: Rows,
        codes: Codes,
        weight: Vector | None,
        order: Order | None,
        start: int,
        stop: int,
    ) -> None:
        """Learn places start to stop - 1 of the order, but for those of weight 0."""
        if weight is not None and not weight[start:stop].all():
            places = start + np.flatnonzero(weight[start:stop])
        elif stop - start < len(codes):
            places = np.arange(start, stop)
        else:
            places = None
        if places is not None:
            codes, weight = codes[places], None if weight is None else weight[places]
            order = places if order is None else order[places]
        for part, chunk in self._feeder.chunks(rows, order):
            self._learner.learn(chunk, codes[part], None if weight is None else weight[part])

    @property
    def certificate_(self) -> Any:
        """What the rounds played so far prove; every pass over a row is a round."""
        found = super().certificate_
        return found.called(self.classes_.tolist()) if isinstance(found, ByClass) else found

    def _require_class_weight(self) -> None:
        given = self.class_weight
        if isinstance(given, Mapping):
            as_weights(list(given.values()), len(given))
        elif not (given is None or (isinstance(given, str) and given == "balanced")):
            raise ValueError(f"class_weight must be None, a dict or 'balanced', got {given!r}")

    def decision_function(self, X: Any) -> Vector:
        """Return the scores: one a row for two classes, else one a row and class."""
        return self._scores(X)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the class of the largest score."""
        scores = self._scores(X)
        if len(self.classes_) == 1:
            return np.repeat(self.classes_, len(scores))
        chosen = (scores > 0.0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[chosen]

    def predict_proba(self, X: Any) -> Vector:
        """Return a probability a row and class."""
        scores = self._scores(X)
        if len(self.classes_) == 1:
            return np.ones((len(scores), 1))
        return self._learner.probabilities(scores)

    def predict_log_proba(self, X: Any) -> Vector:
        """Return the logarithms of the probabilities."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    @property
    def intercept_(self) -> Vector:
        """The weights of the constant, zeros without it, and what scores have beside."""
        check_is_fitted(self)
        weights, learner = self._weights(), self._learner
        own = weights[:, -1] if self._feeder.constant else np.zeros(len(weights))
        return own + learner.offsets() if isinstance(learner, Columns | Scorer) else own

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_learner") and len(self.classes_) > 0
