"""What is wrong with the text of a unit, and what of it forbids to confirm the text."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import Any

from mtloop.text.messages import join_names
from mtloop.text.protected.tags import find_tags
from mtloop.text.text_unit import Syntax
from mtloop.translation.quality_checks import SERIOUS, FailedCheck, failed_checks, xml_error

MAX_CHECKED = 20_000  # characters of a text that is checked
MAX_MESSAGE = 300
NEVER = ("empty", "XML")  # not even with `force`


def checks_of(source: str, text: str, syntax: str, target_lang: str) -> list[dict[str, Any]]:
    """The checks that a text fails, as JSON. A text that is not there fails none."""
    if not text or _is_long(source, text):
        return []
    return [check_json(one) for one in _failed(source, text, syntax, target_lang)]


def _is_long(source: str, text: str) -> bool:
    return max(len(source), len(text)) > MAX_CHECKED


@lru_cache(maxsize=128)
def _failed(source: str, text: str, syntax: str, target_lang: str) -> tuple[FailedCheck, ...]:
    """The checks that a text fails. Routes compute them in a thread; the transaction that follows finds them here.

    On SQLite all who write wait for a transaction, and the checks of a long text take a while.
    """
    return failed_checks(source, text, syntax=syntax, target_lang=target_lang)


def forget_checks() -> None:
    """Forget the texts that were checked last: something was deleted."""
    _failed.cache_clear()


def check_json(failed: FailedCheck) -> dict[str, Any]:
    return {"name": failed.name, "message": failed.message[:MAX_MESSAGE], "serious": failed.name in SERIOUS}


def objection(source: str, text: str, syntax: str, target_lang: str) -> tuple[str, bool]:
    """Why a text should not be confirmed, empty if it may; and whether a person may insist on it.

    >>> objection("Delete {name}?", "Löschen?", "plain", "de")
    ('placeholders: {name} is missing', True)
    >>> objection("Delete <g id='1'>it</g>", "<g id='1'>Löschen", "xml", "de")
    ('tags: </g> is missing', False)
    """
    if added := _added_elements(source, text, syntax):
        return f"tags: {join_names(added)[:MAX_MESSAGE]} not in the source", False
    if _is_long(source, text):
        found = _objection_to_long(text, syntax)
        return found, not found
    failed = [one for one in _failed(source, text, syntax, target_lang) if one.name in SERIOUS]
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
