"""A run as a trace: what the database holds, in the form that metrics and reports read."""

from __future__ import annotations

from pathlib import Path

from mtloop import __version__
from mtloop.core.errors import InputError
from mtloop.core.trace import Header, TraceWriter
from mtloop.core.types import JSON, Proposal, Reward, Segment, Step, Truth
from mtloop.service.tasks.models import Run, SharedTask, Submission, TaskSentence
from mtloop.service.tasks.store import Store
from mtloop.service.tasks.tables import sentence_id


async def write_trace(store: Store, token: str, lap: int | None, path: Path) -> None:
    """One pass of a run, a step a submission, with the references."""
    run = await store.run(token)
    task = None if run is None else await store.task_of(run.task_id)
    if run is None or task is None:
        raise InputError(f"no run {token!r}; the organiser's page and GET /v1/runs show them")
    passes = [standing.lap for standing in await store.laps(run)]
    chosen = passes[-1] if lap is None else lap
    if chosen not in passes:
        raise InputError(f"run {token} has no pass {chosen}; it has 1 to {passes[-1]}")
    with TraceWriter(path, _header(task, run, chosen)) as trace:
        async for chunk in store.submissions(run, chosen):
            numbers = [sentence_id(task.id, task.layout.at(one.place.position)) for one in chunk]
            sentences = await store.sentences(numbers)
            for one, number in zip(chunk, numbers, strict=True):
                trace.write(_step(one, sentences[number]))


def _header(task: SharedTask, run: Run, lap: int) -> Header:
    config: dict[str, JSON] = {"task": task.name, "kind": task.kind, "reward": task.reward}
    config |= {"run": run.token, "pass": lap}
    return Header(config=config, versions={"mtloop": __version__})


def _step(one: Submission, sentence: TaskSentence) -> Step:
    segment = Segment(str(one.place.position + 1), sentence.source)
    truth = Truth((sentence.reference,))
    return Step(one.place.position, Proposal(segment, one.translation), Reward(one.reward), truth=truth)
