"""Put a term where its source is translated: find the words that stand there, and translate again from there on.

The decoder has to write the translation up to these words, then the term, perhaps after function words, which may have
to agree with it. After the term it is free. A term is never added to a finished sentence: where no word of the
translation comes from the source of a term, the translation stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TypeAlias

import torch
from torch import Tensor

from mtloop.nmt.decoding.terms import TargetPhrase, TermModel, TermSpeller
from mtloop.nmt.decoding.word_alignment import AttendedWord
from mtloop.nmt.engine.search import SearchState
from mtloop.text.glossary import Glossary, Term, TermMatch, group_matches, tokenise_text

MAX_FUNCTION_WORDS = 2  # before the term: "in der"
MAX_REWRITES = 8  # terms of one sentence
MIN_ATTENTION = 0.1  # of a word on a term that it may come from
MAX_SHORT_WORD = 3  # letters of a source word that may have no translation
MIN_WORDS_SHARE, MAX_WORDS_SHARE, MORE_WORDS = 0.7, 1.4, 3
_WORD = re.compile(r"\w+(?:[-_]\w+)*")
_LETTERS = re.compile(r"[^\W\d_]")
_FINAL = re.compile(r"[\s.!?:;…]+$")

Span: TypeAlias = tuple[int, int]
"""Start and end in a text."""
Attend: TypeAlias = Callable[[str, str], Sequence[AttendedWord]]
"""Returns the words of a translation with their attention on the source."""
Search: TypeAlias = Callable[["PlacedTermProcessor"], Sequence[str]]
"""Translates the source again with a logits processor; returns the translations, best first."""
Score: TypeAlias = Callable[[str, str], float]
"""Returns the mean log-probability of the tokens of a translation."""


@dataclass(frozen=True, eq=False)
class PlacedTermProcessor:
    """Makes the decoder write given tokens, then perhaps function words, then a term; after it all is allowed."""

    beginning: tuple[int, ...]
    phrases: Sequence[TargetPhrase]
    speller: TermSpeller

    def __call__(self, state: SearchState, logits: Tensor) -> Tensor:
        for row, ids in enumerate(state.tokens):
            if (allowed := self._allowed(tuple(ids))) is not None:
                self._allow_only(allowed, logits[row])
        return logits

    def _allow_only(self, allowed: Sequence[int], logits: Tensor) -> None:
        """Exclude all other tokens. Padding, which no search chooses, takes their share, so probabilities stay true."""
        total, kept = logits.logsumexp(-1), logits[list(allowed)]
        rest = torch.log((1 - (kept.logsumexp(-1) - total).exp()).clamp_min(0.0)) + total
        logits.fill_(float("-inf"))
        logits[list(allowed)] = kept
        logits[self.speller.target.pad] = rest

    def _allowed(self, ids: tuple[int, ...]) -> list[int] | None:
        """Return the tokens that may come next; None for all."""
        done = len(self.beginning)
        if len(ids) < done:
            return [self.beginning[len(ids)]]
        while done < len(ids) and ids[done] in self._function_words:
            done += 1
        if done == len(ids):
            return self._before_term(ids)
        text = self.speller.text(ids[done:])
        rests = [rest for phrase in self.phrases for rest in phrase.continuations(text)]
        if any(phrase.pattern.fullmatch(text) for phrase in self.phrases):
            return [*self.speller.next_pieces(rests), *self.speller.word_ends]
        return list(self.speller.next_pieces(rests)) or None

    def _before_term(self, ids: tuple[int, ...]) -> list[int]:
        written = len(ids) - len(self.beginning)
        is_open = written == 0 or (written < MAX_FUNCTION_WORDS and ids[-1] in self.speller.prepositions)
        words = self._function_words if is_open and not self._after_mark else frozenset[int]()
        return sorted(self._first_pieces | words)

    @cached_property
    def _after_mark(self) -> bool:
        return self.speller.is_after_mark(self.beginning)

    @cached_property
    def _first_pieces(self) -> frozenset[int]:
        return frozenset(
            piece for phrase in self.phrases for piece in self.speller.first_pieces(phrase, self._after_mark)
        )

    @cached_property
    def _function_words(self) -> frozenset[int]:
        """The function words that may come next and are not the beginning of the term."""
        words, pieces = self.speller.function_words - self._first_pieces, self.speller.target.pieces
        return frozenset(word for word in words if not self.beginning or pieces[word].islower())


@dataclass(frozen=True)
class TermRewriter:
    """Rewrites the translation of one sentence so that it has the terms of the sentence."""

    model: TermModel
    speller: TermSpeller
    attend: Attend
    search: Search
    score: Score

    def __call__(self, source: str, text: str) -> str:
        """Return the translation with the terms that it lacks, as far as their places are found."""
        for _ in range(MAX_REWRITES):
            found = next(self._rewritten(source, text), None)
            if found is None:
                break
            text = found
        return text

    @property
    def glossary(self) -> Glossary:
        return self.model.glossary

    def _rewritten(self, source: str, text: str) -> Iterator[str]:
        """Yield the translation with one more term."""
        missing = missing_terms(self.glossary, source, text)
        words = self.attend(source, text) if missing else ()
        for matches in missing.values():
            for match in matches:
                rewrite = self._rewrite(source, text, match, len(matches), words)
                if rewrite is not None and (found := rewrite.best(self.search)) is not None:
                    yield found

    def _rewrite(
        self, source: str, text: str, match: TermMatch, number: int, words: Sequence[AttendedWord]
    ) -> Rewrite | None:
        content = [word for word in words if self._is_content(text[word.start : word.end])]
        place = find_place(source, text, match, content)
        if place is None or self.glossary.count_targets(match.term, text[slice(*place)]):
            return None
        phrases = self.model.phrases_of(match.term)
        return Rewrite(self, source, text, match, number, place, phrases, is_compound(source, match, words))

    def _is_content(self, word: str) -> bool:
        return _LETTERS.search(word) is not None and word not in self.speller.stopwords


@dataclass(frozen=True)
class Rewrite:
    """One term that is put into a translation in place of the words at `place`."""

    by: TermRewriter
    source: str
    text: str
    match: TermMatch
    number: int
    place: Span
    phrases: Sequence[TargetPhrase]
    in_compound: bool

    def best(self, search: Search) -> str | None:
        """Return the most probable translation that has the term in this place, or None.

        If the decoder goes on after the term in a wrong way, what it wrote up to there replaces the old words.
        """
        beginning = self.by.speller.target.encode(self.text[: self.start].rstrip())[:-1] if self.start else []
        found = search(PlacedTermProcessor(tuple(beginning), self.phrases, self.by.speller))
        good = next(filter(self._is_good, found), None)
        if good is not None or self.in_compound:
            return good
        others = [self._replaced, *filter(None, map(self._substituted, found))]
        return max(filter(self._is_good, dict.fromkeys(others)), key=partial(self.by.score, self.source), default=None)

    @cached_property
    def start(self) -> int:
        """Where the translation may change: before the function words in front of the place."""
        start = self.place[0]
        for _ in range(MAX_FUNCTION_WORDS):
            before = re.search(r"(?<!\S)([^\W\d_]+) $", self.text[:start])
            if before is None or not self.by.speller.is_function_word(before[1]):
                break
            start = before.start()
        return start

    def _substituted(self, text: str) -> str | None:
        """Return the old translation with the beginning of a new one, up to the end of the term."""
        ends = (found.end() for one in self.phrases for found in one.pattern.finditer(text, min(self.start, len(text))))
        end = min(ends, default=-1)
        return text[:end] + self.text[self.place[1] :] if end >= 0 else None

    @property
    def _replaced(self) -> str:
        """The old translation with the term as it is in the glossary."""
        return self.text[: self.place[0]] + self.match.term.targets[0] + self.text[self.place[1] :]

    def _is_good(self, text: str) -> bool:
        glossary, term = self.by.glossary, self.match.term
        before, after = glossary.target_words(self.text), glossary.target_words(text)
        old, new = glossary.count_in(term, before), glossary.count_in(term, after)
        return (
            old < new <= self.number
            and MIN_WORDS_SHARE * len(before) - MORE_WORDS <= len(after) <= MAX_WORDS_SHARE * len(before) + MORE_WORDS
            and not is_appended(self.text, text)
            and not self._keeps_old_words(before, after)
            and self._keeps_terms(text)
        )

    def _keeps_old_words(self, before: Sequence[str], after: Sequence[str]) -> bool:
        """Whether the words in whose place the term stands are still there."""
        glossary = self.by.glossary
        term_words = {word for target in self.match.term.targets for word in glossary.target_words(target)}
        replaced = {word for word in glossary.target_words(self.text[slice(*self.place)]) if word[0].isalpha()}
        return any(after.count(word) >= before.count(word) for word in replaced - term_words)

    def _keeps_terms(self, text: str) -> bool:
        """Whether all other terms are still there."""
        old, new = (missing_terms(self.by.glossary, self.source, one) for one in (self.text, text))
        return new.keys() <= old.keys()


def missing_terms(glossary: Glossary, source: str, text: str) -> dict[Term, list[TermMatch]]:
    """Return the terms that a translation has less often than its source, with their places in the source.

    A compound that ends with the term counts: `Standardbibliothek` for `Bibliothek`.
    """
    groups = group_matches(glossary.find(source))
    words = glossary.target_words(text) if groups else ()
    return {
        term: matches
        for term, matches in groups.items()
        if glossary.count_in(term, words) < len(matches) and not ends_compound(term, words)
    }


def ends_compound(term: Term, words: Sequence[str]) -> bool:
    """Whether a word ends with a translation of a term: `Standardbibliothek` with `Bibliothek`."""
    targets = tuple(target.casefold() for target in term.targets)
    return any(word.endswith(targets) for word in words)


def find_place(source: str, text: str, match: TermMatch, words: Sequence[AttendedWord]) -> Span | None:
    """Return the words of a translation that come from a term: the term itself if it was copied, else those that
    attend to it most, with their neighbours.
    """
    copied = re.search(rf"(?<!\w){re.escape(source[match.start : match.end])}(?!\w)", text)
    if copied:
        return copied.span()
    best = max(words, key=lambda word: word.attention_on(match.start, match.end), default=None)
    if best is None or best.attention_on(match.start, match.end) < MIN_ATTENTION:
        return None
    near = [word for word in words if word is best or _overlaps(word.origin, (match.start, match.end))]
    return next(
        run for run in _runs([(word.start, word.end) for word in near], text) if _overlaps(run, (best.start, best.end))
    )


def _overlaps(one: Span, other: Span) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def _runs(spans: Sequence[Span], text: str) -> Iterator[Span]:
    """Yield the spans; those with only spaces and hyphens between them are one."""
    run: Span | None = None
    for start, end in spans:
        if run is not None and not text[run[1] : start].strip(" -"):
            run = run[0], end
            continue
        if run is not None:
            yield run
        run = start, end
    if run is not None:
        yield run


def is_compound(source: str, match: TermMatch, words: Sequence[AttendedWord]) -> bool:
    """Whether a word next to a term in the source has no word of its own in the translation.

    Then both may be in one compound, and the term cannot replace it.
    """
    spans = [found.span() for found in _WORD.finditer(source) if len(found[0]) > MAX_SHORT_WORD]
    beside = [span for span in spans if _touches(source, span, match)]
    return any(not any(_overlaps(word.origin, span) for word in words) for span in beside)


def _touches(source: str, span: Span, match: TermMatch) -> bool:
    """Whether only spaces and hyphens are between a word and a term."""
    start, end = (span[1], match.start) if span[1] <= match.start else (match.end, span[0])
    return start <= end and not source[start:end].strip(" -")


def is_appended(old: str, new: str) -> bool:
    """Whether a translation is the whole old one and something after it.

    >>> is_appended("Datei öffnen.", "Datei öffnen Akte."), is_appended("Datei öffnen.", "Akte öffnen.")
    (True, False)
    """
    whole, longer = (tokenise_text(_FINAL.sub("", text)) for text in (old, new))
    return len(longer) > len(whole) and [one.text for one in longer[: len(whole)]] == [one.text for one in whole]
