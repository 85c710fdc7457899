"""The parts of the application that a worker process holds while it runs."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from starlette.requests import Request

from mtloop.service.accounts.access import Access
from mtloop.service.accounts.address_limits import AddressLimits
from mtloop.service.accounts.body_budget import BodyBudget
from mtloop.service.accounts.limits import RateLimits
from mtloop.service.accounts.metering import Metering
from mtloop.service.accounts.valid_credentials import ValidCredentials
from mtloop.service.background_work import BackgroundWork
from mtloop.service.campaigns.campaign_calls import Campaigns
from mtloop.service.database import is_outage, outage_reason
from mtloop.service.engines.engine_pool import EnginePool
from mtloop.service.problems import TOO_MANY_UPLOADS, ProblemError
from mtloop.service.project_log.change_watch import ChangeWatch
from mtloop.service.project_log.glossary_cache import GlossaryCache
from mtloop.service.project_log.project_access import ProjectAccess
from mtloop.service.readiness import Readiness
from mtloop.service.settings import Settings
from mtloop.service.storage import Storage
from mtloop.service.tasks.run_access import RunAccess
from mtloop.service.tasks.submissions import Submissions
from mtloop.service.telemetry import LOGGER, ServiceMetrics

MAX_UPLOADS = 2  # files that a participant sends at the same time to a worker
MAX_HEAVY_WORK = 1  # imports that are parsed, and statistics that are computed, at the same time in a worker


class UploadCounts:
    """How many files each participant sends now. Each takes its size on the disk."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()

    @contextmanager
    def begin(self, participant_id: int) -> Iterator[None]:
        """Count an upload during the block. Raise the problem 429 if the participant sends too many."""
        if self._counts[participant_id] >= MAX_UPLOADS:
            raise ProblemError(TOO_MANY_UPLOADS)
        self._counts[participant_id] += 1
        try:
            yield
        finally:
            self._counts[participant_id] -= 1
            if not self._counts[participant_id]:
                del self._counts[participant_id]


@dataclass(frozen=True)
class Service:
    """What the routes use."""

    settings: Settings
    storage: Storage
    access: Access
    run_access: RunAccess
    submissions: Submissions
    metering: Metering
    readiness: Readiness
    metrics: ServiceMetrics
    engines: EnginePool
    project_access: ProjectAccess
    changes: ChangeWatch
    campaigns: Campaigns
    glossaries: GlossaryCache
    background: BackgroundWork = field(default_factory=BackgroundWork)
    uploads: UploadCounts = field(default_factory=UploadCounts)
    text_caches: list[Callable[[], None]] = field(default_factory=list)  # each drops what it keeps
    heavy_work: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MAX_HEAVY_WORK))

    @classmethod
    def create(cls, settings: Settings, metrics: ServiceMetrics) -> Service:
        storage = Storage.connect(settings.url)
        limits = RateLimits(storage.accounts, settings.rate, settings.quota)
        links = AddressLimits(settings.rate)
        addresses = AddressLimits(settings.failures), AddressLimits(settings.anonymous), links
        valid = ValidCredentials(storage.accounts, storage.campaigns)
        metering = Metering(limits, *addresses, valid, BodyBudget(max(settings.max_body, settings.max_project_body)))
        access = Access(storage.accounts, metering)
        run_access, submissions = RunAccess(access, storage.tasks), Submissions(storage.tasks)
        return cls(
            settings,
            storage,
            access,
            run_access,
            submissions,
            metering,
            Readiness(storage.database),
            metrics,
            EnginePool(settings),
            ProjectAccess(access, storage.projects),
            ChangeWatch(storage.watches),
            Campaigns(storage.campaigns),
            GlossaryCache(storage.projects),
        )

    def forget_texts(self) -> None:
        """Drop texts that are kept in memory: some of them were deleted."""
        for forget in self.text_caches:
            forget()

    def clear_caches(self) -> None:
        self.run_access.clear_cache()
        self.submissions.clear_cache()

    async def close(self) -> None:
        await self.changes.close()
        await self.background.close()
        await self.submissions.drain()
        await self.readiness.close()
        await self.engines.close()
        await self._give_back_allowances()
        await self.storage.close()

    async def _give_back_allowances(self) -> None:
        try:
            await self.metering.close()
        except Exception as error:
            if not is_outage(error):
                raise
            LOGGER.warning("allowances not given back", extra={"fields": {"reason": outage_reason(error)}})


def service(request: Request) -> Service:
    """The service that a request came to."""
    found = request.app.state.service
    assert isinstance(found, Service)
    return found
