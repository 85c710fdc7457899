"""`mtloop translate`: files with a neural model, options, refusals of standard input."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.command_result import CommandResult
from helpers.filling import fuzzy, po, targets, write_engine
from helpers.forked import kill_at, run_forked
from helpers.tool_files import MQXLIFF, OMEGAT, SDLXLIFF
from lxml import etree

from mtloop.cli import main
from mtloop.data.formats.filling import Filling, open_file
from mtloop.translation import fill_units
from mtloop.translation.fill_state import FileProgress

Call = Callable[..., CommandResult]
KNOWN = [("Open the tray.", "Das Fach öffnen."), ("Close the tray.", "Das Fach schließen.")]
MISSING = [("Open the page.", ""), ("Save %s to the tray.", ""), ("Print <b>all</b> pages.", ""), ("Close.", "")]

DOUBLING = """
from mtloop.core import Proposal


class Doubling:
    def propose(self, segment):
        return Proposal(segment, f"it it {segment.source}")

    def learn(self, proposal, feedback):
        raise NotImplementedError
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "de.po"
    path.write_text(po(*KNOWN, *MISSING, fuzzy("Old", "Alt")))
    return path


def test_a_file_with_a_neural_model(mtloop: Call, file: Path, model: Path) -> None:
    result = mtloop(
        "translate", "de.po", "--out", "out.po", "--model", model, "--threads", 1, "--save-delta", "learned"
    )
    assert result.code == 0, result.err
    assert ", 2 kept, " in result.out
    assert "; learned from 2 of 2" in result.out
    found = targets(Path("out.po"))
    assert found["Close the tray."] == ("Das Fach schließen.", "translated")
    assert all(found[source][1] == ("fuzzy" if found[source][0] else "untranslated") for source, _ in MISSING)
    assert f"{sum(bool(found[source][0]) for source, _ in MISSING)} filled" in result.out
    assert found["Save %s to the tray."][0].count("%s") == 1
    again = mtloop(
        "translate", "de.po", "--out", "b.po", "--model", model, "--threads", 1, "--delta", "learned", "--no-learn"
    )
    assert "; learned from 0 of 2" in again.out
    assert Path("b.po").read_bytes() == Path("out.po").read_bytes()


def test_a_killed_command_with_a_neural_model_goes_on(
    mtloop: Call, file: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fill_units, "CHUNK", 2)
    arguments = ["translate", "de.po", "--model", str(model), "--threads", "1", "--out"]
    whole = mtloop(*arguments, "whole.po")

    def fill_and_die() -> None:
        kill_at(FileProgress, "add", 2)
        main([*arguments, "out.po"])

    assert run_forked(fill_and_die).returncode == -9
    assert Path("out.po.mtloop").is_dir()
    assert mtloop(*arguments, "out.po").out == whole.out
    assert Path("out.po").read_bytes() == Path("whole.po").read_bytes()
    assert not Path("out.po.mtloop").exists()


def test_the_embedded_model_learns_a_term_from_the_file(mtloop: Call, file: Path) -> None:
    file.write_text(po(("Open the tray.", "Öffnen Sie die Kassette."), ("Close the tray.", "")))
    assert mtloop("translate", "de.po", "--out", "plain.po", "--no-learn", "--threads", 1).code == 0
    learned = mtloop("translate", "de.po", "--out", "out.po", "--threads", 1, "--approve")
    assert (learned.code, learned.out) == (
        0,
        "1 filled, 1 kept, 0 skipped, 0 repaired, 0 with failed checks; learned from 1 of 1 translated unit\n",
    )
    assert "Kassette" not in targets(Path("plain.po"))["Close the tray."][0]
    assert targets(Path("out.po"))["Close the tray."] == ("Schließen Sie die Kassette.", "translated")


def test_the_embedded_model_learns_a_term_from_a_translation_memory(mtloop: Call, file: Path) -> None:
    file.write_text(po(("Close the tray.", "")))
    memory = b'<tu><tuv xml:lang="en-US"><seg>Open the tray.</seg></tuv><tuv xml:lang="de-DE"><seg>%s</seg></tuv></tu>'
    content = memory % "Öffnen Sie die Kassette.".encode()
    Path("memory.tmx").write_bytes(b'<tmx version="1.4"><header srclang="en-US"/><body>%s</body></tmx>' % content)
    before = Path("memory.tmx").read_bytes()
    arguments = ["translate", "de.po", "--threads", "1", "--out"]
    assert mtloop(*arguments, "plain.po").code == 0
    learned = mtloop(*arguments, "out.po", "--learn-from", "memory.tmx")
    assert learned.out.endswith("learned from 1 of 1 translated unit\n"), learned.err
    assert "Kassette" not in targets(Path("plain.po"))["Close the tray."][0]
    assert "Kassette" in targets(Path("out.po"))["Close the tray."][0]
    assert Path("memory.tmx").read_bytes() == before


@pytest.mark.parametrize(
    ("name", "content", "only", "filled", "others"),
    [
        ("project_save.tmx", OMEGAT, "untranslated", [1, 2], "1 kept, 0 skipped"),
        ("a.sdlxliff", SDLXLIFF, "untranslated", [1, 3], "1 kept, 3 skipped (1 fuzzy, 2 locked)"),
        ("a.sdlxliff", SDLXLIFF, "fuzzy", [1, 2, 3], "1 kept, 2 skipped (2 locked)"),
        ("a.mqxliff", MQXLIFF, "untranslated", [0, 4], "1 kept, 2 skipped (1 fuzzy, 1 locked)"),
    ],
)
def test_files_of_omegat_trados_and_memoq(
    mtloop: Call, tmp_path: Path, name: str, content: str, only: str, filled: list[int], others: str
) -> None:
    """Every unit without a translation is filled, and nothing else is changed: not even the DOCTYPE of a TMX 1.1."""
    (path := tmp_path / name).write_bytes(content.encode())
    out = tmp_path / f"filled{path.suffix}"
    result = mtloop("translate", path, "--out", out, "--only", only, "--threads", 1)
    assert result.code == 0, result.err
    assert result.out.startswith(f"{len(filled)} filled, {others}, 0 repaired, ")
    before, after = open_file(path), open_file(out)
    changed = [number for number, (old, new) in enumerate(zip(before.units, after.units, strict=True)) if new != old]
    assert changed == filled
    assert all(after.units[number].target.strip() for number in filled)
    assert out.read_bytes() == before.filled({number: Filling(after.units[number].target) for number in filled})
    etree.fromstring(out.read_bytes())


def test_a_glossary_is_used_and_belongs_to_the_command(mtloop: Call, file: Path) -> None:
    file.write_text(po(("Close the tray.", "")))
    Path("terms.tsv").write_text("tray\tKassette\n")
    arguments = ["translate", "de.po", "--out", "out.po", "--threads", "1"]

    def fill_and_die() -> None:
        kill_at(FileProgress, "finish", 1)
        main([*arguments, "--glossary", "terms.tsv"])

    assert run_forked(fill_and_die).returncode == -9
    refused = mtloop(*arguments)
    assert "another command was begun for this output (differing: glossary)" in refused.err
    assert mtloop(*arguments, "--glossary", "terms.tsv").code == 0
    assert "Kassette" in targets(Path("out.po"))["Close the tray."][0]


def test_a_killed_command_that_overwrites_its_delta_goes_on(mtloop: Call, file: Path, model: Path) -> None:
    first = ["translate", "de.po", "--model", str(model), "--threads", "1"]
    assert mtloop(*first, "--out", "first.po", "--save-delta", "d").code == 0
    Path("d2").write_bytes(Path("d").read_bytes())
    assert mtloop(*first, "--out", "whole.po", "--delta", "d2", "--save-delta", "other").code == 0
    again = [*first, "--out", "out.po", "--delta", "d", "--save-delta", "d"]

    def fill_and_die() -> None:
        kill_at(FileProgress, "finish", 1)
        main(again)

    assert run_forked(fill_and_die).returncode == -9
    result = mtloop(*again)
    assert result.code == 0, result.err
    assert Path("out.po").read_bytes() == Path("whole.po").read_bytes()


def test_languages_of_the_embedded_model(mtloop: Call, file: Path) -> None:
    file.write_text(po(*KNOWN, *MISSING, language="it"))
    refused = mtloop("translate", "de.po", "--out", "out.po")
    assert (refused.code, refused.out) == (2, "")
    assert "de.po: the texts are unknown -> it, but the model translates en -> de" in refused.err
    assert refused.err.count("\n") == 1
    assert not list(file.parent.glob("out*"))


def test_a_dry_run_needs_no_output_and_no_model(mtloop: Call, file: Path) -> None:
    result = mtloop("translate", "de.po", "--dry-run")
    assert result.out.splitlines() == [
        "de.po: 4 filled, 2 kept, 1 skipped (1 fuzzy)",
        "dry run: 4 filled, 2 kept, 1 skipped (1 fuzzy); would learn from 2 of 2 translated units",
    ]
    assert [path.name for path in file.parent.iterdir()] == ["de.po"]


@pytest.mark.slow
def test_several_jobs_fill_the_same_files(mtloop: Call, file: Path, tmp_path: Path) -> None:
    (tmp_path / "b.po").write_text(po(*MISSING))
    (tmp_path / "engine").mkdir()
    engine = write_engine(tmp_path / "engine")
    for jobs in (1, 2):
        result = mtloop("translate", "de.po", "b.po", "--method", engine.method, "--out", f"out{jobs}", "--jobs", jobs)
        assert result.code == 0, result.err
    for name in ("de.po", "b.po"):
        assert Path("out1", name).read_bytes() == Path("out2", name).read_bytes()
    assert "%s" in targets(Path("out2/b.po"))["Save %s to the tray."][0]


def test_a_statistical_model_keeps_placeholders_and_tags(mtloop: Call, file: Path, tmp_path: Path) -> None:
    from helpers.tiny_smt import write_tiny_smt

    smt = tmp_path / "smt"
    smt.mkdir()
    write_tiny_smt(smt)
    file.write_text(po(("Open the file.", "Öffnen Sie die Datei."), ("Open <b>the file</b> %s.", "")))
    result = mtloop("translate", "de.po", "--out", "out.po", "--model", smt)
    assert result.code == 0, result.err
    assert "; learned from 1 of 1" in result.out
    text = targets(Path("out.po"))["Open <b>the file</b> %s."][0]
    assert [text.count(one) for one in ("<b>", "</b>", "%s")] == [1, 1, 1]


def test_plain_text_line_by_line(mtloop: Call, file: Path, model: Path) -> None:
    Path("manual.txt").write_text("Open the tray.\n\nClose it.\n")
    result = mtloop("translate", "manual.txt", "--out", "manual.de.txt", "--model", model, "--threads", 1)
    assert result.code == 0, result.err
    lines = Path("manual.de.txt").read_text().split("\n")
    assert (len(lines), lines[1], lines[3]) == (4, "", "")
    streamed = mtloop("translate", "--model", model, "--threads", 1, stdin="Open the tray.\n\nClose it.\n")
    assert len(streamed.out.splitlines()) == 3


def test_a_table_of_what_to_look_at(mtloop: Call, file: Path) -> None:
    Path("engine.py").write_text(DOUBLING)
    arguments = ["translate", "de.po", "--method", "engine.py:Doubling", "--no-learn", "--report", "r.tsv"]
    assert mtloop(*arguments, "--out", "out.po").code == 0
    rows = [line.split("\t") for line in Path("r.tsv").read_text().splitlines()]
    assert rows[0] == ["file", "place", "what", "source", "translation"]
    assert rows[1][:2] == ["de.po", "12"]
    assert "failed check: repeated word: the word 'it' is repeated" in rows[1][2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["de.po"], "mtloop: give the output: --out FILE, or --out FOLDER"),
        (["de.po", "--out", "de.xlf"], "mtloop: de.xlf: the output has the format of the input; name it de.po"),
        (["logo.png", "--out", "b.png"], "mtloop: logo.png: unknown file type '.png'; known: .po, "),
        (["missing.po", "--out", "b.po"], "mtloop: missing.po: no such file"),
        (["--out", "b.po"], "mtloop: --out needs a FILE: mtloop translate FILE --out FILE"),
        (["--dry-run"], "mtloop: --dry-run needs a FILE"),
        (
            ["--target-lang", "fr"],
            "mtloop: standard input: the texts are unknown -> fr, but the model translates en -> de",
        ),
        (["--source-lang", "zh", "--lang", "de"], "mtloop: standard input: the texts are zh -> de, but the model"),
        (
            ["de.po", "--dry-run", "--template", "no.json"],
            "mtloop: de.po: has its own source texts; leave out --template",
        ),
        (
            ["de.po", "--dry-run", "--columns", "source=X,target=Y"],
            "mtloop: de.po: is not a table; leave out --columns",
        ),
        (["de.po", "--out", "b.po", "--no-learn", "--learn", "3"], "mtloop: give --learn or --no-learn, not both"),
        (
            ["de.po", "--out", "b.po", "--no-learn", "--learn-from", "de.po"],
            "mtloop: give --learn-from or --no-learn, not both",
        ),
        (
            ["de.po", "--out", "b.po", "--learn", "0", "--learn-from", "de.po"],
            "mtloop: give --learn-from or --learn 0, not both",
        ),
        (["--learn-from", "de.po"], "mtloop: --learn-from needs a FILE"),
        (["--report", "r.tsv"], "mtloop: --report needs a FILE"),
        (["de.po", "--dry-run", "--report", "r.tsv"], "mtloop: give --report or --dry-run, not both"),
        (["de.po", "--out", "b.po", "--report", "de.po"], "mtloop: de.po: is an input or output of the command; name"),
        (["de.po", "--out", "b.po", "--learn-from", "logo.png"], "mtloop: logo.png: unknown file type '.png'"),
        (["de.po", "--out", "b.po", "--method", "nothing"], "mtloop: there is no method 'nothing'"),
        (["de.po", "--out", "b.po", "--method", "full", "--set", "x=1"], "mtloop: method full has no setting 'x'"),
    ],
)
def test_wrong_arguments_are_one_line(mtloop: Call, file: Path, arguments: list[str], message: str) -> None:
    Path("logo.png").write_bytes(b"\x89PNG")
    result = mtloop("translate", *arguments, stdin="")
    assert (result.code, result.err.count("\n")) == (2, 1)
    assert result.err.startswith(message)
    assert sorted(path.name for path in file.parent.iterdir()) == ["de.po", "logo.png"]


@pytest.mark.parametrize(
    ("text", "kind", "command"),
    [
        (po(*KNOWN), "a PO file", "mtloop translate FILE.po --out FILLED.po"),
        ("# Title\n#\n\n" + po(*KNOWN), "a PO file", "FILE.po"),
        ('msgctxt "menu"\nmsgid "a"\nmsgstr ""\n', "a PO file", "FILE.po"),
        ('<?xml version="1.0"?>\n<xliff version="1.2">\n', "an XML file", "mtloop translate FILE.xlf --out FILLED.xlf"),
        ("\ufeff<?xml version='1.0'?>\n<!DOCTYPE TS>\n<TS>\n", "an XML file", "FILE.ts --out"),
        ("<!DOCTYPE tmx>\n<tmx>\n", "an XML file", "FILE.tmx --out"),
        ("<resources>\n", "an XML file", "FILE.xml --out"),
        ("<!-- made by\n a tool -->\n<!-- two --> <xliff>\n", "an XML file", "FILE.xlf --out"),
        ("\ufeff<!-- x -->\n\n  <?xml version='1.0'?>\n<TS>\n", "an XML file", "FILE.ts --out"),
        (" \n\ufeff <x:xliff xmlns:x='urn'>\n", "an XML file", "FILE.xlf --out"),
        ("<plist lang='en' xmlns='urn'>\n", "an XML file", "make an XLIFF or PO file of it"),
        ("<!DOCTYPE html>\n<html>\n", "an HTML file", "html2po FILE.html FILE.po && mtloop translate FILE.po"),
        ('domain "a"\nmsgid "b"\nmsgstr ""\n', "a PO file", "FILE.po"),
        ('{"a": "b"}\n', "a JSON file", "FILE.json"),
        ('\n [ {"a \\" b" : 1}]\n', "a JSON file", "FILE.json"),
        ('["Open", "Close"]\n', "a JSON file", "FILE.json"),
        ("source\ttarget\nOpen\t\n", "a TSV file", "mtloop translate FILE.tsv --out FILLED.tsv"),
        ("Target\tSource\n", "a TSV file", "FILE.tsv"),
        ("Open\tÖffnen\nClose\t\n", "a TSV file", "FILE.tsv"),
        ("source,target\nOpen it.,\n", "a CSV file", "mtloop translate FILE.csv --out FILLED.csv"),
        ('id;"Source";"Target"\n1;Open it.;\n', "a CSV file", "FILE.csv"),
        ("# Menu\nopen=Open it\nclose = Close \\\n  it\n\nkey=\n", "a .properties file", "FILE.properties --template"),
        ("app.title=Open it\n", "a .properties file", "--out FILLED.properties"),
        ('{\n "a": "b"\n}\n', "a JSON file", "mtloop translate FILE.json --template SOURCE.json --out FILLED.json"),
    ],
)
def test_a_raw_file_on_standard_input_is_refused(mtloop: Call, model: Path, text: str, kind: str, command: str) -> None:
    result = mtloop("translate", "--model", model, "--threads", 1, stdin=text)
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
    assert f"standard input is {kind}" in result.err
    assert command in result.err


PLAIN = [
    "# A heading\nText\n",
    "<b>Bold</b> text\n",
    "#1\n",
    "",
    '"msgid" is a word\n',
    "<!-- a note -->\nText\n",
    "<!-- not closed\nText\n",
    "<Enter>\n",
    "{name} is ready.\n",
    "[1] See {0}\n",
    '["Quoted" words]\n',
    "Name:\tValue\n",
    "Name:\tValue\nA sentence.\n",
    "x = 5 holds.\nThen go on.\nAnd stop.\n",
    "Name=\n",
    "The source, the target\n",
]


@pytest.mark.parametrize("text", PLAIN)
def test_text_that_only_looks_like_one_is_translated(mtloop: Call, model: Path, text: str) -> None:
    result = mtloop("translate", "--model", model, "--threads", 1, stdin=text)
    assert (result.code, result.out.count("\n")) == (0, text.count("\n")), result.err
