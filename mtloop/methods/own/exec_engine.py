"""`exec:COMMAND`: a program in any language as a learner. docs/how-to/own-engine.md describes the protocol."""

from __future__ import annotations

import math
import shlex
import weakref
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from mtloop.core import serialisation
from mtloop.core.errors import InputError, SerialisationError
from mtloop.core.types import JSON, Feedback, Learned, Proposal, Segment
from mtloop.methods.engines import NO_ENGINE
from mtloop.methods.method import Method
from mtloop.methods.own.engine_files import files_in_command, fingerprint_of
from mtloop.methods.own.exec_protocol import RESERVED, Conversation, Hello
from mtloop.methods.own.own_names import EXEC
from mtloop.methods.setting import Setting

DEFAULT_TIMEOUT = 60.0
TIMEOUT = Setting(
    RESERVED, DEFAULT_TIMEOUT, "Seconds to wait for an answer of the program (0: no limit).", in_header=False
)
OWN_PROGRAM = replace(NO_ENGINE, name="own program")
_DESCRIBED: dict[tuple[str, str, str], Method] = {}  # each program is asked once


class ExecEngine:
    """A learner that asks a running program. Use it in a `with` block, or call `close`.

    Without either, the program ends when this object is deleted and when the Python process ends.
    """

    def __init__(self, conversation: Conversation, hello: Hello) -> None:
        self.name, self.learns_from = hello.name, hello.learns_from
        self._conversation = conversation
        self._end = weakref.finalize(self, conversation.end)

    @property
    def pid(self) -> int:
        """The process id of the program."""
        return self._conversation.pid

    def propose(self, segment: Segment) -> Proposal:
        """Ask the program for a translation."""
        answer = self._conversation.ask("propose", **_segment_fields(segment))
        proposal: Proposal = self._completed("propose", Proposal(segment, "", system=self.name), answer)
        return proposal

    def learn(self, proposal: Proposal, feedback: Feedback) -> Learned:
        """Send the feedback for a proposal. Feedback of a kind that the program does not learn from is not sent."""
        if type(feedback) not in self.learns_from:
            return Learned()
        fields: dict[str, JSON] = {"text": proposal.text, "probability": proposal.probability}
        fields |= {"memo": dict(proposal.memo), "feedback": serialisation.encode(feedback)}
        answer = self._conversation.ask("learn", **_segment_fields(proposal.segment), **fields)
        learned: Learned = self._completed("learn", Learned(), answer)
        return learned

    def close(self) -> None:
        """End the program."""
        self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def _completed(self, request: str, result: Any, answer: Mapping[str, Any]) -> Any:
        """Return the result with the fields of the answer; raise EngineError if a trace cannot store them."""
        completed = replace(result, **answer)
        try:
            serialisation.dumps(completed)
        except SerialisationError as error:
            raise self._conversation.failure(request, error) from error
        return completed


class SavingExecEngine(ExecEngine):
    """An engine whose program can save its state to a folder and load it."""

    def save(self, folder: Path) -> None:
        """Let the program write its state to files in the folder."""
        self._conversation.ask("save", folder=str(folder.resolve()))

    def load(self, folder: Path) -> None:
        """Let the program read the state that it saved in the folder."""
        self._conversation.ask("load", folder=str(folder.resolve()))


def start_engine(command: str, /, *, timeout: float = DEFAULT_TIMEOUT, **settings: JSON) -> ExecEngine:
    """Start a program, without a shell, and return its learner; one that can be saved if the program says so."""
    conversation = Conversation(EXEC + command, split_command(command), _checked(timeout))
    hello = conversation.hello(settings)
    return (SavingExecEngine if hello.saves else ExecEngine)(conversation, hello)


def exec_method(name: str, timeout: JSON = None) -> Method:
    """Return the record of the method `exec:COMMAND`. The program is started once, to ask for its settings.

    `timeout`: seconds to wait for this answer (None: the default).
    """
    command = name.removeprefix(EXEC).strip()
    fingerprint = fingerprint_of(files_in_command(split_command(command)))
    seconds = TIMEOUT.convert(DEFAULT_TIMEOUT if timeout is None else timeout)
    assert isinstance(seconds, float)
    key = (command, str(Path.cwd()), fingerprint)  # file names in the command depend on the folder
    if key not in _DESCRIBED:
        _DESCRIBED[key] = _describe(command, fingerprint, _checked(seconds))
    return _DESCRIBED[key]


def _checked(timeout: float) -> float:
    if not (timeout >= 0 and math.isfinite(timeout)):
        raise InputError(f"setting {RESERVED} is {timeout}; expected a number of seconds, 0 or more")
    return timeout


def _describe(command: str, fingerprint: str, timeout: float) -> Method:
    """Ask the program for its description."""
    conversation = Conversation(EXEC + command, split_command(command), timeout)
    try:
        hello = conversation.hello({})
    finally:
        conversation.end()
    return Method(
        name=EXEC + command,
        summary=f"The program {hello.name}.",
        engine=OWN_PROGRAM,
        maker=partial(start_engine, command),
        settings={name: Setting(name, value) for name, value in hello.settings.items()} | {RESERVED: TIMEOUT},
        learns_from=hello.learns_from,
        fingerprint=fingerprint,
    )


def split_command(command: str) -> list[str]:
    """Split a command into words as a POSIX shell does; raise InputError if it is empty or a quote is open."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise InputError(f"the command {command!r} cannot be split into words: {error}") from error
    if not words:
        raise InputError("exec: has no command; expected for example exec:python engine.py")
    return words


def _segment_fields(segment: Segment) -> dict[str, JSON]:
    return {"id": segment.id, "source": segment.source, "context": dict(segment.context)}
