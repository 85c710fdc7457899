"""What is wrong with the text of a unit, and what of it forbids to confirm the text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

from mtloop.text.messages import join_names
from mtloop.text.protected.format_strings import fit_formats
from mtloop.text.protected.tags import find_tags
from mtloop.text.text_unit import Syntax
from mtloop.translation.quality_checks import SERIOUS, FailedCheck, failed_checks, xml_error

MAX_CHECKED = 20_000  # characters of a text that is checked
MAX_MESSAGE = 300
NEVER = ("empty", "XML")  # not even with `force`


class HasSource(Protocol):
    """A unit of a file, or its row in the database."""

    @property
    def source(self) -> str: ...

    @property
    def syntax(self) -> str: ...

    @property
    def context(self) -> Mapping[str, Any]: ...


@dataclass(frozen=True)
class TextRules:
    """What the text of a unit is checked against. `flags` are those of gettext, such as `c-format`."""

    source: str
    syntax: str = "plain"
    language: str = ""
    flags: tuple[str, ...] = ()

    @classmethod
    def of(cls, unit: HasSource, language: str) -> TextRules:
        """The rules of a unit. `language` is that of its translation."""
        return cls(unit.source, unit.syntax, language, tuple(unit.context.get("flags", ())))

    def fitted(self, translation: str) -> str:
        """A translation by the engine, with percent signs and braces as the program of the file needs them."""
        return fit_formats(self.source, translation, self.flags)


def checks_of(rules: TextRules, text: str) -> list[dict[str, Any]]:
    """The checks that a text fails, as JSON. A text that is not there fails none."""
    if not text or _is_long(rules.source, text):
        return []
    return [check_json(one) for one in _failed(rules, text)]


def _is_long(source: str, text: str) -> bool:
    return max(len(source), len(text)) > MAX_CHECKED


@lru_cache(maxsize=128)
def _failed(rules: TextRules, text: str) -> tuple[FailedCheck, ...]:
    """The checks that a text fails. Routes compute them in a thread; the transaction that follows finds them here.

    On SQLite all who write wait for a transaction, and the checks of a long text take a while.
    """
    return failed_checks(rules.source, text, syntax=rules.syntax, target_lang=rules.language, flags=rules.flags)


def forget_checks() -> None:
    """Forget the texts that were checked last: something was deleted."""
    _failed.cache_clear()


def check_json(failed: FailedCheck) -> dict[str, Any]:
    return {"name": failed.name, "message": failed.message[:MAX_MESSAGE], "serious": failed.name in SERIOUS}


def objection(rules: TextRules, text: str) -> tuple[str, bool]:
    """Why a text should not be confirmed, empty if it may; and whether a person may insist on it.

    >>> objection(TextRules("Delete {name}?", "plain", "de"), "Löschen?")
    ('placeholders: {name} is missing', True)
    >>> objection(TextRules("Delete <g id='1'>it</g>", "xml", "de"), "<g id='1'>Löschen")
    ('tags: </g> is missing', False)
    """
    source, syntax = rules.source, rules.syntax
    if added := _added_elements(source, text, syntax):
        return f"tags: {join_names(added)[:MAX_MESSAGE]} not in the source", False
    if _is_long(source, text):
        found = _objection_to_long(text, syntax)
        return found, not found
    failed = [one for one in _failed(rules, text) if one.name in SERIOUS]
    if not failed:
        return "", True
    return str(failed[0])[:MAX_MESSAGE], not any(one.name in NEVER for one in failed)


def _objection_to_long(text: str, syntax: str) -> str:
    """Why a long text may not even be confirmed with `force`. To look for everything else would take seconds."""
    if not text.strip():
        return "empty: translation is empty"
    error = xml_error(text) if syntax == Syntax.XML else ""
    return f"XML: not well-formed: {error}" if error else ""


def _added_elements(source: str, text: str, syntax: str) -> list[str]:
    """Elements of the XML file that the source lacks: the file would not be valid any more."""
    if syntax != Syntax.XML:
        return []
    return list((_elements(text) - _elements(source)).elements())


def _elements(text: str) -> Counter[str]:
    tags = (text[tag.start : tag.end] for tag in find_tags(text, xml=True))
    return Counter(tag for tag in tags if tag.startswith("<"))  # others are markup in a text: &lt;b&gt;
