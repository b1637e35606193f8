"""Learners in words: a loss, a map, a rate, an update and their sizes; or named in one word."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from noregret.arguments import ArgumentError, meant
from noregret.vocabulary.presets import GRID, MIXTURE
from noregret.vocabulary.usual import usual_rate
from noregret.vocabulary.words import find, first_field, spec, spelt

if TYPE_CHECKING:
    from noregret.experts import Aggregate, Mixture, ScoreAggregate
    from noregret.learners import DualAscent, MatrixDescent, MirrorDescent
    from noregret.losses import Loss, ScoreLoss
    from noregret.mirrors import Mirror
    from noregret.rates import Rate

Learner: TypeAlias = "MirrorDescent | MatrixDescent | DualAscent | Aggregate"

#: Of several classes: lost least on what was tried, and its floors say most.
SOFTMAX = "softmax"
#: Maps whose weights are not 0 before anything is learnt.
_WIDE = ("entropy", "unnormalized-entropy", "signed-entropy")
#: Maps of a set, by the field that is its size.
_SIZES = {"ball": "radius", "entropy": "scale", "signed-entropy": "radius"}
#: First fields of rates that `eta` stands for.
_TUNED = ("eta", "scale", "sigma")

#: Updates of `MirrorDescent`, then those of `DualAscent`.
DESCENTS = ("descent", "agile", "mistakes")
ASCENTS = ("exact", "aggressive", "conservative", "window", "mini", "leader")
#: What several classes go with.
_OF_SEVERAL = {
    "mirror": ("euclidean", "ball", "p-norm"),
    "rate": (
        "scale-free",
        "constant",
        "inverse-sqrt",
        "adaptive",
        "newton",
        "block-leader",
        MIXTURE,
    ),
    "update": ("descent", "mistakes"),
}


def is_several(text: str) -> bool:
    """Return whether a loss is one of several classes.

    >>> is_several("ovr:hinge"), is_several("hinge")
    (True, False)
    """
    from noregret.losses import ScoreLoss

    return issubclass(find(text, "loss", "loss")[1], ScoreLoss)


def of_several(text: str | None) -> str:
    """Return the loss of several classes that a loss of two stands for.

    >>> of_several(None), of_several("hinge:2"), of_several("softmax")
    ('softmax', 'one-against-rest:hinge:2', 'softmax')
    """
    if text is None or is_several(text):
        return text or SOFTMAX
    if make_loss(text).labels != "sign":
        raise ArgumentError("loss", "is a loss of numbers, expected one of classes", text)
    return f"one-against-rest:{text}"


def any_loss(text: str) -> Loss | ScoreLoss:
    """Return the loss of a word, be it of several classes."""
    loss: Loss | ScoreLoss = spec(text, "loss")
    if loss.labels == "relevance":
        raise ArgumentError("loss", "ranks, and belongs to nr.Ranker", text)
    return loss


def make_loss(text: str) -> Loss:
    """Return the loss of a word, as `hinge` or `quantile:0.9`, of two classes or of numbers."""
    loss: Loss = spec(text, "loss")
    if is_several(text):
        raise ArgumentError("loss", "is of several classes, expected one of one score", text)
    return loss


def make_mirror(text: str, radius: float | None) -> Mirror:
    """Return the mirror map of a word, as `ball` with a radius, `ball:2` or `p-norm:4`."""
    word, colon, _ = spelt(text, "mirror").partition(":")
    if radius is None and word in ("ball", "signed-entropy") and not colon:
        raise ArgumentError("radius", f"the map {word} needs one")
    mirror: Mirror = spec(text, "mirror")
    if radius is None:
        return mirror
    if word not in _SIZES:
        raise ArgumentError(
            "radius",
            f"belongs to the maps {', '.join(_SIZES)}, and {word} is unbounded; the class of the "
            "floor has a radius of its own",
            radius,
        )
    if colon:
        raise ArgumentError("radius", f"the map {text} has one already", radius)
    try:
        return mirror.replace(**{_SIZES[word]: radius})
    except ValueError as error:
        raise ArgumentError("radius", str(error), radius) from None


def check_class_radius(radius: float | None) -> None:
    """Refuse the size of a class that cannot be one."""
    if radius is not None and not 0.0 <= radius < math.inf:
        raise ArgumentError("class_radius", "expected a finite number >= 0", radius)


def make_rate(text: str, size: float | None) -> Rate:
    """Return the rate of a word, as `constant:0.5`, or with its eta or scale given apart."""
    rate: Rate = spec(text, "rate")
    if size is None:
        return rate
    parameter = first_field(type(rate))
    if parameter not in _TUNED:
        raise ArgumentError("eta", f"the rate {text} has nothing to tune by it", size)
    if ":" in text:
        raise ArgumentError("eta", f"the rate {text} has one already", size)
    try:
        return rate.replace(**{parameter: size})
    except ValueError as error:
        raise ArgumentError("eta", str(error), size) from None


@dataclass(frozen=True)
class Spec:
    """A learner in words.

    Args:
        loss: word of the loss [default: logistic].
        mirror: word of the mirror map [default: euclidean].
        radius: size of the weights, above 0, for the maps ball, entropy and signed-entropy.
        rate: word of the rate, "grid" or "mixture" [default: mixture for any loss of one score and
            for softmax; of one learner alone scale-free where it is possible, else adaptive].
        eta: what multiplies the rate, above 0 [default: that of the rate].
        update: one of `DESCENTS` or `ASCENTS` [default: descent].
        C: weight of the loss in dual ascent, above 0 [default: 1].
        k: examples looked back at by the updates window and mini, >= 1 [default: 1].
        features: number of features, 0 if it is not known in advance [default: 0].
        average: keep the average of all weights played, which takes twice the memory.
        classes: number of classes from the beginning, others may join [default: 0].
        blocks: raise the floor by lines under blocks of rows held back.
        rowless: end every block of rows held back, be it for the floor or for a leader, wherever a
            model is saved, so that its file holds no row.

    Every other option that is chosen, but for `loss`, `classes`, `blocks` and `rowless`, belongs
    to one learner alone.

    >>> str(Spec(loss="log_loss", rate="constant:0.5").make().rate)
    'Constant(eta=0.5)'
    >>> [spec.settled().rate for spec in (Spec(), Spec(features=9), Spec(eta=0.1))]
    ['mixture', 'scale-free', 'adaptive']
    """

    loss: str = "logistic"
    mirror: str = "euclidean"
    radius: float | None = None
    rate: str | None = None
    eta: float | None = None
    update: str = "descent"
    C: float | None = None
    k: int | None = None
    features: int = 0
    average: bool = False
    classes: int = 0
    blocks: bool = False
    rowless: bool = False

    def __post_init__(self) -> None:
        """Spell the words as we do, or refuse them."""
        leads = (self.rate or MIXTURE).startswith((MIXTURE, "block-leader"))
        if self.rowless and not (self.blocks or leads):
            raise ArgumentError("rowless", "is about rows held back, by blocks or by a leader")
        for name in ("loss", "mirror", "rate"):
            text = getattr(self, name)
            plain = text is None or (name == "rate" and text.lower() in (GRID, MIXTURE))
            object.__setattr__(self, name, text and (text.lower() if plain else spelt(text, name)))

    def make(self) -> Learner:
        """Return a fresh learner, or say in one line what does not go together."""
        if is_several(self.loss):
            return self._matrix()
        loss = make_loss(self.loss)
        if self.classes:
            raise ArgumentError("classes", f"the loss {self.loss} is of two", self.classes)
        if self.update in ASCENTS:
            return self._ascent(loss)
        if self.update not in DESCENTS:
            known = DESCENTS + ASCENTS
            hint = meant(self.update, known)
            raise ArgumentError("update", f"expected one of {', '.join(known)}{hint}", self.update)
        self._refuse(f"belongs to the updates {', '.join(ASCENTS)}", "C", "k")
        rate = self.rate or self._rate()
        if rate == GRID:
            return self._grid(loss)
        if rate == MIXTURE:
            return self._mixture(loss)
        from noregret.learners import MirrorDescent

        agile = self.update == "agile"
        mirror, domain = make_mirror(self.mirror, self.radius), None
        if agile and self.mirror.partition(":")[0] == "ball":
            from noregret import domains, mirrors

            mirror, domain = mirrors.Euclidean(), domains.Ball(mirror.radius)  # type: ignore[attr-defined]
        return MirrorDescent(
            loss,
            mirror,
            make_rate(rate, self.eta),
            domain,
            lazy=not agile,
            conservative=self.update == "mistakes",
            dimension=self._dimension(),
            averaging=self.average,
            blocks=self.blocks,
        )

    def fresh(self) -> Learner:
        """Return a learner of a new run: as `make`, but an average has to be kept by the rate.

        Another rate than the usual one can lose much more, so that `average` does not choose it;
        models of before, which `make` opens again, may have been learnt so.
        """
        learner = self.make()
        if self.average:
            plain = replace(self, average=False).settled()
            if plain.rate == MIXTURE:
                reason = f"the usual rate, {MIXTURE}, keeps none: choose another rate, as adaptive"
                raise ArgumentError("average", reason, kind="rate")
            usual: Any = plain.make()
            for name in ("mirror", "rate"):
                if not getattr(usual, name).keeps_average():
                    reason = f"{getattr(usual, name)} keeps none: choose another {name}"
                    more = ", as adaptive" if name == "rate" else ", as euclidean"
                    raise ArgumentError("average", reason + more, kind=name)
        return learner

    def settled(self) -> Spec:
        """Return the same learner with its rate named, also where that was left to us.

        A model keeps it: what a name stands for is decided once.
        """
        if self.rate is not None or self.update not in DESCENTS:
            return self
        return replace(self, rate=self._rate())

    @property
    def needs_width(self) -> bool:
        """Whether the map gives weight to features before they occur."""
        return self.mirror.partition(":")[0] in _WIDE

    def _rate(self) -> str:
        """Return the word of the default rate."""
        plain = (self.mirror, self.update, self.eta, self.average)
        return usual_rate(
            any_loss(self.loss),
            plain=plain == ("euclidean", "descent", None, False),
            alone=self.radius is not None or self.features != 0,
        )

    def _matrix(self) -> MatrixDescent | ScoreAggregate:
        """Return a learner of several classes, as many as will appear."""
        if self.classes < 0:
            raise ArgumentError("classes", "expected a number above 0", self.classes)
        reason = "belongs to learners of two classes or of numbers"
        rate = self.rate or self._rate()
        if rate == MIXTURE:
            self._refuse(reason, "C", "k")
            return self._score_mixture()
        for name, text in (("mirror", self.mirror), ("rate", rate), ("update", self.update)):
            if text.partition(":")[0] not in _OF_SEVERAL[name]:
                known = ", ".join(_OF_SEVERAL[name])
                raise ArgumentError(name, f"several classes take one of {known}", text)
        self._refuse(reason, "C", "k", "average")
        from noregret.learners import MatrixDescent

        return MatrixDescent(
            any_loss(self.loss),  # type: ignore[arg-type]
            make_mirror(self.mirror, self.radius),
            make_rate(rate, self.eta),
            outputs=self.classes or None,
            dimension=self.features or None,
            conservative=self.update == "mistakes",
            blocks=self.blocks,
        )

    def _grid(self, loss: Loss) -> Aggregate:
        if self.update != "descent":
            raise ArgumentError("update", f"the rate {GRID} belongs to descent", self.update)
        self._refuse(f"the rate {GRID} keeps none", "average")
        self._refuse(f"the rate {GRID} has nothing to tune by it", "eta")
        from noregret.experts import rate_grid

        return rate_grid(
            loss,
            make_mirror(self.mirror, self.radius),
            dimension=self._dimension(),
            blocks=self.blocks,
        )

    def _mixture(self, loss: Loss) -> Mixture:
        self._refuse_for_mixture()
        from noregret.experts import Mixture

        return Mixture(loss, blocks=self.blocks)

    def _score_mixture(self) -> ScoreAggregate:
        self._refuse_for_mixture()
        if self.loss != SOFTMAX:
            reason = f"the rate {MIXTURE} of several classes takes {SOFTMAX}"
            raise ArgumentError("loss", reason, self.loss)
        from noregret.experts import ScoreAggregate

        mixture = ScoreAggregate(blocks=self.blocks)
        if self.classes:
            mixture.grow(self.classes)
        return mixture

    def _refuse_for_mixture(self) -> None:
        """Refuse what does not go with the rate mixture."""
        if self.update != "descent":
            raise ArgumentError("update", f"the rate {MIXTURE} belongs to descent", self.update)
        if self.mirror != "euclidean":
            raise ArgumentError("mirror", f"the rate {MIXTURE} has maps of its own", self.mirror)
        self._refuse(f"belongs to other maps than those of the rate {MIXTURE}", "radius")
        self._refuse(f"the rate {MIXTURE} keeps none", "average")
        self._refuse(f"the rate {MIXTURE} has nothing to tune by it", "eta")

    def _ascent(self, loss: Loss) -> DualAscent:
        self._refuse(f"the update {self.update} keeps none of its weights", "average")
        self._refuse(f"the update {self.update} has none: its steps follow from C", "rate", "eta")
        from noregret.learners import DualAscent

        return DualAscent(
            loss,
            make_mirror(self.mirror, self.radius),
            1.0 if self.C is None else self.C,
            self.update,
            1 if self.k is None else self.k,
            dimension=self._dimension(),
            blocks=self.blocks,
        )

    def _refuse(self, reason: str, *names: str) -> None:
        """Refuse the first of these fields that was chosen."""
        for name in names:
            value = getattr(self, name)
            if value is not None and value is not False:
                raise ArgumentError(name, reason, None if value is True else value)

    def _dimension(self) -> int | None:
        if self.needs_width and not self.features:
            raise ArgumentError("features", f"the map {self.mirror} needs their number in advance")
        return self.features or None

    def as_dict(self) -> dict[str, Any]:
        """Return what was chosen, without what was left at its default."""
        plain = {field.name: field.default for field in fields(self)}
        return {name: value for name, value in asdict(self).items() if value != plain[name]}
