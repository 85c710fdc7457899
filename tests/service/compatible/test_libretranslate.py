"""The API of LibreTranslate: translate, detect, suggest, languages, files, errors."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pytest
from helpers.shared_task import TaskServer
from helpers.tiny_marian import demo_pairs
from starlette.testclient import TestClient

from mtloop.service import Settings
from mtloop.service.accounts.metering import Metering
from mtloop.service.compatible import language_detection
from mtloop.service.compatible.file_translation import DETECTED_BYTES
from mtloop.service.compatible.language_detection import DetectedLanguage
from mtloop.service.compatible.libretranslate import PATHS
from mtloop.service.problems import ProblemError, too_many

PAIRS = list(demo_pairs())
SOURCE, TARGET = PAIRS[1]
EN_DE = {"source": "en", "target": "de"}


@dataclass(frozen=True)
class LibreTranslateCalls:
    """Requests as clients send them: the key is in the body."""

    client: TestClient
    key: str

    def post(self, path: str, status: int = 200, **fields: Any) -> Any:
        response = self.client.post(path, json={"api_key": self.key, **fields})
        assert response.status_code == status, response.text
        assert response.headers["access-control-allow-origin"] == "*"
        return response.json()

    def error(self, path: str, status: int, **fields: Any) -> str:
        answer = self.post(path, status, **fields)
        assert list(answer) == ["error"]
        return str(answer["error"])

    def translation(self, text: str) -> str:
        return str(self.post("/translate", q=text, **EN_DE)["translatedText"])


@pytest.fixture(scope="module")
def libre(wordy_client: TestClient, wordy_key: str) -> LibreTranslateCalls:
    return LibreTranslateCalls(wordy_client, wordy_key)


def test_one_text_and_many_in_order(libre: LibreTranslateCalls) -> None:
    texts = [source for source, _ in PAIRS[:9]]  # more than one call of the engine may have
    many = libre.post("/translate", q=[*texts, "", " "], **EN_DE)
    assert list(many) == ["translatedText"]
    assert many["translatedText"][:9] == [libre.translation(text) for text in texts]
    assert len(set(many["translatedText"][:9])) > 1
    assert many["translatedText"][9:] == ["", " "]


def test_every_kind_of_body_and_the_prefix(libre: LibreTranslateCalls) -> None:
    expected, fields = {"translatedText": libre.translation(SOURCE)}, {"q": SOURCE, "api_key": libre.key, **EN_DE}
    post = libre.client.post
    for address in ("/translate", "/libretranslate/translate"):
        assert post(address, json=fields).json() == expected
        assert post(address, data=fields).json() == expected
        assert post(address, params=fields).json() == expected
        assert post(address, files={name: (None, value) for name, value in fields.items()}).json() == expected
    others = {**fields, "api_key": "", "apiKey": libre.key, "secret": "x", "source": "EN", "target": "de_DE"}
    assert post("/translate", json=others).json() == expected
    keyless = {"q": SOURCE, **EN_DE}
    assert post(f"/libretranslate/key/{libre.key}/translate", json=keyless).json() == expected
    assert post("/translate", json=keyless, headers={"authorization": f"Bearer {libre.key}"}).json() == expected


def test_line_ends_of_a_form_are_those_of_the_text(libre: LibreTranslateCalls) -> None:
    text = "Close the window.\nOpen the window."
    form = {"q": text.replace("\n", "\r\n"), "api_key": libre.key, **EN_DE}
    assert libre.client.post("/translate", data=form).json() == {"translatedText": libre.translation(text)}


def test_the_language_is_detected(libre: LibreTranslateCalls) -> None:
    one = libre.post("/translate", q=SOURCE, source="auto", target="de")
    assert one["translatedText"] == libre.translation(SOURCE)
    assert one["detectedLanguage"]["language"] == "en"
    assert 50 < one["detectedLanguage"]["confidence"] <= 100
    many = libre.post("/translate", q=[SOURCE, "1"], source="auto", target="de")["detectedLanguage"]
    assert many == [{"language": "en", "confidence": many[0]["confidence"]}] * 2  # that of all texts together
    found = libre.post("/detect", q=TARGET)
    assert found[0]["language"] == "de"
    assert found[0]["confidence"] > 50


def test_alternatives_differ_from_the_translation(libre: LibreTranslateCalls) -> None:
    one = libre.post("/translate", q=SOURCE, alternatives=2, **EN_DE)
    assert one["translatedText"] == libre.translation(SOURCE)
    assert 1 <= len(one["alternatives"]) <= 2
    assert one["translatedText"] not in one["alternatives"]
    many = libre.post("/translate", q=[SOURCE], alternatives=2, **EN_DE)
    assert many["alternatives"] == [one["alternatives"]]
    assert "expected 0 to 9" in libre.error("/translate", 400, q=SOURCE, alternatives=10, **EN_DE)


def test_tags_and_placeholders_stay(libre: LibreTranslateCalls) -> None:
    html = libre.post("/translate", q="Press <b>Save</b>.<br>Then wait.", format="html", **EN_DE)["translatedText"]
    assert html.count("<b>") == html.count("</b>") == html.count("<br>") == 1
    weblate = libre.translation("Open [X7X] and send %(count)d files to [X12X].")
    assert all(weblate.count(part) == 1 for part in ("[X7X]", "[X12X]", "%(count)d"))


def test_the_blocks_of_a_page_are_translated_one_by_one(libre: LibreTranslateCalls) -> None:
    (first, second), page = [source for source, _ in PAIRS[:2]], "<h1>{}</h1>\n<ul><li>{}</li><li>{}</li></ul>"
    asked = page.format(first, second, first)
    done = [libre.post("/translate", q=text, format="html", **EN_DE)["translatedText"] for text in (first, second)]
    found = libre.post("/translate", q=asked, format="html", **EN_DE)["translatedText"]
    assert found == page.format(done[0], done[1], done[0])
    assert "xml format is not supported" in libre.error("/translate", 400, q=asked, format="xml", **EN_DE)


@pytest.mark.parametrize("prefix", ["", "/libretranslate", "/libretranslate/key/KEY"])
def test_a_slash_at_the_end_of_an_address_changes_nothing(libre: LibreTranslateCalls, prefix: str) -> None:
    fields, base = {"q": SOURCE, "api_key": libre.key, **EN_DE}, prefix.replace("KEY", libre.key)
    assert libre.client.post(f"{base}/translate/", json=fields).json() == {"translatedText": libre.translation(SOURCE)}
    for path in ("/languages", "/frontend/settings", "/spec", "/health"):
        assert libre.client.get(f"{base}{path}/").json() == libre.client.get(f"{base}{path}").json()
    wrong = libre.client.post("/translate/", json={**fields, "api_key": "x"})
    assert (wrong.status_code, wrong.json()) == (403, {"error": "Invalid API key"})


def test_a_suggestion_teaches_at_once(libre: LibreTranslateCalls) -> None:
    source, target = PAIRS[3]
    other, before = libre.translation(PAIRS[20][0]), libre.translation(source)
    assert before != target
    assert libre.post("/suggest", q=source, s=target, source="auto", target="de") == {"success": True}
    assert libre.translation(source) == target
    assert libre.translation(PAIRS[20][0]) == other
    assert "copy of the source" in libre.error("/suggest", 400, q=source, s=source, **EN_DE)
    assert "missing s parameter" in libre.error("/suggest", 400, q=source, **EN_DE)


def test_a_suggestion_needs_the_role(wordy_home: TaskServer, libre: LibreTranslateCalls) -> None:
    reader = LibreTranslateCalls(libre.client, wordy_home.participant("reader"))
    header, member = {"x-api-key": libre.key}, "/v1/projects/manual/members/reader"
    assert libre.client.put(member, json={"role": "translate"}, headers=header).status_code in (200, 201, 204)
    assert reader.translation(SOURCE) == libre.translation(SOURCE)
    assert "role" in reader.error("/suggest", 403, q=SOURCE, s=TARGET, **EN_DE)


def test_languages_with_and_without_a_key(libre: LibreTranslateCalls) -> None:
    expected = [
        {"code": "en", "name": "English", "targets": ["de"]},
        {"code": "de", "name": "German", "targets": []},
    ]
    assert libre.post("/languages") == expected
    assert libre.client.get("/languages").json() == expected
    body = {"content": f"api_key={libre.key}", "headers": {"content-type": "application/x-www-form-urlencoded"}}
    assert libre.client.request("GET", "/libretranslate/languages", **body).json() == expected
    assert libre.client.get("/languages", params={"api_key": "mtl_wrong"}).status_code == 403


def test_what_programs_ask_at_their_start(libre: LibreTranslateCalls) -> None:
    settings = libre.client.get("/frontend/settings").json()
    assert all(settings[name] for name in ("keyRequired", "apiKeys", "suggestions", "filesTranslation"))
    assert settings["charLimit"] == 20_000
    assert settings["language"]["source"] == {"code": "en", "name": "English"}
    assert ".po" in settings["supportedFilesFormat"]
    assert libre.client.get("/libretranslate/spec").json()["info"]["title"] == "LibreTranslate"
    assert libre.client.get("/health").json() == {"status": "ok"}


@pytest.mark.parametrize("path", PATHS)
def test_browsers_may_ask_first(libre: LibreTranslateCalls, path: str) -> None:
    response = libre.client.options(path.format(name="x"))
    assert response.status_code == 204
    assert response.headers["access-control-allow-origin"] == "*"
    assert "POST" in response.headers["access-control-allow-methods"]


def test_keys_are_refused_in_the_words_that_clients_know(libre: LibreTranslateCalls) -> None:
    fields = {"q": SOURCE, **EN_DE}
    for key in ("", None):
        wanted = "Please contact the server operator to get an API key"
        assert libre.error("/translate", 400, api_key=key, **fields) == wanted
    assert libre.error("/translate", 403, api_key="mtl_wrong", **fields) == "Invalid API key"
    assert libre.error("/key/mtl_wrong/translate", 403, api_key="", **fields) == "Invalid API key"
    assert "no such project" in libre.error("/translate", 403, api_key=f"{libre.key}:other", **fields)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"q": ""}, "missing q parameter"),
        ({"q": []}, "missing q parameter"),
        ({"q": None}, "missing q parameter"),
        ({"q": ["a", 5]}, "expected a text or a list of texts"),
        ({"q": {"a": "b"}}, "expected a text or a list of texts"),
        ({"q": "a" * 20_001}, "exceeds text limit (20000)"),
        ({"q": ["a"] * 1001}, "at most 1000 in one request"),
        ({"q": "a", "source": ""}, "missing source parameter"),
        ({"q": "a", "target": None}, "missing target parameter"),
        ({"q": "a", "target": "xx"}, "xx is not supported. This key translates en-de."),
        ({"q": "a", "source": "auto", "target": "xx"}, "xx is not supported"),
        ({"q": "a", "format": "markdown"}, "markdown format is not supported"),
        ({"q": "a", "alternatives": "many"}, "expected a whole number"),
        ({"q": "a\x00"}, "NUL is not allowed"),
    ],
)
def test_bad_fields(libre: LibreTranslateCalls, fields: dict[str, Any], message: str) -> None:
    assert message in libre.error("/translate", 400, **{**EN_DE, **fields})


def test_a_thousand_texts_in_one_request(libre: LibreTranslateCalls) -> None:
    texts = [str(number) for number in range(999)]  # without words, so that nothing is computed
    assert libre.post("/translate", q=[*texts, SOURCE], **EN_DE)["translatedText"] == [
        *texts,
        libre.translation(SOURCE),
    ]


def test_bad_bodies_and_addresses_answer_in_the_same_form(libre: LibreTranslateCalls) -> None:
    json = {"content-type": "application/json"}
    for body in (b"{", b"[]", b"q=a", b"\xff"):
        response = libre.client.post("/translate", content=body, headers=json)
        assert response.status_code == 400
        assert list(response.json()) == ["error"]
    wrong = libre.client.get("/translate")
    assert wrong.status_code == 405
    assert list(wrong.json()) == ["error"]
    assert wrong.headers["allow"] == "OPTIONS, POST"
    for name in ("none.txt", "%00", "%00.txt", "0" * 32, "A" * 32):
        assert libre.client.get(f"/download_file/{name}").status_code == 404


def test_a_file_is_translated_and_can_be_loaded(libre: LibreTranslateCalls) -> None:
    data = {"api_key": libre.key, "source": "auto", "target": "de"}
    content = f"{SOURCE}\n\n{PAIRS[2][0]}\n".encode()
    answer = libre.client.post("/libretranslate/translate_file", data=data, files={"file": ("a.txt", content)})
    assert answer.status_code == 200, answer.text
    address = answer.json()["translatedFileUrl"]
    assert address.startswith("http://testserver/libretranslate/download_file/")
    loaded = libre.client.get(address)
    assert loaded.content.decode() == f"{libre.translation(SOURCE)}\n\n{libre.translation(PAIRS[2][0])}\n"
    assert loaded.headers["content-disposition"] == 'attachment; filename="translated.txt"'
    missing = libre.client.post("/translate_file", data=data)
    assert missing.json() == {"error": "missing file parameter"}
    unknown = libre.client.post("/translate_file", data=data, files={"file": ("a.pdf", content)})
    assert unknown.status_code == 400
    assert ".po, .pot," in unknown.json()["error"]


def test_only_the_beginning_of_a_file_says_its_language(
    libre: LibreTranslateCalls, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A whole file would take long to decode, in the event loop."""
    looked_at: list[str] = []
    rank = language_detection.rank_languages

    def recorded(text: str, languages: Iterable[str]) -> list[DetectedLanguage]:
        looked_at.append(text)
        return rank(text, languages)

    monkeypatch.setattr(language_detection, "rank_languages", recorded)
    data = {"api_key": libre.key, "source": "auto", "target": "de"}
    content = "\n" * 20_000
    answer = libre.client.post("/translate_file", data=data, files={"file": ("a.txt", content.encode())})
    assert answer.status_code == 200, answer.text
    assert looked_at == [content[:DETECTED_BYTES]]


def test_a_large_file_needs_a_key_outside_the_body(libre: LibreTranslateCalls) -> None:
    large = {"file": ("a.pdf", b"x" * (Settings().max_project_body + 1))}
    data = {"api_key": libre.key, **EN_DE}
    post = libre.client.post
    assert "exceeds text limit" in post("/translate_file", data=data, files=large).json()["error"]
    assert "unknown format" in post(f"/key/{libre.key}/translate_file", data=data, files=large).json()["error"]
    wrong = post("/translate_file", data=data, files=large, headers={"x-api-key": "mtl_wrong"})
    assert (wrong.status_code, wrong.json()) == (403, {"error": "Invalid API key"})


def test_a_refused_address_cannot_send_a_file(libre: LibreTranslateCalls, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(*arguments: object) -> None:
        raise ProblemError(too_many(1))

    monkeypatch.setattr(Metering, "check_address", refuse)
    body = {"content": b"no form", "headers": {"content-type": "multipart/form-data; boundary=x"}}
    assert libre.client.post("/translate_file", **body).status_code == 429
