"""Terms of a glossary: a bonus, while decoding, for the translation of a term where the decoder looks at the term.

The mechanism is that of copied words (`copying`). All forms of a term's translation get the same bonus, so the model
chooses the form that fits the sentence. A term that was written as often as it occurs in the source gets no bonus any
more. What is still missing at the end is put in its place by `term_places`.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch import Tensor

from mtloop.nmt.decoding.copying import PieceSpeller
from mtloop.nmt.decoding.source_words import SourceWords
from mtloop.nmt.engine.search import SearchState
from mtloop.nmt.engine.vocabulary import SPACE, Vocabulary
from mtloop.text.glossary import Glossary, Term, TermMatch, group_matches, has_own_case
from mtloop.text.inflection import word_forms
from mtloop.text.language_codes import language_of
from mtloop.text.lemmas import Lemmas, lemmas_or_forms
from mtloop.text.stopwords import StopWords, has_stopwords

NOUNS_HAVE_CAPITALS = frozenset({"de", "lb"})
MAX_PHRASE_PIECES = 24
MAX_FUNCTION_LETTERS = 3
_GERMAN = (
    "der die das den dem des ein eine einen einem einer eines kein keine keinen keinem keiner keines dieser diese "
    "dieses diesen diesem jeder jede jedes jeden jedem ihr ihre ihren ihrem ihrer ihres sein seine seinen seinem "
    "seiner seines im ins am ans zum zur vom beim"
)
PREPOSITIONS = {"de": frozenset({"an", "auf", "bei", "für", "in", "mit", "von", "zu"})}
FUNCTION_WORDS = {"de": frozenset(_GERMAN.split()) | PREPOSITIONS["de"]}


@dataclass(frozen=True)
class TargetPhrase:
    """A translation of a term: for each of its words the forms that it may have."""

    words: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, text: str, glossary: Glossary) -> TargetPhrase:
        words = [word_forms(word, glossary.target_lang, glossary.target_lemma) for word in text.split()]
        words[0] = tuple(dict.fromkeys(form for word in words[0] for form in _cases(word, glossary.target_lang)))
        return cls(tuple(words))

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Finds the phrase as whole words, in any of its forms."""
        words = ("|".join(map(re.escape, sorted(forms, key=len, reverse=True))) for forms in self.words)
        return re.compile(r"(?<!\w)" + " ".join(f"(?:{forms})" for forms in words) + r"(?!\w)")

    def continuations(self, text: str) -> list[str]:
        """Return what may follow a text that is the beginning of the phrase, nothing if it is not.

        >>> TargetPhrase((("gelbe", "gelben"), ("Karte",))).continuations("gelbe")
        [' Karte', 'n']
        """
        *complete, last = text.split(" ")
        number = len(complete)
        if number >= len(self.words) or not all(word in self.words[i] for i, word in enumerate(complete)):
            return []
        following = self.words[number + 1] if number + 1 < len(self.words) else ()
        found = [f" {form}" for form in following] if last in self.words[number] else []
        return found + [form[len(last) :] for form in self.words[number] if form.startswith(last) and form != last]


@dataclass(frozen=True)
class TermToWrite:
    """A term of one source: its translations, and the first and last source word of each of its places."""

    term: Term
    phrases: tuple[TargetPhrase, ...]
    places: tuple[tuple[int, int], ...]

    def attention(self, attention: Sequence[float]) -> float:
        return sum(sum(attention[first : last + 1]) for first, last in self.places)


@dataclass
class TermModel:
    """Makes the logits processor for the terms of a source.

    `term_start_bonus` times the attention on the term is added to the logit of the first subword of its translation,
    `term_continue_bonus` to that of each further subword. With less than `min_attention` there is no bonus.
    """

    glossary: Glossary
    term_start_bonus: float = 12.0
    term_continue_bonus: float = 12.0
    min_attention: float = 0.4
    _phrases: dict[Term, tuple[TargetPhrase, ...]] = field(default_factory=dict, repr=False)
    _speller: TermSpeller | None = field(default=None, repr=False)

    def processor(self, words: SourceWords, target: Vocabulary, draft: Callable[[], str]) -> TermProcessor | None:
        """Return the logits processor for one sentence, or None if its translation needs none.

        `draft` returns the translation without a glossary. The terms that it has need no bonus.
        """
        text, starts = words.text_with_offsets
        groups = group_matches(self.glossary.find(text))
        found = self.glossary.target_words(draft()) if groups else ()
        to_write = [
            TermToWrite(term, self.phrases_of(term), tuple(_place(match, starts) for match in matches))
            for term, matches in groups.items()
            if self.glossary.count_in(term, found) < len(matches)
        ]
        return TermProcessor(words, to_write, self, self.spell_with(target)) if to_write else None

    def phrases_of(self, term: Term) -> tuple[TargetPhrase, ...]:
        if term not in self._phrases:
            self._phrases[term] = tuple(TargetPhrase.of(target, self.glossary) for target in term.targets)
        return self._phrases[term]

    def spell_with(self, target: Vocabulary) -> TermSpeller:
        if self._speller is None or self._speller.target is not target:
            self._speller = TermSpeller(target, self.glossary.target_lang)
        return self._speller


class TermSpeller:
    """Spells terms with the subwords of a vocabulary."""

    def __init__(self, target: Vocabulary, language: str = "") -> None:
        self.target, self.language = target, language
        self._spell = PieceSpeller(lambda word: target.encode(word)[:-1], target.pieces)

    @cached_property
    def letters(self) -> Tensor:
        """The ids of the subwords that continue a word with a letter."""
        return torch.tensor([i for i, piece in enumerate(self.target.pieces) if piece[:1].isalnum()])

    @cached_property
    def word_ends(self) -> list[int]:
        """The ids of the tokens that may follow a complete word."""
        special = {self.target.pad, self.target.unknown}
        pieces = enumerate(self.target.pieces)
        return [
            i for i, piece in pieces if i not in special and not piece[:1].isalnum() and not piece.startswith("<0x")
        ]

    @cached_property
    def stopwords(self) -> StopWords | frozenset[str]:
        """Articles, prepositions and other function words."""
        known = self.language and has_stopwords(self.language)
        return StopWords.of_language(self.language) if known else frozenset()

    @cached_property
    def function_words(self) -> frozenset[int]:
        """The ids of stop words: they may stand before a term."""
        pieces = enumerate(self.target.pieces)
        return frozenset(i for i, piece in pieces if piece[:1] == SPACE and self.is_function_word(piece[1:]))

    @cached_property
    def prepositions(self) -> frozenset[int]:
        """The ids of function words that another one may follow."""
        known = PREPOSITIONS.get(language_of(self.language), frozenset[str]()) if self.language else ()
        return frozenset(i for i in self.function_words if self.target.pieces[i][1:].casefold() in known)

    def is_function_word(self, word: str) -> bool:
        """Whether a word is an article, a preposition or the like. Lists of stop words also have "new" and "other"."""
        known = FUNCTION_WORDS.get(language_of(self.language)) if self.language else None
        if known is not None:
            return word.casefold() in known
        return 1 < len(word) <= MAX_FUNCTION_LETTERS and word in self.stopwords

    def starts_word(self, piece: int, ids: Sequence[int]) -> bool:
        """Whether a subword starts a word after these tokens, one that is no function word."""
        starts = self.target.pieces[piece].startswith(SPACE) or not ids or self.is_after_mark(ids)
        return starts and self.target.pieces[piece].removeprefix(SPACE) not in self.stopwords

    def text(self, ids: Sequence[int]) -> str:
        return "".join(self.target.pieces[i] for i in ids).replace(SPACE, " ").removeprefix(" ")

    def first_pieces(self, phrase: TargetPhrase, after_mark: bool) -> Iterator[int]:
        spell: Callable[[str], int | None] = self._spell.next_piece if after_mark else self._spell.first_piece
        return self._known(map(spell, phrase.words[0]))

    def next_pieces(self, continuations: Sequence[str]) -> Iterator[int]:
        found = (
            self._spell.first_piece(rest[1:]) if rest.startswith(" ") else self._spell.next_piece(rest)
            for rest in continuations
        )
        return self._known(found)

    def is_after_mark(self, ids: Sequence[int]) -> bool:
        return "" in self._spell.partial_words(ids)

    def _known(self, pieces: Iterator[int | None]) -> Iterator[int]:
        return (piece for piece in pieces if piece is not None and piece != self.target.unknown)


@dataclass(frozen=True, eq=False)
class TermProcessor:
    """Adds bonuses for the terms of one source.

    `started` maps the tokens of a hypothesis, up to the first subword of a term that got a bonus, to the phrases that
    begin so. Only these are continued: other words may begin with the same letters.
    """

    words: SourceWords
    to_write: Sequence[TermToWrite]
    model: TermModel
    speller: TermSpeller
    started: dict[tuple[int, ...], list[TargetPhrase]] = field(default_factory=dict)

    def __call__(self, state: SearchState, logits: Tensor) -> Tensor:
        attention = self.words.sum_attention(state.attention).tolist()
        for row, ids in enumerate(state.tokens):
            self._process(tuple(ids), attention[row], logits[row])
        return logits

    def _process(self, ids: tuple[int, ...], attention: Sequence[float], logits: Tensor) -> None:
        if self._continue(ids, logits):
            return
        if not self.speller.starts_word(int(logits.argmax()), ids):
            return
        for one in self._pending(self.model.glossary.target_words(self.speller.text(ids))):
            self._start(one, one.attention(attention), ids, logits)

    def _pending(self, words: Sequence[str]) -> list[TermToWrite]:
        """Return the terms that were written less often than they occur in the source."""
        count = self.model.glossary.count_in
        return [one for one in self.to_write if count(one.term, words) < len(one.places)]

    def _continue(self, ids: tuple[int, ...], logits: Tensor) -> bool:
        """Continue a term that was started; return whether its next subword gets a bonus.

        A complete term is not made part of a longer word, except of another form.
        """
        for phrase, text in self._open_phrases(ids):
            pieces = list(self.speller.next_pieces(phrase.continuations(text)))
            if not phrase.pattern.fullmatch(text):
                logits[pieces] += self.model.term_continue_bonus
                return bool(pieces)
            values = logits[pieces]
            logits[self.speller.letters] -= self.model.term_continue_bonus
            logits[pieces] = values
        return False

    def _open_phrases(self, ids: tuple[int, ...]) -> Iterator[tuple[TargetPhrase, str]]:
        """Yield the phrases that were started and are not left, each with its text so far, the last started first."""
        for length in range(len(ids), max(0, len(ids) - MAX_PHRASE_PIECES), -1):
            for phrase in self.started.get(ids[:length], ()):
                text = self.speller.text(ids[length - 1 :])
                if phrase.pattern.fullmatch(text) or phrase.continuations(text):
                    yield phrase, text

    def _start(self, one: TermToWrite, attention: float, ids: tuple[int, ...], logits: Tensor) -> None:
        if attention >= self.model.min_attention:
            logits[self._first_pieces(one, ids)] += self.model.term_start_bonus * attention

    def _first_pieces(self, one: TermToWrite, ids: tuple[int, ...]) -> list[int]:
        """Return the first subwords of a term, and remember that it is started if one of them is chosen."""
        after_mark, found = self.speller.is_after_mark(ids), set[int]()
        for phrase in one.phrases:
            pieces = set(self.speller.first_pieces(phrase, after_mark))
            for piece in pieces:
                self.started.setdefault((*ids, piece), []).append(phrase)
            found |= pieces
        return list(found)


def _place(match: TermMatch, starts: Sequence[int]) -> tuple[int, int]:
    """Return the first and the last source word of a match."""
    return bisect_right(starts, match.start) - 1, bisect_left(starts, match.end) - 1


def _cases(word: str, language: str) -> Iterator[str]:
    """Yield a word as it may be written at the start of and within a sentence."""
    yield word
    if has_own_case(word):
        return
    if word[0].islower():
        yield word[0].upper() + word[1:]
    elif language_of(language) not in NOUNS_HAVE_CAPITALS or not _is_noun(word, language):
        yield word[0].lower() + word[1:]


def _is_noun(word: str, language: str) -> bool:
    lemmas = lemmas_or_forms(language)
    return not isinstance(lemmas, Lemmas) or lemmas.is_noun(word)
