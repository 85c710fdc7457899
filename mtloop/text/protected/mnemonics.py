"""Mnemonics of labels: the mark before the letter that chooses a menu entry (`_File`, `E&xit`, `~View`)."""

from __future__ import annotations

import re
from dataclasses import dataclass

_MAX_WORDS = 8
_MARKS = (
    re.compile(r"(?<![\w_])_(?=[^\W\d_])|(?<=[^\W\d_])_(?=[^\W\d_])"),
    re.compile(r"(?<!&)&(?=[^\W_])(?!#?\w+;)"),
    re.compile(r"(?<![\w~/])~(?=[^\W\d_])|(?<=[a-z])~(?=[a-z])"),
)


@dataclass(frozen=True)
class Mnemonic:
    """The mark of a mnemonic and the letter after it."""

    mark: str
    letter: str

    def put_into(self, text: str) -> str:
        """Return the text with the mark before the same letter: at the start of a word, else anywhere, else the first.

        >>> Mnemonic("_", "S").put_into("Alles speichern"), Mnemonic("&", "x").put_into("Beenden")
        ('Alles _speichern', '&Beenden')
        """
        letter = re.escape(self.letter)
        for pattern in (rf"\b{letter}", letter, r"[^\W\d_]"):
            if found := re.search(pattern, text, re.IGNORECASE):
                return text[: found.start()] + self.mark + text[found.start() :]
        return text


def take_mnemonic(text: str) -> tuple[str, Mnemonic | None]:
    """Return a label without the mark, and its mnemonic; None if it has none, or if it is not a label.

    >>> take_mnemonic("Save _As…")
    ('Save As…', Mnemonic(mark='_', letter='A'))
    >>> take_mnemonic("Set user_id to 5"), take_mnemonic("Q&A"), take_mnemonic("a & b")
    (('Set user_id to 5', None), ('Q&A', None), ('a & b', None))
    """
    if len(text.split()) > _MAX_WORDS or "\n" in text or "<" in text:
        return text, None
    for pattern in _MARKS:
        found = pattern.search(text)
        if found and text.count(found[0]) == 1 and _is_mnemonic(text, found):
            return text[: found.start()] + text[found.end() :], Mnemonic(found[0], text[found.end()])
    return text, None


def _is_mnemonic(text: str, found: re.Match[str]) -> bool:
    """Whether the mark is not part of a name such as my_file, AT&T or R&D."""
    before, after = text[: found.start()], text[found.end() :]
    if not before or not before[-1].isalnum():
        return True
    start, end = re.search(r"\w*$", before), re.match(r"\w*", after)
    word = (start[0] if start else "") + (end[0] if end else "")
    if found[0] == "&":
        return not (before[-1].isupper() and after[0].isupper())
    return word.isalpha() and word.istitle()
