"""Several organisers create tasks at the same time."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from helpers.postgres import both_databases
from helpers.shared_task import write_data

from mtloop.core.errors import InputError
from mtloop.service import Settings
from mtloop.service.storage import Storage
from mtloop.service.tasks.creation import TaskFile, create_task
from mtloop.service.tasks.models import TaskSentence
from mtloop.service.tasks.store import TaskStore

BOTH = ("mock", "training")


@both_databases
@pytest.mark.parametrize("allowed", [False, True])
def test_two_tasks_with_the_same_sentences(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, allowed: bool
) -> None:
    """Neither sees the other when it begins. Only one of them becomes visible, unless both may overlap."""
    files, add = write_data(tmp_path), TaskStore.add_sentences
    read = list[int]()

    async def create() -> tuple[list[BaseException | None], list[str]]:
        storages = [Storage.connect(settings.url) for _ in BOTH]
        await storages[0].migrate()
        both_read = asyncio.Event()

        async def add_and_wait(self: TaskStore, task_id: int, first: int, rows: list[TaskSentence]) -> None:
            await add(self, task_id, first, rows)
            read.append(task_id)
            if len(read) == len(BOTH):
                both_read.set()
            await both_read.wait()

        monkeypatch.setattr(TaskStore, "add_sentences", add_and_wait)
        tasks = [TaskFile(kind, kind, **files, allow_overlap=allowed) for kind in BOTH]  # type: ignore[arg-type]
        made = (create_task(each.tasks, task) for each, task in zip(storages, tasks, strict=True))
        try:
            found = await asyncio.gather(*made, return_exceptions=True)
            return found, [task.name for task in await storages[0].tasks.task_list()]
        finally:
            for storage in storages:
                await storage.close()

    found, visible = asyncio.run(create())
    refused = [error for error in found if error is not None]
    assert len(read) == len(BOTH)
    if allowed:
        assert (refused, sorted(visible)) == ([], sorted(BOTH))
        return
    assert [type(error) for error in refused] == [InputError]
    assert f"20 also in task {visible[0]!r}" in str(refused[0])
    assert len(visible) == 1
