"""The official clients of ModernMT, from PyPI and npm, against a running server.

Both have the address of ModernMT in their code. The scripts here redirect their transport: the Python client's private
attribute with the address is replaced, and so is the function `https.request` that the Node.js client calls.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.client_environments import run_client
from helpers.served_projects import ServedProjects, serving_projects
from helpers.through_every_api import through_every_api
from helpers.tiny_marian import demo_pairs

pytestmark = pytest.mark.slow

PAIRS = list(demo_pairs())
PYTHON = """
import json, sys, time
from modernmt import ModernMT, ModernMTException

url, key, pairs, tmx = sys.argv[1], sys.argv[2], json.loads(sys.argv[3]), sys.argv[4]


def connect(key):
    client = ModernMT(key)
    client._ModernMT__base_url = url
    return client


def refused(key, source, target, text):
    try:
        connect(key).translate(source, target, text)
    except ModernMTException as error:
        return [error.status, error.message]


def finish(job):
    while job.progress < 1:
        time.sleep(0.1)
        job = mmt.memories.get_import_status(job.id)
    return job


mmt, unrelated = connect(key), pairs[9][0]
one = lambda text, **options: mmt.translate("en", "de", text, **options).translation
seen = {"languages": mmt.list_supported_languages(), "name": mmt.me().name, "period": vars(mmt.me().billingPeriod)}
seen["detected"] = mmt.detect_language(["Das ist ein deutscher Satz mit vielen Wörtern."])[0].detectedLanguage
seen["many"] = [found.translation for found in mmt.translate("en", "de", [pair[0] for pair in pairs])]
seen["one"] = one(pairs[0][0])
seen["html"] = one('Open the <b>file</b> <x id="7"></x> now.', options={"format": "text/html"})
seen["placeholder"] = one("Open the file {name} now.")
seen["others"] = mmt.translate("en", "de", pairs[8][0], options={"alt_translations": 2}).altTranslations
seen["unrelated"] = [one(unrelated)]
memory = mmt.memories.create("mine", "Mine", "KEY")
seen["memory"] = [memory.name, mmt.memories.get("x_mm-KEY").id == memory.id, len(mmt.memories.list())]
job = mmt.memories.add(memory.id, "en", "de", *pairs[0], "unit 1")
seen["job"] = [mmt.memories.get_import_status(job.id).progress, job.memory == memory.id, job.size]
seen["added"] = one(pairs[0][0])
finish(mmt.memories.replace(memory.id, "unit 1", "en", "de", pairs[0][0], pairs[1][1]))
seen["replaced"] = one(pairs[0][0], hints=[memory.id])
other = mmt.memories.create("other")
seen["hidden"] = one(pairs[0][0], hints=[other.id])
seen["vector"] = mmt.get_context_vector("en", "de", pairs[0][0]).startswith(f"{memory.id}:")
job = finish(mmt.memories.import_tmx(other.id, tmx))
seen["imported"] = [job.size, one(pairs[3][0], hints=str(other.id))]
terms = [{"term": "drawer", "language": "en"}, {"term": "Schublade", "language": "de"}]
seen["terms"] = mmt.memories.add_to_glossary(memory.id, terms, "unidirectional", None).size
seen["unrelated"].append(one(unrelated))
seen["edited"] = mmt.memories.edit(other.id, "changed").name
mmt.memories.delete(other.id)
finish(mmt.memories.add(memory.id, "en", "de", *pairs[8]))  # until the project is rebuilt
seen["deleted"] = one(pairs[3][0])
seen["wrong key"] = refused("wrong", "en", "de", "Open it.")
seen["too long"] = refused(key, "en", "de", "x" * 100_001)
seen["unknown pair"] = refused(key, "en", "fr", "Open it.")
print(json.dumps(seen))
"""
NODE = """
const http = require("http"), https = require("https");
const [url, key, texts, tmx] = process.argv.slice(1), pairs = JSON.parse(texts), {port} = new URL(url);
https.request = (options, done) => http.request({...options, host: "127.0.0.1", port}, done);
const {ModernMT} = require("modernmt");

async function refused(key, source, target, text) {
    try {
        await new ModernMT(key).translate(source, target, text);
    } catch (error) {
        return [error.status, error.message];
    }
}

async function main() {
    const mmt = new ModernMT(key), unrelated = pairs[9][0], seen = {};
    const one = async (text, hints, options) =>
        (await mmt.translate("en", "de", text, hints, undefined, options)).translation;
    const finish = async (job) => {
        while (job.progress < 1) {
            await new Promise((done) => setTimeout(done, 100));
            job = await mmt.memories.getImportStatus(job.id);
        }
        return job;
    };
    const user = await mmt.me();
    Object.assign(seen, {languages: await mmt.listSupportedLanguages(), name: user.name, period: user.billingPeriod});
    seen.detected = (await mmt.detectLanguage(["Das ist ein deutscher Satz mit vielen Wörtern."]))[0].detectedLanguage;
    seen.many = (await mmt.translate("en", "de", pairs.map((pair) => pair[0]))).map((found) => found.translation);
    seen.one = await one(pairs[0][0]);
    seen.html = await one('Open the <b>file</b> <x id="7"></x> now.', undefined, {format: "text/html"});
    seen.placeholder = await one("Open the file {name} now.");
    const others = await mmt.translate("en", "de", pairs[8][0], undefined, undefined, {altTranslations: 2});
    seen.others = others.altTranslations;
    seen.unrelated = [await one(unrelated)];
    const memory = await mmt.memories.create("mine", "Mine", "KEY"), found = await mmt.memories.get("x_mm-KEY");
    seen.memory = [memory.name, found.id === memory.id, (await mmt.memories.list()).length];
    let job = await mmt.memories.add(memory.id, "en", "de", ...pairs[0], "unit 1");
    seen.job = [(await mmt.memories.getImportStatus(job.id)).progress, job.memory === memory.id, job.size];
    seen.added = await one(pairs[0][0]);
    await finish(await mmt.memories.replace(memory.id, "unit 1", "en", "de", pairs[0][0], pairs[1][1]));
    seen.replaced = await one(pairs[0][0], [memory.id]);
    const other = await mmt.memories.create("other");
    seen.hidden = await one(pairs[0][0], [other.id]);
    seen.vector = (await mmt.getContextVector("en", "de", pairs[0][0])).startsWith(`${memory.id}:`);
    job = await finish(await mmt.memories.import(other.id, tmx));
    seen.imported = [job.size, await one(pairs[3][0], [other.id])];
    const terms = [{term: "drawer", language: "en"}, {term: "Schublade", language: "de"}];
    seen.terms = (await mmt.memories.addToGlossary(memory.id, terms, "unidirectional")).size;
    seen.unrelated.push(await one(unrelated));
    seen.edited = (await mmt.memories.edit(other.id, "changed")).name;
    await mmt.memories.delete(other.id);
    await finish(await mmt.memories.add(memory.id, "en", "de", ...pairs[8]));  // until the project is rebuilt
    seen.deleted = await one(pairs[3][0]);
    seen["wrong key"] = await refused("wrong", "en", "de", "Open it.");
    seen["too long"] = await refused(key, "en", "de", "x".repeat(100001));
    seen["unknown pair"] = await refused(key, "en", "fr", "Open it.");
    console.log(JSON.stringify(seen));
}

main().catch((error) => { console.error(error); process.exit(1); });
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedProjects]:
    with serving_projects(tmp_path_factory.mktemp("served")) as served:
        yield served


@pytest.fixture(scope="module")
def memory_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tmx") / "memory.tmx"
    unit = '<tu><tuv xml:lang="en"><seg>{}</seg></tuv><tuv xml:lang="de"><seg>{}</seg></tuv></tu>'
    units = "".join(unit.format(*pair) for pair in PAIRS[3:5])
    text = f'<tmx version="1.4"><header srclang="en"/><body>{units}</body></tmx>'
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(("name", "script"), [("modernmt", PYTHON), ("modernmt-node", NODE)])
def test_a_real_client(served: ServedProjects, memory_file: Path, name: str, script: str) -> None:
    """Everything that the client offers. Two projects have the same pair, so the key names one.

    The method changes the model with each correction, so an unrelated sentence could change too.
    """
    served.create(name)
    arguments = served.url, f"{served.key}:{name}", json.dumps(PAIRS[:10]), str(memory_file)
    seen: dict[str, Any] = run_client(name, script, *arguments)
    assert (seen["languages"], seen["name"], seen["detected"]) == (["de", "en"], "ann", "de")
    assert seen["period"]["begin"] < seen["period"]["end"]
    assert seen["many"][0] == seen["one"] != PAIRS[0][1]
    assert len(seen["many"]) == 10
    assert '<x id="7"></x>' in seen["html"]
    assert "{name}" in seen["placeholder"]
    assert len(seen["others"]) == 2
    assert (seen["memory"], seen["job"]) == (["mine", True, 1], [1, True, 1])
    assert (seen["added"], seen["replaced"]) == (PAIRS[0][1], PAIRS[1][1])
    assert seen["hidden"] not in (PAIRS[0][1], PAIRS[1][1])
    assert seen["vector"]
    assert seen["imported"] == [2, PAIRS[3][1]]
    assert (seen["terms"], seen["edited"]) == (1, "changed")
    assert seen["unrelated"][0] == seen["unrelated"][1]
    assert seen["deleted"] != PAIRS[3][1]
    assert seen["wrong key"][0] == 401
    assert seen["too long"][0] == 413
    assert seen["unknown pair"][0] == 400
    assert "en-fr is not supported" in seen["unknown pair"][1]
    assert set(through_every_api(served, name, PAIRS[0][0]).values()) == {PAIRS[1][1]}
