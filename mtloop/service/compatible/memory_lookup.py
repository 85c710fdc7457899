"""The memories that a request names: by number, or by the id that another system gave them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from starlette.requests import Request

from mtloop.service.compatible.language_variants import closest, fits
from mtloop.service.compatible.opened_project import opened_projects, pair_of
from mtloop.service.problems import (
    ROLE_TOO_WEAK,
    UNKNOWN_PROJECT,
    Problem,
    ProblemError,
    several_projects,
    unknown_pair,
)
from mtloop.service.project_log.client_store import TranslationMemory
from mtloop.service.project_log.models import Role
from mtloop.service.project_log.project_access import AuthorisedProject
from mtloop.service.state import Service, service

UNKNOWN_MEMORY = Problem(404, "", "Unknown memory", "There is no such memory. GET memories lists those of your key.")
OF_MATECAT = "x_mm-"  # MateCat writes it before the id of a memory
_OF_WEBLATE = re.compile(r"weblate:\d+:([\w@-]+):([\w@-]+):[0-9a-f]+")
"""The name of a memory in which Weblate keeps a glossary: its project, the language pair and a checksum."""


@dataclass(frozen=True)
class OpenedMemory:
    """A memory, in a project that the key of a request opens."""

    found: AuthorisedProject
    memory: TranslationMemory


def pair_in_name(name: str) -> tuple[str, str] | None:
    """The languages in the name of a memory in which Weblate keeps a glossary. None: it is another memory.

    >>> pair_in_name("weblate:1:en:pt-BR:3f2a")
    ('en', 'pt-BR')
    """
    match = _OF_WEBLATE.fullmatch(name)
    return (match[1], match[2]) if match else None


async def open_memory(
    request: Request, name: str, role: Role, source: str = "", target: str = "", *, of_weblate: Role | None = None
) -> OpenedMemory:
    """The memory with this name in the project that is closest to this pair, if the role in the project suffices.

    `of_weblate` is the role that suffices for a memory in which Weblate keeps a glossary.
    """
    here = service(request)
    known = await _all_memories(here, await _of_pair(request, source, target))
    numbers = {one.id for one in MemoryNames([one.memory for one in known]).find(name)}
    named = [one for one in known if one.memory.id in numbers]
    fitting = closest(named, lambda one: one.found.project, source, target)
    allowed = [
        one
        for one in fitting
        if one.found.role.includes(of_weblate if of_weblate and pair_in_name(one.memory.name) else role)
    ]
    if not fitting:
        raise ProblemError(UNKNOWN_MEMORY)
    if not allowed:
        raise ProblemError(ROLE_TOO_WEAK)
    if len(allowed) > 1:
        raise ProblemError(several_projects([one.found.project.name for one in allowed]))
    return OpenedMemory(await newest(here, allowed[0].found), allowed[0].memory)


async def list_memories(request: Request) -> list[OpenedMemory]:
    """All memories that the key of a request opens."""
    return await _all_memories(service(request), await opened_projects(request, Role.TRANSLATE))


async def newest(here: Service, found: AuthorisedProject) -> AuthorisedProject:
    """A project as it is now, with the number of its newest event."""
    project = await here.storage.projects.find_by_id(found.project.id)
    if project is None:
        raise ProblemError(UNKNOWN_PROJECT)
    return AuthorisedProject(project, found.participant, found.role)


class MemoryNames:
    """Finds memories by their number, or by the id that another system gave them."""

    def __init__(self, memories: Sequence[TranslationMemory]) -> None:
        self._by_number = {str(one.id): [one] for one in memories}
        self._by_external_id: dict[str, list[TranslationMemory]] = defaultdict(list)
        for one in memories:
            if one.external_id is not None:
                self._by_external_id[_bare(one.external_id)].append(one)

    def find(self, name: str) -> list[TranslationMemory]:
        """The memories with this number; if there is none, those with this external id."""
        return self._by_number.get(name) or self.with_external_id(name)

    def find_all(self, names: Iterable[str]) -> list[TranslationMemory]:
        """The memories with one of these names, each once."""
        return list({one.id: one for name in names for one in self.find(name)}.values())

    def with_external_id(self, name: str) -> list[TranslationMemory]:
        """The memories with this external id, whether it is written as MateCat writes it or not."""
        return self._by_external_id.get(_bare(name), [])


def _bare(name: str) -> str:
    return name.removeprefix(OF_MATECAT)


async def _of_pair(request: Request, source: str, target: str) -> Sequence[AuthorisedProject]:
    projects = await opened_projects(request, Role.TRANSLATE)
    fitting = [one for one in projects if fits(one.project, source, target)]
    if not fitting and (source or target):
        raise ProblemError(unknown_pair([pair_of(one.project) for one in projects], source, target))
    return fitting


async def _all_memories(here: Service, projects: Sequence[AuthorisedProject]) -> list[OpenedMemory]:
    by_id = {one.project.id: one for one in projects}
    return [OpenedMemory(by_id[one.project_id], one) for one in await here.storage.clients.memories(*by_id)]
