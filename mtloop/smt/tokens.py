"""The words that Thot counts: text cut as `text.cut` does it, in the case that words have inside sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from mtloop.text.reversible import is_word, join, split


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
                if is_word(before) and is_word(token):
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
class SmtTokeniser:
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


def _capital(text: str) -> str:
    place = next((i for i, c in enumerate(text) if c.isalpha()), None)
    return text if place is None else text[:place] + text[place].upper() + text[place + 1 :]
