"""The extras of mtloop and the libraries in them. A command checks them before it begins, not after an hour of work."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec

from mtloop.core.errors import MissingExtra, missing_extra

MAX_NAMED = 3  # missing libraries of an extra; if more are missing, its name is clearer
EXTRAS: dict[str, tuple[str, ...]] = {
    "nmt": ("torch", "transformers", "safetensors", "huggingface_hub"),
    "smt": ("thot",),
    "report": ("matplotlib", "jinja2"),
    "service": (
        *("fastapi", "uvicorn", "httptools", "sqlalchemy", "alembic", "aiosqlite", "asyncpg", "jinja2"),
        *("markupsafe", "prometheus_client", "pydantic_core", "pydantic_settings", "starlette"),
        *("py3langid", "python_multipart"),
    ),
    "client": ("httpx2",),
    "tune": ("optuna",),
    "pandas": ("pandas",),
    "terms": ("simplemma",),
    "work": ("prompt_toolkit",),
}


def need_extras(*extras: str) -> None:
    """Raise MissingExtra, with all that is missing, if a library of these extras is not installed. Import nothing.

    An empty name means: no extra. So a command checks everything at once: `need_extras("report", engine.extra)`.

    >>> need_extras("report", "")
    """
    wanted = [extra for extra in extras if extra]
    missing = {extra: [module for module in EXTRAS[extra] if not _is_installed(module)] for extra in wanted}
    missing = {extra: modules for extra, modules in missing.items() if modules}
    names = dict.fromkeys(name for extra, modules in missing.items() for name in _names(extra, modules))
    if names:
        raise missing_extra(list(names), list(missing), without_torch="torch" in missing.get("nmt", ()))


def _names(extra: str, missing: Sequence[str]) -> Sequence[str]:
    """Return the missing libraries of an extra, or its own name if they are many or all of several."""
    is_absent = len(missing) == len(EXTRAS[extra]) > 1
    return [f"mtloop[{extra}]"] if is_absent or len(missing) > MAX_NAMED else missing


def extra_of(error: ModuleNotFoundError) -> MissingExtra | None:
    """Return the error that names the extra of a library that could not be imported; None: it is in no extra."""
    module = (error.name or "").split(".")[0]
    extra = next((extra for extra, modules in EXTRAS.items() if module in modules), None)
    return missing_extra([module], [extra], without_torch=module == "torch") if extra else None


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):  # an import hook refuses it, or a module without a specification replaces it
        return False
