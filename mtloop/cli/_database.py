"""What `task` and `participant` have in common: work on the service's database, with or without the service running."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from mtloop.core.errors import InputError, need

if TYPE_CHECKING:
    from mtloop.service.tasks.store import Store

T = TypeVar("T")


def with_store(
    work: Callable[[Store], Awaitable[T]], folder: Path | None, database: str | None, *, new: bool = False
) -> T:
    """Open the database, bring its schema up to date, do the work, close it. Only where it may be `new` is one made."""
    need("sqlalchemy", "service")
    from mtloop.service.settings import FILE, Settings

    settings = Settings.read(folder=folder, database=database)
    if not new and not settings.database and not (settings.folder / FILE).exists():
        raise InputError("holds no tasks and no participants; is it the right --folder?", path=settings.folder)
    return asyncio.run(_done(work, settings.url))


async def _done(work: Callable[[Store], Awaitable[T]], url: str) -> T:
    from mtloop.service.tasks.store import Store, is_outage

    store = Store.connect(url)
    try:
        await store.migrate()
        return await work(store)
    except Exception as error:
        if is_outage(error):
            raise InputError(
                f"the database does not answer: {str(getattr(error, 'orig', error)).splitlines()[0]}"
            ) from error
        raise
    finally:
        await store.close()
