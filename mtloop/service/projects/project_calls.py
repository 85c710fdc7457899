"""What clients do with a project, whichever API they speak: translate, confirm, import, change the glossary."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal

from starlette.requests import Request

from mtloop.core.errors import InputError
from mtloop.service.documents.text_parts import missing_parts
from mtloop.service.engines.engine_pool import unless_gone
from mtloop.service.http import client_gone
from mtloop.service.problems import (
    NO_CORRECTIONS,
    NO_MORE_CORRECTIONS,
    UNKNOWN_JOB,
    UNKNOWN_PROJECT,
    Problem,
    ProblemError,
    import_stopped,
    invalid_request,
    too_much_text,
)
from mtloop.service.project_log.correction_store import COUNTED, Check
from mtloop.service.project_log.event_log import Confirmed, GlossaryChanged
from mtloop.service.project_log.models import ProjectFull, StoredGlossary, TranslationProject
from mtloop.service.project_log.project_access import AuthorisedProject
from mtloop.service.projects.confirmation_rules import explained, refusal, refuse_flood
from mtloop.service.projects.correction_files import ImportedFile
from mtloop.service.projects.learning_kinds import learns_from_corrections
from mtloop.service.projects.project_bodies import MAX_TERMS
from mtloop.service.state import Service
from mtloop.text.glossary import Glossary
from mtloop.text.text_batches import text_batches

REDO_ROOM = 4  # times the number of events of a full project
ROWS_PER_TRANSACTION = 300  # of an import: people who confirm meanwhile wait for one transaction at most


class ImportStoppedError(ProblemError):
    """A project is full before all pairs of a file are stored. What is stored has the numbers `first` to `last`."""

    def __init__(self, problem: Problem, first: int | None, last: int | None) -> None:
        super().__init__(problem)
        self.first, self.last = first, last


async def translate_texts(
    here: Service,
    request: Request | None,
    found: AuthorisedProject,
    texts: Sequence[str],
    syntax: str = "plain",
    *,
    prefix: str = "",
    candidates: int = 1,
    documents: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Translate with everything that was confirmed so far. The call is dropped when the client is gone.

    Work without a client, in the background, has no request.
    With `documents`, exact matches and similar corrections come from these documents only.
    """
    check_texts(here, texts, prefix)
    call = {"texts": list(texts), "syntax": syntax, "prefix": prefix, "candidates": candidates}
    call |= {} if documents is None else {"documents": list(documents)}
    work = here.engines.call(found.project.id, "translate", number=found.project.number, texts=call)
    answer: dict[str, Any] = await (work if request is None else unless_gone(work, client_gone(request)))
    return answer


async def translate_many(
    here: Service,
    request: Request | None,
    found: AuthorisedProject,
    texts: Sequence[str],
    syntax: str = "plain",
    *,
    candidates: int = 1,
    documents: Sequence[str] | None = None,
) -> list[dict[str, Any]]:
    """Translate any number of texts, in as many calls as the limits need. The answers are in the order of the texts."""
    answers = list[dict[str, Any]]()
    for part in text_batches(texts, here.settings.max_texts, here.settings.max_text):
        call = translate_texts(here, request, found, part, syntax, candidates=candidates, documents=documents)
        answers += (await call)["translations"]
    return answers


def check_size(here: Service, *texts: str) -> None:
    """Raise a problem for too much text."""
    if (characters := sum(map(len, texts))) > here.settings.max_text:
        raise ProblemError(too_much_text(characters, here.settings.max_text))


def check_texts(here: Service, texts: Sequence[str], prefix: str = "") -> None:
    """Raise a problem for too many texts to translate, or too much text. The prefix is no text of its own."""
    check_size(here, *texts, prefix)
    if len(texts) > here.settings.max_texts:
        raise ProblemError(invalid_request(f"text: at most {here.settings.max_texts} texts in one request"))


async def confirmation(
    project: TranslationProject,
    source: str,
    translation: str,
    *,
    proposal: str = "",
    document: str = "",
    external_id: str = "",
    syntax: str = "plain",
) -> Confirmed:
    """The event of a confirmation, with the reason if it may not be learned."""
    languages = project.source_language, project.target_language
    refused = await asyncio.to_thread(refusal, source, translation, *languages)  # the first one loads the detector
    waits = project.review and not refused
    return Confirmed(source, translation, proposal, document, external_id, syntax, refused, waits)


async def confirm_translation(
    here: Service,
    found: AuthorisedProject,
    event: Confirmed,
    wait: Literal["learned", "durable"] = "learned",
    proof: bool = False,
    check: Check | None = None,
) -> dict[str, Any]:
    """Store a confirmation; learn it before the answer, unless `wait` is `durable` or the project is being rebuilt.

    `check` runs in the transaction that stores it: if it raises, nothing is stored.
    """
    check_size(here, event.source, event.translation, event.proposal)
    check_learns(found.project)
    checks = {} if check is None else {"check": check}
    with full_explained():  # a repeated confirmation is no new one: a full project takes it
        appended = await here.storage.corrections.add(
            found.project.id, event, found.participant.id, refuse_flood, most=here.settings.max_corrections, **checks
        )
    if appended is None:
        raise ProblemError(UNKNOWN_PROJECT)
    stored = appended.correction
    missing = await asyncio.to_thread(missing_parts, event.source, event.translation, event.syntax)
    answer: dict[str, Any] = {
        "number": stored.number,
        "new": appended.is_new,
        "refused": explained(stored.refused, stored.rejected),
        "waiting": stored.state == "waiting",
        "missing": missing,
        "state": stored.number,
    }
    if wait == "learned" and stored.counts:
        answer |= await here.engines.call(
            found.project.id, "learn", number=stored.number, proof=proof and appended.is_new, wait=False
        )
        if answer["learned"] is not None:  # else it is not known yet; of a repeated one the database knows
            answer["refused"] = explained("", answer["learned"]["rejected"])
    if stored.counts and (wait == "durable" or answer["rebuilding"]):
        here.engines.nudge(found.project.id, stored.number)
    return answer


def check_teachable(here: Service, project: TranslationProject) -> None:
    """Raise a problem if a project takes no corrections, or no more."""
    check_learns(project)
    check_room(here, project)


def check_learns(project: TranslationProject) -> None:
    """Raise a problem if a project takes no corrections."""
    if not learns_from_corrections(project.method):
        raise ProblemError(NO_CORRECTIONS)


@contextmanager
def full_explained() -> Iterator[None]:
    """Raise a problem in place of ProjectFull."""
    try:
        yield
    except ProjectFull:
        raise ProblemError(NO_MORE_CORRECTIONS) from None


def check_room_to_redo(here: Service, project: TranslationProject) -> None:
    """Raise a problem if a project may not grow any more, not even by a redo.

    An undo needs no room. A redo finds some in a full project, but not for ever: both together fill the log too.
    """
    most = here.settings.max_corrections
    if most and project.number >= REDO_ROOM * most:
        raise ProblemError(NO_MORE_CORRECTIONS)


def check_room(here: Service, project: TranslationProject, added: int = 0) -> None:
    """Raise a problem if a project may not grow any more. `added` is the number of events since it was read."""
    if not _has_room(here, project, added):
        raise ProblemError(NO_MORE_CORRECTIONS)


def _has_room(here: Service, project: TranslationProject, added: int) -> bool:
    most = here.settings.max_corrections
    return not most or project.number + added < most


async def add_file(here: Service, found: AuthorisedProject, read: ImportedFile) -> dict[str, Any]:
    """Add what a file holds to the log. An import that is interrupted can be repeated: nothing is added twice."""
    new: dict[int, Confirmed] = {}
    left = len(read.events)
    while left and _has_room(here, found.project, len(new)):
        part = read.events[len(read.events) - left :][:ROWS_PER_TRANSACTION]
        added = await here.storage.corrections.add_new(found.project.id, part, found.participant.id)
        if added is None:
            raise ProblemError(UNKNOWN_PROJECT)
        new |= added
        left -= len(part)
    first, last = min(new, default=None), max(new, default=None)
    job = f"{first}-{last}" if new else None
    if last is not None:
        here.engines.nudge(found.project.id, last)
    if left:
        raise ImportStoppedError(import_stopped(len(new), job, left), first, last)
    return {
        "job": job,
        "first": first,
        "last": last,
        "new": len(new),
        "known": len(read.events) - len(new),
        "refused": sum(bool(event.refused) for event in new.values()),
        "skipped": read.skipped,
        "missing_placeholders": read.missing_placeholders,
    }


async def job_progress(here: Service, project: TranslationProject, first: int, last: int) -> dict[str, Any]:
    """How many corrections of an import are learned so far. Others that came in between count too."""
    if not first <= last <= project.number:
        raise ProblemError(UNKNOWN_JOB)
    states = await here.storage.corrections.state_counts(project.id, first, last)
    counted = sum(states.get(state, 0) for state in COUNTED)
    learned = min(counted, await _learned(here, project, first, last)) if counted else 0
    if learned < counted:
        here.engines.nudge(project.id, last)  # an engine that was ended, or took too long, goes on
    others = {state: states.get(state, 0) for state in ("refused", "waiting", "undone", "replaced")}
    answer = {"job": f"{first}-{last}", "corrections": counted + sum(others.values()), "counted": counted}
    answer |= {"learned": learned, "rejected": states.get("rejected", 0)}
    return answer | others | {"done": learned == counted}


async def _learned(here: Service, project: TranslationProject, first: int, last: int) -> int:
    """How many lessons the learner knows. If the engine has none yet, the database knows a part."""
    known = await here.engines.call(project.id, "progress", first=first, last=last)
    if known is not None:
        return int(known)
    return await here.storage.corrections.stored_results(project.id, first, last)


async def change_glossary(
    here: Service, found: AuthorisedProject, change: Callable[[GlossaryChanged], GlossaryChanged]
) -> StoredGlossary:
    """Replace the glossary of a project by what `change` makes of it, and return it.

    `change` runs in a thread, and again if somebody else changes the glossary meanwhile. It may raise a problem: then
    nothing is changed.
    """

    def checked(old: GlossaryChanged) -> GlossaryChanged:
        new = change(old)
        check_glossary(found.project, new)
        return new

    check_room(here, found.project)
    changed = await here.storage.projects.change_glossary(found.project.id, checked, found.participant.id, found.actor)
    if changed is None:
        raise ProblemError(UNKNOWN_PROJECT)
    return changed


async def add_terms(here: Service, found: AuthorisedProject, terms: Mapping[str, str]) -> None:
    """Add terms to the glossary of a project. A term that is there gets the new translation, the others stay."""

    def added(old: GlossaryChanged) -> GlossaryChanged:
        merged = {**old.terms, **terms}
        if len(merged) > MAX_TERMS:
            raise ProblemError(invalid_request(f"glossary: at most {MAX_TERMS:,} terms"))
        return old.replaced(merged, old.id, old.name, old.created)

    await change_glossary(here, found, added)


def check_glossary(project: TranslationProject, event: GlossaryChanged) -> None:
    """Raise a problem if the terms cannot be used."""
    try:
        Glossary.of(event.terms, project.source_language, project.target_language)
    except InputError as error:
        raise ProblemError(invalid_request(f"glossary: {error}")) from None
