"""Routes of tasks for participants."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from mtloop.service.http import json_response
from mtloop.service.problems import UNKNOWN_TASK, documented
from mtloop.service.state import service
from mtloop.service.tasks.bodies import TaskBody, TaskList, task_json
from mtloop.service.tasks.run_routes import ALWAYS

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
