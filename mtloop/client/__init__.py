"""Taking part in a task that a service runs: `run(task, learner, task.judge)`, wherever the references are."""

from mtloop.client.answers import Judged, RunState, SourceSentence, TaskInfo
from mtloop.client.client import Client
from mtloop.client.failures import ClientError, Refused, Unreachable
from mtloop.client.participation import participate, rejoin
from mtloop.client.retry import Retry
from mtloop.client.shared_task import Task

__all__ = [
    "Client",
    "ClientError",
    "Judged",
    "Refused",
    "Retry",
    "RunState",
    "SourceSentence",
    "Task",
    "TaskInfo",
    "Unreachable",
    "participate",
    "rejoin",
]
