"""Taking part with a memory on disk: participant and service may each be killed at any moment.

Beside `run.jsonl` lies `run.pending.json`, the proposal that is on its way to the service. If the participant is
killed after the service gave its reward and before the trace has it, the same translation is submitted again and
told the same reward: nothing is lost, nothing counts twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from mtloop.client.failures import Refused
from mtloop.client.shared_task import Task
from mtloop.core import serialisation
from mtloop.core.errors import InputError, TraceError, WireError
from mtloop.core.protocols import Learner, Stateful, Stream
from mtloop.core.record import record
from mtloop.core.trace import Header, Trace, is_header
from mtloop.core.types import JSON, Feedback, Fields, Learned, Proposal, Reward, Segment, Step, Truth

if TYPE_CHECKING:
    from mtloop.client.client import Client


def rejoin(client: Client, path: str | Path, task: str, run: str | None = None) -> tuple[Task, dict[str, JSON]]:
    """The run that the trace at `path` is of, else a new one (or `run`); and what the trace's header says of it."""
    old = begun(Path(path))
    if old is None:
        joined = client.join(task, run) if run else _new(client, task)
        return joined, {"task": task, "run": joined.run, "begun": joined.joined.done}
    where: dict[str, JSON] = {name: old.header.config.get(name) for name in ("task", "run", "begun")}
    if where["task"] != task or not isinstance(where["run"], str) or run not in (None, where["run"]):
        raise TraceError(f"is of task {where['task']}, run {where['run']}; choose another name", path=path)
    return client.join(task, where["run"]), where


def _new(client: Client, task: str) -> Task:
    """A new run; where there may be no more, one that was killed before its first translation will do."""
    try:
        return client.join(task)
    except Refused as refused:
        if refused.kind != "no-more-runs":
            raise
        mine = client.runs(task)
    fresh = [state.run for state in mine if state.done == 0]
    if not fresh:
        names = ", ".join(state.run for state in mine)
        raise InputError(f"task {task} allows no further run; take up one of yours with --run: {names}")
    return client.join(task, fresh[-1])


def participate(
    path: str | Path, header: Header, task: Task, learner: Learner, *, passes: int = 1, every: int = 100
) -> Iterator[Step]:
    """`record` over a task: each step is written to `path`, an unfinished trace there is continued.

    The header's config holds what `rejoin` says of the run. A stream of fewer than `passes` passes is begun again,
    in the same trace. All steps are yielded, the recorded ones first.
    """
    path = Path(path)
    trace, journal = begun(path), Journal(path.with_suffix(".pending.json"), task.run)
    past = trace.steps if trace else []
    lost = _lost(past, journal.read())
    _check(path, header.config, task, len(past), len(past) + bool(lost))
    stream = chain(_segments(past), _segments([Step(len(past), lost)] if lost else []), _passes(task, passes))
    mind = Recalling(learner, lost) if lost else learner
    yield from record(path, header, stream, mind, Submitting(task, journal), every=every)
    journal.clear()


def begun(path: Path) -> Trace | None:
    """The trace at `path`; None where there is none, or one that was cut off within its first line."""
    if not path.exists():
        return None
    try:
        return Trace.read(path)
    except TraceError:
        with path.open("rb") as file:
            first = file.readline()
        if is_header(first) and not first.endswith(b"\n"):
            return None
        raise


class Journal:
    """The proposal that may have been submitted though no trace says so; a file of one object, or none."""

    def __init__(self, path: Path, run: str) -> None:
        self.path, self.run = path, run
        self._unfinished = path.with_suffix(".tmp")

    def write(self, proposal: Proposal) -> None:
        """In place whole or not at all, whenever this process is killed."""
        self._unfinished.write_bytes(serialisation.dumps({"run": self.run, "proposal": serialisation.encode(proposal)}))
        self._unfinished.replace(self.path)

    def read(self) -> Proposal | None:
        """What was written for this run."""
        if not self.path.exists():
            return None
        try:
            noted = serialisation.loads(self.path.read_bytes())
            return serialisation.decode(Proposal, noted.get("proposal")) if noted.get("run") == self.run else None
        except WireError as error:
            raise TraceError(f"holds no proposal: {error}; remove it", path=self.path) from error

    def clear(self) -> None:
        for path in (self.path, self._unfinished):
            path.unlink(missing_ok=True)


class Submitting:
    """The task's judge, with each proposal in the journal before it leaves."""

    def __init__(self, task: Task, journal: Journal) -> None:
        self.task, self.journal = task, journal

    def __call__(self, proposal: Proposal, truth: Truth | None) -> Reward:
        self.journal.write(proposal)
        return self.task.judge(proposal, truth)


class Recalling:
    """A learner that says again what it said before it was killed, and from then on speaks for itself.

    What was submitted cannot be changed, and a learner that draws at random would say something else.
    """

    def __init__(self, learner: Learner, said: Proposal) -> None:
        self.learner, self.said = learner, said
        if isinstance(learner, Stateful):
            self.save, self.load = learner.save, learner.load

    def propose(self, segment: Segment) -> Proposal:
        return self.said if segment == self.said.segment else self.learner.propose(segment)

    def learn(self, proposal: Proposal, feedback: Feedback) -> Learned:
        return self.learner.learn(proposal, feedback)


def _lost(past: Sequence[Step], noted: Proposal | None) -> Proposal | None:
    """The noted proposal, if the trace does not have it."""
    return None if noted is None or (past and past[-1].proposal.segment == noted.segment) else noted


def _check(path: Path, where: Fields, task: Task, least: int, most: int) -> None:
    """Trace and service must agree on how far the run has come, but for the one proposal on its way."""
    first, done = where.get("begun"), task.joined.done
    if not isinstance(first, int) or where.get("run") != task.run:
        raise InputError("the header's config must hold what `rejoin` says of the run: task, run, begun")
    if not least <= done - first <= most:
        raise TraceError(
            f"holds {least} steps, but the service has {done} translations of run {task.run}: it went on elsewhere; "
            f"take it up where it stands under another name (mtloop join --run {task.run} --out ...)",
            path=path,
        )


def _segments(steps: Sequence[Step]) -> Stream:
    return ((step.proposal.segment, None) for step in steps)


def _passes(task: Task, passes: int) -> Stream:
    yield from task
    while passes > 1 and task.state().pass_number < passes:
        task.next_pass()
        yield from task
