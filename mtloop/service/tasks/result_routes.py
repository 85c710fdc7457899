"""What came of it: leaderboards for all, curves for the owner of a run, switches for organisers."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel

from mtloop.service.problems import HIDDEN, NOT_ORGANISER, UNKNOWN_RUN, UNKNOWN_TASK, ProblemError, documented
from mtloop.service.state import Service, service
from mtloop.service.tasks.bodies import ResultsBody, answer, read_body
from mtloop.service.tasks.leaderboard import Line, held_out, leaderboard, running
from mtloop.service.tasks.models import Run, SharedTask
from mtloop.service.tasks.run_routes import ALWAYS, SENT, body_of

router = APIRouter(prefix="/v1", tags=["results"])


class LeaderboardBody(BaseModel):
    """`rank` is null for a run that has not had the required samples yet."""

    task: str
    required: int
    lines: list[dict[str, Any]]


class CurvesBody(BaseModel):
    """For each pass: running averages, and the scores on the held-out block each time it was gone through."""

    passes: list[dict[str, Any]]


@router.get(
    "/tasks/{task}/leaderboard",
    response_model=LeaderboardBody,
    responses=documented(*ALWAYS, UNKNOWN_TASK, HIDDEN),
)
async def show_leaderboard(task: str, request: Request) -> Response:
    """Who stands where; of a training task only once the organiser has opened the results."""
    here = service(request)
    participant = await here.access.participant(request)
    await here.limits.charge(participant.id)
    found = await here.access.task(task)
    if not found.shows_results and not participant.organiser:
        raise ProblemError(HIDDEN)
    board = leaderboard(found, await here.store.entries(found))
    return answer({"task": found.name, "required": found.required, "lines": [line_json(line) for line in board]})


@router.get("/runs/{run}/curves", response_model=CurvesBody, responses=documented(*ALWAYS, UNKNOWN_RUN, HIDDEN))
async def show_curves(run: str, request: Request) -> Response:
    """How a run has been doing."""
    here = service(request)
    known = await here.access.fresh_run(request, run)
    await here.limits.charge(known.participant.id)
    if not known.task.shows_results and not known.participant.organiser:
        raise ProblemError(HIDDEN)
    return answer({"passes": await curves(here, known.run, known.task)})


@router.patch(
    "/tasks/{task}",
    status_code=204,
    responses=documented(*ALWAYS, *SENT, NOT_ORGANISER),
    openapi_extra=body_of(ResultsBody),
)
async def change_task(task: str, request: Request) -> Response:
    """For organisers: open or hide results, stop a task or let it go on."""
    here = service(request)
    await here.limits.charge((await here.access.organiser(request)).id)
    body = await read_body(request, ResultsBody, here.settings.max_body)
    found = await here.access.task(task)
    changes = {name: value for name, value in body.model_dump().items() if value is not None}
    if changes:
        await here.store.change_task(found.name, **changes)
    return Response(status_code=204)


def line_json(line: Line) -> dict[str, Any]:
    """A line for everyone: a run's id is its owner's business."""
    body = asdict(line)
    del body["run"]
    return {"pass" if name == "lap" else name: value for name, value in body.items()}


async def curves(here: Service, run: Run, task: SharedTask) -> list[dict[str, Any]]:
    """What the page and the API draw curves from."""
    points, checkpoints = await here.store.curve(run), await here.store.checkpoints(run)
    return [
        {
            "pass": at.lap,
            "position": at.position,
            "cumulative_reward": at.reward,
            "running": running(task, [one for one in points.get(at.lap, []) if one.position < at.position] + [at]),
            "held_out": [asdict(one) for one in held_out(task, checkpoints.get(at.lap, []))],
        }
        for at in await here.store.laps(run)
    ]
