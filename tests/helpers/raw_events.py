"""Events as the database holds them, without the checks of the service."""

from __future__ import annotations

from collections.abc import Sequence

from mtloop.service.project_log.event_log import Event
from mtloop.service.project_log.store import insert_events, take_numbers
from mtloop.service.storage import Storage


async def append_events(
    storage: Storage, project_id: int, events: Sequence[Event], participant_id: int | None = None
) -> list[int] | None:
    """Add events to the log of a project, and return their numbers. None: the project does not exist.

    Nothing is compared with what is there, and no unit of a document follows.
    """
    async with storage.database.writing() as connection:
        last = await take_numbers(connection, project_id, len(events))
        if last is None:
            return None
        first = last - len(events) + 1
        await insert_events(connection, project_id, first, events, participant_id)
    return list(range(first, last + 1))
