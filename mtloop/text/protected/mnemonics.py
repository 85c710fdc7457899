"""Mnemonics of labels: the mark before the letter that chooses a menu entry (`_File`, `E&xit`, `~View`)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from mtloop.text.protected.placeholders import find_placeholders

_LONG = 5  # letters; an & between two parts of so many stands for "and"
_MAX_WORDS, _MAX_LENGTH = 8, 200  # of a label
_LAST_WORD, _FIRST_WORD = re.compile(r"\w*$"), re.compile(r"^\w*")
_PATTERNS = {
    "_": re.compile(r"(?<![\w_])_(?=[^\W\d_])|(?<=[^\W\d_])_(?=[^\W\d_])"),
    "&": re.compile(r"(?<!&)&(?=[^\W_])(?!#?\w+;)"),
    "~": re.compile(r"(?<![\w~/])~(?=[^\W\d_])|(?<=[a-z])~(?=[a-z])"),
}


@dataclass(frozen=True)
class Mnemonic:
    """The mark of a mnemonic and the letter after it."""

    mark: str
    letter: str

    def put_into(self, text: str) -> str:
        """Return the text with the mark before the same letter: at the start of a word, else anywhere, else the first.

        Other marks before letters are taken out.

        >>> Mnemonic("_", "S").put_into("Alles speichern"), Mnemonic("&", "x").put_into("Beenden")
        ('Alles _speichern', '&Beenden')
        """
        for surplus in reversed(_found(text, _PATTERNS[self.mark], is_sure=True)):
            text = text[: surplus.start()] + text[surplus.end() :]
        letter, alone = re.escape(self.letter), rf"(?<!{re.escape(self.mark)})"
        for pattern in (rf"\b{alone}{letter}", alone + letter, r"[^\W\d_]"):
            if found := re.search(pattern, text, re.IGNORECASE):
                return text[: found.start()] + self.mark + text[found.start() :]
        return text


def take_mnemonic(text: str, *, is_sure: bool = False) -> tuple[str, Mnemonic | None]:
    """Return a label without the mark, and its mnemonic; None if it has none, or if it is not a label.

    `is_sure`: the text is the translation of a label with a mnemonic, so an & between long words is one too.

    >>> take_mnemonic("Save _As…")
    ('Save As…', Mnemonic(mark='_', letter='A'))
    >>> take_mnemonic("Set user_id to 5"), take_mnemonic("Q&A"), take_mnemonic("a & b")
    (('Set user_id to 5', None), ('Q&A', None), ('a & b', None))
    >>> take_mnemonic("Black&white"), take_mnemonic("Zeichen&kodierung", is_sure=True)
    (('Black&white', None), ('Zeichenkodierung', Mnemonic(mark='&', letter='k')))
    """
    longer = 1 + is_sure  # a translation may have twice the words
    if len(text) > longer * _MAX_LENGTH or len(text.split()) > longer * _MAX_WORDS or "\n" in text:
        return text, None
    marks = [found for pattern in _PATTERNS.values() for found in _found(text, pattern, is_sure)]
    if len(marks) != 1:
        return text, None
    (found,) = marks
    return text[: found.start()] + text[found.end() :], Mnemonic(found[0], text[found.end()])


def is_marked_word(left: str, mark: str, word: str) -> bool:
    """Whether a mark in a longer text stands before the letter of a mnemonic, and not in a name.

    `left` is what stands before it in the same word. The word begins with a capital letter, as labels do.

    >>> is_marked_word("", "_", "Open"), is_marked_word("E", "&", "xit")
    (True, True)
    >>> is_marked_word("", "_", "private"), is_marked_word("my", "_", "File"), is_marked_word("R", "&", "D")
    (False, False, False)
    """
    if left:
        return mark == "&" and word.islower() and (left + word).istitle() and len(left) < _LONG
    return word[0].isupper()


def _found(text: str, pattern: re.Pattern[str], is_sure: bool) -> list[re.Match[str]]:
    """Return the marks of mnemonics in a label. Others, as in R&D, are part of a name."""
    return [
        found
        for found in pattern.finditer(text)
        if _is_mnemonic(text, found, is_sure) and not _is_protected(text, found)
    ]


def _is_mnemonic(text: str, found: re.Match[str], is_sure: bool) -> bool:
    """Whether the mark is not part of a name such as my_file, AT&T or R&D, and no "and" as in fish&chips."""
    left: str = _LAST_WORD.findall(text[: found.start()])[0]
    right: str = _FIRST_WORD.findall(text[found.end() :])[0]
    if not left or left.endswith("_"):
        return True
    if text[0].islower() and not is_sure:
        return False  # a label begins with a capital letter
    if found[0] == "&":
        return (is_sure or min(len(left), len(right)) < _LONG) and not (left[-1].isupper() and right[0].isupper())
    return (left + right).isalpha() and (left + right).istitle()


def _is_protected(text: str, found: re.Match[str]) -> bool:
    """Whether the mark is part of a placeholder or an address, such as https://example.com/?a=b&c=d."""
    return any(start < found.start() < end for start, end in find_placeholders(text))
