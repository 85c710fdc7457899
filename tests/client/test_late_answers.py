"""An answer to another request, which a broken proxy sends late, is not taken for the answer to this one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx2
import pytest
from helpers.fake_service import KEY, FakeClock, Faulty, Service, client_of, json_response

from mtloop.client import Project
from mtloop.client.retry import Retry

FIELDS = {"source_language": "en", "target_language": "de", "model": "m", "method": "bias", "settings": {}}
PROJECT = {**FIELDS, "name": "manual", "review": False, "state": 2}
TEXTS = {"source": "a", "translation": "b", "state": "learned"}


def project_that_answers(*answers: Mapping[str, Any]) -> Project:
    """A project whose service gives these answers, whatever it is asked."""
    found = iter(answers)
    transport = httpx2.MockTransport(lambda request: json_response(200, dict(next(found))))
    http = httpx2.Client(transport=transport, base_url="http://service.test")
    return Project("http://service.test/manual", KEY, http=http, retry=Retry(sleep=FakeClock().sleep))


def test_a_sentence_that_has_its_reward_is_not_the_next_one() -> None:
    service = Service()
    transport = Faulty(service)
    client = client_of(transport)
    run = client.start("dev").run
    first = client.next(run)
    assert first is not None
    following = client.submit(run, first.id, "good morning").next
    transport.faults.append(json_response(200, {"id": first.id, "source": first.source}))
    assert client.next(run) == following != first


@pytest.mark.parametrize("change", [False, True])
def test_the_answer_of_another_project_is_not_taken(change: bool) -> None:
    project = project_that_answers(PROJECT | {"name": "another"}, PROJECT)
    assert (project.change(review=False) if change else project.info()).name == "manual"


def test_another_correction_or_job_is_not_taken() -> None:
    project = project_that_answers(TEXTS | {"number": 4}, TEXTS | {"number": 5})
    assert project.correction(5).number == 5
    jobs = [{"job": name, "counted": 2, "learned": 2, "done": True} for name in ("2-3", "4-5")]
    assert project_that_answers(*jobs).job("4-5").job == "4-5"
    assert project_that_answers(*jobs).job("02-3").job == "2-3"  # as the service names it


def test_another_new_project_is_not_taken() -> None:
    """What came of the request is looked up in the list of projects."""
    copy = PROJECT | {"name": "copy"}
    project = project_that_answers({"projects": [PROJECT]}, PROJECT, {"projects": [PROJECT, copy]})
    assert project.fork("copy").name == "copy"
