"""Which languages Weblate's own engines find in the lists of a server, and which project then answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from helpers.client_environments import run_client
from helpers.served_projects import ServedProjects, serving_projects
from helpers.variant_projects import CORRECTIONS, PROJECTS, SOURCE
from helpers.weblate_scripts import START, UNITS_OF_2026

from mtloop.client import Client, Project

pytestmark = pytest.mark.slow

ASKED = {
    **{"pt": "portuguese", "pt_BR": "portuguese", "fa": "persian", "sr": "serbian"},
    **{"zh_Hans": "simplified", "zh_Hant": "traditional", "de": "american", "de_AT": "american"},
}
"""The languages of components in Weblate, each with the project that translates into it."""
ASK = """
def answer(engine, code, source_code="en"):
    try:
        pair = engine.get_languages(language(source_code), language(code))
    except UnsupportedLanguageError:
        return None
    if engine.name == "ModernMT":
        return [*pair, next(iter(engine.download_translations(*pair, text, None, None)))["text"]]
    return [*pair, engine.download_multiple_translations(*pair, [(text, None)])[text][0]["text"]]


def answers(key):
    cache.clear()
    return {engine.name: {code: answer(engine, code) for code in codes} for engine in engines(key)[:3]}


print(json.dumps([answers(one) for one in (key, f"{key}:simplified", f"{key}:american")]))
"""
SCRIPTS = {
    "weblate": f"""{START}
from weblate.checks.tests.test_checks import MockLanguage as language
from weblate.machinery.base import UnsupportedLanguageError
text, codes = source, [other, formatted, *rest]
{ASK}""",
    "weblate-2026": f"""{UNITS_OF_2026}
language, (text, *codes) = NamedLanguage, texts
{ASK}""",
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedProjects]:
    with serving_projects(tmp_path_factory.mktemp("languages")) as server:
        for name, (source, target) in PROJECTS.items():
            with Client(server.url, server.key) as client:
                client.create_project(name, source_language=source, target_language=target)
            with Project(f"{server.url}/{name}", server.key) as project:
                assert project.confirm(SOURCE, CORRECTIONS[name])
        yield server


@pytest.mark.parametrize("release", SCRIPTS)
def test_weblate_finds_the_project_of_each_language(server: ServedProjects, release: str) -> None:
    everything, simplified, american = run_client(release, SCRIPTS[release], server.url, server.key, SOURCE, *ASKED)
    expected = {code: CORRECTIONS[name] for code, name in ASKED.items()}
    for name, found in everything.items():
        if name == "DeepL" and release == "weblate":
            assert found.pop("zh_Hant") is None  # this release never asks DeepL for it
        assert {code: _text(one) for code, one in found.items()} == {code: expected[code] for code in found}, name
    for name, found in simplified.items():
        assert [code for code, one in found.items() if one] == ["zh_Hans"], name
    for name, found in american.items():
        assert {code for code, one in found.items() if one} == {"de", "de_AT"}, name


def _text(found: Any) -> str:
    return str(found[2]) if found else json.dumps(found)
