"""A service with the DeepL API, and the calls of its clients."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import httpx2
from helpers.shared_task import TaskServer
from starlette.testclient import TestClient

TMX = """<?xml version="1.0" encoding="UTF-8"?>
<tmx version="1.4"><header srclang="en" datatype="plaintext" segtype="sentence" adminlang="en" o-tmf="x"
creationtool="x" creationtoolversion="1"/><body>{units}</body></tmx>
"""
UNIT = '<tu><tuv xml:lang="en"><seg>{}</seg></tuv><tuv xml:lang="de"><seg>{}</seg></tuv></tu>'


def tmx(*pairs: tuple[str, str]) -> bytes:
    """A TMX file with these pairs."""
    return TMX.format(units="".join(UNIT.format(*pair) for pair in pairs)).encode()


@dataclass(frozen=True)
class DeeplCalls:
    """The calls of somebody with a key, who owns a project. `prefix` comes before the paths of the API."""

    client: TestClient
    key: str
    prefix: str = ""
    project: str = ""

    def call(self, method: str, path: str, **options: Any) -> httpx2.Response:
        headers = {"Authorization": f"DeepL-Auth-Key {self.key}"} | options.pop("headers", {})
        return self.client.request(method, self.prefix + path, headers=headers, **options)

    def get(self, path: str, **options: Any) -> Any:
        response = self.call("GET", path, **options)
        assert response.status_code == 200, response.text
        return response.json()

    def post(self, path: str, status: int = 200, **body: Any) -> Any:
        response = self.call("POST", path, json=body)
        assert response.status_code == status, response.text
        return response.json()

    def translate(self, *texts: str, **options: Any) -> list[str]:
        body = {"text": list(texts), "source_lang": "EN", "target_lang": "DE"} | options
        return [row["text"] for row in self.post("/v2/translate", **body)["translations"]]

    def refused(self, method: str, path: str, **options: Any) -> tuple[int, str]:
        """The status and the message of an error."""
        response = self.call(method, path, **options)
        assert response.headers["content-type"] == "application/json", response.text
        assert response.json().keys() == {"message"}
        return response.status_code, response.json()["message"]

    def native(self, path: str = "") -> Any:
        """What the native API says about the project."""
        return self.client.get(f"/v1/projects/{self.project}{path}", headers={"x-api-key": self.key}).json()

    def begin_import(self, name: str = "legal.tmx", **parameters: str) -> Any:
        file = {"file_name": name, "content_length": 100}
        return self.post("/v3/translation_memories/import", 202, source_file=file, parameters=parameters)

    def job(self, id: str) -> Any:
        """The result of a job, once it is not processing any more."""
        for _ in range(300):
            result = self.get(f"/v3/translation_memories/jobs/{id}")["results"][0]
            if result["status"] != "processing":
                return result
            time.sleep(0.1)
        raise AssertionError("the job did not end within 30 seconds")

    def import_tmx(self, content: bytes, **parameters: str) -> str:
        """Import a file, and return the id of the memory."""
        begun = self.begin_import(**parameters)
        assert self.client.put(begun["upload_url"], content=content).status_code == 200
        return str(self.job(begun["job_id"])["translation_memory_id"])


@dataclass(frozen=True)
class DeeplServer:
    """A running service; each project has an owner of its own."""

    home: TaskServer
    client: TestClient

    def project(self, name: str, prefix: str = "", **body: Any) -> DeeplCalls:
        """Make a project, and return the calls of its owner."""
        key = self.home.participant(f"owner-of-{name}")
        body = {"name": name, "source_language": "en", "target_language": "de"} | body
        assert self.client.post("/v1/projects", json=body, headers={"x-api-key": key}).status_code == 201
        return DeeplCalls(self.client, key, prefix, name)

    def member(self, owner: DeeplCalls, project: str, role: str) -> DeeplCalls:
        """The calls of a new member with a role."""
        name = f"{role}-of-{project}"
        key = self.home.participant(name)
        path = f"/v1/projects/{project}/members/{name}"
        response = self.client.put(path, json={"role": role}, headers={"x-api-key": owner.key})
        assert response.is_success, response.text
        return DeeplCalls(self.client, key)
