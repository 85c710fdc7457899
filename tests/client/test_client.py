from __future__ import annotations

import sys

import httpx2
import pytest
from helpers.fake_service import KEY, SOURCES, FakeClock, Faulty, Service, client_of, problem

from mtloop.client import Client, Refused, Unreachable
from mtloop.core import InputError, UnknownName
from mtloop.core.errors import SerialisationError


@pytest.fixture
def service() -> Service:
    return Service()


def test_tasks_runs_sentences_and_rewards(service: Service) -> None:
    client = client_of(service)
    assert [task.kind for task in client.tasks()] == ["mock", "dev", "training"]
    state = client.start("dev")
    assert (state.task, state.pass_number, state.position, state.done) == ("dev", 1, 0, 0)
    first = client.next(state.run)
    assert first is not None
    assert first == client.next(state.run)
    result = client.submit(state.run, first.id, "good morning")
    assert result.reward == 1.0
    assert result.next == client.next(state.run)
    assert client.run(state.run).cumulative_reward == 1.0
    assert [run.run for run in client.runs("dev")] == [state.run]
    assert client.runs("mock") == []


def test_the_end_of_the_stream_is_not_an_error(service: Service) -> None:
    client = client_of(service)
    run = client.start("mock").run
    while (sentence := client.next(run)) is not None:
        client.submit(run, sentence.id, sentence.source)
    assert client.run(run).position == len(SOURCES)
    assert client.next_pass(run).pass_number == 2
    assert client.next(run) is not None


@pytest.mark.parametrize("fault", ["before", "after", "later", 408, 429, 500, 502, 503, 504])
def test_a_translation_counts_once_despite_failures(service: Service, fault: str | int) -> None:
    run = client_of(service).start("dev").run
    time = FakeClock()
    client = client_of(Faulty(service, fault, fault, fault), time=time)
    sentence = client_of(service).next(run)
    assert sentence is not None
    assert client.submit(run, sentence.id, "good morning").reward == 1.0
    assert client.run(run).position == 1
    assert len(time.slept) == 3


@pytest.mark.parametrize("fault", ["before", "after", "later", 429, 500, 503])
def test_a_run_is_started_once(service: Service, fault: str | int) -> None:
    transport = Faulty(service)
    client = client_of(transport)
    other = client.start("dev")
    _fail_posts(transport, fault)
    state = client.start("dev")
    assert state.run != other.run
    assert len(service.runs) == 2


@pytest.mark.parametrize("fault", ["before", "after", "later", 429, 502, 503])
def test_a_pass_is_started_once(service: Service, fault: str | int) -> None:
    transport = Faulty(service)
    client = client_of(transport)
    run = client.start("mock").run
    _fail_posts(transport, fault)
    assert client.next_pass(run).pass_number == 2
    assert service.runs[run].pass_number == 2


def _fail_posts(transport: Faulty, fault: str | int) -> None:
    """Make the next two POST requests fail. GET requests succeed."""
    inner, faults = transport.inner, [fault, fault]

    class Posts(httpx2.BaseTransport):
        def handle_request(self, request: httpx2.Request) -> httpx2.Response:
            failing = request.method == "POST" and faults
            return Faulty(inner, *([faults.pop()] if failing else [])).handle_request(request)

    transport.inner = Posts()


def test_creating_a_run_is_given_up_after_many_lost_responses(service: Service) -> None:
    """The service loses every response to a POST request; all other requests succeed."""

    class LosesPosts(httpx2.BaseTransport):
        def handle_request(self, request: httpx2.Request) -> httpx2.Response:
            return Faulty(service, *(["later"] if request.method == "POST" else [])).handle_request(request)

    with pytest.raises(Unreachable, match="reset"):
        client_of(LosesPosts()).start("dev")
    assert not service.runs


def test_retry_after_is_respected(service: Service) -> None:
    time = FakeClock()
    busy = problem(429, "Too Many Requests", "slow down", **{"retry-after": "7"})
    client_of(Faulty(service, busy, busy), time=time, max_wait=0.5).tasks()
    assert [7 <= wait <= 7.5 for wait in time.slept] == [True, True]


def test_waits_grow_and_are_random(service: Service) -> None:
    time = FakeClock()
    client_of(Faulty(service, *[503] * 8), time=time, first_wait=1.0, max_wait=8.0).tasks()
    assert all(0 <= wait <= min(8, 2**attempt) for attempt, wait in enumerate(time.slept))
    assert max(time.slept) > 2
    assert len(set(time.slept)) == 8


def test_the_client_gives_up_after_the_given_time(service: Service) -> None:
    time = FakeClock()
    with pytest.raises(Unreachable, match=r"was not available within 30 s \(refused\); is it running"):
        client_of(Faulty(service, *["before"] * 99), time=time, give_up_after=30).tasks()
    assert 10 < time.now <= 30


def test_a_retry_after_longer_than_give_up_after_is_not_waited_for(service: Service) -> None:
    time = FakeClock()
    quota = problem(429, "Too Many Requests", "quota", **{"retry-after": "86400"})
    with pytest.raises(Unreachable, match="asks to wait 86400 s"):
        client_of(Faulty(service, quota), time=time).tasks()
    assert not time.slept


def test_a_different_translation_is_refused_without_retry(service: Service) -> None:
    client, time = client_of(service), FakeClock()
    run = client.start("dev").run
    sentence = client.next(run)
    assert sentence is not None
    client.submit(run, sentence.id, "good morning")
    with pytest.raises(Refused) as refused:
        client_of(service, time=time).submit(run, sentence.id, "morning good")
    assert (refused.value.status, refused.value.kind) == (409, "already-translated")
    assert not time.slept
    assert service.runs[run].rewards == [1.0]


def test_a_run_of_another_key_is_unknown(service: Service) -> None:
    run = client_of(service).start("dev").run
    with pytest.raises(Refused) as refused:
        client_of(service, key="key-of-ben").next(run)
    assert (refused.value.status, refused.value.kind) == (404, "unknown-run")


def test_an_unknown_task_lists_the_known_tasks(service: Service) -> None:
    with pytest.raises(UnknownName, match="did you mean 'training'"):
        client_of(service).start("trainign")
    assert not service.runs


def test_a_wrong_key(service: Service) -> None:
    with pytest.raises(Refused, match="401"):
        client_of(service, key="nobody").tasks()
    with pytest.raises(Refused, match="401"):
        client_of(service, key=None).tasks()


@pytest.mark.parametrize("key", ["", "two words", "line\nbreak", "schlüssel"])
def test_an_invalid_key_is_not_sent(service: Service, key: str) -> None:
    with pytest.raises(InputError, match="API key"):
        client_of(service, key=key)


def test_the_key_is_not_in_messages(service: Service) -> None:
    client = client_of(Faulty(service, *["before"] * 99), give_up_after=1)
    with pytest.raises(Unreachable) as error:
        client.tasks()
    assert KEY not in repr(client) + str(error.value) + repr(error.value.__cause__)


@pytest.mark.parametrize("url", ["", "localhost:8000", "ftp://example.org", "http://[", "http://:80", "http://x:99999"])
def test_an_invalid_address(url: str) -> None:
    with pytest.raises(InputError, match="is not a service address"):
        Client(url, KEY).tasks()


def test_an_invalid_http_client() -> None:
    with pytest.raises(InputError, match=r"expected a URL or an httpx2\.Client, not a int"):
        Client(5, KEY)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "content",
    [
        b"<html>",
        b"[]",
        b'{"tasks": 5}',
        b'{"tasks": [5]}',
        b'{"tasks": [{"name": "x"}]}',
        b'{"tasks": [{"name": NaN}]}',
    ],
)
def test_an_invalid_response(service: Service, content: bytes) -> None:
    with pytest.raises(Unreachable):
        client_of(Faulty(service, httpx2.Response(200, content=content))).tasks()


@pytest.mark.parametrize("reward", [None, "1", True, 1.5, -0.1])
def test_an_invalid_reward(service: Service, reward: object) -> None:
    invalid = httpx2.Response(200, json={"id": "x", "reward": reward, "next": None})
    with pytest.raises(Unreachable, match="not a response of an mtloop service"):
        client_of(Faulty(service, invalid)).submit("run", "x", "text")


def test_a_refusal_by_a_proxy(service: Service) -> None:
    proxy = httpx2.Response(403, content=b"<html>go away</html>")
    with pytest.raises(Refused, match=r"403 Forbidden") as refused:
        client_of(Faulty(service, proxy)).tasks()
    assert refused.value.kind == ""


def test_a_redirect_is_not_followed_with_the_key(service: Service) -> None:
    redirect = httpx2.Response(307, headers={"location": "http://elsewhere.test/"})
    with pytest.raises(Refused, match=r"307.*use that address"):
        client_of(Faulty(service, redirect)).tasks()
    assert not service.requests


def test_invalid_unicode_is_not_sent(service: Service) -> None:
    client = client_of(service)
    run = client.start("dev").run
    sent = len(service.requests)
    with pytest.raises(SerialisationError, match="surrogates"):
        client.submit(run, "x", "\ud800")
    assert len(service.requests) == sent


def test_names_are_quoted_in_paths(service: Service) -> None:
    with pytest.raises(Refused):
        client_of(service).run("../tasks?x=1")
    assert service.requests == [("GET", "/v1/runs/..%2Ftasks%3Fx%3D1")]


def test_an_http_client_of_the_caller_stays_open(service: Service) -> None:
    http = httpx2.Client(transport=service, base_url="http://service.test")
    with Client(http, KEY) as client:
        client.tasks()
    assert not http.is_closed
    http.close()


def test_a_service_behind_a_path(service: Service) -> None:
    http = httpx2.Client(transport=service, base_url="http://service.test/mt")
    with pytest.raises(Refused):
        Client(http, KEY).tasks()
    assert service.requests == [("GET", "/mt/v1/tasks")]


def test_clients_of_the_older_library_are_accepted(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    class Older(httpx2.Client):
        __module__ = "httpx"

    monkeypatch.setitem(sys.modules, "httpx", httpx2)
    http = Older(transport=Faulty(service, "before", "later"), base_url="http://service.test")
    assert len(Client(http, KEY, retry=FakeClock().retry()).tasks()) == 3
