"""Learners of a user's own class whose errors name the engine and the segment."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mtloop.core.errors import MtloopError
from mtloop.core.protocols import Learner
from mtloop.core.types import Feedback, Learned, Proposal, Segment
from mtloop.methods.own.engine_error import EngineError
from mtloop.methods.own.result_checks import declaration_problem, learned_problem, proposal_problem


def make_named(name: str, maker: Callable[..., Any], /, *model: Any, **settings: Any) -> Learner:
    """Make a learner. An exception in its constructor or in a method of learners becomes an EngineError."""
    construction = _Request(name, "construction")
    learner = construction.call(maker, *model, **settings)
    if not isinstance(learner, Learner):
        raise construction.error(f"expected a learner with propose and learn, got {type(learner).__name__}")
    construction.check(construction.call(declaration_problem, learner))
    with suppress(TypeError):  # a class in C, whose instances cannot change their class
        learner.__class__ = _named_class(type(learner), name)
    return learner


def line_in(error: BaseException, path: Path | None) -> int | None:
    """Return the last line of a file in the traceback of an error; None if the file is not in it."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if path is not None and frame.filename == str(path)]
    return lines[-1] if lines else None


@dataclass(frozen=True)
class _Request:
    """What a learner is asked to do, for the error that names it."""

    engine: str
    verb: str
    segment: str = ""
    folder: str = ""

    def call(self, function: Callable[..., Any], /, *given: Any, **keywords: Any) -> Any:
        """Call a function of the engine. Everything that it raises becomes an EngineError, except Ctrl-C."""
        try:
            return function(*given, **keywords)
        except MtloopError:
            raise
        except BaseException as error:
            if type(error) is KeyboardInterrupt:
                raise
            text = f"{type(error).__name__}: {' '.join(str(error).split())}".rstrip(": ")
            raise self.error(f"{text} ({_place(error, function)})") from error

    def check(self, problem: str) -> None:
        """Raise EngineError if there is a problem."""
        if problem:
            raise self.error(problem)

    def error(self, problem: str) -> EngineError:
        return EngineError(self.engine, self.verb, self.segment, problem, self.folder)


def _named_class(kind: Any, name: str) -> type:
    """Return a subclass of the learner's class: isinstance, attributes and signatures stay the same."""

    def propose(self: Any, segment: Segment, *more: Any, **keywords: Any) -> Proposal:
        request = _Request(name, "propose", segment.id)
        proposal: Proposal = request.call(kind.propose, self, segment, *more, **keywords)
        request.check(proposal_problem(proposal, segment))
        return proposal

    def learn(self: Any, proposal: Proposal, feedback: Feedback) -> Learned:
        request = _Request(name, "learn", proposal.segment.id)
        learned: Learned = request.call(kind.learn, self, proposal, feedback)
        request.check(learned_problem(learned))
        return learned

    def save(self: Any, folder: Path) -> None:
        _Request(name, "save", folder=str(folder)).call(kind.save, self, folder)

    def load(self: Any, folder: Path) -> None:
        _Request(name, "load", folder=str(folder)).call(kind.load, self, folder)

    def close(self: Any) -> None:
        _Request(name, "close").call(kind.close, self)

    optional = {verb.__name__: verb for verb in (save, load, close) if callable(getattr(kind, verb.__name__, None))}
    members = {"propose": propose, "learn": learn, **optional, "__slots__": (), "__module__": kind.__module__}
    return type(kind.__name__, (kind,), members)


def _place(error: BaseException, function: Callable[..., Any]) -> str:
    """Return file and line of an error: in the file of the engine, or where it was raised."""
    module = sys.modules.get(getattr(function, "__module__", ""))
    file = getattr(module, "__file__", None)
    if file and (line := line_in(error, Path(file))):
        return f"{Path(file).name}, line {line}"
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{Path(last.filename).name}, line {last.lineno}"
