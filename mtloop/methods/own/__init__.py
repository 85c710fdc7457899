"""A user's own engine as a method: a Python class (`file.py:Class`), a program (`exec:COMMAND`), or a server's project.

The project is named by its address: `http://HOST/PROJECT`.
"""

from __future__ import annotations

from mtloop.core.types import JSON
from mtloop.methods.method import Method
from mtloop.methods.own.class_engine import class_method, load_class, method_of_maker, method_of_plugin, plugin_title
from mtloop.methods.own.engine_error import EngineError
from mtloop.methods.own.exec_engine import ExecEngine, exec_method, start_engine
from mtloop.methods.own.http_engine import HttpEngine, http_method
from mtloop.methods.own.own_names import EXEC, is_address, is_own_engine, refuse_engine_from_file

__all__ = [
    "EXEC",
    "EngineError",
    "ExecEngine",
    "HttpEngine",
    "is_address",
    "is_own_engine",
    "load_class",
    "method_of_maker",
    "method_of_plugin",
    "own_method",
    "plugin_title",
    "refuse_engine_from_file",
    "start_engine",
]


def own_method(name: str, timeout: JSON = None) -> Method:
    """Return the record of a user's own engine; raise InputError or EngineError if it cannot be used.

    `timeout`: seconds that a program or a server gets to describe itself (None: the default).
    """
    if is_address(name):
        return http_method(name, timeout)
    return exec_method(name, timeout) if name.startswith(EXEC) else class_method(name)
