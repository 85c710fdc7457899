"""The three calls of 2017."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar
from urllib.parse import unquote

from mtloop.client.client import Client
from mtloop.client.failures import Refused, Unreachable
from mtloop.client.shared_task import Task
from mtloop.client.wmt_client_python.configuration import Configuration, configuration
from mtloop.client.wmt_client_python.models import Sentence, Translation, TranslationResponse
from mtloop.client.wmt_client_python.rest import ApiException
from mtloop.core.errors import InputError

P = ParamSpec("P")
T = TypeVar("T")
TASKS = "/v1/tasks/"


def as_in_2017(call: Callable[P, T]) -> Callable[P, T]:
    """Errors as that client raised them."""

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
    """Sentences one by one, translations one by one."""

    def __init__(self, settings: Configuration | None = None, *, client: Client | None = None) -> None:
        self._settings, self._client = settings or configuration, client
        self._task: Task | None = None

    @as_in_2017
    def reset_dataset(self) -> None:
        """From the first sentence on again: the next pass, or a new run where there is none. Not in training.

        A stream of which nothing was translated yet is at its first sentence already.
        """
        task = self._joined()
        if task.state().position == 0:
            return
        try:
            task.next_pass()
        except Refused as refused:
            if refused.status != 409 or task.client.task(task.joined.task).kind == "training":
                raise
            self._task = task.client.join(task.joined.task)

    @as_in_2017
    def get_sentence(self) -> Sentence:
        """The next sentence; the same until it is translated. Status 404: there is none any more."""
        task = self._joined()
        sentence = task.client.next(task.run)
        if sentence is None:
            raise ApiException(404, "the stream has ended")
        return Sentence(sentence.id, sentence.source)

    @as_in_2017
    def send_translation(self, translation: Translation) -> TranslationResponse:
        """The reward of a translation."""
        task = self._joined()
        answer = task.client.submit(task.run, translation.id, translation.translation)
        return TranslationResponse(answer.id, answer.reward)

    def _joined(self) -> Task:
        if self._task is None:
            address, name = split(self._settings.host)
            client = self._client or Client(address, self._settings.api_key.get("x-api-key"))
            self._task = newest(client, name or _only(client))
        return self._task


def split(host: str) -> tuple[str, str]:
    """The service's address and the task's name.

    >>> split("https://example.org/mt/v1/tasks/dev/"), split("http://localhost:8017")
    (('https://example.org/mt', 'dev'), ('http://localhost:8017', ''))
    """
    address, _, name = host.rstrip("/").partition(TASKS)
    return address, unquote(name)


def newest(client: Client, task: str) -> Task:
    """My newest run of a task, where it stands, else a new one."""
    runs = client.runs(client.task(task).name)
    return client.join(task, runs[-1].run if runs else None)


def _only(client: Client) -> str:
    names = [task.name for task in client.tasks()]
    if len(names) != 1:
        raise InputError(
            f"configuration.host names no task; put {TASKS}NAME behind it, NAME one of: {', '.join(names)}"
        )
    return names[0]
