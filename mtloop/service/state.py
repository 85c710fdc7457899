"""The parts of the application that a worker process holds while it runs."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.requests import Request

from mtloop.service.accounts.access import Access
from mtloop.service.accounts.limits import RateLimits
from mtloop.service.settings import Settings
from mtloop.service.storage import Storage
from mtloop.service.tasks.run_access import RunAccess
from mtloop.service.tasks.submissions import Submissions
from mtloop.service.telemetry import ServiceMetrics


@dataclass(frozen=True)
class Service:
    """What the routes use."""

    settings: Settings
    storage: Storage
    access: Access
    run_access: RunAccess
    submissions: Submissions
    limits: RateLimits
    metrics: ServiceMetrics

    @classmethod
    def create(cls, settings: Settings, metrics: ServiceMetrics) -> Service:
        storage = Storage.connect(settings.url)
        access = Access(storage.accounts)
        limits = RateLimits(storage.accounts, settings.rate, settings.quota)
        run_access, submissions = RunAccess(access, storage.tasks), Submissions(storage.tasks)
        return cls(settings, storage, access, run_access, submissions, limits, metrics)

    def clear_caches(self) -> None:
        self.run_access.clear_cache()
        self.submissions.clear_cache()

    async def close(self) -> None:
        await self.submissions.drain()
        await self.storage.close()


def service(request: Request) -> Service:
    """The service that a request came to."""
    found = request.app.state.service
    assert isinstance(found, Service)
    return found
