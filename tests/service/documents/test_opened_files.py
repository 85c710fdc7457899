"""Files of documents are opened once, and a large one does not keep the others waiting."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from helpers.file_samples import tsv

from mtloop.service.documents import document_files
from mtloop.service.documents.document_files import DocumentFiles
from mtloop.service.documents.models import StoredDocument
from mtloop.service.documents.store import DocumentStore
from mtloop.service.project_log.models import TranslationProject

PROJECT = TranslationProject(1, "p", "en", "de", "m", "memory")
SMALL, LARGE, OTHER_LARGE = 1, 2, 3
CONTENTS = {number: tsv([("Open the file", "")] * 10**number) for number in (SMALL, LARGE)}
CONTENTS[OTHER_LARGE] = CONTENTS[LARGE]


@dataclass
class FilesAndOpenings:
    """Opened files, and which of them were opened. `go_on` lets large ones be opened."""

    files: DocumentFiles
    opened: list[int] = field(default_factory=list)
    go_on: threading.Event = field(default_factory=threading.Event)

    async def check(self, number: int, place: int = 0) -> None:
        document = StoredDocument(number, 1, f"{number:032x}", "menu.tsv", "tsv", 10**number, 0, 0.0, "ann")
        await self.files.check(PROJECT, document, place, "Datei öffnen")


class StoredContents:
    async def content(self, document_id: int) -> bytes:
        return CONTENTS[document_id]


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> Iterator[FilesAndOpenings]:
    made = FilesAndOpenings(DocumentFiles(cast(DocumentStore, StoredContents())))
    reopened = document_files._reopened

    def noted(content: bytes, *others: Any) -> Any:
        is_large = content == CONTENTS[LARGE]
        made.opened.append(LARGE if is_large else SMALL)
        assert not is_large or made.go_on.wait(30)
        return reopened(content, *others)

    monkeypatch.setattr(document_files, "_reopened", noted)
    monkeypatch.setattr(document_files, "MAX_KEPT_BYTES", len(CONTENTS[SMALL]))
    yield made
    made.go_on.set()


def test_a_small_file_does_not_wait_for_a_large_one(files: FilesAndOpenings) -> None:
    async def work() -> None:
        large = asyncio.create_task(files.check(LARGE))
        while files.opened != [LARGE]:
            await asyncio.sleep(0.01)
        await files.check(SMALL)
        assert not large.done()
        files.go_on.set()
        await large

    asyncio.run(work())


@pytest.mark.parametrize("number", [SMALL, LARGE])
def test_many_confirmations_open_a_file_once(files: FilesAndOpenings, number: int) -> None:
    files.go_on.set()

    async def work() -> None:
        await asyncio.gather(*(files.check(number, place) for place in range(10)))

    asyncio.run(work())
    assert files.opened == [number]


def test_one_large_file_is_kept(files: FilesAndOpenings) -> None:
    files.go_on.set()

    async def work() -> None:
        for number in (LARGE, OTHER_LARGE, OTHER_LARGE, SMALL, OTHER_LARGE, LARGE):
            await files.check(number)

    asyncio.run(work())
    assert files.opened == [LARGE, LARGE, SMALL, LARGE]


OBSOLETE = b"""msgid ""
msgstr "Content-Type: text/plain; charset=UTF-8\\n"

msgid "Open"
msgstr ""

#~ msgid "Old"
#~ msgstr "Alt"

msgid "Close"
msgstr ""
"""


@pytest.mark.parametrize(("units", "place"), [(2, 1), (3, 2)], ids=["new", "stored by an earlier version"])
def test_obsolete_messages_are_left_out_of_new_documents(units: int, place: int) -> None:
    """Those that were stored with them keep the places of their units."""

    class Stored:
        async def content(self, document_id: int) -> bytes:
            return OBSOLETE

    document = StoredDocument(1, 1, "0" * 32, "menu.po", "po", units, 0, 0.0, "ann")
    files = DocumentFiles(cast(DocumentStore, Stored()))
    content, left_out = asyncio.run(files.filled(PROJECT, document, {place: "Zu"}))
    assert content == OBSOLETE.replace(b'msgid "Close"\nmsgstr ""', b'msgid "Close"\nmsgstr "Zu"')
    assert left_out == []


def test_many_texts_that_a_file_cannot_hold_cost_no_other_text() -> None:
    """Nor does the text of a unit that is locked by now."""

    class Stored:
        async def content(self, document_id: int) -> bytes:
            head, found, tail = OBSOLETE.partition(b'msgid "Open"')
            return head + b"".join(b'msgid "%d"\nmsgstr ""\n\n' % n for n in range(598)) + found + tail

    document = StoredDocument(1, 1, "0" * 32, "menu.po", "po", 601, 0, 0.0, "ann")
    files = DocumentFiles(cast(DocumentStore, Stored()))
    texts = {n: f"Text {n}\0" if n % 2 and n < 599 else f"Text {n}" for n in range(601)}
    content, left_out = asyncio.run(files.filled(PROJECT, document, texts))
    assert left_out == sorted({*range(1, 600, 2), 599})
    assert [b'msgstr "Text %d"' % n in content for n in range(601)] == [n not in left_out for n in range(601)]
