"""ModernMT's memories: what is added teaches, replaces, is imported, limits the glossary, and is undone."""

from __future__ import annotations

import gzip
import json
import shutil
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
from helpers.modernmt_calls import ModernMTCalls
from helpers.shared_task import TaskServer
from helpers.tiny_marian import demo_pairs
from starlette.requests import Request
from starlette.testclient import TestClient

from mtloop.service import Settings
from mtloop.service.compatible import modernmt_memories
from mtloop.service.compatible.request_fields import RequestFields, read_fields
from mtloop.service.problems import ProblemError
from mtloop.service.state import MAX_HEAVY_WORK

PAIRS = list(demo_pairs())
PAIR = {"source": "en", "target": "de"}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, tiny_model: str) -> TaskServer:
    """A server with a model for en-de, and one that says it is for en-fr."""
    folder = tmp_path_factory.mktemp("memories")
    french = shutil.copytree(tiny_model, folder / "french")
    languages = {"source_lang": "en", "target_lang": "fr"}
    (french / "tokenizer_config.json").write_text(json.dumps(languages), encoding="utf-8")
    models = f"{tiny_model},{french}"
    settings = Settings(folder=folder / "data", models=models, engine_linger=1, failures=0, max_upload=50_000)
    return TaskServer(settings, folder)


@pytest.fixture(scope="module")
def keys(home: TaskServer) -> dict[str, str]:
    return {name: home.participant(name) for name in ("ann", "bob", "eve")}


@pytest.fixture(scope="module")
def client(home: TaskServer) -> Iterator[TestClient]:
    with home.serve() as client:
        yield client


@pytest.fixture
def mmt(client: TestClient, keys: dict[str, str]) -> Iterator[ModernMTCalls]:
    """The calls of ann, who has one project. Its method has a memory alone, which learns and forgets at once."""
    headers = {"x-api-key": keys["ann"]}
    body = {"name": "manual", "source_language": "en", "target_language": "de", "method": "memory"}
    assert client.post("/v1/projects", json=body, headers=headers).status_code == 201
    yield ModernMTCalls(client, keys["ann"])
    assert client.delete("/v1/projects/manual", headers=headers).status_code == 204


@pytest.fixture
def memory(mmt: ModernMTCalls) -> int:
    return int(mmt.data("post", "/memories", {"name": "one", "description": "First", "external_id": "KEY1"})["id"])


def native(mmt: ModernMTCalls, path: str) -> Any:
    return mmt.client.get(f"/v1/projects/manual{path}", headers={"x-api-key": mmt.key}).json()


def corrections(mmt: ModernMTCalls) -> dict[str, str]:
    """The state of each correction, by its translation."""
    return {one["translation"]: one["state"] for one in native(mmt, "/corrections")["corrections"]}


def tmx(*pairs: tuple[str, str]) -> bytes:
    units = "".join(
        f'<tu><tuv xml:lang="en"><seg>{source}</seg></tuv><tuv xml:lang="de"><seg>{target}</seg></tuv></tu>'
        for source, target in pairs
    )
    return f'<tmx version="1.4"><header srclang="en"/><body>{units}</body></tmx>'.encode()


def finished(mmt: ModernMTCalls, job: dict[str, Any]) -> dict[str, Any]:
    for _ in range(200):
        job = mmt.data("get", f"/import-jobs/{job['id']}")
        if job["progress"] == 1:
            return job
        time.sleep(0.05)
    raise AssertionError("the import did not end within ten seconds")


def test_memories_are_created_shown_and_changed(mmt: ModernMTCalls, memory: int) -> None:
    found = mmt.data("get", "/memories/x_mm-KEY1")
    assert found == mmt.data("get", f"/memories/{memory}") == mmt.data("get", "/memories/KEY1")
    assert (found["name"], found["description"]) == ("one", "First")
    assert found["owner"]["user"] == mmt.data("get", "/users/me")["id"]
    changed = mmt.data("put", f"/memories/{memory}", {"name": "two"})
    assert (changed["name"], changed["description"]) == ("two", "First")
    assert [one["name"] for one in mmt.data("get", "/memories")] == ["two"]
    again = mmt.data("post", "/memories", {"name": "three", "external_id": "KEY1"})
    assert again["id"] == memory
    numbered = mmt.data("post", "/memories", {"name": "four", "external_id": str(memory)})
    assert numbered["id"] != memory  # an external id that is the number of another memory


def test_connecting_makes_external_ids_known_once(mmt: ModernMTCalls, memory: int) -> None:
    """As MateCat does, in a form."""
    form = urlencode({"external_ids": "x_mm-KEY1,x_mm-KEY2"})
    headers = {"content-type": "application/x-www-form-urlencoded; charset=utf-8"}
    options = {"MMT-ApiKey": mmt.key, "X-HTTP-Method-Override": "POST", **headers}
    for _ in range(2):
        assert mmt.client.post("/memories/connect", content=form, headers=options).status_code == 200
    assert [one["externalId"] for one in mmt.data("get", "/memories")] == ["KEY1", "x_mm-KEY2"]


def test_what_is_added_is_there_on_the_next_request(mmt: ModernMTCalls, memory: int) -> None:
    source, target = PAIRS[0]
    unrelated = mmt.translate(PAIRS[5][0])
    assert mmt.translate(source) != target
    job = mmt.teach(memory, source, target)
    assert job | {"id": ""} == {"id": "", "memory": memory, "size": 1, "progress": 1.0}
    assert mmt.translate(source) == target
    assert mmt.translate(PAIRS[5][0]) == unrelated
    assert mmt.data("get", f"/import-jobs/{job['id']}") == job
    body = {"text": source}
    answer = mmt.client.post("/v1/projects/manual/translate", json=body, headers={"x-api-key": mmt.key}).json()
    assert answer["translations"][0]["translation"] == target  # one log behind all APIs


def test_a_tuid_replaces(mmt: ModernMTCalls, memory: int) -> None:
    source, target = PAIRS[0]
    mmt.teach(memory, source, target, tuid="7")
    finished(mmt, mmt.teach("x_mm-KEY1", source, PAIRS[1][1], "put", tuid="7"))  # the project is rebuilt
    assert mmt.translate(source) == PAIRS[1][1]
    assert corrections(mmt) == {target: "replaced", PAIRS[1][1]: "learned"}
    assert mmt.error("put", f"/memories/{memory}/content", {**PAIR, "sentence": "a", "translation": "b"})[0] == 400


def test_a_tuid_takes_the_place_of_a_pair_without_one(mmt: ModernMTCalls, memory: int) -> None:
    """Only in its memory, only once, and not if it is refused."""
    source, target = "Close the pane at the top of the window.", PAIRS[0][1]
    other = mmt.data("post", "/memories", {"name": "other"})["id"]
    mmt.teach(memory, source, target)
    mmt.teach(other, source, PAIRS[1][1])
    body = {**PAIR, "sentence": source, "translation": source, "tuid": "7:1"}
    assert mmt.error("put", f"/memories/{memory}/content", body)[0] == 400
    assert corrections(mmt)[target] == "learned"
    finished(mmt, mmt.teach(memory, source, PAIRS[2][1], "put", tuid="7:1"))
    mmt.teach(memory, source, PAIRS[3][1])  # another segment with the same source
    finished(mmt, mmt.teach(memory, source, PAIRS[4][1], "put", tuid="7:1"))
    states = [target, PAIRS[1][1], PAIRS[2][1], PAIRS[3][1], PAIRS[4][1]]
    assert [corrections(mmt)[one] for one in states] == ["undone", "learned", "replaced", "learned", "learned"]


def test_content_for_several_memories(mmt: ModernMTCalls, memory: int) -> None:
    other = mmt.data("post", "/memories", {"name": "other"})["id"]
    body = {**PAIR, "sentence": PAIRS[0][0], "translation": PAIRS[0][1]}
    jobs = mmt.data("post", "/memories/content", {**body, "memories": f"x_mm-KEY1,{other}", "session": "s"})
    assert [job["memory"] for job in jobs] == [memory, other]
    documents = [one["document"] for one in native(mmt, "/corrections")["corrections"]]
    assert set(documents) == {f"memory/{memory}", f"memory/{other}"}
    assert mmt.error("post", "/memories/content", {**body, "memories": "x_mm-KEY1,unknown"})[0] == 404
    assert mmt.data("post", "/memories/content", body)[0]["memory"] is None  # MateCat without keys
    assert len(native(mmt, "/corrections")["corrections"]) == 3


def test_a_refused_pair_says_why(mmt: ModernMTCalls, memory: int) -> None:
    copied = "Close the pane at the top of the window."
    body = {**PAIR, "sentence": copied, "translation": copied}
    status, message = mmt.error("post", f"/memories/{memory}/content", body)
    assert (status, "copy of the source" in message) == (400, True)


@pytest.mark.parametrize("compression", ["", "gzip"])
def test_a_tmx_file_is_imported(mmt: ModernMTCalls, memory: int, compression: str) -> None:
    content = tmx(*PAIRS[:3])
    files = {"tmx": ("m.tmx", gzip.compress(content) if compression else content)}
    fields = {"compression": compression} if compression else {}
    job = mmt.data("post", f"/memories/{memory}/content", data=fields, files=files)
    assert (job["memory"], job["size"]) == (memory, 3)
    assert finished(mmt, job) == {**job, "progress": 1.0}
    assert mmt.translate(PAIRS[1][0], hints="KEY1") == PAIRS[1][1]
    again = mmt.data("post", f"/memories/{memory}/content", data=fields, files=files)
    assert (again["size"], again["progress"]) == (3, 1.0)
    assert mmt.data("get", f"/import-jobs/{again['id']}")["memory"] == memory
    assert len(corrections(mmt)) == 3


def test_the_tuids_of_a_file_name_units_of_the_memory(mmt: ModernMTCalls, memory: int) -> None:
    content = tmx(PAIRS[0]).replace(b"<tu>", b'<tu tuid="menu.open">')
    finished(mmt, mmt.data("post", f"/memories/{memory}/content", files={"tmx": ("m.tmx", content)}))
    finished(mmt, mmt.teach(memory, PAIRS[0][0], PAIRS[1][1], "put", tuid="menu.open"))
    assert corrections(mmt) == {PAIRS[0][1]: "replaced", PAIRS[1][1]: "learned"}
    exported = mmt.client.get("/v1/projects/manual/export", headers={"x-api-key": mmt.key}).text
    assert '<tu tuid="menu.open">' in exported


BOMB = b'<!DOCTYPE tmx [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><tmx version="1.4"><body>&b;</body></tmx>'


@pytest.mark.parametrize(
    ("content", "fields", "status"),
    [
        (b"<tmx><body>", {}, 400),
        (BOMB, {}, 400),
        (b"no file", {"compression": "gzip"}, 400),
        (gzip.compress(b"<tmx>")[:-9], {"compression": "gzip"}, 400),
        (gzip.compress(tmx()), {"compression": "zip"}, 400),
        (gzip.compress(b" " * 1_000_000), {"compression": "gzip"}, 413),
        (b" " * 60_000, {}, 413),
    ],
    ids=["no TMX", "bomb", "no gzip", "half a file", "other compression", "too large when unpacked", "too large"],
)
def test_files_that_cannot_be_imported(
    mmt: ModernMTCalls, memory: int, content: bytes, fields: dict[str, str], status: int
) -> None:
    files = {"tmx": ("m.tmx", content)}
    assert mmt.error("post", f"/memories/{memory}/content", data=fields, files=files)[0] == status
    assert corrections(mmt) == {}


def test_a_file_that_comes_slowly_lets_nobody_wait(
    mmt: ModernMTCalls, memory: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Heavy work is for those who have sent their files."""
    here = mmt.client.app.state.service  # type: ignore[attr-defined]
    seen = list[bool]()

    async def slow(request: Request, max_bytes: int) -> RequestFields:
        with pytest.raises(ProblemError), here.uploads.begin(participant), here.uploads.begin(participant):
            raise AssertionError("the upload was not counted")
        seen.append(here.heavy_work._value == MAX_HEAVY_WORK)
        return await read_fields(request, max_bytes)

    participant = mmt.data("get", "/users/me")["id"]
    monkeypatch.setattr(modernmt_memories, "read_fields", slow)
    files = {"tmx": ("m.tmx", tmx(*PAIRS[:1]))}
    finished(mmt, mmt.data("post", f"/memories/{memory}/content", files=files))
    assert seen == [True]


def test_deleting_a_memory_undoes_its_corrections(
    mmt: ModernMTCalls, memory: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(modernmt_memories, "UNDONE_AT_ONCE", 2)  # several rounds
    other = mmt.data("post", "/memories", {"name": "other"})["id"]
    mmt.teach(memory, PAIRS[0][0], PAIRS[0][1], tuid="1")
    finished(mmt, mmt.teach(memory, PAIRS[0][0], PAIRS[1][1], tuid="1"))
    mmt.teach(memory, *PAIRS[2])
    mmt.teach(other, *PAIRS[3])
    assert mmt.data("delete", f"/memories/{memory}")["id"] == memory
    states = corrections(mmt)
    assert {states[target] for target in (PAIRS[0][1], PAIRS[1][1], PAIRS[2][1])} == {"undone"}
    assert mmt.translate(PAIRS[0][0]) not in (PAIRS[0][1], PAIRS[1][1])  # the replaced one does not come back
    assert mmt.translate(PAIRS[2][0]) != PAIRS[2][1]
    assert mmt.translate(PAIRS[3][0]) == PAIRS[3][1]
    assert [one["id"] for one in mmt.data("get", "/memories")] == [other]
    assert mmt.error("get", f"/memories/{memory}")[0] == 404


def test_terms_are_added_to_the_glossary_of_the_project(mmt: ModernMTCalls, memory: int) -> None:
    path = f"/memories/{memory}/glossary"
    terms = [{"term": "file", "language": "en"}, {"term": "Akte", "language": "de"}]
    job = mmt.data("post", path, {"terms": terms, "type": "unidirectional"})
    assert (job["memory"], job["size"], job["progress"]) == (memory, 1, 1.0)
    rows = "tuid,en,de,fr\r\n1,drawer,Schublade,tiroir\n2,file,Datei,fichier\n\n".encode("utf-8-sig")
    mmt.data("post", path, data={"type": "equivalent"}, files={"csv": ("terms.csv", rows)})
    form = {"terms": json.dumps([{"term": "tool", "language": "en-US"}, {"term": "Werkzeug", "language": "de"}])}
    mmt.data("put", path, data=form)
    assert native(mmt, "/glossary")["terms"] == {"file": "Datei", "drawer": "Schublade", "tool": "Werkzeug"}


@pytest.mark.parametrize(
    "body",
    [
        {"terms": []},
        {"terms": "file"},
        {"terms": [{"term": "file", "language": "en"}]},
        {"terms": [{"term": "file", "language": "en"}, {"term": " ", "language": "de"}]},
        {"terms": [{"term": "file", "language": "en"}, {"term": "D" * 201, "language": "de"}]},
        {"terms": [{"term": "file", "language": "en"}, {"term": "Datei", "language": "de"}], "type": "other"},
        {"terms": [1]},
    ],
)
def test_terms_that_cannot_be_used(mmt: ModernMTCalls, memory: int, body: dict[str, Any]) -> None:
    assert mmt.error("post", f"/memories/{memory}/glossary", body)[0] == 400


@pytest.mark.parametrize("content", [b"", b"en,fr\nfile,fichier\n", b"en,de\nfile\n", b"\xff\xfe", b'en,de\n"a\x00",b'])
def test_tables_that_are_no_glossary(mmt: ModernMTCalls, memory: int, content: bytes) -> None:
    path, files = f"/memories/{memory}/glossary", {"csv": ("terms.csv", content)}
    assert mmt.error("post", path, files=files)[0] == 400


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("get", "/memories/unknown", None),
        ("put", "/memories/99999", {"name": "a"}),
        ("delete", "/memories/x_mm-unknown", None),
        ("post", "/memories/unknown/content", {**PAIR, "sentence": "a", "translation": "b"}),
        ("post", "/memories/unknown/glossary", {"terms": []}),
        ("get", "/import-jobs/unknown", None),
        ("get", "/import-jobs/00000000-0000-0000-0000-000000000001", None),
    ],
)
def test_unknown_memories_and_jobs(mmt: ModernMTCalls, method: str, path: str, body: Any) -> None:
    assert mmt.error(method, path, body)[0] == 404


@pytest.mark.parametrize(
    "fields",
    [
        {"source": "en", "target": "fr"},
        {"sentence": ""},
        {"translation": " "},
        {"translation": ["a"]},
        {"tuid": "x" * 151},
        {"sentence": "a\x00b"},
    ],
)
def test_content_that_cannot_be_learned(mmt: ModernMTCalls, memory: int, fields: dict[str, Any]) -> None:
    body = {**PAIR, "sentence": "Open it.", "translation": "Öffne es.", **fields}
    assert mmt.error("post", f"/memories/{memory}/content", body)[0] == 400


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/memories", {}),
        ("/memories", {"name": "x" * 201}),
        ("/memories", {"name": "a", "description": "x" * 1_001}),
        ("/memories/connect", {}),
        ("/memories/connect", {"external_ids": [f"id{number}" for number in range(21)]}),
    ],
)
def test_memories_that_cannot_be_made(mmt: ModernMTCalls, path: str, body: dict[str, Any]) -> None:
    assert mmt.error("post", path, body)[0] == 400


def test_too_weak_roles(mmt: ModernMTCalls, memory: int, keys: dict[str, str]) -> None:
    content = {**PAIR, "sentence": PAIRS[0][0], "translation": PAIRS[0][1]}
    terms = {"terms": [{"term": "file", "language": "en"}, {"term": "Datei", "language": "de"}]}
    bob, eve = ModernMTCalls(mmt.client, keys["bob"]), ModernMTCalls(mmt.client, keys["eve"])
    for role, allowed in (("translate", 403), ("confirm", 200)):
        address = "/v1/projects/manual/members/bob"
        mmt.client.put(address, json={"role": role}, headers={"x-api-key": mmt.key})
        assert bob.send("post", f"/memories/{memory}/content", content)[0] == allowed
        assert bob.send("post", "/memories", {"name": "mine"})[0] == allowed
        assert bob.send("get", f"/memories/{memory}")[0] == 200
        assert bob.error("post", f"/memories/{memory}/glossary", terms)[0] == 403
    assert bob.send("delete", f"/memories/{memory}")[0] == 200
    assert eve.data("get", "/memories") == []
    assert eve.error("get", f"/memories/{memory}")[0] == 404


def test_invented_jobs_and_wrong_methods(mmt: ModernMTCalls, memory: int) -> None:
    job = mmt.teach(memory, *PAIRS[0])["id"]
    project, last = int(job[:8], 16), int(job[24:], 16)  # the job has this correction only
    assert job == modernmt_memories.job_id(project, last, last)
    for numbers in ((last + 1, last + 1), (last, last - 1), (last, last + 1), (0, memory + 1), (last - 1, last)):
        assert mmt.error("get", f"/import-jobs/{modernmt_memories.job_id(project, *numbers)}")[0] == 404, numbers
    for path in ("/memories", f"/memories/{memory}", f"/memories/{memory}/content", f"/import-jobs/{job}"):
        assert mmt.error("patch", path, {})[0] == 405


def test_a_translator_works_with_matecat(mmt: ModernMTCalls) -> None:
    """The requests of MateCat's engine, as its source makes them: forms, with the method in a header."""

    def send(method: str, path: str, **fields: str) -> Any:
        headers = {"content-type": "application/x-www-form-urlencoded; charset=utf-8"}
        headers |= {"MMT-ApiKey": mmt.key, "MMT-Platform": "MateCat", "X-HTTP-Method-Override": method}
        response = mmt.client.post(path, content=urlencode(fields), headers=headers)
        assert response.status_code == 200, response.text
        return response.json()["data"]

    (source, target), pair = PAIRS[0], {"source": "en-US", "target": "de-DE"}
    send("GET", "/users/me")
    assert send("GET", "/languages") == {"en": ["de"]}
    send("POST", "/memories/connect", external_ids="x_mm-KEY1")
    asked = {**pair, "q": source, "hints": "x_mm-KEY1", "project_id": "7", "timeout": "10000", "priority": "normal"}
    assert send("GET", "/translate", **asked)["translation"] != target
    sent = {**pair, "sentence": source, "session": "abc"}
    send("POST", "/memories/content", **sent, memories="x_mm-KEY1", translation=target)
    assert send("GET", "/translate", **asked)["translation"] == target
    job = send("PUT", "/memories/x_mm-KEY1/content", **sent, tuid="7:1", translation=PAIRS[1][1])
    finished(mmt, job)
    assert send("GET", "/translate", **asked)["translation"] == PAIRS[1][1]
    assert corrections(mmt) == {target: "undone", PAIRS[1][1]: "learned"}
    job = send("PUT", "/memories/x_mm-KEY1/content", **sent, tuid="7:1", translation=PAIRS[2][1])
    finished(mmt, job)
    assert corrections(mmt) == {target: "undone", PAIRS[1][1]: "replaced", PAIRS[2][1]: "learned"}
    file = {"tmx": ("key.tmx.gz", gzip.compress(tmx(*PAIRS[2:4])))}
    finished(mmt, mmt.data("post", "/memories/x_mm-KEY1/content", data={"compression": "gzip"}, files=file))
    assert send("GET", "/translate", **asked | {"q": PAIRS[2][0]})["translation"] == PAIRS[2][1]


def weblate_sends_its_glossary(mmt: ModernMTCalls, name: str, *terms: tuple[str, str]) -> int:
    """As the engine ModernMT of Weblate does: real methods, a form, then a table. Return the id of the memory."""
    headers = {"MMT-ApiKey": mmt.key, "MMT-Platform": "Weblate"}
    made = mmt.client.post("/modernmt/memories", data={"name": name}, headers=headers)
    assert made.status_code == 200, made.text
    id = int(made.json()["data"]["id"])
    table = "en,de\r\n" + "".join(f"{term},{translation}\r\n" for term, translation in terms)
    address, options = f"/modernmt/memories/{id}/glossary", {"data": {"type": "unidirectional"}, "headers": headers}
    sent = mmt.client.post(address, files={"csv": ("a.csv", table.encode())}, **options)
    assert sent.status_code == 200, sent.text
    listed = mmt.client.get("/modernmt/memories", headers=headers).json()["data"]
    assert {one["name"]: one["id"] for one in listed}[name] == id
    return id


@pytest.mark.parametrize("role", ["translate", "confirm"])
def test_a_weblate_with_a_weak_key_goes_on_without_its_glossary(
    mmt: ModernMTCalls, keys: dict[str, str], role: str
) -> None:
    headers, bob = {"x-api-key": mmt.key}, ModernMTCalls(mmt.client, keys["bob"])
    mmt.client.put("/v1/projects/manual/members/bob", json={"role": role}, headers=headers)
    mmt.client.patch("/v1/projects/manual", json={"glossary": {"file": "Datei"}}, headers=headers)
    id = weblate_sends_its_glossary(bob, "weblate:1:en:de:3f2a", ("file", "Akte"), ("drawer", "Schublade"))
    assert weblate_sends_its_glossary(bob, "weblate:1:en:de:3f2a", ("file", "Akte")) == id
    assert native(mmt, "/glossary")["terms"] == {"file": "Datei"}
    assert bob.translate(PAIRS[0][0], glossaries=str(id)) == bob.translate(PAIRS[0][0])
    assert bob.data("delete", f"/memories/{id}")["id"] == id


def test_a_weak_key_deletes_no_glossary_of_weblate_that_holds_something(
    mmt: ModernMTCalls, keys: dict[str, str]
) -> None:
    bob = ModernMTCalls(mmt.client, keys["bob"])
    mmt.client.put("/v1/projects/manual/members/bob", json={"role": "confirm"}, headers={"x-api-key": mmt.key})
    id = weblate_sends_its_glossary(mmt, "weblate:1:en:de:3f2a", ("drawer", "Schublade"))
    assert bob.error("delete", f"/memories/{id}")[0] == 403
    other = weblate_sends_its_glossary(bob, "weblate:2:en:de:3f2a", ("drawer", "Lade"))
    mmt.teach(other, *PAIRS[0])
    mmt.client.put("/v1/projects/manual/members/bob", json={"role": "translate"}, headers={"x-api-key": mmt.key})
    assert bob.error("delete", f"/memories/{other}")[0] == 403
    assert native(mmt, "/glossary")["terms"] == {"drawer": "Schublade"}


def test_the_glossaries_of_weblate_leave_room_for_other_memories(
    mmt: ModernMTCalls, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(modernmt_memories, "MAX_OF_WEBLATE", 1)
    weblate_sends_its_glossary(mmt, "weblate:1:en:de:3f2a")
    assert mmt.error("post", "/memories", {"name": "weblate:2:en:de:3f2a"})[0] == 409
    assert mmt.data("post", "/memories", {"name": "mine"})["name"] == "mine"


def test_the_name_of_a_glossary_of_weblate_chooses_the_project(mmt: ModernMTCalls, home: TaskServer) -> None:
    headers, model = {"x-api-key": mmt.key}, home.settings.models.split(",")[1]
    body = {"name": "french", "source_language": "en", "target_language": "fr", "model": model}
    made = mmt.client.post("/v1/projects", json=body, headers=headers)
    assert made.status_code == 201, made.text
    try:
        assert mmt.error("post", "/memories", {"name": "mine"})[0] == 400  # nothing says which project
        weblate_sends_its_glossary(mmt, "weblate:1:en:de:3f2a", ("file", "Datei"))
        assert native(mmt, "/glossary")["terms"] == {"file": "Datei"}
        french = mmt.client.get("/v1/projects/french/glossary", headers=headers).json()
        assert french["terms"] == {}
    finally:
        mmt.client.delete("/v1/projects/french", headers=headers)


def test_the_terms_of_a_memory_go_with_it(mmt: ModernMTCalls) -> None:
    """Weblate deletes the memory of its glossary when the glossary changes, and makes another one."""
    headers = {"x-api-key": mmt.key}
    mmt.client.patch("/v1/projects/manual", json={"glossary": {"tool": "Werkzeug"}}, headers=headers)
    terms = ("tool", "Werkzeug"), ("file", "Datei"), ("drawer", "Schublade"), ("pane", "Bereich")
    first = weblate_sends_its_glossary(mmt, "weblate:1:en:de:1", *terms)
    second = weblate_sends_its_glossary(mmt, "weblate:2:en:de:1", ("file", "Datei"), ("pane", "Scheibe"))
    glossary = native(mmt, "/glossary")["terms"]
    assert glossary == {"tool": "Werkzeug", "file": "Datei", "drawer": "Schublade", "pane": "Scheibe"}
    mmt.client.patch("/v1/projects/manual", json={"glossary": glossary | {"disk": "Platte"}}, headers=headers)
    mmt.data("delete", f"/memories/{first}")
    left = {"tool": "Werkzeug", "file": "Datei", "pane": "Scheibe", "disk": "Platte"}
    assert native(mmt, "/glossary")["terms"] == left
    mmt.client.patch("/v1/projects/manual", json={"glossary": left | {"file": "Akte"}}, headers=headers)
    mmt.data("delete", f"/memories/{second}")  # what somebody has changed since is not its own any more
    assert native(mmt, "/glossary")["terms"] == {"tool": "Werkzeug", "file": "Akte", "disk": "Platte"}
