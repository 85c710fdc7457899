"""The stores of all parts of the service, over one database."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mtloop.service.accounts.store import AccountStore
from mtloop.service.audit.store import AuditStore
from mtloop.service.campaigns.store import CampaignStore
from mtloop.service.database import Database
from mtloop.service.documents.store import DocumentStore
from mtloop.service.project_log.client_store import ClientStore
from mtloop.service.project_log.correction_store import CorrectionStore
from mtloop.service.project_log.store import ProjectStore
from mtloop.service.project_log.watch_store import WatchStore
from mtloop.service.tasks.store import TaskStore


@dataclass(frozen=True)
class Storage:
    """Call `connect` and `close` inside the event loop that uses it."""

    database: Database
    accounts: AccountStore
    tasks: TaskStore
    audit: AuditStore
    projects: ProjectStore
    corrections: CorrectionStore
    watches: WatchStore
    clients: ClientStore
    documents: DocumentStore
    campaigns: CampaignStore

    @classmethod
    def connect(cls, url: str) -> Storage:
        database = Database.connect(url)
        accounts, tasks = AccountStore(database), TaskStore(database)
        documents = DocumentStore(database)
        projects, corrections = ProjectStore(database), CorrectionStore(database, documents.follow)
        others = AuditStore(database), projects, corrections, WatchStore(database), ClientStore(database)
        return cls(database, accounts, tasks, *others, documents, CampaignStore(database))

    async def migrate(self) -> None:
        """Bring the schema up to date."""
        await self.database.migrate()

    async def participant_list(self, skipped: int = 0, limit: int | None = None) -> list[dict[str, Any]]:
        """The participants by name, with the numbers of valid keys and of runs."""
        runs = await self.tasks.run_counts()
        found = await self.accounts.participant_list(skipped, limit)
        return [one | {"runs": runs.get(one["id"], 0)} for one in found]

    async def close(self) -> None:
        await self.database.close()
