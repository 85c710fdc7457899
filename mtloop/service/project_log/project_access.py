"""Authorisation for projects: who asks, and whether the role in the project suffices."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from starlette.requests import Request

from mtloop.service.accounts.access import Access, actor_of
from mtloop.service.accounts.models import Participant
from mtloop.service.audit.models import Actor
from mtloop.service.problems import ROLE_TOO_WEAK, UNKNOWN_PROJECT, ProblemError
from mtloop.service.project_log.models import Role, TranslationProject
from mtloop.service.project_log.store import ProjectStore

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")


@dataclass(frozen=True)
class AuthorisedProject:
    """A project as it is now, and the participant who asks, with a key (`api`) or on a page (`page`)."""

    project: TranslationProject
    participant: Participant
    role: Role
    via: str = "api"

    @property
    def actor(self) -> Actor:
        return Actor(self.participant.name, self.via)


class ProjectAccess:
    """Finds the project that a request names."""

    def __init__(self, access: Access, store: ProjectStore) -> None:
        self._access, self._store = access, store

    async def project(self, request: Request, name: str, role: Role) -> AuthorisedProject:
        """A project, if the participant has this role in it or a stronger one.

        Others get 404, as if it did not exist; members with too weak a role get 403. Organisers of the service have the
        strongest role in every project.
        """
        participant = await self._access.participant(request)
        found = await self.for_participant(participant, name, role)
        return replace(found, via=actor_of(request, participant).via)

    async def for_participant(self, participant: Participant, name: str, role: Role) -> AuthorisedProject:
        """The same for a participant who is known already."""
        found = await self._store.find_for(name, participant.id) if NAME.fullmatch(name) else None
        own = Role.ORGANISE if participant.organiser else found[1] if found else None
        if found is None or own is None:
            raise ProblemError(UNKNOWN_PROJECT)
        if not own.includes(role):
            raise ProblemError(ROLE_TOO_WEAK)
        return AuthorisedProject(found[0], participant, own)
