"""JSON that is damaged or nested too deeply: one line, wherever a user's file is read."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from mtloop.core.errors import InputError, MtloopError, SerialisationError
from mtloop.core.json_files import MAX_DEPTH, json_errors, parse_json, read_json
from mtloop.core.serialisation import loads
from mtloop.core.trace import Header, Trace, TraceWriter
from mtloop.metrics.score_files import read_scores
from mtloop.report.result_file import ResultFile
from mtloop.selection.campaign_folder import open_campaign
from mtloop.text.settings_files import read_toml

DEEP = 100_000
HEADER = '{"kind":"header","format":2,"config":'
DAMAGED = {
    "lists": "[" * DEEP,
    "closed lists": "[" * DEEP + "]" * DEEP,
    "objects": '{"a":' * DEEP,
    "101 lists": "[" * 101 + "]" * 101,
    "a long number": "1" * 5000,
    "not UTF-8": b"\xff\xfe[",
    "another type": "7",
    "other fields": '{"format": 1, "sources": 3, "tensors": 4}',
    "half a character": '{"format": "\\ud800"}',
    "nothing": "",
}


def open_folder(folder: Path) -> None:
    with open_campaign(folder):
        pass


READERS: dict[str, Callable[[Path], object]] = {
    "scores.json": read_scores,
    "scores.jsonl": read_scores,
    "result.json": ResultFile.read,
    "trace.jsonl": Trace.read,
    "campaign.json": lambda path: open_folder(path.parent),
    "settings.toml": read_toml,
    "state.json": lambda path: read_json(path, "a state"),
}


@pytest.mark.parametrize("depth", [1, MAX_DEPTH])
def test_nested_json_is_parsed(depth: int) -> None:
    text = "[" * depth + "]" * depth
    assert parse_json(text) == parse_json(text.encode()) == json.loads(text)


@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 990, 5000, DEEP])
@pytest.mark.parametrize("pair", ["[]", '{"a":1}'])
def test_json_that_is_nested_too_deeply_is_a_value_error(depth: int, pair: str) -> None:
    text = pair.partition("1")[0].rstrip("]") * depth + "1" + pair[-1] * depth
    with pytest.raises(ValueError, match="more than 100 objects and lists inside each other"):
        parse_json(text)


def test_many_lists_beside_each_other_are_parsed() -> None:
    assert len(parse_json("[" + "[[]]," * 1000 + "[]]")) == 1001


def test_an_error_of_a_file_names_it() -> None:
    with pytest.raises(InputError, match=r"^a\.json: not a plan: 'seed' is missing$"), json_errors("a.json", "a plan"):
        parse_json("{}")["seed"]
    with pytest.raises(InputError, match=r"^none\.json: cannot be read: No such file"):
        read_json(Path("none.json"), "a plan")


@pytest.mark.parametrize("kind", DAMAGED)
@pytest.mark.parametrize("name", READERS)
def test_a_damaged_file_is_refused_in_one_line(name: str, kind: str, write) -> None:
    path = write(name, DAMAGED[kind])
    message = ""
    try:
        READERS[name](path)
    except MtloopError as error:
        message = str(error)
    assert len(message.splitlines()) <= 1
    assert len(message) < 1000


@pytest.mark.parametrize("header", [HEADER + "[" * DEEP, HEADER + '{"a":' * 300 + "1" + "}" * 301])
def test_a_deeply_nested_trace_is_refused_and_not_changed(header: str, write) -> None:
    path = write("run.jsonl", header + "\n")
    with pytest.raises(InputError, match="more than 100 objects and lists"):
        Trace.read(path)
    with pytest.raises(InputError, match="more than 100 objects and lists"):
        TraceWriter(path, Header())
    assert path.read_text() == header + "\n"


def test_deep_json_is_a_serialisation_error() -> None:
    with pytest.raises(SerialisationError, match="not JSON: more than 100 objects"):
        loads('{"a":' * DEEP)
