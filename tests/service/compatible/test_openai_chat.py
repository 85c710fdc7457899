"""OpenAI's chat API: the prompts that Weblate sends are translated, and all others are refused in one line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from helpers.shared_task import TaskServer
from starlette.testclient import TestClient

from mtloop.service import Settings
from mtloop.service.compatible.openai_chat import SEPARATOR

SOURCE, TARGET = "Open the drawer of the cabinet.", "Öffnen Sie die Schublade des Schranks."
OTHER = "Close the window of the house."
# As Weblate 5.14.3 sends them (weblate/machinery/openai.py).
PROMPT = """
You are a highly skilled translation assistant, adept at translating text
from language '{source}'
to language '{target}'
with precision and nuance.
You are a squirrel breeder.
Use informal language.
You always reply with translated string only.
You do not include transliteration.
{separator}

"""
PARTS = f"""
You receive an input as strings separated by {SEPARATOR} and
your answer separates strings by {SEPARATOR}.
"""
REPHRASE = f"""
You receive an input as the source and existing translation strings separated
by {SEPARATOR} and you answer three rephrased translation strings separated by
{SEPARATOR}.
"""
# The first line of the prompt of Weblate 2026.x (weblate/machinery/llm.py).
STRUCTURED = "\nYou are a professional translation engine specialized in structured localization tasks.\n\n..."
RULES = "".join(f"{number}. Keep @@PH{number}@@ and [quotes] as they are.\n" for number in range(1, 200))
WHOLE = f"""{STRUCTURED[:-3]}You breed squirrels. Say 'from language' and 'to language'.

Target-language project instructions:
Use informal language. You are a highly skilled translation assistant.

{{ "source_language": "xx", "strings": [] }}

{RULES}"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, tiny_model: str) -> TaskServer:
    folder = tmp_path_factory.mktemp("openai")
    return TaskServer(Settings(folder=folder / "data", models=tiny_model, engine_linger=1), folder)


@pytest.fixture(scope="module")
def key(home: TaskServer) -> str:
    return home.participant("ann")


@pytest.fixture(scope="module")
def weblate(home: TaskServer, key: str) -> Iterator[TestClient]:
    """A client with the key as Weblate sends it. There is one project, with one correction."""
    with home.serve() as client:
        native = {"x-api-key": key}
        assert client.post("/v1/projects", json={"name": "manual"}, headers=native).status_code == 201
        pair = {"source": SOURCE, "translation": TARGET}
        assert client.post("/v1/projects/manual/confirm", json=pair, headers=native).status_code == 200
        client.headers["authorization"] = f"Bearer {key}"
        yield client


def system(separator: str = "", source: str = "en", target: str = "de") -> str:
    return PROMPT.format(source=source, target=target, separator=separator)


def chat(client: TestClient, prompt: str, content: str, path: str = "/openai", **fields: Any) -> Any:
    messages = [{"role": "system", "content": prompt}, {"role": "user", "content": content}]
    return client.post(f"{path}/v1/chat/completions", json={"model": "manual", "messages": messages} | fields)


def content(response: Any) -> str:
    assert response.status_code == 200, response.text
    return str(response.json()["choices"][0]["message"]["content"])


@pytest.mark.parametrize("path", ["", "/openai"])
def test_models_are_projects(weblate: TestClient, path: str) -> None:
    found = weblate.get(f"{path}/v1/models").json()
    assert (found["object"], [one["id"] for one in found["data"]]) == ("list", ["manual"])


@pytest.mark.parametrize("path", ["", "/openai"])
def test_one_text_is_translated_with_its_correction(weblate: TestClient, path: str) -> None:
    answer = chat(weblate, system(), SOURCE, path, temperature=0)
    assert content(answer) == TARGET
    found = answer.json()
    assert (found["object"], found["model"], found["choices"][0]["finish_reason"]) == (
        "chat.completion",
        "manual",
        "stop",
    )
    assert found["usage"] == {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}


def test_texts_keep_their_order_and_their_placeholders(weblate: TestClient) -> None:
    texts = [OTHER, SOURCE, "Send [X5X] files to [X12X]."]
    parts = content(chat(weblate, system(PARTS), SEPARATOR.join(texts))).split(SEPARATOR)
    assert len(parts) == 3
    assert parts[0] == content(chat(weblate, system(), OTHER))
    assert parts[1] == TARGET
    assert all(parts[2].count(one) == 1 for one in ("[X5X]", "[X12X]"))


def test_rephrasing_gives_different_translations_of_the_source(weblate: TestClient) -> None:
    parts = content(chat(weblate, system(REPHRASE), SEPARATOR.join([OTHER, "Fenster zu."]))).split(SEPARATOR)
    assert 1 <= len(parts) <= 3
    assert len(set(parts)) == len(parts)
    assert parts[0] == content(chat(weblate, system(), OTHER))


def test_rephrasing_with_a_method_that_gives_one_translation(weblate: TestClient, key: str) -> None:
    """Weblate 5 asks for three of every string that is translated already. An error would leave it without any."""
    native = {"x-api-key": key, "authorization": ""}
    body = {"name": "rated", "method": "nmt-el", "source_language": "en", "target_language": "de"}
    assert weblate.post("/v1/projects", json=body, headers=native).status_code == 201
    refused = weblate.post("/v1/projects/rated/translate", json={"text": OTHER, "candidates": 3}, headers=native)
    assert "gives one translation" in refused.text
    answer = chat(weblate, system(REPHRASE), SEPARATOR.join([OTHER, "Fenster zu."]), model="rated")
    assert len(content(answer).split(SEPARATOR)) == 1
    assert weblate.delete("/v1/projects/rated", headers=native).status_code == 204


def test_the_structured_prompt_gives_one_list(weblate: TestClient) -> None:
    strings = [{"source": SOURCE, "parts": [{"type": "text", "text": SOURCE}]}, {"source": "Send @@PH5@@ to @@PH12@@."}]
    asked = {"source_language": "en", "target_language": "de_AT", "glossary": [], "strings": strings}
    messages = [
        {"role": "system", "content": STRUCTURED},
        {"role": "user", "content": "an example"},
        {"role": "assistant", "content": "[]"},
        {"role": "user", "content": json.dumps(asked)},
    ]
    found = json.loads(content(chat(weblate, "", "", messages=messages)))
    assert found[0] == TARGET
    assert len(found) == 2
    assert all(found[1].count(one) == 1 for one in ("@@PH5@@", "@@PH12@@"))


def structured(*strings: dict[str, Any], prompt: str = WHOLE, target: str = "de") -> list[dict[str, str]]:
    asked = {"source_language": "en", "target_language": target, "glossary": [], "strings": strings}
    example = {**asked, "strings": [{"source": "Weblate", "parts": [{"type": "text", "text": "Weblate"}]}]}
    return [
        {"role": "system", "content": prompt},
        {"role": "user", "content": json.dumps(example)},
        {"role": "assistant", "content": json.dumps(["Weblate"])},
        {"role": "user", "content": json.dumps(asked)},
    ]


def part(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": "placeholder", "kind": kind, "text": "", "translatable": False} | fields


def test_everything_that_a_string_of_the_structured_prompt_may_hold(weblate: TestClient) -> None:
    marked = "@@PH0@@Open@@PH7@@ the drawer of @@PH26@@."
    tag = {"id": "@@PH0@@", "close_id": "@@PH7@@", "role": "open", "text": "Open", "translatable": True}
    string = {
        "source": marked,
        "parts": [part("markup", **tag), {"type": "text", "text": " the drawer of "}, part("syntax", id="@@PH26@@")],
        "context": "button",
        "key": "app.open",
        "explanation": "furniture",
        "secondary": {"language": "fr", "text": "Ouvrir", "language_name": "French"},
        "plural": {"source_forms": 2, "target_forms": 2, "form_index": 0, "source_formula": "nplurals=2;"},
        "failing_checks": [{"check_id": "same", "name": "Unchanged translation", "description": "Equal."}],
        "placeholders": {"@@PH0@@": "<b>", "@@PH7@@": "</b>", "@@PH26@@": "%s"},
        "translation": "@@PH0@@Auf@@PH7@@ @@PH26@@.",
    }
    found = json.loads(content(chat(weblate, "", "", messages=structured(string, {"source": SOURCE}, {"source": " "}))))
    assert [len(found), found[1], found[2]] == [3, TARGET, " "]
    assert all(found[0].count(name) == 1 for name in ("@@PH0@@", "@@PH7@@", "@@PH26@@"))


def test_a_part_that_is_not_translatable_stays(weblate: TestClient) -> None:
    """Weblate names the text between two placeholders, such as code, that nobody translates."""
    code = {"id": "@@PH5@@", "close_id": "@@PH20@@", "text": "close the window"}
    string = {"source": "Open @@PH5@@close the window@@PH20@@ of the house.", "parts": [part("markup", **code)]}
    broken = {"source": "Open it @@PH1@@.", "parts": [part("markup", id="@@PH1@@", close_id="x", text="")]}
    found = json.loads(content(chat(weblate, "", "", messages=structured(string, broken))))
    assert found[0].count("@@PH5@@close the window@@PH20@@") == 1
    assert found[1].count("@@PH1@@") == 1


@pytest.mark.parametrize(
    ("source", "target"), [("English", "German"), ("EN", "de-AT"), ("english", "German (Austria)")]
)
def test_languages_have_codes_or_names(weblate: TestClient, source: str, target: str) -> None:
    assert content(chat(weblate, system(source=source, target=target), SOURCE)) == TARGET


def test_any_model_if_there_is_one_project(weblate: TestClient) -> None:
    assert content(chat(weblate, system(), SOURCE, model="gpt-5-nano")) == TARGET


@pytest.mark.parametrize(
    ("prompt", "text", "fields", "said"),
    [
        ("You are a helpful assistant.", "Hello!", {}, "only the prompts of Weblate"),
        ("Evaluate the supplied translation units.", '{"units": []}', {}, "only the prompts of Weblate"),
        (f"You are a helpful assistant.{STRUCTURED}", "Hello!", {}, "only the prompts of Weblate"),
        (STRUCTURED, '{"source_language": "en", "target_language": "de", "strings": ["Hello!"]}', {}, "only the"),
        (
            STRUCTURED,
            '{"source_language": "en", "target_language": "de", "strings": [{"source": "a", "parts": [1]}]}',
            {},
            "only the",
        ),
        (STRUCTURED, "{", {}, "only the prompts of Weblate"),
        (STRUCTURED, '{"units": []}', {}, "only the prompts of Weblate"),
        (STRUCTURED, '{"source_language": "en", "target_language": "de", "strings": [{"source": 1}]}', {}, "strings"),
        (system(), SOURCE, {"stream": True}, "only one whole answer"),
        (system(), SOURCE, {"n": 2}, "only one whole answer"),
        (system(), SOURCE, {"tools": []}, "tools: this option is not supported"),
        (
            STRUCTURED,
            r'{"source_language": "\ud800", "target_language": "de", "strings": []}',
            {},
            "source_language: lone surrogates are not allowed",
        ),
        (
            STRUCTURED,
            r'{"source_language": "en", "target_language": "\u0000", "strings": []}',
            {},
            "target_language: NUL is not allowed",
        ),
        (system(), SOURCE, {"messages": []}, "only the prompts of Weblate"),
        (system(), SOURCE, {"messages": "text"}, "only the prompts of Weblate"),
        (system(), "a\x00b", {}, "NUL"),
        (system(), "word " * 30_000, {}, "at most 100,000"),
        (system(PARTS), SEPARATOR.join(["word"] * 200), {}, "at most 100 texts"),
        (system(target="fr"), SOURCE, {}, "en-fr is not supported. This key translates en-de."),
        (system(target="Klingon"), SOURCE, {}, "en-Klingon is not supported"),
    ],
)
def test_anything_else_is_refused_in_one_line(
    weblate: TestClient, prompt: str, text: str, fields: dict[str, Any], said: str
) -> None:
    answer = chat(weblate, prompt, text, **fields)
    error = answer.json()["error"]
    assert (answer.status_code, error["type"]) == (400, "invalid_request_error")
    assert said in error["message"]
    assert "\n" not in error["message"]
    assert "Hello" not in error["message"]


def test_an_option_whose_name_is_no_text(weblate: TestClient) -> None:
    json_type = {"content-type": "application/json"}
    answer = weblate.post("/v1/chat/completions", content=rb'{"a\ud800": 1}', headers=json_type)
    assert answer.status_code == 400
    assert answer.json()["error"]["message"] == "option: lone surrogates are not allowed"


def test_a_body_that_is_no_json(weblate: TestClient) -> None:
    answer = weblate.post("/v1/chat/completions", content=b"{", headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["error"]["message"]) == (400, "body: not valid JSON in UTF-8")


@pytest.mark.parametrize("sent", ["Bearer wrong", "", "Basic abc"])
def test_a_wrong_key(weblate: TestClient, sent: str) -> None:
    for answer in (
        weblate.get("/v1/models", headers={"authorization": sent}),
        weblate.post("/openai/v1/chat/completions", json={}, headers={"authorization": sent}),
    ):
        assert (answer.status_code, answer.json()["error"]["type"]) == (401, "invalid_request_error")


def test_several_projects(weblate: TestClient, key: str) -> None:
    native = {"x-api-key": key, "authorization": ""}
    assert weblate.post("/v1/projects", json={"name": "other"}, headers=native).status_code == 201
    assert [one["id"] for one in weblate.get("/v1/models").json()["data"]] == ["manual", "other"]
    assert content(chat(weblate, system(), SOURCE)) == TARGET
    assert content(chat(weblate, system(), SOURCE, model="other")) != TARGET
    unclear = chat(weblate, system(), SOURCE, model="gpt-5")
    assert (unclear.status_code, "several projects" in unclear.text) == (400, True)
    named = weblate.get("/v1/models", headers={"authorization": f"Bearer {key}:other"})
    assert [one["id"] for one in named.json()["data"]] == ["other"]
    assert weblate.delete("/v1/projects/other", headers=native).status_code == 204
