"""Learners of a user's own class whose errors name the engine and the segment."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from mtloop.core.errors import MtloopError
from mtloop.core.protocols import Learner
from mtloop.core.types import Feedback, Learned, Proposal, Segment
from mtloop.methods.own.engine_error import EngineError


def make_named(name: str, maker: Callable[..., Any], /, *model: Any, **settings: Any) -> Learner:
    """Make a learner. An exception in its constructor, `propose` or `learn` becomes an EngineError."""
    learner = _call(name, "construction", "", maker, *model, **settings)
    if not isinstance(learner, Learner):
        kind = type(learner).__name__
        raise EngineError(name, "construction", "", f"expected a learner with propose and learn, got {kind}")
    with suppress(TypeError):  # a class in C, whose instances cannot change their class
        learner.__class__ = _named_class(type(learner), name)
    return learner


def line_in(error: BaseException, path: Path | None) -> int | None:
    """Return the last line of a file in the traceback of an error; None if the file is not in it."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if path is not None and frame.filename == str(path)]
    return lines[-1] if lines else None


def _named_class(kind: type, name: str) -> type:
    """Return a subclass of the learner's class: isinstance, attributes and signatures stay the same."""

    def propose(self: Any, segment: Segment, *more: Any, **keywords: Any) -> Proposal:
        proposal = _call(name, "propose", segment.id, kind.propose, self, segment, *more, **keywords)  # type: ignore[attr-defined]
        return _checked(name, "propose", segment.id, proposal, Proposal)  # type: ignore[no-any-return]

    def learn(self: Any, proposal: Proposal, feedback: Feedback) -> Learned:
        segment = proposal.segment.id
        learned = _call(name, "learn", segment, kind.learn, self, proposal, feedback)  # type: ignore[attr-defined]
        return _checked(name, "learn", segment, learned, Learned)  # type: ignore[no-any-return]

    members = {"propose": propose, "learn": learn, "__slots__": (), "__module__": kind.__module__}
    return type(kind.__name__, (kind,), members)


def _checked(name: str, request: str, segment: str, result: Any, expected: type) -> Any:
    if not isinstance(result, expected):
        problem = f"expected {expected.__name__} from mtloop.core, got {type(result).__name__}"
        raise EngineError(name, request, segment, problem)
    return result


def _call(name: str, request: str, segment: str, function: Callable[..., Any], /, *given: Any, **keywords: Any) -> Any:
    try:
        return function(*given, **keywords)
    except MtloopError:
        raise
    except Exception as error:
        text = f"{type(error).__name__}: {' '.join(str(error).split())}".rstrip(": ")
        raise EngineError(name, request, segment, f"{text} ({_place(error, function)})") from error


def _place(error: Exception, function: Callable[..., Any]) -> str:
    """Return file and line of an error: in the file of the engine, or where it was raised."""
    module = sys.modules.get(getattr(function, "__module__", ""))
    file = getattr(module, "__file__", None)
    if file and (line := line_in(error, Path(file))):
        return f"{Path(file).name}, line {line}"
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{Path(last.filename).name}, line {last.lineno}"
