from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import httpx2
import pytest
from helpers.fake_service import SOURCES, RandomFaults, Service, client_of
from helpers.learners import Chained, Saved

from mtloop.client import join_or_resume, participate
from mtloop.client.participation import PendingProposalFile
from mtloop.core import (
    Feedback,
    Header,
    InputError,
    Learned,
    Learner,
    Proposal,
    Reward,
    Segment,
    Step,
    Trace,
    TraceError,
)
from mtloop.core.protocols import Stateful


class Killed(BaseException):
    """Simulates the end of the process."""


class RandomTexts(Chained):
    """A learner that never proposes the same text twice."""

    def propose(self, segment: Segment) -> Proposal:
        return Proposal(segment, str(random.random()), memo={"seed": random.random()})


def take_part(
    service: httpx2.BaseTransport, out: Path, learner: Learner, passes: int = 1, kill: int = 0, where: str = ""
) -> list[Step]:
    """Join or resume a run. Simulate a kill at call number `kill` of the function named by `where`."""
    client = client_of(service, give_up_after=1e9)
    task, config = join_or_resume(client, out, "dev")
    calls = 0

    def counted(name: str, function: Callable[..., object], after: bool) -> Callable[..., object]:
        def call(*arguments: object) -> object:
            nonlocal calls
            calls += name == where
            if calls == kill and name == where and not after:
                raise Killed
            value = function(*arguments)
            if calls == kill and name == where and after:
                raise Killed
            return value

        return call

    task.judge = counted("rewarded", counted("submitting", task.judge, False), True)  # type: ignore[assignment]
    learner.learn = counted("learned", learner.learn, True)  # type: ignore[method-assign]
    learner.propose = counted("proposed", learner.propose, True)  # type: ignore[method-assign]
    return list(participate(out, Header(config=config), task, learner, passes=passes, snapshot_every=2))


MOMENTS = [(where, nth) for where in ("proposed", "submitting", "rewarded", "learned") for nth in (1, 3, 5)]


@pytest.mark.parametrize("learner", [Chained, Saved])
@pytest.mark.parametrize(("where", "nth"), MOMENTS)
def test_a_killed_and_resumed_run_has_the_same_trace(
    tmp_path: Path, learner: Callable[[], Chained], where: str, nth: int
) -> None:
    complete, resumed = tmp_path / "complete.jsonl", tmp_path / "resumed.jsonl"
    take_part(Service(), complete, learner())
    service = Service()
    with pytest.raises(Killed):
        take_part(service, resumed, learner(), kill=nth, where=where)
    steps = take_part(service, resumed, learner())
    assert resumed.read_bytes() == complete.read_bytes()
    assert [step.index for step in steps] == list(range(len(SOURCES)))
    assert len(service.runs) == 1
    assert len(service.runs["run-0"].rewards) == len(SOURCES)
    assert not list(tmp_path.glob("*.pending*"))


@pytest.mark.parametrize(("where", "nth"), MOMENTS)
def test_a_random_learner_resubmits_its_pending_proposal(tmp_path: Path, where: str, nth: int) -> None:
    service, out = Service(), tmp_path / "run.jsonl"
    with pytest.raises(Killed):
        take_part(service, out, RandomTexts(), kill=nth, where=where)
    steps = take_part(service, out, RandomTexts())
    submitted = [text for text, _ in service.runs["run-0"].submitted.values()]
    assert [step.proposal.text for step in steps] == submitted


@pytest.mark.parametrize("kill", [0, 5, 6, 9])
def test_several_passes_in_one_trace(tmp_path: Path, kill: int) -> None:
    service, out = Service(), tmp_path / "run.jsonl"
    if kill:
        with pytest.raises(Killed):
            take_part(service, out, Chained(), passes=2, kill=kill, where="rewarded")
    steps = take_part(service, out, Chained(), passes=2)
    assert len(steps) == 2 * len(SOURCES)
    assert len(service.runs["run-0"].rewards) == 2 * len(SOURCES)
    assert len(take_part(service, out, Chained(), passes=2)) == 2 * len(SOURCES)


def test_a_run_can_be_resumed_without_its_trace(tmp_path: Path) -> None:
    service, out = Service(), tmp_path / "rest.jsonl"
    client = client_of(service)
    task = client.join("dev")
    segment, _ = next(iter(task))
    task.judge(Proposal(segment, "x"))
    rest, config = join_or_resume(client, out, "dev", task.run)
    assert config["first_step"] == 1
    assert len(list(participate(out, Header(config=config), rest, Chained()))) == len(SOURCES) - 1
    resumed, config = join_or_resume(client, out, "dev")
    assert len(list(participate(out, Header(config=config), resumed, Chained()))) == len(SOURCES) - 1


def test_a_run_continued_without_the_trace_is_refused(tmp_path: Path) -> None:
    service, out = Service(), tmp_path / "run.jsonl"
    with pytest.raises(Killed):
        take_part(service, out, Chained(), kill=2, where="learned")
    elsewhere = client_of(service).join("dev", "run-0")
    for segment, _ in elsewhere:
        elsewhere.judge(Proposal(segment, "x"))
    with pytest.raises(TraceError, match="the run was continued without this trace"):
        take_part(service, out, Chained())
    assert len(Trace.read(out).steps) == 1


def test_a_trace_of_another_task_or_run_is_not_resumed(tmp_path: Path) -> None:
    service, out = Service(), tmp_path / "run.jsonl"
    take_part(service, out, Chained())
    for task, run in (("mock", None), ("dev", "run-5")):
        with pytest.raises(TraceError, match="belongs to task dev, run run-0"):
            join_or_resume(client_of(service), out, task, run)
    assert len(service.runs) == 1


def test_a_run_of_another_task_is_not_joined(tmp_path: Path) -> None:
    client = client_of(Service())
    known, other = client.start("dev").run, client.start("mock").run
    with pytest.raises(InputError, match=f"task dev has no run '{other}'.*known: {known}"):
        join_or_resume(client, tmp_path / "x.jsonl", "dev", other)


@pytest.mark.parametrize("content", [b"", b'{"kind":"hea', b'{"kind":"header","config":{"ta'])
def test_killed_while_writing_the_first_line(tmp_path: Path, content: bytes) -> None:
    out = tmp_path / "run.jsonl"
    out.write_bytes(content)
    assert len(take_part(Service(), out, Chained())) == len(SOURCES)


def test_a_file_that_is_not_a_trace_is_not_changed(tmp_path: Path) -> None:
    out = tmp_path / "thesis.txt"
    out.write_text("precious\n")
    with pytest.raises(TraceError):
        take_part(Service(), out, Chained())
    assert out.read_text() == "precious\n"


def test_a_pending_file_of_another_run_is_ignored(tmp_path: Path) -> None:
    service, out = Service(), tmp_path / "run.jsonl"
    PendingProposalFile(tmp_path / "run.pending.json", "another").write(Proposal(Segment("1", "x"), "y"))
    assert len(take_part(service, out, Chained())) == len(SOURCES)


def test_an_invalid_pending_file(tmp_path: Path) -> None:
    (tmp_path / "run.pending.json").write_text("[]")
    with pytest.raises(TraceError, match=r"run\.pending\.json: the file has no valid proposal"):
        take_part(Service(), tmp_path / "run.jsonl", Chained())


def test_the_resubmitting_learner_is_stateful_if_its_learner_is(tmp_path: Path) -> None:
    from mtloop.client.participation import ResubmittingLearner

    pending = Proposal(Segment("1", "x"), "y")
    assert isinstance(ResubmittingLearner(Saved(), pending), Stateful)
    assert not isinstance(ResubmittingLearner(Chained(), pending), Stateful)


def test_the_learner_learns_from_the_lost_reward(tmp_path: Path) -> None:
    received: list[Feedback] = []

    class Recording(Chained):
        def learn(self, proposal: Proposal, feedback: Feedback) -> Learned:
            received.append(feedback)
            return super().learn(proposal, feedback)

    service, out = Service(), tmp_path / "run.jsonl"
    with pytest.raises(Killed):
        take_part(service, out, Recording(), kill=3, where="rewarded")
    received.clear()
    take_part(service, out, Recording())
    assert len(received) == len(SOURCES)


def test_a_header_without_the_run(tmp_path: Path) -> None:
    task = client_of(Service()).join("dev")
    with pytest.raises(InputError, match="the values that `join_or_resume` returns"):
        list(participate(tmp_path / "run.jsonl", Header(), task, Chained()))
    assert not (tmp_path / "run.jsonl").exists()


@pytest.mark.parametrize("seed", range(12))
def test_repeated_kills_and_lost_responses(tmp_path: Path, seed: int) -> None:
    """Any response may be lost, and the process may be killed anywhere: trace and service have the same rewards."""
    service, out, rng = Service(), tmp_path / "run.jsonl", random.Random(seed)
    steps: list[Step] = []
    while len(steps) < 2 * len(SOURCES):
        with suppress(Killed):
            where, nth = rng.choice(["proposed", "submitting", "rewarded", "learned"]), rng.randint(1, 6)
            faults = RandomFaults(service, rng.randrange(1000))
            steps = take_part(faults, out, RandomTexts(), passes=2, kill=nth, where=where)
    (run,) = service.runs.values()
    assert [step.proposal.text for step in steps] == [text for text, _ in run.submitted.values()]
    assert [step.feedback for step in steps] == [Reward(reward) for reward in run.rewards]
    assert Trace.read(out).steps == steps
