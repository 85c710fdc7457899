"""Routes of the pages. Task list and leaderboards are public. A run is visible to its owner and to organisers."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qs, urlsplit

from fastapi import APIRouter, Request, Response
from starlette.responses import RedirectResponse

from mtloop.report.drawing_data import drawing_data
from mtloop.service.accounts.keys import COOKIE, hash_key, new_token
from mtloop.service.accounts.models import Participant
from mtloop.service.audit.models import Actor
from mtloop.service.http import read_raw
from mtloop.service.pages.rendering import KINDS, asset, asset_url, fragment, page
from mtloop.service.pages.run_charts import run_charts
from mtloop.service.pages.service_pages import missing_page, runs_page, sign_in_page, tasks_page
from mtloop.service.pages.task_words import pass_rule, reward_meaning
from mtloop.service.problems import EXPIRED_KEY, NOT_FOUND, ProblemError
from mtloop.service.state import Service, service
from mtloop.service.tasks.models import Run, SharedTask
from mtloop.service.tasks.result_routes import PASSES_PER_PAGE, curves, leaderboard_rows
from mtloop.service.tasks.run_access import NAME, TOKEN

router = APIRouter(include_in_schema=False)
SESSION_HOURS = 12
ROWS = 100  # of a table; more are on the next page
MAX_SKIP = 10**9
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
    who = await _signed_in(here, request)
    tasks = await here.storage.tasks.task_list(await _task_after(here, request), ROWS + 1)
    return tasks_page(request, who, tasks=tasks[:ROWS], following=_following([task.name for task in tasks]))


@router.get("/tasks/{task}")
async def show_task(task: str, request: Request) -> Response:
    here, who = service(request), await _signed_in(service(request), request)
    found = await _task(here, task)
    if found is None:
        return missing_page(request, who)
    words: dict[str, Any] = {"reward_meaning": reward_meaning(found), "pass_rule": pass_rule(found)}
    return page("task.html", who, **words, **await _board(here, found, who, request))


@router.get("/tasks/{task}/board")
async def show_board(task: str, request: Request) -> Response:
    """The leaderboard table without the page, for live updates."""
    here, who = service(request), await _signed_in(service(request), request)
    found = await _task(here, task)
    if found is None:
        raise ProblemError(NOT_FOUND)
    return fragment("board.html", request.headers.get("if-none-match", ""), **await _board(here, found, who, request))


@router.get("/login")
async def ask_for_key(request: Request) -> Response:
    return sign_in_page(request, await _signed_in(service(request), request))


@router.post("/login")
async def sign_in(request: Request) -> Response:
    """Exchange a key for a session cookie. Only a hash of the cookie is stored."""
    here = service(request)
    key = (await _form(request)).get("key", "").strip()
    try:
        known = await here.access.sign_in(request, key)
    except ProblemError as refused:
        if refused.problem.status != 401:
            raise
        return sign_in_page(request, None, "key_expired" if refused.problem == EXPIRED_KEY else "key_unknown")
    token = new_token()
    await here.storage.accounts.add_session(hash_key(token), hash_key(key), time.time() + SESSION_HOURS * 3600)
    here.metering.remember(hash_key(token), known.id)  # the next request has it, maybe from an address above its limit
    response = RedirectResponse(await _first_page(here, known), 303)
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
    runs = await here.storage.tasks.runs_of(who, after=await _run_after(here, request, who), limit=ROWS + 1)
    tasks = await here.storage.tasks.tasks_by_id(run.task_id for run, _ in runs)
    rows = [(run, progress, tasks[run.task_id]) for run, progress in runs[:ROWS] if run.task_id in tasks]
    return runs_page(request, who, runs=rows, following=_following([run.token for run, _ in runs]))


@router.get("/runs/{token}")
async def show_run(token: str, request: Request) -> Response:
    """The curves of a run, by default of its last passes. The run of another participant gives 404."""
    here, who = service(request), await _signed_in(service(request), request)
    run = await here.storage.tasks.run(token) if TOKEN.fullmatch(token) else None
    task = None if run is None else await here.storage.tasks.task_by_id(run.task_id)
    if run is None or task is None or who is None or not (who.organiser or run.participant_id == who.id):
        return missing_page(request, who)
    progress = (await here.storage.tasks.progress([run.id]))[0].get(run.id)
    if progress is None:  # the task was deleted meanwhile
        return missing_page(request, who)
    after = _number(request, "after", max(0, progress.pass_number - PASSES_PER_PAGE))
    shown, following = None, None
    if task.shows_results or who.organiser:
        shown, following = await curves(here, run, task, after, PASSES_PER_PAGE)
    figures = {chart.name: drawing_data(chart) for chart in run_charts(shown or [], task)}
    pages: dict[str, Any] = {"after": after, "before": max(0, after - PASSES_PER_PAGE), "following": following}
    return page("run.html", who, run=run, task=task, progress=progress, passes=shown, figures=figures, **pages)


@router.get("/organiser")
async def show_organiser(request: Request) -> Response:
    here, who = service(request), await _signed_in(service(request), request)
    if who is None or not who.organiser:
        return missing_page(request, who)
    return page("organiser.html", who, **await _activity(here, request))


@router.get("/organiser/activity")
async def show_activity(request: Request) -> Response:
    here, who = service(request), await _signed_in(service(request), request)
    if who is None or not who.organiser:
        raise ProblemError(NOT_FOUND)
    return fragment("activity.html", request.headers.get("if-none-match", ""), **await _activity(here, request))


@router.post("/organiser/tasks/{task}")
async def change_task(task: str, request: Request) -> Response:
    """Open or hide results, stop or resume a task."""
    here, who = service(request), await _signed_in(service(request), request)
    changes = CHANGES.get((await _form(request)).get("change", ""))
    found = await _task(here, task)
    if who is None or not who.organiser or found is None or changes is None:
        return missing_page(request, who)
    await here.storage.tasks.change_task(found.name, Actor(who.name, "page"), **changes)
    return RedirectResponse("/organiser", 303)


@router.get("/assets/{version}/{name}")
async def show_asset(version: str, name: str) -> Response:
    """A style sheet or script. Browsers may cache it forever, because its URL changes with its content."""
    content = asset(name)
    if content is None or not asset_url(name).startswith(f"/assets/{version}/"):
        raise ProblemError(NOT_FOUND)
    headers = {"cache-control": "public, max-age=31536000, immutable"}
    return Response(content, headers=headers, media_type=KINDS["." + name.rpartition(".")[2]])


async def _first_page(here: Service, who: Participant) -> str:
    """Where somebody goes on after signing in."""
    if who.organiser:
        return "/organiser"
    return "/projects" if await here.storage.projects.list_for(who.id, "", 1) else "/runs"


async def _signed_in(here: Service, request: Request) -> Participant | None:
    return await here.access.signed_in(request)


async def _task(here: Service, name: str) -> SharedTask | None:
    return await here.storage.tasks.task(name) if NAME.fullmatch(name) else None


async def _task_after(here: Service, request: Request) -> SharedTask | None:
    """The task that the page before ended with."""
    return await _task(here, request.query_params.get("after", ""))


async def _run_after(here: Service, request: Request, who: Participant) -> Run | None:
    """The own run that the page before ended with."""
    token = request.query_params.get("after", "")
    run = await here.storage.tasks.run(token) if TOKEN.fullmatch(token) else None
    return run if run is not None and run.participant_id == who.id else None


def _following(names: Sequence[str]) -> str | None:
    """The last name of this page, if there are more rows than it shows."""
    return names[ROWS - 1] if len(names) > ROWS else None


def _number(request: Request, name: str, otherwise: int = 0) -> int:
    """A number in the query of the address; anything else counts as not given."""
    text = request.query_params.get(name, "")
    return min(int(text), MAX_SKIP) if text.isascii() and text.isdecimal() and len(text) < 20 else otherwise


async def _board(here: Service, task: SharedTask, who: Participant | None, request: Request) -> dict[str, Any]:
    shown = task.shows_results or (who is not None and who.organiser)
    after = _number(request, "after")
    rows, following = await leaderboard_rows(here, task, after, ROWS) if shown else ([], None)
    return {"task": task, "shown": shown, "rows": rows, "viewer": who, "after": after, "following": following}


async def _activity(here: Service, request: Request) -> dict[str, Any]:
    skipped = _number(request, "participants")
    people = await here.storage.participant_list(skipped, ROWS + 1)
    tasks = await here.storage.tasks.activity(await _task_after(here, request), ROWS + 1)
    return {
        "tasks": tasks[:ROWS],
        "following": _following([task["name"] for task in tasks]),
        "entries": await here.storage.tasks.recent_entries(ROWS),
        "participants": people[:ROWS],
        "more_participants": skipped + ROWS if len(people) > ROWS else None,
        "query": request.url.query,
    }


async def _form(request: Request) -> dict[str, str]:
    """The fields of a form. A form from another origin is refused; the cookie is SameSite=Strict too."""
    origin = request.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != request.headers.get("host", ""):
        raise ProblemError(NOT_FOUND)
    raw = await read_raw(request, MAX_FORM_BYTES)
    return {name: values[0] for name, values in parse_qs(raw.decode("utf-8", "replace")).items()}
