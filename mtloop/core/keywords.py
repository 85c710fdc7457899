"""The settings of a method or policy: the keyword-only parameters of the function or class that makes it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

from mtloop.core.types import JSON


def keywords_of(maker: Callable[..., Any]) -> Iterator[tuple[str, JSON]]:
    """Yield the name and the default value of each setting."""
    for name, parameter in inspect.signature(maker).parameters.items():
        if parameter.kind is parameter.KEYWORD_ONLY:
            yield name, parameter.default
