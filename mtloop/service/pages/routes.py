"""Routes of the pages. Task list and leaderboards are public. A run is visible to its owner and to organisers."""

from __future__ import annotations

import time
from typing import Any
from urllib.parse import parse_qs, urlsplit

from fastapi import APIRouter, Request, Response
from starlette.responses import RedirectResponse

from mtloop.report.drawing_data import drawing_data
from mtloop.service.accounts.keys import MAX_KEY_LENGTH, hash_key, new_token
from mtloop.service.accounts.models import Participant
from mtloop.service.http import read_raw
from mtloop.service.pages.rendering import KINDS, asset, asset_url, fragment, page
from mtloop.service.pages.run_charts import run_charts
from mtloop.service.problems import NOT_FOUND, ProblemError
from mtloop.service.state import Service, service
from mtloop.service.tasks.leaderboard import leaderboard
from mtloop.service.tasks.models import Entry, SharedTask
from mtloop.service.tasks.result_routes import curves
from mtloop.service.tasks.run_access import NAME, TOKEN

router = APIRouter(include_in_schema=False)
COOKIE = "mtloop_session"
SESSION_HOURS = 12
RECENT_RUNS = 100
MAX_FORM_BYTES = 4096
CHANGES = {
    "open": {"results_open": True},
    "hide": {"results_open": False},
    "stop": {"stopped": True},
    "resume": {"stopped": False},
}


@router.get("/")
async def show_tasks(request: Request) -> Response:
    here = service(request)
    return page("tasks.html", await _signed_in(here, request), tasks=await here.storage.tasks.task_list())


@router.get("/tasks/{task}")
async def show_task(task: str, request: Request) -> Response:
    here, who = service(request), await _signed_in(service(request), request)
    found = await _task(here, task)
    if found is None:
        return page("missing.html", who, 404)
    return page("task.html", who, **await _board(here, found, who))


@router.get("/tasks/{task}/board")
async def show_board(task: str, request: Request) -> Response:
    """The leaderboard table without the page, for live updates."""
    here, who = service(request), await _signed_in(service(request), request)
    found = await _task(here, task)
    if found is None:
        raise ProblemError(NOT_FOUND)
    return fragment("board.html", request.headers.get("if-none-match", ""), **await _board(here, found, who))


@router.get("/login")
async def ask_for_key(request: Request) -> Response:
    return page("login.html", await _signed_in(service(request), request), failed=False)


@router.post("/login")
async def sign_in(request: Request) -> Response:
    """Exchange a key for a session cookie. Only a hash of the cookie is stored."""
    here = service(request)
    key = (await _form(request)).get("key", "").strip()
    known = await here.storage.accounts.participant(hash_key(key)) if 0 < len(key) <= MAX_KEY_LENGTH else None
    if known is None:
        return page("login.html", None, 401, failed=True)
    token = new_token()
    await here.storage.accounts.add_session(hash_key(token), hash_key(key), time.time() + SESSION_HOURS * 3600)
    response = RedirectResponse("/organiser" if known[0].organiser else "/runs", 303)
    response.set_cookie(
        COOKIE, token, max_age=SESSION_HOURS * 3600, httponly=True, samesite="strict", secure=here.settings.secure
    )
    return response


@router.post("/logout")
async def sign_out(request: Request) -> Response:
    await _form(request)
    await service(request).storage.accounts.end_session(hash_key(request.cookies.get(COOKIE, "")))
    response = RedirectResponse("/", 303)
    response.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return response


@router.get("/runs")
async def show_runs(request: Request) -> Response:
    here, who = service(request), await _signed_in(service(request), request)
    if who is None:
        return RedirectResponse("/login", 303)
    tasks = {task.id: task for task in await here.storage.tasks.task_list()}
    runs = await here.storage.tasks.runs_of(who)
    rows = [(run, progress, tasks[run.task_id]) for run, progress in runs if run.task_id in tasks]
    return page("runs.html", who, runs=rows)


@router.get("/runs/{token}")
async def show_run(token: str, request: Request) -> Response:
    """The curves of a run. The run of another participant gives 404."""
    here, who = service(request), await _signed_in(service(request), request)
    run = await here.storage.tasks.run(token) if TOKEN.fullmatch(token) else None
    task = None if run is None else await here.storage.tasks.task_by_id(run.task_id)
    if run is None or task is None or who is None or not (who.organiser or run.participant_id == who.id):
        return page("missing.html", who, 404)
    progress, _ = await here.storage.tasks.progress([run.id])
    shown = await curves(here, run, task) if task.shows_results or who.organiser else None
    figures = {chart.name: drawing_data(chart) for chart in run_charts(shown or [], task)}
    return page("run.html", who, run=run, task=task, progress=progress[run.id], passes=shown, figures=figures)


@router.get("/organiser")
async def show_organiser(request: Request) -> Response:
    here, who = service(request), await _signed_in(service(request), request)
    if who is None or not who.organiser:
        return page("missing.html", who, 404)
    return page("organiser.html", who, **await _activity(here))


@router.get("/organiser/activity")
async def show_activity(request: Request) -> Response:
    here, who = service(request), await _signed_in(service(request), request)
    if who is None or not who.organiser:
        raise ProblemError(NOT_FOUND)
    return fragment("activity.html", request.headers.get("if-none-match", ""), **await _activity(here))


@router.post("/organiser/tasks/{task}")
async def change_task(task: str, request: Request) -> Response:
    """Open or hide results, stop or resume a task."""
    here, who = service(request), await _signed_in(service(request), request)
    changes = CHANGES.get((await _form(request)).get("change", ""))
    found = await _task(here, task)
    if who is None or not who.organiser or found is None or changes is None:
        return page("missing.html", who, 404)
    await here.storage.tasks.change_task(found.name, **changes)
    return RedirectResponse("/organiser", 303)


@router.get("/assets/{version}/{name}")
async def show_asset(version: str, name: str) -> Response:
    """A style sheet or script. Browsers may cache it forever, because its URL changes with its content."""
    content = asset(name)
    if content is None or not asset_url(name).startswith(f"/assets/{version}/"):
        raise ProblemError(NOT_FOUND)
    headers = {"cache-control": "public, max-age=31536000, immutable"}
    return Response(content, headers=headers, media_type=KINDS["." + name.rpartition(".")[2]])


async def _signed_in(here: Service, request: Request) -> Participant | None:
    token = request.cookies.get(COOKIE, "")
    return await here.storage.accounts.session(hash_key(token)) if token else None


async def _task(here: Service, name: str) -> SharedTask | None:
    return await here.storage.tasks.task(name) if NAME.fullmatch(name) else None


async def _board(here: Service, task: SharedTask, who: Participant | None) -> dict[str, Any]:
    shown = task.shows_results or (who is not None and who.organiser)
    rows = leaderboard(task, await here.storage.tasks.entries(task)) if shown else []
    return {"task": task, "shown": shown, "rows": rows, "viewer": who}


async def _activity(here: Service) -> dict[str, Any]:
    found: list[tuple[Entry, str]] = []
    for task in await here.storage.tasks.task_list():
        found += [(entry, task.name) for entry in await here.storage.tasks.entries(task)]
    found.sort(key=lambda pair: -pair[0].progress.updated)
    people = await here.storage.participant_list()
    return {"tasks": await here.storage.tasks.activity(), "entries": found[:RECENT_RUNS], "participants": people}


async def _form(request: Request) -> dict[str, str]:
    """The fields of a form. A form from another origin is refused; the cookie is SameSite=Strict too."""
    origin = request.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != request.headers.get("host", ""):
        raise ProblemError(NOT_FOUND)
    raw = await read_raw(request, MAX_FORM_BYTES)
    return {name: values[0] for name, values in parse_qs(raw.decode("utf-8", "replace")).items()}
