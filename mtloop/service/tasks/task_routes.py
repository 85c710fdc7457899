"""Routes of tasks: list and show them; change them, for organisers."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from mtloop.service.accounts.access import actor_of
from mtloop.service.http import json_response, read_body
from mtloop.service.problems import NOT_ORGANISER, UNKNOWN_TASK, documented
from mtloop.service.state import service
from mtloop.service.tasks.bodies import TaskBody, TaskChangeBody, TaskList, task_json
from mtloop.service.tasks.run_routes import ALWAYS, IN_PARTS, WITH_BODY, Limit, body_of

router = APIRouter(prefix="/v1", tags=["tasks"])


@router.get("/tasks", response_model=TaskList, responses=documented(*ALWAYS, *IN_PARTS, UNKNOWN_TASK))
async def list_tasks(
    request: Request,
    after: Annotated[str | None, Query(description="Tasks after this one: the `next` of the answer before.")] = None,
    limit: Limit = 100,
) -> Response:
    """List the tasks in the order of their creation."""
    here = service(request)
    await here.access.participant(request)
    last = None if after is None else await here.run_access.task(after)
    found = await here.storage.tasks.task_list(last, limit + 1)
    shown = found[:limit]
    following = shown[-1].name if len(found) > limit else None
    return json_response({"tasks": [task_json(task) for task in shown], "next": following})


@router.get("/tasks/{task}", response_model=TaskBody, responses=documented(*ALWAYS, UNKNOWN_TASK))
async def show_task(task: str, request: Request) -> Response:
    """Show one task."""
    here = service(request)
    await here.access.participant(request)
    return json_response(task_json(await here.run_access.task(task)))


@router.patch(
    "/tasks/{task}",
    status_code=204,
    responses=documented(*ALWAYS, *WITH_BODY, NOT_ORGANISER),
    openapi_extra=body_of(TaskChangeBody),
)
async def change_task(task: str, request: Request) -> Response:
    """For organisers: open or hide results, stop or resume a task."""
    here = service(request)
    who = await here.access.organiser(request)
    body = await read_body(request, TaskChangeBody, here.settings.max_body)
    found = await here.run_access.task(task)
    changes = {name: value for name, value in body.model_dump().items() if value is not None}
    await here.storage.tasks.change_task(found.name, actor_of(request, who), **changes)
    return Response(status_code=204)
