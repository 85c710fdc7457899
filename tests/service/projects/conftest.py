"""A tiny model, and a server with projects."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from helpers.shared_task import TaskServer
from starlette.testclient import TestClient

from mtloop.service import Settings
from mtloop.service.settings import METHODS


@pytest.fixture(scope="module")
def project_home(tmp_path_factory: pytest.TempPathFactory, tiny_model: str) -> TaskServer:
    """A database with the participants ann and bob, for all tests of a module."""
    folder = tmp_path_factory.mktemp("projects")
    methods = f"{METHODS},copy-source,fixed"
    settings = Settings(folder=folder / "data", models=tiny_model, methods=methods, engine_linger=1)
    return TaskServer(settings, folder)


@pytest.fixture(scope="module")
def ann(project_home: TaskServer) -> Iterator[TestClient]:
    """The client of a participant who creates projects."""
    with project_home.serve(project_home.participant("ann")) as client:
        yield client
