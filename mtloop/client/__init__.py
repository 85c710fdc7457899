"""Clients of a service: `Project` is a learner over HTTP; `Client` takes part in shared tasks.

`run(stream, project, judge)` measures a project. `run(task, learner, task.judge)` translates for a service that keeps
the references.
"""

from mtloop.client.client import Client
from mtloop.client.failures import ClientError, Refused, Unreachable
from mtloop.client.participation import join_or_resume, participate
from mtloop.client.project_client import Project
from mtloop.client.responses import (
    Confirmation,
    ImportProgress,
    ImportResult,
    ProjectCorrection,
    ProjectInfo,
    ProjectTranslation,
    RunState,
    SourceSentence,
    SubmissionResult,
    TaskInfo,
)
from mtloop.client.retry import Retry
from mtloop.client.task_stream import Task

__all__ = [
    "Client",
    "ClientError",
    "Confirmation",
    "ImportProgress",
    "ImportResult",
    "Project",
    "ProjectCorrection",
    "ProjectInfo",
    "ProjectTranslation",
    "Refused",
    "Retry",
    "RunState",
    "SourceSentence",
    "SubmissionResult",
    "Task",
    "TaskInfo",
    "Unreachable",
    "join_or_resume",
    "participate",
]
