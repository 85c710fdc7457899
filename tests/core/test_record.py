from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from itertools import islice
from pathlib import Path

import pytest
from helpers.learners import Chained, Saved
from helpers.stream import SCHEDULES, STREAM, post_editor

from mtloop.core import Header, InputError, Learner, Schedule, TraceError, record
from mtloop.core.record import Snapshots, newest_snapshot

HEADER = Header(config={"name": "test"})


def complete_run(path: Path, learner: Learner, schedule: Schedule | None = None, every: int = 4) -> bytes:
    steps = list(record(path, HEADER, STREAM, learner, post_editor, schedule=schedule, snapshot_every=every))
    assert [step.index for step in steps] == list(range(len(STREAM)))
    return path.read_bytes()


@pytest.mark.parametrize("make", [Chained, Saved])
@pytest.mark.parametrize("schedule", SCHEDULES, ids=repr)
def test_a_run_resumed_after_any_step_writes_the_same_bytes(
    tmp_path: Path, make: type[Chained], schedule: Schedule
) -> None:
    whole = complete_run(tmp_path / "whole.jsonl", make(), schedule)
    for done in range(len(STREAM) + 1):
        path = tmp_path / f"{done}.jsonl"
        run = record(path, HEADER, STREAM, make(), post_editor, schedule=schedule, snapshot_every=4)
        list(islice(run, done))
        run.close()  # type: ignore[attr-defined]
        assert complete_run(path, make(), schedule) == whole, done


def test_a_snapshot_avoids_learning_the_record_again(tmp_path: Path) -> None:
    complete_run(tmp_path / "t.jsonl", Saved())

    class Counting(Saved):
        calls = 0

        def learn(self, *lesson):  # type: ignore[no-untyped-def]
            Counting.calls += 1
            return super().learn(*lesson)

    complete_run(tmp_path / "t.jsonl", Counting())
    assert Counting.calls == len(STREAM) % 4


@pytest.mark.parametrize("make", [Chained, Saved])
@pytest.mark.parametrize("schedule", SCHEDULES, ids=repr)
def test_a_run_stopped_by_stop_after_resumes_to_the_same_bytes(
    tmp_path: Path, make: type[Chained], schedule: Schedule
) -> None:
    whole = complete_run(tmp_path / "whole.jsonl", make(), schedule)
    path = tmp_path / "part.jsonl"
    for stop_after in (3, 2, 5, 6):
        options = {"snapshot_every": 4, "stop_after": stop_after}
        steps = list(record(path, HEADER, STREAM, make(), post_editor, schedule=schedule, **options))
        assert len(steps) == max(stop_after, 3)
    assert complete_run(path, make(), schedule) == whole


def test_a_run_stopped_by_stop_after_learns_no_lesson_twice(tmp_path: Path) -> None:
    class Counting(Saved):
        calls = 0

        def learn(self, *lesson):  # type: ignore[no-untyped-def]
            Counting.calls += 1
            return super().learn(*lesson)

    for stop_after in (3, 6, len(STREAM)):
        list(record(tmp_path / "t.jsonl", HEADER, STREAM, Counting(), post_editor, stop_after=stop_after))
    assert Counting.calls == len(STREAM)


def test_a_snapshot_ahead_of_the_trace_is_not_used(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    whole = complete_run(path, Saved())
    path.write_bytes(b"".join(whole.splitlines(keepends=True)[:3]))
    assert complete_run(path, Saved()) == whole


def test_only_the_newest_snapshots_are_kept_and_unfinished_ones_are_ignored(tmp_path: Path) -> None:
    complete_run(tmp_path / "t.jsonl", Saved(), every=1)
    assert len(list((tmp_path / "t.state").iterdir())) == 2
    (tmp_path / "t.state" / "unfinished").mkdir()
    complete_run(tmp_path / "t.jsonl", Saved(), every=1)


def test_snapshots_of_an_earlier_run_are_not_used(tmp_path: Path) -> None:
    whole = complete_run(tmp_path / "whole.jsonl", Saved(), every=5)
    complete_run(tmp_path / "t.jsonl", Saved(), every=3)
    (tmp_path / "t.jsonl").unlink()
    other = Saved()
    other.state_ = "other"
    Snapshots(tmp_path / "t.jsonl").save(other, 6)
    list(islice(record(tmp_path / "t.jsonl", HEADER, STREAM, Saved(), post_editor, snapshot_every=5), 7))
    assert complete_run(tmp_path / "t.jsonl", Saved(), every=5) == whole


def test_a_stream_shorter_than_its_trace_is_refused(tmp_path: Path) -> None:
    complete_run(tmp_path / "t.jsonl", Chained())
    with pytest.raises(TraceError, match="the trace has 12 steps, but the stream has only 3 segments"):
        list(record(tmp_path / "t.jsonl", HEADER, STREAM[:3], Chained(), post_editor))


CHILD = """
import sys, time
from pathlib import Path
from helpers.learners import Saved
from helpers.stream import STREAM, post_editor
from mtloop.core import Header, record

class Slow(Saved):
    def propose(self, segment):
        time.sleep(0.01)
        return super().propose(segment)
    def save(self, folder):
        time.sleep(0.02)
        super().save(folder)

list(record(Path(sys.argv[1]), Header(config={"name": "test"}), STREAM, Slow(), post_editor, snapshot_every=4))
"""


def test_a_run_killed_many_times_loses_nothing(tmp_path: Path) -> None:
    whole = complete_run(tmp_path / "whole.jsonl", Saved())
    path, kills = tmp_path / "killed.jsonl", 0
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
    while not path.exists() or path.read_bytes() != whole:
        child = subprocess.Popen([sys.executable, "-c", CHILD, str(path)], env=environment)
        before = path.stat().st_size if path.exists() else 0
        while child.poll() is None and (not path.exists() or path.stat().st_size <= before):
            time.sleep(0.001)
        time.sleep(0.003 * kills)
        child.send_signal(signal.SIGKILL)
        child.wait()
        kills += 1
        assert kills < 50
        assert whole.startswith(path.read_bytes()[: len(whole)])
    assert kills > 2


def test_the_newest_snapshot_of_a_state_folder_is_found(tmp_path: Path) -> None:
    complete_run(tmp_path / "t.jsonl", Saved(), every=2)
    state = tmp_path / "t.state"
    newest = max(state.glob("[0-9]*"))
    (state / "unfinished").mkdir()
    assert newest_snapshot(state) == newest
    assert newest_snapshot(newest) is None, "a snapshot is no folder of snapshots"
    assert newest_snapshot(tmp_path / "nowhere") is None


def test_a_snapshot_that_cannot_be_loaded_says_what_to_do(tmp_path: Path) -> None:
    class Broken(Saved):
        def load(self, folder: Path) -> None:
            raise InputError("the state is damaged", path=folder)

    path = tmp_path / "t.jsonl"
    run = record(path, HEADER, STREAM, Saved(), post_editor, snapshot_every=4)
    list(islice(run, 6))
    run.close()  # type: ignore[attr-defined]
    with pytest.raises(InputError, match=r"000000004: the state is damaged; delete the folder .*t\.state to learn "):
        complete_run(path, Broken())
    shutil.rmtree(tmp_path / "t.state")
    assert complete_run(path, Broken()) == complete_run(tmp_path / "whole.jsonl", Saved())


def test_snapshots_after_a_retracted_lesson_are_deleted(tmp_path: Path) -> None:
    snapshots, learner = Snapshots(tmp_path / "t.jsonl"), Saved()
    for lessons in (4, 8):
        learner.lessons_ = lessons
        snapshots.save(learner, lessons)
    snapshots.discard_after(7)
    assert [child.name for child in snapshots.folder.iterdir()] == ["000000004"]
    assert (snapshots.restore(learner, 9), learner.lessons_) == (4, 4)
    snapshots.discard_after(3)
    assert snapshots.restore(learner, 9) == 0
