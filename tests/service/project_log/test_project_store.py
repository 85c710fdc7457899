"""Projects and members, when several requests change them at the same time. On both databases."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from helpers.postgres import both_databases
from helpers.queries import queries_of
from helpers.raw_events import append_events
from helpers.shared_task import TaskServer
from sqlalchemy.ext.asyncio import AsyncConnection

from mtloop.service.accounts.keys import hash_key, new_key
from mtloop.service.audit.models import Actor
from mtloop.service.database import Database
from mtloop.service.project_log.event_log import Configured, Confirmed, GlossaryChanged
from mtloop.service.project_log.models import LastOrganiser, ProjectGone, Role, TranslationProject
from mtloop.service.storage import Storage

CONFIGURED = Configured("m", "lora")
PAIR, BY = ("en", "de"), Actor("me", "api")


async def results(*work: Awaitable[object]) -> Counter[str]:
    """The classes of the results and of the exceptions of works at the same time."""
    return Counter(type(one).__name__ for one in await asyncio.gather(*work, return_exceptions=True))


async def organised(storage: Storage, *names: str) -> TranslationProject:
    """A new project with these organisers."""
    people = [await storage.accounts.add_participant(name, hash_key(new_key())) for name in names]
    made = await storage.projects.create("p", PAIR, CONFIGURED, owner=people[0].id)
    for name in names[1:]:
        await storage.projects.set_member(made, name, Role.ORGANISE, BY)
    return made


@both_databases
def test_of_many_creations_of_one_name_one_succeeds(task_server: TaskServer) -> None:
    async def create(storage: Storage) -> Counter[str]:
        return await results(*(storage.projects.create("p", PAIR, CONFIGURED, BY) for _ in range(8)))

    assert task_server.with_storage(create) == {"TranslationProject": 1, "InputError": 7}


@both_databases
def test_of_many_copies_with_one_name_one_succeeds(task_server: TaskServer) -> None:
    async def copy(storage: Storage) -> Counter[str]:
        old = await storage.projects.create("p", PAIR, CONFIGURED, BY)
        await append_events(storage, old.id, [Confirmed("Save", "Speichern")])
        found = await results(*(storage.corrections.fork(old, "q", CONFIGURED, BY, None) for _ in range(5)))
        assert [one.name for one, _ in await storage.projects.list_for(None)] == ["p", "q"]
        return found

    assert task_server.with_storage(copy) == {"TranslationProject": 1, "InputError": 4}


@both_databases
def test_a_member_gets_the_role_of_the_last_of_many_changes(task_server: TaskServer) -> None:
    async def change(storage: Storage) -> dict[str, Role]:
        made = await organised(storage, "ann")
        await storage.accounts.add_participant("bob", hash_key(new_key()))
        roles = [Role.TRANSLATE, Role.CONFIRM] * 4
        found = await results(*(storage.projects.set_member(made, "bob", role, BY) for role in roles))
        assert found == {"NoneType": 8}
        await storage.projects.set_member(made, "bob", Role.CONFIRM, BY)
        return dict(await storage.projects.members(made))

    assert task_server.with_storage(change) == {"ann": Role.ORGANISE, "bob": Role.CONFIRM}


@both_databases
def test_one_of_two_organisers_stays(task_server: TaskServer) -> None:
    async def remove(storage: Storage) -> Counter[str]:
        made = await organised(storage, "ann", "bob")
        store = storage.projects
        changes = store.set_member(made, "ann", None, BY), store.set_member(made, "bob", Role.CONFIRM, BY)
        found = await results(*changes)
        assert Role.ORGANISE in dict(await store.members(made)).values()
        return found

    assert task_server.with_storage(remove) == {"NoneType": 1, LastOrganiser.__name__: 1}


def test_a_project_without_an_organiser_may_have_members(lite: TaskServer) -> None:
    async def change(storage: Storage) -> list[tuple[str, Role]]:
        await storage.accounts.add_participant("ann", hash_key(new_key()))
        made = await storage.projects.create("p", PAIR, CONFIGURED)
        for role in (Role.CONFIRM, None, Role.TRANSLATE):
            await storage.projects.set_member(made, "ann", role, BY)
        return await storage.projects.members(made)

    assert lite.with_storage(change) == [("ann", Role.TRANSLATE)]


@both_databases
def test_a_deletion_is_that_of_the_project_that_was_found(task_server: TaskServer) -> None:
    async def delete(storage: Storage) -> None:
        old = await storage.projects.create("p", PAIR, CONFIGURED)
        await storage.projects.delete_found(old, BY)
        new = await storage.projects.create("p", PAIR, CONFIGURED)
        with pytest.raises(ProjectGone):
            await storage.projects.delete_found(old, BY)
        assert await storage.projects.find("p") == new

    task_server.with_storage(delete)


@both_databases
def test_other_settings_forget_the_translations_of_the_base_model(task_server: TaskServer) -> None:
    async def translations(storage: Storage) -> list[str | None]:
        made = await storage.projects.create("p", PAIR, CONFIGURED)
        await append_events(storage, made.id, [Confirmed("Save", "Speichern", "Sichern")])
        seen = []

        async def look() -> None:
            one = await storage.corrections.one(made.id, 2)
            assert one is not None
            seen.append(one.base_translation)

        await storage.corrections.set_base_translations(made, {2: "Rette"})
        await storage.projects.change(made, [Configured("m", "lora", review=True)])
        await look()  # a review does not change the base model
        reviewed = await storage.projects.find("p")
        assert reviewed is not None
        await storage.projects.change(reviewed, [Configured("m", "lora", {"beam_size": 4})])
        await look()
        await storage.corrections.set_base_translations(made, {2: "Rette"})  # computed before the change
        await look()
        return seen

    assert task_server.with_storage(translations) == ["Rette", None, None]


@both_databases
def test_terms_that_many_add_at_the_same_time_are_all_stored(task_server: TaskServer) -> None:
    def adding(number: int) -> Callable[[GlossaryChanged], GlossaryChanged]:
        return lambda old: replace(old, terms={**old.terms, f"term {number}": f"Wort {number}"})

    async def add(storage: Storage) -> None:
        made = await storage.projects.create("p", PAIR, CONFIGURED, BY)
        await asyncio.gather(*(storage.projects.change_glossary(made.id, adding(number)) for number in range(12)))
        terms = {f"term {number}": f"Wort {number}" for number in range(12)}
        assert await storage.projects.glossary(made.id) == terms
        assert await storage.projects.last_numbers([made.id]) == {made.id: 13}

    task_server.with_storage(add)


@both_databases
def test_a_glossary_is_changed_before_the_transaction_and_not_in_the_event_loop(
    task_server: TaskServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On SQLite all who write would wait for it."""
    seen, writing = list[object](), Database.writing

    @asynccontextmanager
    async def noted(self: Database) -> AsyncIterator[AsyncConnection]:
        seen.append("transaction")
        async with writing(self) as connection:
            yield connection

    def change(old: GlossaryChanged) -> GlossaryChanged:
        seen.append(threading.current_thread())
        return GlossaryChanged({"file": "Datei"})

    async def add(storage: Storage) -> None:
        made = await storage.projects.create("p", PAIR, CONFIGURED, BY)
        monkeypatch.setattr(Database, "writing", noted)
        await storage.projects.change_glossary(made.id, change)
        assert seen[1:] == ["transaction"]
        assert seen[0] is not threading.current_thread()

    task_server.with_storage(add)


@both_databases
def test_the_newest_glossaries_of_many_projects_are_one_query(task_server: TaskServer) -> None:
    async def add(storage: Storage) -> None:
        made = [await storage.projects.create(name, PAIR, CONFIGURED, BY) for name in ("p", "q", "r")]
        for project in made[:2]:
            for term in ("file", f"file of {project.name}"):
                await storage.projects.change_glossary(project.id, lambda _, term=term: GlossaryChanged({term: "x"}))
        with queries_of("project_events") as queries:
            found = await storage.projects.newest_glossaries([project.id for project in made])
        assert {id: (one.number, one.event.terms) for id, one in found.items()} == {
            made[0].id: (3, {"file of p": "x"}),
            made[1].id: (3, {"file of q": "x"}),
        }
        assert len(queries) == 1
        assert [await storage.projects.glossary_number(project.id) for project in made] == [3, 3, 0]
        assert await storage.projects.newest_glossaries([]) == {}

    task_server.with_storage(add)


@both_databases
def test_a_change_of_a_glossary_that_fails_or_changes_nothing_takes_no_number(task_server: TaskServer) -> None:
    def fail(old: GlossaryChanged) -> GlossaryChanged:
        raise KeyError(old.id)

    async def change(storage: Storage) -> None:
        made = await storage.projects.create("p", PAIR, CONFIGURED, BY)
        stored = await storage.projects.change_glossary(made.id, lambda _: GlossaryChanged({"file": "Datei"}, "1"))
        with pytest.raises(KeyError, match="1"):
            await storage.projects.change_glossary(made.id, fail)
        assert await storage.projects.change_glossary(made.id, lambda old: old) == stored
        assert await storage.projects.newest_glossary(made.id) == stored
        assert await storage.projects.last_numbers([made.id]) == {made.id: 2}
        assert await storage.projects.change_glossary(made.id + 1, lambda old: old) is None

    task_server.with_storage(change)
