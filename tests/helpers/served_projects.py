"""A service with the tiny model, in a process of its own, and a participant who makes projects in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from helpers.serving import serving
from helpers.tiny_marian import write_tiny

from mtloop.client import Client
from mtloop.core.types import JSON
from mtloop.service.administration import Administration
from mtloop.service.settings import Settings


@dataclass(frozen=True)
class ServedProjects:
    """The address of the service, the key of the participant `ann`, the model and the folder of the data.

    There is another participant, `ben`.
    """

    url: str
    key: str
    model: str
    folder: Path

    def create(self, name: str, **fields: JSON) -> str:
        """Create a project, and return its address."""
        with Client(self.url, self.key) as client:
            client.create_project(name, source_language="en", target_language="de", **fields)
        return f"{self.url}/{name}"


@contextmanager
def serving_projects(folder: Path, model: str = "") -> Iterator[ServedProjects]:
    """Run a service with this model, or with the tiny one.

    Its engine ends soon after it, and MTLOOP_KEY is the key of the participant.
    """
    data = folder / "data"
    service = Administration(Settings(folder=data))
    key = service.add_participant("ann")
    service.add_participant("ben")
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("MTLOOP_ENGINE_LINGER", "1")
        environment.setenv("MTLOOP_KEY", key)
        chosen = model or _tiny(folder / "model")
        with serving(data, "--models", chosen) as (port, _, _):
            yield ServedProjects(f"http://127.0.0.1:{port}", key, chosen, data)


def _tiny(folder: Path) -> str:
    folder.mkdir()
    write_tiny(folder, seed=5)  # translates most texts with some words
    return str(folder)
