"""The project of `mtloop serve --demo`: the embedded model, the demo document and its corrections."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from mtloop.core.errors import InputError
from mtloop.data.languages import pair_name, same_languages
from mtloop.service.accounts.keys import HEADER, hash_key, new_key
from mtloop.service.documents.document_files import read_document
from mtloop.service.documents.models import NewDocument
from mtloop.service.engines.engine_pool import EnginePool
from mtloop.service.problems import ProblemError
from mtloop.service.project_log.event_log import Confirmed
from mtloop.service.project_log.models import Role, TranslationProject
from mtloop.service.projects.allowed_engines import configuration
from mtloop.service.projects.confirmation_rules import refusal
from mtloop.service.settings import Settings
from mtloop.service.storage import Storage
from mtloop.service.telemetry import LOGGER, log_to_stderr

NAME = "demo"  # of the project and of the participant who owns it
LANGUAGES = ("en", "de")
LAST_CHAPTER = "10-exchange-and-maintenance"  # not confirmed: it is left to translate
EXAMPLE = "The thumbnails are blurred: have them regenerated under Images > Tools."  # a sentence of the last chapter
DOCUMENT, PROPOSALS = "manual.en-de.tsv", "lora+memory+copy.txt"  # what the default method proposed, line by line


@dataclass(frozen=True)
class DemoProject:
    """The number of corrections that the project has learned, and a key of its owner."""

    corrections: int
    key: str

    def welcome(self, address: str) -> str:
        """What `mtloop serve --demo` prints when it listens."""
        url, body = f"{address}/v1/projects/{NAME}/translate", json.dumps({"text": EXAMPLE})
        return (
            f"{address}\n"
            f"Project: {NAME} ({self.corrections} corrections)\n"
            f"Key:     {self.key}\n"
            f"Try it:  curl --header '{HEADER}: {self.key}' --json '{body}' {url}"
        )


def prepare_demo(settings: Settings) -> DemoProject:
    """Make the project if it is missing, let an engine learn its corrections, and return it with a new key.

    A project that is there already is used as it is. The keys of its owner from before are revoked: a key is stored as
    a hash only, so an old one cannot be shown.
    """
    log_to_stderr()
    return asyncio.run(_prepare(settings))


async def _prepare(settings: Settings) -> DemoProject:
    storage, key = Storage.connect(settings.url), new_key()
    try:
        await storage.migrate()
        project = await storage.projects.find(NAME) or await _create(storage, settings)
        owner = await _owner(storage, project)
        if project.number == 1:  # new, or a kill came before its corrections
            if not await storage.documents.page(project.id, None, 1):
                await storage.documents.add(project, demo_document(project), owner)
            await storage.corrections.add_new(project.id, list(demo_confirmations()), owner)
        await storage.accounts.rotate_key(NAME, hash_key(key))
        number = (await storage.projects.last_numbers([project.id]))[project.id]
    finally:
        await storage.close()
    return DemoProject(await _learn(settings, project, number), key)


async def _create(storage: Storage, settings: Settings) -> TranslationProject:
    """The project with its first event, the settings."""
    try:
        configured, languages = configuration(settings, "", "", {}, review=False)
    except ProblemError as error:
        raise InputError(error.problem.detail) from None
    if not same_languages(languages, LANGUAGES):
        wanted, found = pair_name(*LANGUAGES), pair_name(*languages)
        raise InputError(f"the demo document is {wanted}, and the first of the models is {found}; check --models")
    known = [one["id"] for one in await storage.accounts.participant_list() if one["name"] == NAME]
    owner = known[0] if known else (await storage.accounts.add_participant(NAME, hash_key(new_key()))).id
    return await storage.projects.create(NAME, LANGUAGES, configured, owner=owner)


async def _owner(storage: Storage, project: TranslationProject) -> int:
    """The participant who gets the key, who must be an organiser of the project."""
    members = dict(await storage.projects.members(project))
    if members.get(NAME) is not Role.ORGANISE:
        raise InputError(f"there is another project of the name {NAME!r}; choose another --folder")
    return next(int(one["id"]) for one in await storage.accounts.participant_list() if one["name"] == NAME)


def demo_confirmations() -> Iterator[Confirmed]:
    """The demo document without its last chapter, with what the default method proposed for each segment."""
    folder = files("mtloop") / "demo"
    rows = (folder / DOCUMENT).read_text(encoding="utf-8").splitlines()[1:]
    proposals = (folder / PROPOSALS).read_text(encoding="utf-8").splitlines()
    for row, proposal in zip(rows, proposals, strict=True):
        source, translation, chapter = row.split("\t")
        if chapter != LAST_CHAPTER:
            yield Confirmed(source, translation, proposal, chapter, refused=refusal(source, translation, *LANGUAGES))


def demo_document(project: TranslationProject) -> NewDocument:
    """The demo document with all its segments. Those of the last chapter have no translation yet."""
    rows = (files("mtloop") / "demo" / DOCUMENT).read_text(encoding="utf-8").splitlines(keepends=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / DOCUMENT
        path.write_text("".join(map(_without_last_chapter, rows)), encoding="utf-8", newline="")
        return read_document(DOCUMENT, path, project)


def _without_last_chapter(row: str) -> str:
    source, translation, chapter = row.split("\t")
    return "\t".join((source, "" if chapter.strip() == LAST_CHAPTER else translation, chapter))


async def _learn(settings: Settings, project: TranslationProject, number: int) -> int:
    """Let an engine learn all corrections, so that the first translation comes at once. Return how many it knows."""
    LOGGER.info("learning the corrections of the demo document")
    pool = EnginePool(settings)
    try:
        known = await pool.call(project.id, "save", number=number)
    except ProblemError as error:
        raise InputError(error.problem.detail) from None
    finally:
        await pool.close()
    return int(known["lessons"])
