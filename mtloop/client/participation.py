"""Take part in a task with a trace on disk. The participant and the service may be killed at any time.

The file `run.pending.json` next to `run.jsonl` contains the proposal that is being submitted. If the participant is
killed after the service computed the reward and before the trace contains it, the same translation is submitted again
and gets the same reward. So no reward is lost or counted twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from mtloop.client.failures import Refused
from mtloop.client.task_stream import Task
from mtloop.core import serialisation
from mtloop.core.errors import InputError, SerialisationError, TraceError
from mtloop.core.protocols import Learner, Stateful, Stream
from mtloop.core.record import record
from mtloop.core.trace import Header, Trace, is_trace_start
from mtloop.core.types import JSON, Feedback, Fields, Learned, Proposal, Reward, Segment, Step, Truth

if TYPE_CHECKING:
    from mtloop.client.client import Client


def join_or_resume(client: Client, path: str | Path, task: str, run: str | None = None) -> tuple[Task, dict[str, JSON]]:
    """Resume the run of the trace at `path`. Without a trace, resume `run`, or start a new run if it is None.

    The second value is the part of the trace header's config that describes the run: task, run and first_step, the
    number of translations in the run before this trace.
    """
    trace = read_existing_trace(Path(path))
    if trace is None:
        joined = client.join(task, run) if run else _join_new(client, task)
        return joined, {"task": task, "run": joined.run, "first_step": joined.initial_state.done}
    config: dict[str, JSON] = {name: trace.header.config.get(name) for name in ("task", "run", "first_step")}
    if config["task"] != task or not isinstance(config["run"], str) or run not in (None, config["run"]):
        message = f"the trace belongs to task {config['task']}, run {config['run']}; choose another name"
        raise TraceError(message, path=path)
    return client.join(task, config["run"]), config


def _join_new(client: Client, task: str) -> Task:
    """Start a new run. If the task allows no more runs, resume one that has no translations yet."""
    try:
        return client.join(task)
    except Refused as refused:
        if refused.kind != "no-more-runs":
            raise
        runs = client.runs(task)
    unused = [state.run for state in runs if state.done == 0]
    if not unused:
        names = ", ".join(state.run for state in runs)
        raise InputError(f"task {task} allows no further run; resume one of your runs with --run: {names}")
    return client.join(task, unused[-1])


def participate(
    path: str | Path, header: Header, task: Task, learner: Learner, *, passes: int = 1, snapshot_every: int = 100
) -> Iterator[Step]:
    """Run `record` on a task: write each step to `path`, or resume an unfinished trace there.

    The header's config must contain the second value of `join_or_resume`. All `passes` passes go into the same trace.
    All steps are yielded, first those that the trace already has.
    """
    path = Path(path)
    trace, pending_file = read_existing_trace(path), PendingProposalFile(path.with_suffix(".pending.json"), task.run)
    past = trace.steps if trace else []
    pending = _unrecorded(past, pending_file.read())
    _check_progress(path, header.config, task, len(past), len(past) + bool(pending))
    stream = chain(_segments(past), _segments([Step(len(past), pending)] if pending else []), _passes(task, passes))
    resuming = ResubmittingLearner(learner, pending) if pending else learner
    judge = WriteAheadJudge(task, pending_file)
    yield from record(path, header, stream, resuming, judge, snapshot_every=snapshot_every)
    pending_file.clear()


def read_existing_trace(path: Path) -> Trace | None:
    """Return the trace at `path`, or None if there is no file or only an incomplete first line."""
    if not path.exists():
        return None
    try:
        return Trace.read(path)
    except TraceError:
        with path.open("rb") as file:
            first = file.readline()
        if is_trace_start(first) and not first.endswith(b"\n"):
            return None
        raise


class PendingProposalFile:
    """A file with the proposal that may have been submitted but is not in the trace yet."""

    def __init__(self, path: Path, run: str) -> None:
        self.path, self.run = path, run
        self._temporary = path.with_suffix(".tmp")

    def write(self, proposal: Proposal) -> None:
        """Write the file atomically: if the process is killed, the file is complete or unchanged."""
        self._temporary.write_bytes(serialisation.dumps({"run": self.run, "proposal": serialisation.encode(proposal)}))
        self._temporary.replace(self.path)

    def read(self) -> Proposal | None:
        """Return the proposal of this run, or None if there is no file or it belongs to another run."""
        if not self.path.exists():
            return None
        try:
            content = serialisation.loads(self.path.read_bytes())
            return serialisation.decode(Proposal, content.get("proposal")) if content.get("run") == self.run else None
        except SerialisationError as error:
            raise TraceError(f"the file has no valid proposal: {error}; remove the file", path=self.path) from error

    def clear(self) -> None:
        for path in (self.path, self._temporary):
            path.unlink(missing_ok=True)


class WriteAheadJudge:
    """The judge of a task. It writes each proposal to the pending file before submitting it."""

    def __init__(self, task: Task, pending_file: PendingProposalFile) -> None:
        self.task, self.pending_file = task, pending_file

    def __call__(self, proposal: Proposal, truth: Truth | None) -> Reward:
        self.pending_file.write(proposal)
        return self.task.judge(proposal, truth)


class ResubmittingLearner:
    """A learner that repeats one pending proposal for its segment, and delegates everything else.

    A submitted translation cannot be changed, and a learner with random draws would propose another text.
    """

    def __init__(self, learner: Learner, pending: Proposal) -> None:
        self.learner, self.pending = learner, pending
        if isinstance(learner, Stateful):
            self.save, self.load = learner.save, learner.load

    def propose(self, segment: Segment) -> Proposal:
        return self.pending if segment == self.pending.segment else self.learner.propose(segment)

    def learn(self, proposal: Proposal, feedback: Feedback) -> Learned:
        return self.learner.learn(proposal, feedback)


def _unrecorded(past: Sequence[Step], pending: Proposal | None) -> Proposal | None:
    """Return the pending proposal if it is not the last step of the trace, else None."""
    return None if pending is None or (past and past[-1].proposal.segment == pending.segment) else pending


def _check_progress(path: Path, config: Fields, task: Task, least: int, most: int) -> None:
    """Check that trace and service agree on the number of translations, except for one pending proposal."""
    first, done = config.get("first_step"), task.initial_state.done
    if not isinstance(first, int) or config.get("run") != task.run:
        raise InputError(
            "the header's config must contain the values that `join_or_resume` returns: task, run, first_step"
        )
    if not least <= done - first <= most:
        raise TraceError(
            f"the trace has {least} steps, but the service has {done} translations of run {task.run}: "
            "the run was continued without this trace; "
            f"resume it with a new trace (mtloop join --run {task.run} --out ...)",
            path=path,
        )


def _segments(steps: Sequence[Step]) -> Stream:
    return ((step.proposal.segment, None) for step in steps)


def _passes(task: Task, passes: int) -> Stream:
    yield from task
    while passes > 1 and task.state().pass_number < passes:
        task.next_pass()
        yield from task
