"""The service's database that `task` and `participant` work on, from command-line options."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mtloop.core.extras import need_extras

if TYPE_CHECKING:
    from mtloop.service.administration import Administration


def administration(folder: Path | None, database: str | None) -> Administration:
    """Return access to the tasks and participants in the database that `database_options` name."""
    need_extras("service")
    from mtloop.service.administration import Administration
    from mtloop.service.settings import Settings

    return Administration(Settings.read(folder=folder, database=database))
