"""The three calls of the 2017 client."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar
from urllib.parse import unquote

from mtloop.client.client import Client
from mtloop.client.failures import Refused, Unreachable
from mtloop.client.task_stream import Task
from mtloop.client.wmt_client_python.configuration import Configuration, configuration
from mtloop.client.wmt_client_python.models import Sentence, Translation, TranslationResponse
from mtloop.client.wmt_client_python.rest import ApiException
from mtloop.core.errors import InputError

P = ParamSpec("P")
T = TypeVar("T")
TASKS = "/v1/tasks/"


def as_in_2017(call: Callable[P, T]) -> Callable[P, T]:
    """Convert errors to the ApiException of the 2017 client."""

    @wraps(call)
    def calling(*arguments: P.args, **keywords: P.kwargs) -> T:
        try:
            return call(*arguments, **keywords)
        except Refused as refused:
            raise ApiException(refused.status, refused.detail or refused.title, refused.body) from refused
        except Unreachable as error:
            raise ApiException(0, str(error)) from error

    return calling


class SharedTaskApi:
    """Get sentences and submit translations one by one."""

    def __init__(self, settings: Configuration | None = None, *, client: Client | None = None) -> None:
        self._settings, self._client = settings or configuration, client
        self._task: Task | None = None

    @as_in_2017
    def reset_dataset(self) -> None:
        """Start again at the first sentence: in the next pass, or in a new run if no pass is left.

        Do nothing if the current pass has no translation yet. In a training task the service refuses it (409).
        """
        task = self._joined()
        if task.state().position == 0:
            return
        try:
            task.next_pass()
        except Refused as refused:
            if refused.status != 409 or task.client.task(task.initial_state.task).kind == "training":
                raise
            self._task = task.client.join(task.initial_state.task)

    @as_in_2017
    def get_sentence(self) -> Sentence:
        """Return the current sentence, the same until it is translated. Status 404 means the end of the stream."""
        task = self._joined()
        sentence = task.client.next(task.run)
        if sentence is None:
            raise ApiException(404, "the stream has ended")
        return Sentence(sentence.id, sentence.source)

    @as_in_2017
    def send_translation(self, translation: Translation) -> TranslationResponse:
        """Submit a translation and return its reward."""
        task = self._joined()
        result = task.client.submit(task.run, translation.id, translation.translation)
        return TranslationResponse(result.id, result.reward)

    def _joined(self) -> Task:
        if self._task is None:
            address, name = split(self._settings.host)
            client = self._client or Client(address, self._settings.api_key.get("x-api-key"))
            self._task = newest(client, name or _only(client))
        return self._task


def split(host: str) -> tuple[str, str]:
    """Split a host into the address of the service and the name of the task ("" if none).

    >>> split("https://example.org/mt/v1/tasks/dev/"), split("http://localhost:8017")
    (('https://example.org/mt', 'dev'), ('http://localhost:8017', ''))
    """
    address, _, name = host.rstrip("/").partition(TASKS)
    return address, unquote(name)


def newest(client: Client, task: str) -> Task:
    """Resume the newest run of this key in a task, or start a new run if there is none."""
    runs = client.runs(client.task(task).name)
    return client.join(task, runs[-1].run if runs else None)


def _only(client: Client) -> str:
    names = [task.name for task in client.tasks()]
    if len(names) != 1:
        raise InputError(
            f"configuration.host has no task name; append {TASKS}NAME, where NAME is one of: {', '.join(names)}"
        )
    return names[0]
