"""The glossary of a project is made once after each change, and not in the event loop."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from helpers.shared_task import TaskServer

from mtloop.service.audit.models import Actor
from mtloop.service.project_log import glossary_cache
from mtloop.service.project_log.event_log import Configured, GlossaryChanged
from mtloop.service.project_log.glossary_cache import GlossaryCache
from mtloop.service.storage import Storage
from mtloop.text.glossary import Glossary


def test_a_glossary_is_made_once_after_each_change(task_server: TaskServer, monkeypatch: pytest.MonkeyPatch) -> None:
    made = list[threading.Thread]()

    class NotedGlossary(Glossary):
        @classmethod
        def of(cls, *arguments: Any) -> Glossary:
            made.append(threading.current_thread())
            return Glossary.of(*arguments)

    monkeypatch.setattr(glossary_cache, "Glossary", NotedGlossary)

    async def terms(cache: GlossaryCache, storage: Storage, text: str) -> list[str]:
        project = await storage.projects.find("p")
        assert project is not None
        return [match.term.source for match in (await cache.of(project)).find(text)]

    async def work(storage: Storage) -> None:
        cache = GlossaryCache(storage.projects)
        project = await storage.projects.create("p", ("en", "de"), Configured("m", "lora"), Actor("me", "api"))
        assert [await terms(cache, storage, "a file") for _ in range(2)] == [[], []]
        assert len(made) == 1
        for term in ("file", "tray"):
            await storage.projects.change_glossary(project.id, lambda _, term=term: GlossaryChanged({term: "x"}))
            assert [await terms(cache, storage, f"a {term}") for _ in range(2)] == [[term], [term]]
        assert len(made) == 3
        assert threading.current_thread() not in made

    task_server.with_storage(work)
