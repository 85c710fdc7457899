"""Long texts are scored in a process of their own, with the same scores, and one that is killed is replaced."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from helpers.shared_task import SOURCES, TaskServer, pending, start, submit, write_data
from helpers.tiers import slow
from hypothesis import given, settings
from hypothesis import strategies as st

from mtloop.judges.reward_process import ScoredText, ScoringJob, score_text
from mtloop.judges.rewards import reward_names, sentence_reward
from mtloop.metrics.registry import GROUP
from mtloop.service.problems import SCORING_BUSY, ProblemError
from mtloop.service.tasks import scoring
from mtloop.service.tasks.scoring import ChildProcess, Scoring, is_short, parse_answer

DOTS = "." * 10_000
PARENT = """
import asyncio, sys
from mtloop.service.tasks.scoring import ChildProcess
from mtloop.judges.reward_process import ScoringJob

async def main():
    child = ChildProcess()
    await child.score(ScoringJob("bleu", "de", "a", "b", False))
    print(child.pid, flush=True)
    sys.stdin.read()

asyncio.run(main())
"""

METRICS = """
import json, os, subprocess, sys, time

print("loaded", flush=True)

class Prints:
    def __init__(self, options): pass

    def sentence(self, text, reference):
        wrong = json.dumps({"job": 1, "score": 0.75, "statistics": []})
        print("hello")
        print(wrong, flush=True)
        print(wrong, file=sys.__stdout__, flush=True)
        os.write(1, wrong.encode() + b"\\n")
        subprocess.run(["echo", wrong])
        assert sys.stdin.read() == ""
        return 0.25

class Hangs:
    def __init__(self, options): pass

    def sentence(self, text, reference):
        pid = os.fork()
        if pid:
            with open(os.environ["TOY_PID"], "w") as file:
                file.write(str(pid))
        time.sleep(600)
"""
PACKAGES = str(Path(scoring.__file__).parents[3])
WITHOUT_PACKAGE = "import os, sys; sys.path[:] = [one for one in sys.path if not os.path.isdir(f'{one}/mtloop')]"
STRANGER = "import sys; sys.stdin.readline(); sys.stdout.write({answer!r}); sys.stdout.flush(); sys.stdin.read()"
posix = pytest.mark.skipif(sys.platform == "win32", reason="needs the signals of POSIX")


def job(text: str, reward: str = "bleu") -> ScoringJob:
    return ScoringJob(reward, "de", text, "Öffnen Sie die Schublade.", True)


def with_scoring(work: Callable[[Scoring], Awaitable[None]], **options: int) -> None:
    async def call() -> None:
        found = Scoring(**options)
        try:
            await work(found)
        finally:
            await found.close()

    asyncio.run(call())


def last_used(found: Scoring) -> int | None:
    """The id of the process that works first."""
    return found._processes[-1].pid


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed distribution with metrics that only the process loads."""
    folder = tmp_path / "site"
    distribution = folder / "toy_metrics-1.0.dist-info"
    distribution.mkdir(parents=True)
    (folder / "toy_metrics.py").write_text(METRICS)
    (distribution / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-metrics\nVersion: 1.0\n")
    points = "toy-prints = toy_metrics:Prints\ntoy-hangs = toy_metrics:Hangs\n"
    (distribution / "entry_points.txt").write_text(f"[{GROUP}]\n{points}")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder), PACKAGES]))
    monkeypatch.setenv("TOY_PID", str(tmp_path / "pid"))
    return folder


@pytest.fixture(scope="module")
def child() -> Iterator[ChildProcess]:
    found = ChildProcess()
    yield found
    asyncio.run(found.close())


@pytest.mark.parametrize("reward", reward_names())
@given(text=st.text(max_size=300))
@settings(max_examples=20, deadline=None)
def test_the_process_gives_the_same_scores(child: ChildProcess, reward: str, text: str) -> None:
    assert asyncio.run(child.score(job(text, reward))) == score_text(job(text, reward))


def test_only_short_texts_are_scored_in_the_event_loop() -> None:
    assert is_short(job("Öffnen Sie die Schublade."))
    assert not is_short(job(DOTS))
    assert not is_short(job("x" * 300, "ter"))
    assert not is_short(job("x", "a-metric-of-a-plugin"))


def test_a_long_translation_is_scored_outside_the_service(lite: TaskServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The service computes nothing for it, and answers others in the meantime."""
    here: list[ScoringJob] = []

    def note(one: ScoringJob) -> ScoredText:
        here.append(one)
        return score_text(one)

    monkeypatch.setattr(scoring, "score_text", note)
    lite.task(reward="bleu")
    with lite.serve(lite.participant()) as client:
        run = start(client)
        response = submit(client, run, pending(client, run)["id"], DOTS)
        assert response.status_code == 200
        assert here == []
        submit(client, run, response.json()["next"]["id"], "kurz")
        assert [one.translation for one in here] == ["kurz"]
    reference = "Öffnen Sie die Schublade 1 des geheimen Schranks."
    assert response.json()["reward"] == sentence_reward("bleu", "de")(DOTS, reference)


def test_a_killed_process_is_replaced() -> None:
    async def work(found: Scoring) -> None:
        expected = score_text(job(DOTS))
        for _ in range(2):
            assert await found.score(job(DOTS), 1) == expected
            pid = last_used(found)
            assert pid is not None
            os.kill(pid, signal.SIGKILL)
        during = asyncio.create_task(found.score(job(DOTS * 5), 1))
        await asyncio.sleep(0.05)
        if (pid := last_used(found)) is not None:
            os.kill(pid, signal.SIGKILL)
        assert await during == score_text(job(DOTS * 5))

    with_scoring(work)


def test_too_many_long_texts_are_refused_with_a_time_to_wait() -> None:
    async def work(found: Scoring) -> None:
        waiting = [asyncio.create_task(found.score(job(DOTS), number)) for number in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(ProblemError) as refused:
            await found.score(job(DOTS), 3)
        assert (refused.value.problem.status, refused.value.problem.retry_after) == (503, 1)
        assert (await found.score(job("short"), 3)).score >= 0
        await asyncio.gather(*waiting)
        assert (await found.score(job(DOTS), 3)).score >= 0

    with_scoring(work, max_waiting=2)


def test_one_participant_does_not_take_all_places() -> None:
    async def work(found: Scoring) -> None:
        assert scoring.MAX_WAITING_EACH * 4 == scoring.MAX_WAITING
        mine = [asyncio.create_task(found.score(job(DOTS), 1)) for _ in range(scoring.MAX_WAITING)]
        await asyncio.sleep(0)
        other = asyncio.create_task(found.score(job(DOTS), 2))
        assert (await other).score >= 0
        scores = await asyncio.gather(*mine, return_exceptions=True)
        refused = [one for one in scores if isinstance(one, ProblemError)]
        assert len(refused) == scoring.MAX_WAITING - scoring.MAX_WAITING_EACH
        assert {one.problem for one in refused} == {SCORING_BUSY}
        assert (await found.score(job(DOTS), 1)).score >= 0
        assert not found._waiting

    with_scoring(work)


def test_an_error_of_a_metric_is_not_the_end_of_the_process() -> None:
    async def work(found: Scoring) -> None:
        with pytest.raises(RuntimeError, match="scoring failed: UnknownName"):
            await found.score(job("x", "no-such-metric"), 1)
        assert (await found.score(job(DOTS), 1)).score >= 0

    with_scoring(work)


async def stopped(found: Scoring) -> int:
    """Start the process and stop it as a debugger does; return its id."""
    await found.score(job(DOTS), 1)
    pid = last_used(found)
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    return pid


@posix
@pytest.mark.parametrize("length", [1, slow(20)])  # the second does not fit into the pipe, so that writing it waits too
def test_a_stopped_process_is_killed_at_the_deadline(
    length: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def work(found: Scoring) -> None:
        pid = await stopped(found)
        with monkeypatch.context() as patch, released(pid):
            patch.setattr(scoring, "JOB_SECONDS", 0.2)
            with pytest.raises(ProblemError) as refused:
                await asyncio.wait_for(found.score(job(DOTS * length), 1), 30)
        assert refused.value.problem == SCORING_BUSY
        assert not is_running(pid)
        assert await found.score(job(DOTS), 2) == score_text(job(DOTS))

    with caplog.at_level("INFO"):
        with_scoring(work)
    assert [one.message for one in caplog.records].count("scoring process gave no answer in time") == 1


@posix
def test_a_text_of_another_participant_is_scored_while_one_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if who sent it does not wait any more, and whatever else the same participant sends."""
    monkeypatch.setattr(scoring, "JOB_SECONDS", 60.0)

    async def work(found: Scoring) -> None:
        pid = await stopped(found)
        with released(pid):
            gone, *mine = [asyncio.create_task(found.score(job(DOTS), 1)) for _ in range(4)]
            await asyncio.sleep(0.1)
            gone.cancel()
            await asyncio.sleep(0)
            for _ in range(3):
                assert await asyncio.wait_for(found.score(job(DOTS), 2), 30) == score_text(job(DOTS))
            assert is_running(pid)
            os.kill(pid, signal.SIGCONT)
            assert await asyncio.wait_for(asyncio.gather(*mine), 30) == [score_text(job(DOTS))] * 3
        assert sorted(map(id, found._idle)) == sorted(map(id, found._processes))

    with_scoring(work)


@pytest.mark.slow
@posix
def test_a_metric_that_hangs_is_killed_with_what_it_started(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process that the metric starts has the pipes of the service too, and would keep it waiting."""

    async def work(found: Scoring) -> None:
        await found.score(job("x", "toy-prints"), 1)
        with monkeypatch.context() as patch:
            patch.setattr(scoring, "JOB_SECONDS", 3.0)
            with pytest.raises(ProblemError) as refused:
                await asyncio.wait_for(found.score(job("x", "toy-hangs"), 1), 60)
        assert refused.value.problem == SCORING_BUSY
        assert (await found.score(job("x", "toy-prints"), 2)).score == 0.25

    with_scoring(work)
    wait_for_end(int((tmp_path / "pid").read_text()))


@pytest.mark.slow
@posix
def test_the_service_closes_with_a_stopped_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a job, and with one under way and one that waits: these are refused."""
    monkeypatch.setattr(scoring, "JOB_SECONDS", 600.0)
    monkeypatch.setattr(scoring, "SECONDS_TO_END", 0.2)

    async def call(texts: list[str]) -> None:
        found = Scoring(processes=1)
        pid = await stopped(found)
        with released(pid):
            jobs = [asyncio.create_task(found.score(job(text), number)) for number, text in enumerate(texts)]
            await asyncio.sleep(0.1)
            await asyncio.wait_for(found.close(), 30)
            for refused in await asyncio.wait_for(asyncio.gather(*jobs, return_exceptions=True), 30):
                assert isinstance(refused, ProblemError)
                assert refused.problem == SCORING_BUSY
        assert not is_running(pid)

    asyncio.run(call([]))
    asyncio.run(call([DOTS, DOTS]))
    asyncio.run(call([DOTS * 20]))


@contextmanager
def released(pid: int) -> Iterator[None]:
    """Kill a stopped process if the block fails: nothing else may wait for it."""
    try:
        yield
    except BaseException:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        raise


@pytest.mark.slow
def test_what_a_metric_prints_is_no_answer(site: Path) -> None:
    async def work(found: Scoring) -> None:
        await found.score(job(DOTS), 1)
        pid = last_used(found)
        for _ in range(3):
            assert (await found.score(job("x", "toy-prints"), 1)).score == 0.25
        assert await found.score(job(DOTS), 1) == score_text(job(DOTS))
        assert last_used(found) == pid

    with_scoring(work)


@pytest.mark.parametrize(
    "answer",
    [
        "hello\n",
        "1\n",
        "null\n",
        "[" * 5000 + "\n",
        '{"score": 0.5, "statistics": []}\n',
        '{"job": 99, "score": 0.5, "statistics": []}\n',
        '{"job": 1, "score": "high", "statistics": []}\n',
        '{"job": 1, "score": 0.5, "statistics": [Infinity]}\n',
        '{"job": 1, "score": 0.5}\n',
        '{"job": 1, "score": 0.5, "statistics": []}',
    ],
)
def test_only_the_answer_to_the_job_counts(answer: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_answer(answer.encode(), 1)
    right = b'{"job": 1, "score": 0.5, "statistics": [1, 2]}\n'
    assert parse_answer(right, 1) == ScoredText(0.5, (1, 2))


@pytest.mark.parametrize("answer", ["hello\n", slow('{"job": 99, "score": 1, "statistics": []}\n'), slow("x" * 10_000)])
def test_a_process_with_wrong_answers_is_replaced(answer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    command = [sys.executable, "-c", STRANGER.format(answer=answer)]

    async def work(found: Scoring) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(scoring, "COMMAND", command)
            with pytest.raises(ProblemError) as refused:
                await found.score(job(DOTS), 1)
        assert refused.value.problem == SCORING_BUSY
        assert await found.score(job(DOTS), 1) == score_text(job(DOTS))

    with_scoring(work)


@pytest.mark.slow
def test_files_of_the_current_folder_replace_no_modules(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor must the package be installed, or be in the current folder."""
    (site / "sitecustomize.py").write_text(WITHOUT_PACKAGE)
    monkeypatch.setenv("PYTHONPATH", str(site))
    folder = tmp_path / "current"
    folder.mkdir()
    for name in ("json", "signal", "sacrebleu"):
        (folder / f"{name}.py").write_text("raise SystemExit('a file of the current folder')")
    monkeypatch.chdir(folder)

    async def work(found: Scoring) -> None:
        assert await found.score(job(DOTS), 1) == score_text(job(DOTS))

    with_scoring(work)


@pytest.mark.slow
@posix
def test_the_process_ends_with_a_killed_service() -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", PARENT], stdin=pipe, stdout=pipe) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        parent.kill()
    wait_for_end(pid)


def wait_for_end(pid: int) -> None:
    for _ in range(300):
        if not is_running(pid):
            return
        time.sleep(0.1)
    raise AssertionError("the process still runs after 30 seconds")


def is_running(pid: int) -> bool:
    """Whether a process runs; one that has ended may wait to be collected."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not state.exists() or state.read_text().rpartition(")")[2].split()[0] != "Z"


def test_one_run_has_one_translation_at_a_time(lite: TaskServer) -> None:
    """Two long translations of one sentence at once: one is scored and rewarded, the other is refused."""
    lite.task(**write_data(lite.folder, SOURCES[:2], ["Öffnen.", "Schließen."]), reward="bleu")
    with lite.serve(lite.participant()) as client:
        run = start(client)
        first = pending(client, run)["id"]
        scored: list[str] = []
        submissions = client.app.state.service.submissions  # type: ignore[attr-defined]
        score = submissions._scoring.score

        async def note(one: ScoringJob, participant: int) -> ScoredText:
            scored.append(one.translation)
            return await score(one, participant)

        submissions._scoring.score = note
        with ThreadPoolExecutor(8) as pool:
            texts = [character * 1000 for character in "abcdefgh"]
            statuses = list(pool.map(lambda text: submit(client, run, first, text).status_code, texts))
    assert sorted(statuses) == [200] + [409] * 7
    assert len(scored) == 1
