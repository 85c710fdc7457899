"""Something changes between or during sessions of work: files, templates, options, the disk. Nothing goes astray."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest
from helpers.filling import po, write_engine
from helpers.forked import kill_at, run_forked

from mtloop.core.errors import InputError
from mtloop.core.record import Snapshots
from mtloop.data.formats.filling import FileUnit, open_file
from mtloop.translation import fill_units, work_base, work_learner
from mtloop.translation.fill_units import FillOptions, Only
from mtloop.translation.work_base import WorkBases
from mtloop.translation.work_session import WorkOptions, WorkSession
from mtloop.translation.work_units import match_units

SOURCE = {"open": "Open", "close": "Close", "save": "Save"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file that does not exist yet, with its template."""
    (tmp_path / "en.json").write_text(json.dumps(SOURCE))
    return tmp_path / "de.json"


def work(path: Path, *, learn: int = 10, template: str | None = "en.json", **fill: Any) -> WorkSession:
    options = FillOptions(Only.FUZZY, **fill)
    named = path.with_name(template) if template else None
    return WorkSession(WorkOptions(path, named, options, learn), write_engine(path.parent))


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def change_template(path: Path, texts: dict[str, str]) -> None:
    path.with_name("en.json").write_text(json.dumps(texts))


def full(*arguments: object) -> None:
    raise OSError(28, "No space left on device")


LONGER = {"about": "About", "help": "Help"} | SOURCE


@pytest.mark.parametrize("leaves", [False, True])
def test_a_changed_template_moves_no_translation_to_another_key(path: Path, leaves: bool) -> None:
    session = work(path)
    session.confirm("Öffnen")
    session.confirm("Schließen")
    if leaves:
        session.close()
    change_template(path, LONGER)
    if leaves:
        session = work(path)
    with session:
        session.confirm("Speichern")
        assert session.notes == [f"{path.with_name('en.json')}: the template has changed; its new version is used"]
        assert read(path) == {"open": "Öffnen", "close": "Schließen", "save": "Speichern"}
        session.undo()
        assert read(path) == {"open": "Öffnen", "close": "Schließen"}


@pytest.mark.parametrize(
    ("template", "expected", "lost"),
    [
        (LONGER, {"open": "Öffnen", "close": "Schließen"}, False),
        ({"save": "Save", "close": "Close", "open": "Open"}, {"open": "Öffnen", "close": "Schließen"}, False),
        ({"open": "Open", "close": "Shut", "save": "Save"}, {"open": "Öffnen"}, True),
        ({"open": "Open", "shut": "Close", "save": "Save"}, {"open": "Öffnen"}, True),
    ],
)
def test_a_confirmation_that_was_not_written_goes_to_its_own_key_or_nowhere(
    path: Path, monkeypatch: pytest.MonkeyPatch, template: dict[str, str], expected: dict[str, str], lost: bool
) -> None:
    session = work(path)
    session.confirm("Öffnen")
    with monkeypatch.context() as patch:
        patch.setattr(fill_units, "atomic", full)
        with pytest.raises(InputError, match="No space left"):
            session.confirm("Schließen")
    session.close()
    change_template(path, template)
    with work(path) as session:
        assert read(path) == expected
        said = [
            note for note in session.notes if "no longer there with the same source: 1 confirmed unit (close)" in note
        ]
        assert bool(said) == lost
    with work(path) as session:
        assert (read(path), len(session.steps)) == (expected, 2)
        assert not [note for note in session.notes if "changed" in note]


def test_a_unit_whose_source_changed_is_named(path: Path) -> None:
    with work(path) as session:
        session.confirm("Öffnen")
        session.confirm("Schließen")
    change_template(path, SOURCE | {"close": "Shut"})
    with work(path) as session:
        assert "1 confirmed unit (close); the trace keeps what you confirmed" in session.notes[-1]
        assert read(path) == {"open": "Öffnen", "close": "Schließen"}
        assert session.unit.source == "Save"


def table(tmp_path: Path) -> Path:
    path = tmp_path / "t.csv"
    path.write_text("en,de,fr\nOpen,,\nClose,,\n")
    return path


def test_other_options_are_refused_with_one_line(tmp_path: Path) -> None:
    path, german = table(tmp_path), {"source": "en", "target": "de"}
    with work(path, template=None, columns=german) as session:
        session.confirm("Öffnen")
    before = path.read_bytes()
    with pytest.raises(InputError) as error:
        work(path, template=None, columns={"source": "en", "target": "fr"})
    problem = "the work was begun with --columns source=en,target=de, not --columns source=en,target=fr"
    remedy = "rename or delete its folder to begin again; what was confirmed is in the file"
    assert str(error.value) == f"{path}.work.mtloop: {problem}; {remedy}"
    with pytest.raises(InputError, match="begun with no --target-lang, not --target-lang de;"):
        work(path, template=None, columns=german, target_lang="de")
    with pytest.raises(InputError, match="begun with --learn 10, not --learn 0;"):
        work(path, template=None, columns=german, learn=0)
    assert path.read_bytes() == before
    with work(path, template=None, columns=german) as session:
        assert session.left == 1


def test_a_full_disk_while_another_version_is_taken_over_changes_nothing(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with work(path) as session:
        session.confirm("Öffnen")
        change_template(path, LONGER)
        for name in ("atomic", "write_text"):
            with monkeypatch.context() as patch:
                patch.setattr(work_base, name, full)
                with pytest.raises(InputError, match="No space left on device; nothing is lost"):
                    session.confirm("Schließen")
            assert not session.must_end
            assert (session.unit.id, session.text) == ("close", "Schließen")
        session.confirm("Schließen")
    with work(path) as session:
        assert read(path) == {"open": "Öffnen", "close": "Schließen"}
        assert session.left == 3


@pytest.mark.parametrize("after", [False, True])
def test_a_kill_while_another_version_is_taken_over_loses_nothing(path: Path, after: bool) -> None:
    def begin() -> None:
        kill_at(WorkBases, "complete", 3, after=after)
        with work(path) as session:
            session.confirm("Öffnen")
            change_template(path, SOURCE | {"quit": "Quit"})
            session.confirm("Schließen")
            change_template(path, LONGER)
            session.undo()

    assert run_forked(begin).returncode == -signal.SIGKILL
    with work(path) as session:
        assert read(path) == {"open": "Öffnen", "close": "Schließen"}
        assert [unit.id for unit in session.file.units if unit.target] == ["open", "close"]
        assert session.left == 3


def test_a_snapshot_that_cannot_be_written_ends_the_session_with_one_line(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work_learner, "SNAPSHOT_EVERY", 1)
    session = work(path)
    with monkeypatch.context() as patch:
        patch.setattr(Snapshots, "save", full)
        with pytest.raises(InputError, match="No space left on device; nothing is lost"):
            session.confirm("Öffnen")
    assert session.must_end
    session.close()
    with work(path) as session:
        assert (read(path), len(session.steps)) == ({"open": "Öffnen"}, 1)


@pytest.mark.parametrize("leaves", [False, True])
def test_a_text_whose_unit_is_gone_is_shown_and_given_to_no_other_unit(path: Path, leaves: bool) -> None:
    session = work(path)
    session.leave_draft("Öff")
    session.next_open()
    session.leave_draft("Schl")
    if leaves:
        session.close()
    change_template(path, {"save": "Save", "close": "Close"})
    if leaves:
        session = work(path)
    else:
        session.back()
        with pytest.raises(InputError, match="removed the unit 'Open'; nothing was confirmed"):
            session.confirm("Öffnen")
    with session:
        assert session.notes[-1] == "the unit 'Open' is gone; you typed, and did not confirm: Öff"
        assert {session.file.units[unit].id: draft for unit, draft in session.drafts.items()} == {"close": "Schl"}


def test_a_confirmed_draft_does_not_come_back_when_units_move(tmp_path: Path) -> None:
    path = tmp_path / "de.po"
    path.write_text(po(("One.", ""), ("Two.", "")), encoding="utf-8")

    def begin() -> None:
        kill_at(WorkSession, "next_open", 1)
        session = work(path, template=None)
        session.leave_draft("Ei")
        session.confirm("Eins.")

    assert run_forked(begin).returncode == -signal.SIGKILL
    path.write_text(po(("New.", ""), ("One.", "Eins."), ("Two.", "")), encoding="utf-8")
    with work(path, template=None) as session:
        assert session.drafts == {}


def test_units_that_are_counted_in_another_way_are_not_filled(path: Path) -> None:
    with work(path) as session:
        session.confirm("Öffnen")
        session.confirm("Schließen")
    [copy] = path.with_name("de.json.work.mtloop").rglob("en.json")
    copy.write_text(json.dumps(LONGER))  # as if a later mtloop found more units
    change_template(path, LONGER)
    with work(path):
        assert read(path) == {"open": "Öffnen", "close": "Schließen"}


def message(context: str, target: str = "") -> str:
    return f'\nmsgctxt "{context}"\nmsgid "Open"\nmsgstr "{target}"\n'


def test_messages_that_differ_in_their_context_are_not_confused(tmp_path: Path) -> None:
    path = tmp_path / "de.po"
    path.write_text(po(message("verb"), message("state")), encoding="utf-8")
    with work(path, template=None) as session:
        session.forward()
        path.write_text(po(("New.", ""), message("state"), message("verb")), encoding="utf-8")
        session.confirm("Offen")
        assert [unit.target for unit in open_file(path).units if unit.source] == ["", "Offen", ""]


def units(*pairs: tuple[str, str]) -> list[FileUnit]:
    return [FileUnit(*pair) for pair in pairs]


def test_units_are_matched_by_id_and_source() -> None:
    old = units(("a", "Open"), ("b", "Open"), ("c", "Close"))
    assert match_units(old, units(("c", "Shut"), ("b", "Open"), ("d", "Open"))) == {1: 1}
    numbered = units(("1", "OK"), ("2", "No"), ("3", "OK"))
    assert match_units(numbered, units(("1", "New"), ("2", "OK"), ("3", "No"), ("4", "OK"))) == {0: 1, 1: 2, 2: 3}
    assert match_units(numbered, units(("1", "No"), ("2", "OK"))) == {1: 0}  # which one is gone is not known
    assert match_units(numbered, [*numbered, *units(("4", "OK"))]) == {0: 0, 1: 1, 2: 2}
