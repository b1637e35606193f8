"""Model files spoilt in every way: refused in one line, or loaded into a learner that works.

A file whose bytes changed is told by its checksum. Here most files are sealed again after they
were spoilt, as somebody would who means harm: header, shapes, types and numbers are then all that
can be wrong, and whatever is accepted must learn and certify, or say in one line why it cannot.
"""

from __future__ import annotations

import copy
import faulthandler
import hashlib
import math
import random
import resource
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.sparse import csr_array

import noregret as nr
from noregret import domains, losses, mirrors, rates
from noregret.evaluate import Trial, metrics_for
from noregret.files import store
from noregret.runs import record as records
from noregret.vocabulary.learners import Spec
from tests.sizes import sized

Arrays = dict[str, np.ndarray]

ROWS, FEATURES = 40, 5
RANDOM = np.random.default_rng(4)
X = RANDOM.random((ROWS, FEATURES)) * (RANDOM.random((ROWS, FEATURES)) < 0.7)
SIGNS = np.where(X @ [1, -1, 2, -2, 0.5] > 0.2, 1.0, -1.0)
REFUSALS = (ValueError, OSError)
#: What a learner may say that was loaded: it diverges, or its input does not fit it.
COMPLAINTS = (ValueError, OverflowError)

LEARNERS: dict[str, Callable[[], Any]] = {
    "ball": lambda: nr.MirrorDescent(losses.Hinge(), mirrors.Ball(2), rates.Adaptive()),
    "features": lambda: nr.MirrorDescent(
        losses.Logistic(), mirrors.Euclidean(), rates.PerCoordinate()
    ),
    "free": lambda: nr.MirrorDescent(
        losses.Logistic(), mirrors.Euclidean(), rates.ScaleFree(), averaging=False
    ),
    "coins": lambda: nr.MirrorDescent(
        losses.Logistic(), mirrors.Euclidean(), rates.CoinBetting(), averaging=False
    ),
    "ridge": lambda: nr.MirrorDescent(
        losses.Squared(), mirrors.Euclidean(), rates.Ridge(forgetting=0.9), averaging=False
    ),
    "aioli": lambda: nr.catalogue.aioli(),
    "targets": lambda: nr.MirrorDescent(losses.Squared(), mirrors.Euclidean(), rates.ScaleFree()),
    "simplex": lambda: nr.MirrorDescent(
        losses.Logistic(), mirrors.Entropy(), rates.InverseSqrt(0.5), dimension=FEATURES
    ),
    "agile": lambda: nr.MirrorDescent(
        losses.Hinge(), mirrors.Euclidean(), rates.Constant(0.1), domains.Ball(1), lazy=False
    ),
    "clipped": lambda: nr.catalogue.c_eg(0.4, loss=losses.Hinge(), eta=0.3, dimension=FEATURES),
    "doubling": lambda: nr.MirrorDescent(losses.Hinge(), mirrors.PNorm(3), rates.Doubling(0.3)),
    "exact": lambda: nr.DualAscent(losses.Hinge(), mirrors.Euclidean()),
    "window": lambda: nr.DualAscent(losses.Hinge(), mirrors.Ball(2), 0.5, "window", k=3),
    "mini": lambda: nr.DualAscent(
        losses.Hinge(), mirrors.Euclidean(), 0.5, "mini", k=4, schedule="oldest"
    ),
    "leader": lambda: nr.DualAscent(losses.SquaredHinge(), mirrors.Euclidean(), 0.1, "leader"),
}

WORDS: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 3, 7, 0.5, -0.0, 1e-300, 1e300, math.inf, -math.inf, math.nan,
    2**31, 2**63, -(2**63), 10**400, "", "1", "exact", "leader", "oldest", "x\ny", "x" * 5000,
    [], [1], [None, None], {}, {"class": 1, "fields": {}}, {"a": {"b": []}},
)  # fmt: skip
NUMBERS = (math.nan, math.inf, -math.inf, 1e308, -1e308, 1e155, 0.0, -1.0, 1.0, 0.5, 5e-324, 2e53)
SHAPES = ((), (0,), (0, 3), (2**40, 0), (0, 2**40), (1, 1, 1), (1,), (3, 5), (35,), (10,), (8,))
TYPES = ("f4", "f8", "f2", "i8", "u8", "u4", "u1", "?")


class Sample(NamedTuple):
    """A sound model: its two halves, the file of them, and how it is read."""

    header: dict[str, Any]
    arrays: Arrays
    sealed: bytes
    loads: Callable[[Path], Any]


def sealed(header: dict[str, Any], arrays: Arrays) -> bytes:
    return b"".join(store._encode("model", header, arrays))


def samples(folder: Path) -> Iterator[Sample]:
    """Yield a model of every learner, and one as the command line writes it."""
    path = folder / "sound"
    for make in LEARNERS.values():
        learner = make()
        learner.learn(X, SIGNS)
        learner.save(path)
        halves = store.read(path)
        yield Sample(*halves, sealed(*halves), nr.load)
    yield of_the_command_line(path)


def of_the_command_line(path: Path) -> Sample:
    """Return a model as the command line writes it."""
    learner = LEARNERS["ball"]()
    trial = Trial(learner, metrics=metrics_for(losses.Logistic()))
    trial.learner.learn(X, SIGNS)
    trial.look()
    record = records.Record(
        Spec(loss="hinge", mirror="ball", radius=2.0),
        [
            records.Input(
                ["a.svm"],
                {"constant": 1.0},
                labels=[["down", -1.0], ["up", 1.0]],
                holdout={"every": 5, "after": None},
                position=records.Position(1, ROWS, ROWS, 77),
            )
        ],
        points=trial.points,
        names={"name_text": np.array([97], np.uint8), "name_offsets": np.array([0, 1], np.uint64)},
        metrics=metrics_for(losses.Logistic()).arrays(),
    )
    record.save(learner, path)
    halves = store.read(path)
    return Sample(*halves, sealed(*halves), lambda path: records.load(path)[0])


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield all containers of a header with a key of theirs."""
    for key in range(len(value)) if isinstance(value, list) else value:
        yield value, key
        if isinstance(value[key], dict | list):
            yield from places(value[key])


def spoil_header(rng: random.Random, header: dict[str, Any]) -> None:
    container, key = rng.choice([*places(header)])
    what = rng.random()
    if what < 0.15:
        del container[key]
    elif what < 0.25 and isinstance(container, dict):
        container[rng.choice(["more", "class", ""])] = rng.choice(WORDS)
    else:
        container[key] = copy.deepcopy(rng.choice(WORDS))


def spoil_arrays(rng: random.Random, arrays: Arrays) -> None:
    name = rng.choice([*arrays])
    array = arrays[name].copy()
    what = rng.random()
    if what < 0.6 and array.size:
        flat = array.reshape(-1)
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(array.size)
            if array.dtype.kind in "iu":
                largest = np.iinfo(array.dtype).max
                flat[at] = rng.choice([0, 1, 2, 255, largest, largest // 2, rng.randrange(9)])
            else:
                flat[at] = rng.choice(NUMBERS)
        arrays[name] = array
    elif what < 0.7:
        arrays[name] = np.zeros(rng.choice(SHAPES), rng.choice(TYPES))
    elif what < 0.75:
        arrays[name] = array.astype(rng.choice(TYPES))
    elif what < 0.8:
        arrays[name] = np.atleast_1d(array)[: rng.randrange(array.size + 1)]
    elif what < 0.85:
        whole = np.atleast_1d(array)
        arrays[name] = np.concatenate([whole, whole[: rng.randrange(array.size + 1)]])
    elif what < 0.9:
        arrays[name] = array.reshape(-1, 1) if array.ndim == 1 else array.reshape(-1)
    elif what < 0.95:
        del arrays[name]
    else:
        arrays[rng.choice([*arrays, "past_gradient", "past_iterates", "other"])] = array


def spoil_bytes(rng: random.Random, data: bytes) -> bytes:
    spoilt = bytearray(data)
    # The header is where a change means something.
    end = len(spoilt) if rng.random() < 0.3 else 8 + int.from_bytes(spoilt[:8], "little")
    for _ in range(rng.choice([1, 1, 2, 5])):
        spoilt[rng.randrange(end)] = rng.choice([*b'0129{}[]",:\\-eE', rng.randrange(256)])
    if rng.random() < 0.1:
        del spoilt[rng.randrange(len(spoilt)) :]
    return bytes(spoilt)


def seal_again(data: bytes) -> bytes:
    """Return the bytes with the checksum that belongs to them, if they have a place for one."""
    start = data.find(store._MARK) + len(store._MARK)
    stop = start + len(store._BLANK)
    if start < len(store._MARK) or stop > len(data):
        return data
    rest = data[stop:]
    digest = hashlib.sha256(data[:start] + store._BLANK.encode() + rest).hexdigest()
    return data[:start] + digest.encode() + rest


def spoilt_file(rng: random.Random, sample: Sample, other: Sample) -> bytes:
    what = rng.random()
    if what < 0.1:
        return spoil_bytes(rng, sample.sealed)
    if what < 0.25:
        return seal_again(spoil_bytes(rng, sample.sealed))
    header, arrays = copy.deepcopy(sample.header), dict(sample.arrays)
    if what < 0.27:
        arrays = dict(other.arrays)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        if rng.random() < 0.5 and header:
            spoil_header(rng, header)
        elif arrays:
            spoil_arrays(rng, arrays)
    return sealed(header, arrays)


def kinds(learner: Any) -> tuple[Any, ...]:
    """Return what decides which kernels are compiled."""
    parts = vars(learner._parts).values()
    averaging = getattr(learner, "_averaging", None)
    return type(learner), averaging, *(p if isinstance(p, bool) else type(p) for p in parts)


def one_line(error: Exception) -> str:
    line = str(error)
    assert line and "\n" not in line and len(line) < 500, repr(error)
    return line


def use(learner: Any) -> None:
    """Learn and certify: what comes out is a number, or a complaint in one line."""
    rows = csr_array(X[:, : max(1, min(FEATURES, learner.dimension or FEATURES))])
    for _ in range(2):
        try:
            assert np.isfinite(learner.learn(rows, SIGNS)).all()
        except COMPLAINTS as error:
            one_line(error)
        try:
            certificate = learner.certificate()
            assert math.isfinite(certificate.loss) and certificate.rounds >= certificate.mistakes
            assert not math.isnan(certificate.floor(1.0))
            assert str(certificate)
        except COMPLAINTS as error:
            one_line(error)


def fuzz(folder: Path, seed: int, files: int) -> tuple[int, int]:
    """Load so many spoilt files; return how many were refused and how many accepted."""
    rng = random.Random(seed)
    models = [*samples(folder)]
    path = folder / "spoilt"
    compiled = set()
    for sample in models:
        path.write_bytes(sample.sealed)
        learner = sample.loads(path)
        compiled.add(kinds(learner))
        use(learner)
    refused = accepted = 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number in range(files):
        if number % 100 == 0:
            # Nothing here takes a second: what hangs ends the run and says where.
            faulthandler.dump_traceback_later(120, exit=True)
        sample = rng.choice(models)
        with np.errstate(all="ignore"):
            path.write_bytes(spoilt_file(rng, sample, rng.choice(models)))
            try:
                learner = sample.loads(path)
            except REFUSALS as error:
                assert str(path) in one_line(error), repr(error)
                refused += 1
                continue
            accepted += 1
            # Other kernels would take seconds each to compile, and are no part of a file.
            if kinds(learner) in compiled and getattr(learner, "k", 1) < 1000:
                use(learner)
    faulthandler.cancel_dump_traceback_later()
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak
    assert grown < 100_000, f"{grown} kB more than at the beginning"
    print(f"seed {seed}: {refused} refused, {accepted} accepted, {grown} kB grown")
    return refused, accepted


def no_memory_for_this(arrays: Arrays) -> None:
    arrays["state"] = np.zeros((2**44, 0))


def crossed(arrays: Arrays) -> None:
    arrays["spans"][:2] = 9, 3
    arrays["ring"][:2] = 0, 1


FORGED: list[tuple[str, str, Callable[[Any], Any], str]] = [
    ("ball", "header", lambda header: header.update(extra=[1]), "'extra' of a model must be"),
    ("ball", "header", lambda header: header.update(lazy="no"), "lazy is 'no', expected true"),
    ("ball", "header", lambda h: h["rate"]["fields"].update(scale=10**400), "must be a number"),
    ("ball", "header", lambda header: header.update(loss=None), "loss must be one of"),
    ("ball", "header", lambda header: header.update(learner="a\n" * 99), "holds 'a"),
    ("ball", "arrays", no_memory_for_this, "state has shape"),
    ("ball", "arrays", lambda arrays: arrays["state"].fill(np.nan), "state holds NaN"),
    ("ball", "arrays", lambda arrays: arrays["state"].fill(np.inf), "state holds infinities"),
    (
        "ball",
        "arrays",
        lambda arrays: arrays.update(slots=np.zeros(10, "f4")),
        "slots holds float32",
    ),
    ("ball", "arrays", lambda arrays: arrays["ledger"].fill(2.5), "2.5 mistakes in 2.5 rounds"),
    ("simplex", "arrays", lambda arrays: arrays["slots"].fill(0.0), "its weights are not finite"),
    (
        "doubling",
        "arrays",
        lambda arrays: arrays.update(past_gradient=np.ones(9), past_iterates=np.ones(9)),
        "past_gradient has 9 entries, and the state 5",
    ),
    ("doubling", "arrays", lambda arrays: arrays.pop("past_iterates"), "must be two vectors"),
    ("window", "arrays", crossed, "the rows kept do not fit together"),
    ("exact", "header", lambda header: header.update(sweeps="x\ny"), r"got 'x\\ny'"),
    ("agile", "header", lambda header: header.update(implicit="no"), "implicit is 'no', expected"),
    ("clipped", "arrays", lambda arrays: arrays["groups"].fill(np.nan), "groups holds NaN"),
    *(
        ("clipped", "arrays", forge, "heap and groups do not fit together")
        for forge in (
            lambda arrays: arrays["state"][:, 3].fill(-(2.0**40)),
            lambda arrays: arrays["state"][:, 3].fill(0.0),
            lambda arrays: arrays["heap"][:, 1].fill(2.0**40),
            lambda arrays: arrays["groups"][:, 0].fill(0.0),
            lambda arrays: arrays["groups"][:, 4].fill(0.0),
            lambda arrays: arrays["slots"].__setitem__(5, -np.inf),
            lambda arrays: arrays["slots"].__setitem__(6, FEATURES + 1.0),
            lambda arrays: arrays["slots"].__setitem__(7, 0.5),
        )
    ),
]


@pytest.mark.parametrize(("kind", "half", "forge", "message"), FORGED, ids=range(len(FORGED)))
def test_what_a_forged_model_says_is_not_believed(
    tmp_path: Path, kind: str, half: str, forge: Callable[[Any], Any], message: str
) -> None:
    path = tmp_path / "model"
    learner = LEARNERS[kind]()
    learner.learn(X, SIGNS)
    learner.save(path)
    header, arrays = store.read(path)
    forge(header if half == "header" else arrays)
    store.write(path, header, arrays)
    with pytest.raises(ValueError, match=message) as caught:
        nr.load(path)
    assert one_line(caught.value).startswith(str(path))


@pytest.mark.parametrize(
    "forged",
    [
        {"inputs": {"position": {"examples": "x"}}},
        {"inputs": {"position": {"passes": 0}}},
        {"points": [["a"] * 7]},
        {"points": [], "ended": True},
        {"inputs": {"labels": [["up"]]}},
        {"inputs": {"holdout": {"every": 5, "often": True}}},
        {"inputs": {"reading": [1]}},
        {"spec": {"loss": "hinge", "colour": "red"}},
        {"inputs": {"files": None}},
        {"inputs": None},
    ],
    ids=str,
)
def test_what_a_forged_record_says_is_not_believed(tmp_path: Path, forged: dict[str, Any]) -> None:
    sample = of_the_command_line(tmp_path / "sound")
    header = copy.deepcopy(sample.header)
    stream = header["extra"]["stream"]
    if forged.get("inputs"):
        forged = {"inputs": [stream["inputs"][0] | forged["inputs"]]}
    stream |= forged
    store.write(tmp_path / "model", header, sample.arrays)
    with pytest.raises(ValueError, match="what it remembers of its stream is not whole") as caught:
        sample.loads(tmp_path / "model")
    assert one_line(caught.value).startswith(str(tmp_path / "model"))


def test_spoilt_models(tmp_path: Path) -> None:
    files = sized(80, 300)
    refused, accepted = fuzz(tmp_path, seed=0, files=files)
    assert refused > files / 3 and accepted > files / 30


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", range(1, 5))
def test_many_spoilt_models(tmp_path: Path, seed: int) -> None:
    fuzz(tmp_path, seed, files=50_000)
