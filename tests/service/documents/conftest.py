"""A project of two members and an organiser, on a database without an engine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from helpers.document_calls import DocumentServer
from helpers.shared_task import TaskServer
from starlette.testclient import TestClient

from mtloop.service import Settings
from mtloop.service.settings import METHODS


@pytest.fixture
def documents(task_server: TaskServer) -> Iterator[DocumentServer]:
    """A server whose engines are never started: what they should learn is only noted."""
    with task_server.serve() as client:
        yield DocumentServer.create(task_server, client)


@pytest.fixture
def lite_documents(lite: TaskServer) -> Iterator[DocumentServer]:
    """The same with SQLite only."""
    with lite.serve() as client:
        yield DocumentServer.create(lite, client)


@pytest.fixture(scope="module")
def engine_home(tmp_path_factory: pytest.TempPathFactory, tiny_model: str) -> TaskServer:
    """A database whose projects have engines."""
    folder = tmp_path_factory.mktemp("documents")
    settings = Settings(folder=folder / "data", models=tiny_model, methods=METHODS, engine_linger=1)
    return TaskServer(settings, folder)


@pytest.fixture(scope="module")
def ann(engine_home: TaskServer) -> Iterator[TestClient]:
    """The client of a participant who creates projects."""
    with engine_home.serve(engine_home.participant("ann")) as client:
        yield client
