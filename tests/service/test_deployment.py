"""The systemd unit and the nginx configuration of docs/how-to/deploy-the-service.md, unchanged; engines at the end."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import ssl
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
from fastapi.routing import APIRoute
from helpers.served_projects import serving_projects
from helpers.serving import serving
from helpers.shared_task import SOURCES, TaskServer

from mtloop.client import Client, Project
from mtloop.core import Proposal
from mtloop.service import Settings
from mtloop.service.app import COMPATIBLE
from mtloop.service.server import listen

PAGE = (Path(__file__).parents[2] / "docs/how-to/deploy-the-service.md").read_text(encoding="utf-8")
NGINX = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
OPENSSL, ANALYZE = shutil.which("openssl"), shutil.which("systemd-analyze")
pytestmark = pytest.mark.slow  # nginx and systemd are installed by `make install-slow`
CORRECTION = {"source": "Open the pane.", "translation": "Öffnen Sie den Bereich."}
LONG_FILE = f'{"# A note." * 40_000}\n\nmsgid "{CORRECTION["source"]}"\nmsgstr ""\n'.encode()
TSV = {"content-type": "text/tab-separated-values"}
MAIN = """daemon off; pid nginx.pid; error_log stderr; {user}
events {{}}
http {{
access_log off; client_body_temp_path body; proxy_temp_path proxied; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi;
scgi_temp_path scgi;
{server}
}}
"""


def block(language: str) -> str:
    """The code block of docs/how-to/deploy-the-service.md in a language. There is one of each."""
    (found,) = re.findall(rf"```{language}\n(.*?)```", PAGE, re.S)
    return str(found)


@pytest.mark.skipif(not (NGINX and OPENSSL), reason="no nginx, or no openssl to make it a certificate")
def test_a_participant_takes_part_through_the_proxy(
    lite: TaskServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lite.task()
    key, certificate = lite.participant(), make_certificate(tmp_path)
    trusting = ssl.create_default_context(cafile=str(certificate))
    monkeypatch.setenv("MTLOOP_SECURE", "yes")
    with (
        serving(lite.settings.folder, "--workers", "2") as (behind, _, log),
        proxied(tmp_path / "nginx", certificate, behind) as url,
        httpx2.Client(base_url=url, verify=trusting) as http,
    ):
        task = Client(http, key).join("tiny")
        rewards = [task.judge(Proposal(segment, segment.source)).value for segment, _ in task]
        assert len(rewards) == len(SOURCES)
        assert http.get("/metrics").status_code == 403
        entered = http.post("/login", data={"key": key}, headers={"origin": url})
        assert entered.status_code == 303, entered.text
        assert "secure" in entered.headers["set-cookie"].lower()
        assert entered.headers["strict-transport-security"]
        assert _logged(log, entered.headers["x-request-id"])


@pytest.mark.skipif(not (NGINX and OPENSSL), reason="no nginx, or no openssl to make it a certificate")
def test_people_work_on_a_project_through_the_proxy(tmp_path: Path) -> None:
    certificate = make_certificate(tmp_path)
    trusting = ssl.create_default_context(cafile=str(certificate))
    with (
        serving_projects(tmp_path) as served,
        proxied(tmp_path / "nginx", certificate, int(served.url.rpartition(":")[2])) as url,
        httpx2.Client(base_url=url, verify=trusting, headers={"x-api-key": served.key}, timeout=60) as http,
    ):
        served.create("manual")
        with http.stream("GET", "/v1/projects/manual/changes") as changes:
            lines = changes.iter_lines()
            assert 'data: {"state": 1}' in lines  # reads up to this line; the stream goes on
            confirmed = http.post("/v1/projects/manual/confirm", json=CORRECTION)
            assert (confirmed.status_code, confirmed.json().get("number")) == (200, 2), confirmed.text
            assert 'data: {"state": 2}' in lines
        answer = http.post("/v1/projects/manual/translate", json={"text": CORRECTION["source"]}).json()
        assert answer["translations"][0]["translation"] == CORRECTION["translation"]
        copied = "".join(f"a list with line {n}\ta list with line {n}\n" for n in range(9000))  # not learned
        sent = http.post("/v1/projects/manual/import?format=tsv", content=f"source\ttarget\n{copied}", headers=TSV)
        assert (sent.status_code, sent.json()["refused"], len(copied) > 256 * 1024) == (202, 9000, True)
        long = {"text": "a" * 300_000}
        refused = http.post("/v1/projects/manual/translate", json=long)
        assert (refused.status_code, refused.json()["type"]) == (413, "urn:mtloop:too-large")  # by the service
        assert http.post("/v1/tasks/tiny/runs", json=long).headers["content-type"] == "text/html"  # by the proxy
        answer = http.post(
            "/translate_file", data={"source": "en", "target": "de"}, files={"file": ("a.po", LONG_FILE)}
        )
        assert (answer.status_code, len(LONG_FILE) > 256 * 1024) == (200, True), answer.text
        translated = http.get(httpx2.URL(answer.json()["translatedFileUrl"]).path)
        assert CORRECTION["translation"] in translated.text
        for method, path in uploads():
            kinds = {"content-type": "application/octet-stream"}
            answer = http.request(method, path, content=LONG_FILE, headers=kinds)
            assert answer.headers["content-type"] != "text/html", (path, "refused by the proxy")


def uploads() -> set[tuple[str, str]]:
    """Where large requests may come: all addresses of other services' APIs, with prefix and without."""
    found = {("POST", "/v1/campaigns"), ("POST", "/memories/content"), ("PUT", "/memories/1/content")}
    for router, prefix in COMPATIBLE:
        for route in router.routes:
            if isinstance(route, APIRoute) and ":path" not in route.path:
                path = prefix + re.sub("{.*?}", "1", route.path)
                found |= {(method, path) for method in {"POST", "PUT"} & route.methods}
    return found - {("POST", "/languages")}  # it needs no body


@pytest.mark.parametrize("by_systemd", [True, False])
def test_engines_end_with_the_service_and_save_their_learners(tmp_path: Path, by_systemd: bool) -> None:
    """systemd sends SIGTERM to all processes of a unit. Without it, an engine ends when no server is left."""
    with serving_projects(tmp_path) as served:
        address = served.create("manual")
        with Project(address, served.key) as project:
            project.confirm(CORRECTION["source"], CORRECTION["translation"])
        engine = engine_of(tmp_path / "log.jsonl")
        if by_systemd:
            os.kill(engine, signal.SIGTERM)
            wait_until_gone(engine)
    wait_until_gone(engine)
    server = TaskServer(Settings(folder=served.folder), tmp_path)
    (snapshot,) = server.with_storage(lambda storage: storage.projects.snapshots(1)).values()
    assert snapshot.lessons == 1


def engine_of(log: Path) -> int:
    """The process of the engine that a log names."""
    (line,) = [line for line in log.read_text().splitlines() if '"engine started"' in line]
    return int(json.loads(line)["pid"])


def wait_until_gone(process: int) -> None:
    for _ in range(300):
        if not Path(f"/proc/{process}").exists():
            return
        time.sleep(0.1)
    raise AssertionError("the engine still runs after 30 seconds")


def _logged(log: Path, request: str) -> bool:
    """Return whether a request is logged. Its line is written after its response is sent."""
    for _ in range(100):
        if request in log.read_text():
            return True
        time.sleep(0.1)
    return False


@pytest.mark.skipif(ANALYZE is None, reason="no systemd to test with")
def test_systemd_understands_the_unit(tmp_path: Path) -> None:
    unit = block("ini").replace("/opt/mtloop/bin/mtloop", shutil.which("true") or "/bin/true")
    (tmp_path / "mtloop.service").write_text(unit, encoding="utf-8")
    command = [str(ANALYZE), "verify", "--man=no", str(tmp_path / "mtloop.service")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    errors = [line for line in done.stderr.splitlines() if "mtloop" in line]
    assert errors == []
    (tmp_path / "mtloop.service").write_text(unit.replace("Restart=", "Restrat="), encoding="utf-8")
    assert "Restrat" in subprocess.run(command, capture_output=True, text=True, timeout=60).stderr


def make_certificate(folder: Path) -> Path:
    files = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem"), "-days", "2", "-nodes"]
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
    subprocess.run([str(OPENSSL), "req", "-x509", *kind, *files, *subject], check=True, capture_output=True)
    return folder / "cert.pem"


@contextmanager
def proxied(folder: Path, certificate: Path, behind: int) -> Iterator[str]:
    """The nginx server of docs/how-to/deploy-the-service.md, with a free port and a test certificate."""
    folder.mkdir()
    with listen("127.0.0.1", 0) as probe:
        port = int(probe.getsockname()[1])
    server = block("nginx").replace("listen 443", f"listen 127.0.0.1:{port}").replace(":8017", f":{behind}")
    server = server.replace("/etc/ssl/tasks.example.org.pem", str(certificate))
    server = server.replace("/etc/ssl/tasks.example.org.key", str(certificate.with_name("key.pem")))
    user = "user root;" if os.getuid() == 0 else ""
    (folder / "nginx.conf").write_text(MAIN.format(user=user, server=server), encoding="utf-8")
    with (folder / "log.txt").open("wb") as log:
        command = [str(NGINX), "-p", str(folder), "-c", str(folder / "nginx.conf")]
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        _wait(port, process, folder / "log.txt")
        yield f"https://localhost:{port}"
    finally:
        process.terminate()
        process.wait(30)


def _wait(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(300):
        assert process.poll() is None, log.read_text()
        try:
            httpx2.get(f"https://localhost:{port}/healthz", verify=False)
            return
        except httpx2.TransportError:
            time.sleep(0.1)
    raise AssertionError(log.read_text())
