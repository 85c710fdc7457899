"""Notes beside a trace: the commits of the code that wrote it, and none in the trace itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mtloop import compare
from mtloop.experiments import trace_notes
from mtloop.experiments.run import run
from mtloop.experiments.trace_notes import notes_file, other_commits, trace_commits
from mtloop.report.provenance import Provenance


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "manual.tsv"
    path.write_text("source\ttarget\n" + "".join(f"Press {n}.\tDrücken Sie {n}.\n" for n in range(6)), encoding="utf-8")
    return path


def code_is(monkeypatch: pytest.MonkeyPatch, commit: str | None) -> None:
    monkeypatch.setattr(trace_notes, "running_commit", lambda: commit)


def test_a_trace_knows_the_commits_of_its_steps(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = data.parent / "run.jsonl"
    for commit, rows in (("aaa", 2), ("bbb", 2), ("ccc", 4), (None, 6), ("ddd", 6)):
        code_is(monkeypatch, commit)
        run(data, "copy-source", out=trace, resume=True, stop_after=rows)
    assert trace_commits(trace) == ["aaa", "ccc", None]  # the others added nothing
    assert b"aaa" not in trace.read_bytes()
    trace.unlink()
    run(data, "copy-source", out=trace)
    assert trace_commits(trace) == ["ddd"]
    assert other_commits({"copy-source": trace}, "ddd") == {}
    assert other_commits({"copy-source": trace}, "eee") == {"copy-source": ["ddd"]}


def test_commits_that_were_not_noted_are_unknown(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = data.parent / "run.jsonl"
    assert trace_commits(trace) == [None]
    code_is(monkeypatch, "aaa")
    run(data, "copy-source", out=trace, stop_after=2)
    notes_file(trace).write_text('{"step": 0, "seco\n', encoding="utf-8")
    assert trace_commits(trace) == [None]
    run(data, "copy-source", out=trace, resume=True)
    assert trace_commits(trace) == [None, "aaa"]


def test_a_comparison_lists_the_commits_of_resumed_traces(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, now = data.parent / "out", Provenance.now().commit
    made = compare(data, "copy-source", out=out, metrics="ter", jobs=1)
    assert made.origin is not None
    assert made.origin.trace_commits == {}
    notes = notes_file(out / "copy-source.jsonl")
    assert json.loads(notes.read_text(encoding="utf-8").splitlines()[0])["commit"] == now
    notes.write_text('{"step": 0, "commit": "old"}\n', encoding="utf-8")
    saved = compare(data, "copy-source", out=out, metrics="ter", jobs=1).save(data.parent / "r.json")
    assert json.loads(saved.read_text(encoding="utf-8"))["trace_commits"] == {"copy-source": ["old"]}
