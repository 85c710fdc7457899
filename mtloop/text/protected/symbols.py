"""Find characters that a vocabulary rarely has: emoji, currency signs, fractions, and words in another script.

A model spells such a character in bytes, and a small one spells another one. In a translation the same characters are
looked for as in its source, because a language may write a sign where another one writes a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_PICTURE = (  # signs of keys, circled characters, shapes, dingbats without brackets, arrows, icons of a font, emoji
    "\u2300-\u2307\u230c-\u2328\u232b-\u23ff\u2400-\u26ff\u2700-\u2767\u2794-\u27bf\u2b00-\u2bff\ue001-\uf8ff"
    "\U0001f000-\U0001faff"
)
_JOINED = "\ufe0f\u200d\u20e3\U000e0020-\U000e007f"  # what makes one picture of several characters
_PICTURES = rf"[0-9#*]\ufe0f?\u20e3|[{_PICTURE}][{_PICTURE}{_JOINED}]*+"
_RAISED = "\u00b2\u00b3\u00b9\u2070-\u209c"
_FRACTIONS = "\u00bc-\u00be\u2150-\u218b"
_CURRENCY = (
    "\u00a2\u00a3\u00a5\u058f\u060b\u09f2\u09f3\u0af1\u0bf9\u0e3f\u17db\u20a0-\u20cf\ufdfc"  # a vocabulary has $
)
_LETTERS = (  # of other scripts than the Latin one
    "\u0370-\u1cff\u1f00-\u1fff\u2c00-\u2c5f\u2c80-\u2dff\u3005-\u3007\u3031-\ua71f\ua800-\uab2f\uabc0-\ud7ff"
    "\uf900-\ufaff\ufb13-\ufdfb\ufe70-\ufefc\uff66-\uffdc\U00010000-\U0001d3ff\U0001e000-\U0001eeff\U00020000-\U0003ffff"
)
_FOREIGN = rf"[{_LETTERS}]+\w{{0,3}}(?:[ ·-][{_LETTERS}]+)*"
_SYMBOL = re.compile(
    rf"(?P<picture>{_PICTURES})|(?<!\w)\w{{1,3}}[{_RAISED}]+\w{{0,3}}(?!\w)|[{_RAISED}]+"
    rf"|(?<![\d.,])\d{{1,9}}[{_FRACTIONS}]|[{_FRACTIONS}]+|(?P<sign>\u2122|\u2120)|[{_CURRENCY}]+|(?P<foreign>{_FOREIGN})"
)
_HAS_SYMBOL = re.compile(f"[{_PICTURE}{_JOINED}{_RAISED}{_FRACTIONS}{_CURRENCY}{_LETTERS}\u2122\u2120]")
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f\u1e00-\u1eff]")
_FOREIGN_LETTER = re.compile(f"[{_LETTERS}]")
_OTHER = re.compile(rf"[^\s{_PICTURE}{_JOINED}]")
_WORD_BEFORE = re.compile(r"[^\W\d_]{3}\Z")


@dataclass(frozen=True)
class Symbol:
    """A run of such characters. `is_mark`: it is not a word of its sentence."""

    start: int
    end: int
    is_mark: bool = False


def find_symbols(text: str, known: Mapping[str, bool] | None = None) -> Iterator[Symbol]:
    """Yield the symbols of a text. `known`: of a translation, only these, and whether they are marks.

    Words in another script than the Latin one are symbols where most letters are Latin. A picture at the start
    or the end is a mark, and so is a sign right after a word, such as the one of a trademark.

    >>> text = "😀 Pay 5 € for the word Ελληνικά"
    >>> [(text[one.start : one.end], one.is_mark) for one in find_symbols(text)]
    [('😀', True), ('€', False), ('Ελληνικά', False)]
    """
    if not _HAS_SYMBOL.search(text):
        return
    is_latin = len(_LATIN.findall(text)) > len(_FOREIGN_LETTER.findall(text))
    first = _OTHER.search(text)
    last = _last_other(text)
    for found in _SYMBOL.finditer(text):
        if (found[0] not in known) if known is not None else (found["foreign"] is not None and not is_latin):
            continue
        start, end = found.span()
        is_outside = first is None or end <= first.start() or start > last
        is_mark = found["picture"] is not None and is_outside
        is_sign = found["foreign"] is None and _WORD_BEFORE.search(text, max(0, start - 3), start) is not None
        yield Symbol(start, end, known[found[0]] if known is not None else is_mark or is_sign)


def symbols_of(text: str) -> dict[str, bool]:
    """Return the symbols of a text, and whether they are marks."""
    return {text[one.start : one.end]: one.is_mark for one in find_symbols(text)}


def _last_other(text: str) -> int:
    """Return the place of the last character that is no space and no picture, -1 if there is none."""
    return next((place for place in range(len(text) - 1, -1, -1) if _OTHER.match(text, place)), -1)
