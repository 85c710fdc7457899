"""Android's string resources (strings.xml), filled in with a template: `string`, `string-array` and `plurals`.

A plural gets the quantities of the target language (CLDR). An array, and a plural that is new in the target file, are
complete: where there is no translation, the text of the source language stands. Resources with `translatable="false"`
and references such as `@string/app_name` are locked. The target file gets no resources of other kinds.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import ClassVar, NamedTuple, TypeAlias

from mtloop.core.errors import InputError
from mtloop.core.types import Fields
from mtloop.data.formats.android_text import is_reference, read_android, write_android
from mtloop.data.formats.filling import (
    PLAIN,
    XML,
    BilingualFile,
    Edit,
    FileUnit,
    Filling,
    OpenRequest,
    UnitState,
    check_targets,
    splice,
)
from mtloop.data.formats.monolingual import (
    EntryFile,
    FileEntry,
    existing_content,
    extra_keys,
    extra_keys_note,
    insertions,
    new_file_edits,
    pair_languages,
    template_content,
    template_path,
    unit_state,
)
from mtloop.data.formats.xml_splice import XmlDocument, XmlElement, check_characters
from mtloop.data.languages import is_tag, normalise_tag
from mtloop.data.plural_categories import CATEGORIES, plural_categories

STRING, ARRAY, PLURALS = "string", "string-array", "plurals"
_KINDS = frozenset({STRING, ARRAY, PLURALS})

_LINE_REST = re.compile(rb"[ \t]*(?:<!--(?:(?!-->).)*+-->[ \t]*)?\r?\n", re.DOTALL)
_COMMENTS = re.compile(rb"(?:^[ \t]*<!--(?:(?!-->).)*+-->[ \t]*\r?\n)*[ \t]*\Z", re.DOTALL | re.MULTILINE)
_COMMENT_TEXT = re.compile(r"<!--(.*?)-->", re.DOTALL)
_PREFIX = re.compile(rb"[<\s]/?([A-Za-z_][\w.-]*):[A-Za-z_]")


class ResourceKey(NamedTuple):
    """What identifies a resource: its kind, its name, and the product that it is for ("": all)."""

    kind: str
    name: str
    product: str

    def __str__(self) -> str:
        return f"{self.name}@{self.product}" if self.product else self.name


@dataclass(frozen=True, slots=True)
class AndroidSlot:
    """The place of a unit: the index of an item in an array, the quantity of an item in a plural ("": no item).

    `pattern` is the element of the template with the source, `target` that of the target file.
    """

    entry: FileEntry
    part: str
    pattern: XmlElement
    target: XmlElement | None
    unit: FileUnit


def open_android(request: OpenRequest) -> BilingualFile:
    """Open a file of string resources with its template."""
    template = AndroidFile.parse(template_content(request), template_path(request))
    content = existing_content(request)
    target = None if content is None else AndroidFile.parse(content, request.path)
    languages = pair_languages(request, (_locale(template), _locale(target)))
    return FillableAndroid(request.path, template, target, languages)


@dataclass(frozen=True)
class AndroidFile(EntryFile):
    """A parsed file. Each child of `<resources>` is an entry."""

    document: XmlDocument = field(kw_only=True)

    @classmethod
    def parse(cls, content: bytes, path: Path) -> AndroidFile:
        """Parse a file. Raise InputError, with the line, if it is not a file of resources or has a key twice."""
        document = XmlDocument.parse(content, path)
        if document.root.tag != "resources":
            message = f"the root element is <{document.root.tag}>; expected <resources>, as in Android's strings.xml"
            raise InputError(message, path=path)
        body_end = _line_start(document.utf8, document.root.inner_end)
        return cls(path, document.utf8, tuple(_entries(document)), body_end, document=document)

    def element(self, key: Hashable) -> XmlElement | None:
        """Return the element of a resource, None if the file does not have it."""
        entry = self.by_key.get(key)
        return None if entry is None else _element(entry)


@dataclass(frozen=True)
class FillableAndroid:
    """A file of string resources to be filled in. The format has no mark for review."""

    path: Path
    template: AndroidFile
    target: AndroidFile | None
    languages: tuple[str, str]
    marks_review: ClassVar[bool] = False

    @cached_property
    def slots(self) -> Sequence[AndroidSlot]:
        """The places of the units, in the order of the template."""
        return [slot for entry in self.template.entries for slot in self._slots(entry)]

    @cached_property
    def units(self) -> Sequence[FileUnit]:
        return [slot.unit for slot in self.slots]

    @cached_property
    def notes(self) -> Sequence[str]:
        """What else the user should know."""
        keys = [key for key in extra_keys(self.template, self.target) if _key(key).kind in _KINDS]
        return extra_keys_note([str(key) for key in keys], self.template.path)

    def filled(self, targets: Mapping[int, Filling]) -> bytes:
        """Return the file with these units filled in. A new file is the template, without untranslated resources."""
        check_targets(self, targets, self._check)
        chosen: dict[Hashable, list[tuple[AndroidSlot, str]]] = {}
        for index, filling in sorted(targets.items()):
            slot = self.slots[index]
            chosen.setdefault(slot.entry.key, []).append((slot, self._written(slot, filling.text)))
        if self.target is None:
            return self._new_file(chosen)
        return self.target.document.spliced(self._edits(self.target, chosen) if chosen else [])

    def _check(self, text: str, unit: FileUnit) -> None:
        check_characters(write_android(text, unit.syntax, "", self.path), self.path)

    def _written(self, slot: AndroidSlot, text: str) -> str:
        return write_android(text, slot.unit.syntax, self.template.document.raw(slot.pattern), self.path)

    def _new_file(self, chosen: Mapping[Hashable, _Texts]) -> bytes:
        document, new = self.template.document, {key: self._new_entry(texts) for key, texts in chosen.items()}
        locale, language = "tools:locale", self.languages[1]
        edits = list(new_file_edits(self.template, new))
        if language and locale in document.root.attributes:
            edits.append(document.set_attribute(document.root, locale, language.replace("-", "-r")))
        return document.spliced(edits)

    def _edits(self, target: AndroidFile, chosen: Mapping[Hashable, _Texts]) -> Iterator[Edit]:
        new, inside = {}, list[Edit]()
        for key, texts in chosen.items():
            element = target.element(key)
            if element is None:
                new[key] = self._new_entry(texts)
            else:
                inside += self._edits_inside(target.document, element, texts)
        edits = [*inside, *_inserted(target, list(insertions(self.template, target, new)))]
        return iter([*_declarations(self.template.document, target.document, edits), *edits])

    def _new_entry(self, texts: _Texts) -> bytes:
        """Return a resource of the template with these texts."""
        entry, document = texts[0][0].entry, self.template.document
        return _changed(document, entry.start, entry.end, self._new_resource(_element(entry), texts))

    def _new_resource(self, element: XmlElement, texts: _Texts) -> list[Edit]:
        document, quantities = self.template.document, self._quantities(element)
        items = _items(element)
        if element.name != PLURALS or quantities == [_quantity(item) for item in items]:
            return [document.set_inner(slot.pattern, text) for slot, text in texts]
        new = {slot.part: text for slot, text in texts}
        separator = _separator(document, items)
        lines = [_new_item(document, _pattern(items, one), one, new.get(one)) for one in quantities]
        return [Edit(items[0].start, items[-1].end, separator.join(lines))]

    def _edits_inside(self, document: XmlDocument, element: XmlElement, texts: _Texts) -> Iterator[Edit]:
        """Yield the edits of a resource that the target file has."""
        items = _items(element)
        if element.name != STRING and not items:
            source = _element(texts[0][0].entry)
            inner = _changed(
                self.template.document, source.inner_start, source.inner_end, self._new_resource(source, texts)
            )
            yield document.set_inner(element, inner.decode().replace("\r\n", "\n"))
            return
        yield from (document.set_inner(slot.target, text) for slot, text in texts if slot.target is not None)
        missing = {slot.part: text for slot, text in texts if slot.target is None}
        if missing and element.name == ARRAY:
            yield self._more_items(document, items, _items(_element(texts[0][0].entry)), missing)
        elif missing:
            yield from self._more_quantities(document, items, _items(_element(texts[0][0].entry)), missing)

    def _more_items(self, document: XmlDocument, items: Items, patterns: Items, missing: Mapping[str, str]) -> Edit:
        """Return the edit that adds items to an array, up to the last one that has a text."""
        separator, last = _separator(document, items), max(map(int, missing))
        lines = [
            separator + _new_item(self.template.document, patterns[index], "", missing.get(str(index)))
            for index in range(len(items), last + 1)
        ]
        return Edit(items[-1].end, items[-1].end, b"".join(lines))

    def _more_quantities(
        self, document: XmlDocument, items: Items, patterns: Items, missing: Mapping[str, str]
    ) -> Iterator[Edit]:
        """Yield the edits that add quantities to a plural, each after those that come before it."""
        separator = _separator(document, items)
        for quantity, text in missing.items():
            line = _new_item(self.template.document, _pattern(patterns, quantity), quantity, text)
            before = [item for item in items if _rank(_quantity(item)) < _rank(quantity)]
            if before:
                yield Edit(before[-1].end, before[-1].end, separator + line)
            else:
                yield Edit(items[0].start, items[0].start, line + separator)

    def _slots(self, entry: FileEntry) -> Iterator[AndroidSlot]:
        element = _element(entry)
        if element.name not in _KINDS:
            return
        target = self.target.element(entry.key) if self.target else None
        if element.name == STRING:
            yield self._slot(entry, "", element, target, {})
        elif element.name == ARRAY:
            targets = dict(enumerate(_items(target)))
            for index, item in enumerate(_items(element)):
                yield self._slot(entry, str(index), item, targets.get(index), {})
        else:
            by_quantity = {_quantity(item): item for item in _items(target)}
            for index, quantity in enumerate(self._quantities(element)):
                context: Fields = {"plural": index, "quantity": quantity}
                pattern = _pattern(_items(element), quantity)
                yield self._slot(entry, quantity, pattern, by_quantity.get(quantity), context)

    def _slot(
        self, entry: FileEntry, part: str, pattern: XmlElement, target: XmlElement | None, context: Fields
    ) -> AndroidSlot:
        syntax = XML if pattern.children or (target is not None and target.children) else PLAIN
        source = read_android(pattern, syntax)
        text = None if target is None else read_android(target, syntax)
        state = unit_state(source, text, may_be_missing=not part)
        locked = _element(entry).attributes.get("translatable") == "false" or is_reference(pattern)
        note: Fields = {"note": entry.note} if entry.note else {}
        name = f"{entry.key}[{part}]" if part else str(entry.key)
        unit = FileUnit(name, source, text or "", UnitState.LOCKED if locked else state, {**context, **note}, syntax)
        return AndroidSlot(entry, part, pattern, target, unit)

    def _quantities(self, element: XmlElement) -> list[str]:
        """Return the quantities of a plural in the target language; those of the template, if it is unknown."""
        items = _items(element)
        return (
            list(plural_categories(self.languages[1])) if items and self._knows_plurals else list(map(_quantity, items))
        )

    @cached_property
    def _knows_plurals(self) -> bool:
        return bool(plural_categories(self.languages[1]))


Items: TypeAlias = Sequence[XmlElement]
_Texts: TypeAlias = Sequence[tuple[AndroidSlot, str]]


def _entries(document: XmlDocument) -> Iterator[FileEntry]:
    utf8, position = document.utf8, document.root.inner_start
    for element in document.root.children:
        own = _COMMENTS.search(utf8[position : element.start])
        assert own is not None  # it also matches nothing
        rest = _LINE_REST.match(utf8, element.end)
        end = rest.end() if rest else element.end
        note = "\n".join(text.strip() for text in _COMMENT_TEXT.findall(own[0].decode()))
        yield FileEntry(_resource_key(element, document), position + own.start(), end, element.line, element, note)
        position = end


def _locale(file: AndroidFile | None) -> str:
    """Return the language that a file declares, "" if none."""
    tag = "" if file is None else file.document.root.attributes.get("tools:locale", "")
    return normalise_tag(tag.replace("-r", "-")) if is_tag(tag) else ""


def _resource_key(element: XmlElement, document: XmlDocument) -> ResourceKey:
    if element.name not in _KINDS:
        return ResourceKey(element.name, f"at {element.start}", "")
    name = element.attributes.get("name")
    if not name:
        raise InputError(f"<{element.tag}> has no name", path=document.path, line=element.line)
    return ResourceKey(element.name, name, element.attributes.get("product", ""))


def _key(key: Hashable) -> ResourceKey:
    assert isinstance(key, ResourceKey)
    return key


def _element(entry: FileEntry) -> XmlElement:
    element = entry.content
    assert isinstance(element, XmlElement)
    return element


def _items(element: XmlElement | None) -> list[XmlElement]:
    return [] if element is None else [child for child in element.children if child.name == "item"]


def _quantity(item: XmlElement) -> str:
    return item.attributes.get("quantity", "")


def _rank(quantity: str) -> int:
    return CATEGORIES.index(quantity) if quantity in CATEGORIES else len(CATEGORIES)


def _pattern(items: Items, quantity: str) -> XmlElement:
    """Return the item of the template for a quantity: the same one, else "other", else the last."""
    by_quantity = {_quantity(item): item for item in items}
    return by_quantity.get(quantity) or by_quantity.get("other") or items[-1]


def _new_item(document: XmlDocument, pattern: XmlElement, quantity: str, text: str | None) -> bytes:
    """Return an item of the template with another quantity and another text, if there is one."""
    edits = [document.set_attribute(pattern, "quantity", quantity)] if quantity else []
    edits += [] if text is None else [document.set_inner(pattern, text)]
    return _changed(document, pattern.start, pattern.end, edits)


def _changed(document: XmlDocument, start: int, end: int, edits: Sequence[Edit]) -> bytes:
    """Return a part of a document with the edits made."""
    moved = [Edit(edit.start - start, edit.end - start, edit.new) for edit in edits]
    return splice(document.utf8[start:end], moved)


def _separator(document: XmlDocument, items: Items) -> bytes:
    """Return what stands between two items, comments left out."""
    between = document.utf8[items[0].end : items[1].start] if len(items) > 1 else b"<"
    if between.strip():
        return document.indentation(items[0]).replace("\n", document.newline).encode()
    return between


def _inserted(target: AndroidFile, edits: Sequence[Edit]) -> Sequence[Edit]:
    """Return the edits for `<resources/>` too, which has no place for them yet."""
    root = target.document.root
    if not edits or root.inner_start != root.end:
        return edits
    inner = b"".join(edit.new for edit in edits).decode().replace("\r\n", "\n")
    return [target.document.set_inner(root, inner if inner.startswith("\n") else f"\n{inner}")]


def _declarations(template: XmlDocument, target: XmlDocument, edits: Sequence[Edit]) -> Iterator[Edit]:
    """Yield the edits that declare the prefixes of namespaces which only the template declares."""
    used = {f"xmlns:{found.decode()}" for edit in edits for found in _PREFIX.findall(edit.new)}
    for name in sorted(used & template.root.attributes.keys() - target.root.attributes.keys()):
        yield target.set_attribute(target.root, name, template.root.attributes[name])


def _line_start(utf8: bytes, position: int) -> int:
    """Return the start of the line, if only white space stands before this position in it; else the position."""
    start = utf8.rfind(b"\n", 0, position) + 1
    return start if start and not utf8[start:position].strip() else position
