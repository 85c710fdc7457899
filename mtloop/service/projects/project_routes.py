"""Routes of projects: create, list, show, change and delete them; their members; a copy."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from mtloop.core.errors import InputError
from mtloop.service.accounts.access import actor_of
from mtloop.service.accounts.models import Participant
from mtloop.service.http import json_response, read_body
from mtloop.service.problems import (
    ENGINE_UNAVAILABLE,
    LAST_ORGANISER,
    NO_MORE_CORRECTIONS,
    NO_MORE_PROJECTS,
    NOT_ALLOWED_HERE,
    PROJECT_EXISTS,
    ROLE_TOO_WEAK,
    UNKNOWN_PARTICIPANT,
    UNKNOWN_PROJECT,
    ProblemError,
    documented,
)
from mtloop.service.project_log.event_log import Configured, Event, GlossaryChanged
from mtloop.service.project_log.models import LastOrganiser, Role, TooManyProjects, TranslationProject
from mtloop.service.project_log.project_access import NAME, AuthorisedProject
from mtloop.service.projects.allowed_engines import chosen_pair, configuration
from mtloop.service.projects.project_bodies import (
    GlossaryBody,
    MemberBody,
    MemberList,
    NewProjectBody,
    ProjectBody,
    ProjectChangeBody,
    ProjectList,
    TermsBody,
    member_json,
    project_json,
)
from mtloop.service.projects.project_calls import add_terms, check_glossary, check_room
from mtloop.service.state import Service, service
from mtloop.service.tasks.run_routes import ALWAYS, IN_PARTS, WITH_BODY, Limit, body_of

router = APIRouter(prefix="/v1/projects", tags=["projects"])
OF_PROJECT = (*ALWAYS, UNKNOWN_PROJECT, ROLE_TOO_WEAK)


@router.post(
    "",
    status_code=201,
    response_model=ProjectBody,
    responses=documented(*ALWAYS, *WITH_BODY, NOT_ALLOWED_HERE, PROJECT_EXISTS, NO_MORE_PROJECTS, ENGINE_UNAVAILABLE),
    openapi_extra=body_of(NewProjectBody),
)
async def create_project(request: Request) -> Response:
    """Create a project. You may organise it."""
    here = service(request)
    who = await here.access.participant(request)
    body = await read_body(request, NewProjectBody, here.settings.max_body)
    configured, languages = await asyncio.to_thread(
        configuration, here.settings, body.model, body.method, body.settings, body.review
    )
    languages = chosen_pair(here.settings, (body.source_language, body.target_language), languages)
    await here.engines.check(configured)
    with creation_explained():
        made = await here.storage.projects.create(
            body.name, languages, configured, actor_of(request, who), who.id, most_projects(here, who)
        )
    return json_response(project_json(made, Role.ORGANISE), 201)


@contextmanager
def creation_explained() -> Iterator[None]:
    """Raise a problem if a project cannot be created."""
    try:
        yield
    except TooManyProjects:
        raise ProblemError(NO_MORE_PROJECTS) from None
    except InputError:
        raise ProblemError(PROJECT_EXISTS) from None


def most_projects(here: Service, who: Participant) -> int:
    """How many projects a participant may create; 0: no limit."""
    return 0 if who.organiser else here.settings.max_projects


@router.get("", response_model=ProjectList, responses=documented(*ALWAYS, *IN_PARTS))
async def list_projects(
    request: Request,
    after: Annotated[str, Query(max_length=80, description="Projects after this name.")] = "",
    limit: Limit = 100,
) -> Response:
    """List your projects by name. Organisers of the service see all."""
    here = service(request)
    who = await here.access.participant(request)
    found = await here.storage.projects.list_for(
        None if who.organiser else who.id, after.replace("\x00", ""), limit + 1
    )
    shown = [project_json(project, role) for project, role in found[:limit]]
    return json_response({"projects": shown, "next": shown[-1]["name"] if len(found) > limit else None})


@router.get("/{project}", response_model=ProjectBody, responses=documented(*OF_PROJECT))
async def show_project(project: str, request: Request) -> Response:
    """Show one project."""
    found = await service(request).project_access.project(request, project, Role.TRANSLATE)
    return json_response(project_json(found.project, found.role))


@router.get("/{project}/glossary", response_model=GlossaryBody, responses=documented(*OF_PROJECT))
async def show_glossary(project: str, request: Request) -> Response:
    """Show the terms that translations use. PATCH adds terms, PATCH of the project replaces all."""
    here = service(request)
    found = await here.project_access.project(request, project, Role.TRANSLATE)
    return json_response({"terms": await here.storage.projects.glossary(found.project.id)})


@router.patch(
    "/{project}/glossary",
    status_code=204,
    responses=documented(*OF_PROJECT, *WITH_BODY, NO_MORE_CORRECTIONS),
    openapi_extra=body_of(TermsBody),
)
async def add_to_glossary(project: str, request: Request) -> Response:
    """Add terms to the glossary. A term that is there gets the new translation, the others stay."""
    here = service(request)
    found = await here.project_access.project(request, project, Role.ORGANISE)
    body = await read_body(request, TermsBody, here.settings.max_project_body)
    await add_terms(here, found, body.terms)
    return Response(status_code=204)


@router.patch(
    "/{project}",
    response_model=ProjectBody,
    responses=documented(*OF_PROJECT, *WITH_BODY, NOT_ALLOWED_HERE, NO_MORE_CORRECTIONS, ENGINE_UNAVAILABLE),
    openapi_extra=body_of(ProjectChangeBody),
)
async def change_project(project: str, request: Request) -> Response:
    """Change the method, its settings, the review or the glossary. A new method learns all corrections again."""
    here = service(request)
    found = await here.project_access.project(request, project, Role.ORGANISE)
    body = await read_body(request, ProjectChangeBody, here.settings.max_project_body)
    check_room(here, found.project)
    while not await _change(here, found, body):  # somebody else was faster: the other fields are theirs
        found = await here.project_access.project(request, project, Role.ORGANISE)
    now = await here.project_access.project(request, project, Role.ORGANISE)
    return json_response(project_json(now.project, now.role))


async def _change(here: Service, found: AuthorisedProject, body: ProjectChangeBody) -> bool:
    """Change a project. False: somebody else has changed its settings meanwhile, and nothing happened."""
    old = found.project
    events: list[Event] = [] if (configured := await _changed(here, old, body)) is None else [configured]
    if body.glossary is not None:
        known = await here.storage.projects.newest_glossary(old.id)
        glossary = (known.event if known else GlossaryChanged({})).replaced(body.glossary)
        await asyncio.to_thread(check_glossary, old, glossary)  # many terms take a while
        events.append(glossary)
    if not events:
        return True
    changed = await here.storage.projects.change(old, events, found.participant.id, found.actor)
    if changed is None:
        raise ProblemError(UNKNOWN_PROJECT)
    return changed


async def _changed(here: Service, old: TranslationProject, body: ProjectChangeBody) -> Configured | None:
    """The new configuration, or None if it stays the same. What the body leaves out is as before, and not checked."""
    given = (body.method, body.settings, body.review)
    if all(field is None for field in given):
        return None
    method = old.method if body.method is None else body.method
    chosen = body.settings if body.settings is not None else old.settings if method == old.method else {}
    review = old.review if body.review is None else body.review
    if body.method is None and body.settings is None:
        configured = replace(old.configured, review=review)
    else:
        configured, _ = await asyncio.to_thread(configuration, here.settings, old.model, method, chosen, review)
    if configured.learner != old.configured.learner:
        await here.engines.check(configured)
    return None if configured == old.configured else configured


@router.delete("/{project}", status_code=204, responses=documented(*OF_PROJECT))
async def delete_project(project: str, request: Request) -> Response:
    """Delete a project with everything that belongs to it: corrections, snapshots, roles."""
    here = service(request)
    found = await here.project_access.project(request, project, Role.ORGANISE)
    await here.storage.projects.delete_found(found.project, found.actor)
    here.glossaries.forget(found.project.id)
    here.forget_texts()
    await here.engines.forget(found.project.id)
    return Response(status_code=204)


@router.get("/{project}/members", response_model=MemberList, responses=documented(*OF_PROJECT, *IN_PARTS))
async def list_members(
    project: str,
    request: Request,
    after: Annotated[str, Query(max_length=80, description="Members after this name.")] = "",
    limit: Limit = 500,
) -> Response:
    """For organisers: who may do what in a project."""
    here = service(request)
    found = await here.project_access.project(request, project, Role.ORGANISE)
    members = await here.storage.projects.members(found.project, after.replace("\x00", ""), limit + 1)
    return json_response(member_json(members[:limit], more=len(members) > limit))


@router.put(
    "/{project}/members/{participant}",
    status_code=204,
    responses=documented(*OF_PROJECT, *WITH_BODY, UNKNOWN_PARTICIPANT, LAST_ORGANISER),
    openapi_extra=body_of(MemberBody),
)
async def set_member(project: str, participant: str, request: Request) -> Response:
    """For organisers: give a participant a role: `translate`, `confirm` (and translate), `organise` (everything)."""
    here = service(request)
    found = await here.project_access.project(request, project, Role.ORGANISE)
    body = await read_body(request, MemberBody, here.settings.max_body)
    await _set_role(here, found, participant, Role(body.role))
    return Response(status_code=204)


@router.delete(
    "/{project}/members/{participant}",
    status_code=204,
    responses=documented(*OF_PROJECT, UNKNOWN_PARTICIPANT, LAST_ORGANISER),
)
async def remove_member(project: str, participant: str, request: Request) -> Response:
    """For organisers: take the role of a participant away. A project keeps its last organiser."""
    here = service(request)
    found = await here.project_access.project(request, project, Role.ORGANISE)
    await _set_role(here, found, participant, None)
    return Response(status_code=204)


async def _set_role(here: Service, found: AuthorisedProject, participant: str, role: Role | None) -> None:
    if not NAME.fullmatch(participant):
        raise ProblemError(UNKNOWN_PARTICIPANT)
    try:
        await here.storage.projects.set_member(found.project, participant, role, found.actor)
    except InputError:
        raise ProblemError(UNKNOWN_PARTICIPANT) from None
    except LastOrganiser:
        raise ProblemError(LAST_ORGANISER) from None
