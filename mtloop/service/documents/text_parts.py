"""A text in parts: what is translated, and the placeholders and tags that stay as they are."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from mtloop.text.protected.placeholders import find_placeholders
from mtloop.text.protected.tags import find_tags
from mtloop.text.text_unit import Syntax, TextUnit

TEXT, PLACEHOLDER, TAG = "text", "placeholder", "tag"
_CHARACTER = re.compile(r"&(?:amp|lt|gt|quot|apos|#\d+|#x[0-9A-Fa-f]+);")  # in XML it is a letter, no placeholder

_ENTITY = re.compile(r"&#?\w+;")
_PERCENT = re.compile(r"\d+(?=%%$)")  # a number before %% is text: German has a space between them


def parts_of(text: str, syntax: str, source: str | None = None) -> list[dict[str, Any]]:
    """The parts of a text in order; their texts together are the text.

    A placeholder or tag has an id: its number in the source. In a translation, it is that of the equal one in the
    source; None if the source has none, or no more.

    >>> [part["text"] for part in parts_of("Send <b>{name}</b> away", "plain")]
    ['Send ', '<b>', '{name}', '</b>', ' away']
    >>> [part["text"] for part in parts_of("100%% of %s", "plain")]
    ['100', '%%', ' of ', '%s']
    >>> [part["id"] for part in parts_of("{name} %s {name}", "plain", "Send {name}")]
    [1, None, None, None, None]
    """
    spans = list(_spans(text, syntax))
    numbers = _numbers(text if source is None else source, syntax)
    parts, end = list[dict[str, Any]](), 0
    for start, stop, kind in spans:
        parts += _plain(text[end:start])
        raw = text[start:stop]
        parts.append({"text": raw, "kind": kind, "id": numbers[raw].pop(0) if numbers.get(raw) else None})
        end = stop
    return [*parts, *_plain(text[end:])]


def missing_parts(source: str, translation: str, syntax: str) -> list[str]:
    """The placeholders and tags of a source that a translation lacks, in the order of the source.

    The branches of an ICU message may differ: what occurs in one of them is there.

    >>> missing_parts("Progress: %d%% of <b>{name}</b>", "Fortschritt: %% von <b>{name}</b>", "plain")
    ['%d']
    >>> missing_parts("{name} and {name}", "{name}", "plain")
    ['{name}']
    """
    wanted, found = (Counter(_protected(text, syntax)) for text in (source, translation))
    message = TextUnit.of(source, syntax).message
    if message is not None and message.arguments:
        return [part for part in wanted if part not in found]
    return list((wanted - found).elements())


def _protected(text: str, syntax: str) -> Iterator[str]:
    """Yield placeholders and tags. An entity is a character, which another language may write in another way."""
    for start, end, _ in _spans(text, syntax):
        if not _ENTITY.fullmatch(text, start, end):
            yield text[start:end]


def _plain(text: str) -> list[dict[str, Any]]:
    return [{"text": text, "kind": TEXT, "id": None}] if text else []


def _numbers(source: str, syntax: str) -> dict[str, list[int]]:
    """The numbers of what is protected in the source, from 1, by its text."""
    numbers = dict[str, list[int]]()
    for number, (start, stop, _) in enumerate(_spans(source, syntax), start=1):
        numbers.setdefault(source[start:stop], []).append(number)
    return numbers


def _spans(text: str, syntax: str) -> Iterator[tuple[int, int, str]]:
    """Where tags and placeholders stand, from left to right."""
    is_xml, position = syntax == Syntax.XML, 0
    for tag in find_tags(text, xml=is_xml):
        yield from _placeholders(text, position, tag.start, is_xml)
        yield tag.start, tag.end, TAG
        position = tag.end
    yield from _placeholders(text, position, len(text), is_xml)


def _placeholders(text: str, start: int, end: int, is_xml: bool) -> Iterator[tuple[int, int, str]]:
    for low, high in find_placeholders(text[start:end]):
        number = _PERCENT.match(text, start + low, start + high)
        if not (is_xml and _CHARACTER.fullmatch(text[start + low : start + high])):
            yield number.end() if number else start + low, start + high, PLACEHOLDER
