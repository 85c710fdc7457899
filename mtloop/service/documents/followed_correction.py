"""Which correction of the log a unit follows.

Any program may confirm a text under the external id of a unit: through any API, or in a file that it imports. The text
may belong to another source, and the file may not be able to hold it.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from mtloop.service.documents.failed_texts import TextRules, objection
from mtloop.service.documents.models import LOCKED
from mtloop.service.project_log.event_log import Confirmed
from mtloop.text.text_unit import Syntax

MARKS = "<&"  # they begin what only some syntaxes read as markup


@dataclass(frozen=True)
class FollowingUnit:
    """A unit that may follow corrections. `correction` is the number of the one that it follows now.

    `flags` are those of gettext, such as `c-format`.
    """

    source: str
    syntax: str
    state: str
    correction: int | None
    flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class FollowedCorrection:
    """The number and the text of the correction that a unit follows; None: none.

    `draft` is the text of a newer one that a person has to look at.
    """

    number: int | None = None
    text: str = ""
    draft: str | None = None

    @classmethod
    def choose(
        cls, unit: FollowingUnit, standing: Sequence[tuple[int, Confirmed]], language: str
    ) -> FollowedCorrection:
        """The first of these corrections that fits the unit. `language` is that of the translations."""
        draft: str | None = None
        for number, event in standing if unit.state != LOCKED else ():
            text = _text_for(unit, event)
            if text is None or not text.strip():
                continue
            if text == event.translation and (number == unit.correction or _is_acceptable(unit, event, language)):
                return cls(number, text, draft)
            draft = text if draft is None else draft
        return cls(draft=draft)


def _is_acceptable(unit: FollowingUnit, event: Confirmed, language: str) -> bool:
    rules = TextRules(unit.source, unit.syntax, language, unit.flags)
    found, may_insist = objection(rules, event.translation)
    return not found or (may_insist and event.insisted)


def _text_for(unit: FollowingUnit, event: Confirmed) -> str | None:
    """The translation of a correction, as the file writes it. None: it is that of another source.

    The source counts as the file writes it, or in the syntax of the correction. Other tools may change white space.
    """
    if _words(event.source) == _words(unit.source) and not _has_new_marks(event):
        return event.translation
    source, text = (_rewritten(one, event.syntax, unit.syntax) for one in (event.source, event.translation))
    return text if _words(unit.source) in (_words(source), _words(event.source)) else None


def _words(text: str) -> list[str]:
    return text.split()


def _has_new_marks(event: Confirmed) -> bool:
    """Whether the translation has characters that may be markup, and its source does not say how they are written."""
    return any(mark in event.translation and mark not in event.source for mark in MARKS)


def _rewritten(text: str, syntax: str, wanted: str) -> str:
    """A text in another syntax.

    >>> _rewritten("Salz &amp; Pfeffer", "html", "plain"), _rewritten("Salz & Pfeffer", "plain", "xml")
    ('Salz & Pfeffer', 'Salz &amp; Pfeffer')
    """
    if Syntax.PLAIN not in (syntax, wanted) or syntax == wanted:
        return text
    return html.unescape(text) if wanted == Syntax.PLAIN else escape(text)
