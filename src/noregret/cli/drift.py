"""`noregret drift`: is there a fixed predictor that does what a moving one did?"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from noregret import plot
from noregret.arguments import refuse
from noregret.cli.given import Given
from noregret.cli.telling import meanings
from noregret.cli.writing import Output, fitted, require_place, to_json
from noregret.runs.facts import label_pairs
from noregret.runs.opening import whole
from noregret.runs.progress import telling
from noregret.streams import Stream
from noregret.streams.errors import StreamError
from noregret.tracking.drift import DriftProof, drift_proof
from noregret.visible import visible
from noregret.vocabulary import learners as choices

_PICTURES = (".png", ".svg", ".pdf")


def drift(
    given: Given,
    *,
    radius: float,
    loss: str,
    window: int | None,
    picture: Path | None,
    numbers: bool,
    one_pass: bool,
    as_json: bool,
) -> None:
    """Run `noregret drift`."""
    chosen = choices.make_loss(loss)
    if picture is not None:
        require_place("--picture", picture)
        refuse(
            {
                "--picture draws windows: say how long they are, --window N": window is None,
                f"--picture {picture}: expected a name in {', '.join(_PICTURES)}": (
                    picture.suffix not in _PICTURES
                ),
            }
        )
        plot.require_matplotlib()
    if one_pass and type(chosen).__name__ != "Squared":
        raise ValueError(f"--one-pass keeps second moments, which {loss} is not a function of")

    def prove(rule: Any) -> tuple[Stream, DriftProof]:
        stream = given.open(rule)
        rows = None if one_pass else whole(stream)
        with telling() as tell:
            if rows is None:
                return stream, drift_proof(stream, None, chosen, radius, None, window, tell)
            return stream, drift_proof(rows, rows.y, chosen, radius, rows.weight, window, tell)

    rules: list[Any] = [given.label_rule("sign")]
    if chosen.labels != "sign" and "labels" not in given.said:
        # A second reading follows where labels are not of two classes; rows that are skipped
        # would hide that.
        once = numbers or "-" in given.files or given.errors() == "skip"
        rules = ["real"] if once else ["binary", "real"]
    for rule in rules:
        try:
            stream, proof = prove(rule)
        except StreamError as error:
            if error.argument != "labels" or rule == rules[-1]:
                raise
        else:
            if len(stream.label_map) == 2:
                break
    if picture is not None:
        axes, drawn = plot.sheet(7.2, 4.2), io.BytesIO()
        plot.drift(proof, ax=axes, title=visible(Path(stream.name).name))
        plot.save(axes, drawn, format=picture.suffix[1:])
        with Output(picture) as output:
            output.write(drawn.getvalue())
    if as_json:
        pairs = label_pairs(stream.label_map.items())
        told = [{"label": name, "value": y} for name, y in pairs]
        print(to_json({"input": stream.name, "labels": told, **proof.as_dict()}))
        return
    print(f"{visible(stream.name)}: {proof.rounds:,} examples, {chosen}{meanings(stream)}")
    print(fitted(str(proof)))
