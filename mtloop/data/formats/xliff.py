"""XLIFF 1.2 and 2.x, the exchange format of translation tools, parsed by translate-toolkit."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lxml import etree
from translate.storage.xliff import Xliff1File
from translate.storage.xliff2 import Xliff2File

from mtloop.core.errors import InputError
from mtloop.core.types import Fields
from mtloop.data.formats.corpus import (
    IN_OTHER_LANGUAGES,
    IN_OTHER_VARIETY,
    Pair,
    ReadRequest,
    TranslationUnit,
    to_pairs,
)
from mtloop.data.formats.filling import read_content
from mtloop.data.formats.parsing import parser_errors
from mtloop.data.formats.xml_text import check_root, plain_text, xml_errors
from mtloop.data.languages import LanguageChoice, closeness, normalise_tag
from mtloop.text.language_codes import language_of
from mtloop.text.messages import join_names

_WHITESPACE = re.compile("[ \t\r\n]+")
_LANGUAGES = (("source-language", "srcLang"), ("target-language", "trgLang"))
_XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
_XML_SPACE = "{http://www.w3.org/XML/1998/namespace}space"


def read_xliff(request: ReadRequest) -> Iterator[Pair]:
    """Return the translated units of all `<file>` elements. The document is the file. In 2.x a segment is a unit."""
    parse = _parser_for(check_root(request.path, "xliff"), request.path)
    content = read_content(request.path)
    with parser_errors(request.path, "XLIFF"), xml_errors(request.path):
        entries = list(parse(content).units)
    units = [_unit(entry, request) for entry in entries]
    _check_one_pair(units, request)
    return to_pairs(units, request)


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
    languages = _languages(entry)
    fixed = "" if entry.istranslatable() else "not to be translated"
    unconfirmed = "not confirmed" if target and _is_unconfirmed(entry) else ""
    reason = fixed or _language_reason(languages, request) or unconfirmed
    return TranslationUnit(source, target, context, reason, languages=languages)


def _is_unconfirmed(entry: Any) -> bool:
    elements = (entry.xmlelement, *entry.xmlelement.iterchildren("{*}target"))
    states = [element.get("state", "") for element in elements]
    return any(state in ("new", "initial") or state.startswith("needs-") for state in states)


def _languages(entry: Any) -> tuple[str, str]:
    """The languages of a unit: those of the texts (xml:lang), else those of the enclosing elements, else ""."""
    texts = (entry.source_dom, entry.target_dom)
    own = ("" if element is None else str(element.get(_XML_LANG, "")) for element in texts)
    source, target = (
        normalise_tag(tag or _inherited(entry.xmlelement, *names)) for tag, names in zip(own, _LANGUAGES, strict=True)
    )
    return source, target


def _language_reason(languages: tuple[str, str], request: ReadRequest) -> str:
    """The reason to skip a unit in other languages. A language missing in the request or in the file always matches."""
    wanted = zip((request.source_lang, request.target_lang), languages, strict=True)
    known = [(lang, tag) for lang, tag in wanted if lang and tag]
    if all(LanguageChoice(lang).matches(tag) for lang, tag in known):
        return ""
    return IN_OTHER_VARIETY if all(closeness(lang, tag) for lang, tag in known) else IN_OTHER_LANGUAGES


def _check_one_pair(units: Sequence[TranslationUnit], request: ReadRequest) -> None:
    """Raise InputError if the file has several source or target languages and none was requested."""
    usable = [unit.languages for unit in units if unit.target.strip() and not unit.skip_reason]
    for side, option in enumerate(("source", "target")):
        tags = dict.fromkeys(languages[side] for languages in usable if languages[side])
        if len({language_of(tag) for tag in tags}) > 1:
            message = f"several {option} languages ({join_names(tags)}); choose one with --{option}-lang"
            raise InputError(message, path=request.path)


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
