"""Pages of projects: the list, one project with its documents, its curves, and the workbench of a document."""

from __future__ import annotations

import re
from typing import Any

from fastapi import APIRouter, Request, Response
from starlette.responses import RedirectResponse

from mtloop.core.errors import InputError
from mtloop.core.types import PostEdit
from mtloop.methods.method import Method
from mtloop.methods.own import is_own_engine
from mtloop.methods.registry import find_method, plugin_points
from mtloop.report.drawing_data import drawing_data
from mtloop.service.accounts.models import Participant
from mtloop.service.documents.document_bodies import document_json
from mtloop.service.pages.page_texts import (
    LANGUAGES,
    Messages,
    language_of,
    messages,
    refusals,
    remember_language,
)
from mtloop.service.pages.project_charts import project_charts
from mtloop.service.pages.rendering import page
from mtloop.service.problems import ProblemError
from mtloop.service.project_log.models import Role
from mtloop.service.project_log.project_access import AuthorisedProject
from mtloop.service.projects.project_bodies import project_json
from mtloop.service.projects.statistics_routes import measured_statistics
from mtloop.service.state import Service, service

router = APIRouter(include_in_schema=False)
ROWS = 100  # of a table; more are on the next page
MEASURED = 1000  # newest corrections in the curves
_TOKEN = re.compile(r"[0-9a-f]{32}")
_AFTER = re.compile(r"[0-9]{1,18}")


@router.get("/projects")
async def show_projects(request: Request) -> Response:
    """The projects of the participant; organisers of the service see all."""
    here, who = service(request), await service(request).access.signed_in(request)
    if who is None:
        return RedirectResponse("/login", 303)
    after = request.query_params.get("after", "")[:80].replace("\x00", "")
    found = await here.storage.projects.list_for(None if who.organiser else who.id, after, ROWS + 1)
    rows = [project_json(project, Role.ORGANISE if who.organiser else role) for project, role in found[:ROWS]]
    following = rows[-1]["name"] if len(found) > ROWS else None
    return _page(request, "projects.html", who, projects=rows, following=following)


@router.get("/projects/{project}")
async def show_project(project: str, request: Request) -> Response:
    """The documents of a project, its method and its members."""
    here, who = service(request), await service(request).access.signed_in(request)
    if who is None:
        return RedirectResponse("/login", 303)
    found = await _project(here, who, project)
    if found is None:
        return _page(request, "no_project.html", who, 404)
    rows = await here.storage.documents.page(found.project.id, _after(request), ROWS + 1)
    content: dict[str, Any] = {
        "project": project_json(found.project, found.role),
        "documents": [document_json(one) for one in rows[:ROWS]],
        "following": rows[ROWS - 1].id if len(rows) > ROWS else None,
        "members": await here.storage.projects.members(found.project) if found.role.includes(Role.ORGANISE) else None,
        "methods": teachable_methods(here.settings.methods, found.project.method),
        "roles": [role.value for role in Role],
    }
    return _page(request, "project.html", who, **content)


@router.get("/projects/{project}/curves")
async def show_curves(project: str, request: Request) -> Response:
    """What learning did for a project: its scores and those of the frozen base model over the corrections."""
    here, who = service(request), await service(request).access.signed_in(request)
    if who is None:
        return RedirectResponse("/login", 303)
    found = await _project(here, who, project)
    if found is None:
        return _page(request, "no_project.html", who, 404)
    statistics = await measured_statistics(here, found.project, MEASURED)
    say = messages("workbench", language_of(request))
    figures = {chart.name: drawing_data(chart) for chart in project_charts(statistics["metrics"], say)}
    shown: dict[str, Any] = {
        "project": project_json(found.project, found.role),
        "statistics": statistics,
        "figures": figures,
    }
    return _page(request, "project_curves.html", who, **shown)


@router.get("/projects/{project}/documents/{document}")
async def show_document(project: str, document: str, request: Request) -> Response:
    """The workbench. Its script asks the API for the units that are in view."""
    here, who = service(request), await service(request).access.signed_in(request)
    if who is None:
        return RedirectResponse("/login", 303)
    found = await _project(here, who, project)
    known = found is not None and _TOKEN.fullmatch(document)
    shown = await here.storage.documents.find(found.project.id, document) if found and known else None
    if found is None or shown is None:
        return _page(request, "no_project.html", who, 404)
    content: dict[str, Any] = {
        "project": project_json(found.project, found.role),
        "document": document_json(shown),
        "methods": teachable_methods(here.settings.methods, found.project.method),
        "may_confirm": found.role.includes(Role.CONFIRM),
        "may_organise": found.role.includes(Role.ORGANISE),
    }
    return _page(request, "workbench.html", who, **content)


def teachable_methods(allowed: str, current: str) -> list[str]:
    """The methods that a project may use and that learn from corrections, and the one that it has.

    A name that there is no method of is left out: the settings of the server may have one.

    >>> teachable_methods("lora, baseline, lorra", "bias")
    ['bias', 'lora']
    """
    names = [name.strip() for name in allowed.split(",") if name.strip()]
    built_in = [name for name in names if not is_own_engine(name) and name not in plugin_points()]
    methods = [method for name in built_in if (method := _method(name))]
    learning = [method.name for method in methods if PostEdit in (method.learns_from or ())]
    return list(dict.fromkeys(learning if current in learning else [current, *learning]))


def _method(name: str) -> Method | None:
    try:
        return find_method(name)
    except InputError:
        return None


async def _project(here: Service, who: Participant, name: str) -> AuthorisedProject | None:
    """A project that the participant may see, or None."""
    try:
        return await here.project_access.for_participant(who, name, Role.TRANSLATE)
    except ProblemError as refused:
        if refused.problem.status not in (403, 404):
            raise
        return None


def _page(request: Request, name: str, who: Participant, status: int = 200, **content: Any) -> Response:
    """A page in the language of its reader."""
    language = language_of(request)
    say: Messages = messages("workbench", language)
    shown = {"say": say, "language": language, "languages": LANGUAGES, "refusals": refusals(language)}
    response = page(name, who, status, **shown, **content)
    return remember_language(response, request)


def _after(request: Request) -> int | None:
    """The document that the page before ended with."""
    text = request.query_params.get("after", "")
    return int(text) if _AFTER.fullmatch(text) else None
