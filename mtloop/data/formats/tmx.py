"""TMX, the exchange format of translation memories. Files are streamed, so they can be larger than memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lxml import etree

from mtloop.core.errors import InputError
from mtloop.core.types import Fields
from mtloop.data.formats.corpus import Pair, ReadRequest, TranslationUnit, to_pairs
from mtloop.data.formats.xml_text import check_root, local_name, plain_text, xml_errors
from mtloop.data.languages import closeness, closest
from mtloop.text.files import open_bytes
from mtloop.text.messages import join_names

XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
DOCUMENT_PROPERTIES = frozenset({"document", "file", "filename"})
"""TMX has no documents. Some tools write the document name into a `<prop>` of one of these types."""


def read_tmx(request: ReadRequest) -> Iterator[Pair]:
    """Return the pairs of two languages.

    The default source language is that of the header, the default target language is the only other language. To find
    them, the file is read one additional time.
    """
    check_root(request.path, "tmx")
    source, target = _languages(request)
    return to_pairs(_units(request.path, source, target), request)


def _languages(request: ReadRequest) -> tuple[str, str]:
    if request.source_lang and request.target_lang:
        return request.source_lang, request.target_lang
    header, found = _find_languages(request.path)
    choices = join_names(found) or "none"
    source = request.source_lang or header
    if not source:
        raise InputError(f"the header has no source language; choose one of: {choices}", path=request.path)
    others = [language for language in found if not closeness(source, language)]
    if not request.target_lang and len(others) != 1:
        message = f"expected one language besides {source!r}; choose the target language from: {choices}"
        raise InputError(message, path=request.path)
    return source, request.target_lang or others[0]


def _find_languages(path: Path) -> tuple[str, list[str]]:
    """Return the source language of the header ("" if none), and all languages, each in its first spelling."""
    header = ""
    found: dict[str, str] = {}
    for element in _elements(path):
        if local_name(element) == "header":
            header = str(element.get("srclang", "")).replace("*all*", "")
        for language, _ in _variants(element):
            found.setdefault(language.replace("_", "-").lower(), language)
    return header, list(found.values())


def _units(path: Path, source: str, target: str) -> Iterator[TranslationUnit]:
    for element in _elements(path):
        if local_name(element) == "tu":
            variants = list(_variants(element))
            original, translation = closest(source, variants), closest(target, variants)
            if original is None or translation is None or original is translation:
                yield TranslationUnit("", "", skip_reason="in other languages")
            else:
                yield TranslationUnit(plain_text(original, path), plain_text(translation, path), _context(element))


def _variants(unit: etree._Element) -> Iterator[tuple[str, etree._Element]]:
    for variant in unit.iterchildren("{*}tuv"):
        language = variant.get(XML_LANG) or variant.get("lang") or ""
        for segment in variant.iterchildren("{*}seg"):
            yield str(language), segment


def _context(unit: etree._Element) -> Fields:
    for prop in unit.iterchildren("{*}prop"):
        if str(prop.get("type", "")).lower().removeprefix("x-") in DOCUMENT_PROPERTIES and prop.text:
            return {"document": prop.text}
    return {}


def _elements(path: Path) -> Iterator[etree._Element]:
    """Yield the header and the units one at a time. Elements already yielded are removed from memory."""
    with open_bytes(path) as file, xml_errors(path):
        parse = etree.iterparse(file, tag=["{*}header", "{*}tu"], resolve_entities=False, no_network=True)
        for _, element in parse:
            yield element
            element.clear()
            while (before := element.getprevious()) is not None:
                before.getparent().remove(before)
