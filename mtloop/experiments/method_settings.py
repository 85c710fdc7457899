"""Settings for several methods at once: `KEY` for all methods that have it, `METHOD:KEY` for one method."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from mtloop.core.errors import InputError
from mtloop.core.types import JSON
from mtloop.methods.method import Method

GivenSettings: TypeAlias = Mapping[str, JSON] | Iterable[tuple[str, JSON]]


def assign_settings(methods: Sequence[Method], settings: GivenSettings) -> dict[str, dict[str, JSON]]:
    """Return settings by method. Raise InputError for a setting that no method has, or a value of the wrong type."""
    given: dict[str, dict[str, JSON]] = {method.name: {} for method in methods}
    for name, value in settings.items() if isinstance(settings, Mapping) else settings:
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
