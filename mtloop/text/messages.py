"""Text from files and other libraries, shortened for one-line messages."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")  # a terminal would obey
MAX_LENGTH = 200  # characters of a message
MAX_NAME_LENGTH = 40  # characters of a name
MAX_NAMES = 50  # in a list of names


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
    shown, rest = islice(iterator := iter(names), MAX_NAMES), iterator
    listed = ", ".join(_truncate(name, MAX_NAME_LENGTH) for name in shown)
    return f"{listed}, and {more} more" if (more := sum(1 for _ in rest)) else listed


def first_words(text: str) -> str:
    """Return the beginning of a text for a message about it.

    >>> first_words("Click the button\\nto continue with the installation.")
    'Click the button to continue with the i…'
    """
    return _truncate(text, MAX_NAME_LENGTH)


def _truncate(text: str, max_length: int) -> str:
    line = " ".join(_CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text).split())
    return line if len(line) <= max_length else line[: max_length - 1] + "…"
