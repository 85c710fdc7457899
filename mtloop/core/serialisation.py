"""The JSON form of the types in `mtloop.core.types`: one line per object, without fields that have their default value.

Equal objects give equal bytes: keys are in field order, text is unescaped UTF-8, numbers are written as Python's repr.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any, TypeVar

from mtloop.core.errors import SerialisationError
from mtloop.core.json_files import parse_json
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
    """Return the JSON form of a value: a dataclass becomes an object, feedback also gets its `kind`.

    >>> encode(Segment("1", "Save the file."))
    {'id': '1', 'source': 'Save the file.'}
    >>> encode(Reward(0.5))
    {'kind': 'reward', 'value': 0.5}
    """
    if is_dataclass(value) and not isinstance(value, type):
        return encode_tagged(_FEEDBACK_NAMES.get(type(value)), value)
    if isinstance(value, Mapping):
        return {str(k): encode(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [encode(v) for v in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise SerialisationError(f"{type(value).__name__} has no JSON form; expected a dataclass or plain JSON values")


def encode_tagged(kind: str | None, value: Any) -> dict[str, JSON]:
    """Return the fields of a dataclass as a JSON object whose first key is `kind` (None: no such key)."""
    body = {f.name: encode(v) for f in fields(value) if not _is_default(f, v := getattr(value, f.name))}
    return {"kind": kind, **body} if kind else body


def dumps(value: object) -> bytes:
    """Return one line of UTF-8 JSON without the newline; raise SerialisationError for NaN, infinity and surrogates."""
    try:
        return json.dumps(encode(value), ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except (ValueError, UnicodeEncodeError) as error:
        raise SerialisationError(f"cannot be written as JSON: {error}") from error


def loads(line: bytes | str) -> dict[str, JSON]:
    """Parse one JSON object; raise SerialisationError for any other type, NaN or infinity."""
    try:
        value = parse_json(line, parse_constant=_reject_constant, parse_float=_finite_float)
    except ValueError as error:
        raise SerialisationError(f"not JSON: {error}") from error
    if not isinstance(value, dict):
        raise SerialisationError(f"expected a JSON object, found {type(value).__name__}")
    return value


def decode(kind: type[T], value: JSON) -> T:
    """Return the object that `encode` wrote; check every field against its annotation.

    >>> decode(Truth, {"references": ["Speichern."]})
    Truth(references=('Speichern.',), scores={})
    """
    if not isinstance(value, dict):
        raise SerialisationError(f"expected a JSON object for a {kind.__name__}, found {type(value).__name__}")
    known = {f.name: str(f.type) for f in fields(kind)}  # type: ignore[arg-type]
    if unknown := value.keys() - known.keys():
        names = ", ".join(sorted(unknown))
        raise SerialisationError(f"a {kind.__name__} has no field {names}; its fields are {', '.join(known)}")
    try:
        return kind(**{name: _DECODERS[known[name]](item) for name, item in value.items()})
    except TypeError as error:
        raise SerialisationError(f"not a valid {kind.__name__}: {error}") from error


def decode_feedback(value: JSON) -> Feedback | None:
    """Return the feedback of the type that its `kind` names; None stays None."""
    if value is None:
        return None
    body = dict(value) if isinstance(value, dict) else {}
    kind = FEEDBACK.get(str(body.pop("kind", None)))
    if kind is None:
        raise SerialisationError(f"feedback needs a kind: one of {', '.join(FEEDBACK)}")
    return decode(kind, body)


def _is_default(spec: Field[Any], value: object) -> bool:
    if spec.default is not MISSING:
        return bool(value == spec.default) and type(value) is type(spec.default)
    return spec.default_factory is not MISSING and value == spec.default_factory()


def _finite_float(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else _reject_constant(text)


def _reject_constant(constant: str) -> float:
    raise ValueError(f"{constant} is not a valid JSON number; expected a finite number")


def _decoder_of(*kinds: type) -> Callable[[JSON], Any]:
    def check(value: JSON) -> Any:
        if isinstance(value, bool) or not isinstance(value, kinds):
            raise SerialisationError(f"expected {' or '.join(kind.__name__ for kind in kinds)}, found {value!r:.40}")
        return value

    return check


def _texts(value: JSON) -> tuple[str, ...]:
    return tuple(_text(item) for item in _list(value))


def _numbers(value: JSON) -> dict[str, float]:
    return {key: _number(item) for key, item in _object(value).items()}


def _strings(value: JSON) -> dict[str, str]:
    return {key: _text(item) for key, item in _object(value).items()}


def _or_none(decoder: Callable[[JSON], Any]) -> Callable[[JSON], Any]:
    return lambda value: None if value is None else decoder(value)


_text, _number, _integer = _decoder_of(str), _decoder_of(int, float), _decoder_of(int)
_object, _list = _decoder_of(dict), _decoder_of(list)


def _flag(value: JSON) -> bool:
    if not isinstance(value, bool):
        raise SerialisationError(f"expected true or false, found {value!r:.40}")
    return value


def _objects(value: JSON) -> tuple[dict[str, JSON], ...]:
    return tuple(_object(item) for item in _list(value))


# By annotation: a new field with one of these annotations needs no change here.
_DECODERS: dict[str, Callable[[JSON], Any]] = {
    "str": _text,
    "int": _integer,
    "float": _number,
    "str | None": _or_none(_text),
    "int | None": _or_none(_integer),
    "float | None": _or_none(_number),
    "bool": _flag,
    "Fields": _object,
    "Fields | None": _or_none(_object),
    "tuple[Fields, ...]": _objects,
    "Mapping[str, float]": _numbers,
    "Mapping[str, str]": _strings,
    "tuple[str, ...]": _texts,
    "Segment": lambda value: decode(Segment, value),
    "Proposal": lambda value: decode(Proposal, value),
    "Feedback | None": decode_feedback,
    "Learned | None": _or_none(lambda value: decode(Learned, value)),
    "Truth | None": _or_none(lambda value: decode(Truth, value)),
}
