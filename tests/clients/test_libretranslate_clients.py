"""The clients of LibreTranslate, from PyPI and npm, against a running server, and requests as other programs send them.

argostranslate is installed without its dependencies: only its API client runs here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import httpx2
import pytest
from helpers.client_environments import run_client
from helpers.omegat_plugin import ask_as_omegat, documented_addresses
from helpers.served_projects import ServedProjects, serving_projects
from helpers.through_every_api import through_every_api
from helpers.tiny_marian import demo_pairs, write_tiny

pytestmark = pytest.mark.slow

PAIRS = list(demo_pairs())
TEXTS = [source for source, _ in PAIRS[1:4]]
PLACEHOLDERS = "Open [X7X] and %(name)s now."
TAGS = 'Open the <b>file</b> <x id="7"></x> now.'
LONG = "x" * 100_001
COMMON = """
import json, sys
url, key, texts, teach = sys.argv[1], sys.argv[2], json.loads(sys.argv[3]), sys.argv[4]


def refused(call):
    try:
        return call()
    except Exception as error:
        return [type(error).__name__, str(error)]


"""
LIBRE = """
api, wrong = LibreTranslateAPI(url, key), LibreTranslateAPI(url, "wrong")
seen = {"languages": api.languages(), "detected": api.detect(texts[0])[0]["language"]}
seen["many"] = [api.translate(text, "en", "de") for text in texts]
seen["auto"] = api.translate(texts[0], "auto", "de")
seen["wrong key"] = refused(lambda: wrong.translate("Open it.", "en", "de"))
seen["unknown pair"] = refused(lambda: api.translate("Open it.", "en", "fr"))
seen["too long"] = refused(lambda: api.translate("x" * 100_001, "en", "de"))
print(json.dumps(seen))
"""
DEEP = """
from deep_translator import LibreTranslator

client = lambda key=key, target="de": LibreTranslator(source="en", target=target, api_key=key, custom_url=url + "/")
seen = {"many": client().translate_batch(texts), "auto": client().translate(texts[0])}
seen["wrong key"] = refused(lambda: client(key="wrong").translate("Open it."))
seen["unknown pair"] = refused(lambda: client(target="fr").translate("Open it."))
seen["too long"] = refused(lambda: client().translate("x" * 100_001))
print(json.dumps(seen))
"""
TRANSLATE = """
from translate import Translator

make = lambda source, target="de", key=key: Translator(
    provider="libre", from_lang=source, to_lang=target, secret_access_key=key, base_url=url
)
seen = {"many": [make("en").translate(text) for text in texts], "auto": make("autodetect").translate(texts[0])}
seen["wrong key"] = refused(lambda: make("en", key="wrong").translate("Open it."))
seen["unknown pair"] = refused(lambda: make("en", "fr").translate("Open it."))
seen["too long"] = refused(lambda: make("en").translate("x" * 100_001))
print(json.dumps(seen))
"""
NODE = """
const {translate} = require("libretranslate");
const [apiurl, apiKey, list] = process.argv.slice(1), texts = JSON.parse(list);
(async () => {
  const call = (query, more) => translate({query, source: "en", target: "de", apiurl, apiKey, ...more});
  const seen = {many: [], auto: await call(texts[0], {source: "auto"})};
  for (const text of texts) seen.many.push(await call(text));
  seen.html = await call("Press <b>Save</b>.", {format: "html"});
  seen.wrong = String(await call("Open it.", {apiKey: "wrong"}));
  seen.long = String(await call("x".repeat(100001)).catch(error => error.message));
  seen.pair = await call("Open it.", {target: "fr"}).catch(error => error.message);
  seen.inAddress = await translate({query: texts[0], source: "en", target: "de", apiurl: `${apiurl}/key/${apiKey}`});
  console.log(JSON.stringify(seen));
})();
"""
PYTHON_CLIENTS = {
    "libretranslatepy": f"from libretranslatepy import LibreTranslateAPI\n{COMMON}{LIBRE}",
    "argostranslate": f"from argostranslate.apis import LibreTranslateAPI\n{COMMON}{LIBRE}",
    "deep-translator": f"{COMMON}{DEEP}",
    "translate": f"{COMMON}{TRANSLATE}",
}
REFUSED = {
    "libretranslatepy": ("403", "400"),
    "argostranslate": ("403", "400"),
    "deep-translator": ("AuthorizationException", "ERR_BAD_REQUEST"),
    "translate": ("403", "400"),
}


TOO_LONG = {"deep-translator": "ServerException"}
"""It sends texts in the address, which is too long already."""
CUTS_TEXTS = "translate"  # into parts of at most 1,000 characters


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedProjects]:
    folder, model = tmp_path_factory.mktemp("libretranslate"), tmp_path_factory.mktemp("model")
    write_tiny(model, seed=5)
    languages = {"source_lang": "en", "target_lang": "de"}  # the list for clients without a key comes from the model
    (model / "tokenizer_config.json").write_text(json.dumps(languages), encoding="utf-8")
    with serving_projects(folder, str(model)) as served:
        served.create("manual")
        yield served


def post(served: ServedProjects, path: str, **fields: object) -> dict[str, object]:
    response = httpx2.post(f"{served.url}{path}", json={"api_key": served.key, **fields}, timeout=60)
    assert response.status_code == 200, response.text
    return dict(response.json())


def translations(served: ServedProjects, texts: list[str]) -> object:
    return post(served, "/translate", q=texts, source="en", target="de")["translatedText"]


@pytest.mark.parametrize("name", PYTHON_CLIENTS)
@pytest.mark.parametrize("prefix", ["", "/libretranslate"])
def test_a_python_client_translates_and_is_refused(served: ServedProjects, name: str, prefix: str) -> None:
    texts, (wrong_key, bad_request) = [*TEXTS, TAGS, PLACEHOLDERS], REFUSED[name]
    seen = run_client(name, PYTHON_CLIENTS[name], f"{served.url}{prefix}", served.key, json.dumps(texts), "")
    assert seen["many"] == translations(served, texts)
    assert all(part in seen["many"][-1] for part in ("[X7X]", "%(name)s"))
    assert all(seen["many"][-2].count(part) == 1 for part in ("<b>", "</b>", '<x id="7"></x>'))
    assert seen["auto"] == seen["many"][0]
    assert wrong_key in " ".join(seen["wrong key"])
    assert bad_request in " ".join(seen["unknown pair"])
    if "languages" in seen:
        assert seen["languages"][0] == {"code": "en", "name": "English", "targets": ["de"]}
        assert seen["detected"] == "en"
    if name == CUTS_TEXTS:
        assert isinstance(seen["too long"], str)
    else:
        assert TOO_LONG.get(name, bad_request) in " ".join(seen["too long"])


def test_the_client_of_npm(served: ServedProjects) -> None:
    texts = [*TEXTS, TAGS, PLACEHOLDERS]
    seen = run_client("libretranslate-node", NODE, f"{served.url}/libretranslate", served.key, json.dumps(texts))
    assert seen["many"] == translations(served, texts)
    assert all(seen["many"][-1].count(part) == 1 for part in ("[X7X]", "%(name)s"))
    assert all(seen["many"][-2].count(part) == 1 for part in ("<b>", "</b>", '<x id="7"></x>'))
    assert seen["long"] == "undefined"
    assert seen["auto"] == seen["inAddress"] == seen["many"][0]
    assert seen["html"].count("<b>") == seen["html"].count("</b>") == 1
    assert seen["wrong"] == "undefined"  # it reads no errors
    assert seen["pair"] == "This language was not found/does not exist."


def test_a_suggestion_reaches_every_client(served: ServedProjects) -> None:
    """The clients have no call for suggestions, so this one is sent as the web page of LibreTranslate does."""
    (source, target), unrelated = PAIRS[5], PAIRS[30][0]
    before = translations(served, [source, unrelated])
    form = {"q": source, "s": target, "source": "en", "target": "de", "api_key": served.key}
    answer = httpx2.post(f"{served.url}/suggest", files={name: (None, text) for name, text in form.items()}, timeout=60)
    assert answer.json() == {"success": True}
    after = translations(served, [source, unrelated])
    assert after == [target, before[1]]  # type: ignore[index]
    assert set(through_every_api(served, "manual", source).values()) == {target}
    asked = json.dumps([source, unrelated])
    node = run_client("libretranslate-node", NODE, f"{served.url}/libretranslate", served.key, asked)
    assert node["many"] == after
    for name, script in PYTHON_CLIENTS.items():
        assert run_client(name, script, served.url, served.key, asked, "")["many"] == after, name


def test_requests_as_omegat_sends_them(served: ServedProjects) -> None:
    addresses = documented_addresses(served.url, served.key)
    with httpx2.Client(timeout=60) as client:
        assert [ask_as_omegat(client, addresses[0], TEXTS[0])] == translations(served, TEXTS[:1])


def test_requests_as_dialect_sends_them(served: ServedProjects) -> None:
    """It asks for the languages without a key. It checks a key with a form, and sends suggestions as a form too."""
    with httpx2.Client(base_url=served.url, headers={"User-Agent": "Dialect App"}, timeout=60) as dialect:
        assert dialect.get("/spec").json()["info"]["title"] == "LibreTranslate"
        settings = dialect.get("/frontend/settings").json()
        assert [settings[name] for name in ("suggestions", "apiKeys", "keyRequired")] == [True] * 3
        languages = dialect.get("/languages").json()
        assert [(one["code"], one["name"]) for one in languages] == [("en", "English"), ("de", "German")]

        assert "confidence" in dialect.post("/detect", data={"q": "hello", "api_key": served.key}).json()[0]
        refused = dialect.post("/detect", data={"q": "hello", "api_key": "wrong"})
        assert refused.json() == {"error": "Invalid API key"}

        (source, target), pair = PAIRS[7], {"source": "en", "target": "de"}
        asked = pair | {"q": source, "api_key": served.key}
        assert dialect.post("/translate", json=asked).json()["translatedText"] != target
        assert dialect.post("/suggest", data=asked | {"s": target}).json() == {"success": True}
        assert dialect.post("/translate", json=asked).json()["translatedText"] == target
