"""A reversible tokeniser: a joiner character marks the tokens that were not separated by a space."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise

JOINER = "￭"
ESCAPE = "￬"
RESERVED_WORDS = frozenset({"NULL", "UNKNOWN_WORD", "UNUSED_WORD"})  # of alignment tools; ESCAPE is put before them
_TOKENS = re.compile(r"\w+|[^\w\s]")
_INVISIBLE = re.compile(f"[\x00-\x1f\x7f\u200b\ufeff\ud800-\udfff{JOINER}{ESCAPE}]")


def tokenise_reversibly(text: str) -> list[str]:
    """Return words and single punctuation characters; a joiner marks each side without a space.

    >>> tokenise_reversibly("Save (or don't).")
    ['Save', '(￭', 'or', 'don', "￭'￭", 't', '￭)', '￭.']
    """
    text = _INVISIBLE.sub(" ", text)
    matches = list(_TOKENS.finditer(text))
    adjacent = [left.end() == right.start() for left, right in pairwise(matches)]
    tokens = [match.group() for match in matches]
    words = [is_word(token) for token in tokens]
    tokens = [ESCAPE + token if token in RESERVED_WORDS else token for token in tokens]
    for i, joined in enumerate(adjacent):
        if joined and not words[i + 1]:
            tokens[i + 1] = JOINER + tokens[i + 1]
        elif joined:
            tokens[i] += JOINER
    return tokens


def detokenise(tokens: Iterable[str]) -> str:
    """Return the text of tokens from `tokenise_reversibly`.

    >>> detokenise(tokenise_reversibly("Save (or don't)."))
    "Save (or don't)."
    """
    text = " ".join(tokens).replace(f" {JOINER}", "").replace(f"{JOINER} ", "")
    return text.replace(JOINER, "").replace(ESCAPE, "")


def has_joiners(pieces: Iterable[str]) -> bool:
    """Return whether a vocabulary contains a joiner, that is, comes from text tokenised by this module.

    >>> has_joiners(["▁Save", "▁￭."]), has_joiners(["▁Save", "▁file."])
    (True, False)
    """
    return any(JOINER in piece for piece in pieces)


def is_word(token: str) -> bool:
    """Return whether a token is a word and not punctuation."""
    return token[0].isalnum() or token[0] in "_" + ESCAPE
