"""The clients that install quickly, against a running server: what each needs most. The slow tests do the rest."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from client_environments import QUICK
from helpers.client_environments import run_client
from helpers.served_projects import ServedProjects, serving_projects
from helpers.tiny_marian import demo_pairs

PAIRS = list(demo_pairs())
UNRELATED = PAIRS[30][0]
MARKED = "Open [X5X] and %(name)s now."
START = """
import json, sys
url, key, source, target, *texts = sys.argv[1:]


def refused(call):
    try:
        return str(call())
    except Exception as error:
        return type(error).__name__
"""
SCRIPTS = {
    "libretranslatepy": START
    + """
from libretranslatepy import LibreTranslateAPI

api = LibreTranslateAPI(url, key)
seen = {"texts": [api.translate(text, "en", "de") for text in texts]}
seen["wrong key"] = refused(lambda: LibreTranslateAPI(url, "wrong").translate(source, "en", "de"))
seen["pair"] = refused(lambda: api.translate(source, "en", "fr"))
print(json.dumps(seen))
""",
    "deepl": START
    + """
import tempfile
from pathlib import Path
import deepl

client = deepl.DeepLClient(key, server_url=url)
seen = {"texts": [one.text for one in client.translate_text(texts, source_lang="EN", target_lang="DE")]}
seen["wrong key"] = refused(lambda: deepl.DeepLClient("wrong", server_url=url).get_usage())
seen["pair"] = refused(lambda: client.translate_text(source, target_lang="JA"))
units = f'<tu><tuv xml:lang="en"><seg>{source}</seg></tuv><tuv xml:lang="de"><seg>{target}</seg></tuv></tu>'
tmx = f'<tmx version="1.4"><header srclang="en"/><body>{units}</body></tmx>'
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "mine.tmx"
    path.write_text(tmx, encoding="utf-8")
    client.import_translation_memory_from_filepath(str(path), display_name="mine")
seen["taught"] = client.translate_text(source, source_lang="EN", target_lang="DE").text
print(json.dumps(seen))
""",
    "modernmt": START
    + """
from modernmt import ModernMT


def connect(key):
    client = ModernMT(key)
    client._ModernMT__base_url = url  # the package has the address in its code
    return client


client = connect(key)
seen = {"texts": [one.translation for one in client.translate("en", "de", texts)]}
seen["wrong key"] = refused(lambda: connect("wrong").me())
seen["pair"] = refused(lambda: client.translate("en", "fr", source))
memory = client.memories.create("mine")
client.memories.add(memory.id, "en", "de", source, target)
seen["taught"] = client.translate("en", "de", source).translation
print(json.dumps(seen))
""",
}
REFUSED = {
    "libretranslatepy": ("HTTPError", "HTTPError"),
    "deepl": ("AuthorizationException", "DeepLException"),
    "modernmt": ("ModernMTException", "ModernMTException"),
}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedProjects]:
    with serving_projects(tmp_path_factory.mktemp("quick")) as served:
        served.create("manual")
        yield served


def libretranslate(served: ServedProjects, *texts: str) -> list[str]:
    body = {"q": texts, "source": "en", "target": "de", "api_key": served.key}
    response = httpx2.post(f"{served.url}/translate", json=body, timeout=60)
    assert response.status_code == 200, response.text
    return list(response.json()["translatedText"])


@pytest.mark.parametrize("name", QUICK)
def test_a_real_client(served: ServedProjects, name: str) -> None:
    source, target = PAIRS[QUICK.index(name)]
    texts = [PAIRS[50][0], UNRELATED, MARKED]
    before = libretranslate(served, *texts)
    seen = run_client(name, SCRIPTS[name], served.url, served.key, source, target, *texts)
    assert seen["texts"] == before
    assert all(part in seen["texts"][2] for part in ("[X5X]", "%(name)s"))
    assert (seen["wrong key"], seen["pair"]) == REFUSED[name]
    if "taught" in seen:
        assert seen["taught"] == target
        assert libretranslate(served, source, UNRELATED) == [target, before[1]]


PAGES = sorted((Path(__file__).parents[2] / "docs/how-to").glob("use-with-*.md"))


def curl_commands(page: Path) -> list[str]:
    blocks = re.findall(r"^```sh\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)
    return [one for block in blocks for one in re.split(r"\n(?=curl )|\n\n", block.strip()) if one.startswith("curl ")]


@pytest.mark.parametrize("page", [page for page in PAGES if curl_commands(page)], ids=lambda page: page.stem)
def test_the_curl_commands_of_the_docs(served: ServedProjects, tmp_path: Path, page: Path) -> None:
    head = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\n'
    (tmp_path / "messages.po").write_text(f'{head}msgid "Open it."\nmsgstr ""\n', encoding="utf-8")
    for command in curl_commands(page):
        filled = command.replace("https://HOST", served.url).replace("PROJECT", "manual").replace("KEY", served.key)
        script = f'curl() {{ command curl --silent --show-error --fail-with-body --max-time 60 "$@"; }}\n{filled}'
        done = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        assert json.loads(done.stdout)


def test_every_quick_client_has_a_script() -> None:
    assert sorted(SCRIPTS) == sorted(QUICK)
