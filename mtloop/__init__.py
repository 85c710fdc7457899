"""Machine translation that learns from every correction, and the instruments that prove it does.

>>> import mtloop
>>> mt = mtloop.load("en-de")
>>> print(mt.translate("Open the pane."))
Öffne die Leiste.
>>> mt.correct("Open the pane.", "Öffnen Sie den Bereich.")  # doctest: +ELLIPSIS
Correction(learned with 3 updates; the perplexity of the correction was ...)
>>> print(mt.translate("Close the pane."))
Schließe den Bereich.

Every name below is imported when it is first used, so `import mtloop` is fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mtloop.core.errors import InputError, MtloopError
    from mtloop.experiments.bandit import bandit
    from mtloop.experiments.compare import compare
    from mtloop.experiments.opposites import opposites
    from mtloop.experiments.run import run
    from mtloop.experiments.score import score
    from mtloop.experiments.select import select
    from mtloop.experiments.stats import stats
    from mtloop.experiments.tuning.tune import tune
    from mtloop.translation.translator import Translator, load

__version__ = "0.1.0"
__all__ = [
    "InputError",
    "MtloopError",
    "Translator",
    "__version__",
    "bandit",
    "compare",
    "load",
    "opposites",
    "run",
    "score",
    "select",
    "stats",
    "tune",
]
_MODULES = {
    "InputError": "core.errors",
    "MtloopError": "core.errors",
    "Translator": "translation.translator",
    "bandit": "experiments.bandit",
    "compare": "experiments.compare",
    "load": "translation.translator",
    "opposites": "experiments.opposites",
    "run": "experiments.run",
    "score": "experiments.score",
    "select": "experiments.select",
    "stats": "experiments.stats",
    "tune": "experiments.tuning.tune",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'mtloop' has no attribute {name!r}")
    return getattr(import_module(f"mtloop.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
