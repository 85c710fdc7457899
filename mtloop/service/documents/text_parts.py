"""A text in parts: what is translated, and the placeholders and tags that stay as they are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from mtloop.text.protected.placeholders import find_placeholders
from mtloop.text.protected.tags import find_tags
from mtloop.text.text_unit import Syntax

TEXT, PLACEHOLDER, TAG = "text", "placeholder", "tag"
_CHARACTER = re.compile(r"&(?:amp|lt|gt|quot|apos|#\d+|#x[0-9A-Fa-f]+);")  # in XML it is a letter, no placeholder

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
