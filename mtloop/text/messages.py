"""What others wrote, made fit to stand in a message of one line."""

from __future__ import annotations

from collections.abc import Iterable

LONGEST = 200
LONGEST_NAME = 40


def one_line(text: object) -> str:
    """An error message of another library.

    >>> one_line(ValueError("bad\\n  magic"))
    'bad magic'
    """
    return _short(str(text), LONGEST) or type(text).__name__


def listed(names: Iterable[str]) -> str:
    """Names out of a file; what stands where a name should be may be a sentence.

    >>> listed(["source", "target"])
    'source, target'
    """
    return ", ".join(_short(name, LONGEST_NAME) for name in names)


def _short(text: str, longest: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= longest else line[: longest - 1] + "…"
