"""A model that has words for most texts, and a server with it."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from helpers.deepl_calls import DeeplServer
from helpers.shared_task import TaskServer
from helpers.tiny_marian import write_tiny
from starlette.testclient import TestClient

from mtloop.service import Settings

SMALL_LIMITS = {"max_texts": 4, "max_text": 20_000, "failures": 0}


@pytest.fixture(scope="session")
def wordy_model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder of a tiny English-German model."""
    folder = tmp_path_factory.mktemp("wordy")
    write_tiny(folder, seed=5)
    languages = {"source_lang": "en", "target_lang": "de"}
    (folder / "tokenizer_config.json").write_text(json.dumps(languages), encoding="utf-8")
    return str(folder)


@pytest.fixture(scope="module")
def wordy_home(tmp_path_factory: pytest.TempPathFactory, wordy_model: str) -> TaskServer:
    """A database with small limits, so that few texts need several calls of the engine."""
    folder = tmp_path_factory.mktemp("wordy_home")
    settings = Settings(folder=folder / "data", models=wordy_model, engine_linger=1, **SMALL_LIMITS)
    return TaskServer(settings, folder)


@pytest.fixture(scope="module")
def wordy_client(wordy_home: TaskServer) -> Iterator[TestClient]:
    with wordy_home.serve() as client:
        yield client


@pytest.fixture(scope="module")
def wordy_key(wordy_home: TaskServer, wordy_client: TestClient) -> str:
    """The key of somebody with one project, en-de."""
    key = wordy_home.participant("ann")
    body = {"name": "manual", "source_language": "en", "target_language": "de"}
    assert wordy_client.post("/v1/projects", json=body, headers={"x-api-key": key}).status_code == 201
    return key


@pytest.fixture(scope="session")
def deepl_server(tmp_path_factory: pytest.TempPathFactory, wordy_model: str) -> Iterator[DeeplServer]:
    """A server for all tests of the DeepL API; each makes projects of its own."""
    folder = tmp_path_factory.mktemp("deepl")
    limits = {"max_texts": 4, "max_text": 2_000, "max_upload": 100_000, "failures": 0, "anonymous": 0}
    settings = Settings(folder=folder / "data", models=wordy_model, engine_linger=1, **limits)
    home = TaskServer(settings, folder)
    with home.serve() as client:
        yield DeeplServer(home, client)
