"""The tokens of SMT models: reversible tokens whose first word is truecased."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from mtloop.text.reversible import detokenise, is_word, tokenise_reversibly


@dataclass(frozen=True)
class FirstWordTruecaser:
    """Gives the first word of a sentence the case that it has inside sentences; `forms` maps lowercase to that form."""

    forms: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, sentences: Iterable[Sequence[str]]) -> FirstWordTruecaser:
        """Count forms of words that follow a word: after punctuation a new sentence may begin."""
        counts: dict[str, Counter[str]] = {}
        for tokens in sentences:
            for before, token in pairwise(tokens):
                if is_word(before) and is_word(token):
                    counts.setdefault(token.lower(), Counter())[token] += 1
        best = {low: max(forms, key=lambda form: (forms[form], form)) for low, forms in counts.items()}
        return cls(dict(sorted(best.items())))

    def __call__(self, tokens: list[str]) -> list[str]:
        """
        >>> FirstWordTruecaser({"save": "save", "ok": "OK"})(["Save", "the", "file"])
        ['save', 'the', 'file']
        """
        return [self.forms.get(tokens[0].lower(), tokens[0]), *tokens[1:]] if tokens else []


@dataclass(frozen=True)
class SmtTokeniser:
    """Tokenises both sides of a language pair, with one truecaser for each side."""

    source: FirstWordTruecaser = field(default_factory=FirstWordTruecaser)
    target: FirstWordTruecaser = field(default_factory=FirstWordTruecaser)

    def tokenise_source(self, text: str) -> list[str]:
        return self.source(tokenise_reversibly(text))

    def tokenise_target(self, text: str) -> list[str]:
        return self.target(tokenise_reversibly(text))

    def detokenise(self, tokens: Iterable[str], source: str) -> str:
        """Return the translation as text; its first letter becomes a capital if that of `source` is one."""
        text = detokenise(tokens)
        first = next((c for c in source if c.isalpha()), "")
        return _capitalise(text) if first.isupper() else text


def _capitalise(text: str) -> str:
    index = next((i for i, c in enumerate(text) if c.isalpha()), None)
    return text if index is None else text[:index] + text[index].upper() + text[index + 1 :]
