"""Whole files: what is translated stays, what is missing is filled in, and other files are refused."""

from __future__ import annotations

import pytest
from helpers.tiny_marian import demo_pairs
from starlette.testclient import TestClient

from mtloop.service.compatible.file_translation import supported_suffixes, translated_file
from mtloop.service.problems import ProblemError
from mtloop.service.project_log.models import Role
from mtloop.service.project_log.project_access import AuthorisedProject
from mtloop.service.state import Service

SOURCES = [source for source, _ in demo_pairs()][1:8]  # more than one call of the engine may have
PO = """msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\\n"
"Language: de\\n"

msgid "Known"
msgstr "Bekannt"

msgid "{source}"
msgstr ""
"""
XLIFF = """<?xml version="1.0"?>
<xliff version="1.2"><file source-language="en" target-language="de" datatype="plaintext" original="a"><body>
<trans-unit id="1"><source>{source} <g id="1">Now</g></source></trans-unit>
</body></file></xliff>
"""


class FilesOfAnn:
    """Translates files with the project of ann, in the event loop of the service."""

    def __init__(self, client: TestClient, key: str) -> None:
        self._client, self._header = client, {"x-api-key": key}

    def __call__(self, name: str, content: bytes) -> bytes:
        assert self._client.portal is not None
        return self._client.portal.call(self._translated, name, content)

    async def _translated(self, name: str, content: bytes) -> bytes:
        here: Service = self._client.app.state.service  # type: ignore[attr-defined]
        participant = await here.storage.accounts.find_participant("ann")
        project = await here.storage.projects.find("manual")
        assert participant is not None
        assert project is not None
        return await translated_file(here, None, AuthorisedProject(project, participant, Role.TRANSLATE), name, content)

    def text(self, source: str, format: str = "text") -> str:
        body = {"text": source, "format": format}
        response = self._client.post("/v1/projects/manual/translate", json=body, headers=self._header)
        return str(response.json()["translations"][0]["translation"])


@pytest.fixture(scope="module")
def files(wordy_client: TestClient, wordy_key: str) -> FilesOfAnn:
    return FilesOfAnn(wordy_client, wordy_key)


def test_every_line_of_a_text_is_translated(files: FilesOfAnn) -> None:
    translated = files("a.TXT", "\r\n".join(["", *SOURCES]).encode()).decode()
    assert translated == "\r\n".join(["", *(files.text(source) for source in SOURCES)])
    assert not set(SOURCES) & set(translated.split("\r\n"))


def test_a_translated_message_stays(files: FilesOfAnn) -> None:
    filled = files("messages.po", PO.format(source=SOURCES[0]).encode()).decode()
    assert 'msgid "Known"\nmsgstr "Bekannt"\n' in filled
    assert "#, fuzzy" in filled  # nobody has seen this translation
    assert files.text(SOURCES[0]) in filled.replace('"\n"', "")


def test_tags_of_a_file_stay(files: FilesOfAnn) -> None:
    source = f'{SOURCES[0]} <g id="1">Now</g>'
    filled = files("a.xlf", XLIFF.format(source=SOURCES[0]).encode()).decode()
    assert f">{files.text(source, 'html')}</target>" in filled


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "a.json",
            b"{}",
            "expected a file of .po, .pot, .ts, .tmx, .xlf, .xliff, .sdlxliff, .mqxliff, .tsv, .csv, .txt",
        ),
        ("a", b"text", "unknown format"),
        ("a.txt.gz", b"text", "unknown format"),
        ("a.txt", b"", "file: "),
        ("a.txt", b"\xff\xfe", "file:1: "),
        ("a.xlf", b"<xliff", "file"),
        ("a.tsv", b"one column\nvalue\n", "file"),
        ("a.po", PO.format(source="Some text").replace("Language: de", "Language: fr").encode(), "en -> de"),
    ],
)
def test_other_files_are_refused_in_one_line(files: FilesOfAnn, name: str, content: bytes, message: str) -> None:
    with pytest.raises(ProblemError) as caught:
        files(name, content)
    assert message in caught.value.problem.detail
    assert caught.value.problem.status == 422
    assert not any(part in caught.value.problem.detail for part in ("/tmp", "--", "\n"))


def test_the_formats_need_no_second_file() -> None:
    assert ".txt" in supported_suffixes()
    assert not {".json", ".arb", ".xml", ".properties"} & set(supported_suffixes())
