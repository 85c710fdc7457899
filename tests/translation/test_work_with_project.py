"""`mtloop work` and `mtloop translate` with a project of a server in place of a model."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.filling import po, targets
from helpers.served_projects import ServedProjects, serving_projects
from helpers.terminal import Terminal

from mtloop.cli import main
from mtloop.client import Project
from mtloop.core.errors import InputError
from mtloop.methods.own import HttpEngine
from mtloop.translation.fill_files import EngineChoice
from mtloop.translation.work_session import WorkOptions, WorkSession

SOURCES = ["Open the drawer.", "Open the drawer now.", "Save %s now."]
TARGETS = ["Öffnen Sie die Schublade.", "Öffnen Sie jetzt die Schublade.", "Speichern Sie %s jetzt."]
READY = "Ctrl-C leave"  # the end of the toolbar: the line can be edited
KNOWN = ("Print the page.", "Drucken Sie die Seite.")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedProjects]:
    with serving_projects(tmp_path_factory.mktemp("projects")) as server:
        yield server


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "de.po"
    path.write_text(po(KNOWN, *((source, "") for source in SOURCES)), encoding="utf-8")
    return path


def session(path: Path, address: str) -> WorkSession:
    return WorkSession(WorkOptions(path, learn=0), EngineChoice(method=address))


def confirmed(project: Project) -> list[str | None]:
    """For each source, its translation if the project knows it."""
    found = project.translate(SOURCES)
    return [one.translation if one.repeated else None for one in found]


def killed(*arguments: object) -> None:
    raise KeyboardInterrupt


def wait_until_rebuilt(project: Project) -> None:
    while project.translate(SOURCES[0]).rebuilding:
        pass


def test_confirmations_and_undo_go_to_the_project(server: ServedProjects, path: Path) -> None:
    address = server.create("worked")
    with Project(address, server.key) as project:
        with session(path, address) as work:
            suggested = work.proposal.text
            assert suggested == str(project.translate(SOURCES[0]))
            done = work.confirm(TARGETS[0])
            assert done
            work.confirm(TARGETS[1])
            assert confirmed(project) == [*TARGETS[:2], None]
            assert work.complete("Spei").startswith("Spei")
            assert work.undo()
            wait_until_rebuilt(project)
            assert confirmed(project) == [TARGETS[0], None, None]
            assert work.explain()[1][0].target == TARGETS[0]
            effort = work.effort()  # without the frozen model, which the server has
            assert effort is not None
            assert (effort.units, effort.frozen_ter, effort.frozen_keystrokes) == (1, None, None)
            assert effort.lines()[1] == f"  TER (edits per 100 words): {effort.ter.value:.1f}"
        assert targets(path)[SOURCES[0]][0] == TARGETS[0]
        assert targets(path)[SOURCES[1]][0] == ""
        events = project.info().state
        with session(path, address) as work:  # nothing is sent again
            assert project.info().state == events
            work.confirm(TARGETS[1])
            work.confirm(TARGETS[2])
        assert confirmed(project) == TARGETS


def test_the_command(server: ServedProjects, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    address = server.create("typed")
    with Terminal("work", path, "--project", address) as terminal:
        terminal.wait_for("de.po: 3 of 4 units to translate")
        terminal.wait_for(READY)
        terminal.replace(TARGETS[0])
        terminal.type("enter")
        terminal.wait_for("[3/4]")
        terminal.wait_for(READY)
        terminal.type("f2")
        terminal.wait_for("the most similar correction in the project is")
        terminal.wait_for(READY)
        terminal.type("ctrl-c")
        output = terminal.wait_for_end()
        assert "1 translation confirmed, 1 in all; 2 left" in output
        assert "effort for 1 unit, less is better:\n  TER (edits per 100 words): " in output
        assert f"the whole project against its frozen model: mtloop project stats {address}\n" in output
        assert terminal.code == 0
    with Project(address, server.key) as project:
        assert confirmed(project) == [TARGETS[0], None, None]
        assert project.info().state == 2
    main(["project", "stats", address])
    assert "1 correction, 1 with a proposal" in capsys.readouterr().out


def test_a_confirmation_that_a_kill_kept_back_is_sent_later(
    server: ServedProjects, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = server.create("killed")

    with Project(address, server.key) as project:
        with monkeypatch.context() as patched, session(path, address) as work:
            patched.setattr(HttpEngine, "learn", killed)
            with pytest.raises(KeyboardInterrupt):
                work.confirm(TARGETS[0])
        assert confirmed(project) == [None, None, None]
        with session(path, address) as work:
            assert confirmed(project) == [TARGETS[0], None, None]
            assert work.unit.source == SOURCES[1]


def test_an_undo_that_a_kill_interrupted_is_taken_back(
    server: ServedProjects, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = server.create("undone")
    with Project(address, server.key) as project:
        with monkeypatch.context() as patched, session(path, address) as work:
            work.confirm(TARGETS[0])
            patched.setattr(WorkSession, "_record", killed)
            with pytest.raises(KeyboardInterrupt):
                work.undo()
        wait_until_rebuilt(project)
        assert confirmed(project) == [None, None, None]
        with session(path, address) as work:
            assert [step.proposal.segment.source for step in work.steps] == SOURCES[:1]
            assert confirmed(project) == [TARGETS[0], None, None]


def test_a_file_is_filled_by_a_project(server: ServedProjects, path: Path, tmp_path: Path) -> None:
    address, out = server.create("filled"), tmp_path / "out.po"
    key = tmp_path / "key.txt"
    key.write_text(server.key + "\n", encoding="utf-8")
    with Project(address, server.key) as project:
        project.confirm(SOURCES[2], TARGETS[2])
        before = project.info().state
        main(["translate", str(path), "--out", str(out), "--project", address, "--key-file", str(key)])
        assert targets(out)[SOURCES[2]][0] == TARGETS[2]
        assert targets(out)[SOURCES[0]][0] == str(project.translate(SOURCES[0]))
        assert project.info().state == before  # what is translated in the file was not sent
        main(["translate", str(path), "--out", str(out), "--project", address, "--learn", "10"])
        assert project.info().state == before + 1
        assert str(project.translate(KNOWN[0])) == KNOWN[1]


def test_standard_input(
    server: ServedProjects, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    address = server.create("piped")
    with Project(address, server.key) as project:
        project.confirm(SOURCES[0], TARGETS[0])
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(SOURCES[0].encode()), encoding="utf-8"))
    main(["translate", "--project", address])
    assert capsys.readouterr().out == TARGETS[0] + "\n"


@pytest.mark.parametrize("option", [("--model", "en-de"), ("--set", "beam_size=4"), ("--threads", "1")])
def test_options_of_a_model_are_refused(option: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["translate", "de.po", "--out", "x.po", "--project", "http://localhost/manual", *option])
    assert f"give --project or {option[0]}, not both" in capsys.readouterr().err


def test_a_project_is_named_by_its_address(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["translate", "de.po", "--out", "x.po", "--project", "manual"])
    assert "--project is 'manual'; expected http://HOST/PROJECT" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["translate", "de.po", "--out", "x.po", "--key-file", "key.txt"])
    assert "give --project too" in capsys.readouterr().err
    with pytest.raises(InputError, match="no address of a project"):
        EngineChoice(method="http://localhost").load()
