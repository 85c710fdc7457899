"""A server with a project and its members, and the calls of people who work on a document."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from helpers.shared_task import TaskServer
from starlette.testclient import TestClient

from mtloop.service.audit.models import Actor
from mtloop.service.project_log.event_log import Configured
from mtloop.service.project_log.models import Role, TranslationProject
from mtloop.service.storage import Storage

ROLES = {"olga": Role.ORGANISE, "ann": Role.CONFIRM, "ben": Role.CONFIRM, "tom": Role.TRANSLATE}


@dataclass
class DocumentServer:
    """The project `manual` with olga, who organises it, ann and ben, who confirm, and tom, who translates."""

    home: TaskServer
    client: TestClient
    keys: dict[str, str]
    nudged: list[int] = field(default_factory=list)

    @classmethod
    def create(cls, home: TaskServer, client: TestClient, review: bool = False) -> DocumentServer:
        keys = {name: home.participant(name) for name in ROLES}

        async def make(storage: Storage) -> TranslationProject:
            configured = Configured("none", "memory", {}, review)
            project = await storage.projects.create("manual", ("en", "de"), configured)
            for name, role in ROLES.items():
                await storage.projects.set_member(project, name, role, Actor("test", "cli"))
            return project

        home.with_storage(make)
        made = cls(home, client, keys)
        client.app.state.service.engines.nudge = lambda project, number: made.nudged.append(number)  # type: ignore[attr-defined]
        return made

    def call(self, method: str, path: str, who: str = "ann", **options: Any) -> Any:
        headers = {"x-api-key": self.keys[who]} | options.pop("headers", {})
        return self.client.request(method, f"/v1/projects/manual{path}", headers=headers, **options)

    def upload(self, content: bytes, name: str = "menu.po", who: str = "ann") -> WorkedDocument:
        response = self.call("POST", "/documents", who, params={"name": name}, content=content)
        assert response.status_code == 201, response.text
        return WorkedDocument(self, response.json())


@dataclass
class WorkedDocument:
    """A document that people work on."""

    server: DocumentServer
    body: dict[str, Any]

    @property
    def path(self) -> str:
        return f"/documents/{self.body['document']}"

    def call(self, method: str, path: str, who: str = "ann", **options: Any) -> Any:
        return self.server.call(method, f"{self.path}{path}", who, **options)

    def show(self) -> dict[str, Any]:
        return dict(self.call("GET", "").json())

    def units(self, **query: Any) -> list[dict[str, Any]]:
        response = self.call("GET", "/units", params=query)
        assert response.status_code == 200, response.text
        return list(response.json()["units"])

    def unit(self, index: int) -> dict[str, Any]:
        return self.units(after=index - 1, limit=1)[0]

    def draft(self, index: int, text: str | None, version: int | None = None, who: str = "ann") -> Any:
        seen = self.unit(index)["version"] if version is None else version
        return self.call("PUT", f"/units/{index}/draft", who, json={"text": text, "version": seen})

    def confirm(self, index: int, text: str, version: int | None = None, who: str = "ann", **body: Any) -> Any:
        seen = self.unit(index)["version"] if version is None else version
        return self.call("POST", f"/units/{index}/confirm", who, json={"text": text, "version": seen, **body})

    def undo(self, index: int, version: int | None = None, who: str = "ann") -> Any:
        seen = self.unit(index)["version"] if version is None else version
        return self.call("POST", f"/units/{index}/undo", who, json={"version": seen})

    def file(self) -> bytes:
        response = self.call("GET", "/file", "tom")
        assert response.status_code == 200, response.text
        return bytes(response.content)
