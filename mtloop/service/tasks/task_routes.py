"""Routes of tasks: list and show them; change them, for organisers."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from mtloop.service.http import json_response, read_body
from mtloop.service.problems import NOT_ORGANISER, UNKNOWN_TASK, documented
from mtloop.service.state import service
from mtloop.service.tasks.bodies import TaskBody, TaskChangeBody, TaskList, task_json
from mtloop.service.tasks.run_routes import ALWAYS, WITH_BODY, body_of

router = APIRouter(prefix="/v1", tags=["tasks"])


@router.get("/tasks", response_model=TaskList, responses=documented(*ALWAYS))
async def list_tasks(request: Request) -> Response:
    """List all tasks."""
    here = service(request)
    await here.limits.charge((await here.access.participant(request)).id)
    return json_response({"tasks": [task_json(task) for task in await here.storage.tasks.task_list()]})


@router.get("/tasks/{task}", response_model=TaskBody, responses=documented(*ALWAYS, UNKNOWN_TASK))
async def show_task(task: str, request: Request) -> Response:
    """Show one task."""
    here = service(request)
    await here.limits.charge((await here.access.participant(request)).id)
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
    await here.limits.charge((await here.access.organiser(request)).id)
    body = await read_body(request, TaskChangeBody, here.settings.max_body)
    found = await here.run_access.task(task)
    changes = {name: value for name, value in body.model_dump().items() if value is not None}
    if changes:
        await here.storage.tasks.change_task(found.name, **changes)
    return Response(status_code=204)
