"""The official DeepL clients for Python and Node.js, and the command line, against a running server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.client_environments import run_client
from helpers.deepl_calls import tmx
from helpers.served_projects import ServedProjects, serving_projects
from helpers.through_every_api import through_every_api

pytestmark = pytest.mark.slow
SOURCE, TARGET = "Open the drawer of the cabinet.", "Öffnen Sie die Schublade des Schranks."
OTHER = "The printer has no paper."
SHARED, SHARED_TARGET = "The stapler is empty.", "Der Hefter ist leer."

PYTHON = """
import io, json, sys
import deepl
from deepl.api_data import MultilingualGlossaryDictionaryEntries as Entries
from deepl.util import convert_tsv_to_dict

url, key, folder = sys.argv[1:]
source, other = "Open the drawer of the cabinet.", "The printer has no paper."
client = deepl.DeepLClient(key, server_url=url)
found = {}

def refused(work):
    try:
        return work() and None
    except deepl.DeepLException as error:
        return [type(error).__name__, error.http_status_code]

def text(*texts, **options):
    return [one.text for one in client.translate_text(list(texts), target_lang="DE", **options)]

one = client.translate_text(source, source_lang="EN", target_lang="DE")
found["one"] = [one.text, one.detected_source_lang, one.billed_characters]
found["many"] = text(source, other)
found["thousand"] = len(text("Open.", *[" "] * 999))
found["tags"] = text('Open <x id="7"></x> &amp; <k>Save as</k> now.', tag_handling="xml", ignore_tags=["x", "k"])
found["placeholders"] = text("Send %s files to {name}.", source_lang="EN")
found["options"] = text(other, split_sentences="0", preserve_formatting=True, context="c", formality="prefer_more")
found["sources"] = [one.code for one in client.get_source_languages()]
found["targets"] = [[one.code, one.supports_formality] for one in client.get_target_languages()]
found["usage"] = [client.get_usage().character.limit, client.get_usage().any_limit_reached]

glossary = client.create_glossary("ui", "EN", "DE", {"pane": "Bereich"})
found["glossary"] = [glossary.name, glossary.entry_count, client.get_glossary_entries(glossary)]
found["with_glossary"] = text("Hide the pane.", source_lang="EN", glossary=glossary)
found["pairs"] = [[one.source_lang, one.target_lang] for one in client.get_glossary_languages()]
client.delete_glossary(glossary)
found["deleted"] = [refused(lambda: client.get_glossary(glossary.glossary_id)), client.list_glossaries()]
multi = client.create_multilingual_glossary("ui", [Entries("EN", "DE", {"pane": "Bereich"})])
multi = client.update_multilingual_glossary_dictionary(multi, Entries("EN", "DE", {"tab": "Register"}))
merged = client.get_multilingual_glossary_entries(multi, "EN", "DE").dictionaries[0].entries
found["merged"] = convert_tsv_to_dict(merged)
client.replace_multilingual_glossary_dictionary(multi, Entries("EN", "DE", {"menu": "Menu"}))
found["replaced"] = client.list_multilingual_glossaries()[0].dictionaries[0].entry_count
client.update_multilingual_glossary_name(multi, "named")
client.delete_multilingual_glossary_dictionary(multi, source_lang="EN", target_lang="DE")
found["name"] = client.get_multilingual_glossary(multi.glossary_id).name
client.delete_multilingual_glossary(multi)

before = text(source, other)
job = client.import_translation_memory_from_filepath(f"{folder}/memory.tmx", display_name="legal")
memory = client.get_translation_memory(job.result.translation_memory_id)
found["memory"] = [memory.name, memory.segment_count, memory.source_language, memory.target_languages]
found["learned"] = [before, text(source, other, source_lang="EN", translation_memory=memory)]
found["segments"] = [one.source_text for one in client.list_translation_memory_segments(memory)]
client.export_translation_memory_to_filepath(memory, f"{folder}/exported.tmx")
found["memories"] = len(client.list_translation_memories())
try:
    client.import_translation_memory_from_filepath(f"{folder}/broken.tmx")
except deepl.DeepLException as error:
    found["broken"] = str(error)

client.translate_document_from_filepath(f"{folder}/app.po", f"{folder}/app.de.po", source_lang="EN", target_lang="DE")

found["wrong_key"] = refused(lambda: deepl.DeepLClient("wrong", server_url=url).get_usage())
found["unknown_pair"] = refused(lambda: client.translate_text(source, target_lang="JA"))
found["too_long"] = refused(lambda: client.translate_text("word " * 40000, target_lang="DE"))
found["formality"] = refused(lambda: client.translate_text(source, target_lang="DE", formality="more"))
found["unknown_memory"] = refused(lambda: client.get_translation_memory("0" * 32))
client.delete_translation_memory(memory)
found["after_delete"] = len(client.list_translation_memories())
client.import_translation_memory_from_filepath(f"{folder}/shared.tmx")
print(json.dumps(found))
"""

NODE = """
const deepl = require('deepl-node');
const fs = require('fs');
const [url, key, folder] = process.argv.slice(1).filter((one) => one !== '--');
const client = new deepl.DeepLClient(key, { serverUrl: url });
const source = 'Open the drawer of the cabinet.', other = 'The printer has no paper.';
const refused = async (work) => { try { await work(); return null; } catch (error) { return error.constructor.name; } };
(async () => {
  const found = {};
  const texts = async (list, options) =>
    (await client.translateText(list, 'en', 'de', options)).map((one) => one.text);
  const one = await client.translateText(source, null, 'de');
  found.one = [one.text, one.detectedSourceLang, one.billedCharacters];
  found.many = await texts([source, other]);
  found.tags = await texts(['Open <x id="7"></x> &amp; <k>Save as</k> now.'],
    { tagHandling: 'xml', ignoreTags: ['x', 'k'], splitSentences: 'off', preserveFormatting: true });
  found.placeholders = await texts(['Send %s files to {name}.']);
  found.sources = (await client.getSourceLanguages()).map((one) => one.code);
  found.targets = (await client.getTargetLanguages()).map((one) => one.code);
  found.usage = (await client.getUsage()).anyLimitReached();
  const entries = new deepl.GlossaryEntries({ entries: { pane: 'Bereich' } });
  const glossary = await client.createGlossary('ui', 'en', 'de', entries);
  found.glossary = [glossary.name, glossary.entryCount, (await client.getGlossaryEntries(glossary)).entries()];
  found.with_glossary = await texts(['Hide the pane.'], { glossary });
  await client.deleteGlossary(glossary);
  found.deleted = await refused(() => client.getGlossary(glossary.glossaryId));
  const dictionary = (pairs) =>
    ({ sourceLangCode: 'en', targetLangCode: 'de', entries: new deepl.GlossaryEntries({ entries: pairs }) });
  const multi = await client.createMultilingualGlossary('ui', [dictionary({ pane: 'Bereich' })]);
  await client.updateMultilingualGlossaryDictionary(multi, dictionary({ tab: 'Register' }));
  found.merged = (await client.getMultilingualGlossaryDictionaryEntries(multi, 'en', 'de')).entries.entries();
  await client.replaceMultilingualGlossaryDictionary(multi, dictionary({ menu: 'Menu' }));
  found.replaced = (await client.listMultilingualGlossaries())[0].dictionaries[0].entryCount;
  await client.deleteMultilingualGlossary(multi);
  const before = await texts([source, other]);
  const job = await client.importTranslationMemoryFromFilepath(`${folder}/memory.tmx`, { displayName: 'legal' });
  const memory = await client.getTranslationMemory(job.results[0].translationMemoryId);
  found.memory = [memory.name, memory.segmentCount];
  found.learned = [before, await texts([source, other], { translationMemory: memory })];
  await client.exportTranslationMemoryToFilepath(memory, `${folder}/exported.tmx`);
  await client.translateDocument(`${folder}/app.po`, `${folder}/app.de.po`, 'en', 'de');
  found.wrong_key = await refused(() => new deepl.DeepLClient('wrong', { serverUrl: url }).getUsage());
  found.unknown_pair = await refused(() => client.translateText(source, null, 'ja'));
  found.too_long = await refused(() => client.translateText('word '.repeat(40000), null, 'de'));
  await client.deleteTranslationMemory(memory);
  found.after_delete = (await client.listTranslationMemories()).length;
  await client.importTranslationMemoryFromFilepath(`${folder}/shared.tmx`);
  console.log(JSON.stringify(found));
})().catch((error) => { console.error(error); process.exit(1); });
"""

COMMANDS = """
import contextlib, io, json, sys
from deepl.__main__ import main

def run(*arguments):
    out = io.StringIO()
    sys.argv = ["deepl", "--server-url", url, "--auth-key", key, *arguments]
    with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        main()
    return out.getvalue()

url, key, folder = sys.argv[1:]
found = {"text": run("text", "--to", "DE", "--from", "EN", "Open the drawer of the cabinet.")}
found["languages"] = run("languages")
found["usage"] = run("usage")
found["import"] = run("translation-memory", "import", f"{folder}/memory.tmx")
found["learned"] = run("text", "--to", "DE", "Open the drawer of the cabinet.")
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedProjects]:
    """A server with a real model, which uses the terms of a glossary."""
    with serving_projects(tmp_path_factory.mktemp("deepl"), "en-de") as served:
        yield served


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with a memory, one that is broken, and a document."""
    (tmp_path / "memory.tmx").write_bytes(tmx((SOURCE, TARGET)))
    (tmp_path / "shared.tmx").write_bytes(tmx((SHARED, SHARED_TARGET)))
    (tmp_path / "broken.tmx").write_bytes(b"no XML")
    head = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\n'
    (tmp_path / "app.po").write_text(f'{head}msgid "{SOURCE}"\nmsgstr ""\n', encoding="utf-8")
    return tmp_path


def check_common(found: dict[str, Any], files: Path) -> None:
    """What both clients show."""
    assert found["many"][0] == found["one"][0]
    assert '<x id="7"></x>' in found["tags"][0]
    assert "<k>Save as</k>" in found["tags"][0]
    assert [found["placeholders"][0].count(part) for part in ("%s", "{name}")] == [1, 1]
    assert "Bereich" in found["with_glossary"][0]
    assert found["glossary"] == ["ui", 1, {"pane": "Bereich"}]
    assert found["merged"] == {"pane": "Bereich", "tab": "Register"}
    assert found["replaced"] == 1
    before, after = found["learned"]
    assert after[0] == TARGET != before[0]
    assert after[1] == before[1]
    assert TARGET in (files / "exported.tmx").read_text(encoding="utf-8")
    assert f'msgstr "{TARGET}"' in (files / "app.de.po").read_text(encoding="utf-8")
    assert found["after_delete"] == 0


def test_the_client_for_python(server: ServedProjects, files: Path) -> None:
    server.create("python")
    found = run_client("deepl", PYTHON, server.url, f"{server.key}:python", str(files))
    check_common(found, files)
    assert set(through_every_api(server, "python", SHARED).values()) == {SHARED_TARGET}
    assert found["one"][1:] == ["EN", len(SOURCE)]
    assert found["thousand"] == 1_000
    assert found["options"] == [found["many"][1]]
    assert (found["sources"], found["targets"]) == (["EN"], [["DE", False]])
    assert found["usage"] == [1_000_000_000_000, False]
    assert found["pairs"] == [["en", "de"]]
    assert found["deleted"] == [["GlossaryNotFoundException", 404], []]
    assert found["name"] == "named"
    assert found["memory"] == ["legal", 1, "en", ["de"]]
    assert found["segments"] == [SOURCE]
    assert found["memories"] == 1
    assert "file" in found["broken"]
    assert found["wrong_key"] == ["AuthorizationException", 403]
    assert found["unknown_pair"] == found["formality"] == ["DeepLException", 400]
    assert found["too_long"] == ["DeepLException", 413]
    assert found["unknown_memory"] == ["DeepLException", 404]


def test_the_client_for_node(server: ServedProjects, files: Path) -> None:
    server.create("node")
    found = run_client("deepl-node", NODE, f"{server.url}/deepl", f"{server.key}:node", str(files))
    check_common(found, files)
    assert set(through_every_api(server, "node", SHARED).values()) == {SHARED_TARGET}
    assert found["one"][1:] == ["en", len(SOURCE)]
    assert (found["sources"], found["targets"], found["usage"]) == (["en"], ["de"], False)
    assert found["deleted"] == "GlossaryNotFoundError"
    assert found["memory"] == ["legal", 1]
    assert (found["wrong_key"], found["unknown_pair"]) == ("AuthorizationError", "DeepLError")
    assert found["too_long"] == "DeepLError"


def test_the_command_line(server: ServedProjects, files: Path) -> None:
    server.create("commands")
    found = run_client("deepl", COMMANDS, server.url, f"{server.key}:commands", str(files))
    assert found["text"].strip() != TARGET
    assert "DE: German" in found["languages"]
    assert "1000000000000" in found["usage"]
    assert "completed" in found["import"]
    assert found["learned"].strip() == TARGET
    assert set(through_every_api(server, "commands", SOURCE).values()) == {TARGET}
