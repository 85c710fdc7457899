"""The oracle file: one translation for each sentence, the data first, then the held-out block."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from helpers.shared_task import REFERENCES, SOURCES, write_data

from mtloop.core.errors import InputError
from mtloop.core.trace import Header, TraceWriter
from mtloop.core.types import Proposal, Segment, Step
from mtloop.service import Settings
from mtloop.service.administration import Administration
from mtloop.service.tasks.creation import TaskFile

ORDER = "expected the data first, then the held-out block, each sentence once"
WORDS = ["lamp", "river", "north", "seven", "paper", "stone", "green", "table"]
TEXTS = [f"{word} {word}s {word}ing {word}ed over" for word in WORDS]
HELD_OUT = [f"{word} under un{word} re{word} {word}er" for word in WORDS]


@pytest.fixture
def service(tmp_path: Path) -> Administration:
    return Administration(Settings(folder=tmp_path / "d"))


@pytest.fixture
def task(tmp_path: Path) -> TaskFile:
    """A task with a separate held-out block. No two of its references have words in common."""
    block = write_data(tmp_path / "block", [f"h {n}" for n in range(8)], HELD_OUT)
    data = write_data(tmp_path, [f"d {n}" for n in range(8)], TEXTS)
    files = {f"held_out_{name}": path for name, path in block.items()}
    return TaskFile("tiny", "mock", **data, **files, blocks=2, oracle=tmp_path / "oracle.txt")


def write_oracle(task: TaskFile, lines: list[str]) -> None:
    assert task.oracle is not None
    task.oracle.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def test_the_right_order_is_accepted_in_silence(
    service: Administration, task: TaskFile, log_messages: list[str]
) -> None:
    write_oracle(task, [*TEXTS, *HELD_OUT])
    assert service.create_task(task).has_oracle
    assert [one.oracle_score for one in task.sentences(task.oracle_scores())] == [1.0] * 16
    assert log_messages == []


@pytest.mark.parametrize("lines", [[*HELD_OUT, *TEXTS], [*TEXTS, *HELD_OUT][::-1], [""] * 16])
def test_another_order_gives_a_warning_in_one_line(
    service: Administration, task: TaskFile, lines: list[str], log_messages: list[str]
) -> None:
    write_oracle(task, lines)
    service.create_task(task)
    (warning,) = log_messages
    assert "oracle.txt: the oracle's mean score is 0.0" in warning
    assert warning.endswith("check the order: the data first, then the held-out block, each sentence once")
    assert "\n" not in warning


def test_an_oracle_below_copies_of_the_sources_gives_a_warning(
    service: Administration, tmp_path: Path, log_messages: list[str]
) -> None:
    task = TaskFile("tiny", **write_data(tmp_path, TEXTS, TEXTS), oracle=tmp_path / "oracle.txt")
    write_oracle(task, [text.replace("over", "out") for text in TEXTS])
    service.create_task(task)
    (warning,) = log_messages
    assert "less than copies of the sources (1.000)" in warning


@pytest.mark.parametrize("lines", [TEXTS, [*HELD_OUT, *TEXTS, *HELD_OUT]], ids=["without the block", "the block twice"])
def test_another_number_of_lines_is_refused(
    service: Administration, task: TaskFile, lines: list[str], log_messages: list[str]
) -> None:
    write_oracle(task, lines)
    with pytest.raises(InputError) as refused:
        service.create_task(task)
    assert f"oracle.txt: has {len(lines)} translations, but the task has 16 sentences; {ORDER}" in str(refused.value)
    assert service.activity() == []
    assert log_messages == []


def write_trace(path: Path, sources: list[str]) -> None:
    with TraceWriter(path, Header()) as trace:
        for number, source in enumerate(sources):
            text = REFERENCES[SOURCES.index(source)]
            trace.write(Step(number, Proposal(Segment(str(number), source.lower()), text)))


def test_the_sources_of_a_trace_must_be_those_of_the_task(
    service: Administration, tmp_path: Path, log_messages: list[str]
) -> None:
    files = write_data(tmp_path)
    write_trace(tmp_path / "right.jsonl", SOURCES)
    write_trace(tmp_path / "wrong.jsonl", [*SOURCES[:4], SOURCES[5], SOURCES[4], *SOURCES[6:]])
    task = TaskFile("tiny", **files, preprocess=("tokenise",), oracle=tmp_path / "wrong.jsonl")
    with pytest.raises(InputError, match=f"wrong.jsonl: step 5 has another source than the task; {ORDER}"):
        service.create_task(task)
    assert service.create_task(replace(task, oracle=tmp_path / "right.jsonl")).has_oracle
    assert log_messages == []
