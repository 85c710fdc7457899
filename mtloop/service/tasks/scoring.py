"""Who scores a translation: this process, or for long texts one of two others.

The score of a long text takes tens of milliseconds, and Python runs one thread at a time. So a long text is scored in
another process, and the requests of others go on. It starts when it is needed, and again if it was killed. The metric
of a plugin may hang or print, so each job has a deadline, and an answer counts only with its job's number. Each
participant has one job at a time, so a text that takes long leaves the other process to others.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager, suppress
from itertools import count
from pathlib import Path
from threading import Event, Lock, Timer
from weakref import WeakValueDictionary

from mtloop.judges.reward_process import ScoredText, ScoringJob, score_text
from mtloop.judges.rewards import reward_names
from mtloop.service.problems import SCORING_BUSY, ProblemError
from mtloop.service.telemetry import LOGGER

# Translation and reference together have at most this many characters: a few milliseconds, whatever the text is.
# The search of TER grows faster than the text, and the metrics of plugins may take any time.
MAX_CHARACTERS_HERE = {name: 200 if name == "ter" else 600 for name in reward_names()}
PROCESSES = 2  # for long texts
MAX_WAITING = 64  # long texts that wait for their score
MAX_WAITING_EACH = 16  # of one participant: more than the runs that a mock task allows by default
ATTEMPTS = 3  # the process may be killed before a job and during it
JOB_SECONDS = 20.0  # from the job to its answer, with the start of the process and of the metric
SECONDS_TO_END = 2.0  # before the process is killed
MAX_ANSWER = 10_000  # bytes
_PACKAGES = str(Path(__file__).parents[3])  # the folder of mtloop, which may run without being installed
_START = f"import sys; sys.path.append({_PACKAGES!r}); from mtloop.judges.reward_process import main; main()"
COMMAND = [sys.executable, "-P", "-c", _START]  # -P: files of the current folder must not replace modules


class Turns:
    """One at a time for each key; different keys do not wait for each other."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def of(self, key: int) -> AsyncIterator[None]:
        lock = self._locks.get(key)
        if lock is None:
            lock = self._locks[key] = asyncio.Lock()
        async with lock:
            yield


class Scoring:
    """Scores translations. Each worker process of the service has one."""

    def __init__(
        self, max_waiting: int = MAX_WAITING, max_waiting_each: int = MAX_WAITING_EACH, processes: int = PROCESSES
    ) -> None:
        self._processes, self._turns = [ChildProcess() for _ in range(processes)], Turns()
        self._idle, self._free = list(self._processes), asyncio.Semaphore(processes)
        self._waiting: Counter[int] = Counter()  # by participant
        self._max_waiting, self._max_waiting_each = max_waiting, max_waiting_each

    async def score(self, job: ScoringJob, participant_id: int) -> ScoredText:
        """Score a translation. Raise the problem 503 if too many long texts wait already, of all or of this one."""
        if is_short(job):
            return score_text(job)
        self._take_place(participant_id)
        # It keeps its place, turn and process until it is done, also if nobody waits for the score any more.
        return await asyncio.shield(asyncio.ensure_future(self._score(job, participant_id)))

    async def close(self) -> None:
        await asyncio.gather(*(process.close() for process in self._processes))

    async def _score(self, job: ScoringJob, participant_id: int) -> ScoredText:
        try:
            async with self._turns.of(participant_id), self._free:  # many runs of one must not keep others waiting
                process = self._idle.pop()
                try:
                    return await process.score(job)
                finally:
                    self._idle.append(process)  # the last one that worked is the first to work again
        finally:
            self._waiting[participant_id] -= 1
            if not self._waiting[participant_id]:
                del self._waiting[participant_id]

    def _take_place(self, participant_id: int) -> None:
        """Take a place among those that wait. One participant with many runs must not take all of them."""
        if self._waiting.total() >= self._max_waiting or self._waiting[participant_id] >= self._max_waiting_each:
            raise ProblemError(SCORING_BUSY)
        self._waiting[participant_id] += 1


def is_short(job: ScoringJob) -> bool:
    """Whether a job is quick enough for the event loop. The metrics of plugins never are."""
    return len(job.translation) + len(job.reference) <= MAX_CHARACTERS_HERE.get(job.reward, 0)


class ChildProcess:
    """A process for long texts, with one job at a time, and the thread that talks to it."""

    def __init__(self) -> None:
        self._thread, self._numbers = ThreadPoolExecutor(1, "scoring"), count(1)
        self._child: subprocess.Popen[bytes] | None = None
        self._lock, self._closed = Lock(), False  # the lock: another thread kills only a child that is still ours

    @property
    def pid(self) -> int | None:
        """The id of the process, or None before it has started."""
        return None if self._child is None else self._child.pid

    async def score(self, job: ScoringJob) -> ScoredText:
        if self._closed:
            raise ProblemError(SCORING_BUSY)
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._score, job)

    async def close(self) -> None:
        """End the process. Jobs that wait are refused, and one that does not end soon is given up."""
        self._closed = True
        stopped = asyncio.get_running_loop().run_in_executor(self._thread, self._stop)
        while not (await asyncio.wait([stopped], timeout=SECONDS_TO_END))[0]:
            self._kill()
        self._thread.shutdown()

    def _score(self, job: ScoringJob) -> ScoredText:
        for _ in range(ATTEMPTS):
            if self._closed:
                break
            number, child = next(self._numbers), self._child or self._start()
            with self._deadline() as late:
                answer = _ask(child, json.dumps([number, job]).encode() + b"\n")
            try:
                return parse_answer(answer, number)
            except ValueError:
                LOGGER.warning("scoring process gave no valid answer")
            self._kill()
            self._stop()
            if late.is_set():  # another attempt would take as long
                break
        raise ProblemError(SCORING_BUSY)

    @contextmanager
    def _deadline(self) -> Iterator[Event]:
        """Kill the process if the block takes too long: all reading and writing then ends. The event tells."""
        late = Event()

        def kill() -> None:
            late.set()
            LOGGER.warning("scoring process gave no answer in time", extra={"fields": {"seconds": JOB_SECONDS}})
            self._kill()

        timer = Timer(JOB_SECONDS, kill)
        timer.start()
        try:
            yield late
        finally:
            timer.cancel()
            timer.join()

    def _start(self) -> subprocess.Popen[bytes]:
        pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
        # In a group of its own, so that processes that a metric starts are killed with it: they may hold our pipes.
        self._child = subprocess.Popen(COMMAND, stdin=pipe, stdout=pipe, stderr=nothing, process_group=0)
        LOGGER.info("scoring process started")
        return self._child

    def _kill(self) -> None:
        with self._lock:
            if self._child is not None:
                _kill_group(self._child)

    def _stop(self) -> None:
        """End the process, if there is one, by ending its input, or by force."""
        with self._lock:
            child, self._child = self._child, None
        if child is None:
            return
        assert child.stdin is not None
        assert child.stdout is not None
        with suppress(OSError):  # it was killed with a job in the pipe
            child.stdin.close()
        child.stdout.close()
        try:
            code = child.wait(SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            _kill_group(child)
            code = child.wait()
        LOGGER.info("scoring process ended", extra={"fields": {"code": code}})


def _ask(child: subprocess.Popen[bytes], line: bytes) -> bytes:
    """The answer of a process to a line; an incomplete line if it has ended."""
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        child.stdin.write(line)
        child.stdin.flush()
    except OSError:
        return b""
    return child.stdout.readline(MAX_ANSWER)


def parse_answer(line: bytes, number: int) -> ScoredText:
    """Read the answer to the job with this number.

    Raise ValueError if the line is not that answer, RuntimeError if the metric failed.
    """
    if not line.endswith(b"\n"):
        raise ValueError("incomplete answer")
    try:
        found = json.loads(line)
        if found["job"] != number:
            raise ValueError(f"expected the answer to job {number}")
        if "error" not in found:
            return ScoredText(float(found["score"]), tuple(map(int, found["statistics"])))
    except (TypeError, KeyError, OverflowError, RecursionError) as error:
        raise ValueError("unknown form of an answer") from error
    raise RuntimeError(f"scoring failed: {found['error']}")


def _kill_group(child: subprocess.Popen[bytes]) -> None:
    """Kill a process and those that it started, where the system has process groups."""
    if sys.platform != "win32":
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
    else:
        child.kill()
