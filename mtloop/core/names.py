"""Lists of names that a user gives: a list, or text with commas."""

from __future__ import annotations

from collections.abc import Sequence

from mtloop.core.errors import InputError


def list_names(names: str | Sequence[str], kind: str) -> list[str]:
    """Return the names, each once. Raise InputError if there is none.

    >>> list_names("baseline, full,full", "method"), list_names(["race"], "policy")
    (['baseline', 'full'], ['race'])
    """
    listed = names.split(",") if isinstance(names, str) else names
    found = list(dict.fromkeys(name.strip() for name in listed if name.strip()))
    if not found:
        raise InputError(f"no {kind} is named; give at least one")
    return found
