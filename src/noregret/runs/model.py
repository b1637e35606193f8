"""A model: a learner together with how its input is read and what its labels are called."""

from __future__ import annotations

import html
import threading
from contextlib import nullcontext
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from noregret.evaluate import Holdout, Point, metrics_for
from noregret.files.replacing import replaced
from noregret.proof.certificate import Certificate
from noregret.runs.auditing import Audit, audit_model
from noregret.runs.export import as_json, coefficients
from noregret.runs.facts import closing_lines
from noregret.runs.interrupt import Interruption
from noregret.runs.onnx_models import onnx_model
from noregret.runs.opening import DEFAULTS, found, open_again, open_stream, rows_without_labels
from noregret.runs.predicting import Names, Predictor, explained, names_of
from noregret.runs.record import MEMORY, Input, Record, load
from noregret.runs.replay import NotChecked, places
from noregret.runs.session import Session
from noregret.streams import Stream
from noregret.visible import Readable
from noregret.vocabulary.learners import Learner, Spec, any_loss, of_several

_NONE_HELD = asdict(Holdout())
#: The rule for labels, by the labels that a loss takes.
_RULES = {"sign": "binary", "class": "classes"}


class Model(Readable):
    """A linear model of a stream: learner, reading of the input, names of features and labels.

    It is what `noregret learn --save` writes and `nr.open_model` opens.

    Args:
        loss: the loss in words, as in "logistic", "hinge:0.5", "squared" or "softmax"
            [default: "logistic"].
        multiclass: labels are classes, as many as will appear; a loss of two classes is taken one
            against the rest [default: False].
        labels: the two labels as they are written, (negative, positive) [default: found out].
        options: options of the learner, as `mirror`, `radius`, `rate`, `eta`, `update`, `C`, `k`,
            `average`, `classes`, `features`; all others are options of `nr.read`, as `target`,
            `drop` or `bits`. Every example has a constant feature of value 1, unless
            `constant=0` is among them.

    >>> import noregret as nr
    >>> rows = [({"age": 31 + k, "city": city}, "yes" if k % 3 == 0 else "no")
    ...         for k, city in enumerate(["Bonn", "Rome", "Bonn", "Oslo", "Rome", "Bonn"])]
    >>> model = nr.Model("logistic").learn(rows)
    >>> model.rounds, model.predict({"city": "Rome", "age": 40}, "label").tolist()
    (6, ['no'])
    >>> model.certificate().floor(1.0) <= model.certificate().loss
    True
    """

    def __init__(
        self,
        loss: str | None = None,
        *,
        multiclass: bool = False,
        labels: tuple[Any, Any] | None = None,
        **options: Any,
    ) -> None:
        words = {field.name for field in fields(Spec)}
        said = {name: options.pop(name) for name in words & options.keys()}
        several = multiclass or "classes" in said
        said["loss"] = of_several(loss) if several else loss or "logistic"
        self._spec = Spec(**said)
        self._labels = labels
        self._said = options
        self._learner: Learner | None = None
        self._record: Record | None = None
        # Wrong words are refused here and not when the first file has been opened.
        self._kind = any_loss(self._spec.loss).labels
        if not self._spec.needs_width:
            self._spec.make()

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Return the model in a file that `save` or `noregret learn --save` wrote."""
        learner, record = load(Path(path))
        model = cls.__new__(cls)
        model._spec, model._labels, model._said = record.spec, None, {}
        model._kind = learner.loss.labels
        model._learner, model._record = learner, record
        return model

    @property
    def learner(self) -> Learner:
        """The learner; ValueError before anything was learnt."""
        return self._begun()[0]

    @property
    def record(self) -> Record:
        """What was read and how, with the course of the run."""
        return self._begun()[1]

    @property
    def rounds(self) -> int:
        """How many examples were learnt."""
        return 0 if self._learner is None else int(self._learner.rounds)

    @property
    def classes(self) -> list[Any]:
        """Labels as they are written: negative and positive, or every class; [] for numbers."""
        return self.record.label_names

    @property
    def names(self) -> Names:
        """What the columns are called: `names.name(column)`."""
        return names_of(*self._begun())

    @property
    def points(self) -> list[Point]:
        """Loss, floor and regret after 1, 2, 4, ... examples and at the end."""
        return list(self.record.points)

    @property
    def metrics(self) -> dict[str, float]:
        """Progressive measures of the first pass: every example predicted before it was learnt."""
        return metrics_for(self.learner.loss, self.record.metrics).summary()

    @property
    def held_metrics(self) -> dict[str, float]:
        """Measures of the examples that were held out."""
        return metrics_for(self.learner.loss, self.record.held_metrics).summary()

    def certificate(self) -> Certificate:
        """Return what the rounds so far prove."""
        return self.record.certificate(self.learner)

    def learn(
        self,
        inputs: Any,
        *,
        passes: int = 1,
        holdout: float | Holdout | None = None,
        on_error: str = "stop",
        **reading: Any,
    ) -> Self:
        """Learn examples as new ones; return the model.

        Args:
            inputs: what `nr.read` takes: paths, patterns, data frames, (dict, label) pairs.
            passes: passes over the inputs, at least 1 [default: 1].
            holdout: do not learn every K-th example (a whole number above 1), a random share of
                them (a number below 1) or those of an `evaluate.Holdout`, but measure on them.
            on_error: "stop" at a bad line, or "skip" it [default: "stop"].
            reading: options of `nr.read` for these inputs.
        """
        if passes < 1:
            raise ValueError(f"passes={passes}: expected at least 1")
        held = _holdout(holdout)
        said = self._said | reading
        if self._record is None or self._learner is None:
            learner, record, stream = self._fresh(inputs, said, on_error)
        else:
            learner, record = self._learner, self._record
            stream = open_again(inputs, learner, record, said | {"on_error": on_error}, grow=True)
            record.begin(files=found(inputs), on_error=on_error)
            record.current.reading |= reading
        record.current.holdout = held
        return self._run(learner, record, stream, passes, 0)

    def resume(self, inputs: Any = None, *, passes: int | None = None) -> Self:
        """Go on with the last input where the run stopped; return the model.

        Args:
            inputs: where that input is now [default: the names that the model remembers].
            passes: passes over it in all [default: as many as were begun].
        """
        learner, record = self._begun()
        files = record.current.files if inputs is None else inputs
        if inputs is None and files == [MEMORY]:
            raise ValueError("the model was learnt from objects in memory: give the same ones")
        stream = open_again(
            files, learner, record, {"on_error": record.current.on_error}, grow=True
        )
        often = record.position.passes if passes is None else passes
        return self._run(learner, record, stream, often, record.position.examples)

    def predict(
        self, inputs: Any, kind: str | None = None, *, average: bool = False, **reading: Any
    ) -> npt.NDArray[Any]:
        """Return a prediction for each row; labels are not needed, and columns in any order.

        Args:
            inputs: paths, a data frame, dictionaries, or (dict, label) pairs.
            kind: of two classes "margin" [default], "probability" (of the positive one) or
                "label"; of several "label" [default], or a column a class of "score" or
                "probability"; of numbers "margin".
            average: predict by the average of all weights played.
            reading: options of `nr.read` for these inputs.
        """
        learner, record = self._begun()
        predictor = Predictor(learner, record, kind, average)
        stream = open_again(rows_without_labels(inputs), learner, record, reading, grow=False)
        made = [predictor.shown(predictor.scores(block)) for block in stream]
        if not made:
            raise ValueError(f"{stream.name}: there are no rows")
        return np.concatenate(made)

    def audit(self, inputs: Any = None, *, tol: float = 1e-6, max_passes: int = 1000) -> Audit:
        """Replay all that was learnt and judge every statement of the certificate.

        Args:
            inputs: where the files are now, in their order, or the objects learnt from memory, one
                an input [default: the names that the model remembers].
            tol: the relative duality gap that the solver aims at [default: 1e-6].
            max_passes: passes after which the solver stops [default: 1000].
        """
        learner, record = self._begun()
        objects = iter(() if inputs is None else [inputs] if _is_object(inputs) else inputs)

        def opened(one: Input) -> Stream:
            width = learner.dimension if record.spec.needs_width else 0
            if one.files == [MEMORY]:
                files = next(objects, None)
                if files is None:
                    raise NotChecked("it was learnt from objects in memory: give the same ones")
            else:
                where = places(record, found(inputs) if inputs else [], Path())
                files = [where[name] for name in one.files]
            said = {"on_error": one.on_error}
            rule = one.rule(record.classes)
            return open_stream(files, rule, said, one.reading, width, **record.known())

        return audit_model(learner, record, opened, tol=tol, max_passes=max_passes)

    def coefficients(self) -> dict[str, float] | dict[Any, dict[str, float]]:
        """Return the weights other than 0 by name; of several classes, those of each class."""
        found = coefficients(*self._begun())
        if self._kind == "class":
            return dict(zip(self.classes, found, strict=False))
        return found[0]

    def to_json(self) -> str:
        """Return the model as JSON: all that is needed to score rows in another program.

        A mixture has the format "noregret mixture", with its members and their shares.
        """
        return as_json(*self._begun())

    def to_onnx(self, path: str | Path) -> None:
        """Write the model as an ONNX file, which other programs score in 32-bit floats.

        It has an input for each column, or `features` where a file numbers them, and the outputs
        `scores` and `probabilities`. It needs the extra `onnx`; hashed features are refused.
        """
        made = onnx_model(self.to_json())
        with replaced(path) as file:
            file.write(made)

    def explain(self, inputs: Any, **reading: Any) -> list[list[tuple[str, float, float]]]:
        """Return for each row what every feature adds: (name, value, weight times value).

        The largest come first. Of several classes the weights are those of the class predicted.

        Args:
            inputs: what `predict` takes.
            reading: options of `nr.read` for these inputs.
        """
        learner, record = self._begun()
        stream = open_again(rows_without_labels(inputs), learner, record, reading, grow=False)
        return [
            [(entry["name"], entry["value"], entry["added"]) for entry in one["features"]]
            for one in explained(learner, record, stream)
        ]

    def report(self, path: str | Path) -> None:
        """Write one HTML page about the run: what is proved, how well it predicts, pictures.

        It needs the extra `plot`.
        """
        from noregret.plot import require_matplotlib
        from noregret.runs.reporting import report_page

        require_matplotlib()
        text, _ = report_page(*self._begun(), self.names)
        with replaced(path) as file:
            file.write(text.encode())

    def save(self, path: str | Path) -> None:
        """Write the model to a file, whole or not at all."""
        self.record.save(self.learner, Path(path))

    def _made(self) -> str:
        return ", ".join(f"{name}={value!r}" for name, value in self._spec.as_dict().items())

    def _repr_html_(self) -> str:
        return super()._repr_html_() if self.rounds else html.escape(repr(self))

    def __str__(self) -> str:
        if self._record is None:
            return repr(self)
        return "\n".join(closing_lines(self.learner, self._record))

    def _begun(self) -> tuple[Learner, Record]:
        if self._learner is None or self._record is None:
            raise ValueError("the model has learnt nothing yet: call learn first")
        return self._learner, self._record

    def _fresh(
        self, inputs: Any, said: dict[str, Any], on_error: str
    ) -> tuple[Learner, Record, Stream]:
        """Return a learner that has seen nothing, its record and its stream."""
        spec, rule = self._spec, self._labels or _RULES.get(self._kind, "real")
        width = spec.features + (said.get("constant") != 0.0) if spec.features else 0
        stream = open_stream(inputs, rule, said | {"on_error": on_error}, None, width)
        if spec.needs_width:
            spec = replace(spec, features=stream.width or width)
        reading = DEFAULTS | said
        kept = list(rule) if isinstance(rule, tuple) else rule
        first = Input(found(inputs), reading, kept, on_error=on_error)
        return spec.make(), Record(spec.settled(), [first]), stream

    def _run(
        self, learner: Learner, record: Record, stream: Stream, passes: int, skip: int
    ) -> Self:
        session = Session(learner, stream, record, checked=True)
        # Signals are for the main thread only: elsewhere nothing interrupts a run.
        main = threading.current_thread() is threading.main_thread()
        with Interruption() if main else nullcontext(Interruption()) as interruption:
            try:
                for _ in session.run(interruption, passes, skip):
                    pass
            finally:
                if learner.rounds:
                    # What was learnt before an interrupt or a bad line is kept.
                    session.finish()
                    session.note()
                    self._learner, self._record = learner, record
        if not learner.rounds:
            raise ValueError(f"{stream.name}: there are no examples")
        return self


def _holdout(given: float | Holdout | None) -> dict[str, Any]:
    """Return the arguments of `Holdout` that are not its defaults."""
    if given is None:
        return {}
    if not isinstance(given, Holdout):
        given = Holdout(every=int(given)) if given >= 1.0 else Holdout(share=float(given))
    return {name: value for name, value in asdict(given).items() if value != _NONE_HELD[name]}


def _is_object(inputs: Any) -> bool:
    """Tell whether inputs are one object in memory, and not a list of them or of paths."""
    return hasattr(inputs, "__arrow_c_stream__") or (
        isinstance(inputs, list) and bool(inputs) and isinstance(inputs[0], tuple)
    )


def open_model(path: str | Path) -> Model:
    """Return the model in a file that `noregret learn --save` or `Model.save` wrote.

    It has what `nr.load` has not: how the input is read, names of features, labels, measures and
    the course of the run.
    """
    return Model.open(path)
