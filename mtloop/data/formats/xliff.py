"""XLIFF 1.2 and 2.x, the exchange format of translation tools, parsed by translate-toolkit."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from lxml import etree
from translate.storage.xliff import Xliff1File
from translate.storage.xliff2 import Xliff2File

from mtloop.core.errors import InputError
from mtloop.core.types import Fields
from mtloop.data.formats.corpus import Pair, ReadRequest, TranslationUnit, to_pairs
from mtloop.data.formats.parsing import parser_errors
from mtloop.data.formats.xml_text import check_root, plain_text, xml_errors
from mtloop.data.languages import closeness
from mtloop.text.files import read_bytes

_WHITESPACE = re.compile("[ \t\r\n]+")
_LANGUAGES = (("source-language", "srcLang"), ("target-language", "trgLang"))
_XML_SPACE = "{http://www.w3.org/XML/1998/namespace}space"


def read_xliff(request: ReadRequest) -> Iterator[Pair]:
    """Return the translated units of all `<file>` elements. The document is the file. In 2.x a segment is a unit."""
    parse = _parser_for(check_root(request.path, "xliff"), request.path)
    content = read_bytes(request.path)
    with parser_errors(request.path, "XLIFF"), xml_errors(request.path):
        entries = list(parse(content).units)
    return to_pairs((_unit(entry, request) for entry in entries), request)


def _parser_for(root: Mapping[str, str], path: Path) -> Callable[[bytes], Any]:
    version = root.get("version", "1.2")
    if version.startswith("1."):
        return Xliff1File
    if not version.startswith("2."):
        raise InputError(f"XLIFF version {version!r:.20}; expected 1.2 or 2.x", path=path)
    if "xmlns" not in root:
        raise InputError(f"<xliff> has no default namespace; expected xmlns={Xliff2File.namespace!r}", path=path)
    return Xliff2File


def _unit(entry: Any, request: ReadRequest) -> TranslationUnit:
    source, target = (_text(element, request.path) for element in (entry.source_dom, entry.target_dom))
    file = next(entry.xmlelement.iterancestors("{*}file"), None)
    document = "" if file is None else file.get("original") or file.get("id") or ""
    context: Fields = {"document": document} if document else {}
    return TranslationUnit(source, target, context, _skip_reason(entry, bool(target), request))


def _skip_reason(entry: Any, has_target: bool, request: ReadRequest) -> str:
    if not entry.istranslatable():
        return "not to be translated"
    if not _has_languages(entry.xmlelement, request):
        return "in other languages"
    elements = (entry.xmlelement, *entry.xmlelement.iterchildren("{*}target"))
    states = [element.get("state", "") for element in elements]
    unconfirmed = any(state in ("new", "initial") or state.startswith("needs-") for state in states)
    return "fuzzy" if unconfirmed and has_target else ""


def _has_languages(element: etree._Element, request: ReadRequest) -> bool:
    """Whether the unit has the requested languages. A language missing in the request or in the file always matches."""
    wanted = zip((request.source_lang, request.target_lang), _LANGUAGES, strict=True)
    return all(not lang or closeness(lang, _inherited(element, *names) or lang) for lang, names in wanted)


def _inherited(element: etree._Element, *attributes: str) -> str:
    """Return the first of these attributes on the ancestors of an element, nearest ancestor first; "" if none."""
    values = (ancestor.get(name) for ancestor in element.iterancestors() for name in attributes)
    return str(next(filter(None, values), ""))


def _text(element: etree._Element | None, path: Path) -> str:
    """Return the text of an element. Unless xml:space is "preserve", runs of white space become one space."""
    if element is None:
        return ""
    text = plain_text(element, path)
    values = (node.get(_XML_SPACE) for node in (element, *element.iterancestors()))
    preserve = next((value for value in values if value), "default") == "preserve"
    return text if preserve else _WHITESPACE.sub(" ", text).strip(" ")
