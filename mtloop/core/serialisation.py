"""The JSON form of every noun: one line each, fields that hold their default left out.

Equal objects are equal bytes: keys come in field order, text is UTF-8 as it is, numbers as Python prints them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any, TypeVar

from mtloop.core.errors import WireError
from mtloop.core.types import (
    JSON,
    Feedback,
    Learned,
    PostEdit,
    Preference,
    Proposal,
    Reward,
    Scores,
    Segment,
    Truth,
)

T = TypeVar("T")
FEEDBACK: dict[str, type[Feedback]] = {
    "post_edit": PostEdit,
    "scores": Scores,
    "preference": Preference,
    "reward": Reward,
}
_FEEDBACK_NAMES: dict[type, str] = {kind: name for name, kind in FEEDBACK.items()}


def encode(value: object) -> JSON:
    """A noun as plain JSON.

    >>> encode(Segment("1", "Save the file."))
    {'id': '1', 'source': 'Save the file.'}
    >>> encode(Reward(0.5))
    {'kind': 'reward', 'value': 0.5}
    """
    if is_dataclass(value) and not isinstance(value, type):
        return tagged(_FEEDBACK_NAMES.get(type(value)), value)
    if isinstance(value, Mapping):
        return {str(k): encode(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [encode(v) for v in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise WireError(f"{type(value).__name__} has no JSON form")


def tagged(kind: str | None, value: Any) -> dict[str, JSON]:
    """A noun's fields as a JSON object that says its kind first."""
    body = {f.name: encode(v) for f in fields(value) if not _is_default(f, v := getattr(value, f.name))}
    return {"kind": kind, **body} if kind else body


def dumps(value: object) -> bytes:
    """One line of UTF-8 JSON, without the newline; NaN, infinities and lone surrogates are refused."""
    try:
        return json.dumps(encode(value), ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except (ValueError, UnicodeEncodeError) as error:
        raise WireError(f"cannot be written as JSON: {error}") from error


def loads(line: bytes | str) -> dict[str, JSON]:
    """One JSON object, strictly: no NaN, no other type at the top."""
    try:
        value = json.loads(line, parse_constant=_refuse, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise WireError(f"not JSON: {error}") from error
    if not isinstance(value, dict):
        raise WireError(f"expected a JSON object, found {type(value).__name__}")
    return value


def decode(kind: type[T], value: JSON) -> T:
    """The noun that `encode` wrote, every field checked against its annotation.

    >>> decode(Truth, {"references": ["Speichern."]})
    Truth(references=('Speichern.',), scores={})
    """
    if not isinstance(value, dict):
        raise WireError(f"a {kind.__name__} is a JSON object, found {type(value).__name__}")
    known = {f.name: str(f.type) for f in fields(kind)}  # type: ignore[arg-type]
    if unknown := value.keys() - known.keys():
        raise WireError(f"a {kind.__name__} has no field {', '.join(sorted(unknown))}")
    try:
        return kind(**{name: _READ[known[name]](item) for name, item in value.items()})
    except TypeError as error:
        raise WireError(f"not a {kind.__name__}: {error}") from error


def decode_feedback(value: JSON) -> Feedback | None:
    """Feedback says its own kind."""
    if value is None:
        return None
    body = dict(value) if isinstance(value, dict) else {}
    kind = FEEDBACK.get(str(body.pop("kind", None)))
    if kind is None:
        raise WireError(f"feedback has a kind: one of {', '.join(FEEDBACK)}")
    return decode(kind, body)


def _is_default(spec: Field[Any], value: object) -> bool:
    if spec.default is not MISSING:
        return bool(value == spec.default) and type(value) is type(spec.default)
    return spec.default_factory is not MISSING and value == spec.default_factory()


def _finite(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else _refuse(text)


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is not a number that JSON knows")


def _one_of(*kinds: type) -> Callable[[JSON], Any]:
    def read(value: JSON) -> Any:
        if isinstance(value, bool) or not isinstance(value, kinds):
            raise WireError(f"expected {' or '.join(kind.__name__ for kind in kinds)}, found {value!r:.40}")
        return value

    return read


def _texts(value: JSON) -> tuple[str, ...]:
    return tuple(_text(item) for item in _list(value))


def _numbers(value: JSON) -> dict[str, float]:
    return {key: _number(item) for key, item in _object(value).items()}


def _strings(value: JSON) -> dict[str, str]:
    return {key: _text(item) for key, item in _object(value).items()}


def _or_none(read: Callable[[JSON], Any]) -> Callable[[JSON], Any]:
    return lambda value: None if value is None else read(value)


_text, _number, _integer = _one_of(str), _one_of(int, float), _one_of(int)
_object, _list = _one_of(dict), _one_of(list)

# By annotation, so that a new field of a known type needs no line here.
_READ: dict[str, Callable[[JSON], Any]] = {
    "str": _text,
    "int": _integer,
    "float": _number,
    "str | None": _or_none(_text),
    "int | None": _or_none(_integer),
    "float | None": _or_none(_number),
    "Fields": _object,
    "Mapping[str, float]": _numbers,
    "Mapping[str, str]": _strings,
    "tuple[str, ...]": _texts,
    "Segment": lambda value: decode(Segment, value),
    "Proposal": lambda value: decode(Proposal, value),
    "Feedback | None": decode_feedback,
    "Learned | None": _or_none(lambda value: decode(Learned, value)),
    "Truth | None": _or_none(lambda value: decode(Truth, value)),
}
