"""`mtloop work` through a pseudo-terminal: what is confirmed survives a kill, and the keys do what they say."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.command_result import CommandResult
from helpers.filling import ENGINE, fuzzy, po
from helpers.terminal import Terminal

from mtloop.cli.work import KEYS, help_text, toolbar, visible
from mtloop.core.trace import Trace
from mtloop.core.types import Proposal
from mtloop.data.formats.filling import open_file
from mtloop.text.text_unit import TextUnit
from mtloop.translation.work_learner import WorkLearner

READY = "Ctrl-C leave"  # the end of the toolbar: the line can be edited
SOURCES = ["Open the file.", "Close the file.", "Save %s now.", "Print the page."]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "engine.py").write_text(ENGINE)
    path = tmp_path / "de.po"
    messages = [("Known text.", "Bekannt."), *((source, "") for source in SOURCES), fuzzy("Two files.", "Zwei?")]
    path.write_text(po(*messages), encoding="utf-8")
    return path


def work(path: Path, *options: object) -> Terminal:
    return Terminal("work", path, "--method", f"{path.with_name('engine.py')}:Backwards", *options)


def targets(path: Path) -> list[str]:
    return [unit.target for unit in open_file(path).units if unit.source]


def steps(path: Path) -> int:
    return len(Trace.read(path.with_name(f"{path.name}.work.mtloop") / "trace.jsonl").steps)


def test_the_loop(path: Path) -> None:
    with work(path) as terminal:
        terminal.wait_for("de.po: 5 of 6 units to translate")
        terminal.wait_for("[2/6] untranslated, 5 left")
        terminal.wait_for("Open the file.")
        terminal.wait_for("file. the Open 1")
        terminal.wait_for(READY)
        terminal.replace("Öffnen.")
        terminal.type("enter")
        terminal.wait_for("[3/6]")
        assert targets(path)[1] == "Öffnen."
        assert steps(path) == 1
        terminal.wait_for("file. the Close 2")
        terminal.wait_for(READY)
        terminal.type("ctrl-s")
        terminal.wait_for("[4/6]")
        terminal.wait_for(READY)
        terminal.replace("Jetzt speichern.")
        terminal.type("enter")
        terminal.wait_for("check: placeholders: %s is missing")
        terminal.wait_for("press Enter again")
        terminal.wait_for(READY)
        assert steps(path) == 1
        terminal.type("ctrl-a", "%s: ", "enter")
        terminal.wait_for("[5/6]")
        assert targets(path)[3] == "%s: Jetzt speichern."
        terminal.wait_for(READY)
        terminal.type("f4")
        terminal.wait_for("the last confirmation was undone")
        terminal.wait_for("[4/6]")
        assert targets(path)[3] == ""
        terminal.wait_for(READY)
        terminal.type("ctrl-c")
        output = terminal.wait_for_end()
        assert "1 translation confirmed, 1 in all; 4 left" in output
        assert "TER (edits per 100 words)" in output
        assert terminal.code == 0


def test_a_kill_in_the_middle_loses_nothing(path: Path) -> None:
    with work(path) as terminal:
        for number, text in enumerate(["Öffnen.", "Schließen."], start=2):
            terminal.wait_for(f"[{number}/6]")
            terminal.wait_for(READY)
            terminal.replace(text)
            terminal.type("enter")
        terminal.wait_for("[4/6]")
        terminal.wait_for(READY)
        terminal.type("half a te")
        terminal.kill()
    assert targets(path)[1:3] == ["Öffnen.", "Schließen."]
    with work(path) as terminal:
        terminal.wait_for("3 of 6 units to translate")
        terminal.wait_for("[4/6]")
        terminal.wait_for("now. %s Save 3")  # the engine has its three lessons
        terminal.wait_for(READY)
        terminal.replace("%s jetzt speichern.")
        terminal.type("enter")
        terminal.wait_for("[5/6]")
        terminal.wait_for(READY)
        terminal.replace("Drucken.")
        terminal.type("enter")
        terminal.wait_for("[6/6] fuzzy, 1 left")
        terminal.wait_for("file    Zwei?")
        terminal.wait_for(READY)
        terminal.type("f3")  # the text in the file
        terminal.type("enter")
        terminal.wait_for("every unit is translated")
        terminal.wait_for(READY)
        terminal.type("enter")
        assert "5 in all; 0 left" in terminal.wait_for_end()
        assert terminal.code == 0
    expected = ["Bekannt.", "Öffnen.", "Schließen.", "%s jetzt speichern.", "Drucken.", "Zwei?"]
    assert targets(path) == expected
    assert b"fuzzy" not in path.read_bytes()


@pytest.fixture
def short(path: Path) -> Path:
    """A file with two messages to translate, and one that is translated."""
    path.write_text(po(("Known text.", "Bekannt."), ("Open it.", ""), ("Save %s now.", "")), encoding="utf-8")
    return path


def confirm_all(path: Path) -> None:
    """Confirm both messages; a kill comes before the closing lines."""
    with work(path) as terminal:
        for number, text in enumerate(["Öffnen.", "%s jetzt speichern."], start=2):
            terminal.wait_for(f"[{number}/3]")
            terminal.wait_for(READY)
            terminal.replace(text)
            terminal.type("enter")
        terminal.wait_for("every unit is translated")
        terminal.wait_for(READY)
        terminal.kill()


def test_coming_back_when_all_is_confirmed_shows_the_effort_and_lets_the_user_correct(short: Path) -> None:
    confirm_all(short)
    with work(short) as terminal:
        terminal.wait_for("nothing is left to translate; --only all goes through 1 more unit")
        terminal.wait_for("Enter in an unchanged line leaves, PgUp goes back, F4 undoes")
        terminal.wait_for("[3/3] confirmed, 0 left")
        terminal.wait_for(READY)
        terminal.type("f4")
        terminal.wait_for("the last confirmation was undone")
        terminal.wait_for("1 left")
        assert targets(short)[2] == ""
        terminal.wait_for(READY)
        terminal.replace("%s sichern.")
        terminal.type("enter")
        terminal.wait_for("every unit is translated")
        terminal.wait_for(READY)
        terminal.type("pgup")
        terminal.wait_for("[2/3] confirmed, 0 left")
        terminal.wait_for(READY)
        terminal.replace("Auf.")
        terminal.type("enter")
        terminal.wait_for("every unit is translated")
        terminal.wait_for(READY)
        terminal.type("enter")
        output = terminal.wait_for_end()
        assert "3 in all; 0 left" in output
        assert "effort for 2 units" in output
        assert terminal.code == 0
    assert targets(short) == ["Bekannt.", "Auf.", "%s sichern."]


def test_a_correction_after_all_is_confirmed_is_not_lost_by_a_second_enter(short: Path) -> None:
    confirm_all(short)
    with work(short) as terminal:
        terminal.wait_for("[3/3] confirmed, 0 left")
        terminal.wait_for(READY)
        terminal.replace("Jetzt speichern.")
        terminal.type("enter")
        terminal.wait_for("press Enter again")
        terminal.wait_for(READY)
        terminal.type("enter")
        terminal.wait_for("every unit is translated")
        terminal.wait_for(READY)
        terminal.type("enter")
        assert "1 translation confirmed, 3 in all" in terminal.wait_for_end()
    assert targets(short)[2] == "Jetzt speichern."


def test_only_all_goes_through_what_was_not_confirmed_yet(short: Path) -> None:
    confirm_all(short)
    with work(short, "--only", "all") as terminal:
        terminal.wait_for("1 of 3 units to translate")
        terminal.wait_for("[1/3] translated, 1 left")
        terminal.wait_for(READY)
        terminal.type("f3")  # the text in the file
        terminal.type("enter")
        terminal.wait_for("every unit is translated")
        terminal.wait_for(READY)
        terminal.type("enter")
        assert "effort for 3 units" in terminal.wait_for_end()
    with work(short, "--only", "all") as terminal:
        before = terminal.wait_for("[1/3] confirmed, 0 left")
        assert "nothing is left to translate\n" in before  # no hint at an option that would change nothing
        terminal.wait_for(READY)
        terminal.type("ctrl-c")
        assert "effort for 3 units" in terminal.wait_for_end()


def test_a_file_that_was_translated_elsewhere_has_nothing_to_show(path: Path) -> None:
    path.write_text(po(("Known text.", "Bekannt."), ("Open it.", "Öffnen.")), encoding="utf-8")
    with work(path) as terminal:
        output = terminal.wait_for_end()
    assert output.endswith("nothing is left to translate; --only all goes through 2 more units\n")
    assert terminal.code == 0


def test_ctrl_c_while_the_engine_translates_leaves_with_the_closing_lines(short: Path) -> None:
    interrupt = "        if 'Save' in segment.source: raise KeyboardInterrupt\n"
    start = "    def propose(self, segment):\n"
    short.with_name("engine.py").write_text(ENGINE.replace(start, start + interrupt))
    with work(short) as terminal:
        terminal.wait_for("[2/3]")
        terminal.wait_for(READY)
        terminal.replace("Öffnen.")
        terminal.type("enter")
        output = terminal.wait_for_end()
    assert "1 translation confirmed, 1 in all; 1 left" in output
    assert "effort for 1 unit" in output
    assert terminal.code == 0


def test_ctrl_c_while_the_engine_learns_says_that_the_effort_is_missing(short: Path) -> None:
    start = "    def learn(self, proposal, feedback):\n"
    (busy := short.with_name("busy")).touch()
    condition = f"'Open' in proposal.segment.source and __import__('os').path.exists({str(busy)!r})"
    interrupt = f"        if {condition}: raise KeyboardInterrupt\n"
    short.with_name("engine.py").write_text(ENGINE.replace(start, start + interrupt))
    with work(short) as terminal:
        terminal.wait_for("[2/3]")
        terminal.wait_for(READY)
        terminal.type("enter")
        output = terminal.wait_for_end()
    assert "the effort was not measured: the engine was learning" in output
    busy.unlink()
    with work(short) as terminal:
        terminal.wait_for("[3/3]")
        terminal.wait_for(READY)
        terminal.type("ctrl-c")
        assert "effort for 1 unit" in terminal.wait_for_end()


def completed(learner: WorkLearner, proposal: Proposal, prefix: str) -> str:
    """Complete a prefix as a neural model does."""
    return TextUnit.of(proposal.segment.source).complete(prefix, lambda source, typed: f"{typed} und so weiter")


def test_a_text_without_a_completion_keeps_what_stands_after_the_cursor(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(WorkLearner, "complete", completed)  # before the fork of the terminal
    message = "{{n, plural, one {{# {}}} other {{# {}}}}}"
    source, target = message.format("file", "files"), message.format("Datei", "Dateien")
    path.write_text(po((source, ""), ("Open it.", "")), encoding="utf-8")
    with work(path) as terminal:
        terminal.wait_for("[1/2]")
        terminal.wait_for(READY)
        terminal.replace(target[4:])
        terminal.type("ctrl-a", target[:4], "tab")
        terminal.wait_for("there is no completion; the line stays as it is")
        terminal.wait_for(READY)
        terminal.type("enter")
        terminal.wait_for("[2/2]")
        assert targets(path)[0] == target
        terminal.wait_for(READY)
        terminal.replace("die Datei")
        terminal.type("ctrl-a", "Auf", "tab")  # this one has a completion, in place of what follows
        terminal.wait_for("weiter")
        terminal.type("enter")
        terminal.wait_for("every unit is translated")
        assert targets(path)[1] == "Auf und so weiter"


def test_typed_commands_a_draft_and_completion(path: Path) -> None:
    with work(path) as terminal:
        terminal.wait_for(READY)
        terminal.replace("/help")
        terminal.type("enter")
        terminal.wait_for("take back the last confirmation")
        terminal.wait_for(READY)
        terminal.type("f2")
        terminal.wait_for("the model has learned from 1 correction")
        terminal.wait_for(READY)
        terminal.replace("Also: ")
        terminal.wait_for("Also:")
        terminal.type("tab")
        terminal.wait_for("the Open 1")
        terminal.type("pgdn")
        terminal.wait_for("[3/6]")
        terminal.wait_for(READY)
        terminal.replace("/back")
        terminal.type("enter")
        terminal.wait_for("[2/6]")
        terminal.wait_for("Also: the Open 1")  # the draft
        terminal.wait_for(READY)
        terminal.replace("/quit")
        terminal.type("enter")
        terminal.wait_for_end()
        assert terminal.code == 0
    assert steps(path) == 0
    with work(path) as terminal:
        terminal.wait_for("Also: the Open 1")
        terminal.wait_for(READY)
        terminal.type("enter")
        terminal.wait_for("[3/6]")
        terminal.wait_for(READY)
        terminal.type("ctrl-c")
        terminal.wait_for_end()
    assert targets(path)[1].startswith("Also: the Open 1")


def test_a_mistyped_command_that_fails_a_check_is_confirmed_after_both(path: Path) -> None:
    path.write_text(po(("%s per month", ""), ("Open it.", "")), encoding="utf-8")
    with work(path) as terminal:
        terminal.wait_for("[1/2]")
        for message in ("if it is the translation, type it again", "not confirmed yet: correct it, or press Enter"):
            terminal.wait_for(READY)
            terminal.replace("/Monat")
            terminal.type("enter")
            terminal.wait_for(message)
            assert steps(path) == 0
        terminal.wait_for(READY)
        terminal.type("ctrl-c")
        terminal.wait_for_end()
    assert targets(path) == ["", ""]


def test_a_mistyped_command_is_no_translation(path: Path) -> None:
    path.write_text(po(("per month", ""), ("/dev is full", ""), ("Open it.", "")), encoding="utf-8")
    with work(path) as terminal:
        terminal.wait_for("[1/3]")
        terminal.wait_for(READY)
        terminal.replace("/udno")
        terminal.type("enter")
        terminal.wait_for("no such command: /udno; known: /skip, /back, /next, /undo, ")
        terminal.wait_for("month per")  # the line is as before
        terminal.wait_for(READY)
        terminal.replace("/Monat")
        terminal.type("enter")
        terminal.wait_for("if it is the translation, type it again")
        terminal.wait_for(READY)
        assert steps(path) == 0
        terminal.replace("/Monat")
        terminal.type("enter")
        terminal.wait_for("[2/3]")
        terminal.wait_for(READY)
        terminal.replace("/voll")  # its source begins with a slash
        terminal.type("enter")
        terminal.wait_for("[3/3]")
        terminal.wait_for(READY)
        terminal.type("ctrl-c")
        terminal.wait_for_end()
    assert targets(path) == ["/Monat", "/voll", ""]


def slow(path: Path, start: str) -> None:
    """Let a method of the engine take a second, and say when it begins."""
    pause = "        import time\n        print('busy', flush=True)\n        time.sleep(1)\n"
    path.with_name("engine.py").write_text(ENGINE.replace(start, start + pause))


def test_keys_that_are_pressed_while_the_engine_loads_confirm_nothing(path: Path) -> None:
    slow(path, "    def __init__(self):\n")
    with work(path) as terminal:
        terminal.wait_for("busy")
        terminal.type("enter", "zzz", "enter", "zz")
        shown = terminal.wait_for("[2/6]") + terminal.wait_for(READY)
        assert "zz" not in shown
        terminal.type("f1")
        assert "[3/6]" not in terminal.wait_for("take back the last confirmation")
        terminal.wait_for(READY)
        terminal.type("enter")  # one that is pressed in the line counts
        terminal.wait_for("[3/6]")
        terminal.wait_for(READY)
        terminal.type("ctrl-c")
        terminal.wait_for_end()
    assert targets(path)[1].startswith("file. the Open 1")
    assert steps(path) == 1


def test_keys_that_are_pressed_while_the_engine_learns_confirm_nothing(path: Path) -> None:
    slow(path, "    def learn(self, proposal, feedback):\n")
    with work(path, "--no-learn") as terminal:
        terminal.wait_for("[2/6]")
        terminal.wait_for(READY)
        terminal.type("enter")
        terminal.wait_for("busy")
        terminal.type("enter", "enter")
        terminal.wait_for("[3/6]")
        terminal.wait_for(READY)
        terminal.type("ctrl-c")
        assert "1 translation confirmed" in terminal.wait_for_end()
    assert steps(path) == 1


def test_keys_that_are_pressed_during_a_completion_confirm_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def complete(learner: WorkLearner, proposal: Proposal, prefix: str) -> str:
        time.sleep(1)
        return f"{prefix} und so weiter"

    monkeypatch.setattr(WorkLearner, "complete", complete)  # before the fork of the terminal
    with work(path) as terminal:
        terminal.wait_for("[2/6]")
        terminal.wait_for(READY)
        terminal.replace("Öffnen")
        terminal.wait_for("Öffnen")
        terminal.type("tab", "enter")
        time.sleep(0.3)
        terminal.type("enter")
        terminal.wait_for("weiter")
        terminal.type("ctrl-c")
        assert "0 translations confirmed" in terminal.wait_for_end()
    assert not targets(path)[1]


def test_without_a_terminal_one_line_says_what_to_do(path: Path, mtloop: Callable[..., CommandResult]) -> None:
    result = mtloop("work", path, stdin="text\n")
    assert result.code == 2
    assert result.err == f"mtloop: work needs a terminal; without one: mtloop translate {path} --out {path}\n"
    assert not list(path.parent.glob("*.mtloop"))


def test_without_a_terminal_the_command_keeps_the_template_and_the_source_lines(
    tmp_path: Path, mtloop: Callable[..., CommandResult]
) -> None:
    for name in ("en.txt", "en.json", "de.json"):
        (tmp_path / name).write_text("{}")
    source, template, path, new = (tmp_path / name for name in ("en.txt", "en.json", "de.json", "NEW.txt"))
    result = mtloop("work", source, stdin="text\n")
    assert result.err.endswith(f"without one: mtloop translate {source} --out {new}\n")
    result = mtloop("work", path, "--template", template, stdin="text\n")
    assert result.err.endswith(f"without one: mtloop translate {path} --template {template} --out {path}\n")


def test_a_text_for_a_unit_that_is_removed_meanwhile_is_shown_and_not_given_to_the_next_unit(path: Path) -> None:
    with work(path) as terminal:
        terminal.wait_for("[2/6]")
        terminal.wait_for(READY)
        terminal.replace("Ganz neu.")
        message = 'msgid "Open the file."\nmsgstr ""\n\n'
        path.write_text(path.read_text(encoding="utf-8").replace(message, ""), encoding="utf-8")
        terminal.type("enter")
        terminal.wait_for("typed   Ganz neu.")
        terminal.wait_for("nothing was confirmed")
        terminal.wait_for("[2/5]")
        terminal.wait_for("file. the Close 1")
        terminal.wait_for(READY)
        terminal.type("ctrl-c")
        terminal.wait_for_end()
    assert "Ganz neu." not in targets(path)


def test_a_broken_file_is_named_with_its_line(path: Path) -> None:
    path.write_text(path.read_text(encoding="utf-8").replace('msgstr "Bekannt."', "msgstr Bekannt."), encoding="utf-8")
    with work(path) as terminal:
        assert "de.po:7: " in terminal.wait_for_end()
        assert terminal.code == 2


def test_a_source_cannot_control_the_terminal() -> None:
    assert visible("a\x1b[2Jb\u00a0c\nd\x07") == "a\\x1b[2Jb\u00a0c\nd\\x07"


def test_the_keys_are_all_in_toolbar_and_help() -> None:
    shown, text = toolbar(40), help_text()
    assert max(map(len, shown.splitlines())) <= 40
    assert all(f"{key.shown} {key.short}" in shown and key.help in text for key in KEYS.values())


PANES = {
    "Open the pane.": "Öffnen Sie den Bereich.",
    "Close the pane.": "Schließen Sie den Bereich.",
    "Move the pane.": "Verschieben Sie den Bereich.",
    "Print the pane.": "Drucken Sie den Bereich.",
    "Select the pane.": "Wählen Sie den Bereich aus.",
    "The pane is empty.": "Der Bereich ist leer.",
    "The pane is open.": "Der Bereich ist offen.",
    "Show <b>the pane</b>.": "Zeigen Sie <b>den Bereich</b> an.",
    "Hide %s and the pane.": "Blenden Sie %s und den Bereich aus.",
    "Save the pane.": "Speichern Sie den Bereich.",
}


@pytest.mark.slow
def test_ten_segments_with_the_embedded_model_and_a_kill_in_the_middle(tmp_path: Path) -> None:
    path = tmp_path / "panes.po"
    path.write_text(po(*((source, "") for source in PANES)), encoding="utf-8")
    suggestions = []
    for first, last in ((1, 5), (6, 10)):
        with Terminal("work", path, "--threads", "1") as terminal:
            for number, text in list(enumerate(PANES.values(), start=1))[first - 1 : last]:
                terminal.wait_for(f"[{number}/10]")
                terminal.wait_for("target  ")
                suggestions.append(terminal.wait_for("Ctrl-C leave").splitlines()[0])
                terminal.replace(text)
                terminal.type("enter")
            if last == 5:
                terminal.wait_for("[6/10]")  # the fifth one is confirmed
                terminal.kill()
                assert targets(path) == [*list(PANES.values())[:5], "", "", "", "", ""]
            else:
                terminal.wait_for("every unit is translated")
                terminal.wait_for("Ctrl-C leave")
                terminal.type("enter")
                closing = terminal.wait_for_end()
    assert targets(path) == list(PANES.values())
    assert "Bereich" not in suggestions[0]
    assert all("Bereich" in suggestion for suggestion in suggestions[2:])  # learned, also after the kill
    learned, frozen = re.findall(r"TER \(edits per 100 words\): ([\d.]+) with learning, ([\d.]+) frozen", closing)[0]
    assert float(learned) < float(frozen)
