"""Inflected forms of a word, made by rules of endings and checked by its base form."""

from __future__ import annotations

from collections.abc import Iterator

from mtloop.text.language_codes import language_of
from mtloop.text.lemmas import Lemmatise

ENDINGS: dict[str, str] = {  # the first may be empty; a word that ends in one of them may change it for another
    "de": " e en er ern em es n ns s ens",
    "en": " s es",
    "es": " s es o a os as",
    "fr": " s x e es al aux",
    "it": " o a i e hi he",
    "nl": " e en s er ers",
    "pt": " s es o a os as",
    "da": " e en er et erne ene s",
    "sv": " a ar arna en er erna et n na or orna s",
}
UMLAUTS = str.maketrans({"a": "ä", "o": "ö", "u": "ü"})
MIN_STEM = 3


def word_forms(word: str, language: str, lemma: Lemmatise) -> tuple[str, ...]:
    """Return a word and its inflected forms, the word first.

    In a language without rules it is the word alone. The case of the word is kept; of a hyphenated word the last part
    is inflected.

    >>> word_forms("Feld", "", str.casefold), word_forms("Z-Achse", "", str.casefold)
    (('Feld',), ('Z-Achse',))
    """
    first, hyphen, last = word.rpartition("-")
    if not last.isalpha() or last.isupper() or len(last) < MIN_STEM:
        return (word,)
    base = lemma(last)
    found = (one for one in _candidates(last, language_of(language)) if lemma(one) == base)
    return tuple(dict.fromkeys([word, *(first + hyphen + one for one in found)]))


def _candidates(word: str, language: str) -> Iterator[str]:
    endings = ENDINGS.get(language, "").split(" ")
    stems = [word.removesuffix(ending) for ending in endings if word.endswith(ending)]
    stems = [stem for stem in dict.fromkeys(stems) if len(stem) >= MIN_STEM]
    if language == "de":
        stems += [other for stem in stems for other in _umlaut(stem)]
    forms = (stem + ending for stem in stems for ending in endings)
    return (form for form in forms if word.islower() or form not in stems or form == word)


def _umlaut(stem: str) -> Iterator[str]:
    """Yield a German stem with the umlaut of its last vowel, and with that vowel without it: Buch and Büch."""
    position = max((stem.rfind(vowel) for vowel in "aouäöü"), default=-1)
    if position > 0 and stem[position] in "aou":
        position -= stem[position - 1 : position + 1] == "au"
        yield stem[:position] + stem[position].translate(UMLAUTS) + stem[position + 1 :]
    elif position > 0:
        yield stem[:position] + "aou"["äöü".index(stem[position])] + stem[position + 1 :]
