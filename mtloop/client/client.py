"""The HTTP API of a service, one method per route. `Project` has the routes of one project."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING
from urllib.parse import quote

from mtloop.client import responses
from mtloop.client.failures import Refused, ResponseLost
from mtloop.client.project_client import create_once, is_about, list_projects
from mtloop.client.responses import ProjectInfo, RunState, SourceSentence, SubmissionResult, TaskInfo
from mtloop.client.retry import Retry
from mtloop.client.task_stream import Task
from mtloop.client.transport import Transport, open_http
from mtloop.core.errors import UnknownName
from mtloop.core.types import JSON

if TYPE_CHECKING:
    import httpx2

MAX_CREATE_ATTEMPTS = 10  # for a request that must not be executed twice


class Client:
    """A client of a task service.

    Every request is retried during restarts and rate limits, as long as `retry` allows. No request is executed twice.

        with Client("https://tasks.example.org", key) as client:
            task = client.join("dev")
            for step in run(task, learner, task.judge):
                print(step.feedback)

    Args:
        service: The URL of the service, or an `httpx2.Client` (for example a test client of the service).
        key: The API key of the participant.
        timeout: The time limit of one attempt, in seconds.
        retry: How long and how often a request is repeated.
    """

    def __init__(
        self,
        service: str | httpx2.Client,
        key: str | None = None,
        *,
        timeout: float = 30.0,
        retry: Retry | None = None,
    ) -> None:
        self._owns_http = isinstance(service, str)
        http = open_http(service, timeout) if isinstance(service, str) else service
        self._transport = Transport(http, key, retry or Retry())
        self._rewarded: dict[str, str] = {}  # the last sentence of each run that got its reward

    def tasks(self) -> list[TaskInfo]:
        """Return the tasks that this key can access."""
        return [responses.parse_task(item) for item in self._whole_list("/v1/tasks", "tasks")]

    def task(self, name: str) -> TaskInfo:
        """Return a task by name. Raise UnknownName, with the known names, if it does not exist."""
        try:
            path = f"/v1/tasks/{quote(name, safe='')}"
            return responses.parse_task(self._transport.request("GET", path, is_answer=is_about("name", name)))
        except Refused as refused:
            if refused.status == 404:
                raise UnknownName("task", name, [task.name for task in self.tasks()]) from refused
            raise

    def projects(self) -> list[ProjectInfo]:
        """Return the projects that this key can access, by name."""
        return list_projects(self._transport)

    def create_project(self, name: str, **fields: JSON) -> ProjectInfo:
        """Create a project, which this key may organise.

        Args:
            name: Letters, digits, dots, dashes and underscores.
            **fields: model, method, settings, review, source_language, target_language. The service has defaults.
        """
        return create_once(self._transport, "/v1/projects", {"name": name, **fields}, name)

    def runs(self, task: str | None = None) -> list[RunState]:
        """Return the runs of this key, of one task or of all tasks."""
        path = "/v1/runs" if task is None else f"/v1/runs?task={quote(task, safe='')}"
        return [responses.parse_run_state(item) for item in self._whole_list(path, "runs")]

    def run(self, run: str) -> RunState:
        """Return the state of a run."""
        return responses.parse_run_state(self._transport.request("GET", _run_path(run), is_answer=is_about("run", run)))

    def start(self, task: str, name: str = "") -> RunState:
        """Start a new run. If the response is lost, look for the new run in the list of runs before trying again."""
        task_name = self.task(task).name
        before = {state.run for state in self.runs(task_name)}
        path, body = f"/v1/tasks/{quote(task_name, safe='')}/runs", {"name": name} if name else {}
        return self._create_once(
            path,
            body,
            lambda: _find_new_run(self.runs(task_name), before, name),
            lambda response: response.get("run") not in before,
        )

    def next_pass(self, run: str) -> RunState:
        """Start the next pass from the first sentence, if the task allows it."""
        before = self.run(run).pass_number
        return self._create_once(
            f"{_run_path(run)}/passes",
            {},
            lambda: _if_later_pass(self.run(run), before),
            lambda response: response.get("run", run) == run and response.get("pass") != before,
        )

    def next(self, run: str) -> SourceSentence | None:
        """Return the current sentence, the same one until it is translated; None at the end of the stream."""
        last = self._rewarded.get(run)
        try:
            response = self._transport.request(
                "GET", f"{_run_path(run)}/next", is_answer=lambda body: "source" in body and body.get("id", "") != last
            )
            return responses.parse_sentence(response)
        except Refused as refused:
            if refused.kind == "end-of-stream":
                return None
            raise

    def submit(self, run: str, sentence: str, translation: str) -> SubmissionResult:
        """Submit a translation and return its reward. Submitting the same text again returns the same reward."""
        body = {"id": sentence, "translation": translation}
        path = f"{_run_path(run)}/translations"
        response = self._transport.request("POST", path, body, is_answer=is_about("id", sentence))
        result = responses.parse_submission(response)
        self._rewarded[run] = sentence
        return result

    def join(self, task: str, run: str | None = None, *, name: str = "") -> Task:
        """Resume `run`, or start a new run if it is None. The returned task is a stream and a judge."""
        return Task(self, self.start(task, name) if run is None else self._existing_run(task, run))

    def close(self) -> None:
        """Close the connections, unless the caller supplied the HTTP client."""
        if self._owns_http:
            self._transport.http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({self._transport.address!r})"

    def _existing_run(self, task: str, run: str) -> RunState:
        state = self.run(run)
        if state.task != task:
            raise UnknownName("run", run, [known.run for known in self.runs(task)], owner=f"task {task}")
        return state

    def _whole_list(self, path: str, name: str) -> list[JSON]:
        """Return all items of a list that the service sends in parts; `next` says where the next part begins."""
        response = self._transport.request("GET", path)
        items = responses.get_list(response, name)
        while isinstance(after := response.get("next"), str):
            response = self._transport.request(
                "GET", f"{path}{'&' if '?' in path else '?'}after={quote(after, safe='')}"
            )
            items = items + responses.get_list(response, name)
        return items

    def _create_once(
        self,
        path: str,
        body: dict[str, str],
        find: Callable[[], RunState | None],
        is_answer: Callable[[Mapping[str, JSON]], bool],
    ) -> RunState:
        """Create a run or a pass exactly once. After a lost response, `find` it before trying again."""
        retry, attempt = self._transport.retry, 0
        while True:
            try:
                response = self._transport.request("POST", path, dict(body), repeatable=False, is_answer=is_answer)
                return responses.parse_run_state(response)
            except ResponseLost:
                retry.sleep(retry.wait(attempt))
                if (created := find()) is not None:
                    return created
                attempt += 1
                if attempt == MAX_CREATE_ATTEMPTS:
                    raise


def _run_path(run: str) -> str:
    return f"/v1/runs/{quote(run, safe='')}"


def _find_new_run(runs: list[RunState], before: set[str], name: str) -> RunState | None:
    """Return the run that did not exist before. The name excludes a run that another process started with this key."""
    return next((state for state in runs if state.run not in before and state.name in (None, name)), None)


def _if_later_pass(state: RunState, before: int) -> RunState | None:
    return state if state.pass_number > before else None
