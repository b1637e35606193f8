"""Every format by its own opener, with options as keywords."""

from __future__ import annotations

from typing import Any

from noregret.streams import Reading, Stream, binary, csv, jsonl, record_rows, svmlight, table, vw


def open_csv(inputs: Any, names: Any = None, grow: bool = True, **options: Any) -> Any:
    return csv.open_csv(inputs, Reading(format="csv", **options), names, grow)


def open_jsonl(inputs: Any, names: Any = None, grow: bool = True, **options: Any) -> Any:
    return jsonl.open_jsonl(inputs, Reading(format="jsonl", **options), names, grow)


def open_table(inputs: Any, names: Any = None, grow: bool = True, **options: Any) -> Any:
    return table.open_table(inputs, Reading(**options), names, grow)


def open_pairs(inputs: Any, names: Any = None, grow: bool = True, **options: Any) -> Stream:
    return record_rows.open_pairs(inputs, Reading(**options), names, grow)


def open_vw(inputs: Any, names: Any = None, grow: bool = True, **options: Any) -> Any:
    return vw.open_vw(inputs, Reading(format="vw", **options), names, grow)


def vw_format(names: Any = None, grow: bool = True, **options: Any) -> vw.VwFormat:
    return vw.VwFormat(Reading(format="vw", **options), names, grow)


def open_svmlight(inputs: Any, **options: Any) -> Any:
    return svmlight.open_svmlight(inputs, Reading(format="svmlight", **options))


def open_binary(inputs: Any, **options: Any) -> binary.BinaryStream:
    return binary.open_binary(inputs, Reading(**options))
