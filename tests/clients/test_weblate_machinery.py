"""Weblate's own engines and its webhook add-on (package `weblate`) against a running server.

They run without a site: no database, settings in code, small stand-ins for libraries that have to be compiled. A unit
is the mock that Weblate's own tests use.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from helpers.client_environments import run_client
from helpers.served_projects import ServedProjects, serving_projects
from helpers.weblate_scripts import START, START_OF_2026, UNITS_OF_2026

from mtloop.client import Project
from mtloop.service.administration import Administration
from mtloop.service.settings import Settings

pytestmark = pytest.mark.slow
ENGINES = ["DeepL", "LibreTranslate", "ModernMT", "OpenAI"]
SOURCE, TARGET = "Open the drawer of the cabinet.", "Öffnen Sie die Schublade des Schranks."
FORMATTED, FORMATTED_TARGET = "Send %s files to {name}.", "Senden Sie {name} bitte %s Dateien."
OTHER = "The printer has no paper."
TRANSLATE = (
    START
    + """
found = {}
for engine in engines(key):
    engine.validate_settings()
    batch = [unit(text) for text in (source, other, formatted)]
    engine.batch_translate(batch)
    found[engine.name] = {
        "single": texts(engine, source, other, formatted),
        "batch": [one.machinery["translation"] for one in batch],
        "again": texts(engine, source),
        "variant": texts(engine, source, code="de_AT"),
        "unknown": failed(engine, code="fr"),
    }
    cache.clear()
    found[engine.name]["afterwards"] = texts(engine, source, other)
    cache.clear()
with_translation = texts(engines(key)[3], other, target="Drucker leer.")[0]
found["rephrased"] = [len(with_translation), with_translation[0]]
print(json.dumps(found))
"""
)
WRONG_KEY = (
    START
    + """
found = {}
for engine in engines("wrong"):
    if engine.name != "OpenAI":
        engine.supported_languages = {("EN", "DE"), ("en", "de"), "en", "de"}
    found[engine.name] = [failed(engine), bool(engine.is_rate_limited())]
print(json.dumps(found))
"""
)
GLOSSARY = (
    START
    + """
found = {}
patch("weblate.glossary.models.get_glossary_tsv", new=lambda _: rest[0]).start()
for engine in (one for one in engines(key) if one.name in rest[1:]):
    found[engine.name] = [len(texts(engine, other)[0]), len(engine.list_glossaries()), bool(engine.is_rate_limited())]
print(json.dumps(found))
"""
)
WEBHOOK = (
    START
    + """
from datetime import datetime, timezone
from weblate.addons.forms import WebhooksAddonForm
from weblate.addons.webhooks import WebhookAddon
from weblate.trans.actions import ActionEvents
from weblate.trans.models import Change

secret, target, formatted_target = rest
WebhooksAddonForm.base_fields["secret"].run_validators(secret)
addon = WebhookAddon.__new__(WebhookAddon)
configuration = {"webhook_url": f"{url}/weblate/manual", "secret": secret, "events": [int(one) for one in ActionEvents]}
addon.instance = SimpleNamespace(configuration=configuration)


class SavedChange(SimpleNamespace):
    get_uuid = Change.get_uuid
    get_action_display = lambda self: str(ActionEvents(self.action).label)
    get_absolute_url = lambda self: f"/translate/manual/app/de/?checksum={abs(hash(self.unit.source)):016x}"


def send(number, action, text, old, string=source):
    named = SimpleNamespace(username="ann")
    component = SimpleNamespace(slug="app", category=None)
    translation = SimpleNamespace(language=SimpleNamespace(code="de"))
    change = SavedChange(
        id=number, action=int(action), timestamp=datetime.now(timezone.utc), target=text, old=old, author=named,
        user=named, unit=SimpleNamespace(source=string), project=SimpleNamespace(slug="manual"), component=component,
        translation=translation,
    )
    answer = addon.change_event(change)["response"]
    return [answer["status_code"], json.loads(answer["content"])]


found = {
    "machine": send(1, ActionEvents.AUTO, "Maschine.", ""),
    "changed": send(2, ActionEvents.CHANGE, target, "Maschine."),
    "formatted": send(3, ActionEvents.APPROVE, formatted_target, "", formatted),
    "repeated": send(2, ActionEvents.CHANGE, target, "Maschine.")[0],
}
configuration["secret"] = ""
found["unsigned"] = send(4, ActionEvents.CHANGE, target, "")[0]
print(json.dumps(found))
"""
)
ENGINES_OF_2026 = (
    START_OF_2026
    + """
from weblate.machinery.deepl import DeepLTranslation
from weblate.machinery.libretranslate import LibreTranslateTranslation
from weblate.machinery.modernmt import ModernMTTranslation


def engines(**fields):
    yield DeepLTranslation({"key": key, "url": f"{url}/deepl/v2/"} | fields), ("EN", "DE")
    yield LibreTranslateTranslation({"key": key, "url": f"{url}/libretranslate/key/{key}/"} | fields), ("en", "de")
    yield ModernMTTranslation({"key": key, "url": f"{url}/modernmt/"} | fields), ("en", "de")


def ask(engine, source, target):
    if engine.name == "ModernMT":
        found = {text: list(engine.download_translations(source, target, text, None, None)) for text in texts}
    else:
        found = engine.download_multiple_translations(source, target, [(text, None) for text in texts])
    return [one["text"] for text in texts for one in found[text]]


def ask_all(**fields):
    for engine, pair in engines(**fields):
        try:
            yield engine.name, ask(engine, *pair)
        except Exception as error:
            yield engine.name, type(error).__name__


def has_german(engine):
    return any("de" in str(one).lower() for one in engine.download_languages())


seen = {"texts": dict(ask_all()), "languages": {engine.name: has_german(engine) for engine, _ in engines()}}
seen["private"] = dict(ask_all(_project="manual"))
settings.ALLOWED_MACHINERY_DOMAINS = ["127.0.0.1"]
seen["allowed"] = dict(ask_all(_project="manual"))
print(json.dumps(seen))
"""
)
WITH_UNITS_OF_2026 = (
    UNITS_OF_2026
    + """
source, other, formatted, glossary[0] = texts
found = {}
for engine in engines():
    single = translations(engine, *map(Unit, (source, other, formatted)))
    cache.clear()
    batch = [Unit(text) for text in (source, other, formatted)]
    engine.batch_translate(batch)
    found[engine.name] = {
        "single": single,
        "batch": [one.machinery["translation"] for one in batch],
        "variant": translations(engine, Unit(source, "de_AT")),
        "unknown": translations(engine, Unit(source, "fr")),
        "glossaries": len(engine.list_glossaries()) if engine.glossary_support else None,
        "stopped": bool(engine.is_rate_limited()),
    }
    cache.clear()
print(json.dumps(found))
"""
)
WEBHOOK_OF_2026 = (
    START_OF_2026
    + """
from datetime import datetime, timezone
from types import SimpleNamespace
from weblate.addons.webhooks import MessageNotDeliveredError, WebhookAddon
from weblate.trans.actions import ActionEvents
from weblate.trans.models import Change

source, secret, target = texts
addon = WebhookAddon.__new__(WebhookAddon)
configuration = {"webhook_url": f"{url}/weblate/manual", "secret": secret, "events": [int(one) for one in ActionEvents]}
addon.instance = SimpleNamespace(configuration=configuration)


class SavedChange(SimpleNamespace):
    get_uuid = Change.get_uuid
    get_action_display = lambda self: str(ActionEvents(self.action).label)
    get_absolute_url = lambda self: "/translate/manual/app/de/?checksum=0123456789abcdef"


named = SimpleNamespace(username="ann")
change = SavedChange(
    id=1, action=int(ActionEvents.CHANGE), timestamp=datetime.now(timezone.utc), target=target, old="", author=named,
    user=named, unit=SimpleNamespace(source=source, context=""), project=SimpleNamespace(slug="manual"),
    component=SimpleNamespace(slug="app", category=None),
    translation=SimpleNamespace(language=SimpleNamespace(code="de")),
)
try:
    seen = [addon.change_event(change)]
except MessageNotDeliveredError as error:
    seen = ["not delivered"]
settings.WEBHOOK_PRIVATE_ALLOWLIST = ["127.0.0.1"]
answer = addon.change_event(change)["response"]
print(json.dumps([*seen, answer["status_code"], json.loads(answer["content"])]))
"""
)
ENGINE_OF_2026 = (
    START_OF_2026
    + """
from weblate.machinery.openai import OpenAITranslation

patch("weblate.machinery.llm.Language.objects.fuzzy_get_strict", new=lambda *_, **__: None).start()
chat = {"model": "custom", "custom_model": "manual", "persona": "You breed squirrels", "style": "Use short words"}
chat |= {"language_instructions": {"de": "Use informal language"}}
engine = OpenAITranslation({"key": key, "base_url": f"{url}/openai/v1"} | chat)


def ask(target, *texts):
    found = engine.download_multiple_translations("en", target, [(text, None) for text in texts])
    return [one["text"] for text in texts for one in found[text]]


seen = {"texts": ask("de", *texts)}
try:
    ask("fr", texts[0])
except Exception as error:
    seen["pair"] = str(error)
print(json.dumps(seen))
"""
)
PROMPTS = """
import ast, json, re, sys, sysconfig
from pathlib import Path

folder = Path(sysconfig.get_path("purelib")) / "weblate" / "machinery"


def text(file, name):
    found = re.search(rf'^{name} = (\\"\\"\\".*?\\"\\"\\")', (folder / file).read_text(encoding="utf-8"), re.M | re.S)
    return ast.literal_eval(found[1])


instructions = "Target-language project instructions:\\nUse informal language."
parts = {"persona": "You breed squirrels.", "style": "Use short words.", "language_instructions": instructions}
prompts = {
    "translate": text("llm.py", "PROMPT").format(**parts),
    "bare": text("llm.py", "PROMPT").format(**dict.fromkeys(parts, "")),
    "evaluate": text("evaluation.py", "EVALUATION_PROMPT"),
}
print(json.dumps(prompts))
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedProjects]:
    with serving_projects(tmp_path_factory.mktemp("weblate")) as server:
        server.create("manual")
        yield server


def weblate(server: ServedProjects, script: str, *arguments: str) -> Any:
    return run_client("weblate", script, server.url, server.key, SOURCE, OTHER, FORMATTED, *arguments)


def test_engines_learn_from_the_webhook(server: ServedProjects) -> None:
    with Project(f"{server.url}/manual", server.key) as project:
        secret, _ = project.new_webhook()
        unrelated = str(project.translate(OTHER))
        before = weblate(server, TRANSLATE)
        for name in ENGINES:
            found = before[name]
            assert found["single"] == found["batch"], name
            assert found["single"][1] == [unrelated], name
            assert all(found["single"][2][0].count(part) == 1 for part in ("%s", "{name}")), name
            assert found["again"] == found["variant"] == found["single"][:1] == found["afterwards"][:1], name
            assert found["single"][0] != [TARGET], name
        assert [before[name]["unknown"] for name in ENGINES[:3]] == [[[]], [[]], [[]]]
        assert "en-fr is not supported" in before["OpenAI"]["unknown"]
        assert before["rephrased"][0] in (1, 2, 3)
        assert before["rephrased"][1] == unrelated

        sent = weblate(server, WEBHOOK, secret, TARGET, FORMATTED_TARGET)
        assert (sent["machine"][0], sent["machine"][1]["taught"]) == (200, 0)
        assert sent["changed"] == sent["formatted"] == [200, {"taught": 1, "skipped": None}]
        assert (sent["repeated"], sent["unsigned"]) == (409, 401)

        after = weblate(server, TRANSLATE)
        for name in ENGINES:
            assert after[name]["single"][0] == after[name]["variant"][0] == [TARGET], name
            assert after[name]["single"][2] == [FORMATTED_TARGET], name
        assert str(project.translate(SOURCE)) == TARGET


def test_a_wrong_key_stops_the_engine(server: ServedProjects) -> None:
    for name, (error, is_stopped) in weblate(server, WRONG_KEY).items():
        assert isinstance(error, str), name
        assert is_stopped or name == "OpenAI", name  # Weblate does not look at the status of this one


def test_glossaries(server: ServedProjects) -> None:
    """A term that Weblate does not send any more goes."""
    with Project(f"{server.url}/manual", server.key) as project:
        for name in ("ModernMT", "DeepL"):
            for terms in ({"printer": "Drucker", "paper": "Papier"}, {"printer": "Drucker"}):
                table = "\n".join(f"{term}\t{translation}" for term, translation in terms.items())
                assert weblate(server, GLOSSARY, table, name) == {name: [1, 1, False]}
                assert project.glossary() == terms


@pytest.mark.parametrize("role", ["translate", "confirm"])
def test_a_weak_key_gets_translations_with_the_glossary_of_the_project(server: ServedProjects, role: str) -> None:
    """Twice, since Weblate keeps its glossary in a memory, and changes it."""
    key = Administration(Settings(folder=server.folder)).add_participant(f"weak-{role}")
    with Project(f"{server.url}/manual", server.key) as project:
        project.set_member(f"weak-{role}", role)
        before, unrelated = project.glossary(), str(project.translate(OTHER))
        for table in ("printer\tPresse", "printer\tPresse\npaper\tBlatt"):
            found = run_client(
                "weblate", GLOSSARY, server.url, key, SOURCE, OTHER, FORMATTED, table, "ModernMT", "DeepL"
            )
            assert (found["ModernMT"][0], found["ModernMT"][2]) == (1, False)
            assert found["DeepL"][0] == 1
        assert (project.glossary(), str(project.translate(OTHER))) == (before, unrelated)


def test_the_prompts_of_the_releases_of_2026(server: ServedProjects) -> None:
    """They come out of the package. The rest of the request is written as its source code makes it."""
    prompts = run_client("weblate-2026-prompts", PROMPTS)
    text = {"type": "text", "text": "Send "}
    placeholder = {"type": "placeholder", "id": "@@PH5@@", "kind": "grammar", "text": "", "translatable": False}
    strings = [
        {"source": OTHER, "parts": [{"type": "text", "text": OTHER}], "context": "tray"},
        {"source": "Send @@PH5@@.", "parts": [text, placeholder], "placeholders": {"@@PH5@@": "%s"}},
    ]
    asked = {"source_language": "en", "target_language": "de", "glossary": [], "strings": strings}
    answers = {name: _complete(server, prompt, asked) for name, prompt in prompts.items()}
    assert len(prompts["translate"]) > 5_000
    for name in ("translate", "bare"):
        found = json.loads(answers[name].json()["choices"][0]["message"]["content"])
        assert [len(found), found[1].count("@@PH5@@")] == [2, 1]
    assert answers["evaluate"].status_code == 400
    assert "only the prompts of Weblate" in answers["evaluate"].json()["error"]["message"]


def test_the_engine_of_the_releases_of_2026(server: ServedProjects) -> None:
    """It runs on Python 3.12 and later only. It has no units here, since they need a database."""
    texts = [OTHER, "Send @@PH5@@ files to @@PH15@@.", "@@PH0@@Open@@PH7@@ it now.", OTHER.replace("no", "much")]
    seen = run_client("weblate-2026", ENGINE_OF_2026, server.url, server.key, *texts)
    with Project(f"{server.url}/manual", server.key) as project:
        assert seen["texts"] == [str(project.translate(text)) for text in texts]
    assert "en-fr is not supported" in seen["pair"]


def test_the_other_engines_of_the_releases_of_2026(server: ServedProjects) -> None:
    """Those of a Weblate project refuse private addresses, such as 127.0.0.1, unless a setting allows them."""
    texts, names = [OTHER, "Open the file now."], ENGINES[:3]
    seen = run_client("weblate-2026", ENGINES_OF_2026, server.url, server.key, *texts)
    with Project(f"{server.url}/manual", server.key) as project:
        expected = [str(project.translate(text)) for text in texts]
    assert seen["texts"] == seen["allowed"] == dict.fromkeys(names, expected)
    assert seen["private"] == dict.fromkeys(names, "ValidationError")
    assert seen["languages"] == dict.fromkeys(names, True)


def units_of_2026(server: ServedProjects, key: str, table: str = "") -> dict[str, dict[str, Any]]:
    found = run_client("weblate-2026", WITH_UNITS_OF_2026, server.url, key, SOURCE, OTHER, FORMATTED, table)
    return dict(found)


def test_units_of_the_releases_of_2026(server: ServedProjects) -> None:
    """One by one and in batches; placeholders come back, and the glossary of Weblate becomes that of the project."""
    with Project(f"{server.url}/manual", server.key) as project:
        project.change(glossary={})
        expected = [str(project.translate(text)) for text in (SOURCE, OTHER)]
        for engine, found in units_of_2026(server, server.key).items():
            assert [texts[0] for texts in found["single"][:2]] == expected, engine
            assert found["batch"] == found["single"], engine
            assert all(found["single"][2][0].count(part) == 1 for part in ("%s", "{name}")), engine
            assert found["variant"] == found["single"][:1], engine
            assert (found["unknown"], found["stopped"]) == ([[]], False), engine
        for terms in ({"printer": "Drucker", "paper": "Papier"}, {"printer": "Drucker"}):
            table = "\n".join(f"{term}\t{translation}" for term, translation in terms.items())
            seen = units_of_2026(server, server.key, table)
            assert {name: one["glossaries"] for name, one in seen.items()} == {
                "DeepL": 1,
                "LibreTranslate": None,
                "ModernMT": 1,
            }
            assert not any(one["stopped"] for one in seen.values())
            assert project.glossary() == terms
            assert {one["single"][1][0] for one in seen.values()} == {str(project.translate(OTHER))}


@pytest.mark.parametrize("role", ["translate", "confirm"])
def test_units_of_the_releases_of_2026_with_a_weak_key(server: ServedProjects, role: str) -> None:
    """They do not try to change the glossary of DeepL. If they tried, they would stop for half an hour."""
    key = Administration(Settings(folder=server.folder)).add_participant(f"weak-{role}-2026")
    with Project(f"{server.url}/manual", server.key) as project:
        project.set_member(f"weak-{role}-2026", role)
        before, expected = project.glossary(), [str(project.translate(text)) for text in (SOURCE, OTHER)]
        for table in ("printer\tPresse", "printer\tPresse\npaper\tBlatt"):
            for name, found in units_of_2026(server, key, table).items():
                assert [texts[0] for texts in found["single"][:2]] == expected, name
                assert not found["stopped"], name
        assert project.glossary() == before


def test_the_webhook_of_the_releases_of_2026(server: ServedProjects) -> None:
    source, target = "The stapler is empty.", "Der Hefter ist leer."
    with Project(f"{server.url}/manual", server.key) as project:
        secret, _ = project.new_webhook()
        seen = run_client("weblate-2026", WEBHOOK_OF_2026, server.url, server.key, source, secret, target)
        assert seen == ["not delivered", 200, {"taught": 1, "skipped": None}]
        assert str(project.translate(source)) == target


def _complete(server: ServedProjects, prompt: str, asked: dict[str, Any]) -> httpx2.Response:
    messages = [
        {"role": "system", "content": prompt},
        {"role": "user", "content": json.dumps(asked)},
        {"role": "assistant", "content": "[]"},
        {"role": "user", "content": json.dumps(asked)},
    ]
    headers = {"Authorization": f"Bearer {server.key}", "Accept": "application/json; charset=utf-8"}
    address = f"{server.url}/openai/v1/chat/completions"
    return httpx2.post(address, json={"model": "manual", "messages": messages}, headers=headers, timeout=60)
