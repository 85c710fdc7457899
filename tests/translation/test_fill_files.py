"""Files that are filled in: learning first, marks, folders, kills, refusals."""

from __future__ import annotations

import errno
import itertools
import json
import os
import resource
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from helpers.filling import fuzzy, po, targets, write_engine
from helpers.forked import kill_at, run_forked

from mtloop.core.errors import InputError
from mtloop.translation import fill_files as module
from mtloop.translation import fill_units
from mtloop.translation.fill_files import EngineChoice, FillJob, fill_files, plan_filling
from mtloop.translation.fill_state import FORMAT, FileProgress, FillState
from mtloop.translation.fill_units import FillOptions, Only

KNOWN = [("Open the tray.", "Das Fach öffnen."), ("Close the tray.", "Das Fach schließen.")]


@pytest.fixture
def engine(tmp_path: Path) -> EngineChoice:
    folder = tmp_path / "engine"
    folder.mkdir()
    return write_engine(folder)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two files, in a folder that is the current one; chunks of two units, snapshots after each lesson."""
    work = tmp_path / "work"
    (work / "in/deep").mkdir(parents=True)
    missing = [(f"Unit {number} <b>of</b> %s", "") for number in range(7)]
    (work / "in/a.po").write_text(po(*KNOWN, *missing, fuzzy("Old", "Alt")))
    (work / "in/deep/b.po").write_text(po(("Print a page.", "Eine Seite drucken."), *missing[:3]))
    (work / "in/logo.png").write_bytes(b"\x89PNG")
    monkeypatch.chdir(work)
    monkeypatch.setattr(fill_units, "CHUNK", 2)
    monkeypatch.setattr(module, "SNAPSHOT_EVERY", 1)
    return work


def files_in(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }


def test_learn_fill_mark_and_report(folder: Path, engine: EngineChoice) -> None:
    before = (folder / "in/a.po").read_bytes()
    report = fill_files([Path("in/a.po")], Path("out.po"), engine=engine)
    found = targets(folder / "out.po")
    assert found["Open the tray."] == ("Das Fach öffnen.", "translated")
    text, state = found["Unit 3 <b>of</b> %s"]
    assert (state, "%s" in text, "<b>" in text, "</b>" in text) == ("fuzzy", True, True, True)
    assert text.split()[-1].startswith("2")  # the number of lessons
    assert (folder / "in/a.po").read_bytes() == before
    numbers = (
        "7 filled, 2 kept, 1 skipped (1 fuzzy), 0 repaired, 7 with failed checks; learned from 2 of 2 translated units"
    )
    assert str(report) == numbers
    assert sorted(path.name for path in folder.iterdir()) == ["in", "out.po"]
    listed = [line for line in report.messages() if line.startswith("failed check: in/a.po:")]
    assert len(listed) == 7
    assert listed[0].startswith('failed check: in/a.po:12: "Unit 0 <b>of</b> %s": ')


def test_only_what_was_asked_changes(folder: Path, engine: EngineChoice) -> None:
    fill_files([Path("in/a.po")], Path("out.po"), engine=engine)
    before, after = ((folder / name).read_text().split("\n\n") for name in ("in/a.po", "out.po"))
    changed = [one for one, other in zip(before, after, strict=True) if one != other]
    assert len(changed) == 7
    assert all('msgstr ""' in one for one in changed)


@pytest.mark.parametrize(("only", "filled"), [(Only.UNTRANSLATED, 7), (Only.FUZZY, 8), (Only.ALL, 10)])
def test_which_units_are_filled(folder: Path, engine: EngineChoice, only: Only, filled: int) -> None:
    options = FillOptions(only=only)
    assert plan_filling([Path("in/a.po")], engine=engine, options=options).files[0].filled == filled
    report = fill_files([Path("in/a.po")], Path("out.po"), engine=engine, options=options)
    assert report.files[0].filled == filled
    assert report.lessons == (0 if only is Only.ALL else 2)


def test_approved_units_have_no_mark_unless_a_check_fails(folder: Path, engine: EngineChoice) -> None:
    (folder / "in/a.po").write_text(po(("A small file", ""), ("Page 12 of (34)", "")))
    fill_files([Path("in/a.po")], Path("out.po"), engine=engine, options=FillOptions(approve=True), learn=0)
    found = targets(folder / "out.po")
    assert found["A small file"][1] == "fuzzy"  # the engine adds a number, so the check of numbers fails
    words = folder / "engine.py"
    words.write_text((Path(engine.method.rpartition(":")[0])).read_text().replace(" {self.lessons_}{self.state_}", ""))
    plain = EngineChoice(method=f"{words}:Backwards", threads=1)
    fill_files([Path("in/a.po")], Path("out.po"), engine=plain, options=FillOptions(approve=True), learn=0)
    assert targets(folder / "out.po")["A small file"] == ("file small A", "translated")


def test_a_folder_keeps_its_tree(folder: Path, engine: EngineChoice) -> None:
    report = fill_files([Path("in")], Path("out"), engine=engine)
    assert sorted(files_in(folder / "out")) == ["a.po", "deep/b.po"]
    assert [str(one) for one in report.skipped] == ["in/logo.png: unknown file type"]
    assert (report.lessons, report.candidates, sum(file.filled for file in report.files)) == (3, 3, 10)
    assert not (folder / "out.mtloop").exists()


def test_in_place(folder: Path, engine: EngineChoice) -> None:
    fill_files([Path("in/a.po")], Path("out.po"), engine=engine)
    os.chmod(folder / "in/a.po", 0o640)  # noqa: PTH101
    fill_files([Path("in/a.po")], Path("in/a.po"), engine=engine)
    assert (folder / "in/a.po").read_bytes() == (folder / "out.po").read_bytes()
    assert (folder / "in/a.po").stat().st_mode & 0o777 == 0o640


def test_an_output_that_is_replaced_is_named(folder: Path, engine: EngineChoice) -> None:
    for name in ("deep/b.po", "a.po"):
        path = folder / "out" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("old")
    assert "would replace out/a.po and 1 more" in plan_filling([Path("in")], Path("out"), engine=engine).messages()
    (folder / "out/a.po").unlink()

    def fill_and_die() -> None:
        kill_at(fill_units, "write_like_before", 2)
        fill_files([Path("in")], Path("out"), engine=engine)

    assert run_forked(fill_and_die).returncode == -9
    report = fill_files([Path("in")], Path("out"), engine=engine)
    assert [line for line in report.messages() if "replace" in line] == ["replaced out/deep/b.po"]
    in_place = fill_files([Path("in")], Path("in"), engine=engine)
    assert not [line for line in in_place.messages() if "replace" in line]


def test_the_newest_file_is_learned_last(folder: Path, engine: EngineChoice) -> None:
    for newest in ("in/a.po", "in/deep/b.po"):
        for name in ("in/a.po", "in/deep/b.po"):
            os.utime(folder / name, (1000 + (name == newest), 1000 + (name == newest)))
        opened, _ = module.open_files(module.plan_files([Path("in")], None)[0], FillOptions(), ("", ""))
        lessons = module.lessons_of(opened, 9).lessons
        last = lessons[-1].segment.source
        assert last == ("Print a page." if newest == "in/deep/b.po" else "Close the tray.")


def test_a_limit_of_lessons_and_none(folder: Path, engine: EngineChoice) -> None:
    limited = fill_files([Path("in")], Path("out"), engine=engine, learn=1)
    assert limited.lessons == 1
    others = f"; {limited.candidates - 1} left out: repeated, or more than --learn takes"
    assert others in str(limited)
    assert fill_files([Path("in")], Path("out"), engine=engine, learn=0).lessons == 0
    never = EngineChoice(method="copy-source")
    assert fill_files([Path("in")], Path("out"), engine=never).lessons == 0
    assert plan_filling([Path("in")], engine=never).lessons == 0


def test_rejected_lessons_are_counted(folder: Path, engine: EngineChoice) -> None:
    (folder / "in/a.po").write_text(po(*KNOWN, ("A", "too long"), ("Open it", "")))
    report = fill_files([Path("in/a.po")], Path("out.po"), engine=engine)
    reason = "1 because one side is much longer than the other"
    assert str(report).endswith(f"learned from 2 of 3 translated units; not usable: {reason}")


def test_a_dry_run_writes_nothing(folder: Path, engine: EngineChoice) -> None:
    before = files_in(folder)
    report = plan_filling([Path("in")], Path("out"), engine=engine)
    assert [str(file) for file in report.files] == [
        "in/a.po: 7 filled, 2 kept, 1 skipped (1 fuzzy)",
        "in/deep/b.po: 3 filled, 1 kept, 0 skipped",
    ]
    assert str(report).endswith("10 filled, 3 kept, 1 skipped (1 fuzzy); would learn from 3 of 3 translated units")
    assert files_in(folder) == before


KILLS: list[tuple[Any, str, int, bool]] = [
    (FillState, "begin", 1, False),
    (FillState, "begin", 1, True),
    (module, "learn_unit", 1, True),
    (module, "learn_unit", 3, True),
    (FillState, "save_learner", 2, True),
    (FileProgress, "add", 1, True),
    (FileProgress, "add", 3, False),
    (FileProgress, "finish", 1, False),
    (FileProgress, "finish", 1, True),
    (fill_units, "write_like_before", 1, False),
    (fill_units, "write_like_before", 1, True),
    (FileProgress, "add", 6, True),
    (fill_units, "write_like_before", 2, True),
    (FillState, "remove", 1, False),
]


@pytest.mark.parametrize("saved", ["Backwards", "Unsaved"])
@pytest.mark.parametrize("out", ["out", "in"])
@pytest.mark.parametrize(("owner", "name", "nth", "after"), KILLS)
def test_a_killed_command_goes_on_with_the_same_bytes(
    folder: Path, engine: EngineChoice, owner: Any, name: str, nth: int, after: bool, out: str, saved: str
) -> None:
    engine = EngineChoice(method=engine.method.replace("Backwards", saved), threads=1)
    before = files_in(folder / "in")
    whole = fill_files([Path("in")], Path("whole"), engine=engine)

    def fill_and_die() -> None:
        kill_at(owner, name, nth, after=after)
        fill_files([Path("in")], Path(out), engine=engine)

    died = run_forked(fill_and_die)
    assert died.returncode == -9, died.stderr
    expected = files_in(folder / "whole")
    for path, content in files_in(folder / out).items() if (folder / out).exists() else []:
        assert content in (expected.get(path), before.get(path))
    report = fill_files([Path("in")], Path(out), engine=engine)
    assert {path: content for path, content in files_in(folder / out).items() if path in expected} == expected
    assert str(report) == str(whole)
    assert not (folder / f"{out}.mtloop").exists()


def test_a_half_written_line_of_the_state_is_dropped(folder: Path, engine: EngineChoice) -> None:
    whole = fill_files([Path("in/a.po")], Path("whole.po"), engine=engine)

    def fill_and_die() -> None:
        kill_at(FileProgress, "add", 3)
        fill_files([Path("in/a.po")], Path("out.po"), engine=engine)

    assert run_forked(fill_and_die).returncode == -9
    state = folder / "out.po.mtloop/file-0001.jsonl"
    state.write_bytes(state.read_bytes() + b'{"units":[{"index":5,"te')
    assert str(fill_files([Path("in/a.po")], Path("out.po"), engine=engine)) == str(whole)
    assert (folder / "out.po").read_bytes() == (folder / "whole.po").read_bytes()


def begin(engine: EngineChoice) -> None:
    """Begin to fill in in/a.po, and be killed."""

    def fill_and_die() -> None:
        kill_at(FileProgress, "add", 2)
        fill_files([Path("in/a.po")], Path("out.po"), engine=engine)

    assert run_forked(fill_and_die).returncode == -9


def test_what_is_done_is_not_done_again(folder: Path, engine: EngineChoice, monkeypatch: pytest.MonkeyPatch) -> None:
    begin(engine)
    calls: list[object] = []
    monkeypatch.setattr(module, "learn_unit", lambda *arguments: calls.append(arguments))
    translate = fill_units.translate_units
    monkeypatch.setattr(
        fill_units, "translate_units", lambda *arguments, **more: (calls.append(1), translate(*arguments, **more))[1]
    )
    fill_files([Path("in/a.po")], Path("out.po"), engine=engine)
    assert calls == [1, 1, 1]  # no lesson, and three of four chunks


def test_a_chunk_is_work_for_several_cores_and_not_too_much_for_a_kill() -> None:
    from mtloop.nmt.batch_translation import MAX_BATCH_SOURCES

    assert fill_units.CHUNK >= 4 * MAX_BATCH_SOURCES
    assert [len(chunk) for chunk in fill_units.chunks(range(1000), ["Open the tray."] * 1000)] == [384, 384, 232]
    long = ["a" * 15_000, "b" * 15_000, "c" * 15_000, "d" * 50_000, "e"]
    assert list(fill_units.chunks("abcde", long)) == [["a", "b"], ["c"], ["d"], ["e"]]


@pytest.mark.parametrize("change", ["inputs", "only", "engine"])
def test_another_command_over_the_same_output_is_refused(folder: Path, engine: EngineChoice, change: str) -> None:
    begin(engine)
    options = FillOptions(only=Only.ALL if change == "only" else Only.UNTRANSLATED)
    if change == "engine":
        engine = EngineChoice(method="copy-source")
    path = Path("in/deep/b.po" if change == "inputs" else "in/a.po")
    named = {"inputs": "inputs", "only": "--only", "engine": "engine"}[change]
    with pytest.raises(InputError, match=rf"another command .* output \(differing: {named}.*delete the folder"):
        fill_files([path], Path("out.po"), engine=engine, options=options)
    assert not (folder / "out.po").exists()
    assert (folder / "out.po.mtloop/header.json").exists()


@pytest.mark.parametrize("format", [1, FORMAT + 1, None])
def test_the_state_of_another_version_is_refused_in_one_line(
    folder: Path, engine: EngineChoice, format: int | None
) -> None:
    begin(engine)
    path = Path("out.po.mtloop/header.json")
    header = json.loads(path.read_text())
    path.write_text(json.dumps({"format": format, "inputs": header["inputs"]}))
    with pytest.raises(InputError, match=r"out\.po\.mtloop: another version of mtloop began .*delete the folder"):
        fill_files([Path("in/a.po")], Path("out.po"), engine=engine)
    assert path.exists()


def test_two_commands_at_once(folder: Path, engine: EngineChoice) -> None:
    with FillState(Path("out.po")), pytest.raises(InputError, match="another process is filling in these files"):
        fill_files([Path("in/a.po")], Path("out.po"), engine=engine)


def test_files_of_other_languages(folder: Path, engine: EngineChoice, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "in/it.po").write_text(po(("Open", ""), language="it"))
    monkeypatch.setattr(EngineChoice, "languages", lambda self: ("en", "de"))
    message = "in/it.po: the texts are .*it, but the model translates en -> de"
    with pytest.raises(InputError, match=message):
        fill_files([Path("in/it.po")], Path("out.po"), engine=engine)
    assert not list(folder.glob("out*"))
    report = fill_files([Path("in")], Path("out"), engine=engine)
    assert sorted(files_in(folder / "out")) == ["a.po", "deep/b.po"]
    assert any(str(one).startswith("in/it.po: the texts are") for one in report.skipped)


def test_a_file_with_a_fault_is_refused_if_it_is_named_and_skipped_in_a_folder(
    folder: Path, engine: EngineChoice
) -> None:
    (folder / "in/bad.po").write_text(po() + '\nmsgid "open\nmsgstr ""\n')
    with pytest.raises(InputError, match=r"in/bad.po:6: "):
        fill_files([Path("in/bad.po")], Path("out.po"), engine=engine)
    report = fill_files([Path("in")], Path("out"), engine=engine)
    assert [str(one)[:12] for one in report.skipped] == ["in/logo.png:", "in/bad.po:6:"]


def test_units_that_are_left_as_they_are(folder: Path, engine: EngineChoice) -> None:
    broken = "{n, plural, one {# file}"
    (folder / "in/a.po").write_text(po((broken, ""), ("Open it", "")))
    report = fill_files([Path("in/a.po")], Path("out.po"), engine=engine)
    assert targets(folder / "out.po")[broken] == ("", "untranslated")
    assert report.files[0].skipped == {"not a valid ICU message": 1}
    assert any(line.startswith("left as it is: in/a.po:6: ") for line in report.messages())


def test_a_text_that_the_file_cannot_hold_leaves_only_its_unit_out(folder: Path, engine: EngineChoice) -> None:
    text = po(*KNOWN, ("Euro sign", ""), ("Other text", ""), charset="ISO-8859-1")
    (folder / "in/a.po").write_bytes(text.encode("latin-1"))
    code = Path(engine.method.rpartition(":")[0])
    code.write_text(code.read_text().replace("' '.join(", "('€ ' if 'Euro' in segment.source else '') + ' '.join("))
    report = fill_files([Path("in/a.po")], Path("out.po"), engine=engine)
    assert (report.files[0].filled, report.files[0].skipped) == (1, {"the file cannot hold the translation": 1})
    reason = next(line for line in report.messages() if "cannot hold" in line)
    assert "cannot hold the translation: the charset iso8859-1 of the file does not have '€'; convert" in reason
    assert "msgconv --to-code=UTF-8" in reason
    assert targets(folder / "out.po")["Euro sign"] == ("", "untranslated")


def test_an_empty_translation_is_not_filled_in(folder: Path, engine: EngineChoice) -> None:
    (folder / "in/a.po").write_text(po(("Nothing here", ""), ("Other text", "")))
    code = Path(engine.method.rpartition(":")[0])
    code.write_text(code.read_text().replace("segment, f", "segment, 'Nothing' not in segment.source and f"))
    code.write_text(code.read_text().replace('{self.state_}")', "{self.state_}\" or '')"))
    report = fill_files([Path("in/a.po")], Path("out.po"), engine=engine)
    assert (report.files[0].filled, report.files[0].skipped) == (1, {"without a translation by the model": 1})
    assert targets(folder / "out.po")["Nothing here"] == ("", "untranslated")


def on_a_full_disk(work: Callable[[], object], size: int) -> str:
    """Call a function in a child in which no file can be larger than `size`; return the message of its error."""

    def limited() -> None:
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
        try:
            work()
        except InputError as error:
            resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
            print(error)

    return run_forked(limited).stdout


@pytest.mark.parametrize(("size", "where"), [(100, "a.po.mtloop"), (5000, "a.po")])
def test_a_full_disk_loses_nothing(folder: Path, engine: EngineChoice, size: int, where: str) -> None:
    """With the larger limit there is room for the state, and none for the output."""
    known = [(f"Text {number}", f"Der Text {number}") for number in range(200)]
    (folder / "in/a.po").write_text(po(*known, ("Open it", "")))
    before = (folder / "in/a.po").read_bytes()
    fill_files([Path("in/a.po")], Path("whole.po"), engine=engine, learn=0)
    error = on_a_full_disk(lambda: fill_files([Path("in/a.po")], Path("in/a.po"), engine=engine, learn=0), size)
    assert f"{where}: cannot be written: File too large; nothing is lost" in error
    assert "correct this and run the same command again" in error
    assert (folder / "in/a.po").read_bytes() == before
    fill_files([Path("in/a.po")], Path("in/a.po"), engine=engine, learn=0)
    assert (folder / "in/a.po").read_bytes() == (folder / "whole.po").read_bytes()
    assert sorted(path.name for path in (folder / "in").iterdir()) == ["a.po", "deep", "logo.png"]


def test_what_a_kill_left_of_an_output_is_removed(folder: Path, engine: EngineChoice) -> None:
    (folder / ".out.po.x1y2.tmp").write_text("half")
    (folder / ".other.po.x1y2.tmp").write_text("of another file")
    fill_files([Path("in/a.po")], Path("out.po"), engine=engine)
    assert sorted(path.name for path in folder.iterdir()) == [".other.po.x1y2.tmp", "in", "out.po"]


def test_an_output_that_cannot_be_created(folder: Path, engine: EngineChoice) -> None:
    (folder / "file").write_text("")
    with pytest.raises(InputError, match=r"file/out.po.mtloop: cannot be written: "):
        fill_files([Path("in/a.po")], Path("file/out.po"), engine=engine)


def test_jobs_can_be_written_as_json_and_give_the_same_files(folder: Path, engine: EngineChoice) -> None:
    fill_files([Path("in")], Path("whole"), engine=engine)
    seen: list[FillJob] = []

    def run(jobs: Any) -> None:
        for job in jobs:
            again = FillJob.from_json(json.loads(json.dumps(job.to_json())))
            assert again.to_json() == job.to_json()
            assert not again.done
            again.run()
            assert again.done
            seen.append(again)

    report = fill_files([Path("in")], Path("out"), engine=engine, run_jobs=run)
    assert files_in(folder / "out") == files_in(folder / "whole")
    assert [job.name for job in seen] == ["in/a.po", "in/deep/b.po"]
    assert sum(file.filled for file in report.files) == 10
    unsaved = EngineChoice(method=engine.method.replace("Backwards", "Unsaved"), threads=1)
    with pytest.raises(InputError, match="leave out --jobs"):
        fill_files([Path("in")], Path("other"), engine=unsaved, run_jobs=run)


def test_a_format_without_a_mark_is_named_once(folder: Path, engine: EngineChoice) -> None:
    for name in ("one.txt", "two.txt"):
        (folder / "in" / name).write_text("Open it\n\nClose it\n")
    report = fill_files([Path("in")], Path("out"), engine=engine)
    (line,) = (line for line in report.messages() if "mark for review" in line)
    assert line == "in/one.txt and 1 more: the format has no mark for review, so filled units look like all others"
    assert (folder / "out/one.txt").read_text().split("\n")[1] == ""
    approved = plan_filling([Path("in")], engine=engine, options=FillOptions(approve=True))
    assert not any("mark for review" in line for line in approved.messages())


def test_long_lists_are_cut(folder: Path, engine: EngineChoice) -> None:
    for number in range(30):
        (folder / f"in/{number}.png").write_bytes(b"")
        (folder / f"in/z{number}.po").write_text("msgid\n")
    skipped = list(plan_filling([Path("in")], engine=engine).messages())
    assert (len(skipped), skipped[20]) == (22, "... and 10 more files")
    assert skipped[0].startswith("skipped in/z0.po:")
    assert skipped[21] == "skipped 31 files of unknown types (.png)"


def test_the_permissions_of_a_replaced_file_do_not_change_for_a_moment(folder: Path) -> None:
    path = folder / "in/a.po"
    path.chmod(0o640)

    def write_and_die() -> None:
        kill_at(Path, "replace", 1, after=True)
        fill_units.write_like_before(path, b"new")

    assert run_forked(write_and_die).returncode == -9
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize(("owner", "name"), [(FileProgress, "finish"), (FillState, "remove")])
def test_a_killed_command_that_overwrites_its_delta_goes_on(
    folder: Path, engine: EngineChoice, owner: Any, name: str
) -> None:
    paths, delta = [Path("in/a.po")], Path("delta")
    fill_files([Path("in/deep/b.po")], Path("b.po"), engine=engine, save_delta=delta)
    engine = EngineChoice(method=engine.method, delta="delta", threads=1)
    whole = fill_files(paths, Path("whole.po"), engine=engine, save_delta=Path("other"))

    def fill_and_die() -> None:
        kill_at(owner, name, 1)
        fill_files(paths, Path("out.po"), engine=engine, save_delta=delta)

    assert run_forked(fill_and_die).returncode == -9
    assert str(fill_files(paths, Path("out.po"), engine=engine, save_delta=delta)) == str(whole)
    assert (folder / "out.po").read_bytes() == (folder / "whole.po").read_bytes()
    assert files_in(folder / "delta") == files_in(folder / "other")
    assert not (folder / "out.po.mtloop").exists()


def test_columns_need_a_table(folder: Path, engine: EngineChoice) -> None:
    options = FillOptions(columns={"source": "A", "target": "B"})
    with pytest.raises(InputError, match=r"in/a.po: is not a table; leave out --columns, which is for .tsv, .csv"):
        plan_filling([Path("in")], engine=engine, options=options)
    (folder / "in/t.tsv").write_text("A\tB\nOpen it\t\n")
    report = fill_files([Path("in/a.po"), Path("in/t.tsv")], Path("out"), engine=engine, options=options)
    assert [file.filled for file in report.files] == [7, 1]


@pytest.mark.parametrize("nth", range(1, 16))
def test_no_space_left_at_any_moment_loses_nothing(
    folder: Path, engine: EngineChoice, nth: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The nth file that is written to the disk finds it full."""
    before, fsync, calls = files_in(folder / "in"), os.fsync, itertools.count(1)
    whole, picture = fill_files([Path("in")], Path("whole"), engine=engine), {"logo.png": before["logo.png"]}
    expected = files_in(folder / "whole") | picture

    def full(handle: int) -> None:
        if next(calls) == nth:
            raise OSError(errno.ENOSPC, "No space left on device")
        fsync(handle)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(InputError, match="cannot be written: No space left on device; nothing is lost"):
            fill_files([Path("in")], Path("in"), engine=engine)
    assert all(content in (before[name], expected[name]) for name, content in files_in(folder / "in").items())
    assert str(fill_files([Path("in")], Path("in"), engine=engine)) == str(whole)
    assert files_in(folder / "in") == expected


def test_a_delta_that_cannot_be_written(folder: Path, engine: EngineChoice) -> None:
    (folder / "file").write_text("")
    with pytest.raises(InputError, match=r"^file/delta: cannot be written: .*nothing is lost"):
        fill_files([Path("in/a.po")], Path("out.po"), engine=engine, save_delta=Path("file/delta"))
    assert (folder / "out.po.mtloop").is_dir()


def test_units_without_a_source_are_counted(folder: Path, engine: EngineChoice) -> None:
    (folder / "in/t.tsv").write_text("source\ttarget\n\t\n\tNur hier\nOpen it\t\n")
    report = plan_filling([Path("in/t.tsv")], engine=engine)
    assert (report.files[0].filled, report.files[0].skipped) == (1, {"without a source": 2})


PERCENT_ENGINE = """
from mtloop.core import Proposal


class Percent:
    def propose(self, segment):
        text = segment.source.replace("percent", "%").replace("%1 has %2", "%2 hat %1").replace("% of", " % von")
        return Proposal(segment, text)

    def learn(self, proposal, feedback):
        raise NotImplementedError
"""
FORMATTED = [
    '\n#, c-format\nmsgid "100% of %s"\nmsgstr ""\n',
    '\n#, c-format\nmsgid "%d percent"\nmsgstr ""\n',
    '\n#, python-format\nmsgid "%(n)d percent"\nmsgstr ""\n',
    '\n#, c-format\nmsgid "%s has %d files"\nmsgstr ""\n',
    '\n#, python-brace-format\nmsgid "{n} percent"\nmsgstr ""\n',
    '\nmsgid "100% of the percent"\nmsgstr ""\n',
]


@pytest.mark.parametrize("approve", [True, False])
def test_what_a_program_formats_passes_the_check_of_msgfmt(folder: Path, approve: bool) -> None:
    (folder / "engine.py").write_text(PERCENT_ENGINE)
    (folder / "c.po").write_text(po(*FORMATTED))
    engine = EngineChoice(method=f"{folder / 'engine.py'}:Percent", threads=1)
    report = fill_files([Path("c.po")], Path("out.po"), engine=engine, options=FillOptions(approve=approve), learn=0)
    found = targets(folder / "out.po")
    state = "translated" if approve else "fuzzy"
    assert found["100% of %s"] == ("", "untranslated")  # the program reads "% o" as a conversion
    assert found["%d percent"] == ("%d %%", state)
    assert found["%(n)d percent"] == ("%(n)d %%", state)
    assert found["{n} percent"][0] == "{n} %"
    assert found["%s has %d files"] == ("%s hat %d files", "fuzzy")  # the model had them in another order
    assert found["100% of the percent"][0] == "100 % von the %"
    assert report.files[0].skipped == {"placeholders or tags are wrong": 1}
    if shutil.which("msgfmt"):
        command = ["msgfmt", "-c", "--check-format", "--use-fuzzy", "-o", "/dev/null", "out.po"]
        subprocess.run(command, check=True, capture_output=True)


XLIFF_FILE = (
    '<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2"><file original="x" source-language="en" '
    'target-language="de" datatype="html"><body><trans-unit id="1"><source>{}</source></trans-unit></body></file>'
    "</xliff>"
)
TS_FILE = (
    '<TS version="2.1" language="de" sourcelanguage="en"><context><name>A</name><message><source>{}</source>'
    '<translation type="unfinished"></translation></message></context></TS>'
)
SHOUTING_ENGINE = """
from mtloop.core import Proposal


class Shouting:
    def propose(self, segment):
        return Proposal(segment, " ".join(segment.source.upper().split()))

    def learn(self, proposal, feedback):
        raise NotImplementedError
"""


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.po", po(("10\u00a0MB of 5\u202f000", "")), '"10\u00a0MB OF 5\u202f000"'),
        ("a.po", po(("10&nbsp;MB <b>a&#160;b</b>", "")), '"10&nbsp;MB <b>A&#160;B</b>"'),
        ("a.xlf", XLIFF_FILE.format("10&#160;MB of\u00a0it"), ">10&#160;MB OF\u00a0IT</target>"),
        ("a.xlf", XLIFF_FILE.format("10\u00a0MB of&#x202F;it"), ">10\u00a0MB OF&#x202F;IT</target>"),
        ("a.ts", TS_FILE.format("10&#xa0;MB of\u202fit"), ">10&#xa0;MB OF&#x202f;IT</translation>"),
        ("a.tsv", "source\ttarget\n10\u00a0MB of 5\u202f000\t\n", "\t10\u00a0MB OF 5\u202f000\n"),
    ],
)
def test_spaces_that_join_words_stay_as_they_are_written(folder: Path, name: str, content: str, expected: str) -> None:
    (folder / "engine.py").write_text(SHOUTING_ENGINE)
    (folder / name).write_text(content)
    engine = EngineChoice(method=f"{folder / 'engine.py'}:Shouting", threads=1)
    options = FillOptions(source_lang="en", target_lang="de")
    fill_files([Path(name)], Path(f"out-{name}"), engine=engine, options=options, learn=0)
    assert expected in (folder / f"out-{name}").read_text()
