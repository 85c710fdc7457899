"""JSON files with texts, filled in with a template: flat and nested keys, lists, plurals of i18next, ARB.

A target file keeps its bytes; missing members are inserted where the template has them, laid out like their neighbours.
A new target file is the template with the translations, without the texts that have none. A list is complete: where
there is no translation, the text of the source language stands.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar, NamedTuple, TypeAlias

from mtloop.core.errors import InputError
from mtloop.core.types import Fields
from mtloop.data.formats.filling import BilingualFile, FileUnit, Filling, OpenRequest, UnitState, check_targets
from mtloop.data.formats.json_layout import JsonLayout, JsonMember, JsonValue, relaid, written
from mtloop.data.formats.json_messages import JsonMessages, JsonSlot
from mtloop.data.formats.monolingual import (
    existing_content,
    extra_keys_note,
    pair_languages,
    template_content,
    template_path,
    unit_state,
)
from mtloop.data.formats.unit_groups import with_unique_ids

JsonPath: TypeAlias = tuple[str | int, ...]
_LOCALE = "@@locale"


def open_json(request: OpenRequest) -> BilingualFile:
    """Open a JSON file with its template."""
    template = JsonLayout.parse(template_content(request), template_path(request))
    content = existing_content(request)
    target = None if content is None else JsonLayout.parse(content, request.path)
    languages = pair_languages(request, (_locale(template), _locale(target)))
    if target is not None and target.root.brackets != template.root.brackets:
        raise InputError("expected an object or a list at the root, as in the template", path=request.path, line=1)
    return FillableJson(request.path, template, target, languages)


@dataclass(frozen=True)
class FillableJson:
    """A JSON file to be filled in. The format has no mark for review."""

    path: Path
    template: JsonLayout
    target: JsonLayout | None
    languages: tuple[str, str]
    marks_review: ClassVar[bool] = False

    @cached_property
    def messages(self) -> JsonMessages:
        """The rules that say which members are texts."""
        return JsonMessages.of(self.template.root, self.languages)

    @cached_property
    def units(self) -> Sequence[FileUnit]:
        return list(with_unique_ids(self._by_path.values()))

    @cached_property
    def notes(self) -> Sequence[str]:
        """What else the user should know."""
        extra = self._extra(self.template.root, self.target.root, ()) if self.target else []
        return extra_keys_note(list(map(_dotted, extra)), self.template.path)

    def filled(self, targets: Mapping[int, Filling]) -> bytes:
        """Return the file with these units filled in. A new file is the template, without untranslated texts."""
        check_targets(self, targets)
        paths, layouts = list(self._by_path), [self.target, self.template] if self.target else [self.template]
        texts = {paths[index]: written(filling.text, layouts) for index, filling in targets.items()}
        if self.target is None:
            return self.template.encoded(self._filler(texts | self._new_locale()).new_file())
        edits = self._filler(texts).edits(self.target) if texts else []
        return self.target.encoded(_spliced(self.target.text, edits))

    def _filler(self, texts: Mapping[JsonPath, str]) -> _Filler:
        open_paths = [path for path, unit in self._by_path.items() if unit.state is not UnitState.LOCKED]
        return _Filler(self.template, self.messages, texts, _with_parents(texts), _with_parents(open_paths))

    def _new_locale(self) -> dict[JsonPath, str]:
        """Return the locale of a new ARB file, spelled as in the template: "pt_BR" or "pt-BR"."""
        old = _locale(self.template)
        separator = "-" if "-" in old else "_"
        return {(_LOCALE,): f'"{self.languages[1].replace("-", separator)}"'} if old and self.languages[1] else {}

    @cached_property
    def _by_path(self) -> dict[JsonPath, FileUnit]:
        return dict(self._units(self.template.root, self.target.root if self.target else None, ()))

    def _units(
        self, container: JsonValue, target: JsonValue | None, path: JsonPath
    ) -> Iterator[tuple[JsonPath, FileUnit]]:
        for slot in self.messages.slots(container, len(path)):
            own, value = (*path, slot.key), slot.pattern.value
            found = target.member(slot.key) if target else None
            if slot.is_text and (value.brackets or value.text is not None):
                self._check_kind(value, found, own)
                if value.brackets:
                    yield from self._units(value, found.value if found else None, own)
                else:
                    yield own, _unit(own, value.text or "", found.value.text if found else None, slot.context)

    def _check_kind(self, value: JsonValue, found: JsonMember | None, path: JsonPath) -> None:
        if self.target is None or found is None or found.value.brackets == value.brackets:
            return
        line = self.target.text.count("\n", 0, found.start) + 1
        expected = {"{}": "an object", "[]": "a list"}.get(value.brackets, "a text")
        message = f"{_dotted(path)!r:.80} is not {expected}, as it is in {self.template.path}"
        raise InputError(message, path=self.path, line=line)

    def _extra(self, container: JsonValue, target: JsonValue, path: JsonPath) -> Iterator[JsonPath]:
        """Yield the paths of members that only the target file has."""
        slots = {slot.key: slot.pattern.value for slot in self.messages.slots(container, len(path))}
        for member in target.members:
            if member.key in slots:
                yield from self._extra(slots[member.key], member.value, (*path, member.key))
            elif not str(member.key).startswith("@"):
                yield (*path, member.key)


class _TextEdit(NamedTuple):
    start: int
    end: int
    new: str


@dataclass(frozen=True)
class _Filler:
    """The texts of units, by their paths, as JSON strings, and how they come into a file.

    `filled` are the paths of these texts and of all containers around them, `open` those of all units.
    """

    template: JsonLayout
    messages: JsonMessages
    texts: Mapping[JsonPath, str]
    filled: Set[JsonPath]
    open: Set[JsonPath]

    def new_file(self) -> str:
        """Return the template with the texts."""
        root, text = self.template.root, self.template.text
        return text[: root.start] + self._container(root, ()) + text[root.end :]

    def edits(self, target: JsonLayout) -> Iterator[_TextEdit]:
        """Return the edits of a target file."""
        return self._edits(self.template.root, target.root, (), target)

    def _value(self, value: JsonValue, path: JsonPath) -> str | None:
        """Return a value of the template with the texts, None if it has units and no text for any of them."""
        if path in self.texts:
            return self.texts[path]
        if path in self.filled:
            return self._container(value, path)
        return self.template.raw(value) if path not in self.open or isinstance(path[-1], int) else None

    def _container(self, container: JsonValue, path: JsonPath) -> str:
        if not container.members:
            return self.template.raw(container)
        pieces = list[str]()
        for slot in self.messages.slots(container, len(path)):
            raw = self._value(slot.pattern.value, (*path, slot.key))
            if raw is not None:
                gap = self.template.separator_before(container, slot.pattern)
                pieces += [gap if pieces else self.template.first_gap(container), self._key(slot), raw]
        content = "".join(pieces) + self.template.last_gap(container)
        return container.brackets[0] + content + container.brackets[1]

    def _key(self, slot: JsonSlot, colon: str | None = None) -> str:
        """Return the key of a member and the colon, "" for a member of a list."""
        if isinstance(slot.key, int):
            return ""
        own = self.template.colon(slot.pattern)
        if slot.key != slot.pattern.key:
            return written(slot.key, [self.template]) + (colon or own)
        return self.template.text[slot.pattern.start : slot.pattern.value.start - len(own)] + (colon or own)

    def _edits(self, container: JsonValue, found: JsonValue, path: JsonPath, target: JsonLayout) -> Iterator[_TextEdit]:
        missing, before = list[tuple[JsonMember | None, str]](), None
        for slot in self._needed(container, found, path):
            own, member = (*path, slot.key), found.member(slot.key)
            if member is None:
                missing.append((before, self._new_member(slot, own, found, target)))
                continue
            before = member
            if own in self.texts:
                yield _TextEdit(member.value.start, member.value.end, self.texts[own])
            elif own in self.filled:
                yield from self._edits(slot.pattern.value, member.value, own, target)
        yield from self._insertions(missing, container, found, target)

    def _needed(self, container: JsonValue, found: JsonValue, path: JsonPath) -> Sequence[JsonSlot]:
        """Return the members that the target file has or gets. In a list, these are all up to the last new text."""
        slots = self.messages.slots(container, len(path))
        filled = [number for number, slot in enumerate(slots) if (*path, slot.key) in self.filled]
        if container.brackets == "[]":
            return slots[: filled[-1] + 1]
        return [slot for slot in slots if (*path, slot.key) in self.filled or found.member(slot.key)]

    def _new_member(self, slot: JsonSlot, path: JsonPath, found: JsonValue, target: JsonLayout) -> str:
        raw = self._value(slot.pattern.value, path)
        assert raw is not None
        colon = target.colon(found.members[0]) if found.members and found.brackets == "{}" else None
        return self._key(slot, colon) + relaid(raw, self.template, target)

    def _insertions(
        self,
        missing: Sequence[tuple[JsonMember | None, str]],
        container: JsonValue,
        found: JsonValue,
        target: JsonLayout,
    ) -> Iterator[_TextEdit]:
        if missing and not found.members:
            yield self._first_members([new for _, new in missing], container, found, target)
            return
        separator = target.separator(found)
        for before, new in missing:
            if before is None:
                start = found.members[0].start
                yield _TextEdit(start, start, new + separator)
            else:
                yield _TextEdit(before.value.end, before.value.end, separator + new)

    def _first_members(
        self, new: Sequence[str], container: JsonValue, found: JsonValue, target: JsonLayout
    ) -> _TextEdit:
        """Return the edit that fills an empty object or list, laid out as in the template."""
        gaps = self.template.first_gap(container), self.template.separator(container), self.template.last_gap(container)
        first, separator, last = (relaid(gap, self.template, target) for gap in gaps)
        return _TextEdit(found.start + 1, found.end - 1, first + separator.join(new) + last)


def _unit(path: JsonPath, source: str, target: str | None, context: Fields) -> FileUnit:
    state = unit_state(source, target, may_be_missing=not any(isinstance(key, int) for key in path))
    return FileUnit(_dotted(path), source, target or "", state, context)


def _with_parents(paths: Iterable[JsonPath]) -> set[JsonPath]:
    return {path[:length] for path in paths for length in range(len(path) + 1)}


def _dotted(path: JsonPath) -> str:
    return ".".join(map(str, path))


def _locale(layout: JsonLayout | None) -> str:
    member = layout.root.member(_LOCALE) if layout else None
    return (member.value.text or "") if member else ""


def _spliced(text: str, edits: Iterable[_TextEdit]) -> str:
    pieces, end = [], 0
    for edit in sorted(edits, key=lambda edit: edit[:2]):
        pieces += [text[end : edit.start], edit.new]
        end = edit.end
    return "".join([*pieces, text[end:]])
