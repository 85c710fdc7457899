"""Text to words and signs, and back without a loss: every glued-on sign remembers where it was glued."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise

JOINER = "￭"
SHIELD = "￬"
RESERVED = frozenset({"NULL", "UNKNOWN_WORD", "UNUSED_WORD"})  # words that alignment tools keep for themselves
_TOKENS = re.compile(r"\w+|[^\w\s]")
_INVISIBLE = re.compile(f"[\x00-\x1f\x7f\u200b\ufeff\ud800-\udfff{JOINER}{SHIELD}]")


def split(text: str) -> list[str]:
    """Words and single signs; a joiner stands where no space did.

    >>> split("Save (or don't).")
    ['Save', '(￭', 'or', 'don', "￭'￭", 't', '￭)', '￭.']
    """
    text = _INVISIBLE.sub(" ", text)
    found = list(_TOKENS.finditer(text))
    glued = [one.end() == other.start() for one, other in pairwise(found)]
    tokens = [match.group() for match in found]
    words = [is_word(token) for token in tokens]
    tokens = [SHIELD + token if token in RESERVED else token for token in tokens]
    for i, joined in enumerate(glued):
        if joined and not words[i + 1]:
            tokens[i + 1] = JOINER + tokens[i + 1]
        elif joined:
            tokens[i] += JOINER
    return tokens


def join(tokens: Iterable[str]) -> str:
    """
    >>> join(split("Save (or don't)."))
    "Save (or don't)."
    """
    text = " ".join(tokens).replace(f" {JOINER}", "").replace(f"{JOINER} ", "")
    return text.replace(JOINER, "").replace(SHIELD, "")


def is_cut(pieces: Iterable[str]) -> bool:
    """Whether a vocabulary is of words and signs cut here: then some of its pieces were glued.

    >>> is_cut(["▁Save", "▁￭."]), is_cut(["▁Save", "▁file."])
    (True, False)
    """
    return any(JOINER in piece for piece in pieces)


def is_word(token: str) -> bool:
    return token[0].isalnum() or token[0] in "_" + SHIELD
