"""Lists of names that a user gives: a list, or text with commas."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mtloop.core.errors import InputError


def list_names(names: str | Sequence[str], kind: str) -> list[str]:
    """Return the names, each once. Raise InputError if there is none.

    >>> list_names("baseline, full,full", "method"), list_names(["race"], "policy")
    (['baseline', 'full'], ['race'])
    """
    listed = names.split(",") if isinstance(names, str) else names
    if not isinstance(listed, Iterable) or not all(isinstance(name, str) for name in listed):
        raise InputError(f"{kind} {names!r}; expected a list of names, or text with commas")
    found = list(dict.fromkeys(name.strip() for name in listed if name.strip()))
    if not found:
        raise InputError(f"no {kind} is named; give at least one")
    return found
