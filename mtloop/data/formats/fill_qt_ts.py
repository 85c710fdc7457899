"""Filling in Qt's TS files.

A message with plural forms is a unit for each `<numerusform>`. Qt has one source for all of them, such as
`%n file(s)`. A filled message is marked with `type="unfinished"`, unless every filling is approved.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from mtloop.core.types import JSON
from mtloop.data.formats.filling import Edit, FileUnit, Filling, OpenRequest, UnitState, check_targets
from mtloop.data.formats.xml_splice import XmlDocument, XmlElement, check_characters
from mtloop.data.languages import LanguageChoice, OtherLanguage, is_tag, normalise_tag

_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;"})
_LOCKED_TYPES = frozenset({"obsolete", "vanished"})


def open_ts(request: OpenRequest) -> TsFile:
    """Open a TS file. Raise InputError for a syntax error, or if the file declares another language."""
    file = TsFile(XmlDocument.parse(request.content(), request.path, "TS"), request)
    for wanted, tag in zip((request.source_lang, request.target_lang), file.languages, strict=True):
        if wanted and tag and not LanguageChoice(wanted).matches(tag):
            message = f"the file declares the language {tag}; expected {wanted}"
            raise OtherLanguage(message, language=tag, path=request.path)
    return file


@dataclass(frozen=True, slots=True)
class _Message:
    """A `<message>`: its translation (None: absent), and the elements with the texts, one for each form."""

    element: XmlElement
    number: int
    context: dict[str, JSON]
    translation: XmlElement | None
    forms: tuple[XmlElement | None, ...]

    @property
    def type(self) -> str:
        return "unfinished" if self.translation is None else self.translation.attributes.get("type", "")

    @property
    def is_locked(self) -> bool:
        """Whether it is no longer used, or has variants of different length or plurals without forms."""
        inside = self.translation.children if self.translation else []
        variants = any(node.name == "lengthvariant" for child in inside for node in child.iter())
        return self.type in _LOCKED_TYPES or variants or not self.forms

    @property
    def is_numerus(self) -> bool:
        return self.element.attributes.get("numerus") == "yes"


class TsFile:
    """A TS file. Texts are escaped as Qt does it."""

    marks_review = True

    def __init__(self, document: XmlDocument, request: OpenRequest) -> None:
        self._document, self._request = document, request
        self._messages = list(_messages(document.root))
        self._slots = [(message, form) for message in self._messages for form in range(len(message.forms) or 1)]
        self._units = [_unit(message, form) for message, form in self._slots]

    @property
    def path(self) -> Path:
        return self._document.path

    @property
    def units(self) -> Sequence[FileUnit]:
        return self._units

    @property
    def languages(self) -> tuple[str, str]:
        attributes, request = self._document.root.attributes, self._request
        source, target = _tag(attributes.get("sourcelanguage", "")), _tag(attributes.get("language", ""))
        return source or request.source_lang or "", target or request.target_lang or ""

    @property
    def notes(self) -> Sequence[str]:
        lines = [message.element.line for message in self._messages if not message.forms]
        if not lines:
            return ()
        return (f"{len(lines)} plurals without <numerusform> are left as they are, the first in line {lines[0]}",)

    def filled(self, targets: Mapping[int, Filling]) -> bytes:
        """Return the file with these units filled in.

        A message is unfinished as a whole. One that was unfinished stays so until all its forms are approved in one
        call.
        """
        check_targets(self, targets, lambda text, _: check_characters(_escape(text), self.path))
        by_message: dict[int, dict[int, Filling]] = {}
        for index, filling in targets.items():
            message, form = self._slots[index]
            by_message.setdefault(message.number, {})[form] = filling
        edits = (self._edits(self._messages[number - 1], fillings) for number, fillings in by_message.items())
        return self._document.spliced(chain.from_iterable(edits))

    def _edits(self, message: _Message, fillings: Mapping[int, Filling]) -> Iterator[Edit]:
        approved = all(filling.approved for filling in fillings.values())
        finished = approved and (len(fillings) == len(message.forms) or message.type != "unfinished")
        if message.translation is None:
            yield self._new_translation(message, fillings[0].text, finished)
            return
        for form, filling in fillings.items():
            slot = message.forms[form]
            if slot is not None and filling.text != _text(slot):
                yield self._document.set_inner(slot, _escape(filling.text))
        if finished:
            yield from self._document.remove_attribute(message.translation, "type")
        elif message.type != "unfinished":
            yield self._document.set_attribute(message.translation, "type", "unfinished")

    def _new_translation(self, message: _Message, text: str, finished: bool) -> Edit:
        last = message.element.children[-1]
        mark = "" if finished else ' type="unfinished"'
        fragment = f"<translation{mark}>{_escape(text)}</translation>"
        return self._document.insert_after(last, self._document.indentation(last) + fragment)


def _messages(root: XmlElement) -> Iterator[_Message]:
    """Yield the messages. A location without a file name is in the file of the location before it."""
    document, names = "", _context_names(root)
    for number, element in enumerate((node for node in root.iter() if node.name == "message"), start=1):
        locations = [child.attributes.get("filename", "") for child in element.children if child.name == "location"]
        document = next(filter(None, locations), document if locations else "")
        translation = element.find("translation")
        yield _Message(element, number, _context(element, document, names), translation, _forms(element, translation))


def _forms(message: XmlElement, translation: XmlElement | None) -> tuple[XmlElement | None, ...]:
    if message.attributes.get("numerus") != "yes":
        return (translation,)
    children = translation.children if translation else []
    return tuple(child for child in children if child.name == "numerusform")


def _unit(message: _Message, form: int) -> FileUnit:
    source = message.element.find("source")
    slot = message.forms[form] if message.forms else message.translation
    target = _text(slot) if slot else ""
    name, context = str(message.number), message.context
    if message.is_numerus:
        name, context = f"{name}[{form}]", {**context, "plural": form}
    line = slot.line if slot else message.element.line
    state, text, is_obsolete = _state(message, target), _text(source) if source else "", message.type in _LOCKED_TYPES
    return FileUnit(name, text, target, state, context, line=line, obsolete=is_obsolete)


def _state(message: _Message, target: str) -> UnitState:
    if message.is_locked:
        return UnitState.LOCKED
    if not target:
        return UnitState.UNTRANSLATED
    return UnitState.FUZZY if message.type == "unfinished" else UnitState.TRANSLATED


def _context_names(root: XmlElement) -> dict[XmlElement, str]:
    return {element: _child_text(element, "name") for element in root.iter() if element.name == "context"}


def _context(message: XmlElement, document: str, names: Mapping[XmlElement, str]) -> dict[str, JSON]:
    """The document is the source file that contains the message, or else the name of Qt's context, usually a class."""
    context = names.get(message.parent, "") if message.parent else ""
    fields: dict[str, JSON] = {
        "document": document or context,
        "context": context,
        "id": message.attributes.get("id", ""),
        "comment": _child_text(message, "comment"),
        "note": _child_text(message, "extracomment"),
    }
    return {key: value for key, value in fields.items() if value}


def _child_text(element: XmlElement, name: str) -> str:
    child = element.find(name)
    return _text(child) if child else ""


def _text(element: XmlElement) -> str:
    """Return the text of an element. Qt writes a control character as an element: `<byte value="x1b"/>`."""
    return "".join(node if isinstance(node, str) else _byte(node) or node.text() for node in element.content)


def _byte(element: XmlElement) -> str:
    value = element.attributes.get("value", "")
    try:
        code = int(value[1:], 16) if value.startswith("x") else int(value)
        return chr(code) if element.name == "byte" else ""
    except (ValueError, OverflowError):
        return ""


def _escape(text: str) -> str:
    """Return a text as Qt writes it: control characters as elements, unusual spaces as character references.

    >>> _escape("don't\x1b")
    'don&apos;t<byte value="x1b"/>'
    """
    return "".join(map(_escape_space, text.translate(_ENTITIES)))


def _escape_space(char: str) -> str:
    if char < " " and char not in "\n\t":
        return f'<byte value="x{ord(char):x}"/>'
    return f"&#x{ord(char):x};" if char > "\x7f" and char.isspace() else char


def _tag(text: str) -> str:
    return normalise_tag(text) if is_tag(text) else ""
