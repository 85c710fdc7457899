"""The client of an organiser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from helpers.shared_task import TaskServer
from starlette.testclient import TestClient

from mtloop.service import Settings


@pytest.fixture
def campaign_settings(settings: Settings) -> Settings:
    """Settings without limits for addresses: all raters of a test have the same one."""
    return settings.model_copy(update={"anonymous": 0, "failures": 0})


@pytest.fixture
def organiser(campaign_settings: Settings, task_server: TaskServer) -> Iterator[TestClient]:
    server = TaskServer(campaign_settings, task_server.folder)
    with server.serve(server.participant("olga", organiser=True)) as client:
        yield client
