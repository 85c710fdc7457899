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
from mtloop.data.formats.corpus import Pair, Request, Unit, fit
from mtloop.data.formats.parsing import parsing
from mtloop.data.formats.xml_text import gate, plain_text, xml_errors
from mtloop.data.languages import closeness
from mtloop.text.files import read_bytes

_LAYOUT = re.compile("[ \t\r\n]+")
_LANGUAGES = (("source-language", "srcLang"), ("target-language", "trgLang"))
_XML_SPACE = "{http://www.w3.org/XML/1998/namespace}space"


def read_xliff(request: Request) -> Iterator[Pair]:
    """The translated units of all files in it; a file's name is the document. In 2.x every segment is a unit."""
    store = _store(gate(request.path, "xliff"), request.path)
    content = read_bytes(request.path)
    with parsing(request.path, "XLIFF"), xml_errors(request.path):
        entries = list(store(content).units)
    return fit((_unit(entry, request) for entry in entries), request)


def _store(root: Mapping[str, str], path: Path) -> Callable[[bytes], Any]:
    version = root.get("version", "1.2")
    if version.startswith("1."):
        return Xliff1File
    if not version.startswith("2."):
        raise InputError(f"XLIFF version {version!r:.20}; expected 1.2 or 2.x", path=path)
    if "xmlns" not in root:
        raise InputError(f"the root has no default namespace; expected xmlns={Xliff2File.namespace!r}", path=path)
    return Xliff2File


def _unit(entry: Any, request: Request) -> Unit:
    source, target = (_text(element, request.path) for element in (entry.source_dom, entry.target_dom))
    file = next(entry.xmlelement.iterancestors("{*}file"), None)
    document = "" if file is None else file.get("original") or file.get("id") or ""
    context: Fields = {"document": document} if document else {}
    return Unit(source, target, context, _unfit(entry, bool(target), request))


def _unfit(entry: Any, has_target: bool, request: Request) -> str:
    if not entry.istranslatable():
        return "not to be translated"
    if not _wanted(entry.xmlelement, request):
        return "in other languages"
    holders = (entry.xmlelement, *entry.xmlelement.iterchildren("{*}target"))
    states = [holder.get("state", "") for holder in holders]
    doubtful = any(state in ("new", "initial") or state.startswith("needs-") for state in states)
    return "fuzzy" if doubtful and has_target else ""


def _wanted(element: etree._Element, request: Request) -> bool:
    """Whether the languages, where the file names them, are those asked for, where any were."""
    asked = zip((request.source_lang, request.target_lang), _LANGUAGES, strict=True)
    return all(not language or closeness(language, _named(element, *names) or language) for language, names in asked)


def _named(element: etree._Element, *attributes: str) -> str:
    """The first of these attributes on what the unit is in."""
    values = (holder.get(name) for holder in element.iterancestors() for name in attributes)
    return str(next(filter(None, values), ""))


def _text(element: etree._Element | None, path: Path) -> str:
    """Space is kept where the file says so, else it is layout: runs of it become one."""
    if element is None:
        return ""
    text = plain_text(element, path)
    said = (node.get(_XML_SPACE) for node in (element, *element.iterancestors()))
    keep = next((value for value in said if value), "default") == "preserve"
    return text if keep else _LAYOUT.sub(" ", text).strip(" ")
