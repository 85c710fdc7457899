"""A glossary: terms, their translations, and where a text contains a term, also as an inflected form."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import NamedTuple, TypeAlias

from mtloop.core.errors import InputError
from mtloop.text.language_codes import language_of
from mtloop.text.lemmas import Lemmatise, lemmas_or_forms

TOKEN = re.compile(r"\w+|[^\w\s]")
VERB_ENDINGS = {"en": ("ing", "ed")}  # "formatting" and "formatted" are forms of "format", but other terms
TermPairs: TypeAlias = Mapping[str, str | Sequence[str]] | Iterable[tuple[str, str]]


@dataclass(frozen=True)
class Term:
    """A term of the source language and its translations; the first is preferred, each is right."""

    source: str
    targets: tuple[str, ...]


class Token(NamedTuple):
    """A word or a punctuation mark, and where it stands in the text."""

    text: str
    start: int
    end: int


@dataclass(frozen=True)
class TermMatch:
    """A term in a text, from `start` to `end`."""

    term: Term
    start: int
    end: int


@dataclass(frozen=True)
class Glossary:
    """Terms and their translations.

    With the languages, inflected forms are found too (by simplemma; without it, forms in other case only). A term with
    capitals inside or throughout (`AutoText`, `IF`) is found only as it is written.

    >>> glossary = Glossary.of({"list box": "Listenfeld", "IF": "WENN"}, "en", "de")
    >>> [glossary.source_text(match, "The List Boxes, if any") for match in glossary.find("The List Boxes, if any")]
    ['List Boxes']
    """

    terms: tuple[Term, ...]
    source_lang: str = ""
    target_lang: str = ""

    @classmethod
    def of(cls, pairs: TermPairs, source_lang: str = "", target_lang: str = "") -> Glossary:
        """Make a glossary of pairs; the translations of equal terms are joined. Raise InputError for an empty term."""
        targets: dict[str, dict[str, None]] = defaultdict(dict)
        for source, target in _flatten(pairs):
            if not all(isinstance(text, str) and TOKEN.search(text) for text in (source, target)):
                raise InputError(f"a term needs a text in both languages, found {source!r:.40} and {target!r:.40}")
            targets[" ".join(source.split())][" ".join(target.split())] = None
        return cls(tuple(Term(source, tuple(found)) for source, found in targets.items()), source_lang, target_lang)

    def __len__(self) -> int:
        return len(self.terms)

    def find(self, text: str) -> list[TermMatch]:
        """Return the terms in a text of the source language, from left to right, the longest at each place."""
        tokens, found, position = tokenise_text(text), [], 0
        while position < len(tokens):
            match = self._longest(tokens, position)
            if match is None:
                position += 1
                continue
            term, length = match
            found.append(TermMatch(term, tokens[position].start, tokens[position + length - 1].end))
            position += length
        return found

    def count_targets(self, term: Term, text: str) -> int:
        """Return how often the translations of a term occur in a text of the target language, in any form."""
        return self.count_in(term, self.target_words(text))

    def target_words(self, text: str) -> tuple[str, ...]:
        """Return the base forms of the words of a text of the target language."""
        return tuple(self.target_lemma(token.text) for token in tokenise_text(text))

    def count_in(self, term: Term, words: Sequence[str]) -> int:
        """Return how often the translations of a term occur in a text, given as base forms."""
        if term not in self._target_words:
            self._target_words[term] = tuple(map(self.target_words, term.targets))
        return sum(_count(words, phrase) for phrase in self._target_words[term])

    @staticmethod
    def source_text(match: TermMatch, text: str) -> str:
        return text[match.start : match.end]

    @cached_property
    def source_lemma(self) -> Lemmatise:
        return lemmas_or_forms(self.source_lang)

    @cached_property
    def target_lemma(self) -> Lemmatise:
        return lemmas_or_forms(self.target_lang)

    @cached_property
    def _target_words(self) -> dict[Term, tuple[tuple[str, ...], ...]]:
        """The base forms of the translations of a term, filled when they are first used."""
        return {}

    @cached_property
    def _by_first_word(self) -> dict[str, list[tuple[tuple[str, ...], Term]]]:
        """The terms by the base form and by the form of their first word, longest first."""
        found: dict[str, list[tuple[tuple[str, ...], Term]]] = defaultdict(list)
        for term in self.terms:
            words = tuple(token.text for token in tokenise_text(term.source))
            for key in {words[0].casefold(), self.source_lemma(words[0])}:
                found[key].append((words, term))
        for terms in found.values():
            terms.sort(key=lambda one: -len(one[0]))
        return dict(found)

    def _longest(self, tokens: Sequence[Token], position: int) -> tuple[Term, int] | None:
        first = tokens[position].text
        keys = {first.casefold(), self.source_lemma(first)}
        fitting = [
            (len(words), term)
            for key in sorted(keys)
            for words, term in self._by_first_word.get(key, ())
            if self._matches(words, tokens[position : position + len(words)])
        ]
        length, term = max(fitting, key=lambda one: one[0], default=(0, None))
        return (term, length) if term else None

    def _matches(self, words: Sequence[str], tokens: Sequence[Token]) -> bool:
        return len(words) == len(tokens) and all(
            self._is_form(word, token.text) for word, token in zip(words, tokens, strict=True)
        )

    def _is_form(self, word: str, found: str) -> bool:
        """Whether a word of a text is a form of a word of a term."""
        if has_own_case(word):
            return word == found
        if word.casefold() == found.casefold():
            return True
        return self.source_lemma(word) == self.source_lemma(found) and self._ending(word) == self._ending(found)

    def _ending(self, word: str) -> str:
        endings = VERB_ENDINGS.get(language_of(self.source_lang), ()) if self.source_lang else ()
        return next((ending for ending in endings if word.lower().endswith(ending)), "")


def tokenise_text(text: str) -> list[Token]:
    """Return the words and punctuation marks of a text.

    >>> [token.text for token in tokenise_text("the X-axis")]
    ['the', 'X', '-', 'axis']
    """
    return [Token(found.group(), *found.span()) for found in TOKEN.finditer(text)]


def has_own_case(word: str) -> bool:
    """Whether the case of a word has a meaning: all letters are capitals, or one inside the word is.

    >>> [has_own_case(word) for word in ("IF", "AutoText", "Table", "table", "X")]
    [True, True, False, False, False]
    """
    return (len(word) > 1 and word.isupper()) or any(map(str.isupper, word[1:]))


def group_matches(matches: Iterable[TermMatch]) -> dict[Term, list[TermMatch]]:
    """Return the matches by term."""
    ordered = sorted(matches, key=lambda match: match.term.source)
    return {term: list(group) for term, group in groupby(ordered, key=lambda match: match.term)}


def _flatten(pairs: TermPairs) -> Iterator[tuple[str, str]]:
    items = pairs.items() if isinstance(pairs, Mapping) else pairs
    for item in items:
        if isinstance(item, str) or len(item) != 2 or not isinstance(item[1], str | Sequence):
            raise InputError(f"expected a term and its translation, found {item!r:.80}")
        source, targets = item
        for target in [targets] if isinstance(targets, str) else targets:
            yield source, target


def _count(words: Sequence[str], phrase: Sequence[str]) -> int:
    """Return how often a phrase occurs in a text, without overlaps."""
    count = position = 0
    while position <= len(words) - len(phrase):
        if words[position : position + len(phrase)] == phrase:
            count, position = count + 1, position + len(phrase)
        else:
            position += 1
    return count
