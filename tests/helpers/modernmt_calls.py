"""Requests to the ModernMT API of a service in this process, as its clients send them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from starlette.testclient import TestClient


@dataclass(frozen=True)
class ModernMTCalls:
    """Sends everything as POST with the real method in a header, as the official clients do."""

    client: TestClient
    key: str
    root: str = ""  # without the prefix, the header of the key leads to the API

    def send(self, method: str, path: str, body: Any = None, **options: Any) -> tuple[int, dict[str, Any]]:
        """The status and the body of an answer. Its form and its status are checked."""
        headers = {"MMT-ApiKey": self.key, "X-HTTP-Method-Override": method, "x-api-key": ""}
        options |= {} if body is None else {"json": body}
        response = self.client.post(f"{self.root}{path}", headers=headers, **options)
        answer = response.json()
        assert answer["status"] == response.status_code
        assert answer.keys() == ({"status", "data"} if response.status_code == 200 else {"status", "error"})
        return response.status_code, answer

    def data(self, method: str, path: str, body: Any = None, **options: Any) -> Any:
        """The data of an answer that is a success."""
        status, answer = self.send(method, path, body, **options)
        assert status == 200, answer
        return answer["data"]

    def error(self, method: str, path: str, body: Any = None, **options: Any) -> tuple[int, str]:
        """The status and the message of an answer that is an error, which has one line."""
        status, answer = self.send(method, path, body, **options)
        assert answer["error"].keys() == {"type", "message"}
        message = answer["error"]["message"]
        assert message
        assert "\n" not in message
        return status, message

    def translate(self, text: str, **fields: Any) -> str:
        body = {"q": text, "source": "en", "target": "de", **fields}
        return str(self.data("get", "/translate", body)["translation"])

    def teach(self, memory: int | str, sentence: str, translation: str, method: str = "post", **fields: Any) -> Any:
        body = {"source": "en", "target": "de", "sentence": sentence, "translation": translation, **fields}
        return self.data(method, f"/memories/{memory}/content", body)
