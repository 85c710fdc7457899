"""A method that takes part in a task of a service."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from helpers.fake_service import Service, client_of
from helpers.tiny_marian import write_tiny

from mtloop.core import Trace
from mtloop.experiments.join import ParticipantJob
from mtloop.methods.learner_config import LearnerConfig


def test_a_method_anneals_over_the_sentences_of_the_task(tmp_path: Path) -> None:
    write_tiny(tmp_path)
    config = LearnerConfig.create("nmt-el", str(tmp_path), preset="2017")
    client, trace = client_of(Service()), tmp_path / "trace.jsonl"
    job = ParticipantJob("http://service.test", "dev", tmp_path / "key", config, trace, passes=2)
    steps = list(job.steps(client))
    described = Trace.read(trace).header.config
    assert described["preset"] == "2017"
    assert described["settings"]["stream_length"] == len(steps) == 2 * client.task("dev").samples  # type: ignore[index, call-overload]


def test_more_passes_and_a_resumed_run_anneal_as_before(tmp_path: Path) -> None:
    write_tiny(tmp_path)
    client, trace = client_of(Service()), tmp_path / "trace.jsonl"
    plain = LearnerConfig.create("nmt-el", str(tmp_path))
    config = LearnerConfig.create("nmt-el", str(tmp_path), preset="2017")

    def length(job: ParticipantJob) -> object:
        assert list(job.steps(client))
        return Trace.read(job.trace).header.config["settings"]["stream_length"]  # type: ignore[index, call-overload]

    job = ParticipantJob("http://service.test", "dev", tmp_path / "key", config, trace)
    samples = client.task("dev").samples
    assert length(job) == length(replace(job, passes=2)) == samples
    assert length(replace(job, config=plain, trace=tmp_path / "plain.jsonl")) == 0, "nothing is annealed"
    run = Trace.read(trace).header.config["run"]
    later = replace(job, trace=tmp_path / "later.jsonl", run_id=str(run), passes=3)
    assert length(later) == samples, "of three passes, two were before this trace"
