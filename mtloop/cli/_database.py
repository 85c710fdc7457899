"""Access to the service's database, for `task` and `participant`. The service need not be running."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from mtloop.core.errors import InputError
from mtloop.core.extras import need_extras

if TYPE_CHECKING:
    from mtloop.service.storage import Storage

T = TypeVar("T")


def with_storage(
    work: Callable[[Storage], Awaitable[T]], folder: Path | None, database: str | None, *, new: bool = False
) -> T:
    """Open the database, migrate its schema, run `work`, and close it. Create a missing database only if `new`."""
    need_extras("service")
    from mtloop.service.settings import FILE, Settings

    settings = Settings.read(folder=folder, database=database)
    if not new and not settings.database and not (settings.folder / FILE).exists():
        raise InputError("this folder contains no database; check --folder", path=settings.folder)
    return asyncio.run(_run(work, settings.url))


async def _run(work: Callable[[Storage], Awaitable[T]], url: str) -> T:
    from mtloop.service.database import is_outage
    from mtloop.service.storage import Storage

    storage = Storage.connect(url)
    try:
        await storage.migrate()
        return await work(storage)
    except Exception as error:
        if is_outage(error):
            raise InputError(
                f"the database is not reachable: {str(getattr(error, 'orig', error)).splitlines()[0]}"
            ) from error
        raise
    finally:
        await storage.close()
