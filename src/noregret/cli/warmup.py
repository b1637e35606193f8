"""`noregret warmup`: compile ahead, so that the first run is as quick as the next."""

from __future__ import annotations

import tempfile
import time
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from rich.text import Text

import noregret as nr
from noregret.cli.console import plain_console, show_table
from noregret.cli.writing import fitted, to_json
from noregret.jit import usable_directory
from noregret.learners.foreign import Certifier
from noregret.passes.switches import FAR
from noregret.runs.interrupt import unwinding
from noregret.streams import Block
from noregret.visible import visible
from noregret.vocabulary import learners as choices
from noregret.vocabulary.named import make, parse_spec

_COMMON = (
    "default",
    "default:loss=squared",
    "default:loss=softmax",
    "scale-free",
    "scale-free:loss=squared",
    "adagrad",
    "adagrad:loss=squared",
    "ogd",
    "sgd",
    "ball/adaptive:radius=1",
    "perceptron",
    "pa",
    "softmax",
)
_TEXTS = {
    "svm": "1 1:0.5 2:1\n0 2:1\n",
    "vw": "1 |a x:0.5 y |b z\n-1 |a y\n",
    "csv": "label,a,b\n1,0.5,x\n0,1,y\n",
    "jsonl": '{"label": 1, "a": 0.5, "b": "x"}\n{"label": 0, "a": 1.0}\n',
}


def warmup(
    *,
    learner: list[str] | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Run `noregret warmup`."""
    texts = learner or list(_COMMON)
    specs = {text: parse_spec(text, "logistic") for text in texts}
    jobs = {f"reading .{suffix}": partial(_read, suffix) for suffix in _TEXTS}
    jobs |= {f"learner {text}": partial(_learn, text, spec) for text, spec in specs.items()}
    console = plain_console(quiet or as_json)
    done: list[dict[str, Any]] = []
    for place, (name, work) in enumerate(jobs.items(), 1):
        start = time.monotonic()
        # The cursor is hidden meanwhile, and a folder is there that must go.
        with unwinding(), console.status(Text(f"{place} of {len(jobs)}: {visible(name)}")):
            work()
        done.append({"name": name, "seconds": time.monotonic() - start})
        show_table(console, "nt", [(f"{done[-1]['seconds']:.1f} s", visible(name))])
    directory = usable_directory()
    if as_json:
        print(to_json({"directory": directory and str(directory), "jobs": done}))
        return
    kept = f"compiled code is in {directory}" if directory else "nothing was kept: see the warning"
    after = f"{sum(job['seconds'] for job in done):.1f} s"
    console.print(fitted(f"ready after {after}; {visible(kept)}"))


def _read(suffix: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"tiny.{suffix}"
        path.write_text(_TEXTS[suffix])
        for constant in (0.0, 1.0):
            list(nr.read(path, labels="binary", constant=constant))


def _learn(text: str, spec: choices.Spec) -> None:
    several = choices.is_several(spec.loss)
    rows: dict[str, Any] = {
        "indptr": np.array([0, 1, 2], np.uint64),
        "indices": np.array([0, 1], np.uint32),
        "y": np.array([0.0 if several else -1.0, 1.0]),
    }
    for kind, width in product((np.float64, np.float32), (2, FAR + 1)):
        values: Any = np.array([1.0, 1.0], kind)
        block = Block(values=values, width=width, **rows)
        learner = make(text, replace(spec, features=width * spec.needs_width))
        predictions = learner.learn(block, block.y)
        learner.predict(block)
        learner.certificate().text()
        if not several:
            Certifier(choices.make_loss(spec.loss)).add(block, block.y, predictions)
