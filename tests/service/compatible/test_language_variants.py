"""Variants of a language: which of the projects of a key a request gets, and when none fits."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest
from helpers.modernmt_calls import ModernMTCalls
from helpers.shared_task import TaskServer
from helpers.tiny_marian import write_tiny
from starlette.testclient import TestClient

from mtloop.service import Settings
from mtloop.service.compatible.language_variants import closest, fits, is_other_variant
from mtloop.service.project_log.models import TranslationProject

TEXT = "Open the drawer of the cabinet."
PROMPT = """
You are a highly skilled translation assistant, adept at translating text
from language 'en'
to language '{target}'
"""


def project(source: str, target: str) -> TranslationProject:
    return TranslationProject(1, "manual", source, target, "", "")


def test_regions_and_case_do_not_matter() -> None:
    american = project("en-US", "de")
    assert all(fits(american, *pair) for pair in (("EN", "de_AT"), ("auto", "DE"), ("", ""), ("eng", "deu")))
    assert not any(fits(american, *pair) for pair in (("de", "en"), ("en", "fr"), ("Auto", "nl"), ("en", "auto")))
    assert fits(project("en", "pt-PT"), "en-GB", "pt_BR")
    assert fits(project("", ""), "en", "zh-Hant")


def test_scripts_matter() -> None:
    simplified, latin = project("en", "zh-Hans"), project("en", "sr_Latn")
    assert all(fits(simplified, "en", one) for one in ("zh", "ZH-HANS", "zh-CN", "zh_Hans_SG"))
    assert not any(fits(simplified, "en", one) for one in ("zh-Hant", "zh-TW", "zh_HK", "zh-Hant-MO"))
    assert fits(project("en", "zh-TW"), "en", "zh-HK")
    assert [fits(latin, "en", one) for one in ("sr", "sr-RS", "sr-Latn-RS", "sr-Cyrl")] == [True, True, True, False]


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("zh_Hant", "zh-Hans", True),
        ("zh_TW", "zh-Hans", True),
        ("zh_CN", "zh-Hans", False),
        ("pt_PT", "pt-BR", True),
        ("pt", "pt-BR", False),
        ("sr_Cyrl", "sr-Latn", True),
        ("de_AT", "de", False),
        ("de_AT", "DE-at", False),
        ("fr", "de", False),
    ],
)
def test_other_variants(one: str, other: str, expected: bool) -> None:
    assert is_other_variant(one, other) == is_other_variant(other, one) == expected


@pytest.mark.parametrize(
    ("known", "asked", "expected"),
    [
        (["en>pt-BR", "en>pt-PT"], "en>PT_br", ["en>pt-BR"]),
        (["en>pt-BR", "en>pt-PT"], "en-US>pt-BR", ["en>pt-BR"]),
        (["en>pt-BR", "en>pt-PT"], "en>pt", ["en>pt-BR", "en>pt-PT"]),
        (["en>pt", "en>pt-BR"], "en>pt-PT", ["en>pt"]),
        (["en>pt", "en>pt-BR"], "en>pt", ["en>pt"]),
        (["en-US>pt", "en>pt-BR"], "en-US>pt-BR", ["en>pt-BR"]),  # the target counts more
        (["en>zh-Hans", "en>zh-Hant"], "en>zh-TW", ["en>zh-Hant"]),
        (["en-US>de", "en-GB>de"], "auto>de", ["en-US>de", "en-GB>de"]),
        (["en-US>de", "en-GB>de"], ">", ["en-US>de", "en-GB>de"]),
        ([">", "en>de-AT"], "en>de", ["en>de-AT"]),
        (["en>de", "en>de"], "en>de", ["en>de", "en>de"]),
        ([], "en>de", []),
    ],
)
def test_the_closest_projects_of_a_key(known: list[str], asked: str, expected: list[str]) -> None:
    def made(pair: str) -> TranslationProject:
        return project(*pair.split(">"))

    assert closest([pair for pair in known if fits(made(pair), *asked.split(">"))], made, *asked.split(">")) == expected


def test_a_long_tag_is_not_kept() -> None:
    assert fits(project("en", "pt-BR"), "en", f"pt-{'x' * 1_000_000}")


@dataclass
class Variants:
    """A server with an English-Chinese model, and the key of somebody with projects for variants of Chinese."""

    client: TestClient
    key: str
    corrections: dict[str, str] = field(default_factory=dict)
    """What was confirmed in each project for the same text, by target language."""

    def add(self, target: str, name: str) -> None:
        self.native("POST", "", json={"name": name, "source_language": "en", "target_language": target})
        self.corrections[target] = f"译文 {name}"
        self.native("POST", f"/{name}/confirm", json={"source": TEXT, "translation": self.corrections[target]})

    def native(self, method: str, path: str, **options: Any) -> None:
        response = self.client.request(method, f"/v1/projects{path}", headers={"x-api-key": self.key}, **options)
        assert response.is_success, response.text

    def libretranslate(self, target: str, source: str = "en") -> httpx2.Response:
        body = {"q": TEXT, "source": source, "target": target, "api_key": self.key}
        response: httpx2.Response = self.client.post("/translate", json=body)
        return response

    def deepl(self, target: str) -> str:
        headers = {"authorization": f"DeepL-Auth-Key {self.key}"}
        response = self.client.post("/v2/translate", json={"text": [TEXT], "target_lang": target}, headers=headers)
        return str(response.json()["translations"][0]["text"])

    def openai(self, target: str) -> str:
        system = {"role": "system", "content": PROMPT.format(target=target)}
        messages = [system, {"role": "user", "content": TEXT}]
        headers, body = {"authorization": f"Bearer {self.key}"}, {"model": "any", "messages": messages}
        response = self.client.post("/openai/v1/chat/completions", json=body, headers=headers)
        return str(response.json()["choices"][0]["message"]["content"])


@pytest.fixture(scope="module")
def variants(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Variants]:
    folder = tmp_path_factory.mktemp("variants")
    (folder / "model").mkdir()
    write_tiny(folder / "model", seed=5)
    languages = {"source_lang": "en", "target_lang": "zh"}
    (folder / "model" / "tokenizer_config.json").write_text(json.dumps(languages), encoding="utf-8")
    settings = Settings(folder=folder / "data", models=str(folder / "model"), engine_linger=1, failures=0)
    home = TaskServer(settings, folder)
    with home.serve() as client:
        found = Variants(client, home.participant("ann"))
        found.add("zh-Hans", "simplified")
        found.add("zh-Hant", "traditional")
        yield found


@pytest.mark.parametrize(
    ("asked", "target"), [("zh-Hans", "zh-Hans"), ("zh_CN", "zh-Hans"), ("ZH-HANT", "zh-Hant"), ("zh-TW", "zh-Hant")]
)
def test_each_variant_has_its_project_in_every_api(variants: Variants, asked: str, target: str) -> None:
    expected, mmt = variants.corrections[target], ModernMTCalls(variants.client, variants.key)
    assert variants.libretranslate(asked).json()["translatedText"] == expected
    assert variants.libretranslate(asked, source="auto").json()["translatedText"] == expected
    assert variants.deepl(asked) == expected
    assert mmt.translate(TEXT, target=asked) == expected
    assert mmt.translate(TEXT, target=asked, source="") == expected
    assert variants.openai(asked) == expected


def test_a_language_without_a_variant_is_unclear(variants: Variants) -> None:
    refused = variants.libretranslate("zh")
    assert (refused.status_code, "(simplified, traditional)" in refused.json()["error"]) == (400, True)


def test_a_memory_with_the_same_name_in_several_projects_is_that_of_the_variant(variants: Variants) -> None:
    mmt = ModernMTCalls(variants.client, variants.key)
    mmt.data("post", "/memories/connect", {"external_ids": "KEY"})
    mmt.teach("x_mm-KEY", "Close the drawer.", "关上抽屉", target="zh-CN")
    mmt.teach("x_mm-KEY", "Close the drawer.", "關上抽屜", target="zh-TW")
    assert mmt.translate("Close the drawer.", target="zh-Hans", hints="KEY") == "关上抽屉"
    assert mmt.translate("Close the drawer.", target="zh-Hant", hints="KEY") == "關上抽屜"


def test_another_script_alone_is_an_unknown_pair(variants: Variants) -> None:
    variants.native("DELETE", "/simplified")
    refused = variants.libretranslate("zh-Hans")
    assert refused.status_code == 400
    assert refused.json()["error"] == "en-zh-Hans is not supported. This key translates en-zh-Hant."
    assert variants.libretranslate("zh-HK").json()["translatedText"] == variants.corrections["zh-Hant"]
