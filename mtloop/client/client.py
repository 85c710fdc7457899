"""A service, as a participant sees it: what the routes say, one method a route."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING
from urllib.parse import quote

from mtloop.client import answers
from mtloop.client.answers import Judged, RunState, SourceSentence, TaskInfo
from mtloop.client.failures import Lost, Refused
from mtloop.client.retry import Retry
from mtloop.client.shared_task import Task
from mtloop.client.transport import Transport, open_http
from mtloop.core.errors import UnknownName

if TYPE_CHECKING:
    import httpx2

DOUBTS = 10  # how often a request that must not be carried out twice is tried


class Client:
    """Speaks to the service at an address, or through an `httpx2.Client` (a test client of the service is one).

    Every request waits for the service through restarts and rate limits, as long as `retry` allows; none is ever
    carried out twice. `timeout` is that of one try, in seconds.

        with Client("https://tasks.example.org", key) as client:
            task = client.join("dev")
            for step in run(task, learner, task.judge):
                print(step.feedback)
    """

    def __init__(
        self,
        service: str | httpx2.Client,
        key: str | None = None,
        *,
        timeout: float = 30.0,
        retry: Retry | None = None,
    ) -> None:
        self._own = isinstance(service, str)
        http = open_http(service, timeout) if isinstance(service, str) else service
        self._transport = Transport(http, key, retry or Retry())

    def tasks(self) -> list[TaskInfo]:
        """The tasks that this key may see."""
        answer = self._transport.request("GET", "/v1/tasks")
        return [answers.task_info(item) for item in answers.listed(answer, "tasks")]

    def task(self, name: str) -> TaskInfo:
        """One task; a wrong name answers with the right ones."""
        try:
            return answers.task_info(self._transport.request("GET", f"/v1/tasks/{quote(name, safe='')}"))
        except Refused as refused:
            if refused.status == 404:
                raise UnknownName("task", name, [task.name for task in self.tasks()]) from refused
            raise

    def runs(self, task: str | None = None) -> list[RunState]:
        """My runs, of one task or of all."""
        where = "/v1/runs" if task is None else f"/v1/runs?task={quote(task, safe='')}"
        return [answers.run_state(item) for item in answers.listed(self._transport.request("GET", where), "runs")]

    def run(self, run: str) -> RunState:
        """How far a run has come."""
        return answers.run_state(self._transport.request("GET", f"{_of(run)}"))

    def start(self, task: str, name: str = "") -> RunState:
        """A new run. Where the answer is lost, my runs tell whether it was started; it never is twice."""
        name_of_task = self.task(task).name
        before = {state.run for state in self.runs(name_of_task)}
        path, body = f"/v1/tasks/{quote(name_of_task, safe='')}/runs", {"name": name} if name else {}
        return self._once(path, body, lambda: _new(self.runs(name_of_task), before, name))

    def next_pass(self, run: str) -> RunState:
        """From the first sentence on again, where the task allows it."""
        before = self.run(run).pass_number
        return self._once(f"{_of(run)}/passes", {}, lambda: _later(self.run(run), before))

    def next(self, run: str) -> SourceSentence | None:
        """The sentence to translate; the same one until it is translated, None at the end of the stream."""
        try:
            return answers.sentence(self._transport.request("GET", f"{_of(run)}/next"))
        except Refused as refused:
            if refused.kind == "end-of-stream":
                return None
            raise

    def submit(self, run: str, sentence: str, translation: str) -> Judged:
        """The reward of a translation. Asked for again with the same text, it is the same reward."""
        body = {"id": sentence, "translation": translation}
        return answers.judged(self._transport.request("POST", f"{_of(run)}/translations", body))

    def join(self, task: str, run: str | None = None, *, name: str = "") -> Task:
        """Take part: in a run of mine where it stands, else in a new one. The task is a stream and a judge."""
        return Task(self, self.start(task, name) if run is None else self._mine(task, run))

    def close(self) -> None:
        """Close the connections, unless they came with the client that was given."""
        if self._own:
            self._transport.http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({self._transport.address!r})"

    def _mine(self, task: str, run: str) -> RunState:
        state = self.run(run)
        if state.task != task:
            raise UnknownName(f"run of task {task}", run, [mine.run for mine in self.runs(task)])
        return state

    def _once(self, path: str, body: dict[str, str], find: Callable[[], RunState | None]) -> RunState:
        """Have something made once: after a lost answer, look whether it was made before asking again."""
        retry, attempt = self._transport.retry, 0
        while True:
            try:
                return answers.run_state(self._transport.request("POST", path, dict(body), repeatable=False))
            except Lost:
                retry.sleep(retry.wait(attempt))
                if (made := find()) is not None:
                    return made
                attempt += 1
                if attempt == DOUBTS:
                    raise


def _of(run: str) -> str:
    return f"/v1/runs/{quote(run, safe='')}"


def _new(runs: list[RunState], before: set[str], name: str) -> RunState | None:
    """The run that was not there before; another's of the same key has another name, where names are given."""
    return next((state for state in runs if state.run not in before and state.name in (None, name)), None)


def _later(state: RunState, before: int) -> RunState | None:
    return state if state.pass_number > before else None
