"""Client for shared tasks: `run(task, learner, task.judge)` translates for a service that keeps the references."""

from mtloop.client.client import Client
from mtloop.client.failures import ClientError, Refused, Unreachable
from mtloop.client.participation import join_or_resume, participate
from mtloop.client.responses import RunState, SourceSentence, SubmissionResult, TaskInfo
from mtloop.client.retry import Retry
from mtloop.client.task_stream import Task

__all__ = [
    "Client",
    "ClientError",
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
