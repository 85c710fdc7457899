"""The languages of the units of an XLIFF file, and the document that a unit belongs to."""

from __future__ import annotations

from typing import TypeAlias

from mtloop.core.types import Fields
from mtloop.data.formats.filling import OpenRequest
from mtloop.data.formats.xml_splice import XmlElement
from mtloop.data.languages import LanguageChoice, normalise_tag

LanguagePair: TypeAlias = tuple[str, str]


def language_pair(unit: XmlElement, source: XmlElement | None, target: XmlElement | None) -> LanguagePair:
    """Return the languages of a unit: those of the texts (xml:lang), else those of the elements around it, else ""."""
    return (
        _language(unit, source, "source-language", "srcLang"),
        _language(unit, target, "target-language", "trgLang"),
    )


def _language(unit: XmlElement, text: XmlElement | None, *names: str) -> str:
    own = "" if text is None else text.attributes.get("xml:lang", "")
    return normalise_tag(own or unit.inherited(*names))


def is_wanted(languages: LanguagePair, request: OpenRequest) -> bool:
    """Whether a unit is in the requested languages. A language missing in the request or in the file always matches."""
    wanted = zip((request.source_lang, request.target_lang), languages, strict=True)
    return all(LanguageChoice(lang).matches(tag) for lang, tag in wanted if lang and tag)


def document_of(unit: XmlElement) -> Fields:
    """Return the context of a unit: the document is the `<file>` around it."""
    file = next((element for element in unit.ancestors() if element.name == "file"), None)
    name = "" if file is None else file.attributes.get("original") or file.attributes.get("id") or ""
    return {"document": name} if name else {}
