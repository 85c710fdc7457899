"""TMX, the exchange format of translation memories. Files are streamed, so they can be larger than memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mtloop.core.errors import InputError
from mtloop.core.types import JSON
from mtloop.data.formats.corpus import (
    IN_OTHER_LANGUAGES,
    IN_OTHER_VARIETY,
    Pair,
    ReadRequest,
    TranslationUnit,
    to_pairs,
)
from mtloop.data.formats.xml_stream import StreamedElement, XmlGrammar, stream_units
from mtloop.data.formats.xml_text import check_root
from mtloop.data.languages import (
    EQUAL,
    GENERAL,
    LanguageChoice,
    closeness,
    closest_pair,
    normalise_tag,
)
from mtloop.text.language_codes import language_of
from mtloop.text.messages import join_names

GRAMMAR = XmlGrammar(units={"header", "tu"}, parts={"tuv"}, texts={"seg", "prop"})
OWN_PROPERTIES = {"mtloop-format": "format", "mtloop-external-id": "external_id"}  # of an export of a project
DOCUMENT_PROPERTIES = frozenset({"document", "file", "filename"})
"""TMX has no documents. Some tools write the document name into a `<prop>` of one of these types."""


@dataclass(frozen=True, slots=True)
class TmxLanguages:
    """The languages of a file: the header's source language ("": none), how many texts each tag has, in order of first
    appearance, the languages that come first in units with several texts, and by language the tags that occur together
    with another variety in one unit."""

    path: Path
    header: str
    tags: Counter[str]
    first: frozenset[str]
    together: Mapping[str, Iterable[str]]

    def choose(self, source: str | None, target: str | None) -> tuple[LanguageChoice, LanguageChoice]:
        """Return the languages to read. Varieties count as one language, unless the user names one of them."""
        self._check_text(source, "source")
        self._check_text(target, "target")
        chosen = LanguageChoice(source) if source else self._source(target)
        return chosen, LanguageChoice(target) if target else self._other(chosen.tag, "target")

    def notes(self, source: LanguageChoice, target: LanguageChoice) -> Iterator[str]:
        """Yield what the user should know: in some units, one of several varieties was chosen for them."""
        for choice, option in ((source, "source"), (target, "target")):
            tags = list(self.together.get(language_of(choice.tag), ()))
            in_header = choice.tag == self.header and choice.tag in tags
            if choice.any_variety and tags and not in_header:
                problem = f"some units have several varieties of one language ({join_names(tags)})"
                yield f"{problem}; the closest to {choice.tag} is read; choose with --{option}-lang"

    def _check_text(self, tag: str | None, option: str) -> None:
        if tag and not any(map(LanguageChoice(tag).matches, self.tags)):
            found = join_names(self.tags) or "no texts"
            raise InputError(f"the file has no {tag}; it has: {found}; choose one with --{option}-lang", path=self.path)

    def _source(self, target: str | None) -> LanguageChoice:
        """The language of the header, else the one that comes first, else the only language besides the target."""
        if self.header and not (target and closeness(target, self.header) >= GENERAL):
            if language_of(self.header) in map(language_of, self.tags):
                return LanguageChoice(self.header, any_variety=True)
            raise self._ambiguous(f"no text is in {self.header}, the source language of the header", "source")
        if len(self.first) == 1 and not (target and language_of(target) in self.first):
            return self._any_variety(*self.first)
        if target:
            return self._other(target, "source")
        raise self._ambiguous("the header has no source language", "source")

    def _other(self, tag: str, option: str) -> LanguageChoice:
        """The only language besides that of a tag, or the only other variety if all texts are in one language."""
        others = {language_of(found) for found in self.tags} - {language_of(tag)}
        if len(others) == 1:
            return self._any_variety(*others)
        varieties = [found for found in self.tags if closeness(tag, found) != EQUAL]
        if not others and len(varieties) == 1:
            return LanguageChoice(varieties[0])
        raise self._ambiguous(f"expected one language besides {tag}", option)

    def _any_variety(self, language: str) -> LanguageChoice:
        """The most frequent variety of a language, with all others."""
        frequent = max((tag for tag in self.tags if language_of(tag) == language), key=lambda tag: self.tags[tag])
        return LanguageChoice(frequent, any_variety=True)

    def _ambiguous(self, problem: str, option: str) -> InputError:
        found = join_names(self.tags) or "no texts"
        return InputError(f"{problem}; the file has: {found}; choose one with --{option}-lang", path=self.path)


def read_tmx(request: ReadRequest) -> Iterator[Pair]:
    """Return the pairs of two languages.

    The default source language is that of the header, the default target language is the only other language. To find
    them, the file is read one additional time.
    """
    check_root(request.path, "tmx")
    if request.source_lang and request.target_lang:
        source, target = LanguageChoice(request.source_lang), LanguageChoice(request.target_lang)
    else:
        languages = _find_languages(request.path)
        source, target = languages.choose(request.source_lang, request.target_lang)
        request.notes.extend(languages.notes(source, target))
    return to_pairs(_units(request, source, target), request)


def _find_languages(path: Path) -> TmxLanguages:
    header, tags, first = "", Counter[str](), set[str]()
    together: dict[str, dict[str, None]] = {}
    for unit in stream_units(path, GRAMMAR):
        if unit.name == "header":
            header = normalise_tag(unit.attributes.get("srclang", "").replace("*all*", ""))
        found = [tag for tag, _ in _variants(unit) if tag]
        tags.update(found)
        first.update(map(language_of, found[:1] if len(found) > 1 else ()))
        add_varieties(together, found)
    return TmxLanguages(path, header, tags, frozenset(first), together)


def add_varieties(together: dict[str, dict[str, None]], tags: Iterable[str]) -> None:
    """Add the tags of one unit, by language, where it has several varieties of a language."""
    by_language: dict[str, dict[str, None]] = {}
    for tag in tags:
        by_language.setdefault(language_of(tag), {})[tag] = None
    for language, varieties in by_language.items():
        if len(varieties) > 1:
            together.setdefault(language, {}).update(varieties)


def _units(request: ReadRequest, source: LanguageChoice, target: LanguageChoice) -> Iterator[TranslationUnit]:
    for unit in stream_units(request.path, GRAMMAR):
        if unit.name == "tu":
            variants = list(_variants(unit))
            pair = closest_pair(source, target, variants)
            if pair is None:
                tags = tuple(tag for tag, _ in variants)
                yield TranslationUnit("", "", skip_reason=_language_reason(tags, source, target), languages=tags)
            else:
                (source_tag, original), (target_tag, translation) = pair
                languages, context = (source_tag, target_tag), _context(unit)
                if request.keeps_elements and _has_elements(original, translation):
                    context |= {"format": "xml"}
                    yield TranslationUnit(original.fragment, translation.fragment, context, languages=languages)
                else:
                    yield TranslationUnit(original.text, translation.text, context, languages=languages)


def _has_elements(*texts: StreamedElement) -> bool:
    """Whether one of these texts has inline elements, and none has them alone."""
    return any(one.written for one in texts) and all(one.text.strip() for one in texts)


def _language_reason(tags: Sequence[str], *choices: LanguageChoice) -> str:
    """Return why a unit has no pair of texts. A unit with one language is incomplete, not in other languages."""
    source, target = (bool(tags) and all(map(choice.matches, tags)) for choice in choices)
    if source or target:
        return "untranslated" if source else "empty source"
    has_both = all(any(closeness(choice.tag, tag) for tag in tags) for choice in choices)
    return IN_OTHER_VARIETY if has_both and len(tags) > 1 else IN_OTHER_LANGUAGES


def _variants(unit: StreamedElement) -> Iterator[tuple[str, StreamedElement]]:
    """Yield the texts of a unit, each with its language."""
    for variant in unit.named("tuv"):
        for segment in variant.named("seg"):
            yield normalise_tag(variant.language), segment


def _context(unit: StreamedElement) -> dict[str, JSON]:
    context: dict[str, JSON] = {"tuid": tuid} if (tuid := unit.attributes.get("tuid", "").strip()) else {}
    for prop in unit.named("prop"):
        kind = prop.attributes.get("type", "").lower().removeprefix("x-")
        name = "document" if kind in DOCUMENT_PROPERTIES else OWN_PROPERTIES.get(kind)
        if name is not None and prop.text:
            context.setdefault(name, prop.text)
    return context
