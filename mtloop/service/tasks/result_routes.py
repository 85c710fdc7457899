"""Routes of results: leaderboards for everyone, curves for the owner of a run."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
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
from mtloop.service.tasks.models import CheckpointSums, Run, RunProgress, SharedTask
from mtloop.service.tasks.run_routes import ALWAYS, IN_PARTS, MAX_NUMBER

PASSES_PER_PAGE, MAX_PASSES_PER_PAGE = 20, 50
MAX_ROWS = 1000  # of a leaderboard, in one answer

router = APIRouter(prefix="/v1", tags=["results"])


class LeaderboardBody(BaseModel):
    """`rank` is null for a run that does not have the required samples yet. `next`: the `after` of the next rows."""

    task: str
    required_samples: int
    rows: list[dict[str, Any]]
    next: int | None


class CurvesBody(BaseModel):
    """For each pass: running averages at intervals and, once the pass is over, the scores on each held-out block.

    `next`: the `after` of the next passes.
    """

    passes: list[dict[str, Any]]
    next: int | None


@router.get(
    "/tasks/{task}/leaderboard",
    response_model=LeaderboardBody,
    responses=documented(*ALWAYS, *IN_PARTS, UNKNOWN_TASK, RESULTS_HIDDEN),
)
async def show_leaderboard(
    task: str,
    request: Request,
    after: Annotated[int, Query(ge=0, le=MAX_NUMBER, description="Number of rows to skip.")] = 0,
    limit: Annotated[int, Query(ge=1, le=MAX_ROWS, description="The most rows of one answer.")] = 100,
) -> Response:
    """Show the leaderboard. That of a training task is visible once the organiser has opened the results.

    The rows of one answer belong together. Ranks may move between two answers: a run may then be in both or in neither.
    """
    here = service(request)
    participant = await here.access.participant(request)
    found = await here.run_access.task(task)
    if not found.shows_results and not participant.organiser:
        raise ProblemError(RESULTS_HIDDEN)
    rows, following = await leaderboard_rows(here, found, after, limit)
    shown = {"task": found.name, "required_samples": found.required_samples}
    return json_response(shown | {"rows": [row_json(row) for row in rows], "next": following})


@router.get(
    "/runs/{run}/curves",
    response_model=CurvesBody,
    responses=documented(*ALWAYS, *IN_PARTS, UNKNOWN_RUN, RESULTS_HIDDEN),
)
async def show_curves(
    run: str,
    request: Request,
    after: Annotated[int, Query(ge=0, le=MAX_NUMBER, description="Passes after this one.")] = 0,
    limit: Annotated[int, Query(ge=1, le=MAX_PASSES_PER_PAGE)] = PASSES_PER_PAGE,
) -> Response:
    """Show the learning curves of a run."""
    here = service(request)
    found = await here.run_access.fresh_run(request, run)
    if not found.task.shows_results and not found.participant.organiser:
        raise ProblemError(RESULTS_HIDDEN)
    passes, following = await curves(here, found.run, found.task, after, limit)
    return json_response({"passes": passes, "next": following})


def row_json(row: LeaderboardRow) -> dict[str, Any]:
    """A row of the public leaderboard. The run's id is left out: only its owner may see it."""
    shown = {name: value for name, value in vars(row).items() if name != "run"}
    return {"pass" if name == "pass_number" else name: value for name, value in shown.items()}


async def leaderboard_rows(
    here: Service, task: SharedTask, after: int, limit: int
) -> tuple[list[LeaderboardRow], int | None]:
    """Rows of the leaderboard after the first `after`, and the number of rows before the next ones (None: no more)."""
    entries = await here.storage.tasks.entries(task, after, limit + 1)
    rows = await asyncio.to_thread(leaderboard, task, entries[:limit], after)  # a thousand rows take long
    return rows, after + limit if len(entries) > limit else None


async def curves(
    here: Service, run: Run, task: SharedTask, after: int, limit: int
) -> tuple[list[dict[str, Any]], int | None]:
    """The learning curves of passes after a pass, and the number of the last one (None: no passes follow)."""
    store = here.storage.tasks
    found = await store.passes(run, after, limit + 1)
    shown = found[:limit]
    numbers = [one.pass_number for one in shown]
    points, checkpoints = await store.curve(run, numbers), await store.checkpoints(run, numbers)
    passes = await asyncio.to_thread(_curves_of, task, shown, points, checkpoints)  # many blocks take long
    return passes, numbers[-1] if len(found) > limit else None


def _curves_of(
    task: SharedTask,
    passes: Sequence[RunProgress],
    points: Mapping[int, list[RunProgress]],
    checkpoints: Mapping[int, list[CheckpointSums]],
) -> list[dict[str, Any]]:
    return [
        {
            "pass": now.pass_number,
            "position": now.position,
            "cumulative_reward": now.reward,
            "running": running_averages(task, _reached(points.get(now.pass_number, []), now)),
            "held_out": [asdict(one) for one in block_scores(task, now, checkpoints.get(now.pass_number, []))],
        }
        for now in passes
    ]


def _reached(points: list[RunProgress], now: RunProgress) -> list[RunProgress]:
    """The points up to a position: some may have come after it was read."""
    return [one for one in points if one.position <= now.position]
