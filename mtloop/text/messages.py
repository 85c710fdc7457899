"""Text from files and other libraries, shortened for one-line messages."""

from __future__ import annotations

from collections.abc import Iterable

MAX_LENGTH = 200  # characters of a message
MAX_NAME_LENGTH = 40  # characters of a name


def one_line(text: object) -> str:
    """Return an error message as one line of at most MAX_LENGTH characters; the type name if it is empty.

    >>> one_line(ValueError("bad\\n  magic"))
    'bad magic'
    """
    return _truncate(str(text), MAX_LENGTH) or type(text).__name__


def join_names(names: Iterable[str]) -> str:
    """Return names from a file as a comma-separated list; each is shortened, for it may be a whole sentence.

    >>> join_names(["source", "target"])
    'source, target'
    """
    return ", ".join(_truncate(name, MAX_NAME_LENGTH) for name in names)


def _truncate(text: str, max_length: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= max_length else line[: max_length - 1] + "…"
