"""TOML files of settings. The keys are the fields of a dataclass; pydantic checks the values against their types.

All mistakes in a file are one line: each names the field, its value and what is expected.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_type_hints

from mtloop.core.errors import InputError, UnknownName
from mtloop.core.json_files import check_depth, too_deep

if TYPE_CHECKING:
    from pydantic import TypeAdapter, ValidationError
    from pydantic_core import ErrorDetails

T = TypeVar("T")
MAX_VALUE_LENGTH = 80
MAX_DOTS = 300  # in a line: the time to parse a key grows with the square of its parts
MAX_FILE_BYTES = 1 << 18  # the longest known file of settings has a tenth of it
# What is expected, by the beginning of pydantic's name for the error. {...}: a value that pydantic gives.
EXPECTED = {
    "int_": "a whole number",
    "float_": "a number",
    "finite_number": "a finite number",
    "bool_parsing": "yes or no",  # from text, as in an environment variable
    "bool_": "true or false",
    "string_type": "text",
    "path_type": "a file name",
    "list_": "a list",
    "tuple_": "a list",
    "dict_": "a table",
    "mapping_": "a table",
    "literal_error": "{expected}",
    "greater_than_equal": "{ge} or more",
    "greater_than": "more than {gt}",
    "less_than_equal": "{le} or less",
    "less_than": "less than {lt}",
    "missing": "more values",
    "too_long": "at most {max_length} values",
}


def read_toml(path: Path) -> dict[str, Any]:
    """Return the contents of a TOML file; raise InputError if it cannot be read or parsed."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except FileNotFoundError:
        raise InputError("no such file", path=path) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=path) from error
    if len(content) > MAX_FILE_BYTES:
        raise InputError(f"larger than {MAX_FILE_BYTES >> 10} KB; expected a file of settings", path=path)
    try:
        return _parse_toml(content.decode())
    except ValueError as error:
        raise InputError(f"not a TOML file: {error}", path=path) from error


def _parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML. Raise ValueError also for tables that are nested too deeply."""
    if any(line.count(".") > MAX_DOTS for line in text.splitlines()):
        raise ValueError(f"more than {MAX_DOTS} dots in a line")
    try:
        values = tomllib.loads(text)
    except RecursionError as error:
        raise too_deep() from error
    check_depth(values)
    return values


def read_settings(path: Path, kind: type[T]) -> T:
    """Return the dataclass `kind` with the values of a TOML file."""
    return make_settings(kind, read_toml(path), path=path)


def make_settings(kind: type[T], values: Mapping[str, Any], *, path: Path | None = None, owner: str = "") -> T:
    """Return the dataclass `kind` with these values. `owner` is what has the settings, such as "the recipe".

    >>> from mtloop.core.loop import Delay
    >>> make_settings(Delay, {"k": 3})
    Delay(k=3)
    >>> make_settings(Delay, {"k": "three"})
    Traceback (most recent call last):
    mtloop.core.errors.InputError: k is 'three'; expected a whole number
    """
    checked = check_settings(kind, values, path=path, owner=owner)
    for spec in fields(kind):  # type: ignore[arg-type]
        if spec.name not in checked and spec.default is MISSING and spec.default_factory is MISSING:
            raise InputError(f"the setting {spec.name!r} is missing", path=path)
    try:
        return kind(**checked)
    except InputError as error:
        if error.path is not None or path is None:
            raise
        raise InputError(str(error), path=path) from error


def check_settings(
    kind: type,
    values: Mapping[str, Any],
    *,
    path: Path | None = None,
    owner: str = "",
    types: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the given fields of the dataclass `kind`, converted to their types; fields may be missing.

    `types` adds settings that are not fields, or replaces the type of a field. Values are plain JSON or TOML: a whole
    number is accepted for a number, a list for a tuple and text for a path; nothing else is converted.
    """
    from pydantic import ValidationError

    hints = get_type_hints(kind, include_extras=True)
    known = {spec.name: hints[spec.name] for spec in fields(kind)} | dict(types or {})
    try:
        return _checker(kind.__name__, known).validate_json(json.dumps(dict(values), default=_plain_json))
    except ValidationError as error:
        raise InputError(describe_mistakes(error, known, owner=owner), path=path) from None


def describe_mistakes(
    error: ValidationError, known: Iterable[str], *, owner: str = "", rename: Callable[[str], str] = str
) -> str:
    """Return the mistakes as one line, each once; `rename` gives the name by which the user knows a field."""
    names = sorted(known)
    wrong = sorted(error.errors(include_url=False), key=lambda one: one["type"] == "extra_forbidden")
    lines = {one["loc"][:1]: _describe(one, names, owner, rename) for one in reversed(wrong)}
    return "; also: ".join(reversed(lines.values()))


def _checker(name: str, types: Mapping[str, Any]) -> TypeAdapter[dict[str, Any]]:
    from pydantic import ConfigDict, TypeAdapter
    from typing_extensions import TypedDict  # pydantic refuses typing.TypedDict on Python 3.11

    make_type: Any = TypedDict  # its fields are known at run time only
    table = make_type(name, dict(types), total=False)
    table.__pydantic_config__ = ConfigDict(extra="forbid", strict=True)
    return TypeAdapter(table)


def _describe(error: ErrorDetails, names: list[str], owner: str, rename: Callable[[str], str]) -> str:
    first, *inner = error["loc"][:-1] if error["type"] == "missing" else error["loc"]
    if error["type"] == "extra_forbidden":
        return str(UnknownName("setting", rename(str(first)), map(rename, names), owner=owner))
    name = " ".join([*(_place(part) for part in reversed(inner)), rename(str(first))])
    value = repr(error["input"])
    short = value if len(value) <= MAX_VALUE_LENGTH else f"{value[:MAX_VALUE_LENGTH]}..."
    return f"{name} is {short}; expected {_expected(error)}"


def _plain_json(value: Any) -> Any:
    """Return a number of numpy as a number of Python, and other objects, such as paths, as text."""
    return value.item() if hasattr(value, "item") else str(value)


def _place(part: str | int) -> str:
    return f"item {part + 1} of" if isinstance(part, int) else f"{part} of"


def _plain(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _expected(error: ErrorDetails) -> str:
    for prefix, text in EXPECTED.items():
        if error["type"].startswith(prefix):
            return text.format(**{name: _plain(value) for name, value in error.get("ctx", {}).items()})
    return f"another value: {error['msg']}"
