"""A setting of a method: its name, type, default value, help text and choices.

Settings are the keyword-only parameters of the function or class that makes the learner. The annotation holds the
help text, and `Literal` the choices. `NAMES_FILE` marks a text that names a file or a folder:

    def bias(model, *, learning_rate: Annotated[float, "Learning rate of SGD."] = 0.1): ...
    def fixed(model, *, tensors_file: Annotated[str, "File that lists the tensors.", NAMES_FILE] = ""): ...
"""

from __future__ import annotations

import dataclasses
import difflib
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from mtloop.core.conversion import TYPE_WORDS, convert
from mtloop.core.errors import InputError
from mtloop.core.types import JSON

NAMES_FILE = object()  # a note in the annotation of a setting


@dataclass(frozen=True)
class Setting:
    """One setting. `convert` accepts a JSON value or its text. `in_header`: the header of a trace stores it.

    `names_file`: its value is the path of a file or a folder. A server does not let others choose it.

    >>> Setting("optimiser", "sgd", choices=("sgd", "adam")).convert("adamw")
    Traceback (most recent call last):
    ...
    mtloop.core.errors.InputError: setting optimiser is 'adamw'; did you mean 'adam'? expected sgd or adam
    """

    name: str
    default: JSON
    help: str = ""
    choices: tuple[str, ...] = ()
    in_header: bool = True
    names_file: bool = False

    def convert(self, value: JSON) -> JSON:
        """Return the value in the type of the setting; raise InputError if that is not possible."""
        converted = convert(self.default, value, self.name)
        if self.choices and converted not in self.choices:
            close = difflib.get_close_matches(str(value), self.choices, n=1)
            suggestion = f" did you mean {close[0]!r}?" if close else ""
            raise InputError(f"setting {self.name} is {value!r:.40};{suggestion} expected {self.expected}")
        return converted

    @property
    def expected(self) -> str:
        """The type in words, or the choices."""
        if self.choices:
            return f"{', '.join(self.choices[:-1])} or {self.choices[-1]}"
        return TYPE_WORDS.get(type(self.default), "any value")

    def to_json(self) -> dict[str, JSON]:
        choices: dict[str, JSON] = {"choices": list(self.choices)} if self.choices else {}
        kind = type(self.default).__name__ if self.default is not None else "any"
        return {"name": self.name, "type": kind, "default": self.default, "help": self.help, **choices}


def settings_of_maker(maker: Callable[..., Any]) -> dict[str, Setting]:
    """Return the settings of a function or class: its keyword-only parameters."""
    return {setting.name: setting for setting in _parameters(maker)}


def settings_of_dataclass(defaults: Any) -> dict[str, Setting]:
    """Return the fields of a dataclass instance as settings; its values are the defaults."""
    hints = get_type_hints(type(defaults), include_extras=True)
    fields = dataclasses.fields(defaults)
    return {one.name: _setting(one.name, getattr(defaults, one.name), hints[one.name]) for one in fields}


def with_defaults(settings: Mapping[str, Setting], defaults: Mapping[str, JSON]) -> dict[str, Setting]:
    """Return the settings with other default values."""
    changed = {name: dataclasses.replace(settings[name], default=value) for name, value in defaults.items()}
    return {**settings, **changed}


def _parameters(maker: Callable[..., Any]) -> Iterator[Setting]:
    scope = getattr(inspect.unwrap(maker.__init__ if inspect.isclass(maker) else maker), "__globals__", {})
    for parameter in inspect.signature(maker).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY:
            default = None if parameter.default is parameter.empty else parameter.default
            yield _setting(parameter.name, default, _evaluated(parameter.annotation, scope))


def _evaluated(annotation: Any, scope: dict[str, Any]) -> Any:
    """Return the annotation; its text is evaluated where it was written. Unknown names give None."""
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, scope)
    except (NameError, AttributeError, TypeError, SyntaxError):
        return None


def _setting(name: str, default: JSON, annotation: Any) -> Setting:
    text, names_file = "", False
    if get_origin(annotation) is Annotated:
        annotation, *notes = get_args(annotation)
        text = next((note for note in notes if isinstance(note, str)), "")
        names_file = NAMES_FILE in notes
    choices = get_args(annotation) if get_origin(annotation) is Literal else ()
    if annotation is float and type(default) is int:
        default = float(default)
    return Setting(name, default, text, choices, names_file=names_file)
