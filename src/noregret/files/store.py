"""Model files: a versioned JSON header and arrays in one safetensors file, without pickle.

The header lies in the metadata of the safetensors file, under the single key `noregret`, so
that equal models give equal files and any safetensors reader can list what is inside:

    {"format": "noregret model", "version": 1, "library": ..., "checksum": ..., "header": ...}

The checksum is the SHA-256 of the whole file with the 64 digits of the checksum itself read
as zeros, so that a change of any byte is noticed, padding and lengths included.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import math
import os
import re
import stat
from collections.abc import Iterator
from typing import Any, BinaryIO, TypeVar

import numpy as np
import safetensors
import safetensors.numpy

from noregret.component import Component, field_kinds
from noregret.files.replacing import replaced
from noregret.files.store_limits import (
    FORMAT,
    LONGEST_HEADER,
    MOST_ARRAYS,
    MOST_VALUES,
    TooMany,
    require_few,
    require_size,
    too_large,
    values_of,
)
from noregret.visible import shown

VERSION = 1

_KEY = "noregret"
_MARK = rb"\"checksum\":\""  # as it stands in the file: JSON inside a JSON string
_BLANK = "0" * 64
_LENGTH_BYTES = 8  # a safetensors file opens with the length of its header, little-endian
_TAG = "$float"
_NAME = re.compile(r"[A-Za-z0-9_./-]+")
_DTYPES = frozenset(np.dtype(code).name for code in "?efdbhiqBHIQ")

_EXTRA = "extra"
_LONGEST_LINE = 300  # characters of a message by another library

FilePath = str | os.PathLike[str]
C = TypeVar("C", bound=Component)


@dataclasses.dataclass(frozen=True)
class Extra:
    """Data that a program stores in a model file beside the learner, which ignores it."""

    header: dict[str, Any] = dataclasses.field(default_factory=dict)
    arrays: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)


def write(path: FilePath, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Write a model file, all of it or nothing.

    On any failure the old file stays as it was. The header holds what JSON holds (a tuple
    comes back as a list), infinities and NaN too; the arrays come back to the bit, in
    little-endian C order.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(folder + "/model", {"rounds": 3}, {"weights": np.array([0.5, -0.0])})
    ...     read(folder + "/model")
    ({'rounds': 3}, {'weights': array([ 0.5, -0. ])})
    """
    head, body = _encode(path, header, arrays)
    try:
        with replaced(path) as stream:
            stream.write(head)
            stream.write(body)
    except OSError as error:
        reason = f"cannot write a {FORMAT}: {error.strerror}"
        raise OSError(error.errno, reason, error.filename) from error


def read(path: FilePath) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return header and arrays of a model file, or refuse it with the reason."""
    try:
        status = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        raise FileNotFoundError(f"{_name(path)}: no such file, expected a {FORMAT}") from None
    if not stat.S_ISREG(status.st_mode):
        kind = "a directory" if stat.S_ISDIR(status.st_mode) else "not a regular file"
        raise ValueError(f"{_name(path)}: is {kind}, expected a {FORMAT} file")
    with open(path, "rb") as stream:
        return _decode(stream, os.fstat(stream.fileno()).st_size, _name(path))


def attached(
    header: dict[str, Any], arrays: dict[str, np.ndarray], extra: Extra | None
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return header and arrays of a learner together with an extra part.

    >>> attached({"rounds": 3}, {}, Extra({"bits": 18}, {"seen": np.ones(1)}))
    ({'rounds': 3, 'extra': {'bits': 18}}, {'extra/seen': array([1.])})
    """
    if extra is None:
        return header, arrays
    named = {f"{_EXTRA}/{name}": array for name, array in extra.arrays.items()}
    return header | {_EXTRA: extra.header}, arrays | named


def detached(
    header: dict[str, Any], arrays: dict[str, np.ndarray]
) -> tuple[dict[str, Any], dict[str, np.ndarray], Extra]:
    """Undo `attached`; a model without an extra part has an empty one."""
    own = {name: array for name, array in arrays.items() if not name.startswith(f"{_EXTRA}/")}
    plain = {key: value for key, value in header.items() if key != _EXTRA}
    beside = header.get(_EXTRA, {})
    if not isinstance(beside, dict):
        raise ValueError(f"the part {_EXTRA!r} of a model must be a dict, got {shown(beside)}")
    return plain, own, Extra(beside, under(_EXTRA, arrays))


def under(name: str, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the arrays whose names begin with `name` and a slash, without these.

    >>> under("extra", {"extra/seen": 1, "ledger": 2})
    {'seen': 1}
    """
    prefix = f"{name}/"
    return {key.removeprefix(prefix): arrays[key] for key in arrays if key.startswith(prefix)}


def component_to_header(component: Component) -> dict[str, Any]:
    """Return the class and the fields of a component, as a header keeps them."""
    fields = {
        name: component_to_header(value) if isinstance(value, Component) else value
        for name, value in component.fields().items()
    }
    return {"class": _class_name(type(component)), "fields": fields}


def component_from_header(header: dict[str, Any], base: type[C]) -> C:
    """Rebuild a component from `component_to_header`, among the known subclasses of `base`.

    A file never makes a module load: a class is found only if the program has it already.
    Of two classes with one name the later definition is meant, as in a notebook.
    """
    if not isinstance(header, dict) or set(header) != {"class", "fields"}:
        raise ValueError(
            f"a stored {base.__name__} must have the keys 'class' and 'fields', got {shown(header)}"
        )
    wanted, fields = header["class"], header["fields"]
    named = _public_name(wanted) if isinstance(wanted, str) else wanted
    found = [
        kind
        for kind in _subclasses(base)
        if dataclasses.is_dataclass(kind) and _class_name(kind) == named
    ]
    if not found:
        raise ValueError(
            f"the model uses the {base.__name__} {shown(wanted)}, which is not known here: "
            "import or define that class first"
        )
    kinds = field_kinds(found[-1])
    if not isinstance(fields, dict) or set(fields) != set(kinds):
        got = sorted(fields) if isinstance(fields, dict) else fields
        raise ValueError(f"{wanted} has the fields {sorted(kinds)}, the model stores {shown(got)}")
    given = dict(fields)
    for name, value in fields.items():
        kind = kinds[name][0]
        if issubclass(kind, Component):
            given[name] = component_from_header(value, kind)
        elif value is not None and not isinstance(value, int | float):
            raise ValueError(
                f"{wanted}: field {name} must be a number, the model stores {shown(value)}"
            )
    return found[-1](**given)


def one_line(error: Exception) -> str:
    """Return the message of an error in one line: it may quote text of a file."""
    return " ".join(str(error).split())[:_LONGEST_LINE]


def _encode(
    path: FilePath, header: dict[str, Any], arrays: dict[str, np.ndarray]
) -> tuple[bytes, memoryview]:
    """Return the file in two pieces: up to the end of the checksum, and the rest."""
    if not isinstance(header, dict):
        raise ValueError(f"{_name(path)}: the header must be a dict, got {header!r}")
    envelope = {
        "format": FORMAT,
        "version": VERSION,
        "library": _library_version(),
        "checksum": _BLANK,  # before the header, so that its first occurrence is this one
        "header": _plain(header, f"{_name(path)}: header"),
    }
    if len(arrays) > MOST_ARRAYS:
        raise ValueError(f"{_name(path)}: {len(arrays)} arrays, at most {MOST_ARRAYS} fit")
    text = json.dumps(envelope, allow_nan=False, separators=(",", ":"))
    if values_of(text) > MOST_VALUES:
        raise ValueError(
            f"{_name(path)}: the header holds {values_of(text)} values, at most {MOST_VALUES} fit: "
            "keep large things in arrays"
        )
    dense = {name: _dense(name, arrays[name], path) for name in sorted(arrays)}
    data = memoryview(safetensors.numpy.save(dense, {_KEY: text}))
    length = int.from_bytes(data[:_LENGTH_BYTES], "little")
    if length > LONGEST_HEADER:
        raise ValueError(
            f"{_name(path)}: the header takes {length} bytes, at most {LONGEST_HEADER} fit: "
            "keep large things in arrays"
        )
    start = bytes(data[: _LENGTH_BYTES + length]).index(_MARK) + len(_MARK)
    digest = hashlib.sha256(data).hexdigest()
    return bytes(data[:start]) + digest.encode(), data[start + len(_BLANK) :]


def _decode(stream: BinaryIO, size: int, name: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Check marker, version and checksum, in this order, then take the file apart."""
    if size == 0:
        raise ValueError(f"{name}: is empty, expected a {FORMAT}")
    # The head alone is read first: a large file of another kind must not fill the memory.
    prefix = stream.read(_LENGTH_BYTES)
    length = int.from_bytes(prefix, "little")
    if len(prefix) == _LENGTH_BYTES and LONGEST_HEADER < length <= size - _LENGTH_BYTES:
        raise ValueError(
            f"{name}: is damaged or no model file: its header takes {length} bytes, "
            f"expected a {FORMAT} with at most {LONGEST_HEADER}"
        )
    if len(prefix) < _LENGTH_BYTES or length > size - _LENGTH_BYTES:
        raise ValueError(f"{name}: is truncated or no model file, expected a {FORMAT}")
    head = stream.read(length)
    outer, envelope = _envelope(head, name)
    version, library = envelope.get("version"), envelope.get("library")
    if type(version) is not int or version < 1:
        raise ValueError(f"{name}: is damaged, version {shown(version)} of a {FORMAT} never was")
    if version > VERSION:
        raise ValueError(
            f"{name}: has format version {version} (noregret {shown(library)}), this one reads "
            f"a {FORMAT} up to version {VERSION}: upgrade noregret"
        )
    require_size(outer, size - _LENGTH_BYTES - length, name)
    try:
        data = prefix + head + stream.read(size)
    except MemoryError:
        raise too_large(size, name) from None
    if not _intact(memoryview(data), len(prefix) + len(head), envelope.get("checksum")):
        raise ValueError(f"{name}: is damaged, its checksum is not the one a {FORMAT} must have")
    try:
        arrays = safetensors.numpy.load(data)
    except (safetensors.SafetensorError, KeyError) as error:
        raise ValueError(f"{name}: holds arrays that a {FORMAT} cannot have: {error}") from error
    except MemoryError:
        raise too_large(size, name) from None
    header = envelope.get("header")
    if not isinstance(header, dict):
        raise ValueError(f"{name}: has no header, expected a {FORMAT}")
    # Learners continue in place on what they load.
    return header, {k: v if v.flags.writeable else v.copy() for k, v in sorted(arrays.items())}


def _envelope(head: bytes, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the header of a safetensors file, and our own record in its metadata."""
    try:
        # Count the values before parsing; escapes may hide further ones in the inner text.
        require_few(head.decode(), name)
        outer = json.loads(head)
        text = outer["__metadata__"][_KEY]
        require_few(text, name)
        envelope = json.loads(text, object_hook=_restore)
        if envelope["format"] == FORMAT:
            return outer, dict(envelope)
    except TooMany:
        raise
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError) as error:
        raise ValueError(f"{name}: is damaged or no model file, expected a {FORMAT}") from error
    raise ValueError(f"{name}: is marked {shown(envelope['format'])}, expected a {FORMAT}")


def _intact(data: memoryview, end: int, checksum: object) -> bool:
    """Compare the stored checksum with the one of the bytes."""
    start = bytes(data[:end]).find(_MARK) + len(_MARK)
    stop = start + len(_BLANK)
    if (
        start < len(_MARK)
        or not isinstance(checksum, str)
        or bytes(data[start:stop]) != checksum.encode("ascii", "replace")
    ):
        return False
    digest = hashlib.sha256(data[:start])
    digest.update(_BLANK.encode())
    digest.update(data[stop:])
    return digest.hexdigest() == checksum


def _plain(value: Any, where: str) -> Any:
    """Return the value as JSON can hold it exactly; a float that JSON lacks is tagged."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {_TAG: repr(value)}
    if isinstance(value, list | tuple):
        return [_plain(item, f"{where}[{i}]") for i, item in enumerate(value)]
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str) or key == _TAG:
                raise ValueError(f"{where}: a key must be a string other than {_TAG}, got {key!r}")
        return {key: _plain(item, f"{where}[{key!r}]") for key, item in value.items()}
    raise ValueError(f"{where} must be a number, string, list, dict or None, got {value!r}")


def _restore(pairs: dict[str, Any]) -> Any:
    """Undo the tag of `_plain`."""
    return float(pairs[_TAG]) if set(pairs) == {_TAG} else pairs


def _dense(name: str, array: np.ndarray, path: FilePath) -> np.ndarray:
    """Return the array in little-endian C order, the same bits otherwise."""
    if not isinstance(name, str) or not _NAME.fullmatch(name) or name == "__metadata__":
        raise ValueError(
            f"{_name(path)}: an array's name must be letters, digits and ._/-, got {name!r}"
        )
    if not isinstance(array, np.ndarray) or array.dtype.name not in _DTYPES:
        kind = array.dtype if isinstance(array, np.ndarray) else type(array).__name__
        raise ValueError(
            f"{_name(path)}: array {name!r} must be a numpy array of bool, integers or floats "
            f"of at most 64 bits, got {kind}"
        )
    # np.ascontiguousarray would turn a 0-d array into a 1-d one.
    return np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")


def _subclasses(base: type[C]) -> Iterator[type[C]]:
    """Yield the class and all below it."""
    yield base
    for child in base.__subclasses__():
        yield from _subclasses(child)


def _class_name(kind: type) -> str:
    return _public_name(f"{kind.__module__}:{kind.__qualname__}")


def _public_name(name: str) -> str:
    """Return the name of a class, for a built-in one with its package in place of its module.

    Older files name the module, which may have moved since.

    >>> _public_name("noregret.losses.hinges:Hinge"), _public_name("my.losses:Mine")
    ('noregret.losses:Hinge', 'my.losses:Mine')
    """
    module, colon, kind = name.partition(":")
    if module.startswith("noregret."):
        module = ".".join(module.split(".")[:2])
    return module + colon + kind


@functools.cache
def _library_version() -> str:
    """Return the version of the installed package, 'source tree' if it is not installed."""
    from importlib import metadata  # takes 10 ms: import it only when a model is saved

    try:
        return metadata.version("noregret")
    except metadata.PackageNotFoundError:
        return "source tree"


def _name(path: FilePath) -> str:
    return repr(os.fsdecode(path))
