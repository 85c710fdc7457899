"""What the commands that use a project share: its address, and the key."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from mtloop.cli._options import PATH, is_given
from mtloop.core.errors import InputError

F = TypeVar("F", bound=Callable[..., Any])
KEY_VARIABLE = "MTLOOP_KEY"
KEY_HELP = f"File with the API key that `participant add` printed.  [default: the key in {KEY_VARIABLE}]"
NOT_WITH_PROJECT = ("model", "method", "pairs", "delta", "glossary", "threads", "beam_size", "save_delta")


def key_file_option(command: F) -> F:
    """Add --key-file; `use_key` takes it."""
    return click.option("--key-file", type=PATH, help=KEY_HELP)(command)


def project_options(command: F) -> F:
    """Add --project and --key-file, for a command that translates with a project in place of a model."""
    text = "Translate with this project of a server, in place of a model: http://HOST/PROJECT."
    return click.option("--project", metavar="URL", help=text)(key_file_option(command))


def use_key(key_file: Path | None) -> None:
    """Let this process, and those that it starts, use the key in a file."""
    if key_file is not None:
        os.environ[KEY_VARIABLE] = key_file.read_text(encoding="utf-8").strip()


def with_project(
    context: click.Context, *, project: str | None, key_file: Path | None, **options: Any
) -> dict[str, Any]:
    """Return the options of a command with the project as its method.

    The project learned before, so what is translated in files is learned only if the user asks for it.
    """
    if project is None:
        if key_file is not None:
            raise InputError("--key-file is the key of a project; give --project too")
        return options
    from mtloop.methods.own import is_address

    if not is_address(project):
        raise InputError(f"--project is {project!r}; expected http://HOST/PROJECT or https://HOST/PROJECT")
    for name in NOT_WITH_PROJECT:
        if is_given(context, name):
            option = "set" if name == "pairs" else name.replace("_", "-")
            raise InputError(f"give --project or --{option}, not both; the project has its own model and method")
    use_key(key_file)
    if not is_given(context, "learn") and not options["learn_from"]:
        options["learn"] = 0
    return options | {"method": project}
