from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import httpx2
import pytest
from helpers.fake_service import SOURCES, Service, Storm, client_of
from helpers.learners import Chained, Saved

from mtloop.client import participate, rejoin
from mtloop.client.participation import Journal
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
    """As if the process had ended here."""


class Dice(Chained):
    """Never says the same twice."""

    def propose(self, segment: Segment) -> Proposal:
        return Proposal(segment, str(random.random()), memo={"seed": random.random()})


def take_part(
    service: httpx2.BaseTransport, out: Path, learner: Learner, passes: int = 1, kill: int = 0, where: str = ""
) -> list[Step]:
    """Join or join again; killed at the nth call of what `where` names."""
    client = client_of(service, patience=1e9)
    task, said = rejoin(client, out, "dev")
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
    return list(participate(out, Header(config=said), task, learner, passes=passes, every=2))


MOMENTS = [(where, nth) for where in ("proposed", "submitting", "rewarded", "learned") for nth in (1, 3, 5)]


@pytest.mark.parametrize("learner", [Chained, Saved])
@pytest.mark.parametrize(("where", "nth"), MOMENTS)
def test_killed_and_resumed_the_trace_is_the_same(
    tmp_path: Path, learner: Callable[[], Chained], where: str, nth: int
) -> None:
    whole, cut = tmp_path / "whole.jsonl", tmp_path / "cut.jsonl"
    take_part(Service(), whole, learner())
    service = Service()
    with pytest.raises(Killed):
        take_part(service, cut, learner(), kill=nth, where=where)
    steps = take_part(service, cut, learner())
    assert cut.read_bytes() == whole.read_bytes()
    assert [step.index for step in steps] == list(range(len(SOURCES)))
    assert len(service.runs) == 1
    assert len(service.runs["run-0"].rewards) == len(SOURCES)
    assert not list(tmp_path.glob("*.pending*"))


@pytest.mark.parametrize(("where", "nth"), MOMENTS)
def test_a_learner_that_draws_says_what_it_said(tmp_path: Path, where: str, nth: int) -> None:
    service, out = Service(), tmp_path / "run.jsonl"
    with pytest.raises(Killed):
        take_part(service, out, Dice(), kill=nth, where=where)
    steps = take_part(service, out, Dice())
    submitted = [text for text, _ in service.runs["run-0"].said.values()]
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


def test_a_run_can_be_taken_up_in_the_middle(tmp_path: Path) -> None:
    service, out = Service(), tmp_path / "rest.jsonl"
    client = client_of(service)
    task = client.join("dev")
    segment, _ = next(iter(task))
    task.judge(Proposal(segment, "x"))
    rest, said = rejoin(client, out, "dev", task.run)
    assert said["begun"] == 1
    assert len(list(participate(out, Header(config=said), rest, Chained()))) == len(SOURCES) - 1
    again, said = rejoin(client, out, "dev")
    assert len(list(participate(out, Header(config=said), again, Chained()))) == len(SOURCES) - 1


def test_a_run_that_went_on_elsewhere_is_not_mixed_up(tmp_path: Path) -> None:
    service, out = Service(), tmp_path / "run.jsonl"
    with pytest.raises(Killed):
        take_part(service, out, Chained(), kill=2, where="learned")
    elsewhere = client_of(service).join("dev", "run-0")
    for segment, _ in elsewhere:
        elsewhere.judge(Proposal(segment, "x"))
    with pytest.raises(TraceError, match="it went on elsewhere"):
        take_part(service, out, Chained())
    assert len(Trace.read(out).steps) == 1


def test_a_trace_of_another_task_or_run_is_not_continued(tmp_path: Path) -> None:
    service, out = Service(), tmp_path / "run.jsonl"
    take_part(service, out, Chained())
    for task, run in (("mock", None), ("dev", "run-5")):
        with pytest.raises(TraceError, match="is of task dev, run run-0"):
            rejoin(client_of(service), out, task, run)
    assert len(service.runs) == 1


def test_a_run_of_another_task_is_not_joined(tmp_path: Path) -> None:
    client = client_of(Service())
    mine, other = client.start("dev").run, client.start("mock").run
    with pytest.raises(InputError, match=f"unknown run of task dev '{other}'.*known: {mine}"):
        rejoin(client, tmp_path / "x.jsonl", "dev", other)


@pytest.mark.parametrize("content", [b"", b'{"kind":"hea', b'{"kind":"header","config":{"ta'])
def test_killed_within_the_first_line(tmp_path: Path, content: bytes) -> None:
    out = tmp_path / "run.jsonl"
    out.write_bytes(content)
    assert len(take_part(Service(), out, Chained())) == len(SOURCES)


def test_what_is_no_trace_is_left_alone(tmp_path: Path) -> None:
    out = tmp_path / "thesis.txt"
    out.write_text("precious\n")
    with pytest.raises(TraceError):
        take_part(Service(), out, Chained())
    assert out.read_text() == "precious\n"


def test_a_journal_of_another_run_is_not_believed(tmp_path: Path) -> None:
    service, out = Service(), tmp_path / "run.jsonl"
    Journal(tmp_path / "run.pending.json", "another").write(Proposal(Segment("1", "x"), "y"))
    assert len(take_part(service, out, Chained())) == len(SOURCES)


def test_a_journal_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "run.pending.json").write_text("[]")
    with pytest.raises(TraceError, match=r"run\.pending\.json: holds no proposal"):
        take_part(Service(), tmp_path / "run.jsonl", Chained())


def test_recalling_does_not_hide_what_a_learner_can(tmp_path: Path) -> None:
    from mtloop.client.participation import Recalling

    said = Proposal(Segment("1", "x"), "y")
    assert isinstance(Recalling(Saved(), said), Stateful)
    assert not isinstance(Recalling(Chained(), said), Stateful)


def test_the_learner_learns_what_was_lost(tmp_path: Path) -> None:
    heard: list[Feedback] = []

    class Listening(Chained):
        def learn(self, proposal: Proposal, feedback: Feedback) -> Learned:
            heard.append(feedback)
            return super().learn(proposal, feedback)

    service, out = Service(), tmp_path / "run.jsonl"
    with pytest.raises(Killed):
        take_part(service, out, Listening(), kill=3, where="rewarded")
    heard.clear()
    take_part(service, out, Listening())
    assert len(heard) == len(SOURCES)


def test_a_header_that_says_nothing_of_the_run(tmp_path: Path) -> None:
    task = client_of(Service()).join("dev")
    with pytest.raises(InputError, match="what `rejoin` says of the run"):
        list(participate(tmp_path / "run.jsonl", Header(), task, Chained()))
    assert not (tmp_path / "run.jsonl").exists()


@pytest.mark.parametrize("seed", range(12))
def test_killed_again_and_again_in_a_storm(tmp_path: Path, seed: int) -> None:
    """Any answer may be lost, any life may end anywhere: both sides agree on what was said and what it earned."""
    service, out, dice = Service(), tmp_path / "run.jsonl", random.Random(seed)
    steps: list[Step] = []
    while len(steps) < 2 * len(SOURCES):
        with suppress(Killed):
            where, nth = dice.choice(["proposed", "submitting", "rewarded", "learned"]), dice.randint(1, 6)
            storm = Storm(service, dice.randrange(1000))
            steps = take_part(storm, out, Dice(), passes=2, kill=nth, where=where)
    (run,) = service.runs.values()
    assert [step.proposal.text for step in steps] == [text for text, _ in run.said.values()]
    assert [step.feedback for step in steps] == [Reward(earned) for earned in run.rewards]
    assert Trace.read(out).steps == steps
