"""Tasks and participants are managed from Python, without a running service."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.file_samples import tmx, tu
from helpers.shared_task import write_data

from mtloop.core.errors import InputError
from mtloop.service import Settings
from mtloop.service.administration import Administration
from mtloop.service.tasks.creation import TaskFile, make_task_file


@pytest.fixture
def service(tmp_path: Path) -> Administration:
    return Administration(Settings(folder=tmp_path / "d"))


def test_a_task_is_created_changed_and_deleted(service: Administration, tmp_path: Path) -> None:
    counts: list[int] = []
    task = service.create_task(TaskFile("tiny", "training", **write_data(tmp_path)), counts.append)
    assert (task.name, task.samples, counts) == ("tiny", 20, [20])
    assert service.change_task("tiny", stopped=True).stopped
    assert [row["name"] for row in service.activity() if row["stopped"]] == ["tiny"]
    service.delete_task("tiny")
    assert service.activity() == []
    with pytest.raises(InputError, match="no task 'tiny'"):
        service.task("tiny")


def test_keys_of_a_participant(service: Administration) -> None:
    keys = {service.add_participant("me", organiser=True), service.rotate_key("me")}
    assert len(keys) == 2
    assert service.revoke_keys("me") == 1
    assert [(one["name"], one["organiser"], one["keys"], one["runs"]) for one in service.participants()] == [
        ("me", True, 0, 0)
    ]
    with pytest.raises(InputError, match="name 'a b': expected at most 80 letters"):
        service.add_participant("a b")


def test_reading_does_not_create_a_database(service: Administration) -> None:
    with pytest.raises(InputError, match="this folder contains no database"):
        service.activity()
    assert not service.settings.folder.exists()


def test_an_existing_file_is_not_overwritten(service: Administration, tmp_path: Path) -> None:
    (tmp_path / "run.jsonl").write_text("mine")
    with pytest.raises(InputError, match="already exists"):
        service.write_trace("run", tmp_path / "run.jsonl")


def test_settings_take_precedence_over_the_toml_file_and_the_data(tmp_path: Path) -> None:
    data = tmp_path / "manual.tmx"
    data.write_bytes(tmx(tu(en_GB="Save.", it="Salva.")))
    (tmp_path / "task.toml").write_text('name = "a"\ndata = "manual.tmx"\nreward = "sbleu"\n')
    task = make_task_file(tmp_path / "task.toml", name="b")
    assert (task.name, task.data, task.reward) == ("b", data, "sbleu")
    assert make_task_file(name="c", data=data).target_language == "it"
    assert make_task_file(name="c", data=data, source_language="en-GB").source_language == "en-GB"
    with pytest.raises(InputError, match="the task has no name"):
        make_task_file(data=data)
