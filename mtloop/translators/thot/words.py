"""Text to the words Thot counts, and back without a loss: every glued-on sign remembers where it was glued."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

JOINER = "￭"
SHIELD = "￬"
RESERVED = frozenset({"NULL", "UNKNOWN_WORD", "UNUSED_WORD"})  # words of Thot's own
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
    words = [_is_word(token) for token in tokens]
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


@dataclass(frozen=True)
class Casing:
    """The case that words have inside sentences, given back to those that open one."""

    forms: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, sentences: Iterable[Sequence[str]]) -> Casing:
        """Counted over words that follow a word: after a sign, a new sentence may begin."""
        counts: dict[str, Counter[str]] = {}
        for tokens in sentences:
            for before, token in pairwise(tokens):
                if _is_word(before) and _is_word(token):
                    counts.setdefault(token.lower(), Counter())[token] += 1
        best = {low: max(forms, key=lambda form: (forms[form], form)) for low, forms in counts.items()}
        return cls(dict(sorted(best.items())))

    def __call__(self, tokens: list[str]) -> list[str]:
        """
        >>> Casing({"save": "save", "ok": "OK"})(["Save", "the", "file"])
        ['save', 'the', 'file']
        """
        return [self.forms.get(tokens[0].lower(), tokens[0]), *tokens[1:]] if tokens else []


@dataclass(frozen=True)
class Words:
    """Both sides of a language pair."""

    source: Casing = field(default_factory=Casing)
    target: Casing = field(default_factory=Casing)

    def read(self, text: str) -> list[str]:
        return self.source(split(text))

    def read_target(self, text: str) -> list[str]:
        return self.target(split(text))

    def write(self, tokens: Iterable[str], source: str) -> str:
        """The translation as text; it opens with a capital where its source does."""
        text = join(tokens)
        first = next((c for c in source if c.isalpha()), "")
        return _capital(text) if first.isupper() else text


def _is_word(token: str) -> bool:
    return token[0].isalnum() or token[0] in "_" + SHIELD


def _capital(text: str) -> str:
    place = next((i for i, c in enumerate(text) if c.isalpha()), None)
    return text if place is None else text[:place] + text[place].upper() + text[place + 1 :]
