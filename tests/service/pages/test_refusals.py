"""Why the service refused something, as the pages say it."""

from __future__ import annotations

import inspect
import re

import pytest

from mtloop.service import problems
from mtloop.service.documents.failed_texts import TextRules, objection
from mtloop.service.pages.page_texts import LANGUAGES, messages, refusals
from mtloop.service.problems import Problem, invalid_request, protected_text, too_many, too_much_text
from mtloop.service.project_log.correction_store import BY_REVIEWER
from mtloop.service.projects.confirmation_rules import REASONS
from mtloop.translation import quality_checks
from mtloop.translation.answers import REJECTIONS
from mtloop.translation.quality_checks import TOOLKIT_CHECKS

SHOWN = (
    "UNKNOWN_PROJECT UNKNOWN_DOCUMENT UNKNOWN_PARTICIPANT ROLE_TOO_WEAK NOT_ALLOWED_HERE PROJECT_EXISTS LAST_ORGANISER "
    "NO_MORE_PROJECTS NO_MORE_CORRECTIONS NO_MORE_DOCUMENTS UNIT_CHANGED UNIT_LOCKED UNIT_NOT_CONFIRMED "
    "NO_CORRECTIONS TOO_MANY_UPLOADS TOO_LARGE INTERNAL_ERROR DATABASE_UNAVAILABLE ENGINE_UNAVAILABLE"
)
OBJECTIONS = [
    ("Delete {name}?", "Löschen?", "plain"),
    ("Delete {name} {day}?", "Löschen?", "plain"),
    ("Delete?", "%s löschen?", "plain"),
    ("Delete?", "%s %d löschen?", "plain"),
    ("Save", "Speichern</g>", "xml"),
    ('Press <x id="1"/>', '<x id="1"/> & drücken', "xml"),
    ('<g id="1">Save</g>', '</g>Speichern<g id="1">', "xml"),
    ("Save", " ", "plain"),
    ("Read <b>it</b> now", "Lies </b>es jetzt<b>", "plain"),
    ("%d percent used", "%d % belegt", "plain"),
    ("%d percent used", "%d % frei", "plain"),
]
GLOSSARY = ("a term needs a text in both languages, found '' and 'Fach'", "at most 10,000 terms")


def pattern(sentence: str) -> str:
    """The pattern that `refusals.js` makes of a sentence."""
    parts = re.split(r"\{(\w+)\}", sentence)
    return "".join(f"(?P<{part}>.+)" if number % 2 else re.escape(part) for number, part in enumerate(parts))


def shown(said: str, language: str) -> str:
    for sentence, text in refusals(language):
        if found := re.fullmatch(pattern(sentence), said, re.DOTALL):
            values = found.groupdict()
            return text.format(**values | {"reason": shown(values.get("reason", ""), language)})
    return said


def sentences() -> list[str]:
    """What the API says when it refuses what somebody does at the workbench."""
    fixed: list[Problem] = [getattr(problems, name) for name in SHOWN.split()]
    made = [too_many(1), too_many(20), too_much_text(90_000, 50_000)]
    made += [protected_text(*_objection(*texts)) for texts in OBJECTIONS]
    made += [invalid_request(f"glossary: {one}") for one in GLOSSARY]
    return [*(one.detail for one in (*fixed, *made)), *REASONS.values(), *REJECTIONS.values(), BY_REVIEWER]


def _objection(source: str, text: str, syntax: str) -> tuple[str, bool]:
    flags = ("c-format",) if "percent" in source else ()
    return objection(TextRules(source, syntax, "de", flags), text)


@pytest.mark.parametrize("said", sentences())
def test_refusals_are_shown_in_the_language_of_the_page(said: str) -> None:
    english, german = shown(said, "en"), shown(said, "de")
    assert german not in (said, english)
    for text in (english, german):
        assert "GET /v1" not in text
        assert "force" not in text
        assert "XML:" not in text
        assert "task" not in text
    assert not re.search(r"\b(?:the|is|not|of|this|are)\b", german)


def test_every_sentence_has_a_text_with_the_same_values() -> None:
    said = messages("refusals", "api").texts
    for language in LANGUAGES:
        texts = messages("refusals", language).texts
        assert list(texts) == list(said)
        for key, text in texts.items():
            assert set(re.findall(r"\{\w+\}", text)) <= set(re.findall(r"\{\w+\}", said[key])), key


def test_every_check_has_a_text_in_both_languages() -> None:
    """The workbench shows it beside the segment; the message of the check is English."""
    named = re.findall(r'(?:FailedCheck|_differences)\("([^"]+)"', inspect.getsource(quality_checks))
    checks = {quality_checks.FORMAT, *TOOLKIT_CHECKS, *named}
    assert {"characters", "spaces at the ends", "tags", "XML"} <= checks
    for language in LANGUAGES:
        texts = messages("workbench", language).texts
        assert {f"check_{name.replace(' ', '_')}" for name in checks} == {
            key for key in texts if key.startswith("check_")
        }
