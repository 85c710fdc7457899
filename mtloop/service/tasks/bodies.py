"""What goes over the wire, apart from the tables. The models check what comes in and describe what goes out."""

from __future__ import annotations

import json
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.requests import Request
from starlette.responses import Response

from mtloop.service.problems import TOO_LARGE, WRONG_TYPE, ProblemError, invalid
from mtloop.service.tasks.models import Kind, Run, RunProgress, SharedTask
from mtloop.service.tasks.submissions import Given, SubmissionResult

B = TypeVar("B", bound=BaseModel)
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_OPEN = ConfigDict(extra="forbid", strict=True)


class NewRunBody(BaseModel):
    """A new run; the name is for leaderboards."""

    model_config = _OPEN
    name: Annotated[str, Field(max_length=80, pattern=r"^[^\x00-\x1f\x7f]*$")] = ""


class TranslationBody(BaseModel):
    """The translation of the sentence with this id."""

    model_config = _OPEN
    id: Annotated[str, Field(max_length=64)]
    translation: str


class ResultsBody(BaseModel):
    """What an organiser changes about a task; what is left out stays."""

    model_config = _OPEN
    opened: bool | None = None
    stopped: bool | None = None


class ProblemBody(BaseModel):
    type: str
    title: str
    status: int
    detail: str


class TaskBody(BaseModel):
    name: str
    kind: Kind
    source_language: str
    target_language: str
    samples: int
    passes: int
    reward: str


class TaskList(BaseModel):
    tasks: list[TaskBody]


class RunBody(BaseModel):
    model_config = ConfigDict(populate_by_name=True)
    run: str
    name: str
    task: str
    lap: Annotated[int, Field(alias="pass")]
    samples: int
    position: int
    cumulative_reward: float
    state: Annotated[str, Field(description="open, finished or stopped")]


class RunList(BaseModel):
    runs: list[RunBody]


class SentenceBody(BaseModel):
    id: str
    source: str


class RewardBody(BaseModel):
    id: str
    reward: float
    next: SentenceBody | None


def task_json(task: SharedTask) -> dict[str, Any]:
    """A task as participants see it: nothing of how its held-out block lies."""
    names = ("name", "kind", "source_language", "target_language", "samples", "passes", "reward")
    return {name: getattr(task, name) for name in names}


def run_json(run: Run, standing: RunProgress, task: SharedTask) -> dict[str, Any]:
    finished = standing.position >= task.samples
    return {
        "run": run.token,
        "name": run.name,
        "task": task.name,
        "pass": standing.lap,
        "samples": task.samples,
        "position": standing.position,
        "cumulative_reward": standing.reward,
        "state": "finished" if finished else "stopped" if task.stopped else "open",
    }


def given_json(given: Given) -> dict[str, Any]:
    return {"id": given.id, "source": given.source}


def rewarded_json(rewarded: SubmissionResult) -> dict[str, Any]:
    following = None if rewarded.next is None else given_json(rewarded.next)
    return {"id": rewarded.id, "reward": rewarded.reward, "next": following}


def answer(body: dict[str, Any], status: int = 200) -> Response:
    """JSON, quickly: what is in it has been checked on its way in."""
    return Response(_encode(body).encode(), status, media_type="application/json")


async def read_body(request: Request, kind: type[B], largest: int) -> B:
    """The body of a request, or the problem with it; an empty one is an empty object."""
    raw = await read_raw(request, largest)
    if raw and request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise ProblemError(WRONG_TYPE)
    try:
        return kind.model_validate_json(raw or b"{}")
    except ValidationError as error:
        raise ProblemError(invalid(_told(error))) from None


def check_text(text: str, field: str) -> str:
    """Text that every database can keep; NUL is the one character PostgreSQL has no room for."""
    if "\x00" in text:
        raise ProblemError(invalid(f"{field}: NUL bytes are not text"))
    return text


async def read_raw(request: Request, largest: int) -> bytes:
    pieces, size = [], 0
    async for piece in request.stream():
        size += len(piece)
        if size > largest:
            raise ProblemError(TOO_LARGE)
        pieces.append(piece)
    return b"".join(pieces)


def _told(error: ValidationError) -> str:
    """Where the body is wrong and how, without a word of what was in it."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"]) or "body"
    if first["type"] == "json_invalid":
        return "body: not valid JSON in UTF-8"
    return f"{where}: {first['msg']}"
