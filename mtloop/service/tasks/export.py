"""A run in the database, written as a trace that metrics and reports read."""

from __future__ import annotations

from pathlib import Path

from mtloop import __version__
from mtloop.core.errors import InputError
from mtloop.core.trace import Header, TraceWriter
from mtloop.core.types import JSON, Proposal, Reward, Segment, Step, Truth
from mtloop.service.tasks.models import Run, SharedTask, Submission, TaskSentence
from mtloop.service.tasks.store import TaskStore
from mtloop.service.tasks.tables import sentence_id


async def write_trace(store: TaskStore, token: str, pass_number: int | None, path: Path) -> None:
    """Write one pass of a run (None: the last), with the references, one step for each submission."""
    run = await store.run(token)
    task = None if run is None else await store.task_by_id(run.task_id)
    if run is None or task is None:
        raise InputError(f"no run {token!r}; the organiser's page and GET /v1/runs list them")
    progress, _ = await store.progress([run.id])
    last = progress[run.id].pass_number
    chosen = last if pass_number is None else pass_number
    if not 1 <= chosen <= last:
        raise InputError(f"run {token} has no pass {chosen}; it has 1 to {last}")
    with TraceWriter(path, _header(task, run, chosen)) as trace:
        async for chunk in store.submissions(run, chosen):
            ids = [sentence_id(task.id, task.layout.sentence_at(one.at.position)) for one in chunk]
            sentences = await store.sentences(ids)
            for one, number in zip(chunk, ids, strict=True):
                trace.write(_step(one, sentences[number]))


def _header(task: SharedTask, run: Run, pass_number: int) -> Header:
    config: dict[str, JSON] = {"task": task.name, "kind": task.kind, "reward": task.reward}
    config |= {"run": run.token, "pass": pass_number}
    return Header(config=config, versions={"mtloop": __version__})


def _step(one: Submission, sentence: TaskSentence) -> Step:
    segment = Segment(str(one.at.position + 1), sentence.source)
    truth = Truth((sentence.reference,))
    return Step(one.at.position, Proposal(segment, one.translation), Reward(one.reward), truth=truth)
