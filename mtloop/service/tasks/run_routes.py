"""Routes of runs: start one, get sentences, submit translations."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Query, Request, Response

from mtloop.service.fast_routes import FastRoute
from mtloop.service.http import BODY_TOO_LARGE, check_text, json_response, read_body
from mtloop.service.problems import (
    ALREADY_TRANSLATED,
    DATABASE_UNAVAILABLE,
    END_OF_STREAM,
    EXPIRED_KEY,
    NO_MORE_PASSES,
    NO_MORE_RUNS,
    TASK_STOPPED,
    TOO_LARGE,
    UNFINISHED_PASS,
    UNKNOWN_KEY,
    UNKNOWN_RUN,
    UNKNOWN_SENTENCE,
    UNKNOWN_TASK,
    WRONG_CONTENT_TYPE,
    WRONG_ORDER,
    Problem,
    ProblemError,
    documented,
    invalid_request,
    too_many,
)
from mtloop.service.state import Service, service
from mtloop.service.tasks.bodies import (
    NewRunBody,
    RewardBody,
    RunBody,
    RunList,
    SentenceBody,
    TranslationBody,
    result_json,
    run_json,
    sentence_json,
)
from mtloop.service.tasks.models import RunProgress
from mtloop.service.tasks.run_access import AuthorisedRun
from mtloop.service.tasks.submissions import (
    PendingSentence,
    RewardedSubmission,
    SentenceRequest,
    Stale,
    TranslationRequest,
)

T = TypeVar("T", PendingSentence, RewardedSubmission)
Call = Callable[[AuthorisedRun], Awaitable[T | Problem | Stale]]
ALWAYS = (UNKNOWN_KEY, EXPIRED_KEY, too_many(60), DATABASE_UNAVAILABLE)
TRANSLATION_TOO_LARGE = replace(TOO_LARGE, detail="The translation has more characters than this task allows.")
WITH_BODY = (BODY_TOO_LARGE, WRONG_CONTENT_TYPE, invalid_request("The body does not match the description."))
IN_PARTS = (invalid_request("A parameter does not match the description."),)
MAX_NUMBER = 2**31 - 1  # the largest number that both databases compare with a column of numbers
Limit = Annotated[int, Query(ge=1, le=500, description="The most items of one answer.")]
MAX_LOOKUPS = 5  # how often a request may find that its cached run or task is stale

router = APIRouter(prefix="/v1", tags=["runs"])


def body_of(model: type) -> dict[str, Any]:
    """The OpenAPI description of a body that the route reads itself."""
    return {
        "requestBody": {
            "required": model is not NewRunBody,
            "content": {"application/json": {"schema": model.model_json_schema()}},  # type: ignore[attr-defined]
        }
    }


@router.post(
    "/tasks/{task}/runs",
    status_code=201,
    response_model=RunBody,
    responses=documented(*ALWAYS, *WITH_BODY, UNKNOWN_TASK, NO_MORE_RUNS, TASK_STOPPED),
    openapi_extra=body_of(NewRunBody),
)
async def start_run(task: str, request: Request) -> Response:
    """Start a run of a task."""
    here = service(request)
    participant = await here.access.participant(request)
    body = await read_body(request, NewRunBody, here.settings.max_body)
    found = await here.run_access.task(task)
    if found.stopped:
        raise ProblemError(TASK_STOPPED)
    run = await here.storage.tasks.add_run(found, participant, check_text(body.name, "name"))
    if run is None:
        raise ProblemError(NO_MORE_RUNS)
    return json_response(run_json(run, RunProgress(), found), 201)


@router.get("/runs", response_model=RunList, responses=documented(*ALWAYS, *IN_PARTS, UNKNOWN_TASK, UNKNOWN_RUN))
async def list_runs(
    request: Request,
    task: Annotated[str | None, Query()] = None,
    after: Annotated[str | None, Query(description="Runs after this one: the `next` of the answer before.")] = None,
    limit: Limit = 100,
) -> Response:
    """List your runs of all tasks, or of one, in the order of their start."""
    here = service(request)
    participant = await here.access.participant(request)
    only = None if task is None else await here.run_access.task(task)
    last = None if after is None else (await here.run_access.fresh_run(request, after)).run
    found = await here.storage.tasks.runs_of(participant, only.id if only else None, last, limit + 1)
    tasks = await here.storage.tasks.tasks_by_id(run.task_id for run, _ in found)
    shown = found[:limit]
    listed = [run_json(run, progress, tasks[run.task_id]) for run, progress in shown if run.task_id in tasks]
    return json_response({"runs": listed, "next": shown[-1][0].token if len(found) > limit else None})


@router.get("/runs/{run}", response_model=RunBody, responses=documented(*ALWAYS, UNKNOWN_RUN))
async def show_run(run: str, request: Request) -> Response:
    """Show the progress of a run."""
    here = service(request)
    found = await here.run_access.fresh_run(request, run)
    progress, _ = await here.storage.tasks.progress([found.run.id])
    return json_response(run_json(found.run, progress[found.run.id], found.task))


@router.get(
    "/runs/{run}/next",
    response_model=SentenceBody,
    responses=documented(*ALWAYS, UNKNOWN_RUN, END_OF_STREAM, TASK_STOPPED),
)
async def next_sentence(run: str, request: Request) -> Response:
    """Get the sentence to translate. It stays the same until its translation is submitted."""
    here = service(request)

    async def ask(found: AuthorisedRun) -> PendingSentence | Problem | Stale:
        return await here.submissions.next(SentenceRequest(found.run, found.task, found.version))

    found = await here.run_access.run(request, run)
    return json_response(sentence_json(await _with_fresh_cache(here, request, found, ask)))


@router.post(
    "/runs/{run}/translations",
    response_model=RewardBody,
    responses=documented(
        *ALWAYS,
        *WITH_BODY,
        TRANSLATION_TOO_LARGE,
        UNKNOWN_RUN,
        UNKNOWN_SENTENCE,
        ALREADY_TRANSLATED,
        WRONG_ORDER,
        TASK_STOPPED,
    ),
    openapi_extra=body_of(TranslationBody),
)
async def translate(run: str, request: Request) -> Response:
    """Submit a translation. Returns its reward and the next sentence. The same translation again: the same reward."""
    here = service(request)
    found = await here.run_access.run(request, run)
    body = await read_body(request, TranslationBody, here.settings.max_body)
    text = check_text(body.translation, "translation")
    if len(text) > found.task.max_characters:
        raise ProblemError(TRANSLATION_TOO_LARGE)

    async def submit(found: AuthorisedRun) -> RewardedSubmission | Problem | Stale:
        return await here.submissions.submit(TranslationRequest(found.run, found.task, found.version, body.id, text))

    result = await _with_fresh_cache(here, request, found, submit)
    here.metrics.rewards.inc()
    return json_response(result_json(result))


@router.post(
    "/runs/{run}/passes",
    status_code=201,
    response_model=RunBody,
    responses=documented(*ALWAYS, UNKNOWN_RUN, NO_MORE_PASSES, UNFINISHED_PASS, TASK_STOPPED),
)
async def start_pass(run: str, request: Request) -> Response:
    """Start the next pass, up to the task's limit: of a mock task at any time, of a dev task after the current pass."""
    here = service(request)
    found = await here.run_access.fresh_run(request, run)
    task = found.task
    if task.stopped:
        raise ProblemError(TASK_STOPPED)
    if task.kind == "training":
        raise ProblemError(NO_MORE_PASSES)
    samples = None if task.kind == "mock" else task.samples
    started = await here.storage.tasks.start_pass(found.run, task.max_passes, samples)
    if isinstance(started, Problem):
        raise ProblemError(started)
    return json_response(run_json(found.run, started, task), 201)


async def _with_fresh_cache(
    here: Service,
    request: Request,
    found: AuthorisedRun,
    ask: Callable[[AuthorisedRun], Awaitable[T | Problem | Stale]],
) -> T:
    """Ask; if the cached run or task is stale, look it up again and repeat."""
    for _ in range(MAX_LOOKUPS):
        result = await ask(found)
        if isinstance(result, Problem):
            raise ProblemError(result)
        if not isinstance(result, Stale):
            return result
        here.clear_caches()
        found = await here.run_access.run(request, found.run.token)
    raise ProblemError(DATABASE_UNAVAILABLE)


FAST_ROUTES = {
    ("GET", "next"): FastRoute("/v1/runs/{run}/next", next_sentence),
    ("POST", "translations"): FastRoute("/v1/runs/{run}/translations", translate),
}
