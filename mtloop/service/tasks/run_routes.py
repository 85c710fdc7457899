"""Runs: where participants spend their time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Query, Request, Response

from mtloop.service.accounts.access import Known
from mtloop.service.fast_routes import Fast
from mtloop.service.problems import (
    AWAY,
    END,
    NO_KEY,
    NO_MORE_PASSES,
    NO_MORE_RUNS,
    STOPPED,
    TOO_LARGE,
    TRANSLATED,
    UNFINISHED,
    UNKNOWN_RUN,
    UNKNOWN_SENTENCE,
    UNKNOWN_TASK,
    WRONG_ORDER,
    WRONG_TYPE,
    Problem,
    ProblemError,
    documented,
    invalid,
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
    answer,
    check_text,
    given_json,
    read_body,
    rewarded_json,
    run_json,
)
from mtloop.service.tasks.models import RunProgress
from mtloop.service.tasks.submissions import Asked, Given, HandedIn, Stale, SubmissionResult

T = TypeVar("T", Given, SubmissionResult)
ALWAYS = (NO_KEY, too_many(60), AWAY)
SENT = (TOO_LARGE, WRONG_TYPE, invalid("The body is not what the description asks for."))
PATIENCE = 5  # how often what is known may turn out stale within one request

router = APIRouter(prefix="/v1", tags=["runs"])


def body_of(model: type) -> dict[str, Any]:
    """The description of a body that the route reads itself."""
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
    responses=documented(*ALWAYS, *SENT, UNKNOWN_TASK, NO_MORE_RUNS, STOPPED),
    openapi_extra=body_of(NewRunBody),
)
async def start_run(task: str, request: Request) -> Response:
    """Start a run of a task."""
    here = service(request)
    participant = await here.access.participant(request)
    await here.limits.charge(participant.id)
    body = await read_body(request, NewRunBody, here.settings.max_body)
    found = await here.access.task(task)
    if found.stopped:
        raise ProblemError(STOPPED)
    run = await here.store.add_run(found, participant, check_text(body.name, "name"))
    if run is None:
        raise ProblemError(NO_MORE_RUNS)
    return answer(run_json(run, RunProgress(), found), 201)


@router.get("/runs", response_model=RunList, responses=documented(*ALWAYS, UNKNOWN_TASK))
async def list_runs(request: Request, task: Annotated[str | None, Query()] = None) -> Response:
    """Your runs, of all tasks or of one."""
    here = service(request)
    participant = await here.access.participant(request)
    await here.limits.charge(participant.id)
    only = None if task is None else await here.access.task(task)
    tasks = {one.id: one for one in ([only] if only else await here.store.task_list())}
    runs = await here.store.runs_of(participant, only.id if only else None)
    return answer({"runs": [run_json(run, at, tasks[run.task_id]) for run, at in runs if run.task_id in tasks]})


@router.get("/runs/{run}", response_model=RunBody, responses=documented(*ALWAYS, UNKNOWN_RUN))
async def show_run(run: str, request: Request) -> Response:
    """How far a run has come."""
    here = service(request)
    known = await _fresh(here, request, run)
    standings, _ = await here.store.standings([known.run.id])
    return answer(run_json(known.run, standings[known.run.id], known.task))


@router.get("/runs/{run}/next", response_model=SentenceBody, responses=documented(*ALWAYS, UNKNOWN_RUN, END, STOPPED))
async def next_sentence(run: str, request: Request) -> Response:
    """The sentence to translate; the same one until its translation has come."""
    here = service(request)

    async def ask(known: Known) -> Given | Problem | Stale:
        return await here.desk.next(Asked(known.run, known.task, known.epoch))

    known = await here.access.run(request, run)
    return answer(given_json(await _at_the_desk(here, request, known, ask)))


@router.post(
    "/runs/{run}/translations",
    response_model=RewardBody,
    responses=documented(*ALWAYS, *SENT, UNKNOWN_RUN, UNKNOWN_SENTENCE, TRANSLATED, WRONG_ORDER, STOPPED),
    openapi_extra=body_of(TranslationBody),
)
async def translate(run: str, request: Request) -> Response:
    """Hand in a translation: the reward, and the next sentence. Handing in the same again gives the same reward."""
    here = service(request)
    known = await here.access.run(request, run)
    body = await read_body(request, TranslationBody, here.settings.max_body)
    text = check_text(body.translation, "translation")
    if len(text) > known.task.characters:
        raise ProblemError(TOO_LARGE)

    async def hand_in(known: Known) -> SubmissionResult | Problem | Stale:
        return await here.desk.submit(HandedIn(known.run, known.task, known.epoch, body.id, text))

    rewarded = await _at_the_desk(here, request, known, hand_in)
    here.meters.rewards.inc()
    return answer(rewarded_json(rewarded))


@router.post(
    "/runs/{run}/passes",
    status_code=201,
    response_model=RunBody,
    responses=documented(*ALWAYS, UNKNOWN_RUN, NO_MORE_PASSES, UNFINISHED, STOPPED),
)
async def start_pass(run: str, request: Request) -> Response:
    """Start over: a mock task at any time, a dev task when the pass is done and while there are passes left."""
    here = service(request)
    known = await _fresh(here, request, run)
    task = known.task
    if task.stopped:
        raise ProblemError(STOPPED)
    if task.kind == "training":
        raise ProblemError(NO_MORE_PASSES)
    started = await here.store.start_lap(known.run, task.passes, None if task.kind == "mock" else task.samples)
    if isinstance(started, Problem):
        raise ProblemError(started)
    return answer(run_json(known.run, started, task), 201)


async def _fresh(here: Service, request: Request, run: str) -> Known:
    known = await here.access.fresh_run(request, run)
    await here.limits.charge(known.participant.id)
    return known


async def _at_the_desk(
    here: Service, request: Request, known: Known, ask: Callable[[Known], Awaitable[T | Problem | Stale]]
) -> T:
    """Ask; where the asker's key or task has changed since they were looked up, look again."""
    await here.limits.charge(known.participant.id)
    for _ in range(PATIENCE):
        result = await ask(known)
        if isinstance(result, Problem):
            raise ProblemError(result)
        if not isinstance(result, Stale):
            return result
        here.forget()
        known = await here.access.run(request, known.run.token)
    raise ProblemError(AWAY)


FAST = {
    ("GET", "next"): Fast("/v1/runs/{run}/next", next_sentence),
    ("POST", "translations"): Fast("/v1/runs/{run}/translations", translate),
}
