"""The extras of mtloop and the libraries in them. A command checks them before it begins, not after an hour of work."""

from __future__ import annotations

from importlib.util import find_spec

from mtloop.core.errors import MissingExtra, missing_extra

EXTRAS: dict[str, tuple[str, ...]] = {
    "nmt": ("torch", "transformers", "safetensors", "huggingface_hub"),
    "smt": ("thot",),
    "report": ("plotly", "matplotlib", "jinja2"),
    "service": (
        *("fastapi", "uvicorn", "httptools", "sqlalchemy", "alembic", "aiosqlite", "asyncpg", "jinja2", "plotly"),
        *("prometheus_client", "pydantic_settings"),
    ),
    "client": ("httpx2",),
    "tune": ("optuna",),
    "pandas": ("pandas",),
}


def need_extras(*extras: str) -> None:
    """Raise MissingExtra if a library of these extras is not installed. Nothing is imported.

    >>> need_extras("report")
    """
    missing = {extra: [module for module in EXTRAS[extra] if not _is_installed(module)] for extra in extras}
    modules = dict.fromkeys(module for names in missing.values() for module in names)
    if modules:
        raise missing_extra(list(modules), [extra for extra, names in missing.items() if names])


def extra_of(error: ModuleNotFoundError) -> MissingExtra | None:
    """Return the error that names the extra of a library that could not be imported; None: it is in no extra."""
    module = (error.name or "").split(".")[0]
    extra = next((extra for extra, modules in EXTRAS.items() if module in modules), None)
    return missing_extra([module], [extra]) if extra else None


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):  # an import hook refuses it, or a module without a specification replaces it
        return False
