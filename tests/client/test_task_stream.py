from __future__ import annotations

import httpx2
import pytest
from helpers.fake_service import (
    KEY,
    SOURCES,
    TARGETS,
    Faulty,
    RandomFaults,
    Service,
    client_of,
    json_response,
    reward,
    served,
)
from helpers.learners import Chained

from mtloop.client import Client, Retry
from mtloop.core import Blocks, Delay, Feedback, InputError, Learned, Proposal, Reward, Segment, run
from mtloop.methods.copy_source import CopySource


@pytest.fixture
def service() -> Service:
    return Service()


def test_a_participant_is_a_learning_loop(service: Service) -> None:
    task = client_of(service).join("dev")
    steps = list(run(task, CopySource(), task.judge))
    assert [step.proposal.segment.source for step in steps] == SOURCES
    assert all(step.truth is None for step in steps)
    rewards = [step.feedback.value for step in steps if isinstance(step.feedback, Reward)]
    assert rewards == [0, 0.75, 0, 1, 0]
    assert sum(rewards) == task.state().cumulative_reward


def test_a_step_needs_one_request(service: Service) -> None:
    task = client_of(service).join("dev")
    service.requests.clear()
    list(run(task, CopySource(), task.judge))
    assert [method for method, _ in service.requests] == ["GET", *["POST"] * len(SOURCES)]


class CountingRequests(Chained):
    """A learner that stores the number of requests at each call."""

    def __init__(self, service: Service) -> None:
        super().__init__()
        self.service, self.proposed, self.learned = service, [], []  # type: ignore[var-annotated]

    def propose(self, segment: Segment) -> Proposal:
        self.proposed.append(len(self.service.requests))
        return super().propose(segment)

    def learn(self, proposal: Proposal, feedback: Feedback) -> Learned:
        self.learned.append(len(self.service.requests))
        return super().learn(proposal, feedback)


def test_the_next_sentence_arrives_before_the_learner_learns(service: Service) -> None:
    """Between two translations there is no request, and no sentence is requested before the last translation."""
    task = client_of(service).join("dev")
    service.requests.clear()
    learner = CountingRequests(service)
    list(run(task, learner, task.judge))
    assert learner.learned == [*learner.proposed[1:], len(service.requests)]
    assert learner.proposed == list(range(1, len(SOURCES) + 1))


def test_the_learner_learns_from_every_reward(service: Service) -> None:
    task, learner = client_of(service).join("dev"), Chained()
    steps = list(run(task, learner, task.judge))
    assert learner.lessons_ == len(SOURCES)
    assert len({step.proposal.text.split()[-1] for step in steps}) == len(SOURCES)


def test_an_interrupted_run_is_resumed(service: Service) -> None:
    task = client_of(service).join("dev")
    steps = run(task, CopySource(), task.judge)
    first = [next(steps), next(steps)]
    resumed = client_of(service).join("dev", task.run)
    rest = list(run(resumed, CopySource(), resumed.judge))
    assert [step.proposal.segment.source for step in first + rest] == SOURCES


@pytest.mark.parametrize("seed", range(10))
def test_lost_responses_do_not_change_the_run(service: Service, seed: int) -> None:
    task = client_of(RandomFaults(service, seed), give_up_after=1e6).join("dev")
    steps = list(run(task, Chained(), task.judge))
    reliable = client_of(Service()).join("dev")
    expected = list(run(reliable, Chained(), reliable.judge))
    assert len(service.runs) == 1
    assert [step.feedback for step in steps] == [step.feedback for step in expected]
    assert service.runs[task.run].rewards == [
        step.feedback.value for step in steps if isinstance(step.feedback, Reward)
    ]


def test_learning_can_be_delayed(service: Service) -> None:
    task = client_of(service).join("dev")
    assert len(list(run(task, Chained(), task.judge, schedule=Delay(2)))) == len(SOURCES)


def test_no_sentence_before_a_translation_of_the_last(service: Service) -> None:
    task = client_of(service).join("dev")
    with pytest.raises(InputError, match="only after a translation"):
        list(run(task, Chained(), task.judge, schedule=Blocks(100)))
    assert not service.runs[task.run].rewards


def test_next_pass_restarts_the_stream(service: Service) -> None:
    task = client_of(service).join("dev")
    one = list(run(task, CopySource(), task.judge))
    task.next_pass()
    other = list(run(task, CopySource(), task.judge))
    assert [step.feedback for step in one] == [step.feedback for step in other]
    assert {step.proposal.segment.id for step in one}.isdisjoint(step.proposal.segment.id for step in other)
    assert task.state().done == 2 * len(SOURCES)


def test_a_mock_task_can_restart_in_the_middle_of_a_pass(service: Service) -> None:
    task = client_of(service).join("mock")
    next(run(task, CopySource(), task.judge))
    task.next_pass()
    assert next(iter(task))[0].source == SOURCES[0]


def test_resubmitting_an_old_translation_does_not_move_the_stream(service: Service) -> None:
    task = client_of(service).join("dev")
    steps = run(task, CopySource(), task.judge)
    first, second, third = next(steps), next(steps), next(steps)
    assert task.judge(first.proposal) == first.feedback
    assert next(steps).proposal.segment.source == SOURCES[3]
    assert (second.index, third.index) == (1, 2)


def test_a_lost_response_in_the_middle(service: Service) -> None:
    transport = Faulty(service)
    task = client_of(transport).join("dev")
    segment, _ = next(iter(task))
    transport.faults.extend(["after", "after", 503])
    assert task.judge(Proposal(Segment(segment.id, segment.source), TARGETS[0])) == Reward(1.0)
    assert service.runs[task.run].rewards == [1.0]


class LateDuplicates(httpx2.BaseTransport):
    """After every third response, the next request first gets that response again, as from a broken proxy.

    The connection is then out of step, until a request closes it.
    """

    def __init__(self, inner: httpx2.BaseTransport) -> None:
        self.inner, self.count, self.queue = inner, 0, list[httpx2.Response]()

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        response = self.inner.handle_request(request)
        self.count += 1
        self.queue += [response, response] if self.count % 3 == 0 else [response]
        found = self.queue.pop(0)
        if request.headers.get("connection") == "close":
            self.queue.clear()
        return found


def test_a_late_answer_to_another_translation_is_not_taken(service: Service) -> None:
    expected = [reward(source, target) for source, target in zip(SOURCES, TARGETS, strict=True)]
    transport = LateDuplicates(Faulty(service))
    task = client_of(transport, give_up_after=1e6).join("dev")
    steps = list(run(task, CopySource(), task.judge))
    assert [step.feedback for step in steps] == [Reward(value) for value in expected]
    assert service.runs[task.run].rewards == expected


def test_an_answer_to_another_translation_is_asked_for_again(service: Service) -> None:
    transport = Faulty(service)
    task = client_of(transport).join("dev")
    segment, _ = next(iter(task))
    transport.faults.append(json_response(200, {"id": "another", "reward": 0.125, "next": None}))
    assert task.judge(Proposal(segment, TARGETS[0])) == Reward(1.0)
    assert service.runs[task.run].rewards == [1.0]


def test_late_answers_on_a_socket(service: Service) -> None:
    """A raw server that sends the answer to the last translation once more, just before the answer to this one."""
    expected = [reward(source, target) for source, target in zip(SOURCES, TARGETS, strict=True)]
    with served(service, duplicates=True) as url, Client(url, KEY, retry=Retry(first_wait=0.01)) as client:
        task = client.join("dev")
        steps = list(run(task, CopySource(), task.judge))
    assert [step.feedback for step in steps] == [Reward(value) for value in expected]
