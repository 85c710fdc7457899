"""TMX, the exchange format of translation memories; read as a stream, so that a file of any size fits."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lxml import etree

from mtloop.core.errors import InputError
from mtloop.core.types import Fields
from mtloop.data.formats.corpus import Pair, Request, Unit, fit
from mtloop.data.formats.xml_text import gate, local_name, plain_text, xml_errors
from mtloop.data.languages import closeness, closest
from mtloop.text.files import open_bytes
from mtloop.text.messages import listed

XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
DOCUMENT_PROPERTIES = frozenset({"document", "file", "filename"})
"""TMX has no documents; tools that know them write the name into a `<prop>` of one of these types."""


def read_tmx(request: Request) -> Iterator[Pair]:
    """The pairs of two languages of a memory.

    Unless told otherwise, the source is the header's and the target is the only other language; to find that out
    the file is read once more.
    """
    gate(request.path, "tmx")
    source, target = _languages(request)
    return fit(_units(request.path, source, target), request)


def _languages(request: Request) -> tuple[str, str]:
    if request.source_lang and request.target_lang:
        return request.source_lang, request.target_lang
    header, there = _survey(request.path)
    choices = listed(there) or "none"
    source = request.source_lang or header
    if not source:
        raise InputError(f"the header names no source language; choose one of: {choices}", path=request.path)
    others = [language for language in there if not closeness(source, language)]
    if not request.target_lang and len(others) != 1:
        message = f"expected one language beside {source!r}; choose the target language out of: {choices}"
        raise InputError(message, path=request.path)
    return source, request.target_lang or others[0]


def _survey(path: Path) -> tuple[str, list[str]]:
    """The source language that the header names, if any, and all languages, each as it is first written."""
    header = ""
    there: dict[str, str] = {}
    for element in _elements(path):
        if local_name(element) == "header":
            header = str(element.get("srclang", "")).replace("*all*", "")
        for language, _ in _variants(element):
            there.setdefault(language.replace("_", "-").lower(), language)
    return header, list(there.values())


def _units(path: Path, source: str, target: str) -> Iterator[Unit]:
    for element in _elements(path):
        if local_name(element) == "tu":
            variants = list(_variants(element))
            ours, theirs = closest(source, variants), closest(target, variants)
            if ours is None or theirs is None or ours is theirs:
                yield Unit("", "", unfit="in other languages")
            else:
                yield Unit(plain_text(ours, path), plain_text(theirs, path), _context(element))


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
    """The header and the units, one at a time; what is behind is let go."""
    with open_bytes(path) as file, xml_errors(path):
        parse = etree.iterparse(file, tag=["{*}header", "{*}tu"], resolve_entities=False, no_network=True)
        for _, element in parse:
            yield element
            element.clear()
            while (before := element.getprevious()) is not None:
                before.getparent().remove(before)
