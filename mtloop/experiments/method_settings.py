"""Settings for several methods at once: `KEY` for all methods that have it, `METHOD:KEY` for one method."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from mtloop.core.errors import InputError
from mtloop.core.trace import Header
from mtloop.core.types import JSON
from mtloop.methods.method import Method
from mtloop.methods.registry import find_method

GivenSettings: TypeAlias = Mapping[str, JSON] | Iterable[tuple[str, JSON]]
# What the header of a trace says about a method:
RECORDED = ("model", "fingerprint", "delta", "schedule", "preset", "settings")


def pairs_of(settings: GivenSettings) -> list[tuple[str, JSON]]:
    """Return settings as a list of pairs, which can be read more than once."""
    return list(settings.items() if isinstance(settings, Mapping) else settings)


def find_methods(names: Iterable[str], *settings: GivenSettings) -> list[Method]:
    """Find methods by name. A given `timeout` counts already when a program is asked for its settings."""
    given = {name: value for one in settings for name, value in pairs_of(one)}
    return [find_method(name, timeout=given.get(f"{name}:timeout", given.get("timeout"))) for name in names]


def assign_settings(methods: Sequence[Method], settings: GivenSettings) -> dict[str, dict[str, JSON]]:
    """Return settings by method. Raise InputError for a setting that no method has, or a value of the wrong type."""
    given: dict[str, dict[str, JSON]] = {method.name: {} for method in methods}
    for name, value in pairs_of(settings):
        owner, _, key = name.rpartition(":")  # the name of an own engine contains colons too
        chosen = [method for method in methods if key in method.settings and owner in ("", method.name)]
        if not chosen:
            which = f"method {owner} is not among the methods or has no" if owner else "none of the methods has a"
            raise InputError(f"--set {name}={value}: {which} setting {key!r}")
        for method in chosen:
            given[method.name][key] = value
    for method in methods:
        method.settings_with(given[method.name])
    return given


def recorded_settings(headers: Mapping[str, Header]) -> dict[str, JSON]:
    """Return what the headers of traces say about each method: its model, settings and threads."""
    return {method: _recorded(header) for method, header in headers.items()}


def _recorded(header: Header) -> dict[str, JSON]:
    return {name: header.config[name] for name in RECORDED if name in header.config} | {"threads": header.threads}
