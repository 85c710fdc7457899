"""The protocol between mtloop and a user's program: requests, the fields of their answers, and their checks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mtloop.core import serialisation
from mtloop.core.types import JSON, Feedback
from mtloop.methods.own.engine_error import EngineError
from mtloop.methods.own.engine_process import EngineProcess, ProcessFailure, shortened

PROTOCOL = 1
RESERVED = "timeout"  # a setting of mtloop itself

_ANY_NUMBER, _NONE = (float, int), type(None)
_FIELDS: dict[str, dict[str, tuple[type, ...]]] = {  # of the answer to each request, with their types
    "hello": {"protocol": (int,), "name": (str,), "learns_from": (list,), "settings": (dict,), "saves": (bool,)},
    "propose": {"text": (str,), "probability": (*_ANY_NUMBER, _NONE), "memo": (dict,)},
    "learn": {"updates": (int,), "rejected": (str, _NONE), "info": (dict,)},
    "save": {},
    "load": {},
}
_REQUIRED = {"hello": ("protocol", "name", "learns_from"), "propose": ("text",)}
_TYPE_WORDS = {
    str: "text",
    dict: "an object",
    list: "a list",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
}


@dataclass(frozen=True)
class Hello:
    """What a program says about itself."""

    name: str
    learns_from: tuple[type[Feedback], ...]
    settings: Mapping[str, JSON]
    saves: bool

    @classmethod
    def parse(cls, answer: Mapping[str, JSON]) -> Hello:
        """Return the answer to `hello`; raise ProcessFailure if it cannot be used."""
        names, settings = answer["learns_from"], answer.get("settings", {})
        assert isinstance(names, list)
        assert isinstance(settings, dict)
        if answer["protocol"] != PROTOCOL:
            raise ProcessFailure(f"expected protocol {PROTOCOL}, got {answer['protocol']!r}")
        for name in names:
            if name not in serialisation.FEEDBACK:
                known = ", ".join(serialisation.FEEDBACK)
                raise ProcessFailure(f"field learns_from has {name!r}; expected names from: {known}")
        _check_settings(settings)
        learns_from = tuple(serialisation.FEEDBACK[str(name)] for name in names)
        return cls(str(answer["name"]), learns_from, settings, bool(answer.get("saves", False)))


class Conversation:
    """Requests to a program and its checked answers. A failure ends the program and raises EngineError."""

    def __init__(self, engine: str, arguments: list[str], timeout: float) -> None:
        self.engine, self.timeout, self._number, self._segment = engine, timeout, 0, ""
        try:
            self._process = EngineProcess(arguments)
        except ProcessFailure as failure:
            raise EngineError(engine, "start", "", str(failure)) from failure

    @property
    def pid(self) -> int:
        return self._process.pid

    def hello(self, settings: Mapping[str, JSON]) -> Hello:
        """Send the settings; return what the program says about itself."""
        answer = self.ask("hello", protocol=PROTOCOL, settings=dict(settings))
        try:
            return Hello.parse(answer)
        except ProcessFailure as failure:
            raise self.failure("hello", failure) from failure

    def ask(self, request: str, **fields: JSON) -> dict[str, JSON]:
        """Send a request and return its answer, without the number. Requests are numbered from 1.

        An error names the segment of this request, or of the one before.
        """
        self._number += 1
        self._segment = str(fields.get("id", self._segment))
        try:
            answer = self._process.ask({"n": self._number, "do": request, **fields}, self.timeout)
            check_answer(request, self._number, answer)
        except ProcessFailure as failure:
            raise self.failure(request, failure, str(fields.get("folder", ""))) from failure
        return {name: value for name, value in answer.items() if name != "n"}

    def failure(self, request: str, problem: Exception, folder: str = "") -> EngineError:
        """End the program and return the error to raise."""
        self.end()
        return EngineError(self.engine, request, self._segment, str(problem), folder)

    def end(self) -> None:
        """End the program."""
        self._process.end()


def check_answer(request: str, number: int, answer: Mapping[str, JSON]) -> None:
    """Raise ProcessFailure if the answer reports an error or belongs to another request, or if a field is wrong."""
    if "error" in answer:
        raise ProcessFailure(f"the program reports: {' '.join(str(answer['error']).split())}")
    if isinstance(answer.get("n"), bool) or answer.get("n") != number:
        got = f"{answer['n']!r}; print one line for each request" if "n" in answer else shortened(str(dict(answer)))
        raise ProcessFailure(f'expected "n": {number}, the number of this request, got {got}')
    _check_fields(request, {name: value for name, value in answer.items() if name != "n"})


def _check_fields(request: str, answer: Mapping[str, JSON]) -> None:
    """Raise ProcessFailure if a field is missing, unknown or wrong."""
    fields, required = _FIELDS[request], _REQUIRED.get(request, ())
    if any(name not in answer for name in required) or any(name not in fields for name in answer):
        expected = _join(required, "and") or _join(tuple(fields), "or") or "no field"
        raise ProcessFailure(f"expected a JSON object with {expected}, got {shortened(str(dict(answer)))}")
    for name, value in answer.items():
        if not isinstance(value, fields[name]) or (isinstance(value, bool) and bool not in fields[name]):
            raise ProcessFailure(f"field {name} is {shortened(repr(value))}; expected {_TYPE_WORDS[fields[name][0]]}")
    probability = answer.get("probability")
    if isinstance(probability, _ANY_NUMBER) and not 0 <= probability <= 1:
        raise ProcessFailure(f"field probability is {probability}; expected a number from 0 to 1")


def _check_settings(settings: Mapping[str, JSON]) -> None:
    for name, default in settings.items():
        if name == RESERVED:
            raise ProcessFailure(f"the setting {RESERVED} belongs to mtloop; give the one of the program another name")
        if isinstance(default, dict | list):
            raise ProcessFailure(
                f"setting {name} is {shortened(repr(default))}; expected text, a number, true or false"
            )


def _join(names: tuple[str, ...], word: str) -> str:
    quoted = [f'"{name}"' for name in names]
    return f"{', '.join(quoted[:-1])} {word} {quoted[-1]}" if len(quoted) > 1 else "".join(quoted)
