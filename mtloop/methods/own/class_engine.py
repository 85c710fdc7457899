"""`file.py:Class` and `module:Class`: a Python class, or a function that returns a learner, as a method."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from hashlib import blake2b
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType
from typing import Any

from mtloop.core.errors import InputError, MtloopError, UnknownName
from mtloop.core.protocols import Learner
from mtloop.methods.engines import NMT, NO_ENGINE
from mtloop.methods.method import Method
from mtloop.methods.own.engine_files import fingerprint_of
from mtloop.methods.own.named_errors import line_in, make_named
from mtloop.methods.own.result_checks import declaration_problem

OWN_CLASS = replace(NO_ENGINE, name="own class")
EXAMPLE = "expected FILE.py:CLASS or MODULE:CLASS"


def class_method(name: str) -> Method:
    """Return the record of the method `file.py:Class` or `module:Class`, with a hash of the file."""
    module, maker = _find(name)
    method = method_of_maker(name, maker)
    files = _files_of(module.__name__, _module_of(maker))
    return replace(method, maker=partial(_make_by_name, name), fingerprint=fingerprint_of(files))


def method_of_maker(name: str, maker: Callable[..., Learner] | Method) -> Method:
    """Return the record of a class or function outside mtloop. Its one positional parameter gets a neural model.

    Raise InputError if it cannot be used as a method. A `Method` is returned as it is.
    """
    if isinstance(maker, Method):
        return maker
    _check_callable(name, maker)
    parameters = _parameters(name, maker)
    models = [one for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    _check_model_parameter(name, models)
    method = Method.of(name, maker, NMT if models else OWN_CLASS)
    required = [one.name for one in parameters if one.kind is one.KEYWORD_ONLY and one.default is one.empty]
    _check_settings(name, method, required)
    return replace(method, maker=partial(make_named, name, maker))


def method_of_plugin(point: EntryPoint) -> Method:
    """Return the record of a method that a package registers as an entry point; raise InputError if it is broken."""
    try:
        maker = point.load()
        method = method_of_maker(point.name, maker)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        reason = str(error) if isinstance(error, MtloopError) else _raised(error)
        raise InputError(f"{plugin_title(point)} cannot be used: {reason}; repair or uninstall it") from error
    package = f"{point.dist.name} {point.dist.version}" if point.dist else ""
    files = fingerprint_of(_files_of(point.module, _module_of(maker)))
    return replace(method, fingerprint=", ".join(filter(None, (package, files, method.fingerprint))))


def plugin_title(point: EntryPoint) -> str:
    """Return the name of a method and of the package that registers it, for messages."""
    return f"the method {point.name} of the package {point.dist.name}" if point.dist else f"the method {point.name}"


def load_class(name: str) -> Callable[..., Learner]:
    """Return the class or function that a name refers to: `path/to/file.py:Class` or `module:Class`.

    The last colon separates the class, so that `C:/engines/toy.py:Toy` works.
    """
    return _find(name)[1]


def _find(name: str) -> tuple[ModuleType, Callable[..., Learner]]:
    """Return the module that a name refers to, and the class or function in it."""
    place, colon, attribute = name.rpartition(":")
    if not colon or not place or not attribute.isidentifier():
        raise InputError(f"engine {name!r} names no class; {EXAMPLE}")
    module = _import_file(Path(place).expanduser()) if place.endswith(".py") else _import_module(place)
    if not hasattr(module, attribute):
        raise UnknownName("class", attribute, _makers_in(module), owner=place)
    return module, getattr(module, attribute)


def _make_by_name(name: str, /, *model: Any, **settings: Any) -> Learner:
    return make_named(name, load_class(name), *model, **settings)


def _import_file(path: Path) -> ModuleType:
    """Import a file under a name that its path and its bytes determine, so that a changed file is imported again.

    It is compiled here, because Python's bytecode cache may miss a change within the same second.
    """
    try:
        source = path.read_bytes()
    except OSError as error:
        raise InputError(f"the engine cannot be read: {error.strerror}; {EXAMPLE}", path=path) from error
    digest = blake2b(str(path.resolve()).encode() + b"\0" + source, digest_size=8).hexdigest()
    name = f"mtloop_engine_{digest}_{path.stem}"
    if name not in sys.modules:
        module = sys.modules[name] = ModuleType(name)
        module.__file__ = str(path.resolve())
        with _import_errors(path, name), _on_path(path.resolve().parent, 0):
            exec(compile(source, module.__file__, "exec", dont_inherit=True), module.__dict__)
    return sys.modules[name]


def _import_module(name: str) -> ModuleType:
    """Import an installed module, or one in the current folder."""
    with _on_path(Path.cwd(), len(sys.path)):
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{name}.".startswith(f"{error.name}."):
                raise _import_error(name, error) from error
            raise InputError(f"there is no module {error.name!r} for the engine {name!r}; {EXAMPLE}") from error
        except (Exception, SystemExit) as error:
            raise _import_error(name, error) from error


def _import_error(place: str | Path, error: BaseException, path: Path | None = None) -> InputError:
    line = error.lineno if isinstance(error, SyntaxError) else line_in(error, path) if path else None
    if path:
        return InputError(f"the engine cannot be imported: {_raised(error)}", path=place, line=line)
    return InputError(f"the engine's module {place} cannot be imported: {_raised(error)}")


def _raised(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


@contextmanager
def _import_errors(path: Path, name: str) -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        del sys.modules[name]
        if isinstance(error, KeyboardInterrupt):
            raise
        raise _import_error(path, error, path.resolve()) from error


@contextmanager
def _on_path(folder: Path, position: int) -> Iterator[None]:
    """Put a folder on sys.path, so that a module finds those beside it."""
    if position and str(folder) in sys.path:
        yield
        return
    sys.path.insert(position, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))


def _makers_in(module: ModuleType) -> list[str]:
    """The names in a module that could be meant: its own learner classes and functions."""
    own = [(name, value) for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__]
    return [name for name, value in own if not name.startswith("_") and (inspect.isfunction(value) or _fits(value))]


def _fits(value: object) -> bool:
    return inspect.isclass(value) and all(callable(getattr(value, verb, None)) for verb in ("propose", "learn"))


def _check_callable(name: str, maker: object) -> None:
    if inspect.isclass(maker):
        if missing := [verb for verb in ("propose", "learn") if not callable(getattr(maker, verb, None))]:
            raise InputError(f"engine {name}: the class has no method {' and no method '.join(missing)}")
        if problem := declaration_problem(maker):
            raise InputError(f"engine {name}: {problem}")
    elif not callable(maker):
        raise InputError(
            f"engine {name} is {type(maker).__name__}; expected a class, or a function that returns a learner"
        )


def _parameters(name: str, maker: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(maker).parameters.values())
    except (TypeError, ValueError) as error:
        raise InputError(f"engine {name} has no signature that Python can read, so its settings are unknown") from error


def _check_model_parameter(name: str, models: list[inspect.Parameter]) -> None:
    if len(models) > 1:
        listed = ", ".join(one.name for one in models)
        raise InputError(f"engine {name} has {len(models)} positional parameters ({listed}); {_RULE}")
    if models and models[0].default not in (models[0].empty, None):
        raise InputError(f"engine {name}: the parameter {models[0].name} is positional; {_RULE}")


def _check_settings(name: str, method: Method, required: list[str]) -> None:
    if required:
        raise InputError(f"engine {name}: the setting {required[0]} has no default value; give it one")
    for setting in method.settings.values():
        if not isinstance(setting.default, str | bool | int | float | None):
            kind = type(setting.default).__name__
            raise InputError(
                f"engine {name}: the default of {setting.name} is {kind}; expected text, a number or a bool"
            )


_RULE = "one positional parameter gets the model, and settings are keyword-only: def __init__(self, *, size=1)"


def _module_of(maker: object) -> str:
    """The name of the module that defines a class or function."""
    while isinstance(maker, partial | Method):
        maker = maker.func if isinstance(maker, partial) else maker.maker
    return getattr(maker, "__module__", "")


def _files_of(*modules: str) -> list[Path]:
    """The files of modules, each once: the one that the user named, and the one that defines the class."""
    files = [getattr(sys.modules.get(name), "__file__", None) for name in modules]
    return [Path(file) for file in dict.fromkeys(files) if file and Path(file).is_file()]
