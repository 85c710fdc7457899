"""TOML files whose keys are the fields of a dataclass: read, and refused key by key."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from mtloop.core.errors import InputError, UnknownName

# How TOML writes what a field holds; everything that is not here is text.
_WRITTEN: dict[str, type] = {
    "int": int,
    "int | None": int,
    "bool": bool,
    "tuple[str, ...]": list,
    "Mapping[str, float]": dict,
    "Mapping[str, JSON]": dict,
}


def read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"not a TOML file: {error}", path=path) from error


def check_fields(kind: Any, table: Mapping[str, Any], path: Path, more: Mapping[str, type] | None = None) -> None:
    """Refuse keys that are no fields of `kind` (nor `more`), and values of another type than theirs."""
    types = {one.name: _WRITTEN.get(str(one.type), str) for one in fields(kind)} | dict(more or {})
    for name, value in table.items():
        if name not in types:
            raise UnknownName(f"setting in {path}", name, types)
        if not isinstance(value, types[name]) or isinstance(value, bool) != (types[name] is bool):
            raise InputError(f"{name} is {value!r}; expected {types[name].__name__}", path=path)
