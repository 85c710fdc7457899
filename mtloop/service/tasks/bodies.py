"""Request and response bodies of the task API. The models validate requests and describe responses."""

from __future__ import annotations

import re
import unicodedata
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from mtloop.service.tasks.models import Kind, Run, RunProgress, SharedTask
from mtloop.service.tasks.submissions import PendingSentence, RewardedSubmission

_STRICT = ConfigDict(extra="forbid", strict=True)
_INVISIBLE = {"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"}  # categories: control, format (bidi, zero width), unassigned
_BLANK = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")


def visible_name(name: str) -> str:
    """Return a name. Characters that are not seen, or that change how others are shown, are refused.

    So is a name of spaces only.
    """
    if name.isspace():
        raise PydanticCustomError("blank", "expected a name, not only spaces")
    if _BLANK.search(name) or any(unicodedata.category(one) in _INVISIBLE for one in name):
        raise PydanticCustomError("invisible", "invisible and control characters are not allowed")
    return name


class NewRunBody(BaseModel):
    """A new run. The name is shown on leaderboards. It has characters that are seen, or it is empty."""

    model_config = _STRICT
    name: Annotated[str, Field(max_length=80, pattern=r"^[^\x00-\x1f\x7f]*$"), AfterValidator(visible_name)] = ""


class TranslationBody(BaseModel):
    """The translation of the sentence with this id."""

    model_config = _STRICT
    id: Annotated[str, Field(max_length=64)]
    translation: Annotated[str, Field(json_schema_extra={"pattern": r"^[^\x00]*$"})]


class TaskChangeBody(BaseModel):
    """What an organiser changes about a task: one field at least. A field that is left out keeps its value."""

    model_config = _STRICT | ConfigDict(json_schema_extra={"minProperties": 1})
    results_open: bool | None = None
    stopped: bool | None = None

    @model_validator(mode="after")
    def _check_change(self) -> TaskChangeBody:
        if self.results_open is None and self.stopped is None:
            raise PydanticCustomError("no_change", "set results_open or stopped")
        return self


class TaskBody(BaseModel):
    name: str
    kind: Kind
    source_language: str
    target_language: str
    samples: int
    max_passes: int
    reward: str


class TaskList(BaseModel):
    """`next`: the `after` of the next tasks; null if there are no more."""

    tasks: list[TaskBody]
    next: str | None


class RunBody(BaseModel):
    model_config = ConfigDict(populate_by_name=True)
    run: str
    name: str
    task: str
    pass_number: Annotated[int, Field(alias="pass")]
    samples: int
    position: int
    cumulative_reward: float
    state: Annotated[str, Field(description="open, finished or stopped")]


class RunList(BaseModel):
    """`next`: the `after` of the next runs; null if there are no more."""

    runs: list[RunBody]
    next: str | None


class SentenceBody(BaseModel):
    id: str
    source: str


class RewardBody(BaseModel):
    id: str
    reward: float
    next: SentenceBody | None


def task_json(task: SharedTask) -> dict[str, Any]:
    """A task for participants. It does not say where the held-out block is."""
    return {
        "name": task.name,
        "kind": task.kind,
        "source_language": task.source_language,
        "target_language": task.target_language,
        "samples": task.samples,
        "max_passes": task.max_passes,
        "reward": task.reward,
    }


def run_json(run: Run, progress: RunProgress, task: SharedTask) -> dict[str, Any]:
    finished = progress.position >= task.samples
    return {
        "run": run.token,
        "name": run.name,
        "task": task.name,
        "pass": progress.pass_number,
        "samples": task.samples,
        "position": progress.position,
        "cumulative_reward": progress.reward,
        "state": "finished" if finished else "stopped" if task.stopped else "open",
    }


def sentence_json(sentence: PendingSentence) -> dict[str, Any]:
    return {"id": sentence.id, "source": sentence.source}


def result_json(result: RewardedSubmission) -> dict[str, Any]:
    following = None if result.next is None else sentence_json(result.next)
    return {"id": result.id, "reward": result.reward, "next": following}
