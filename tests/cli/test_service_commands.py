"""The commands `mtloop serve`, `task` and `participant`."""

from __future__ import annotations

import json
import re
import shutil
import signal
import sqlite3
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest
from helpers.command_result import CommandResult
from helpers.serving import serving
from helpers.shared_task import REFERENCES, SOURCES, write_data

from mtloop.core.task_limits import DEFAULT_PASSES, DEFAULT_RUNS
from mtloop.service.tasks.creation import TaskFile
from mtloop.service.tasks.models import Kind

Mtloop = Callable[..., CommandResult]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    write_data(tmp_path)
    return tmp_path


def create(mtloop: Mtloop, data: Path, *more: object) -> CommandResult:
    files = ("--source", data / "en.txt", "--reference", data / "de.txt")
    return mtloop("task", "create", "tiny", "--kind", "mock", *files, "--folder", data / "d", *more)


class HttpClient:
    """Plain HTTP requests, like those of curl."""

    def __init__(self, port: int, key: str) -> None:
        self._url, self._key = f"http://127.0.0.1:{port}", key

    def request(self, path: str, body: Any = None, method: str | None = None) -> Any:
        sent = None if body is None else json.dumps(body).encode()
        headers = {"x-api-key": self._key, "content-type": "application/json"}
        request = urllib.request.Request(self._url + path, sent, headers, method=method)
        with urllib.request.urlopen(request, timeout=10) as response:
            return json.load(response)


def take_part(client: HttpClient, run: str, sentences: int) -> list[tuple[str, float]]:
    submitted = []
    for _ in range(sentences):
        sentence = client.request(f"/v1/runs/{run}/next")
        text = REFERENCES[SOURCES.index(sentence["source"])].replace("geheimen ", "")
        response = client.request(f"/v1/runs/{run}/translations", {"id": sentence["id"], "translation": text})
        submitted.append((text, response["reward"]))
    return submitted


def test_from_two_files_to_a_score(mtloop: Mtloop, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert create(mtloop, data).out == "tiny: mock, 20 sentences per pass, reward wmt17\n"
    key = mtloop("participant", "add", "me", "--folder", data / "d").out.strip()
    with serving(data / "d") as (port, process, _):
        client = HttpClient(port, key)
        run = client.request("/v1/tasks/tiny/runs", {})["run"]
        submitted = take_part(client, run, 8)
        process.kill()
    monkeypatch.setenv("MTLOOP_OPEN_METRICS", "yes")
    with serving(data / "d", "--workers", "2") as (port, process, log):
        client = HttpClient(port, key)
        assert client.request(f"/v1/runs/{run}")["position"] == 8
        submitted += take_part(client, run, 12)
        total = client.request(f"/v1/runs/{run}")["cumulative_reward"]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as response:
            assert b"mtloop_rewards_total 12.0" in response.read()
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert {"request", "started", "stopped"} <= {line["event"] for line in lines}
    assert key not in log.read_text()
    assert total == pytest.approx(sum(reward for _, reward in submitted))
    (data / "hyp.txt").write_text("".join(f"{text}\n" for text, _ in submitted), encoding="utf-8")
    scored = mtloop(
        "score", "--ref", data / "de.txt", "--hyp", data / "hyp.txt", "--metrics", "reward", "--format", "json"
    )
    offline = json.loads(scored.out)
    assert total == pytest.approx(_cumulative(offline), abs=1e-9)
    assert mtloop("task", "trace", run, "--out", data / "run.jsonl", "--folder", data / "d").code == 0
    missing = mtloop("task", "trace", run, "--pass", 7, "--out", data / "no.jsonl", "--folder", data / "d")
    assert (missing.code, "has no pass 7" in missing.err) == (2, True)
    assert not (data / "no.jsonl").exists()
    traced = mtloop("score", data / "run.jsonl", "--metrics", "reward", "--format", "json")
    assert total == pytest.approx(_cumulative(json.loads(traced.out)), abs=1e-9)


def _cumulative(found: Any) -> float:
    """The one cumulative reward in a JSON report of `mtloop score`."""
    text = json.dumps(found)
    return float(text.partition('"cumulative_reward": ')[2].partition(",")[0].rstrip("}] "))


@pytest.mark.parametrize("noise", ["skew", "skew=x"])
def test_a_wrong_noise_is_refused(mtloop: Mtloop, data: Path, noise: str) -> None:
    result = create(mtloop, data, "--noise", noise)
    assert (result.code, result.err) == (2, f"mtloop: --noise expects NAME=NUMBER, not {noise!r}\n")


def test_results_of_training_tasks_are_opened_and_hidden(mtloop: Mtloop, data: Path) -> None:
    create(mtloop, data)
    texts = ("--source", data / "en.txt", "--reference", data / "de.txt")
    where = ("--folder", data / "d")
    refused = mtloop("task", "create", "real", "--kind", "training", *texts, *where)
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "also in task 'tiny'" in refused.err
    assert mtloop("task", "create", "real", "--kind", "training", "--allow-overlap", *texts, *where).code == 0
    assert mtloop("task", "open", "real", *where).out == "real: results are visible\n"
    assert mtloop("task", "list", *where).out.splitlines()[2].split()[-1] == "open"
    assert mtloop("task", "hide", "real", *where).out == "real: results are hidden\n"
    assert mtloop("task", "list", *where).out.splitlines()[2].split()[-1] == "hidden"
    for change in ("open", "hide"):
        result = mtloop("task", change, "tiny", *where)
        assert (result.code, result.out) == (0, "tiny: results of this kind of task are always visible\n")
        assert mtloop("task", change, "tony", *where).err.startswith("mtloop: no task 'tony'")


def test_tasks_are_listed_changed_and_deleted(mtloop: Mtloop, data: Path) -> None:
    create(mtloop, data)
    where = ("--folder", data / "d")
    assert mtloop("task", "list", *where).out.splitlines()[1].split() == [
        "tiny",
        "mock",
        "20",
        "0",
        "0",
        "running",
        "open",
    ]
    assert mtloop("task", "stop", "tiny", *where).out == "tiny: stopped\n"
    assert "stopped" in mtloop("task", "list", *where).out
    assert create(mtloop, data).err.startswith("mtloop: task 'tiny' exists already")
    assert mtloop("task", "stop", "tony", *where).err == "mtloop: no task 'tony'; there are: tiny\n"
    assert mtloop("task", "resume", "tiny", *where).out == "tiny: running\n"
    assert "running" in mtloop("task", "list", *where).out
    assert mtloop("task", "delete", "tiny", "--yes", *where).code == 0
    assert len(mtloop("task", "list", *where).out.splitlines()) == 1
    assert create(mtloop, data).code == 0


def test_an_oracle_in_a_wrong_order_is_one_line_of_warning(mtloop: Mtloop, data: Path) -> None:
    (data / "oracle.txt").write_text("another sentence\n" * 20)
    created = create(mtloop, data, "--oracle", data / "oracle.txt")
    assert (created.code, created.err.count("\n")) == (0, 1)
    assert created.err.startswith(f"mtloop: {data / 'oracle.txt'}: the oracle's mean score is 0.0")
    described = " ".join(mtloop("task", "create", "--help").out.split())
    assert "in this order: the data, then the separate held-out block, each sentence once" in described


def test_keys_are_shown_once(mtloop: Mtloop, data: Path) -> None:
    where = ("--folder", data / "d")
    first = mtloop("participant", "add", "me", *where).out.strip()
    second = mtloop("participant", "rotate", "me", *where).out.strip()
    assert first.startswith("mtl_")
    assert first != second
    assert mtloop("participant", "add", "me", *where).code == 2
    assert mtloop("participant", "revoke", "me", *where).out == "1 key revoked\n"
    listed = mtloop("participant", "list", *where).out
    assert listed.splitlines()[1].split() == ["me", "participant", "0", "0", "-"]
    assert first not in listed
    assert mtloop("participant", "add", "a b", *where).code == 2
    assert mtloop("participant", "rotate", "you", *where).err == "mtloop: no participant 'you'; there are: me\n"


def test_a_task_from_toml(mtloop: Mtloop, data: Path) -> None:
    (data / "task.toml").write_text(
        """name = "training"
kind = "training"
source = "en.txt"
reference = "de.txt"
preprocess = ["lowercase", "normalise", "tokenise"]
reward = "sbleu"
held_out = 4
blocks = 3
samples = 25
required_samples = 20
[noise]
granularity = 5
"""
    )
    where = ("--folder", data / "d")
    created = mtloop("task", "create", "--config", data / "task.toml", *where)
    assert created.out == "training: training, 25 sentences per pass, reward sbleu\n"
    with sqlite3.connect(data / "d" / "mtloop.db") as database:
        ((source,),) = database.execute("SELECT source FROM sentences ORDER BY id LIMIT 1").fetchall()
    database.close()
    assert source == "open drawer number 1 of the cabinet ."


WRONG = {
    'nam = "x"': "there is no setting 'nam'; did you mean 'name'?",
    'name = "x"\nkind = "exam"': "kind is 'exam'; expected 'mock', 'dev' or 'training'",
    'name = "x y"': "task name 'x y'",
    'name = "x"': "a task needs data",
    'name = "x"\nreward = "slope-u"': "there is no reward 'slope-u'",
    'name = "x"\npreprocess = ["stem"]': "there is no preprocessing step 'stem'",
    'name = "x"\nnoise = {loud = 1}': "there is no noise setting 'loud'",
    'name = "x"\nnoise = {skew = 0}': "skew is 0; expected more than 0",
    'name = "x"\nblocks = "2"': "blocks is '2'; expected a whole number",
    'name = "x"\nsource = "en.txt"\nreference = "short.txt"': "no counterpart in",
    'name = "x"\nsource = "short.txt"\nreference = "de.txt"': "no counterpart in",
    'name = "x"\nsource = "en.txt"\nreference = "gap.txt"': "sentence 2 has an empty source or reference",
    'name = "x"\nsource = "en.txt"\nreference = "de.txt"\nheld_out = 20\nblocks = 2': "20 held-out sentences of 20",
    'name = "x"\nsource = "en.txt"\nreference = "de.txt"\nheld_out = 2\nblocks = 1': "at least --blocks 2",
    'name = "x"\nsource = "en.txt"\nreference = "de.txt"\nblocks = 2': "needs a held-out block",
    'name = "x"\nsource = "en.txt"\nreference = "de.txt"\nsamples = 21': "a pass has 20",
    'name = "x"\nsource = "en.txt"\nreference = "de.txt"\nrequired_samples = 21': "a pass has 20 samples",
    'name = "x"\nsource = "en.txt"\nreference = "de.txt"\noracle = "short.txt"': "has 3 translations, but the task has 20 sentences",
    "name = ": "not a TOML file",
}


@pytest.mark.parametrize("text", WRONG)
def test_an_error_in_a_task_file_is_one_line_and_creates_nothing(mtloop: Mtloop, data: Path, text: str) -> None:
    (data / "short.txt").write_text("a\nb\nc\n")
    (data / "gap.txt").write_text("a\n\n" + "c\n" * 18)
    (data / "task.toml").write_text(text)
    where = ("--folder", data / "d")
    result = mtloop("task", "create", "--config", data / "task.toml", *where)
    assert result.code == 2
    assert WRONG[text] in result.err
    assert result.err.count("\n") == 1
    if not (data / "d").exists():
        return
    assert len(mtloop("task", "list", *where).out.splitlines()) == 1
    with sqlite3.connect(data / "d" / "mtloop.db") as database:
        assert database.execute("SELECT count(*) FROM sentences").fetchone() == (0,)
    database.close()


def test_an_unreachable_database_is_one_line(mtloop: Mtloop) -> None:
    result = mtloop("task", "list", "--database", "mysql://x/y")
    assert (result.code, result.err.count("\n")) == (2, 1)
    result = mtloop("task", "list", "--database", "postgresql://x@127.0.0.1:1/y")
    assert result.code == 2
    assert "the database is not reachable" in result.err


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("sqlite3") is None, reason="no sqlite3 program to back up with")
def test_the_sqlite_backup_of_the_docs(mtloop: Mtloop, data: Path) -> None:
    create(mtloop, data)
    with serving(data / "d") as (_, __, ___):
        subprocess.run(["sqlite3", str(data / "d/mtloop.db"), f".backup '{data}/backup.db'"], check=True)
    (data / "new").mkdir()
    shutil.copy(data / "backup.db", data / "new" / "mtloop.db")
    assert "tiny" in mtloop("task", "list", "--folder", data / "new").out


def test_an_unsupported_database_is_refused_before_the_service_starts(mtloop: Mtloop, tmp_path: Path) -> None:
    result = mtloop("serve", "--database", "nonsense://x", "--folder", tmp_path / "d")
    assert result.code == 2
    assert result.err.count("\n") == 1
    assert "postgresql://" in result.err
    assert not (tmp_path / "d").exists()


def test_keys_expire_and_are_renewed(mtloop: Mtloop, data: Path) -> None:
    where = ("--folder", data / "d")
    assert mtloop("participant", "add", "me", "--expires", "2090-12-31", *where).out.startswith("mtl_")
    mtloop("participant", "add", "you", *where)
    assert [line.split() for line in mtloop("participant", "list", *where).out.splitlines()[1:]] == [
        ["me", "participant", "1", "0", "2090-12-31", "23:59"],
        ["you", "participant", "1", "0", "never"],
    ]
    mtloop("participant", "rotate", "me", "--expires", "52w", *where)
    assert mtloop("participant", "renew", "me", "--expires", "2091-12-31", *where).out == "1 key renewed\n"
    keys = [line.split() for line in mtloop("participant", "keys", "me", *where).out.splitlines()[1:]]
    assert [" ".join(key[4:]) for key in keys] == ["2090-12-31 23:59 revoked", "2091-12-31 23:59 valid"]
    assert all(re.fullmatch(r"\d\d:\d\d", key[3]) for key in keys)
    assert len(mtloop("participant", "keys", *where).out.splitlines()) == 4
    mtloop("participant", "revoke", "me", *where)
    assert "has no key to renew" in mtloop("participant", "renew", "me", "--expires", "1d", *where).err
    for wrong in ("yesterday", "2001-01-01"):
        result = mtloop("participant", "add", "they", "--expires", wrong, *where)
        assert (result.code, result.err.count("\n")) == (2, 1)
        assert "expected" in result.err
    assert "they" not in mtloop("participant", "list", *where).out


def test_the_audit_log_is_shown(mtloop: Mtloop, data: Path) -> None:
    where = ("--folder", data / "d")
    create(mtloop, data)
    mtloop("participant", "add", "me", "--expires", "2090-12-31", *where)
    mtloop("task", "stop", "tiny", *where)
    lines = mtloop("audit", *where).out.splitlines()
    assert lines[0].split() == ["id", "time", "actor", "via", "action", "subject", "detail"]
    assert [line.split()[4:6] for line in lines[1:]] == [
        ["task.change", "tiny"],
        ["participant.add", "me"],
        ["task.create", "tiny"],
    ]
    entries = json.loads(mtloop("audit", "--format", "json", "--limit", 1, "--after", 3, *where).out)
    assert [(one["id"], one["detail"]["expires"]) for one in entries] == [(2, "2090-12-31T23:59:59Z")]


def test_a_number_that_no_entry_can_have_is_no_error(mtloop: Mtloop, data: Path) -> None:
    mtloop("participant", "add", "me", "--folder", data / "d")
    for option in ("--after", "--limit"):
        result = mtloop("audit", option, 2**64, "--folder", data / "d")
        assert (result.code, result.out.count("participant.add")) == (0, 1)


NOT_DATABASES = {"text": b"These are notes about the shared task.\n" * 100, "short": b"x", "zeros": bytes(4096)}
USES = {"serve": ("serve", "--port", 0), "task": ("task", "list"), "audit": ("audit",)}


@pytest.mark.parametrize("content", NOT_DATABASES)
@pytest.mark.parametrize("use", USES)
def test_a_file_that_is_not_a_database_is_one_line_and_is_not_changed(
    mtloop: Mtloop, tmp_path: Path, use: str, content: str
) -> None:
    file = tmp_path / "mtloop.db"
    file.write_bytes(NOT_DATABASES[content])
    rights = file.stat().st_mode
    result = mtloop(*USES[use], "--folder", tmp_path)
    expected = f"mtloop: {file}: is not an SQLite database; check --folder or --database\n"
    assert (result.code, result.out, result.err) == (2, "", expected)
    assert (file.read_bytes(), file.stat().st_mode) == (NOT_DATABASES[content], rights)


@pytest.mark.parametrize("use", USES)
def test_a_damaged_database_is_one_line(mtloop: Mtloop, data: Path, use: str) -> None:
    create(mtloop, data)
    file = data / "d" / "mtloop.db"
    content = file.read_bytes()
    file.write_bytes(content[:100] + b"x" * (len(content) - 100))
    result = mtloop(*USES[use], "--folder", data / "d")
    expected = r"mtloop: the database cannot be read: [^\n]*; restore it from a copy\n"
    assert result.code == 2
    assert re.fullmatch(expected, result.err), result.err


@pytest.mark.parametrize(("option", "defaults"), [("--max-passes", DEFAULT_PASSES), ("--max-runs", DEFAULT_RUNS)])
def test_the_help_names_the_defaults_that_a_new_task_gets(
    mtloop: Mtloop, tmp_path: Path, option: str, defaults: dict[str, int]
) -> None:
    help_text = mtloop("task", "create", "--help").out.partition(f"{option} ")[2]
    named = re.search(r"\[default: ([^]]*)\]", help_text)
    assert named is not None
    kinds = dict(one.split() for one in named[1].split(","))
    column = option.removeprefix("--").replace("-", "_")
    rows = {kind: TaskFile("tiny", kind, **write_data(tmp_path)).row() for kind in get_args(Kind)}
    assert {kind: int(number) for kind, number in kinds.items()} == {kind: row[column] for kind, row in rows.items()}
    assert defaults.keys() == rows.keys()
