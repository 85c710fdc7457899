"""`mtloop work`: translate a file in the terminal; the engine learns from every confirmed translation."""

from __future__ import annotations

import re
import sys
import unicodedata
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mtloop.cli._options import PATH, check_learning, engine_choice, file_options
from mtloop.cli._project import project_options, with_project
from mtloop.cli._typed_ahead import discard_typed, without_echo
from mtloop.core.errors import InputError
from mtloop.core.extras import need_extras
from mtloop.core.plural import pluralise

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

    from mtloop.data.formats.filling import FileUnit
    from mtloop.translation.work_session import WorkSession

EPILOG = """
\b
Examples:
  mtloop work de.po
  mtloop work manual.xlf --only untranslated --method memory
  mtloop work de.json --template en.json
  mtloop work de.po --learn-from memory.tmx
  mtloop work manual.de.txt --template manual.en.txt
  mtloop work de.po --project http://localhost:8017/manual --key-file key.txt
\b
Leave at any time and run the same command again: it goes on where you left. Its trace is in FILE.work.mtloop.
\b
With --project, every confirmation and every undo goes to the project. What is translated in FILE already is confirmed
there only with --learn N or --learn-from.
"""
LABELS = {"document": "in", "msgctxt": "context", "note": "note", "plural": "plural", "quantity": "quantity"}
PROMPT = "  target  "
WHEN_DONE = "Enter in an unchanged line leaves, PgUp goes back, F4 undoes"
NO_COMPLETION = "  there is no completion; the line stays as it is"


class Action(StrEnum):
    """What the user wants. Every action has a key, and a command that can be typed instead."""

    CONFIRM = "confirm"
    COMPLETE = "complete"
    SKIP = "skip"
    BACK = "back"
    NEXT = "next"
    UNDO = "undo"
    WHY = "why"
    OTHER = "other"
    HELP = "help"
    LEAVE = "leave"


@dataclass(frozen=True)
class ActionKey:
    """A key of the terminal, its name in prompt-toolkit, and what it does."""

    shown: str
    name: str
    short: str
    help: str


KEYS = {
    Action.CONFIRM: ActionKey("Enter", "enter", "confirm", "confirm the translation and go to the next one"),
    Action.COMPLETE: ActionKey("Tab", "tab", "complete", "let the engine complete the text before the cursor"),
    Action.SKIP: ActionKey("Ctrl-S", "c-s", "skip", "go to the next untranslated unit without confirming"),
    Action.BACK: ActionKey("PgUp", "pageup", "back", "go to the unit before"),
    Action.NEXT: ActionKey("PgDn", "pagedown", "next", "go to the unit after, translated or not"),
    Action.UNDO: ActionKey("F4", "f4", "undo", "take back the last confirmation"),
    Action.WHY: ActionKey("F2", "f2", "why", "show where the suggestion comes from"),
    Action.OTHER: ActionKey("F3", "f3", "other text", "switch between the suggestion and the text in the file"),
    Action.HELP: ActionKey("F1", "f1", "help", "show this help"),
    Action.LEAVE: ActionKey("Ctrl-C", "c-c", "leave", "leave; run the same command again to go on"),
}
_TYPED = [action for action in Action if action not in (Action.CONFIRM, Action.COMPLETE)]
COMMANDS: dict[str, Action] = {f"/{action}": action for action in _TYPED}
COMMANDS |= {"?": Action.HELP, "/quit": Action.LEAVE}
COMMAND = re.compile(r"/[A-Za-z]+")


@click.command(epilog=EPILOG)
@click.argument("file", type=PATH)
@click.option(
    "--only",
    type=click.Choice(["untranslated", "fuzzy", "all"]),
    default="fuzzy",
    show_default=True,
    help="Units to translate. untranslated: those without a translation. fuzzy: untranslated ones, and those marked "
    "for review. all: every unit.",
)
@file_options
@project_options
@click.pass_context
def command(context: click.Context, /, file: Path, **options: Any) -> None:
    """Translate FILE in the terminal. The engine learns from every translation that you confirm.

    FILE is a PO, XLIFF, Qt TS, TMX, TSV, CSV, JSON, Android or .properties file, or a text file with --template. The
    translation that the engine suggests is in an editable line, and Enter confirms it. It is in FILE before the next
    suggestion is shown.
    """
    need_extras("work")
    check_learning(context, **options)
    check_terminal(file, options["template"])
    options = with_project(context, **options)
    with without_echo(), open_session(file, **options) as session:
        start(session)
        if session.left or session.steps:
            go_through(session)
            close(session)


def check_terminal(file: Path, template: Path | None) -> None:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        from mtloop.translation.work_session import is_own_source

        source = f" --template {template}" if template else ""
        out = file.with_name("NEW.txt") if is_own_source(file, template) else file
        raise InputError(f"work needs a terminal; without one: mtloop translate {file}{source} --out {out}")


def open_session(
    file: Path,
    *,
    only: str,
    learn: int,
    learn_from: tuple[Path, ...],
    no_learn: bool,
    template: Path | None,
    columns: str,
    source_lang: str | None,
    target_lang: str | None,
    **engine: Any,
) -> WorkSession:
    from mtloop.data import parse_columns
    from mtloop.translation.fill_units import FillOptions, Only
    from mtloop.translation.work_session import WorkOptions, WorkSession

    fill = FillOptions(Only(only), True, parse_columns(columns), source_lang, target_lang)
    options = WorkOptions(file, template, fill, 0 if no_learn else learn, learn_from)
    return WorkSession(options, engine_choice(learns=True, **engine), show_progress)


def show_progress(task: str, done: int, total: int) -> None:
    """Show progress in one line of the terminal, which disappears at the end."""
    text = f"{task}: {done}/{total}" if done < total else ""
    click.echo(f"\r\x1b[K{text}", nl=False)


def start(session: WorkSession) -> None:
    """Say what there is to do."""
    if not session.workable:
        raise InputError("has no unit that can be translated", path=session.file.path)
    show_notes(session)
    if session.left:
        units = f"{session.left} of {pluralise(len(session.workable), 'unit')}"
        click.echo(f"{session.file.path}: {units} to translate. Enter confirms, F1 or /help shows all keys.")
        return
    more = session.file.more_with_all
    hint = f"; --only all goes through {pluralise(more, 'more unit')}" if more else ""
    click.echo(f"{session.file.path}: nothing is left to translate{hint}")
    if session.steps:
        click.echo(f"You can still correct it. {WHEN_DONE}.")


def go_through(session: WorkSession) -> None:
    """Let the user translate until they leave, also with Ctrl-C while the engine translates."""
    try:
        WorkScreen(session).run()
    except KeyboardInterrupt:
        if session.must_end:
            click.echo("\nthe effort was not measured: the engine was learning")
            raise


def close(session: WorkSession) -> None:
    """Say what was done, and compare the effort with that of the frozen model."""
    done = pluralise(session.confirmed_here, "translation")
    click.echo(f"\n{session.file.path}: {done} confirmed, {len(session.steps)} in all; {session.left} left")
    try:
        effort = session.effort()
    except KeyboardInterrupt:
        click.echo("\nthe effort was not measured")
        return
    for line in effort.lines() if effort else ():
        click.echo(line)
    if effort and session.project:
        click.echo(f"  the whole project against its frozen model: mtloop project stats {session.project}")
    if session.steps:
        click.echo(f"the trace: {session.folder / 'trace.jsonl'}")


def show_notes(session: WorkSession) -> None:
    for note in session.notes:
        click.echo(visible(note))
    session.notes.clear()


@dataclass(frozen=True)
class Reply:
    """What the user did, the text in the line, and the number of keys that were pressed."""

    action: Action
    text: str
    keys: int = 0


class WorkScreen:
    """The loop: show a unit, read a reply, do it."""

    def __init__(self, session: WorkSession) -> None:
        self.session = session
        self.editor = LineEditor(session)
        self._typed_before: tuple[int, str] | None = None  # a text that looked like a command and was none
        self._accepted: tuple[int, str] | None = None  # a text that was not confirmed at once, and a line said why
        self._keys: dict[int, int] = {}  # that were pressed, by unit

    def run(self) -> None:
        self.show_unit()
        while self.handle(self.read()):
            show_notes(self.session)

    def read(self) -> Reply:
        """Read a reply. A typed command becomes its action, unless it is the suggestion itself."""
        text = self.session.text
        reply = self.editor.read(text)
        position = self.session.position
        self._keys[position] = self._keys.get(position, 0) + reply.keys
        typed = reply.text.strip()
        if reply.action is Action.CONFIRM and typed in COMMANDS and reply.text not in self.session.alternatives:
            return Reply(COMMANDS[typed], text)
        return reply

    def handle(self, reply: Reply) -> bool:
        """Do what the user wants. Return False to leave."""
        if reply.action is Action.CONFIRM:
            return self.confirm(reply.text)
        self.session.leave_draft(reply.text)
        if reply.action is Action.LEAVE:
            return False
        actions: dict[Action, Callable[[], None]] = {
            Action.SKIP: lambda: self.move(self.session.next_open(), "no other unit is left"),
            Action.BACK: lambda: self.move(self.session.back(), "this is the first unit"),
            Action.NEXT: lambda: self.move(self.session.forward(), "this is the last unit"),
            Action.UNDO: self.undo,
            Action.WHY: lambda: click.echo(why(self.session)),
            Action.OTHER: lambda: self.session.leave_draft(self.editor.other(reply.text)),
            Action.HELP: lambda: click.echo(help_text()),
        }
        actions[reply.action]()
        return True

    def confirm(self, text: str) -> bool:
        session, before, unit = self.session, self.session.position, self.session.unit
        if not session.left and text == session.file.text(before):
            session.leave_draft(text)
            return False
        if self.is_unknown_command(text) or self.is_refused(text):
            return True
        try:
            correction = session.confirm(text, self._keys.get(before, 0))
        except InputError as error:
            if text.strip() and (session.must_end or session.text != text):
                click.echo(field("typed", text))  # the line will not show it
            if session.must_end:
                raise
            self.show_error(error, unit)
            return True
        self._keys.pop(before, None)
        if correction is not None and not correction:
            click.echo(f"  ({correction})")
        if not session.left:
            click.echo(f"\n  every unit is translated. {WHEN_DONE}.")
        elif session.position <= before:
            click.echo(f"\n  from the beginning: {pluralise(session.left, 'unit')} left")
        self.show_unit()
        return True

    def is_unknown_command(self, text: str) -> bool:
        """Say that a text looks like a command and is none. Typed again, it is a translation."""
        typed, session = text.strip(), self.session
        if not COMMAND.fullmatch(typed) or self._typed_before == (session.position, typed):
            return False
        if any(known.lstrip().startswith("/") for known in (session.unit.source, *session.alternatives)):
            return False
        click.echo(f"  no such command: {typed}; known: {', '.join(COMMANDS)}")
        click.echo("  if it is the translation, type it again")
        self._typed_before = session.position, typed
        return True

    def is_refused(self, text: str) -> bool:
        """Show the checks that a text fails. One that breaks a program or a file must be confirmed twice."""
        from mtloop.translation.quality_checks import SERIOUS

        failed = self.session.check(text) if text.strip() else ()
        for one in failed:
            click.echo(f"  check: {visible(str(one))}")
        if not any(one.name in SERIOUS for one in failed) or self._accepted == (self.session.position, text):
            return False
        click.echo("  not confirmed yet: correct it, or press Enter again to confirm it as it is")
        self._accepted = self.session.position, text
        self.session.leave_draft(text)
        return True

    def move(self, moved: bool, problem: str) -> None:
        self.show_unit() if moved else click.echo(f"  {problem}")

    def show_error(self, error: InputError, unit: FileUnit) -> None:
        """Show an error, and the unit if it is another one than before."""
        click.echo(f"  {visible(str(error))}")
        if self.session.unit != unit:
            self.show_unit()

    def undo(self) -> None:
        unit = self.session.unit
        try:
            undone = self.session.undo()
        except InputError as error:
            if self.session.must_end:
                raise
            self.show_error(error, unit)
            return
        click.echo("  the last confirmation was undone" if undone else "  there is nothing to undo")
        if undone:
            self.show_unit()

    def show_unit(self) -> None:
        session, unit = self.session, self.session.unit
        number = bisect_left(session.workable, session.position) + 1
        state = "confirmed" if session.file.is_confirmed(session.position) else str(unit.state)
        click.echo(f"\n[{number}/{len(session.workable)}] {state}, {session.left} left")
        for key, label in LABELS.items():
            if key in unit.context:
                click.echo(field(label, str(unit.context[key])))
        click.echo(field("source", unit.source))
        if unit.target and session.file.is_open(session.position):
            click.echo(field("file", unit.target))


class LineEditor:
    """The editable line, with its keys and the toolbar that names them."""

    def __init__(self, session: WorkSession) -> None:
        self.session = session
        self._pressed = 0
        self._prompt = self._make_prompt()

    def read(self, text: str) -> Reply:
        """Let the user edit a text, until a key ends it. Keys that were pressed before it was shown do nothing."""
        self._pressed = 0
        try:
            reply = self._prompt.prompt(PROMPT, default=text, pre_run=self._discard_typed)
        except (EOFError, KeyboardInterrupt):  # the terminal was closed, or Ctrl-D in an empty line
            return Reply(Action.LEAVE, self._prompt.default_buffer.text)
        return Reply(reply.action, reply.text, self._pressed)

    def other(self, text: str) -> str:
        """Return the other text for the present unit: the suggestion, or the text in the file."""
        texts = self.session.alternatives
        return texts[(texts.index(text) + 1) % len(texts)] if text in texts else texts[0]

    def _make_prompt(self) -> PromptSession[Reply]:
        from prompt_toolkit import PromptSession
        from prompt_toolkit.history import DummyHistory

        prompt: PromptSession[Any] = PromptSession(
            multiline=True,
            key_bindings=self._bindings(),
            history=DummyHistory(),
            bottom_toolbar=lambda: toolbar(prompt.output.get_size().columns),
            prompt_continuation=lambda width, line, wrapped: " " * width,
        )
        prompt.app.key_processor.before_key_press += self._count
        return prompt

    def _count(self, sender: object) -> None:
        self._pressed += 1

    def _discard_typed(self) -> None:
        from prompt_toolkit.input.typeahead import clear_typeahead

        clear_typeahead(self._prompt.app.input)
        discard_typed()

    def _bindings(self) -> KeyBindings:
        from prompt_toolkit.key_binding import KeyBindings

        bindings = KeyBindings()
        inline = {Action.COMPLETE: self._complete, Action.WHY: self._why, Action.HELP: self._help}
        inline[Action.OTHER] = self._other
        for action, key in KEYS.items():
            bindings.add(key.name, eager=True)(inline.get(action) or _ends_with(action))
        bindings.add("escape", "enter")(lambda event: event.current_buffer.insert_text("\n"))
        return bindings

    def _complete(self, event: KeyPressEvent) -> None:
        prefix = event.current_buffer.document.text_before_cursor
        text = self.session.complete(prefix)
        _discard_keys(event)
        if text == prefix:  # the text after the cursor would be lost
            _print_above(NO_COMPLETION)
        else:
            self._replace(event, text, len(prefix))

    def _other(self, event: KeyPressEvent) -> None:
        is_new = not self.session.has_proposal
        text = self.other(event.current_buffer.text)
        if is_new:
            _discard_keys(event)
        self._replace(event, text, len(text))

    def _replace(self, event: KeyPressEvent, text: str, cursor: int) -> None:
        from prompt_toolkit.document import Document

        event.current_buffer.save_to_undo_stack()
        event.current_buffer.document = Document(text, min(cursor, len(text)))

    def _why(self, event: KeyPressEvent) -> None:
        _print_above(why(self.session))

    def _help(self, event: KeyPressEvent) -> None:
        _print_above(help_text())


def _ends_with(action: Action) -> Callable[[KeyPressEvent], None]:
    """Return a handler that ends the editing with an action."""

    def end(event: KeyPressEvent) -> None:
        event.app.exit(result=Reply(action, event.current_buffer.text))

    return end


def _discard_keys(event: KeyPressEvent) -> None:
    """Throw away the keys that were pressed while the engine was busy with a key: the result was not shown yet."""
    if not event.app.renderer.waiting_for_cpr:  # else the answer of the terminal may be among them
        event.key_processor.empty_queue()
        discard_typed()


def _print_above(text: str) -> None:
    """Print a text above the line that is edited."""
    from prompt_toolkit.application import run_in_terminal

    run_in_terminal(lambda: click.echo(text))


def toolbar(columns: int) -> str:
    """Return the keys, in as many lines as the terminal needs."""
    lines = [""]
    for key in KEYS.values():
        item = f" {key.shown} {key.short} "
        if lines[-1] and len(lines[-1]) + len(item) > columns:
            lines.append("")
        lines[-1] += item
    return "\n".join(lines)


def help_text() -> str:
    """Return all keys and commands."""
    commands = {action: name for name, action in reversed(COMMANDS.items())}
    rows = [f"  {key.shown:<10}{commands.get(action, ''):<9}{key.help}" for action, key in KEYS.items()]
    rows.append(f"  {'Alt-Enter':<19}begin a new line in the text")
    return "\n".join(["", *rows, "  Clear the line (Ctrl-U) to type a command in it.", ""])


def why(session: WorkSession) -> str:
    """Say where the suggestion comes from."""
    because, similar = session.explain()
    rows = [f"  {one.similarity:4.0%}  {one.source}\n        {one.target}" for one in similar]
    return visible("\n".join(["", f"  suggestion: {session.proposal.text}", f"  {because}", *rows, ""]))


def field(label: str, text: str) -> str:
    """Return a label and a text; further lines of the text begin below its first one."""
    return f"  {label:<8}" + visible(text).replace("\n", "\n" + " " * 10)


def visible(text: str) -> str:
    """Return a text without characters that control the terminal."""
    return "".join(one if one == "\n" or unicodedata.category(one) != "Cc" else ascii(one)[1:-1] for one in text)
