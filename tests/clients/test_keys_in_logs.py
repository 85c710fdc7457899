"""What a running server writes on standard error: no key, wherever a client puts it, and no text."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from helpers.served_projects import ServedProjects, serving_projects

TEXT = "Open the secret drawer."
PAIR = {"q": TEXT, "source": "en", "target": "de"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedProjects]:
    with serving_projects(tmp_path_factory.mktemp("logs")) as served:
        served.create("manual")
        yield served


def requests(key: str) -> list[tuple[str, str, dict[str, Any]]]:
    """Requests as clients of each API send them; some are refused or have an address that does not exist."""
    authorised = {"Authorization": f"DeepL-Auth-Key {key}"}
    return [
        *(("POST", f"{path}/key/{key}/translate", {"data": PAIR}) for path in ("", "/libretranslate")),
        ("POST", f"/libretranslate/key/{key}", {"data": PAIR}),
        ("GET", f"/libretranslate/key/{key}", {}),
        ("POST", f"/libretranslate/key/{key}%3Amanual/nothing", {"data": PAIR}),
        ("POST", f"/LibreTranslate/key/{key}/translate", {"data": PAIR}),
        ("PUT", f"/deepl/key/{key}/v2/translate", {"data": PAIR}),
        ("GET", f"/v1/projects/key/{key}/translate", {}),
        ("POST", "/translate", {"params": {"api_key": key}, "json": PAIR}),
        ("GET", "/v2/usage", {"params": {"auth_key": key}}),
        ("POST", "/translate", {"json": PAIR | {"api_key": key}}),
        ("POST", "/translate", {"content": f'{{"api_key": "{key}"', "headers": {"content-type": "application/json"}}),
        ("POST", "/v2/translate", {"json": {"text": [TEXT], "target_lang": "JA"}, "headers": authorised}),
        ("GET", "/translate", {"params": PAIR, "headers": {"MMT-ApiKey": key}}),
        ("GET", f"/translate?q={'x' * 9_000}&api_key={key}", {}),
    ]


def send_broken(served: ServedProjects) -> None:
    """A request that is not HTTP: its address has a line break."""
    host, port = served.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(f"GET /libretranslate/key/{served.key}\r /translate HTTP/9\r\n\r\n".encode())
        connection.recv(4_096)


def written(served: ServedProjects, least: int) -> str:
    """The log of the server, once it has this many requests."""
    for _ in range(100):
        log = (served.folder.parent / "log.jsonl").read_text(encoding="utf-8")
        if log.count('"route"') >= least:
            return log
        time.sleep(0.1)
    raise AssertionError(log)


def test_no_key_and_no_text_is_in_the_log(served: ServedProjects) -> None:
    wrong = served.key[:-4] + "zzzz"
    with httpx2.Client(base_url=served.url, timeout=60) as client:
        for key in (served.key, wrong):
            for method, path, options in requests(key):
                assert client.request(method, path, **options).status_code < 500
    send_broken(served)
    log = written(served, 2 * (len(requests("")) - 1))
    for secret in (served.key, wrong, served.key[4:20], TEXT, "secret", "/key/"):
        assert secret not in log
    assert all(json.loads(line)["event"] for line in log.splitlines())  # no line of another access log
