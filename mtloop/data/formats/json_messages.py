"""Which members of a JSON file are texts to translate: plurals of i18next, and keys that are not texts.

Not texts are the keys of ARB files that begin with `@`, and, in the files of browser extensions and of FormatJS, all
members of a message but `message` (`defaultMessage`). So it is in lists of entries: `{"id": ..., "translation": ...}`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field

from mtloop.core.types import Fields
from mtloop.data.formats.json_layout import JsonMember, JsonValue
from mtloop.data.plural_categories import CATEGORIES, plural_categories

_PLURAL = re.compile(rf"(?P<stem>.+?)_(?P<category>{'|'.join(CATEGORIES)})", re.DOTALL)
_MESSAGE_KEYS = ("message", "defaultMessage")
_MESSAGE_FIELDS = frozenset({*_MESSAGE_KEYS, "description", "placeholders", "id", "hash"})
_ENTRY_NAMES = frozenset({"id", "key"})
_ENTRY_TEXTS = ("translation", "value", "message")  # the first one with a text is translated
_ENTRY_FIELDS = _ENTRY_NAMES | _MESSAGE_FIELDS | {*_ENTRY_TEXTS, "comment", "translatorComment", "context", "fuzzy"}
_ENTRY_FIELDS |= {"meaning", "position"}


@dataclass(frozen=True, slots=True)
class JsonSlot:
    """A member that the target file should have: its key, and the member of the template with its source."""

    key: str | int
    pattern: JsonMember
    is_text: bool = True
    context: Fields = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class JsonMessages:
    """The rules for a pair of languages, and for the kind of file."""

    languages: tuple[str, str]
    message_key: str = ""
    """The member of each object at the root that has the text, such as "message"; "": each string is a text."""

    @classmethod
    def of(cls, root: JsonValue, languages: tuple[str, str]) -> JsonMessages:
        """Find out whether the objects at the root are messages with descriptions."""
        for key in _MESSAGE_KEYS:
            if root.members and all(_is_message(member.value, key) for member in root.members):
                return cls(languages, key)
        return cls(languages)

    def slots(self, container: JsonValue, depth: int) -> list[JsonSlot]:
        """Return the members that the target file should have in a container, in the order of the template."""
        if container.brackets == "[]":
            return [JsonSlot(member.key, member) for member in container.members]
        plurals = self._plurals(container) if not self.message_key else {}
        kept = _not_texts(container)
        return [slot for member in container.members for slot in self._slots(container, member, depth, plurals, kept)]

    def _slots(
        self,
        container: JsonValue,
        member: JsonMember,
        depth: int,
        plurals: Mapping[str, Sequence[JsonMember]],
        kept: Set[str],
    ) -> Iterator[JsonSlot]:
        key = str(member.key)
        found = _PLURAL.fullmatch(key)
        if found and found["stem"] in plurals:
            if plurals[found["stem"]][0] is member:
                yield from self._plural_slots(found["stem"], plurals[found["stem"]])
        elif self.message_key and depth:
            yield JsonSlot(key, member, depth == 1 and key == self.message_key, _description(container, "description"))
        else:
            yield JsonSlot(key, member, not key.startswith("@") and key not in kept, _arb_note(container, key))

    def _plurals(self, container: JsonValue) -> dict[str, Sequence[JsonMember]]:
        """Return the members of each plural, by the part of their keys before the category."""
        groups: dict[str, list[JsonMember]] = {}
        for member in container.members:
            found = _PLURAL.fullmatch(str(member.key))
            if found and member.value.text is not None:
                groups.setdefault(found["stem"], []).append(member)
        return {stem: members for stem, members in groups.items() if self._is_plural(stem, members)}

    def _is_plural(self, stem: str, members: Sequence[JsonMember]) -> bool:
        """Whether keys that end in a category are a plural: they have the categories of the source language.

        The category "zero" may be added in every language. A single key must have the number in its text.
        """
        found = {_category(member) for member in members}
        expected = set(plural_categories(self.languages[0])) or found
        counts = any("count" in (member.value.text or "") for member in members)
        return "other" in found and found - {"zero"} == expected - {"zero"} and (len(found) > 1 or counts)

    def _plural_slots(self, stem: str, members: Sequence[JsonMember]) -> Iterator[JsonSlot]:
        by_category = {_category(member): member for member in members}
        wanted = set(plural_categories(self.languages[1])) or set(by_category)
        wanted |= {"zero"} & set(by_category)
        for index, category in enumerate(name for name in CATEGORIES if name in wanted):
            pattern = by_category.get(category, by_category["other"])
            yield JsonSlot(f"{stem}_{category}", pattern, True, {"plural": index, "quantity": category})


def _category(member: JsonMember) -> str:
    return str(member.key).rpartition("_")[2]


def _is_message(value: JsonValue, key: str) -> bool:
    keys = {str(member.key) for member in value.members}
    text = value.member(key) if value.brackets == "{}" else None
    return text is not None and text.value.text is not None and keys <= _MESSAGE_FIELDS


def _not_texts(container: JsonValue) -> frozenset[str]:
    """Return the members that are not translated in an entry such as `{"id": ..., "translation": ...}` of go-i18n."""
    keys = frozenset(str(member.key) for member in container.members)
    if not keys & _ENTRY_NAMES or not keys <= _ENTRY_FIELDS:
        return frozenset({"hash"}) if {"hash", "other"} <= keys else frozenset()
    members = ((name, container.member(name)) for name in _ENTRY_TEXTS)
    text = next((name for name, member in members if member and (member.value.text or member.value.brackets)), None)
    return keys - {text} if text else frozenset()


def _arb_note(container: JsonValue, key: str) -> Fields:
    about = container.member(f"@{key}")
    return _description(about.value, "description") if about and about.value.brackets == "{}" else {}


def _description(container: JsonValue, key: str) -> Fields:
    member = container.member(key)
    return {"note": member.value.text} if member and member.value.text else {}
