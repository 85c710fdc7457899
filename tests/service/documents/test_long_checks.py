"""The checks of a long text take a while: they are neither in the event loop nor in a transaction that writes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from helpers.document_calls import DocumentServer
from helpers.file_samples import tsv, xliff1
from sqlalchemy.ext.asyncio import AsyncConnection

from mtloop.service.database import Database
from mtloop.service.documents import failed_texts

SOURCE = "Open {name}."


def is_in_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that were checked. None may be checked in the event loop, or in a transaction that writes."""
    found, writing, begun = list[str](), Database.writing, list[bool]()

    @asynccontextmanager
    async def noted(self: Database) -> AsyncIterator[AsyncConnection]:
        async with writing(self) as connection:
            begun.append(True)
            try:
                yield connection
            finally:
                begun.pop()

    def check(work: Callable[..., Any]) -> Callable[..., Any]:
        def checked(source: str, text: str, **options: Any) -> Any:
            assert not is_in_event_loop()
            assert not begun
            found.append(text)
            return work(source, text, **options)

        return checked

    failed_texts._failed.cache_clear()
    monkeypatch.setattr(Database, "writing", noted)
    monkeypatch.setattr(failed_texts, "failed_checks", check(failed_texts.failed_checks))
    return found


def test_each_text_is_checked_once_before_its_transaction(lite_documents: DocumentServer, checked: list[str]) -> None:
    document = lite_documents.upload(tsv([(SOURCE, "")]), "menu.tsv")
    assert document.draft(0, "Öffnen").status_code == 200
    assert document.unit(0)["checks"][0]["name"] == "placeholders"
    assert document.draft(0, None).status_code == 200
    assert document.confirm(0, "Öffnen Sie {name}.").status_code == 200
    assert document.unit(0)["checks"] == []
    assert document.undo(0).status_code == 200
    assert checked == ["Öffnen", "Öffnen Sie {name}."]


def test_a_text_that_is_too_long_for_all_checks(lite_documents: DocumentServer, checked: list[str]) -> None:
    """It may still not break the file."""
    long = "Open <g id='1'>it</g> &amp; go. " * (failed_texts.MAX_CHECKED // 30)
    document = lite_documents.upload(
        xliff1(f'<trans-unit id="1"><source>{long.strip()}</source></trans-unit>'), "menu.xlf"
    )
    for wrong in ("  ", f"{long} & more", f"{long}<x id='9'/>"):
        response = document.confirm(0, wrong, force=True)
        assert (response.status_code, response.json()["type"]) == (422, "urn:mtloop:protected-text"), wrong[-20:]
    assert document.confirm(0, long.replace("Open", "Öffne").strip()).status_code == 200
    assert checked == []
