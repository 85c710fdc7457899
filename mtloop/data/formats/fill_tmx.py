"""TMX files to fill in: a translation unit without a text in the target language gets one.

TMX has no states and no mark for review, so an approved text and another one are written alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from mtloop.core.types import Fields
from mtloop.data.formats.filling import XML, Edit, FileUnit, Filling, OpenRequest, UnitState
from mtloop.data.formats.tmx import DOCUMENT_PROPERTIES, TmxLanguages, add_varieties
from mtloop.data.formats.unit_groups import GroupedFile, fragment
from mtloop.data.formats.xml_splice import XmlDocument, XmlElement, escape_attribute
from mtloop.data.languages import EQUAL, LanguageChoice, closeness, closest_pair, normalise_tag
from mtloop.text.language_codes import language_of

_LANGUAGE_ATTRIBUTES = ("xml:lang", "lang")
"""TMX 1.4 uses `xml:lang`, TMX 1.1 `lang`."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A `<tuv>`: the attribute that names its language, and its `<seg>`."""

    element: XmlElement
    attribute: str
    segment: XmlElement

    @property
    def written_tag(self) -> str:
        return self.element.attributes.get(self.attribute, "")

    @property
    def tag(self) -> str:
        return normalise_tag(self.written_tag)


@dataclass(frozen=True, slots=True)
class MemoryUnit:
    """A `<tu>`. `target` is None if it has no text in the target language, whose tag is `target_tag`."""

    document: XmlDocument
    variants: Sequence[Variant]
    target: Variant | None
    target_tag: str
    units: tuple[FileUnit]

    def edits(self, fillings: Mapping[int, Filling]) -> Iterator[Edit]:
        """Yield the edit that fills in the target, or adds it after the last text."""
        text = fillings[0].text
        if self.target is not None:
            yield self.document.set_inner(self.target.segment, text)
        else:
            last = self.variants[-1]
            yield self.document.insert_after(last.element, self._new_variant(last, text))

    def _new_variant(self, like: Variant, text: str) -> str:
        name, segment = like.element.tag, like.segment.tag
        before, inside = (self.document.indentation(element) for element in (like.element, like.segment))
        language = escape_attribute(self.target_tag)
        content = f"{inside}<{segment}>{text}</{segment}>{before if inside else ''}"
        return f'{before}<{name} {like.attribute}="{language}">{content}</{name}>'


def open_tmx(request: OpenRequest) -> GroupedFile:
    """Open a TMX file. The languages are chosen as by `mtloop.data.read`; the target need not occur in the file."""
    document = XmlDocument.parse(request.content(), request.path, root="tmx")
    elements = [element for element in document.root.iter() if element.name == "tu"]
    variants = [_variants(element) for element in elements]
    languages = _languages(document, variants, request)
    source, target = languages.choose(request.source_lang, request.target_lang)
    tag = _written_tag(variants, target)
    groups = [
        _memory_unit(document, element, number, own, (source, target), tag)
        for number, (element, own) in enumerate(zip(elements, variants, strict=True), start=1)
    ]
    tags = normalise_tag(source.tag), normalise_tag(target.tag)
    return GroupedFile(document, groups, tags, marks_review=False, notes=list(languages.notes(source, target)))


def _variants(unit: XmlElement) -> list[Variant]:
    found = []
    for element in unit.children:
        segment = element.find("seg") if element.name == "tuv" else None
        if segment is not None:
            attribute = next((name for name in _LANGUAGE_ATTRIBUTES if element.attributes.get(name)), "xml:lang")
            found.append(Variant(element, attribute, segment))
    return found


def _languages(document: XmlDocument, units: Sequence[Sequence[Variant]], request: OpenRequest) -> TmxLanguages:
    header = document.root.find("header")
    source = "" if header is None else header.attributes.get("srclang", "").replace("*all*", "")
    tags = Counter(variant.tag for variants in units for variant in variants if variant.tag)
    if request.target_lang:
        tags[normalise_tag(request.target_lang)] += 1  # it may be asked for, though no text has it yet
    first = {language_of(variants[0].tag) for variants in units if len(variants) > 1 and variants[0].tag}
    return TmxLanguages(request.path, normalise_tag(source), tags, frozenset(first), _together(units))


def _together(units: Sequence[Sequence[Variant]]) -> dict[str, list[str]]:
    """Return by language the tags that occur together with another variety in one unit."""
    found: dict[str, dict[str, None]] = {}
    for variants in units:
        add_varieties(found, [variant.tag for variant in variants])
    return {language: list(varieties) for language, varieties in found.items()}


def _written_tag(units: Sequence[Sequence[Variant]], target: LanguageChoice) -> str:
    """Return the target language as most texts of the file write it, else as it was requested."""
    tags = Counter(
        variant.written_tag for variants in units for variant in variants if closeness(target.tag, variant.tag) == EQUAL
    )
    return tags.most_common(1)[0][0] if tags else target.tag


def _memory_unit(
    document: XmlDocument,
    element: XmlElement,
    number: int,
    variants: Sequence[Variant],
    choices: tuple[LanguageChoice, LanguageChoice],
    target_tag: str,
) -> MemoryUnit:
    source, target = _pair(variants, *choices)
    texts = _text(document, source), _text(document, target)
    if not texts[0].strip():
        state = UnitState.LOCKED
    else:
        state = UnitState.TRANSLATED if texts[1].strip() else UnitState.UNTRANSLATED
    name = element.attributes.get("tuid") or str(number)
    unit = FileUnit(name, *texts, state, _context(element), syntax=XML, line=element.line)
    return MemoryUnit(document, variants, target, target_tag, (unit,))


def _text(document: XmlDocument, variant: Variant | None) -> str:
    return "" if variant is None else fragment(document, variant.segment)


def _pair(
    variants: Sequence[Variant], source: LanguageChoice, target: LanguageChoice
) -> tuple[Variant | None, Variant | None]:
    """Return the texts closest to the languages. A text in exactly the target language is no source."""
    tagged = [(variant.tag, variant) for variant in variants]
    if pair := closest_pair(source, target, tagged):
        return pair[0][1], pair[1][1]
    originals = [one for one in variants if source.matches(one.tag) and closeness(target.tag, one.tag) != EQUAL]
    return max(originals, key=lambda one: closeness(source.tag, one.tag), default=None), None


def _context(unit: XmlElement) -> Fields:
    for prop in unit.children:
        kind = prop.attributes.get("type", "").lower().removeprefix("x-")
        if prop.name == "prop" and kind in DOCUMENT_PROPERTIES and prop.text():
            return {"document": prop.text()}
    return {}
