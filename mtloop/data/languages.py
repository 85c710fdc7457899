"""Compare language tags. "en" also matches "en-US". Case is ignored, and "_" is the same as "-"."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from heapq import nlargest
from itertools import product
from pathlib import Path
from typing import Protocol, TypeVar

from mtloop.core.errors import InputError
from mtloop.text.language_codes import is_one_language, language_of

T = TypeVar("T")
EQUAL, VARIETY, GENERAL, SISTER, OTHER = 4, 3, 2, 1, 0

_CHINESE_SCRIPTS = {"CN": "Hans", "SG": "Hans", "MY": "Hans", "TW": "Hant", "HK": "Hant", "MO": "Hant"}  # by region
_TAG = re.compile(r"[a-z]{2,3}([-_@][a-z0-9]{2,8})*", re.IGNORECASE)


def normalise_tag(tag: str) -> str:
    """Return a language tag in its usual spelling.

    >>> [normalise_tag(tag) for tag in ("EN_us", "zh-hans-cn", "sr@latin")]
    ['en-US', 'zh-Hans-CN', 'sr-latin']
    """
    language, *others = re.split("[-_@]", tag.strip().lower())
    return "-".join([language, *map(_subtag, others)])


def is_tag(text: str) -> bool:
    """Whether a text looks like a language tag: a code of two or three letters, then subtags."""
    return _TAG.fullmatch(text.strip()) is not None


@lru_cache(maxsize=1024)
def closeness(wanted: str, found: str) -> int:
    """Return how close a tag is to the wanted one.

    4: equal; 3: a variety of the wanted one; 2: the wanted one is a variety of it; 1: another variety of the same
    language; 0: another language, or no tag.

    >>> closeness("en", "EN_us"), closeness("pt-BR", "pt"), closeness("en-US", "en-GB"), closeness("de", "den")
    (3, 2, 1, 0)
    >>> closeness("zh-TW", "zh-Hant"), closeness("zh-TW", "zh-Hans")
    (2, 1)
    """
    if not found or language_of(wanted) != language_of(found):
        return OTHER
    ours, theirs = _subtags(wanted), _subtags(found)
    if ours == theirs:
        return EQUAL
    return VARIETY if ours < theirs else GENERAL if theirs < ours else SISTER


@dataclass(frozen=True, slots=True)
class LanguageChoice:
    """A language to read. If `any_variety`, other varieties of the language are read too, where there is no closer one.

    >>> LanguageChoice("pt-BR").matches("pt-PT"), LanguageChoice("pt-BR", any_variety=True).matches("pt-PT")
    (False, True)
    """

    tag: str
    any_variety: bool = False

    def matches(self, tag: str) -> bool:
        return closeness(self.tag, tag) >= (SISTER if self.any_variety else GENERAL)


def closest_pair(
    source: LanguageChoice, target: LanguageChoice, tagged: Sequence[tuple[str, T]]
) -> tuple[tuple[str, T], tuple[str, T]] | None:
    """Return the two items, with different tags, that are closest to the choices; the first of equally close ones."""
    first: dict[str, tuple[str, T]] = {}
    for item in tagged:
        first.setdefault(item[0], item)
    originals, translations = (_two_closest(choice, first.values()) for choice in (source, target))
    pairs = [(one, two) for one, two in product(originals, translations) if one[0] != two[0]]
    return max(
        pairs, key=lambda pair: closeness(source.tag, pair[0][0]) + closeness(target.tag, pair[1][0]), default=None
    )


def _two_closest(choice: LanguageChoice, tagged: Iterable[tuple[str, T]]) -> list[tuple[str, T]]:
    """Return the two closest items in their order. With more, the pairs of a unit of many texts would be too many."""
    fitting = [item for item in tagged if choice.matches(item[0])]
    chosen = nlargest(2, range(len(fitting)), key=lambda index: (closeness(choice.tag, fitting[index][0]), -index))
    return [fitting[index] for index in sorted(chosen)]


def common_tag(tags: Iterable[str]) -> str:
    """Return the tag that texts have in common: the tag if all are equal, else their language, "" if that differs.

    >>> common_tag(["de-DE", "de-DE"]), common_tag(["de-DE", "de-AT", ""]), common_tag(["de", "fr"])
    ('de-DE', 'de', '')
    """
    distinct = {normalise_tag(tag) for tag in tags if tag}
    if len(distinct) == 1:
        return distinct.pop()
    languages = {language_of(tag) for tag in distinct}
    return languages.pop() if len(languages) == 1 else ""


def without_regions(source: str, target: str) -> tuple[str, str]:
    """Return the languages of two tags; the tags themselves if both are varieties of one language.

    >>> without_regions("en-US", "de-DE"), without_regions("en-US", "en-GB")
    (('en', 'de'), ('en-US', 'en-GB'))
    """
    languages = language_of(source), language_of(target)
    return (source, target) if languages[0] == languages[1] else languages


class OtherLanguage(InputError):
    """A file is in another language than the wanted one. `language` is the tag of the file."""

    def __init__(self, message: str, *, language: str, path: str | Path | None = None) -> None:
        self.language = language
        super().__init__(message, path=path)


class HasLanguages(Protocol):
    """A corpus: the file, and the languages of its texts ("" if unknown)."""

    @property
    def path(self) -> Path | None: ...

    @property
    def source_lang(self) -> str: ...

    @property
    def target_lang(self) -> str: ...


def check_languages(corpus: HasLanguages, model_source: str, model_target: str) -> None:
    """Raise InputError if the texts are in other languages than the model's. Unknown languages ("") are accepted."""
    declared, expected = (corpus.source_lang, corpus.target_lang), (model_source, model_target)
    if same_languages(declared, expected):
        return
    sides = zip(("--source-lang", "--target-lang"), declared, expected, strict=True)
    differing = [(option, one) for option, one, other in sides if _differ(language_of(one), language_of(other))]
    options = " and ".join(option for option, _ in differing)
    message = f"the texts are {pair_name(*declared)}, but the model translates {pair_name(*expected)}"
    advice = f"give another --model, or other texts (with {options})"
    raise OtherLanguage(f"{message}; {advice}", language=differing[-1][1], path=corpus.path)


def same_languages(one: tuple[str, str], other: tuple[str, str]) -> bool:
    """Whether two pairs of languages may be the same. Unknown languages, and groups of languages, match any language.

    >>> same_languages(("en-US", "de"), ("en", "")), same_languages(("en", "it"), ("en", "de"))
    (True, False)
    """
    return not any(_differ(language_of(a), language_of(b)) for a, b in zip(one, other, strict=True))


def pair_name(source: str, target: str) -> str:
    """Return a language pair as text: "en -> de"."""
    return f"{source or 'unknown'} -> {target or 'unknown'}"


def _differ(one: str, other: str) -> bool:
    """Whether two codes are certainly two languages."""
    return one != other and is_one_language(one) and is_one_language(other)


def _subtags(tag: str) -> set[str]:
    """Return region, script and variant of a tag. The region of a Chinese text tells its script."""
    found = set(normalise_tag(tag).split("-")[1:])
    if language_of(tag) == "zh" and not found & set(_CHINESE_SCRIPTS.values()):
        found |= {_CHINESE_SCRIPTS[region] for region in found & set(_CHINESE_SCRIPTS)}
    return found


def _subtag(subtag: str) -> str:
    """Return a region in upper case and a script with a capital letter; other subtags stay in lower case."""
    return subtag.upper() if len(subtag) == 2 else subtag.title() if len(subtag) == 4 and subtag.isalpha() else subtag
