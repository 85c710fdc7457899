"""`mtloop serve --demo`: a project to try, its key, and a curl command that works."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from helpers.shared_task import TaskServer
from helpers.tiny_marian import demo_pairs, write_tiny

from mtloop.core.errors import InputError
from mtloop.methods.learner_config import LearnerConfig
from mtloop.service import Settings
from mtloop.service.demo_project import EXAMPLE, demo_confirmations, demo_document, prepare_demo
from mtloop.service.project_log.event_log import Configured
from mtloop.service.project_log.models import TranslationProject
from mtloop.service.server import listen
from mtloop.service.storage import Storage

ROOT = Path(__file__).parents[2]
LINES = 4  # address, project, key, command
SOURCE, TARGET = demo_pairs()[-1]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tiny model, which is the only one that projects may use."""
    folder = tmp_path_factory.mktemp("demo")
    (folder / "tiny").mkdir()
    write_tiny(folder / "tiny")
    return folder


@contextmanager
def serving_demo(folder: Path) -> Iterator[list[str]]:
    """Run `mtloop serve --demo` on a free port; yield the lines that it prints."""
    command = [sys.executable, "-m", "mtloop", "serve", "--demo", "--folder", "data", "--port", "0", "--models", "tiny"]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "MTLOOP_ENGINE_LINGER": "1"}
    with (folder / "log.jsonl").open("ab") as log:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=log, encoding="utf-8"
        )
    assert process.stdout is not None
    try:
        yield [process.stdout.readline().rstrip("\n") for _ in range(LINES)]
    finally:
        process.terminate()
        assert process.wait(30) == 0
        process.stdout.close()


def key_of(lines: list[str]) -> str:
    return lines[2].removeprefix("Key:").strip()


def post(lines: list[str], path: str, **body: Any) -> dict[str, Any]:
    url, headers = f"{lines[0]}/v1/projects/demo/{path}", {"x-api-key": key_of(lines)}
    response = httpx2.post(url, json=body, headers=headers, timeout=60)
    assert response.status_code == 200, response.text
    return dict(response.json())


@pytest.mark.slow
def test_the_demo_translates_learns_and_continues(folder: Path) -> None:
    confirmed = sum(not one.refused for one in demo_confirmations())
    with serving_demo(folder) as lines:
        assert lines[1] == f"Project: demo ({confirmed} corrections)"
        command = lines[3].removeprefix("Try it:")
        done = subprocess.run([*shlex.split(command), "--silent"], capture_output=True, check=True, timeout=60)
        assert b'"translations":[{"translation":' in done.stdout
        assert EXAMPLE in command
        answer = post(lines, "confirm", source=SOURCE, translation=TARGET)
        assert answer["learned"]["rejected"] is None
    with serving_demo(folder) as again:
        assert again[1] == f"Project: demo ({confirmed + 1} corrections)"
        translation = post(again, "translate", text=SOURCE)["translations"][0]
        assert (translation["translation"], translation["repeated"]) == (TARGET, True)
        assert key_of(again) != key_of(lines)
        listed = httpx2.get(f"{again[0]}/v1/projects/demo/documents", headers={"x-api-key": key_of(again)}).json()
        assert [(one["name"], one["units"]) for one in listed["documents"]] == [("manual.en-de.tsv", 298)]
        old = httpx2.get(f"{again[0]}/v1/projects", headers={"x-api-key": key_of(lines)})
        assert old.status_code == 401


def test_make_serve_starts_the_demo() -> None:
    """The rest of it, the installation, is that of `make demo`."""
    done = subprocess.run(
        ["make", "-n", "serve", "PORT=0"], cwd=ROOT, capture_output=True, encoding="utf-8", check=True
    )
    assert done.stdout.splitlines()[-1] == ".venv/bin/mtloop serve --demo --folder out/serve --port 0"


def test_a_second_start_on_the_same_port_leaves_the_key_of_the_first(tmp_path: Path) -> None:
    with listen("127.0.0.1", 0) as taken:
        port, data = taken.getsockname()[1], tmp_path / "data"
        command = [sys.executable, "-m", "mtloop", "serve", "--demo", "--folder", str(data), "--port", str(port)]
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 2
    assert "cannot listen on" in done.stderr
    assert not data.exists()  # no participant, no key


def test_the_last_chapter_is_left_to_translate() -> None:
    sources = [one.source for one in demo_confirmations()]
    assert EXAMPLE not in sources
    assert EXAMPLE in [source for source, _ in demo_pairs()]
    assert SOURCE not in sources


def test_a_project_of_somebody_else_is_not_taken(folder: Path, tmp_path: Path) -> None:
    server = TaskServer(Settings(folder=tmp_path, models=str(folder / "tiny")), tmp_path)
    server.participant("ann")
    server.with_storage(lambda storage: _create(storage, str(folder / "tiny")))
    with pytest.raises(InputError, match="another project of the name 'demo'; choose another --folder"):
        prepare_demo(server.settings)


async def _create(storage: Storage, model: str) -> None:
    (ann,) = await storage.accounts.participant_list()
    await storage.projects.create("demo", ("en", "de"), Configured(model, "baseline"), owner=ann["id"])


def test_a_model_of_other_languages_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LearnerConfig, "languages", ("en", "fr"))
    with pytest.raises(InputError, match="the demo document is en -> de, and the first of the models is en -> fr"):
        prepare_demo(Settings(folder=tmp_path))


def test_the_demo_document_has_all_segments(folder: Path) -> None:
    project = TranslationProject(1, "demo", "en", "de", str(folder / "tiny"), "memory", {}, review=False, number=1)
    document = demo_document(project)
    confirmed = {one.source: one.translation for one in demo_confirmations()}
    assert [unit.source for unit in document.units] == [source for source, _ in demo_pairs()]
    assert len(document.units) == 298
    assert {unit.source: unit.target for unit in document.units if unit.target} == confirmed
