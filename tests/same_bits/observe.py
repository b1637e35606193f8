"""What a user can see of an object, as plain values: two trees are compared by nothing else.

Logical content only: ledger entries go by their names and arrays by their numbers, so that a tree
may lay out its arrays as it likes. Everything is found through public names.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import sys
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import sparse

#: A scenario's outcome: path of a quantity -> number, text or list of numbers.
Content = dict[str, Any]

RADII = (None, 0.0, 0.5, 1.0, 3.0, 100.0)
NORMS = (1.0, 1.5, 2.0, float("inf"))
#: Fields of a certificate that hold evidence: their content shows in what they prove.
_EVIDENCE = {
    "accounts", "bend", "coins", "conservative", "curvature", "delta", "domain", "factors",
    "gradient_errors", "lazy", "ledger", "linear", "loss_function", "monitors", "passes",
    "penalised", "places", "played", "predictor", "pull", "reach", "round_errors",
    "scaled_length", "setting", "slack", "smallest_size", "squares", "theorems",
}  # fmt: skip
_DEEPEST = 4


def asked(question: Callable[..., Any], *given: Any, **options: Any) -> Any:
    """Return the answer, or the refusal in its own words."""
    try:
        return question(*given, **options)
    except Exception as error:
        # By the name that a user catches: subclasses may come and go.
        bases = [base for base in type(error).__mro__ if base.__module__ == "builtins"]
        kind = ValueError if ValueError in bases else bases[0]
        return f"{kind.__name__}: {error}"


def plain(value: Any, depth: int = 0) -> Any:
    """Return numbers, texts, lists and dictionaries only."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value.value if isinstance(value, Enum) else value
    if isinstance(value, np.generic):
        return value.item()
    if sparse.issparse(value):
        return value.toarray().tolist()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, (Fraction, np.dtype)):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): plain(entry, depth) for key, entry in value.items()}
    if hasattr(value, "_asdict"):
        return plain(value._asdict(), depth)
    if isinstance(value, Iterable) and not hasattr(value, "certificate"):
        return [plain(entry, depth) for entry in value]
    if callable(getattr(value, "fields", None)):
        return repr(value)
    if callable(value) or depth >= _DEEPEST:
        return None
    return facts(value, depth + 1)


def public_names(value: Any) -> list[str]:
    """Return the names of fields and properties, without methods and what a proof rests on."""
    kind = type(value)
    names = set(getattr(value, "__dict__", {}))
    if dataclasses.is_dataclass(value):
        names |= {field.name for field in dataclasses.fields(value)}
    properties = (property, functools.cached_property)
    for base in kind.__mro__:
        names |= {name for name, entry in vars(base).items() if isinstance(entry, properties)}
    hidden = _EVIDENCE if is_certificate(value) else set()
    return sorted(name for name in names if not name.startswith("_") and name not in hidden)


def is_certificate(value: Any) -> bool:
    """Whether an object is read from a ledger and the sum of the gradients."""
    return hasattr(value, "ledger") and hasattr(value, "gradient")


def facts(value: Any, depth: int = 0) -> Content:
    """Return fields, properties, dictionary and text of a learner, proof or solution."""
    found: Content = {}
    for name in public_names(value):
        found[name] = plain(asked(getattr, value, name), depth)
    if is_certificate(value):
        found |= proved(value, depth)
    elif callable(getattr(value, "floor", None)):
        found["floors"] = [asked(value.floor, r) for r in RADII]
    if callable(getattr(value, "as_dict", None)):
        found["as_dict"] = plain(asked(value.as_dict), depth)
    if type(value).__str__ is not object.__str__:
        found["text"] = asked(str, value)
    if callable(getattr(value, "certificate", None)):
        found["certificate"] = plain(asked(value.certificate), depth)
    return found


def entries(certificate: Any) -> dict[str, float]:
    """Return the ledger by the names of its places, found where the certificate is defined."""
    for base in type(certificate).__mro__:
        places = getattr(sys.modules[base.__module__], "Entry", None)
        if places is not None:
            return {place.name: float(certificate.ledger[place]) for place in places}
    raise LookupError(f"no Entry in the modules of {type(certificate).__mro__}")


def proved(certificate: Any, depth: int = 0) -> Content:
    """Return the ledger, floors, bounds and statements of a certificate."""
    found: Content = {"ledger": entries(certificate)}
    found["floors"] = [asked(certificate.floor, r) for r in RADII]
    found["floors by norm"] = [asked(certificate.floor, 0.8, n) for n in NORMS]
    for name in ("regret_bound", "statement", "describe"):
        method = getattr(certificate, name)
        found[name] = [asked(method, r) for r in (None, 0.7)]
    found["bounds at 0.7"] = plain(asked(certificate.bounds_for, 0.7), depth)
    found["as_dict at 1.5"] = plain(asked(certificate.as_dict, 1.5), depth)
    found["regularized"] = [asked(certificate.regularized_floor, e) for e in (None, 0.3)]
    ramp = np.linspace(0.1, 0.4, np.size(certificate.gradient))
    if isinstance(outputs := getattr(certificate, "outputs", None), int) and outputs:
        ramp = ramp.reshape(-1, outputs) if ramp.size % outputs == 0 else ramp
    found["regrets"] = [asked(certificate.regret, u) for u in (0.0 * ramp, ramp)]
    found["plain loss"] = asked(lambda: certificate.plain().loss)
    return found


def flat(value: Any, path: str = "") -> Content:
    """Return the leaves of nested dictionaries and lists by their paths; rows of numbers stay."""
    if isinstance(value, dict) and value:
        parts = [flat(entry, f"{path}.{key}" if path else key) for key, entry in value.items()]
    elif isinstance(value, list) and any(isinstance(entry, (dict, list, str)) for entry in value):
        parts = [flat(entry, f"{path}[{k}]") for k, entry in enumerate(value)]
    else:
        return {path: value}
    return {name: leaf for part in parts for name, leaf in part.items()}


def digest(content: Content) -> str:
    """Return the SHA-256 of a scenario's content, whatever the order of its quantities."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
