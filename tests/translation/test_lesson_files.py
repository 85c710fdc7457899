"""Files that are only learned from: `--learn-from`."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from helpers.filling import fuzzy, po, targets, write_engine
from helpers.forked import kill_at, run_forked

from mtloop.core.errors import InputError
from mtloop.translation import fill_files as module
from mtloop.translation import fill_units
from mtloop.translation.fill_files import EngineChoice, fill_files, open_files, plan_files, plan_filling
from mtloop.translation.fill_state import FileProgress
from mtloop.translation.fill_units import FillOptions, Only
from mtloop.translation.lesson_files import lessons_of, open_lesson_files

MODEL = ("en", "de")


def tmx(*pairs: tuple[str, str], target: str = "de") -> str:
    """Return a translation memory."""
    units = "".join(
        f'<tu><tuv xml:lang="en"><seg>{one}</seg></tuv><tuv xml:lang="{target}"><seg>{other}</seg></tuv></tu>\n'
        for one, other in pairs
    )
    return f'<?xml version="1.0"?>\n<tmx version="1.4"><header srclang="en"/><body>\n{units}</body></tmx>\n'


@pytest.fixture
def engine(tmp_path: Path) -> EngineChoice:
    (tmp_path / "engine").mkdir()
    return write_engine(tmp_path / "engine")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file to fill in, and two that are learned from, in a folder that is the current one."""
    work = tmp_path / "work"
    work.mkdir()
    (work / "de.po").write_text(po(("Open the tray.", "Das Fach öffnen."), *((f"Page {n}", "") for n in range(5))))
    (work / "memory.tmx").write_text(tmx(("Close the tray.", "Kassette schließen."), ("Page", "Seite")))
    (work / "old.tsv").write_text("source\ttarget\nOld page\tAlte Seite\nMissing\t\n")
    monkeypatch.chdir(work)
    monkeypatch.setattr(fill_units, "CHUNK", 2)
    monkeypatch.setattr(module, "SNAPSHOT_EVERY", 1)
    return work


MEMORIES = [Path("memory.tmx"), Path("old.tsv")]


def test_their_translated_units_are_learned_and_they_stay_as_they_are(folder: Path, engine: EngineChoice) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    alone = fill_files([Path("de.po")], Path("alone.po"), engine=engine)
    report = fill_files([Path("de.po")], Path("out.po"), engine=engine, learn_from=MEMORIES)
    assert ((alone.lessons, alone.candidates), (report.lessons, report.candidates)) == ((1, 1), (4, 4))
    assert targets(Path("out.po"))["Page 3"][0].startswith("3 Page 4")  # the number of lessons
    assert {name: (folder / name).read_bytes() for name in before} == before
    plan = plan_filling([Path("de.po")], engine=engine, learn_from=MEMORIES)
    assert str(plan).endswith("would learn from 4 of 4 translated units")


def test_they_are_learned_before_the_units_of_the_inputs_and_the_newest_of_them_last(folder: Path) -> None:
    opened, _ = open_files(plan_files([Path("de.po")], None)[0], FillOptions(), MODEL)
    for newest in MEMORIES:
        for path in (Path("de.po"), *MEMORIES):
            os.utime(path, (1000 + (path == newest), 1000 + (path == newest)))
        lessons = lessons_of(opened, 9, open_lesson_files(MEMORIES, FillOptions(), MODEL)).lessons
        last = [one.segment.source for one in lessons][-2:]
        assert last == ["Page" if newest == Path("memory.tmx") else "Old page", "Open the tray."]


def test_the_most_similar_units_of_all_files_are_chosen(folder: Path) -> None:
    opened, _ = open_files(plan_files([Path("de.po")], None)[0], FillOptions(), MODEL)
    lessons, candidates, _ = lessons_of(opened, 2, open_lesson_files(MEMORIES, FillOptions(), MODEL))
    assert ([one.segment.source for one in lessons], candidates) == (["Page", "Old page"], 4)


def test_with_all_units_to_fill_only_they_are_learned(folder: Path, engine: EngineChoice) -> None:
    options = FillOptions(Only.ALL)
    report = fill_files([Path("de.po")], Path("out.po"), engine=engine, options=options, learn_from=MEMORIES)
    assert (report.lessons, report.candidates, report.files[0].filled) == (3, 3, 6)


def test_copies_of_the_source_are_kept_but_not_learned(folder: Path, engine: EngineChoice) -> None:
    texts = {
        "a": "Open the tray.",
        "b": "Close the tray.",
        "c": "Backend",
        "e": "Print the page.",
    }
    Path("en.json").write_text(json.dumps(texts))
    known = {name: texts[name] for name in "bc"} | {"a": "Öffnen Sie das Fach."}
    Path("de.json").write_text(json.dumps(known))
    numbers = "2 of 3 translated units; 1 kept but not learned: copies of the source"
    plan = plan_filling([Path("de.json")], engine=engine, template=Path("en.json"))
    assert str(plan).endswith(f"would learn from {numbers}")
    report = fill_files([Path("de.json")], Path("out.json"), engine=engine, template=Path("en.json"))
    assert str(report).endswith(f"learned from {numbers}")
    written = json.loads(Path("out.json").read_bytes())
    assert written["b"] == "Close the tray."


def test_columns_are_those_of_a_table_that_is_only_learned_from(folder: Path, engine: EngineChoice) -> None:
    Path("terms.tsv").write_text("A\tB\nTray\tKassette\n")
    options = FillOptions(columns={"source": "A", "target": "B"})
    report = fill_files([Path("de.po")], Path("out.po"), engine=engine, options=options, learn_from=[Path("terms.tsv")])
    assert report.candidates == 2


KILLS: list[tuple[Any, str, int]] = [(module, "learn_unit", 2), (FileProgress, "add", 2), (FileProgress, "finish", 1)]


@pytest.mark.parametrize(("owner", "name", "nth"), KILLS)
def test_a_killed_command_goes_on_with_the_same_bytes(
    folder: Path, engine: EngineChoice, owner: Any, name: str, nth: int
) -> None:
    whole = fill_files([Path("de.po")], Path("whole.po"), engine=engine, learn_from=MEMORIES)
    begin(engine, owner, name, nth)
    report = fill_files([Path("de.po")], Path("out.po"), engine=engine, learn_from=MEMORIES)
    assert Path("out.po").read_bytes() == Path("whole.po").read_bytes()
    assert str(report) == str(whole)


def begin(engine: EngineChoice, owner: Any, name: str, nth: int) -> None:
    """Begin to fill in the file, and be killed."""

    def fill_and_die() -> None:
        kill_at(owner, name, nth)
        fill_files([Path("de.po")], Path("out.po"), engine=engine, learn_from=MEMORIES)

    assert run_forked(fill_and_die).returncode == -9


@pytest.mark.parametrize("change", ["content", "less", "none"])
def test_other_files_to_learn_from_are_another_command(folder: Path, engine: EngineChoice, change: str) -> None:
    begin(engine, FileProgress, "add", 2)
    if change == "content":
        Path("memory.tmx").write_text(tmx(("Close the tray.", "Fach schließen.")))
    learn_from = {"content": MEMORIES, "less": MEMORIES[:1], "none": []}[change]
    with pytest.raises(InputError, match=r"another command .* \(differing: --learn-from\)"):
        fill_files([Path("de.po")], Path("out.po"), engine=engine, learn_from=learn_from)
    assert not Path("out.po").exists()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("missing.tmx", None, "missing.tmx: no such file"),
        ("folder", "folder", "folder: is a folder; --learn-from takes files"),
        ("de.json", "{}", r"de.json: has one language; --learn-from takes files with source and translation: .po, "),
        ("a.txt", "Text\n", "a.txt: has one language"),
        ("logo.png", "PNG", "logo.png: unknown file type '.png'"),
        ("bad.tmx", "<tmx><body>", "bad.tmx"),
        ("fr.po", po(("Page", "Page 1"), language="fr"), "fr.po: the texts are unknown -> fr, but the model"),
        ("empty.po", po(("Page", ""), fuzzy("Tray", "Fach")), "empty.po: has no translated unit to learn from"),
        ("out.po", po(("Page", "Seite")), "out.po: is an output too, and a file of --learn-from is never written"),
    ],
)
def test_a_wrong_file_is_one_line(folder: Path, name: str, content: str | None, message: str) -> None:
    if content == "folder":
        Path(name).mkdir()
    elif content is not None:
        Path(name).write_text(content)
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    with pytest.raises(InputError, match=message) as error:
        fill_files([Path("de.po")], Path("out.po"), learn_from=[Path(name)])
    assert "\n" not in str(error.value)
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before


def test_what_would_be_written_or_learns_nothing_is_refused(folder: Path, engine: EngineChoice) -> None:
    memory = [Path("memory.tmx")]
    with pytest.raises(InputError, match="is an output too"):
        fill_files([Path("de.po")], Path("out.po"), engine=engine, learn_from=memory, save_delta=memory[0])
    with pytest.raises(InputError, match="give --learn-from, or learn nothing"):
        fill_files([Path("de.po")], Path("out.po"), engine=engine, learn_from=memory, learn=0)
    with pytest.raises(InputError, match="the method learns nothing; leave out --learn-from"):
        plan_filling([Path("de.po")], engine=EngineChoice(method="copy-source"), learn_from=memory)
