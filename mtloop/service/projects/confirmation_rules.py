"""What may be learned. A confirmation that may not stays in the log, with the reason."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from mtloop.service.likely_languages import language_probabilities
from mtloop.text.language_codes import language_of
from mtloop.text.pair_filter import PairFilter
from mtloop.text.protected.placeholders import find_placeholders
from mtloop.text.protected.tags import find_tags
from mtloop.text.stopwords import StopWords, has_stopwords
from mtloop.translation.answers import REJECTIONS

MAX_LEARNED_CHARACTERS = 10_000  # of a source or its translation
MAX_PER_SECOND = 50  # confirmations of a project; people and their tools send fewer
MIN_WORDS = 5  # a shorter text does not tell its language
MIN_SHARE = 0.25  # of words that belong to the source language alone
MIN_SOURCE_PROBABILITY = 0.3  # of the source language, in a text with that share; code has such words too
MIN_LETTERS = 25  # of the words that are not in the source; names and code are in both
MIN_PROBABILITY, MAX_PROBABILITY = 0.8, 0.05  # of another language, and of the target language beside it
_CLOSE = (
    "bs/hr/sl/sr be/bg/mk/ru/uk cs/sk id/jv/ms da/nb/nn/no/sv af/nl an/ca/es/gl/oc/pt de/lb hi/mr/ne xh/zu"
    " wuu/yue/zh ar/ary/arz"
)
_GROUP = {one: group for group in _CLOSE.split() for one in group.split("/")}  # languages that a detector confuses
TOO_LONG, WRONG_LANGUAGE, TOO_MANY = "too long", "wrong language", "too many"
REASONS = {
    "empty": "the source or the translation is empty",
    "copied": "the translation is a copy of the source",
    "length": "one side is much longer than the other",
    TOO_LONG: f"the text has more than {MAX_LEARNED_CHARACTERS} characters",
    WRONG_LANGUAGE: "the translation does not look like the target language",
    TOO_MANY: f"the project got more than {MAX_PER_SECOND} confirmations in one second",
}
_MARKS = "".join(filter(lambda one: unicodedata.category(one).startswith("M"), map(chr, range(0x10000))))
_WORD = re.compile(rf"[^\W\d_]+(?:[{_MARKS}\u200c\u200d]+[^\W\d_]*)*")  # with vowel signs and joiners, as in Hindi


def refusal(source: str, translation: str, source_language: str, target_language: str) -> str:
    """The reason why a pair may not be learned, one of `REASONS`; empty if it may.

    >>> refusal("Save the file as a new copy.", "Save the file to a new place now.", "en", "de")
    'wrong language'
    >>> refusal("Save the file as a new copy.", "Enregistrer le fichier comme une nouvelle copie.", "en", "de")
    'wrong language'
    >>> refusal("Save the file as a new copy.", "Die Datei als neue Kopie speichern.", "en", "de")
    ''
    """
    if max(len(source), len(translation)) > MAX_LEARNED_CHARACTERS:
        return TOO_LONG
    if (reason := PairFilter()(source, translation)) is not None:
        return reason
    if _is_in(translation, source_language, target_language) or _is_foreign(source, translation, target_language):
        return WRONG_LANGUAGE
    return ""


def explained(refused: str, rejected: str | None = None) -> str | None:
    """Why a confirmation is not learned, in words: it was `refused` here, or `rejected` by the learner. None: it is.

    >>> explained("copied"), explained("", "improbable"), explained("")
    ('the translation is a copy of the source', 'the pair is too improbable to be a translation', None)
    """
    if refused:
        return REASONS.get(refused, refused)
    return None if rejected is None else REJECTIONS.get(rejected, rejected)


def refuse_flood(recent: int) -> str:
    """The reason not to learn one more of `recent` confirmations in a second."""
    return TOO_MANY if recent >= MAX_PER_SECOND else ""


def _is_in(text: str, language: str, other: str) -> bool:
    """Whether a text looks like a language, and has many of its stop words and none that only the other one has."""
    words = _words(text)
    own, others = _stop_words(language), _stop_words(other)
    if len(words) < MIN_WORDS or not own or not others:
        return False
    only_own, only_others = own - others, others - own
    if sum(word in only_own for word in words) < MIN_SHARE * len(words) or not only_others.isdisjoint(words):
        return False
    return language_probabilities(" ".join(_prose(text))).get(language_of(language), 1.0) >= MIN_SOURCE_PROBABILITY


def _is_foreign(source: str, translation: str, language: str) -> bool:
    """Whether a translation is clearly in another language than that of the project, judged by its own words."""
    known, words = set(_words(source)), list[str]()

    def without_known(found: re.Match[str]) -> str:
        if found[0].casefold() in known:
            return ""
        words.append(found[0])
        return found[0]

    text = _WORD.sub(without_known, " ".join(_prose(translation)))
    if len(words) < MIN_WORDS or sum(map(len, words)) < MIN_LETTERS:
        return False
    likely, wanted = dict[str, float](), language_of(language)
    for one, probability in language_probabilities(text).items():
        group = _GROUP.get(one, one)
        likely[group] = likely.get(group, 0) + probability
    own, highest = likely.get(_GROUP.get(wanted, wanted)), max(likely.values())
    return own is not None and own <= MAX_PROBABILITY and highest >= MIN_PROBABILITY


def _words(text: str) -> list[str]:
    """The words of a text, without capitals."""
    return [word.casefold() for part in _prose(text) for word in _WORD.findall(part)]


def _prose(text: str) -> Iterator[str]:
    """The text between tags, entities and placeholders: their names belong to no language. Its marks are composed.

    >>> list(_prose('Die <x id="1"/> &amp; %(name)s'))
    ['Die ', ' ', ' ', '']
    """
    text, start = unicodedata.normalize("NFC", text), 0
    for tag in find_tags(text, xml=True):
        yield from _without_placeholders(text[start : tag.start])
        start = tag.end
    yield from _without_placeholders(text[start:])


def _without_placeholders(text: str) -> Iterator[str]:
    start = 0
    for low, high in find_placeholders(text):
        yield text[start:low]
        start = high
    yield text[start:]


@lru_cache
def _stop_words(language: str) -> frozenset[str]:
    return StopWords.of_language(language).words if has_stopwords(language) else frozenset()
