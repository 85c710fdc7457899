"""The lists of languages: clients look there, with codes of their own, before they ask for a translation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from helpers.shared_task import TaskServer
from helpers.tiny_marian import write_tiny
from helpers.variant_projects import CORRECTIONS, PROJECTS, SOURCE
from starlette.testclient import TestClient

from mtloop.service import Settings
from mtloop.service.compatible.deepl_protocol import target_codes
from mtloop.service.compatible.listed_languages import MAX_VARIANTS, listed_pairs

Pair = tuple[str, str]
CODES = ("pt-BR", "pt-PT", "zh-CN", "zh-TW", "sr-Cyrl", "sr-Latn", "pes")


@dataclass(frozen=True)
class Lists:
    """The lists of each API for a key, and the translation under a pair of codes."""

    client: TestClient
    key: str

    def _get(self, path: str) -> Any:
        header = {"mmt-apikey": self.key} if path.startswith("/modernmt") else {"authorization": f"Bearer {self.key}"}
        response = self.client.get(path, headers=header)
        assert response.status_code == 200, response.text
        return response.json()

    def libretranslate(self) -> list[Pair]:
        return [(one["code"], target) for one in self._get("/libretranslate/languages") for target in one["targets"]]

    def modernmt(self) -> list[Pair]:
        listed = self._get("/modernmt/languages")["data"]
        return [(source, target) for source, targets in listed.items() for target in targets]

    def modernmt_of_2026(self) -> list[str]:
        return list(self._get("/modernmt/translate/languages")["data"])

    def deepl(self) -> list[Pair]:
        sources, targets = (self._get(f"/v2/languages?type={one}") for one in ("source", "target"))
        return [(one["language"], other["language"]) for one in sources for other in targets]

    def deepl_of_2026(self, resource: str = "translate_text") -> list[Pair]:
        rows = self._get(f"/v3/languages?resource={resource}")
        sources, targets = ([one["lang"] for one in rows if one[f"usable_as_{use}"]] for use in ("source", "target"))
        return [(source, target) for source in sources for target in targets]

    def translation(self, api: str, source: str, target: str) -> str:
        pair, deepl = {"source": source, "target": target}, {"source_lang": source, "target_lang": target}
        keys = {"authorization": f"Bearer {self.key}"}
        if api == "deepl":
            answer = self.client.post("/v2/translate", json={"text": SOURCE} | deepl, headers=keys).json()
            return str(answer["translations"][0]["text"])
        if api == "modernmt":
            headers = {"mmt-apikey": self.key}
            return str(self.client.get("/translate", params={"q": SOURCE} | pair, headers=headers).json()["data"])
        answer = self.client.post("/translate", json={"q": SOURCE} | pair, headers=keys)
        return str(answer.json()["translatedText"])


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> TaskServer:
    folder = tmp_path_factory.mktemp("listed")
    (folder / "model").mkdir()
    write_tiny(folder / "model", seed=5)  # names no languages
    settings = Settings(folder=folder / "data", models=str(folder / "model"), engine_linger=1, failures=0)
    return TaskServer(settings, folder)


@pytest.fixture(scope="module")
def client(home: TaskServer) -> Iterator[TestClient]:
    with home.serve() as client:
        yield client


@pytest.fixture(scope="module")
def lists(home: TaskServer, client: TestClient) -> Lists:
    """Those of somebody with all projects."""
    key = home.participant("ann")
    for name, (source, target) in PROJECTS.items():
        body = {"name": name, "source_language": source, "target_language": target}
        for path, sent in (("", body), (f"/{name}/confirm", {"source": SOURCE, "translation": CORRECTIONS[name]})):
            response = client.post(f"/v1/projects{path}", json=sent, headers={"x-api-key": key})
            assert response.is_success, response.text
    return Lists(client, key)


def of(lists: Lists, name: str) -> Lists:
    """What a key that names one project gets."""
    return Lists(lists.client, f"{lists.key}:{name}")


API_LISTS: dict[str, Sequence[Callable[[Lists], list[Pair]]]] = {
    "libretranslate": [Lists.libretranslate],
    "modernmt": [Lists.modernmt],
    "deepl": [Lists.deepl, Lists.deepl_of_2026],
}


@pytest.mark.parametrize(("api", "calls"), API_LISTS.items(), ids=API_LISTS)
def test_every_listed_pair_is_answered_by_its_project(
    lists: Lists, api: str, calls: Sequence[Callable[[Lists], list[Pair]]]
) -> None:
    for name in PROJECTS:
        alone = of(lists, name)
        for source, target in (pair for listed in calls for pair in listed(alone)):
            found = alone.translation(api, source, target)
            assert CORRECTIONS[name] in found, (name, source, target, found)


@pytest.mark.parametrize(
    ("name", "asked", "asked_of_modernmt", "asked_of_deepl"),
    [
        ("portuguese", "pt", "pt-PT", "PT-PT"),
        ("persian", "fa", "pes", "FA"),
        ("simplified", "zh-Hans", "zh-CN", "ZH"),
        ("traditional", "zh-Hant", "zh-TW", "ZH-HANT"),
        ("serbian", "sr", "sr-Cyrl", "SR"),
        ("american", "de", "de", "DE"),
        ("american", "de-DE", "de-DE", "DE-DE"),
    ],
)
def test_the_codes_of_each_client_are_listed(
    lists: Lists, name: str, asked: str, asked_of_modernmt: str, asked_of_deepl: str
) -> None:
    """Alone, and among all projects of a key; then they still mean the same project."""
    for one in (of(lists, name), lists):
        assert ("en", asked) in one.libretranslate()
        assert ("en", asked_of_modernmt) in one.modernmt()
        assert {"en", asked_of_modernmt} <= set(one.modernmt_of_2026())
        assert ("EN", asked_of_deepl) in one.deepl()
    assert CORRECTIONS[name] in lists.translation("libretranslate", "en", asked)
    assert CORRECTIONS[name] in lists.translation("modernmt", "en", asked_of_modernmt)
    assert CORRECTIONS[name] in lists.translation("deepl", "EN", asked_of_deepl)


def test_another_script_is_not_listed(lists: Lists) -> None:
    """Clients that look for zh-Hant would take zh instead, so it is not there. In version 2 of DeepL it is zh-Hans."""
    simplified, traditional = of(lists, "simplified"), of(lists, "traditional")
    assert simplified.libretranslate() == [("en", "zh-Hans")]
    assert simplified.modernmt_of_2026() == ["en", "zh-CN", "zh-Hans"]
    assert simplified.deepl() == [("EN", "ZH"), ("EN", "ZH-HANS")]
    assert simplified.deepl_of_2026() == [("en", "zh-Hans")]
    assert traditional.deepl() == [("EN", "ZH-HANT")]
    refused = traditional.client.post(
        "/v2/translate",
        json={"text": SOURCE, "target_lang": "ZH"},
        headers={"authorization": f"Bearer {traditional.key}"},
    )
    assert refused.status_code == 400


def test_a_code_that_means_several_projects_is_not_listed() -> None:
    both = [("en", "pt-BR"), ("en", "pt-PT")]
    assert listed_pairs(both, CODES) == both
    assert target_codes(both) == ["PT-BR", "PT-PT"]
    assert listed_pairs([("en", "pt"), ("en", "pt-BR")], CODES) == [("en", "pt"), ("en", "pt-BR"), ("en", "pt-PT")]
    assert target_codes([("en", "de-AT"), ("en", "de-CH")]) == ["DE-AT", "DE-CH"]


def test_languages_that_nobody_named_stay_as_they_are() -> None:
    assert listed_pairs([("", ""), ("en", ""), ("", "de-AT")], CODES) == [("", ""), ("en", ""), ("", "de-AT")]
    assert listed_pairs([("en-US", "en-GB")], []) == [("en-US", "en-GB"), ("en-US", "en"), ("en", "en-GB")]


def test_many_variants_are_listed_as_they_are() -> None:
    many = [("en", f"de-x{number:03}") for number in range(MAX_VARIANTS + 1)]
    assert listed_pairs(many, CODES) == many


@pytest.mark.parametrize("role", ["translate", "confirm", "organise"])
def test_glossaries_are_offered_to_those_who_may_change_them(home: TaskServer, lists: Lists, role: str) -> None:
    """Weblate sends its glossary if version 3 lists the languages, and stops for 30 minutes if that is refused."""
    member = f"{role}-member"
    key = home.participant(member)
    for name, given in (("american", role), ("persian", "translate")):
        path = f"/v1/projects/{name}/members/{member}"
        assert lists.client.put(path, json={"role": given}, headers={"x-api-key": lists.key}).is_success
    offered = Lists(lists.client, key).deepl_of_2026("glossary")
    assert offered == ([("en", "de")] if role == "organise" else [])
    assert {target for _, target in Lists(lists.client, key).deepl_of_2026()} >= {"fa", "de"}
    for pair in offered:
        body = {"source_lang": pair[0], "target_lang": pair[1], "entries": "a\tb", "entries_format": "tsv"}
        sent = {"name": "terms", "dictionaries": [body]}
        headers = {"authorization": f"DeepL-Auth-Key {key}"}
        assert lists.client.post("/v3/glossaries", json=sent, headers=headers).status_code == 201


def test_a_glossary_for_two_variants_is_not_offered(lists: Lists) -> None:
    """`zh` says not which one. The glossary of one would be unknown to the other."""
    assert ("en", "zh") not in lists.deepl_of_2026("glossary")
    assert ("en", "sr") in lists.deepl_of_2026("glossary")
    assert of(lists, "traditional").deepl_of_2026("glossary") == [("en", "zh")]
