"""Dual ascent before the referee: every update, schedule, loss and map, offsets and growth too."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

import noregret as nr
from noregret import losses, mirrors
from noregret.learners import DualAscent, dual_certificate
from noregret.losses import SquaredEpsilonInsensitive
from tests.truth.claims import Case, Tally, bare_theorems
from tests.truth.comparators import Class
from tests.truth.learners import LOSSES, MIRRORS, Draw, Part
from tests.truth.referee import Referee
from tests.truth.streams import KINDS, Kind, Played, layout, saved_and_loaded, weights_of

Vector = npt.NDArray[np.float64]
Random = np.random.Generator

DUAL_LOSSES: dict[str, Part] = LOSSES | {
    "cubed hinge": lambda d: losses.PowerHinge(d.pick(2.0, 3.0), d.pick(1.0, 0.5)),
    "rounded hinge": lambda d: losses.OneSidedHuber(d.pick(1.0, 0.3)),
    "exponential": lambda d: losses.Exponential(),
    "squared tube": lambda d: SquaredEpsilonInsensitive(d.pick(0.0, 0.1)),
}
DUAL_MIRRORS: dict[str, Part] = MIRRORS | {
    "power": lambda d: mirrors.Power(d.pick(1.5, 2.0, 3.0)),
    "two-sided": lambda d: mirrors.Hypentropy(d.pick(0.5, 1.0) / d.size),
    "elastic": lambda d: mirrors.ElasticNet(d.pick(0.0, 0.05, 1.0)),
    "box": lambda d: mirrors.Box(-d.radius(), 2.0 * d.radius()),
}

#: Every update and every schedule; which of them is chosen when the program runs.
UPDATES: list[dict[str, Any]] = [
    {"update": "conservative"},
    {"update": "aggressive"},
    {"update": "aggressive", "row_limit": 1.0},
    {"update": "exact"},
    {"update": "window", "k": 2},
    {"update": "window", "k": 5, "sweeps": 30},
    {"update": "mini", "k": 4},
    {"update": "mini", "k": 4, "schedule": "random", "memory": 9},
    {"update": "mini", "k": 4, "schedule": "oldest", "memory": 9},
    {"update": "mini", "schedule": "support", "memory": 6},
    {"update": "leader", "sweeps": 20},
]


@dataclass(frozen=True)
class DualCombo:
    """A loss and a map: what one kernel is compiled for."""

    loss: str
    mirror: str

    @property
    def name(self) -> str:
        return f"dual ascent, {self.loss}, {self.mirror}"

    def learner(self, random: Random, size: float, dimension: int) -> DualAscent:
        draw = Draw(random, size)
        settings = dict(UPDATES[int(random.integers(len(UPDATES)))])
        if settings["update"] == "conservative" and self.loss != "hinge":
            settings["update"] = "exact"
        mirror = DUAL_MIRRORS[self.mirror](draw)
        if "row_limit" in settings:
            settings["row_limit"] = size * draw.pick(1.0, 3.0)
            if not mirror.smoothness() > 0.0:
                del settings["row_limit"]
        C = draw.eta(0.01, 0.3, 1.0, 30.0)
        if random.random() < 0.3:
            C = draw.pick(1e-320, 1e-300, 1e-90, 1e-12, 1.0, 1e6, 1e30)
        growing = self.mirror in ("plain", "ball", "p-norm", "power") and random.random() < 0.3
        return DualAscent(
            DUAL_LOSSES[self.loss](draw),
            mirror,
            min(C, 1e99),
            dimension=None if growing else dimension,
            seed=int(random.integers(1000)),
            **settings,
        )


#: The pairs that the tests of dual ascent compile anyway come first.
DUAL_COMBOS = [
    DualCombo("hinge", "plain"),
    DualCombo("logistic", "plain"),
    DualCombo("squared", "ball"),
    DualCombo("hinge", "p-norm"),
    DualCombo("hinge", "simplex"),
    DualCombo("absolute", "orthant"),
    DualCombo("hinge", "signed"),
    DualCombo("squared hinge", "plain"),
    DualCombo("tube", "plain"),
    DualCombo("squared tube", "plain"),
    DualCombo("cubed hinge", "plain"),
    DualCombo("quantile", "plain"),
    DualCombo("huber", "plain"),
    DualCombo("winnow", "winnow"),
    DualCombo("logistic", "p-norm"),
    DualCombo("exponential", "ball"),
    DualCombo("rounded hinge", "power"),
    DualCombo("absolute", "two-sided"),
    DualCombo("hinge", "elastic"),
    DualCombo("squared", "box"),
    DualCombo("logistic", "simplex"),
    DualCombo("tube", "signed"),
]
#: How many of them are compiled anyway.
COMPILED = 7


@dataclass
class DualPlayed(Played):
    """The rounds that dual ascent played, with their offsets."""

    offset: Vector = field(default_factory=lambda: np.zeros(0))


def _offsets(random: Random, rounds: int, kind: Kind) -> Vector | None:
    """Return none, small ones, large ones, or those of trials with margins of their own."""
    choice = int(random.integers(6))
    if choice < 3:
        return None
    sizes = [1.0, 0.1, 1e3 * kind.targets]
    return random.normal(size=rounds) * sizes[choice - 3]


def _learn(learner: DualAscent, form: str, rows: Vector, *more: Any) -> Vector:
    """Learn rows; a learner that grows sees no more columns than the rows so far have."""
    wide = layout(rows, form)
    if learner._fixed:
        return learner.learn(wide, *more)
    used = np.flatnonzero(np.any(rows != 0.0, axis=0))
    width = max(int(used[-1]) + 1 if len(used) else 1, learner.dimension)
    return learner.learn(csr_array(wide)[:, :width], *more)


def play(random: Random, kind: Kind, learner: DualAscent, form: str, dimension: int) -> DualPlayed:
    """Let the learner play a stream in portions, saved and loaded on the way."""
    rows = kind.rows(random, kind.rounds, dimension) * kind.size
    if form.endswith("32"):
        rows = np.clip(rows, -1e38, 1e38).astype(np.float32).astype(np.float64)
    rounds = len(rows)
    real = learner.loss.labels == "real"
    hidden = random.normal(size=dimension) / max(float(np.abs(rows).max(initial=0.0)), 1e-300)
    weight = weights_of(random, kind.weights, rounds)
    weight = np.ones(rounds) if weight is None else weight
    offset = _offsets(random, rounds, kind)
    offset = np.zeros(rounds) if offset is None else offset
    y, predictions = np.ones(rounds), np.zeros(rounds)
    certificates: dict[int, nr.Certificate] = {}
    cut = int(random.integers(rounds))
    begin = played = 0
    while begin < rounds:
        many = 1 if kind.labels == "adversarial" else int(random.integers(1, 20))
        part = slice(begin, min(begin + many, rounds))
        if kind.labels == "adversarial":
            # Wider rows than the learner knows are fine to predict.
            row = csr_array(rows[part])
            sign = learner.predict(row, offset[part])[0] > 0.0
            y[part] = -1.0 if sign else 1.0
        elif kind.labels == "separable":
            y[part] = np.where(rows[part] @ hidden >= 0.0, 1.0, -1.0)
        elif kind.labels == "random":
            count = part.stop - part.start
            y[part] = random.normal(size=count) if real else random.choice([-1.0, 1.0], count)
        if real:
            y[part] *= kind.targets
        before = learner.rounds
        try:
            predictions[part] = _learn(
                learner, form, rows[part], y[part], weight[part], offset[part]
            )
        except OverflowError:
            # The rounds before are kept, but their predictions are not known: play them again.
            played = begin
            if learner.rounds == before:
                break
            return _again(learner, form, rows, y, weight, offset, certificates)
        begin = played = part.stop
        if begin > cut and not certificates:
            certificates[played] = learner.certificate()
            learner = saved_and_loaded(learner)
    certificates[played] = learner.certificate()
    part = slice(0, played)
    return DualPlayed(
        rows[part], y[part], weight[part], predictions[part], learner, certificates, offset[part]
    )


def _again(
    learner: DualAscent,
    form: str,
    rows: Vector,
    y: Vector,
    weight: Vector,
    offset: Vector,
    certificates: dict[int, nr.Certificate],
) -> DualPlayed:
    """Return the run of a learner that stopped within a portion, with its predictions."""
    rounds = learner.rounds
    twin = DualAscent(
        learner.loss,
        learner.mirror,
        learner.C,
        dimension=learner.dimension if learner._fixed else None,
        memory=learner.memory,
        **{n: getattr(learner, n) for n in ("update", "k", "schedule", "seed", "row_limit")},
        **{n: getattr(learner, n) for n in ("tolerance", "sweeps")},
    )
    predictions = np.zeros(rounds)
    for t in range(rounds):
        row = slice(t, t + 1)
        predictions[row] = _learn(twin, form, rows[row], y[row], weight[row], offset[row])
    part = slice(0, rounds)
    certificates[rounds] = learner.certificate()
    return DualPlayed(
        rows[part], y[part], weight[part], predictions, learner, certificates, offset[part]
    )


class DualCase(Case):
    """A certificate of dual ascent before the referee."""

    def has_no_average(self) -> bool:
        return True

    def learner_loss(self, tally: Tally) -> None:
        """The loss printed is the loss suffered, where anything at all is said about it."""
        if math.isfinite(self.certificate.slack):
            super().learner_loss(tally)

    def classes(self) -> Iterator[Class]:
        """Yield some of the classes: over many streams all of them are met."""
        every = list(super().classes())
        for chosen in sorted(self.random.permutation(len(every))[:4].tolist()):
            yield every[chosen]

    def anywhere(self) -> list[Vector]:
        tried = super().anywhere()
        steps = self.certificate.C / self.natural**2  # type: ignore[attr-defined]
        if 1e-6 < self.natural < 1e6 and 1e-6 < steps < 1e6 and self.certificate.loss < 1e12:
            tried += [u for u in [self._leader()] if u is not None]
        return tried

    def _leader(self) -> Vector | None:
        """Return nearly the least of what D stays below, where rounding is all that is left."""
        certificate, referee = self.certificate, self.referee
        leader = DualAscent(
            certificate.loss_function,
            certificate.mirror,
            certificate.C,
            "leader",
            dimension=len(certificate.gradient),
            sweeps=50,
        )
        try:
            leader.learn(referee.X, referee.y, referee.weight, referee.offset)
        except OverflowError:
            return None
        return self.fitted(leader.weights)

    def dual_value(self, tally: Tally) -> None:
        """D is below F(u) + C sum f_t(u) for every u, and lambda M is below D."""
        certificate = self.certificate
        assert isinstance(certificate, dual_certificate.DualCertificate)
        dual = certificate.dual
        for u in self.anywhere():
            extra = self.regularizer(u, 1.0)
            true, distance = self.referee.exceeds(u, [dual], extra=extra, factor=certificate.C)
            tally.enter("dual value", true, distance, f"{dual!r}", extra, u)
        gained = Fraction(certificate.progress) * certificate.mistakes
        distance = float(Fraction(dual) - gained) / max(abs(dual), 1e-300)
        tally.enter("lambda", gained <= Fraction(dual), distance, f"{certificate.progress!r}")

    def bare(self, tally: Tally, ball: Class) -> None:
        """A theorem must hold by itself, where rounding is small beside all that it speaks of."""
        certificate, size = self.certificate, self.certificate.loss + 1.0
        assert isinstance(certificate, dual_certificate.DualCertificate)
        floor = certificate.regularized_floor() + certificate.slack
        if not (self.ordinary and certificate.slack < 1e-9 * size):
            return
        facts = dual_certificate._Facts
        with bare_theorems(), mock.patch.object(facts, "gained", lambda self, *given: given):
            raw = [b for b in certificate.bounds_for(ball.radius) if b.applies]
            complexity = facts(certificate, ball.radius).complexity / certificate.C
        for bound in raw:
            if bound.name in ("dual ascent, after the fact", "dual ascent, gain as measured"):
                continue
            if bound.measure == "loss":
                proved = certificate.loss - floor + complexity
                true = bound.value >= proved - 1e-9 * (size + complexity)
                tally.enter("bare theorem", true, bound.value - proved, f"{bound!r} < {proved!r}")
            else:
                # M gain <= D, with gain = C / factor.
                gained = certificate.mistakes / bound.factor
                true = gained <= floor + 1e-9 * size
                tally.enter("bare theorem", true, floor - gained, f"{bound!r}, D/C = {floor!r}")

    @property
    def ordinary(self) -> bool:
        """Whether numbers are of a size at which products of them are exact to 1e-9."""
        X = np.abs(self.referee.X[self.referee.X != 0.0])
        sizes = [*X, *np.abs(self.referee.offset), self.certificate.C]  # type: ignore[attr-defined]
        return max(sizes) < 1e4 and len(X) > 0 and min(*X, sizes[-1]) > 1e-8


def judge(random: Random, played: DualPlayed) -> Tally:
    """Check the statements of every certificate of a run."""
    tally = Tally()
    everything = Referee(
        played.learner.loss, played.X, played.y, played.weight, offset=played.offset
    )
    for rounds, certificate in played.certificates.items():
        if rounds == 0:
            assert certificate.floor(1.0) == certificate.loss == 0.0
            continue
        known = len(certificate.gradient)
        referee = everything.part(rounds)
        assert not np.any(referee.X[:, known:])
        referee = Referee(
            referee.loss,
            referee.X[:, :known],
            referee.y,
            referee.weight,
            offset=referee.offset,
        )
        judged = DualCase(random, certificate, referee, played, rounds)
        judged.learner_loss(tally)
        for ball in judged.classes():
            judged.against_class(tally, ball)
        judged.regularized(tally)
        judged.every_predictor(tally)
        judged.dual_value(tally)
    return tally


def run_one(
    combo: DualCombo, kind: Kind, seed: Sequence[int], form: str = "dense64"
) -> tuple[Tally, str]:
    """Play one stream and judge it; return the tally and what was played, in words."""
    random = np.random.default_rng(seed)
    dimension = int(random.choice([1, 2, 5, 5, 17]))
    with np.errstate(all="ignore"):
        learner = combo.learner(random, kind.size, dimension)
        words = f"{learner.update} k={learner.k} {learner.schedule} C={learner.C!r}"
        parts = f"{learner.loss} {learner.mirror} {words}"
        played = play(random, kind, learner, form, dimension)
        tally = judge(random, played)
    return tally, f"seed {list(seed)}: {combo.name} | {kind.name} | {form} {dimension}d | {parts}"


def stream(seed: int, index: int) -> tuple[Tally, str]:
    """Play the stream of that number."""
    random = np.random.default_rng([seed, index, 2])
    combo = DUAL_COMBOS[int(random.integers(len(DUAL_COMBOS)))]
    kind = KINDS[int(random.integers(len(KINDS)))]
    form = str(random.choice(["dense64", "sparse64", "dense32", "sparse32"]))
    return run_one(combo, kind, [seed, index, 3], form)
