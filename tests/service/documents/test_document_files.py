"""The file that comes back: every byte as it came, but for the confirmed units."""

from __future__ import annotations

import asyncio
import gc
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from helpers.document_calls import DocumentServer, WorkedDocument
from helpers.file_samples import po, xliff1

from mtloop.service.documents import document_files, document_routes
from mtloop.service.documents.document_files import MAX_UNITS
from mtloop.service.documents.models import NewDocument
from mtloop.service.long_work import NEVER

XLIFF1 = """<?xml version="1.0" encoding="UTF-8"?>
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
  <file original="a.html"  source-language="en" target-language="de" datatype="html"><body>
    <trans-unit id="1"><source>Open <g id="1">it</g> &amp; go</source></trans-unit>
    <trans-unit id="2"   translate="no"><source>Name</source></trans-unit>
    <trans-unit id="3"><source>Close</source><target state="translated">Schließen</target></trans-unit>
  </body></file>
</xliff>
"""
XLIFF2 = """<xliff version="2.0" srcLang="en" trgLang="de" xmlns="urn:oasis:names:tc:xliff:document:2.0">
 <file id="f"><unit id="u1"><segment><source>Open it</source></segment></unit>
 <unit id="u2"><segment state="final"><source>Close</source><target>Schließen</target></segment></unit></file>
</xliff>"""
TMX = """<?xml version="1.0"?>
<tmx version="1.4"><header srclang="en"/><body>
<tu><tuv xml:lang="en"><seg>Open it</seg></tuv></tu>
<tu><tuv xml:lang="en"><seg>Close</seg></tuv><tuv xml:lang="de"><seg>Schließen</seg></tuv></tu>
</body></tmx>
"""
TS = """<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="de_DE" sourcelanguage="en">
<context><name>Menu</name>
    <message><source>Open it</source><translation type="unfinished"></translation></message>
    <message><source>Close</source><translation>Schließen</translation></message>
</context>
</TS>
"""
TSV = "source\ttarget\tnote\nOpen it\t\tverb\nClose\tSchließen\t\n"
TEXT = "Open it\r\n\r\nClose\n"
PO = """# a comment
msgid   "Open it"
msgstr ""

msgid "Close"
msgstr "Schließen"
"""
PO_HEADER = (
    '"Language: de\\n"\n"MIME-Version: 1.0\\n"\n"Content-Transfer-Encoding: 8bit\\n"\n'
    '"Plural-Forms: nplurals=2; plural=(n != 1);\\n"\n'
)


@pytest.mark.parametrize(
    ("name", "content", "before", "after"),
    [
        ("a.po", po(PO).decode(), 'msgid   "Open it"\nmsgstr ""', 'msgid   "Open it"\nmsgstr "Öffne es"'),
        ("a.tmx", TMX, "Open it</seg></tuv>", None),
        ("a.xlf", XLIFF2, "<segment><source>Open it</source></segment>", None),
        (
            "a.ts",
            TS,
            '<translation type="unfinished"></translation>',
            "<translation>Öffne es</translation>",
        ),
        ("a.tsv", TSV, "Open it\t\t", "Open it\tÖffne es\t"),
        ("A.TXT", TEXT, "Open it\r\n", "Öffne es\r\n"),
    ],
)
def test_only_the_confirmed_unit_changes(
    lite_documents: DocumentServer, name: str, content: str, before: str, after: str | None
) -> None:
    document = lite_documents.upload(content.encode(), name)
    assert document.file() == content.encode()
    unit = next(unit for unit in document.units() if unit["source"] == "Open it")
    assert document.confirm(unit["index"], "Öffne es").status_code == 200
    filled = document.file().decode()
    head, tail = content.split(before)
    assert filled.startswith(head)
    assert filled.endswith(tail)
    changed = filled[len(head) : len(filled) - len(tail)]
    assert changed == after if after else "Öffne es" in changed
    assert [one["target"] for one in lite_documents.upload(filled.encode(), name).units() if one["target"]].count(
        "Öffne es"
    ) == (0 if name == "A.TXT" else 1)


def test_a_tag_of_xliff_stays_a_tag(lite_documents: DocumentServer) -> None:
    document = lite_documents.upload(XLIFF1.encode(), "a.sdlxliff".replace("sdl", ""))
    assert [unit["state"] for unit in document.units()] == ["open", "locked", "translated"]
    unit = document.unit(0)
    assert unit["syntax"] == "xml"
    assert [part["kind"] for part in unit["parts"]] == ["text", "tag", "text", "tag", "text"]
    assert document.confirm(0, 'Öffne <g id="1">es</g> &amp; geh').status_code == 200
    filled = document.file().decode()
    assert '<target state="translated">Schließen</target>' in filled
    assert 'Öffne <g id="1">es</g> &amp; geh</target>' in filled
    head, tail = XLIFF1.split("&amp; go</source></trans-unit>")
    assert filled.startswith(head)
    assert filled.endswith(tail)


@pytest.mark.skipif(shutil.which("msgfmt") is None, reason="gettext is not installed")
def test_msgfmt_takes_the_downloaded_file(lite_documents: DocumentServer, tmp_path: Path) -> None:
    entries = (
        '#, c-format\nmsgid "%d file in %s"\nmsgid_plural "%d files in %s"\nmsgstr[0] ""\nmsgstr[1] ""\n\n'
        'msgid "First line\\n"\n"Second \\"line\\"\\n"\nmsgstr ""\n'
    )
    document = lite_documents.upload(po(entries, header=PO_HEADER))
    texts = {"%d file in %s": "%d Datei in %s", "%d files in %s": "%d Dateien in %s"}
    for unit in document.units(filter="open"):
        text = texts.get(unit["source"], 'Erste Zeile\nZweite "Zeile"\n')
        response = document.confirm(unit["index"], text)
        assert response.status_code == 200, response.text
    assert _refused_by_msgfmt(document, tmp_path) == ""
    assert b'msgstr[1] "%d Dateien in %s"' in document.file()


@pytest.mark.skipif(shutil.which("msgfmt") is None, reason="gettext is not installed")
@pytest.mark.parametrize(
    ("entry", "wrong", "right"),
    [
        ('#, c-format\nmsgid "%d percent used"', "%d % belegt", "%d %% belegt"),
        ('#, c-format\nmsgid "%d percent free"', "%d % frei", "%d %% frei"),
        ('#, python-format\nmsgid "%(n)d percent"', "%(n)d % voll", "%(n)d %% voll"),
        ('#, python-brace-format\nmsgid "{n} used"', "{n} { belegt", "{n} {{ belegt"),
    ],
)
def test_a_text_that_msgfmt_refuses_is_not_confirmed_unseen(
    lite_documents: DocumentServer, tmp_path: Path, entry: str, wrong: str, right: str
) -> None:
    document = lite_documents.upload(po(f'{entry}\nmsgstr ""\n', header=PO_HEADER))
    (unit,) = document.units(filter="open")
    index = unit["index"]
    assert document.draft(index, wrong).status_code == 200
    assert _serious(document, index) == ["format"]
    refused = document.confirm(index, wrong)
    assert (refused.status_code, refused.json()["type"]) == (422, "urn:mtloop:protected-text")
    assert document.confirm(index, wrong, force=True).status_code == 200
    assert _serious(document, index) == ["format"]
    assert "msgstr" in _refused_by_msgfmt(document, tmp_path)
    assert document.confirm(index, right).status_code == 200
    assert _serious(document, index) == []
    assert _refused_by_msgfmt(document, tmp_path) == ""


def _serious(document: WorkedDocument, index: int) -> list[str]:
    """The checks that a unit fails and that break a program or a file."""
    return [check["name"] for check in document.unit(index)["checks"] if check["serious"]]


def _refused_by_msgfmt(document: WorkedDocument, folder: Path) -> str:
    """What msgfmt finds wrong with the file as it is downloaded."""
    (path := folder / "menu.po").write_bytes(document.file())
    command = ["msgfmt", "-c", "-o", folder / "menu.mo", path]
    done = subprocess.run(command, capture_output=True, check=False)
    assert bool(done.returncode) == ("error" in done.stderr.decode())
    return done.stderr.decode() if done.returncode else ""


def test_the_name_of_the_download(lite_documents: DocumentServer) -> None:
    document = lite_documents.upload(TSV.encode(), 'Menü "neu".tsv')
    response = document.call("GET", "/file")
    assert response.headers["content-type"] == "application/octet-stream"
    found = response.headers["content-disposition"]
    assert found == "attachment; filename=\"Men_ _neu_.tsv\"; filename*=UTF-8''Men%C3%BC%20%22neu%22.tsv"


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("a.po", b"", "empty"),
        ("a.po", b'msgid "x\n', "file:"),
        ("a.po", b"\xff\xfe\x00", "file"),
        ("a.po", b'msgid ""\nmsgstr ""\n', "nothing to translate"),
        ("a.xlf", b"<xliff", "file"),
        ("a.xlf", XLIFF1.replace('"de"', '"fr"').encode(), "fr"),
        ("a.tmx", b"<html/>", "file"),
        ("a.ts", TS.replace("</TS>", "").encode(), "file"),
        ("a.tsv", b"one\ntwo\n", "file"),
        ("a.txt", b"\x80\n", "file"),
        ("a.json", b"{}", "unknown format"),
        ("a.po.gz", b"x", "unknown format"),
        ("po", b"x", "unknown format"),
        ("../a.po", po(PO), "without folders"),
        ("a\x01.po", po(PO), "name:"),
        ("a\x00.po", po(PO), "name:"),
        ("x" * 200 + ".po", po(PO), "name"),
        ("", po(PO), "name:"),
    ],
)
def test_a_wrong_file_is_refused_in_one_line(
    lite_documents: DocumentServer, name: str, content: bytes, problem: str
) -> None:
    response = lite_documents.call("POST", "/documents", params={"name": name}, content=content)
    assert response.status_code == 422, response.text
    detail = response.json()["detail"]
    assert problem in detail
    assert "\n" not in detail
    assert "/tmp" not in detail
    assert lite_documents.call("GET", "/documents").json() == {"documents": [], "next": None}


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        ("a.txt", TEXT, "Öffne\nes"),
        ("a.xlf", XLIFF2, "Öffne \x07es"),
        ("a.po", po(PO, charset="ISO-8859-1").decode("latin-1"), "Öffne 例"),
    ],
)
def test_a_text_that_the_file_cannot_hold_is_refused(
    lite_documents: DocumentServer, name: str, content: str, text: str
) -> None:
    encoded = content.encode("latin-1" if name == "a.po" else "utf-8")
    document = lite_documents.upload(encoded, name)
    unit = next(unit for unit in document.units() if unit["source"] == "Open it")
    response = document.confirm(unit["index"], text, force=True)
    assert response.status_code == 422, response.text
    assert "\n" not in response.json()["detail"]
    assert document.unit(unit["index"]) == unit
    assert lite_documents.call("GET", "/corrections").json()["corrections"] == []
    assert document.file() == encoded


def test_a_file_that_is_too_large(lite_documents: DocumentServer) -> None:
    service = lite_documents.client.app.state.service  # type: ignore[attr-defined]
    object.__setattr__(service, "settings", service.settings.model_copy(update={"max_upload": 10}))
    response = lite_documents.call("POST", "/documents", params={"name": "a.po"}, content=po(PO))
    assert response.status_code == 413


def test_a_document_of_many_units(lite_documents: DocumentServer) -> None:
    lines = [f"Open drawer number {n} of the cabinet." for n in range(5000)]
    content = "".join(f"{line}\n" for line in lines).encode()
    document = lite_documents.upload(content, "many.txt")
    assert (document.body["units"], document.body["open"]) == (5000, 5000)
    assert [unit["source"] for unit in document.units(after=4897, limit=500)] == lines[4898:]
    assert [unit["index"] for unit in document.units(search="NUMBER 4999 ")] == [4999]
    for index in (0, 4999):
        assert document.confirm(index, f"Öffnen Sie Schublade {index} des Schranks.").status_code == 200
    assert (document.show()["open"], document.show()["confirmed"]) == (4998, 2)
    assert [unit["index"] for unit in document.units(filter="confirmed")] == [0, 4999]
    filled = document.file().decode().splitlines()
    expected = ["Öffnen Sie Schublade 0 des Schranks.", *lines[1:-1], "Öffnen Sie Schublade 4999 des Schranks."]
    assert filled == expected


def test_documents_in_parts(lite_documents: DocumentServer) -> None:
    made = [lite_documents.upload(TSV.encode(), f"{n}.tsv").body["name"] for n in range(5)]
    found, after = list[str](), None
    while True:
        query = {"limit": 2} | ({} if after is None else {"after": after})
        answer = lite_documents.call("GET", "/documents", params=query).json()
        found += [one["name"] for one in answer["documents"]]
        after = answer["next"]
        if after is None:
            break
    assert found == made[::-1]


def test_a_project_has_so_many_documents(lite_documents: DocumentServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mtloop.service.documents.store.MAX_DOCUMENTS", 1)
    lite_documents.upload(TSV.encode(), "a.tsv")
    response = lite_documents.call("POST", "/documents", params={"name": "b.tsv"}, content=TSV.encode())
    assert (response.status_code, response.json()["type"]) == (409, "urn:mtloop:no-more-documents")


def test_a_file_is_read_outside_the_event_loop(lite_documents: DocumentServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """And without full passes of the garbage collector, which would let all others wait."""
    read, loops = document_files.read_document, list[object]()

    def noted(*arguments: Any) -> NewDocument:
        assert gc.get_threshold()[2] == NEVER
        loops.append(asyncio._get_running_loop())
        return read(*arguments)

    monkeypatch.setattr(document_routes, "read_document", noted)
    lite_documents.upload(TSV.encode(), "a.tsv")
    assert loops == [None]


MANY = MAX_UNITS + 10
SEGMENT = '<mrk mtype="seg" mid="1">a</mrk>'
SEGMENTS = SEGMENT + SEGMENT.replace("1", "2")
SEGMENTED = (
    f'<trans-unit id="1"><source>a</source><seg-source>{SEGMENTS}</seg-source><target>{SEGMENTS}</target></trans-unit>'
)
TU = "<tu><tuv xml:lang='en'><seg>a</seg></tuv></tu>"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.po", po('msgid "a"\nmsgstr ""\n\n' * MANY).decode()),
        ("a.pot", po('msgid "a"\nmsgstr ""\n\n' * MANY).decode()),
        ("a.ts", TS.replace("<message>", "<message>" * MANY)),
        ("a.tmx", TMX.replace("<tu>", TU * MANY + "<tu>", 1)),
        ("a.xlf", XLIFF1.replace("<trans-unit ", "<trans-unit " * MANY)),
        ("a.sdlxliff", XLIFF1.replace("<target", f"<seg-source>{SEGMENT * MANY}</seg-source><target", 1)),
        ("a.mqxliff", XLIFF2.replace("<segment>", "<segment>" * MANY)),
        ("a.txt", "\n\na\r\n" * MANY),
        ("a.tsv", "source\ttarget\n" + "a\t\n" * MANY),
        ("a.csv", "source,target\n" + "a,\n" * MANY),
    ],
)
def test_too_many_units_are_refused_before_the_file_is_parsed(
    lite_documents: DocumentServer, monkeypatch: pytest.MonkeyPatch, name: str, content: str
) -> None:
    monkeypatch.setattr(document_files, "_open", None)
    response = lite_documents.call("POST", "/documents", params={"name": name}, content=content.encode())
    assert (response.status_code, response.json()["detail"]) == (422, "file: more than 50,000 units; split it")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.po", po('msgid "a"\nmsgstr ""\n\nmsgid "b"\nmsgstr ""\n\n#~ msgid "c"\n#~ msgstr ""\n').decode()),
        (
            "a.ts",
            TS.replace("</context>", '<message><source>a</source><translation type="vanished"/></message></context>'),
        ),
        ("a.xlf", XLIFF2),
        ("a.sdlxliff", xliff1(SEGMENTED).decode()),
        ("a.txt", "\n\n\n" + TEXT + "\n\n \n"),
        ("a.tsv", TSV + "\t\t\n \t\t\n"),
        ("a.csv", 'source,target\n"a\n\nb\nc\nd",\nb,\n'),
    ],
)
def test_as_many_units_as_may_be(
    lite_documents: DocumentServer, monkeypatch: pytest.MonkeyPatch, name: str, content: str
) -> None:
    """What is no unit does not count: headers, obsolete messages, empty lines, lines of a cell."""
    monkeypatch.setattr(document_files, "MAX_UNITS", 2)
    assert len(lite_documents.upload(content.encode(), name).units()) == 2
    monkeypatch.setattr(document_files, "MAX_UNITS", 1)
    response = lite_documents.call("POST", "/documents", params={"name": name}, content=content.encode())
    assert response.json()["detail"].endswith("units; split it")
