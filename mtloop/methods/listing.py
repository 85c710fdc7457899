"""The registry as text: a table of all methods, and the settings of one method."""

from __future__ import annotations

import json
from collections.abc import Iterator
from textwrap import wrap

from mtloop.core.types import feedback_words
from mtloop.methods.method import Method
from mtloop.methods.registry import all_methods
from mtloop.methods.setting import Setting
from mtloop.report.table import Table

SUMMARY_WIDTH = 72


def method_table() -> Table:
    """Return the name, the summary, the feedback and the engine of every method."""
    known = all_methods().values()
    cells = [[one.name, learns_from(one), one.engine.name, _shorten(one.summary)] for one in known]
    notes = [
        "Parts combine with +: a scope (bias full top fixed lasso lora) with memory and copy, such as lasso+memory.",
        "mtloop methods NAME shows the settings of a method. Your own engine: file.py:Class module:Class exec:COMMAND.",
    ]
    return Table(["method", "learns from", "engine", "summary"], cells, [one.to_json() for one in known], "", notes, 4)


def settings_text(method: Method) -> str:
    """Return what a method is, and a table of its settings."""
    return "\n".join(_settings_lines(method))


def settings_table(method: Method) -> Table:
    """Return the settings of a method: name, type or choices, default and help."""
    cells = [[one.name, _type(one), json.dumps(one.default), one.help] for one in method.settings.values()]
    records = [setting.to_json() for setting in method.settings.values()]
    return Table(["setting", "type", "default", "meaning"], cells, records, text_columns=4)


def learns_from(method: Method) -> str:
    """Return the kinds of feedback in words."""
    if method.learns_from is None:
        return "unknown"
    kinds = [feedback_words(kind) for kind in method.learns_from]
    return "any feedback" if len(kinds) > 2 else " or ".join(kinds) or "nothing"


def _settings_lines(method: Method) -> Iterator[str]:
    yield method.name
    yield from (f"  {line}" for line in wrap(method.summary, 100))
    yield ""
    yield f"  learns from  {learns_from(method)}"
    yield f"  engine       {method.engine.name}"
    if method.paper:
        yield f"  paper        {method.paper}"
    yield f"\n{settings_table(method)}" if method.settings else "\n  It has no settings."


def _type(setting: Setting) -> str:
    return ", ".join(setting.choices) if setting.choices else setting.expected


def _shorten(text: str) -> str:
    return text if len(text) <= SUMMARY_WIDTH else f"{text[: SUMMARY_WIDTH - 3].rsplit(' ', 1)[0]} ..."
