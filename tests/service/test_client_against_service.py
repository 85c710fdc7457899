"""The client against the service, on both databases, with half of all requests failing."""

from __future__ import annotations

from collections import deque
from pathlib import Path

import pytest
from helpers.fake_service import Faulty, RandomFaults, client_of
from helpers.learners import Chained
from helpers.shared_task import REFERENCES, SOURCES, TaskServer

from mtloop.client import Client, Refused, Unreachable, join_or_resume, participate
from mtloop.client.wmt_client_python import Configuration, SharedTaskApi, Translation
from mtloop.client.wmt_client_python.rest import ApiException
from mtloop.core import Header, InputError, Reward, UnknownName, run
from mtloop.methods.copy_source import CopySource
from mtloop.metrics.quality import RewardBLEU
from mtloop.service import Settings


def test_the_loop_runs_over_a_task(task_server: TaskServer) -> None:
    task_server.task()
    with task_server.serve(task_server.participant()) as http:
        task = Client(http).join("tiny", name="first try")
        steps = list(run(task, CopySource(), task.judge))
        expected = [RewardBLEU().sentence(s, r) for s, r in zip(SOURCES, REFERENCES, strict=True)]
        assert [step.feedback for step in steps] == [Reward(value) for value in expected]
        state = task.state()
        assert (state.position, state.state, state.name) == (len(SOURCES), "finished", "first try")
        assert state.cumulative_reward == pytest.approx(sum(expected), abs=1e-12)


@pytest.mark.parametrize("seed", range(2))
def test_network_failures_do_not_change_the_run(task_server: TaskServer, tmp_path: Path, seed: int) -> None:
    task_server.task(kind="dev", max_passes=2)
    key, out = task_server.participant(), tmp_path / "run.jsonl"
    with task_server.serve() as http:
        client = client_of(RandomFaults(http._transport, seed), key, give_up_after=1e9)
        task, where = join_or_resume(client, out, "tiny")
        steps = list(participate(out, Header(config=where), task, Chained(), passes=2))
        (state,) = client_of(http._transport, key).runs()
    assert len(steps) == 2 * len(SOURCES)
    assert (state.pass_number, state.position) == (2, len(SOURCES))
    second = [step.feedback.value for step in steps[len(SOURCES) :] if isinstance(step.feedback, Reward)]
    assert state.cumulative_reward == pytest.approx(sum(second), abs=1e-12)


def test_the_client_understands_the_problems_of_the_service(lite: TaskServer) -> None:
    lite.task()
    lite.task("final", "training")
    mine, other = lite.participant("mine"), lite.participant("other")
    with lite.serve() as http:
        client = client_of(http._transport, mine)
        task = client.join("final")
        segment, _ = next(iter(task))
        client.submit(task.run, segment.id, "x")
        problems = {
            "already-translated": lambda: client.submit(task.run, segment.id, "y"),
            "unknown-sentence": lambda: client.submit(task.run, "nonsense", "y"),
            "no-more-passes": task.next_pass,
            "unknown-run": lambda: client_of(http._transport, other).next(task.run),
        }
        for kind, call in problems.items():
            with pytest.raises(Refused) as refused:
                call()
            assert refused.value.kind == kind
        with pytest.raises(UnknownName, match="did you mean 'final'"):
            client.join("fianl")
        with pytest.raises(Refused, match="401"):
            client_of(http._transport, "nobody").tasks()


def test_a_rate_limit_has_a_retry_after(tmp_path: Path) -> None:
    task_server = TaskServer(Settings(folder=tmp_path / "data", rate=5), tmp_path)
    task_server.task()
    key = task_server.participant()
    with task_server.serve() as http:
        client = client_of(http._transport, key, give_up_after=0)
        with pytest.raises(Unreachable, match=r"asks to wait \d+ s \(429 Too Many Requests\)"):
            deque((client.tasks() for _ in range(6)), maxlen=0)


def test_a_run_without_a_trace_is_continued(lite: TaskServer, tmp_path: Path) -> None:
    lite.task("final", "training")
    key, out = lite.participant(), tmp_path / "run.jsonl"
    with lite.serve() as http:
        client = client_of(http._transport, key)
        started = client.start("final").run  # the client is killed before it writes a line
        task, where = join_or_resume(client, out, "final")
        assert task.run == started
        assert len(list(participate(out, Header(config=where), task, Chained()))) == len(SOURCES)
        with pytest.raises(InputError, match=f"no further run; resume one of your runs with --run: {started}"):
            join_or_resume(client, tmp_path / "other.jsonl", "final")


def test_the_2017_client_against_the_service(lite: TaskServer) -> None:
    lite.task("dev", "dev", max_passes=2)
    with lite.serve(lite.participant()) as http:
        api = SharedTaskApi(Configuration("http://service.test/v1/tasks/dev"), client=Client(http))
        for _ in range(3):
            api.reset_dataset()
            for _ in SOURCES:
                sentence = api.get_sentence()
                assert 0 < api.send_translation(Translation(sentence.id, sentence.source)).score < 1
            with pytest.raises(ApiException) as ended:
                api.get_sentence()
            assert ended.value.status == 404
        assert [state.pass_number for state in Client(http).runs("dev")] == [2, 1]
        api.reset_dataset()
        first = api.get_sentence()
        api.send_translation(Translation(first.id, "x"))
        api.reset_dataset()
        assert api.get_sentence().source == SOURCES[0]


def test_lost_responses_at_the_start_of_a_run(task_server: TaskServer) -> None:
    task_server.task()
    key = task_server.participant()
    with task_server.serve() as http:
        client = client_of(Faulty(http._transport, None, None, "after", None, None), key)
        assert client.join("tiny").run == client.runs()[-1].run
        assert len(client.runs()) == 1
