"""Mirror descent for several scores at once: classes, sets of labels, things to rank."""

from __future__ import annotations

import os
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from noregret import mirrors, rates
from noregret.files import store
from noregret.learners.matrix_binary import two_classes
from noregret.learners.matrix_certificate import MatrixCertificate
from noregret.learners.matrix_engines import MatrixEngine, choose_matrix_engine
from noregret.learners.matrix_targets import as_targets, count_of
from noregret.learners.mirror_descent import MirrorDescent
from noregret.learners.one_scores import OneScores, SingleScoresLearner
from noregret.learners.together import Diverged
from noregret.losses import OneAgainstRest, ScoreLoss
from noregret.mirrors import Mirror
from noregret.passes.checks import sound_rows
from noregret.passes.matrices.matrix_lazy import score_rows
from noregret.passes.slots import Stop
from noregret.proof.convexity import require_convex
from noregret.proof.evidence import Evidence
from noregret.proof.ledger import SIZE, Entry, new_ledger, require_room
from noregret.rates import Rate
from noregret.rows.examples import Rows, as_rows, as_weights
from noregret.turns import one_at_a_time

Vector = npt.NDArray[np.float64]

_MAPS = (mirrors.Euclidean, mirrors.Ball, mirrors.PNorm, mirrors.SignedEntropy)
_RATES = (rates.Constant, rates.InverseSqrt, rates.Adaptive, rates.ScaleFree)


class MatrixDescent(SingleScoresLearner):
    """Online mirror descent for K scores s = x W, with a certificate at every moment.

    Each round: predict s, suffer loss(y, s), step by its subgradient z = g (x) x, g the slopes
    in the scores: theta <- theta - z, W = link(eta theta), the map that of the d K entries.
    Conservative: update on mistakes only. Implicit: the exact step of each round, as
    Passive-Aggressive makes. With `ScaleFree` and `OneAgainstRest` the columns are
    those of K learners of one score.

    >>> import noregret as nr
    >>> learner = nr.MatrixDescent(nr.losses.MulticlassHinge(), rate=nr.rates.Constant(1))
    >>> learner.learn([[1.0, 0.0], [0.0, 1.0]], [1, 0])
    array([[0., 0.],
           [0., 0.]])
    >>> learner.weights
    array([[-1.,  1.],
           [ 1., -1.]])

    Reference: Shalev-Shwartz, Online Learning and Online Convex Optimization, section 2.6.
    """

    def __init__(
        self,
        loss: ScoreLoss,
        mirror: Mirror | None = None,
        rate: Rate | None = None,
        outputs: int | None = None,
        dimension: int | None = None,
        conservative: bool = False,
        implicit: bool = False,
    ) -> None:
        """Make a learner, with the map `Euclidean()` and the rate `ScaleFree()` by default.

        `outputs` is the number of scores, without it that of the first targets; `grow` adds
        more. `dimension` fixes the number of features; without it the learner grows with the
        data, or takes the width of the first input where the map needs to know it.
        `implicit` steps by the slopes at the new weights, of argmin D(W, W_t) + eta f_t(W).
        """
        self.loss = loss
        self.mirror = mirrors.Euclidean() if mirror is None else mirror
        self.rate = rates.ScaleFree() if rate is None else rate
        self._conservative, self._implicit = bool(conservative), bool(implicit)
        self._require_known()
        if self._implicit:
            self._require_exact_steps()
        self._outputs = None if outputs is None else _whole("outputs", outputs, 1)
        self._fixed = None if dimension is None else _whole("dimension", dimension, 1)
        self._ledger = new_ledger()
        self._engine: MatrixEngine | None = None
        self._weights: Vector | None = None
        self._one: OneScores | None = None

    def _require_known(self) -> None:
        for name, part, known in (
            ("loss", self.loss, (ScoreLoss,)),
            ("mirror", self.mirror, _MAPS),
            ("rate", self.rate, _RATES),
        ):
            exact = name == "mirror" and type(part) not in known
            if exact or not isinstance(part, known):
                names = ", ".join(kind.__name__ for kind in known)
                raise ValueError(f"MatrixDescent({name}=...) must be one of {names}, got {part!r}")
        plain = type(self.mirror) is mirrors.Euclidean
        if isinstance(self.rate, rates.ScaleFree) and (self._conservative or not plain):
            raise ValueError("ScaleFree belongs to Euclidean() with conservative=False")
        if self._conservative and not self.loss.nonnegative:
            raise ValueError("conservative=True needs a loss that is never negative")
        if isinstance(self.loss, OneAgainstRest):
            require_convex(self.loss.loss)

    def _require_exact_steps(self) -> None:
        """Refuse `implicit` where the exact step of a round is not known."""
        plain = type(self.mirror) is mirrors.Euclidean and isinstance(self.rate, rates.Constant)
        if not plain or self._conservative:
            raise ValueError(
                "implicit=True belongs to Euclidean(), Constant(eta), not conservative"
            )
        inner = self.loss.loss if isinstance(self.loss, OneAgainstRest) else self.loss
        if not (hasattr(inner, "conjugate") and hasattr(self.loss, "proximal_slopes")):
            raise ValueError(
                f"{type(inner).__name__} has no exact steps: use Softmax, MulticlassHinge, or "
                "OneAgainstRest of a loss with a conjugate"
            )

    @property
    def rounds(self) -> int:
        """How many examples were learnt."""
        return int(self._ledger[Entry.ROUNDS])

    @property
    def outputs(self) -> int:
        """How many scores there are, 0 before that is known."""
        return self._outputs or 0

    @property
    def dimension(self) -> int:
        """How many features are known."""
        return (self._fixed or 0) if self._engine is None else self._engine.dimension

    @property
    def conservative(self) -> bool:
        """Whether only mistakes are learnt from."""
        return self._conservative

    @property
    def implicit(self) -> bool:
        """Whether every step is the exact one of its round."""
        return self._implicit

    @one_at_a_time
    def learn(self, X: Any, y: Any, weight: Any = None) -> Vector:
        """Learn the rows of X one after the other; return the n x K scores made before each.

        y holds classes 0 to K - 1, or a row of K numbers a row of X where the loss takes those.
        Input that cannot be learnt raises ValueError and leaves the learner as it was. A learner
        whose rate is too large may diverge: OverflowError then, with the rounds before it kept.
        """
        rows = as_rows(X)
        targets = as_targets(y, len(rows), self.loss, self._outputs)
        weights = as_weights(weight, len(rows))
        self._check_width(rows)
        require_room(self.rounds, len(rows))
        rows = sound_rows(rows, 0)
        if self._outputs is None and len(rows) == 0:
            return np.empty((0, 0))
        outputs, opened, known, rounds = (
            self._outputs, self._engine is not None, self.dimension, self.rounds
        )  # fmt: skip
        if self._outputs is None:
            self._outputs = count_of(targets)
        engine = self._open(rows.width)
        scores = np.empty((len(rows), self.outputs))
        for start, stop in rows.chunks():
            part = slice(start, stop)
            self._weights = None
            _, reason = engine.run(
                rows.part(start, stop), targets[part], weights[part], self._ledger, scores[part]
            )
            if reason == Stop.OVERFLOW:
                if self.rounds == rounds:
                    # Take back the room for features and scores of rows of which none was learnt.
                    self._outputs, self._engine = outputs, engine if opened else None
                    engine.dimension = known
                raise Diverged(
                    f"the loss or gradient of round {self.rounds + 1} overflows: it diverges; "
                    "use a smaller rate, a map with a radius, or scale the features",
                    scores[: self.rounds - rounds],
                )
        return scores

    def predict(self, X: Any) -> Vector:
        """Return the scores of each row with the weights of the coming round."""
        rows = as_rows(X)
        self._check_width(rows)
        rows = sound_rows(rows, 0)
        scores = np.zeros((len(rows), self.outputs))
        weights = np.ascontiguousarray(self._current_weights().T)
        score_rows(weights, rows.indptr, rows.indices, rows.values, scores)
        return scores

    @one_at_a_time
    def grow(self, outputs: int) -> None:
        """Add scores, with weights of 0, up to so many; the rounds before were played without.

        >>> import noregret as nr
        >>> learner = nr.MatrixDescent(nr.losses.Softmax(), outputs=2)
        >>> learner.grow(3)
        >>> learner.predict([[1.0]])
        array([[0., 0., 0.]])
        """
        outputs = _whole("grow(outputs)", outputs, max(self.outputs, 1))
        if self._engine is not None and outputs > self.outputs:
            if not self._engine.growable:
                raise ValueError(f"{type(self.mirror).__name__} must know its scores in advance")
            self._engine.enlarge(outputs, self.dimension)
        self._outputs, self._weights = outputs, None

    @classmethod
    def from_binary(cls, learner: MirrorDescent) -> Self:
        """Return the `OneAgainstRest` learner of two classes that a binary one is equivalent to.

        Class 1 is the label +1. The columns are -w and w, every sum is doubled: what it learns
        from here on is to the bit what it would be had it learnt all of the stream.

        >>> import noregret as nr
        >>> plain = nr.mirrors.Euclidean(), nr.rates.ScaleFree()
        >>> binary = nr.MirrorDescent(nr.losses.Logistic(), *plain)
        >>> _ = binary.learn([[1.0], [2.0]], [1, -1])
        >>> bool((nr.MatrixDescent.from_binary(binary).weights[:, 1] == binary.weights).all())
        True
        """
        parts, state, slots, ledger = two_classes(learner)
        matrix = cls(*parts, outputs=2, dimension=learner.dimension if learner._fixed else None)
        matrix._ledger = ledger
        if state is not None:
            matrix._take(state, slots)
        return matrix

    @property
    def weights(self) -> Vector:
        """The d x K weights for the coming round, as far as they do not depend on its row."""
        return self._current_weights().T.copy()

    def _current_weights(self) -> Vector:
        """Return the weights, a row a score, computed once between two calls of `learn`."""
        if self._engine is None:
            return np.zeros((self.outputs, self.dimension))
        if self._weights is None:
            self._weights = self._engine.matrix(self._engine.weights(self._ledger))
        return self._weights

    @property
    def sizes(self) -> Vector | None:
        """The m of the floor's class, d x K, where it measures features by them, else None."""
        sizes = None if self._engine is None else self._engine.sizes()
        return None if sizes is None else sizes.T.copy()

    def certificate(self) -> MatrixCertificate:
        """Return what the rounds so far prove, as a value that later rounds do not change."""
        engine = self._engine
        gradient, evidence = np.zeros(0), Evidence()
        if engine is not None:
            gradient, evidence = engine.matrix(engine.gradient()).ravel(), engine.evidence()
        return MatrixCertificate(
            loss_function=self.loss,
            mirror=self.mirror,
            rate=self._resolved(),
            ledger=self._ledger.copy(),
            gradient=gradient,
            conservative=self._conservative,
            played=not self._implicit,
            reach=evidence.norm(self.mirror, self._current_weights().ravel()),
            evidence=evidence,
            outputs=max(self.outputs, 1),
        )

    def __getstate__(self) -> dict[str, Any]:
        """Return all but what is bound to the process."""
        return {**vars(self), "_one": None}

    def save(self, path: str | os.PathLike[str], extra: store.Extra | None = None) -> None:
        """Write the learner to a file, atomically; `nr.load` resumes it to the bit."""
        header: dict[str, Any] = {
            "learner": "MatrixDescent",
            "outputs": self._outputs,
            "dimension": self._fixed,
            "conservative": self._conservative,
            "implicit": self._implicit,
        }
        for name in ("loss", "mirror", "rate"):
            header[name] = store.component_to_header(getattr(self, name))
        arrays = {"ledger": self._ledger}
        if self._engine is not None:
            arrays.update(self._engine.arrays())
        store.write(path, *store.attached(header, arrays, extra))

    @classmethod
    def _from_file(cls, header: dict[str, Any], arrays: dict[str, Vector]) -> Self:
        learner = cls(
            store.component_from_header(header["loss"], ScoreLoss),
            store.component_from_header(header["mirror"], Mirror),
            store.component_from_header(header["rate"], Rate),
            header["outputs"],
            header["dimension"],
            header["conservative"],
            header["implicit"],
        )
        if arrays["ledger"].shape != (SIZE,):
            raise ValueError(f"the ledger has {arrays['ledger'].shape} entries, expected {SIZE}")
        learner._ledger = arrays["ledger"].copy()
        if "state" in arrays:
            shape = arrays["state"].shape
            if len(shape) != 3 or shape[1] != learner.outputs:
                raise ValueError(f"state has shape {shape}, expected {learner.outputs} scores")
            learner._take(arrays["state"], arrays["slots"])
        return learner

    def _take(self, state: Vector, slots: Vector) -> None:
        """Open with the records of the features and the scalars of the pass."""
        engine = self._open(len(state))
        given = {"state": state, "slots": slots}
        for name, kept in engine.arrays().items():
            if given[name].shape != kept.shape:
                raise ValueError(f"{name} has shape {given[name].shape}, expected {kept.shape}")
            kept[...] = given[name]

    def _open(self, width: int) -> MatrixEngine:
        """Make the engine, or make room in it."""
        if self._engine is None:
            dimension = self._fixed or width
            self._engine = choose_matrix_engine(
                self.loss, self.mirror, self._resolved(dimension), self._conservative,
                self._implicit,
            )  # fmt: skip
            self._engine.open(self.outputs, dimension)
        elif width > self.dimension:
            self._weights = None
            self._engine.widen(width)
        return self._engine

    def _resolved(self, dimension: int | None = None) -> Rate:
        """Return the rate with what depends on the dimension filled in."""
        if not isinstance(self.rate, rates.Adaptive) or self.rate.scale is not None:
            return self.rate
        size = (self.dimension if dimension is None else dimension) * self.outputs
        return self.rate.replace(scale=self.mirror.natural_scale(size))

    def _check_width(self, rows: Rows) -> None:
        """Refuse rows that are not as wide as this learner wants them."""
        known = self._fixed if self._engine is None else self.dimension
        if known is None:
            if rows.width == 0 and not isinstance(self.mirror, mirrors.Euclidean | mirrors.PNorm):
                raise ValueError("X has no columns, and this map must know its features in advance")
            return
        rigid = self._fixed is not None or rows.dense
        rigid = rigid or (self._engine is not None and not self._engine.growable)
        if rows.width != known and rigid:
            raise ValueError(f"X has {rows.width} columns, the learner knows {known}")


def _whole(name: str, number: Any, least: int) -> int:
    """Return a number as an int, or say in one line what was expected."""
    known = isinstance(number, int | float | np.integer | np.floating)
    if not (known and number >= least and float(number).is_integer()):
        raise ValueError(f"{name} must be a whole number >= {least}, got {number!r}")
    return int(number)
