"""The project that the key of a client opens.

A key belongs to a participant. If the participant has several projects, the language pair of the request decides: the
project with the same tags, else the closest ones. Or the key names the project: KEY:PROJECT. Without a key,
`--open PROJECT` decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.requests import Request

from mtloop.service.accounts.access import key_hash
from mtloop.service.accounts.keys import HEADER
from mtloop.service.accounts.metering import caller_of
from mtloop.service.accounts.models import Participant
from mtloop.service.compatible.language_variants import closest, fits
from mtloop.service.compatible.request_rewriting import PROJECT
from mtloop.service.problems import (
    MISSING_KEY,
    ROLE_TOO_WEAK,
    UNKNOWN_PROJECT,
    ProblemError,
    several_projects,
    unknown_pair,
)
from mtloop.service.project_log.models import Role, TranslationProject
from mtloop.service.project_log.project_access import AuthorisedProject
from mtloop.service.state import Service, service

MAX_PROJECTS = 1_000
FORWARDING = (  # how the names of headers begin that proxies add
    *("forwarded", "via", "x-forwarded", "x-original", "x-real-ip", "x-client-ip", "x-cluster-client-ip"),
    *("x-remote-", "x-envoy-", "x-proxy", "true-client-ip", "client-ip", "cf-", "fastly-", "fly-", "x-azure-"),
)
OLD_HTTP = "1.0"  # in which nginx sends requests on, if it is not told otherwise


async def open_project(
    request: Request, role: Role, source: str = "", target: str = "", key: str = ""
) -> AuthorisedProject:
    """The project of a request for a language pair; an empty language, or `auto`, is any.

    `key` is that of the body, for a client that sends it there.
    """
    projects = await opened_projects(request, Role.TRANSLATE, key)
    return await choose_project(service(request), projects, role, source, target)


async def choose_project(
    here: Service, projects: Sequence[AuthorisedProject], role: Role, source: str = "", target: str = ""
) -> AuthorisedProject:
    """The one of the projects of a key that translates a language pair best, if its role suffices."""
    fitting = [one for one in projects if fits(one.project, source, target)]
    fitting = closest(fitting, lambda one: one.project, source, target)
    allowed = [one for one in fitting if one.role.includes(role)]
    if not fitting:
        raise ProblemError(unknown_pair([pair_of(one.project) for one in projects], source, target))
    if not allowed:
        raise ProblemError(ROLE_TOO_WEAK)
    if len(allowed) > 1:
        raise ProblemError(several_projects([one.project.name for one in allowed]))
    found = await here.storage.projects.find_by_id(allowed[0].project.id)  # with its newest number
    if found is None:
        raise ProblemError(UNKNOWN_PROJECT)
    return AuthorisedProject(found, allowed[0].participant, allowed[0].role)


async def opened_projects(request: Request, role: Role, key: str = "") -> Sequence[AuthorisedProject]:
    """All projects that the key of a request opens, for this role."""
    here = service(request)
    name = request.scope.get(PROJECT, "")
    if key and HEADER not in request.headers:
        key, _, name = key.partition(":")
        participant = await here.access.sign_in(request, key)
    elif HEADER in request.headers:
        participant = (await here.access.key_owner(request, key_hash(request))).participant
    else:
        return [await _open_without_key(here, request, role)]
    if name:
        return [await here.project_access.for_participant(participant, name, role)]
    return await _projects_of(here, participant, role)


async def _projects_of(here: Service, participant: Participant, role: Role) -> list[AuthorisedProject]:
    everyone = participant.organiser
    rows = await here.storage.projects.list_for(None if everyone else participant.id, limit=MAX_PROJECTS)
    roles = [(project, Role.ORGANISE if everyone else own) for project, own in rows]
    found = [AuthorisedProject(one, participant, own) for one, own in roles if own is not None and own.includes(role)]
    if roles and not found:
        raise ProblemError(ROLE_TOO_WEAK)
    return found


async def _open_without_key(here: Service, request: Request, role: Role) -> AuthorisedProject:
    """The project of `--open`, for programs on this machine. Its first organiser acts."""
    await here.metering.check_address(caller_of(request), "")
    if not here.settings.open or not _is_local(request):
        raise ProblemError(MISSING_KEY)
    project = await here.storage.projects.find(here.settings.open)
    if project is None:
        raise ProblemError(replace(UNKNOWN_PROJECT, detail="--open of this server names no project that there is."))
    members = await here.storage.projects.members(project)
    owner = next((name for name, own in members if own is Role.ORGANISE), None)
    participant = await here.storage.accounts.find_participant(owner) if owner is not None else None
    if participant is None or not Role.CONFIRM.includes(role):
        raise ProblemError(MISSING_KEY)
    return AuthorisedProject(project, participant, Role.CONFIRM)


def _is_local(request: Request) -> bool:
    """Whether a request comes from a program on this machine: not through a proxy on it, nor from a page of a site.

    A proxy that adds no header cannot be told from a program, unless it uses HTTP/1.0.
    A page may send requests to this machine from the browser of its reader. It names another origin then, or another
    host if the site gave its own name the address of this machine.
    """
    address, origin = request.client.host if request.client else "", request.headers.get("origin")
    try:
        hosts = [address, request.url.hostname, *(() if origin is None else [urlsplit(origin).hostname])]
        local = all(host == "localhost" or ip_address(host or "").is_loopback for host in hosts)
    except ValueError:
        return False
    forwarded = any(name.startswith(FORWARDING) for name in request.headers)
    return local and not forwarded and request.scope.get("http_version") != OLD_HTTP


def pair_of(project: TranslationProject) -> str:
    return f"{project.source_language or '?'}-{project.target_language or '?'}"
