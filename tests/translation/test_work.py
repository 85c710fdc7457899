"""A person's work on a file, without a terminal: nothing confirmed is lost, and undo takes back all of it."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.filling import ENGINE, fuzzy, po
from helpers.forked import kill_at, run_forked

from mtloop.core.errors import InputError
from mtloop.core.trace import Retract, Trace, TraceWriter
from mtloop.data.formats.filling import UnitState, open_file
from mtloop.translation import fill_units
from mtloop.translation.fill_files import EngineChoice
from mtloop.translation.fill_units import FillOptions, Only
from mtloop.translation.work_learner import WorkLearner
from mtloop.translation.work_session import WorkOptions, WorkSession

SOURCES = ["Open the file.", "Close the file.", "Save %s now.", "Delete the file.", "Print the page."]
TEXTS = ["Öffnen.", "Schließen.", "%s jetzt speichern.", "Löschen.", "Drucken."]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "engine.py").write_text(ENGINE)
    path = tmp_path / "de.po"
    path.write_text(po(("Known text.", "Bekannt."), *((source, "") for source in SOURCES)), encoding="utf-8")
    return path


def work(path: Path, *, only: Only = Only.FUZZY, learn: int = 10, engine: str = "Backwards") -> WorkSession:
    choice = EngineChoice(method=f"{path.with_name('engine.py')}:{engine}", threads=1)
    return WorkSession(WorkOptions(path, fill=FillOptions(only), learn=learn), choice)


def targets(path: Path) -> dict[str, str]:
    return {unit.source: unit.target for unit in open_file(path).units if unit.source}


def trace(path: Path) -> Trace:
    return Trace.read(path.with_name(path.name + ".work.mtloop") / "trace.jsonl")


def test_what_is_confirmed_is_in_the_file_and_in_the_trace_before_the_next_suggestion(path: Path) -> None:
    with work(path) as session:
        assert session.unit.source == SOURCES[0]
        first = session.proposal.text
        for source, text in zip(SOURCES[:3], TEXTS, strict=False):
            assert session.unit.source == source
            assert session.confirm(text, keystrokes=4)
            assert targets(path)[source] == text
            last = trace(path).steps[-1]
            assert (last.proposal.segment.source, last.references) == (source, (text,))
        assert session.unit.source == SOURCES[3]
        assert session.left == 2
        assert trace(path).steps[0].proposal.text == first
        assert trace(path).steps[0].proposal.memo["interaction"] == {"keystrokes": 3, "mouse": 1, "characters": 7}


def test_the_engine_learns_the_translated_units_first_and_then_each_confirmation(path: Path) -> None:
    with work(path, learn=0) as session:
        assert session.proposal.text.endswith(" 00")
    (path.with_name("other")).mkdir()
    other = path.rename(path.with_name("other") / "de.po")
    other.with_name("engine.py").write_text(ENGINE)
    with work(other) as session:
        before = session.proposal.text
        assert before.startswith("file. the Open 1")  # the lesson from the translated unit
        session.confirm("Öffnen.")
        assert session.proposal.text.startswith("file. the Close 2")


def test_coming_back_is_like_never_having_left(path: Path, tmp_path: Path) -> None:
    with work(path) as session:
        for text in TEXTS[:3]:
            session.confirm(text)
        expected, position = session.proposal, session.position
    with work(path) as session:
        assert (session.proposal, session.position) == (expected, position)
        assert session.notes == []
        assert [session.file.is_confirmed(index) for index in session.workable] == [
            False,
            True,
            True,
            True,
            False,
            False,
        ]


def test_a_text_that_was_typed_and_not_confirmed_is_there_when_the_work_goes_on(path: Path) -> None:
    with work(path) as session:
        session.leave_draft("Öff")
        session.next_open()
        session.leave_draft(session.text)  # unchanged: no draft
    with work(path) as session:
        assert session.unit.source == SOURCES[1]
        assert session.back()
        assert session.text == "Öff"
        session.confirm("Öffnen.")
        assert session.drafts == {}


def test_undo_gives_back_the_bytes_and_the_suggestion_of_before(path: Path) -> None:
    with work(path) as session:
        session.confirm(TEXTS[0])
        content, suggestion = path.read_bytes(), session.proposal
        session.confirm(TEXTS[1])
        assert session.undo()
        assert path.read_bytes() == content
        assert (session.unit.source, session.proposal) == (SOURCES[1], suggestion)
        assert isinstance(trace(path).events[-1], Retract)
        assert session.undo()
        assert not session.undo()
        assert targets(path)[SOURCES[0]] == ""
        session.confirm("Auf.")
    with work(path) as session:
        assert [step.references for step in session.steps] == [("Auf.",)]
        assert session.undo()  # also after coming back
        assert b"Auf." not in path.read_bytes()


def test_undo_of_a_second_confirmation_gives_back_the_first(path: Path) -> None:
    with work(path) as session:
        session.confirm("Öffnen.")
        session.back()
        assert session.text == "Öffnen."
        session.confirm("Datei öffnen.")
        session.undo()
        assert targets(path)[SOURCES[0]] == session.text == "Öffnen."


def test_an_unsaved_learner_learns_everything_again(path: Path) -> None:
    with work(path, engine="Unsaved") as session:
        for text in TEXTS[:3]:
            session.confirm(text)
        expected = session.proposal
        session.confirm(TEXTS[3])
        session.undo()
        assert session.proposal == expected
    with work(path, engine="Unsaved") as session:
        assert session.proposal == expected


def test_moving(path: Path) -> None:
    with work(path) as session:
        assert session.back()
        assert session.unit.source == "Known text."
        assert session.text == "Bekannt."
        assert not session.back()
        assert session.confirm("Bekannt.") is None  # nothing changed: the work goes on
        assert session.unit.source == SOURCES[0]
        assert session.next_open()
        assert session.unit.source == SOURCES[1]
        assert all(session.forward() for _ in SOURCES[2:])
        assert not session.forward()
        assert session.next_open()  # from the end to the beginning
        assert session.unit.source == SOURCES[0]
        for text in TEXTS:
            session.confirm(text)
        assert (session.left, session.next_open()) == (0, False)


def test_which_units_are_open(tmp_path: Path) -> None:
    (tmp_path / "engine.py").write_text(ENGINE)
    path = tmp_path / "de.po"
    path.write_text(po(("A text.", "Ein Text."), fuzzy("Two.", "Zwei?"), ("Three.", "")), encoding="utf-8")
    for number, (only, left) in enumerate([(Only.UNTRANSLATED, 1), (Only.FUZZY, 2), (Only.ALL, 3)]):
        copy = tmp_path / str(number) / "de.po"
        copy.parent.mkdir()
        copy.write_bytes(path.read_bytes())
        (copy.with_name("engine.py")).write_text(ENGINE)
        with work(copy, only=only) as session:
            assert session.left == left
            if only is Only.FUZZY:
                assert session.alternatives == [session.proposal.text, "Zwei?"]
                session.confirm("Zwei.")
                [unit] = [unit for unit in open_file(copy).units if unit.source == "Two."]
                assert (unit.target, unit.state) == ("Zwei.", UnitState.TRANSLATED)


def test_bad_texts_change_nothing(path: Path) -> None:
    with work(path) as session:
        before = path.read_bytes(), trace(path).events
        for text in ("", "  ", "half \ud800"):
            with pytest.raises(InputError):
                session.confirm(text)
        assert (path.read_bytes(), trace(path).events) == before
        session.next_open()
        session.next_open()
        assert [failed.name for failed in session.check("Jetzt speichern.")] == ["placeholders"]
        assert session.confirm("%s jetzt speichern.")


# Where the process is killed in the third confirmation or in the undo after it, and whether its event is recorded.
KILLS: list[tuple[object, str, int, bool, int]] = [
    (TraceWriter, "_append", 4, False, 2),  # the header is the first line
    (TraceWriter, "_append", 4, True, 3),
    (fill_units, "atomic", 3, False, 3),
    (WorkLearner, "learn", 3, False, 3),
    (WorkLearner, "learn", 3, True, 3),
    (TraceWriter, "_append", 5, True, 2),
    (WorkLearner, "forget", 1, False, 2),
]


@pytest.mark.parametrize(("owner", "name", "nth", "after", "confirmed"), KILLS)
def test_a_kill_loses_nothing(path: Path, owner: object, name: str, nth: int, after: bool, confirmed: int) -> None:
    def begin() -> None:
        kill_at(owner, name, nth, after=after)
        with work(path) as session:
            for text in TEXTS[:3]:
                session.confirm(text)
            session.undo()

    assert run_forked(begin).returncode == -signal.SIGKILL
    if owner is WorkLearner:  # the file is written before the engine learns
        assert list(filter(None, map(targets(path).get, SOURCES))) == TEXTS[:confirmed]
    with work(path) as session:
        assert session.notes == []
        assert [step.references for step in session.steps] == [(text,) for text in TEXTS[:confirmed]]
        found = targets(path)
        assert [found[source] for source in SOURCES] == TEXTS[:confirmed] + [""] * (5 - confirmed)
        resumed = session.proposal
    other = path.with_name("whole") / "de.po"
    other.parent.mkdir()
    other.with_name("engine.py").write_text(ENGINE)
    other.write_text(po(("Known text.", "Bekannt."), *((source, "") for source in SOURCES)), encoding="utf-8")
    with work(other) as session:
        for text in TEXTS[:confirmed]:
            session.confirm(text)
        assert session.proposal == resumed
    assert other.read_bytes() == path.read_bytes()


def change(path: Path, *pairs: tuple[str, str]) -> None:
    """Another program changes the file."""
    content = path.read_text(encoding="utf-8")
    for old, new in pairs:
        assert old in content
        content = content.replace(old, new)
    path.write_text(content, encoding="utf-8")


NEW_MESSAGE = ('msgid "Known text."', 'msgid "New."\nmsgstr ""\n\nmsgid "Known text."')


@pytest.mark.parametrize("leaves", [False, True])
def test_what_another_program_changes_stays_and_is_said(path: Path, leaves: bool) -> None:
    session = work(path)
    session.confirm(TEXTS[0])
    session.confirm(TEXTS[1])
    session.forward()
    session.leave_draft("Löschen")
    session.back()
    if leaves:
        session.close()
    change(path, ('"Schließen."', '"Zumachen."'), ('msgid "Print the page."', 'msgid "Print a page."'), NEW_MESSAGE)
    if leaves:
        session = work(path)
    with session:
        session.next_open() if session.unit.source == "New." else None
        assert session.unit.source == SOURCES[2]
        session.confirm(TEXTS[2])
        assert session.notes == [
            f"{path}: another program has changed the file; its version is used",
            f"{path}: another program changed 1 confirmed unit (4), and the file keeps its version",
        ]
        found = targets(path)
        assert [found[source] for source in SOURCES[:3]] == [TEXTS[0], "Zumachen.", TEXTS[2]]
        assert "Print a page." in found
        assert (session.unit.source, session.text) == (SOURCES[3], "Löschen")
        session.undo()
        with pytest.raises(InputError, match="another program has changed the file since"):
            session.undo()


def test_a_unit_that_another_program_changes_meanwhile_is_not_overwritten(path: Path) -> None:
    with work(path) as session:
        change(path, ('msgid "Open the file."\nmsgstr ""', 'msgid "Open the file."\nmsgstr "Aufmachen."'))
        with pytest.raises(InputError, match="nothing was confirmed"):
            session.confirm("Öffnen.")
        assert targets(path)[SOURCES[0]] == "Aufmachen."
        assert (session.unit.source, session.text) == (SOURCES[0], "Öffnen.")  # what was typed is kept
        assert trace(path).steps == []
        session.confirm("Öffnen.")  # now the user knows
        assert targets(path)[SOURCES[0]] == "Öffnen."


def test_another_engine_does_not_go_on_with_the_trace(path: Path) -> None:
    with work(path) as session:
        session.confirm(TEXTS[0])
    with pytest.raises(InputError, match=r"method is .*; rename or delete its folder to begin again"):
        work(path, engine="Unsaved")


def test_two_sessions_at_once_are_refused(path: Path) -> None:
    with work(path), pytest.raises(InputError, match="another process"):
        work(path)


def test_other_versions_and_threads_do_not_end_the_work(path: Path) -> None:
    with work(path) as session:
        session.confirm(TEXTS[0])
    file = path.with_name("de.po.work.mtloop") / "trace.jsonl"
    header, *steps = file.read_text(encoding="utf-8").splitlines()
    fields = json.loads(header)
    fields["versions"] = {"mtloop": "0.0.1"}
    file.write_text(
        "\n".join([json.dumps(fields, separators=(",", ":"), sort_keys=False), *steps, ""]), encoding="utf-8"
    )
    with work(path) as session:
        assert len(session.steps) == 1


@pytest.mark.parametrize("template", [None, "en.txt"])
def test_a_text_file_without_another_file_as_its_source_is_refused(tmp_path: Path, template: str | None) -> None:
    (path := tmp_path / "en.txt").write_text("Open\nClose\n")
    with pytest.raises(InputError, match=r"overwrite the source lines; .*: mtloop work NEW\.txt --template .*en\.txt$"):
        WorkSession(WorkOptions(path, template=tmp_path / template if template else None))
    assert path.read_text() == "Open\nClose\n"
    assert not list(tmp_path.glob("*.mtloop"))


def test_a_text_file_with_a_template(tmp_path: Path) -> None:
    (tmp_path / "engine.py").write_text(ENGINE)
    (template := tmp_path / "en.txt").write_text("Open\nClose\n")
    path, choice = tmp_path / "de.txt", EngineChoice(method=f"{tmp_path / 'engine.py'}:Backwards")
    with WorkSession(WorkOptions(path, template=template), choice) as session:
        session.confirm("Öffnen")
    assert path.read_text(encoding="utf-8") == "Öffnen\nClose\n"
    assert template.read_text() == "Open\nClose\n"


def test_a_read_only_file_is_refused_before_anything_is_written(path: Path) -> None:
    path.chmod(0o444)
    with pytest.raises(InputError, match="read-only"):
        work(path)
    assert not list(path.parent.glob("*.mtloop"))


def test_a_full_disk_ends_the_session_and_loses_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = work(path)
    session.confirm(TEXTS[0])

    def full(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(fill_units, "atomic", full)
        with pytest.raises(InputError, match="No space left on device; nothing is lost"):
            session.confirm(TEXTS[1])
    assert session.must_end
    session.close()
    assert targets(path)[SOURCES[1]] == ""
    with work(path) as session:
        assert len(session.steps) == 2
        assert targets(path)[SOURCES[1]] == TEXTS[1]


def test_the_effort_is_that_of_the_first_suggestion_against_the_last_text(path: Path) -> None:
    with work(path) as session:
        assert session.effort() is None
        session.confirm("file. the Open 00", keystrokes=5)  # what the frozen engine says
        session.back()
        session.confirm("file. the Open 00 now", keystrokes=2)
        session.confirm(session.proposal.text, keystrokes=1)
        effort = session.effort()
        assert effort is not None
        assert (effort.units, effort.keys) == (2, 8)
        assert effort.ter.value > 0
        assert effort.frozen_keystrokes is not None
        assert "keys that you pressed" in effort.lines()[-1]
        assert session.effort() == effort  # from the file


def test_coming_back_when_all_is_confirmed_shows_the_last_confirmation(path: Path) -> None:
    with work(path) as session:
        session.forward()
        session.confirm(TEXTS[1])
        while session.left:
            session.confirm(TEXTS[SOURCES.index(session.unit.source)])
        assert session.unit.source == SOURCES[0]
    with work(path) as session:
        assert (session.left, session.unit.source, session.text) == (0, SOURCES[0], TEXTS[0])
        assert session.file.more_with_all == 1  # the translated unit
    with work(path, only=Only.ALL) as session:
        assert (session.left, session.file.more_with_all) == (1, 0)


def test_a_completion_that_does_not_begin_with_what_was_typed_is_none(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with work(path) as session:
        monkeypatch.setattr(WorkLearner, "complete", lambda *arguments: "Etwas anderes")
        assert session.complete("Öff") == "Öff"
        assert session.complete("Etwas") == "Etwas anderes"


def test_a_text_whose_confirmation_is_interrupted_is_kept(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    with work(path) as session:
        session.confirm(TEXTS[0])
        session.back()
        with monkeypatch.context() as patch:
            patch.setattr(WorkLearner, "propose", interrupted)
            with pytest.raises(KeyboardInterrupt):
                session.confirm("Aufmachen.")
        assert not session.must_end
    with work(path) as session:
        assert (session.unit.source, session.text, len(session.steps)) == (SOURCES[0], "Aufmachen.", 1)


def test_a_new_file_with_a_template(tmp_path: Path) -> None:
    (tmp_path / "engine.py").write_text(ENGINE)
    (tmp_path / "en.json").write_text('{"open": "Open", "close": "Close"}')
    path = tmp_path / "de.json"
    choice = EngineChoice(method=f"{tmp_path / 'engine.py'}:Backwards")
    options = WorkOptions(path, template=tmp_path / "en.json")
    with WorkSession(options, choice) as session:
        session.confirm("Öffnen")
        assert json.loads(path.read_text(encoding="utf-8")) == {"open": "Öffnen"}
    with WorkSession(options, choice) as session:
        assert session.unit.source == "Close"
        session.confirm("Schließen")
        session.undo()
        session.undo()
        assert json.loads(path.read_text(encoding="utf-8")) == {}


@pytest.mark.parametrize("make", [lambda path: path.unlink(), lambda path: path.write_text('msgid "a\n')])
def test_a_file_that_is_gone_or_broken_is_named(path: Path, make: Callable[[Path], object]) -> None:
    make(path)
    with pytest.raises(InputError, match=r"de\.po"):
        work(path)
    assert not list(path.parent.glob("*.mtloop"))


@pytest.mark.parametrize("method", ["lora+memory+copy", "memory", "full"])
def test_undo_and_coming_back_with_a_neural_model(path: Path, method: str) -> None:
    engine = EngineChoice(method=method, threads=1)
    with WorkSession(WorkOptions(path), engine) as session:
        session.confirm("Machen Sie die Mappe auf.")
        before = session.proposal
        session.confirm("Machen Sie die Mappe zu.")
        assert session.undo()
        assert session.proposal == before
        learned = session.confirm("Machen Sie die Mappe zu.")
        assert learned
        expected = session.proposal
        assert session.complete("Bitte").startswith("Bitte")
        session.forward()  # "Delete the file."
        because, similar = session.explain()
        session.back()
        assert "corrections" in because
        assert bool(similar) == ("memory" in method)
    with WorkSession(WorkOptions(path), engine) as session:
        assert session.proposal == expected
        effort = session.effort()
        assert effort is not None
        assert effort.frozen_ter is not None
        assert effort.frozen_ter.value >= effort.ter.value > 0


@pytest.mark.parametrize(
    ("source", "texts"),
    [
        ("Open the tray. Close the tray.", ["Fach auf. Fach zu."]),  # two sentences, one lesson
        ("Save %s now.", ["Jetzt sichern.", "%s sichern."]),  # the second lesson replaces the first
    ],
)
def test_undo_with_method_memory_takes_back_the_whole_lesson(tmp_path: Path, source: str, texts: list[str]) -> None:
    path = tmp_path / "de.po"
    path.write_text(po((source, ""), ("Close the tray.", "")), encoding="utf-8")
    with WorkSession(WorkOptions(path), EngineChoice(method="memory", threads=1)) as session:
        for text in texts[:-1]:
            session.confirm(text)
            session.back()
        before, because = session.proposal, session.explain()
        session.confirm(texts[-1])
        assert session.undo()
        assert (session.proposal, session.explain()) == (before, because)


def test_a_snapshot_with_an_undone_lesson_is_not_used(path: Path, tmp_path: Path) -> None:
    with work(path) as session:
        session.confirm(TEXTS[0])
        session.confirm(TEXTS[1])  # in the snapshot
    session = work(path)
    session.undo()
    session.confirm("Zu.")
    expected = session.proposal
    session.must_end = True  # as after a kill, no snapshot is saved
    session.close()
    with work(path) as session:
        assert session.proposal == expected


def test_other_files_are_learned_from_once(path: Path) -> None:
    memory = path.with_name("memory.tsv")
    memory.write_text("source\ttarget\nOne\tEins\nTwo\tZwei\n")
    engine = EngineChoice(method=f"{path.with_name('engine.py')}:Backwards", threads=1)
    options = WorkOptions(path, learn_from=[memory])
    with WorkSession(options, engine) as session:
        expected = session.proposal
        assert expected.text.startswith("file. the Open 3")  # the lessons of both files
    with pytest.raises(InputError, match=r"the work was begun with --learn-from .*memory.tsv, not no --learn-from"):
        WorkSession(WorkOptions(path), engine)
    memory.unlink()  # its lessons are in the state
    with WorkSession(options, engine) as session:
        assert session.proposal == expected


def test_a_file_of_the_work_or_a_wrong_file_is_not_learned_from(path: Path) -> None:
    for name, problem in ((path, "is an output too"), (path.with_name("no.tmx"), "no such file")):
        with pytest.raises(InputError, match=problem):
            WorkSession(WorkOptions(path, learn_from=[name]))
    assert not path.with_name("de.po.work.mtloop").exists()


RECALLING = """

class Recalling(Backwards):
    def similar_corrections(self, source):
        return [SimilarCorrection("%1 product in the cart", "%1 Produkt im Wagen", 0.5)]

    def align(self, source, target):
        return []
"""


def test_similar_confirmations_are_shown_as_the_user_wrote_them(path: Path) -> None:
    engine = "from mtloop.core.types import SimilarCorrection\n" + ENGINE + RECALLING
    path.with_name("engine.py").write_text(engine)
    path.write_text(po(("%(n)s product in the <b>cart</b>", ""), ("Empty the cart", "")))
    with work(path, engine="Recalling") as session:
        session.confirm("%(n)s Produkt im <b>Wagen</b>")
        because, similar = session.explain()
    assert [(one.source, one.target) for one in similar] == [
        ("%(n)s product in the <b>cart</b>", "%(n)s Produkt im <b>Wagen</b>")
    ]
    assert "%1" not in because


def test_what_a_program_formats_is_suggested_and_checked_as_its_flag_says(tmp_path: Path) -> None:
    (tmp_path / "engine.py").write_text(ENGINE)
    message = '\n#, c-format\nmsgid "5 %% of %d"\nmsgstr ""\n'
    (path := tmp_path / "de.po").write_text(po(message))
    with work(path) as session:
        assert session.check("%d von 5 %")[0].name == "format"
        assert session.check("5 %% von %d") == ()
        assert [one.name for one in session.check(session.text)].count("format") == 0
