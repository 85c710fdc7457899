"""TOML files whose keys are the fields of a dataclass: reading and checking."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from mtloop.core.conversion import TYPE_WORDS
from mtloop.core.errors import InputError, UnknownName

# The Python type of a TOML value, by the annotation of its field; all other annotations expect text.
_TOML_TYPES: dict[str, type] = {
    "int": int,
    "int | None": int,
    "bool": bool,
    "tuple[str, ...]": list,
    "Mapping[str, float]": dict,
    "Mapping[str, JSON]": dict,
}
_TOML_WORDS = TYPE_WORDS | {bool: "true or false", list: "a list", dict: "a table"}


def read_toml(path: Path) -> dict[str, Any]:
    """Return the contents of a TOML file; raise InputError if it cannot be read or parsed."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError("no such file", path=path) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=path) from error
    except ValueError as error:
        raise InputError(f"not a TOML file: {error}", path=path) from error


def check_fields(kind: Any, table: Mapping[str, Any], path: Path, extra: Mapping[str, type] | None = None) -> None:
    """Raise InputError for a key that is neither a field of `kind` nor in `extra`, or for a value of the wrong type."""
    types = {spec.name: _TOML_TYPES.get(str(spec.type), str) for spec in fields(kind)} | dict(extra or {})
    for name, value in table.items():
        if name not in types:
            raise UnknownName("setting", name, types, path=path)
        if not isinstance(value, types[name]) or isinstance(value, bool) != (types[name] is bool):
            raise InputError(f"{name} is {value!r}; expected {_TOML_WORDS[types[name]]}", path=path)
