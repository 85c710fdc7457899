"""Files that another program changes while they are filled in, or between a kill and the next call."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from helpers.filling import fuzzy, po, targets, write_engine
from helpers.forked import kill_at, run_forked

from mtloop.core.errors import InputError
from mtloop.translation import fill_files as module
from mtloop.translation import fill_units
from mtloop.translation.fill_files import EngineChoice, FillJob, fill_files
from mtloop.translation.fill_state import FileProgress, digest_of
from mtloop.translation.fill_units import FillOptions, Only

KNOWN = ("Open the tray.", "Das Fach öffnen.")
MISSING = [(f"Unit {number}", "") for number in range(5)]
BY_HAND = ("Unit 1", "Von Hand")


@pytest.fixture
def engine(tmp_path: Path) -> EngineChoice:
    folder = tmp_path / "engine"
    folder.mkdir()
    return write_engine(folder)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file in the current folder; chunks of two units."""
    work = tmp_path / "work"
    work.mkdir()
    (work / "a.po").write_text(po(KNOWN, *MISSING))
    monkeypatch.chdir(work)
    monkeypatch.setattr(fill_units, "CHUNK", 2)
    return Path("a.po")


def change_at(monkeypatch: pytest.MonkeyPatch, nth: int, change: Callable[[], object]) -> None:
    """Let another program change something once so many chunks are translated."""
    add, calls = FileProgress.add, list[int]()

    def changing(progress: FileProgress, units: Any) -> None:
        add(progress, units)
        calls.append(1)
        if len(calls) == nth:
            change()

    monkeypatch.setattr(FileProgress, "add", changing)


def translated_again(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that gets the sources of all units that are translated from now on; a lesson fails."""
    sources: list[str] = []
    translate = fill_units.translate_units

    def noting(learner: Any, segments: Any, *arguments: Any) -> Any:
        sources.extend(segment.source for _, segment in segments)
        return translate(learner, segments, *arguments)

    monkeypatch.setattr(fill_units, "translate_units", noting)
    monkeypatch.delattr(module, "learn_unit")
    return sources


def kill_while_filling(inputs: list[Path], out: Path, engine: EngineChoice, name: str, nth: int) -> None:
    def fill_and_die() -> None:
        kill_at(FileProgress, name, nth)
        fill_files(inputs, out, engine=engine)

    died = run_forked(fill_and_die)
    assert died.returncode == -9, died.stderr


def test_what_was_saved_while_a_file_is_filled_in_place_stays(
    path: Path, engine: EngineChoice, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    saved = po(("New above", ""), KNOWN, *MISSING[:1], BY_HAND, *MISSING[2:])
    with monkeypatch.context() as patch:
        change_at(patch, 2, lambda: path.write_text(saved))
        with pytest.raises(
            InputError, match=r"^a\.po: another program changed the file meanwhile, .*same command again"
        ):
            fill_files([path], path, engine=engine)
    assert path.read_text() == saved
    assert sorted(one.name for one in Path().iterdir()) == ["a.po", "a.po.mtloop"]
    sources = translated_again(monkeypatch)
    with caplog.at_level(logging.WARNING, "mtloop"):
        report = fill_files([path], path, engine=engine)
    assert sources == ["New above"]
    (warning,) = caplog.messages
    assert warning.startswith("changed since this command was begun: a.po; ")
    assert (report.files[0].filled, report.files[0].kept, report.lessons) == (5, 2, 1)
    found = targets(path)
    assert found["Unit 1"] == ("Von Hand", "translated")
    assert {source: text.rpartition(" ")[0] for source, (text, state) in found.items() if state == "fuzzy"} == {
        "New above": "above New",
        **{f"Unit {number}": f"{number} Unit" for number in (0, 2, 3, 4)},
    }
    assert not Path("a.po.mtloop").exists()


def test_a_file_that_was_deleted_is_not_made_again(
    path: Path, engine: EngineChoice, monkeypatch: pytest.MonkeyPatch
) -> None:
    change_at(monkeypatch, 2, path.unlink)
    with pytest.raises(InputError, match="another program changed the file meanwhile"):
        fill_files([path], path, engine=engine)
    assert not path.exists()


@pytest.mark.parametrize("old", ["old", None])
def test_an_output_that_another_program_wrote_meanwhile_stays(
    path: Path, engine: EngineChoice, monkeypatch: pytest.MonkeyPatch, old: str | None
) -> None:
    out = Path("out.po")
    if old:
        out.write_text(old)
    with monkeypatch.context() as patch:
        change_at(patch, 1, lambda: out.write_text("new"))
        with pytest.raises(InputError, match=r"^out\.po: another program wrote this output meanwhile, .*same command"):
            fill_files([path], out, engine=engine)
    assert out.read_text() == "new"
    sources = translated_again(monkeypatch)
    report = fill_files([path], out, engine=engine)
    assert (sources, list(report.replaced)) == ([], ["out.po"])
    assert len(targets(out)) == 6


def test_an_output_that_changes_before_its_job_begins(path: Path, engine: EngineChoice) -> None:
    """The jobs of --jobs open the files again; what counts is what the files were when the command began."""
    out = Path("out.po")
    out.write_text("old")

    def run(jobs: Any) -> None:
        (job,) = [FillJob.from_json(json.loads(json.dumps(job.to_json()))) for job in jobs]
        out.write_text("new")
        job.run()

    with pytest.raises(InputError, match="another program wrote this output meanwhile"):
        fill_files([path], out, engine=engine, run_jobs=run)
    assert out.read_text() == "new"


def test_a_changed_input_keeps_the_translations_of_its_units(
    path: Path, engine: EngineChoice, monkeypatch: pytest.MonkeyPatch
) -> None:
    kill_while_filling([path], Path("out.po"), engine, "finish", 1)
    flagged = '\n#, c-format\nmsgid "Unit 3"\nmsgstr ""\n'
    path.write_text(po(("New", ""), *MISSING[:3], flagged, ("Unit 4 changed", ""), KNOWN))
    sources = translated_again(monkeypatch)
    fill_files([path], Path("out.po"), engine=engine)
    assert sources == ["New", "Unit 3", "Unit 4 changed"]
    found = targets(Path("out.po"))
    assert {source: text.rpartition(" ")[0] for source, (text, _) in found.items() if source != KNOWN[0]} == {
        "New": "New",
        **{f"Unit {number}": f"{number} Unit" for number in range(4)},
        "Unit 4 changed": "changed 4 Unit",
    }


def test_a_file_that_changes_twice_has_the_texts_of_its_own_units(
    path: Path, engine: EngineChoice, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The units of all versions are in the state; their indices mean other units in each version."""
    first = path.read_text()
    kill_while_filling([path], Path("out.po"), engine, "finish", 1)
    path.write_text(po(("A new", ""), ("B new", ""), *MISSING))
    kill_while_filling([path], Path("out.po"), engine, "finish", 1)
    path.write_text(first)
    sources = translated_again(monkeypatch)
    report = fill_files([path], Path("out.po"), engine=engine)
    assert (sources, report.files[0].filled) == ([], 5)
    found = targets(Path("out.po"))
    assert all(found[f"Unit {number}"][0].startswith(f"{number} Unit ") for number in range(5))


def begin_folder(engine: EngineChoice) -> Path:
    """Fill in two files; the process is killed when the first one was written. Return that output."""
    for name in ("a.po", "b.po"):
        Path("in").mkdir(exist_ok=True)
        Path("in", name).write_text(po(*MISSING))
    kill_while_filling([Path("in")], Path("out"), engine, "finish", 2)
    assert sorted(one.name for one in Path("out").iterdir()) == ["a.po"]
    return Path("out/a.po")


def test_an_output_that_was_edited_after_it_was_written_stays(path: Path, engine: EngineChoice) -> None:
    first = begin_folder(engine)
    first.write_text(po(BY_HAND))
    report = fill_files([Path("in")], Path("out"), engine=engine)
    assert targets(first) == {"Unit 1": ("Von Hand", "translated")}
    assert sum(file.filled for file in report.files) == 10
    assert not report.replaced


@pytest.mark.parametrize("only", list(Only))
def test_a_file_filled_in_place_that_was_edited_after_it_was_written_stays(
    path: Path, engine: EngineChoice, only: Only
) -> None:
    """The report about it stays too: it names the units that a person should look at."""
    options = FillOptions(only=only)
    for name in ("a.po", "b.po"):
        Path("in").mkdir(exist_ok=True)
        Path("in", name).write_text(po(("Empty", ""), ("Delete %s now %s", ""), fuzzy("Unit 1", "Alt")))
    whole = fill_files([Path("in")], Path("whole"), engine=engine, options=options)

    def fill_and_die() -> None:
        kill_at(FileProgress, "finish", 2)
        fill_files([Path("in")], Path("in"), engine=engine, options=options)

    assert run_forked(fill_and_die).returncode == -9
    edited = po(("Empty", "Leer"), ("Delete %s now %s", ""), fuzzy("Unit 1", "Von Hand"))
    Path("in/a.po").write_text(edited)
    report = fill_files([Path("in")], Path("in"), engine=engine, options=options)
    assert Path("in/a.po").read_text() == edited
    assert Path("in/b.po").read_text() == Path("whole/b.po").read_text()
    assert [replace(file, path="", units=[]) for file in report.files] == [
        replace(file, path="", units=[]) for file in whole.files
    ]
    assert [len(file.units) for file in report.files] == [len(file.units) for file in whole.files]


def test_an_output_is_made_again_if_its_input_changed(path: Path, engine: EngineChoice) -> None:
    first = begin_folder(engine)
    Path("in/a.po").write_text(po(*MISSING, ("New", "")))
    report = fill_files([Path("in")], Path("out"), engine=engine)
    assert len(targets(first)) == 6
    assert list(report.replaced) == ["out/a.po"]


def test_a_changed_template_translates_the_changed_texts(
    path: Path, engine: EngineChoice, monkeypatch: pytest.MonkeyPatch
) -> None:
    template, out = Path("en.json"), Path("de.json")
    template.write_text('{"a": "One file", "b": "Two files", "c": "Three files"}')
    arguments: dict[str, Any] = {"engine": engine, "template": template}

    def fill_and_die() -> None:
        kill_at(FileProgress, "finish", 1)
        fill_files([out], out, **arguments)

    assert run_forked(fill_and_die).returncode == -9
    template.write_text('{"z": "New", "a": "One page", "b": "Two files", "c": "Three files"}')
    sources = translated_again(monkeypatch)
    fill_files([out], out, **arguments)
    assert sources == ["New", "One page"]
    found = json.loads(out.read_text())
    assert {key: text.rpartition(" ")[0] for key, text in found.items()} == {
        "z": "New",
        "a": "page One",
        "b": "files Two",
        "c": "files Three",
    }


def test_the_digest_of_a_file_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a"
    path.write_text("x")
    assert len(digest_of(path)) == 32

    def refuse(*arguments: object, **keywords: object) -> None:
        raise PermissionError

    monkeypatch.setattr(Path, "open", refuse)
    assert digest_of(path) == ""
