"""What a worker process holds while it runs."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.requests import Request

from mtloop.service.accounts.access import Access
from mtloop.service.accounts.limits import RateLimits
from mtloop.service.settings import Settings
from mtloop.service.tasks.store import Store
from mtloop.service.tasks.submissions import Submissions
from mtloop.service.telemetry import Meters


@dataclass(frozen=True)
class Service:
    """The parts behind the routes."""

    settings: Settings
    store: Store
    access: Access
    desk: Submissions
    limits: RateLimits
    meters: Meters

    @classmethod
    def of(cls, settings: Settings, meters: Meters) -> Service:
        store = Store.connect(settings.url)
        limits = RateLimits(store, settings.rate, settings.quota)
        return cls(settings, store, Access(store), Submissions(store), limits, meters)

    def forget(self) -> None:
        """Look everything up again."""
        self.access.forget()
        self.desk.forget()

    async def close(self) -> None:
        await self.desk.drain()
        await self.store.close()


def service(request: Request) -> Service:
    """The service that a request came to."""
    found = request.app.state.service
    assert isinstance(found, Service)
    return found
