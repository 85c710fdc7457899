"""Tasks and participants are managed from Python, without a running service."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from helpers.file_samples import tmx, tu
from helpers.shared_task import REFERENCES, SOURCES, write_data

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


@pytest.mark.parametrize("side", ["source", "reference"])
def test_a_task_with_sentences_of_another_task_is_refused(service: Administration, tmp_path: Path, side: str) -> None:
    """Participants could learn the references in the task that they may practise with."""
    service.create_task(TaskFile("train", "training", **write_data(tmp_path / "a")))
    files = write_data(tmp_path / "b", ["Something new.", "More of it."], ["Etwas Neues.", "Mehr davon."])
    with files[side].open("a", encoding="utf-8") as file:
        file.write("OPEN  drawer number 3 of the cabinet\n" if side == "source" else f"{REFERENCES[2].upper()}\n")
    with files["reference" if side == "source" else "source"].open("a", encoding="utf-8") as file:
        file.write("Ganz anders.\n")
    new = TaskFile("mock", "mock", **files)
    message = r"of 'mock', 1 also in task 'train' \(the first is number 3\), .*\. Use other data, or --allow-overlap$"
    with pytest.raises(InputError, match=message):
        service.create_task(new)
    assert [row["name"] for row in service.activity()] == ["train"]
    assert service.create_task(replace(new, allow_overlap=True)).samples == 3


def test_a_task_with_other_sentences_is_accepted(service: Administration, tmp_path: Path) -> None:
    service.create_task(TaskFile("train", "training", **write_data(tmp_path / "a")))
    files = write_data(tmp_path / "b", ["Close drawer 3 of the cabinet."] * 2, ["Schließen Sie Schublade 3."] * 2)
    assert service.create_task(TaskFile("mock", "mock", **files)).max_passes == 10


THROUGH_NEW = "whose references could be learned through 'new'"
THROUGH_OLD = "through which the references of 'new' could be learned"
BOTH = "and the references of each could be learned through the other"


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        (TaskFile("new", "dev"), TaskFile("old", "training"), THROUGH_NEW),
        (TaskFile("new", "training"), TaskFile("old", "mock"), THROUGH_OLD),
        (TaskFile("new", "training"), TaskFile("old", "training", max_runs=3), THROUGH_OLD),
        (TaskFile("new", "dev", max_passes=1, max_runs=1), TaskFile("old", "mock", max_runs=0), THROUGH_OLD),
        (TaskFile("new", "dev"), TaskFile("old", "mock"), BOTH),
        (TaskFile("new", "training"), TaskFile("old", "training"), BOTH),
        (TaskFile("new", "training", held_out=5, blocks=2), TaskFile("old", "training"), THROUGH_NEW),
        (TaskFile("new", "training"), TaskFile("old", "training", held_out=5, blocks=2), THROUGH_OLD),
    ],
)
def test_an_overlap_says_which_references_could_be_learned_through_which_task(
    service: Administration, tmp_path: Path, new: TaskFile, old: TaskFile, expected: str
) -> None:
    files = write_data(tmp_path)
    service.create_task(replace(old, **files))
    with pytest.raises(InputError) as refused:
        service.create_task(replace(new, **files))
    begin = "of the sentences of 'new', 20 also in task 'old' (the first is number 1), "
    assert str(refused.value) == f"{begin}{expected}. Use other data, or --allow-overlap"


def test_an_overlap_names_every_task(service: Administration, tmp_path: Path) -> None:
    some = write_data(tmp_path / "some", SOURCES[10:13], REFERENCES[10:13])
    service.create_task(TaskFile("train", "training", **write_data(tmp_path / "all")))
    service.create_task(TaskFile("mock", "mock", **some, allow_overlap=True))
    with pytest.raises(InputError) as refused:
        service.create_task(TaskFile("new", "dev", **write_data(tmp_path / "all")))
    assert f"20 also in task 'train' (the first is number 1), {THROUGH_NEW}; " in str(refused.value)
    assert f"; 3 also in task 'mock', {BOTH}. Use" in str(refused.value)
