"""Routes of results: leaderboards for everyone, curves for the owner of a run."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel

from mtloop.service.http import json_response
from mtloop.service.problems import (
    RESULTS_HIDDEN,
    UNKNOWN_RUN,
    UNKNOWN_TASK,
    ProblemError,
    documented,
)
from mtloop.service.state import Service, service
from mtloop.service.tasks.leaderboard import LeaderboardRow, block_scores, leaderboard, running_averages
from mtloop.service.tasks.models import Run, SharedTask
from mtloop.service.tasks.run_routes import ALWAYS

router = APIRouter(prefix="/v1", tags=["results"])


class LeaderboardBody(BaseModel):
    """`rank` is null for a run that does not have the required samples yet."""

    task: str
    required_samples: int
    rows: list[dict[str, Any]]


class CurvesBody(BaseModel):
    """For each pass: running averages, and the scores on every complete occurrence of the held-out block."""

    passes: list[dict[str, Any]]


@router.get(
    "/tasks/{task}/leaderboard",
    response_model=LeaderboardBody,
    responses=documented(*ALWAYS, UNKNOWN_TASK, RESULTS_HIDDEN),
)
async def show_leaderboard(task: str, request: Request) -> Response:
    """Show the leaderboard. That of a training task is visible once the organiser has opened the results."""
    here = service(request)
    participant = await here.access.participant(request)
    await here.limits.charge(participant.id)
    found = await here.run_access.task(task)
    if not found.shows_results and not participant.organiser:
        raise ProblemError(RESULTS_HIDDEN)
    rows = [row_json(row) for row in leaderboard(found, await here.storage.tasks.entries(found))]
    return json_response({"task": found.name, "required_samples": found.required_samples, "rows": rows})


@router.get("/runs/{run}/curves", response_model=CurvesBody, responses=documented(*ALWAYS, UNKNOWN_RUN, RESULTS_HIDDEN))
async def show_curves(run: str, request: Request) -> Response:
    """Show the learning curves of a run."""
    here = service(request)
    found = await here.run_access.fresh_run(request, run)
    await here.limits.charge(found.participant.id)
    if not found.task.shows_results and not found.participant.organiser:
        raise ProblemError(RESULTS_HIDDEN)
    return json_response({"passes": await curves(here, found.run, found.task)})


def row_json(row: LeaderboardRow) -> dict[str, Any]:
    """A row of the public leaderboard. The run's id is left out: only its owner may see it."""
    body = asdict(row)
    del body["run"]
    return {"pass" if name == "pass_number" else name: value for name, value in body.items()}


async def curves(here: Service, run: Run, task: SharedTask) -> list[dict[str, Any]]:
    """The learning curves of every pass, for the page and the API."""
    store = here.storage.tasks
    points, checkpoints = await store.curve(run), await store.checkpoints(run)
    return [
        {
            "pass": now.pass_number,
            "position": now.position,
            "cumulative_reward": now.reward,
            "running": running_averages(
                task, [one for one in points.get(now.pass_number, []) if one.position < now.position] + [now]
            ),
            "held_out": [asdict(one) for one in block_scores(task, checkpoints.get(now.pass_number, []))],
        }
        for now in await store.passes(run)
    ]
