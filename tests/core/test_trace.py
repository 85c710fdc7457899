from __future__ import annotations

from pathlib import Path

import pytest

from mtloop.core import Header, PostEdit, Proposal, Segment, Step, Trace, TraceError, TraceWriter
from mtloop.core.trace import LateFeedback, Retract

HEADER = Header(config={"method": "full"}, seed=3)


def step(index: int, feedback: PostEdit | None = None) -> Step:
    return Step(index, Proposal(Segment(str(index), f"Quelle {index} \u2028 ende"), f"Ziel {index}"), feedback)


def written(path: Path, *events: Step | LateFeedback | Retract) -> bytes:
    with TraceWriter(path, HEADER) as trace:
        for event in events:
            trace.write(event)
    return path.read_bytes()


def test_what_is_written_is_read(tmp_path: Path) -> None:
    steps = [step(i, PostEdit("ä")) for i in range(3)]
    written(tmp_path / "t.jsonl", *steps)
    trace = Trace.read(tmp_path / "t.jsonl")
    assert trace.steps == steps
    assert trace.header.config == HEADER.config


def test_each_step_has_left_the_process_when_write_returns(tmp_path: Path) -> None:
    with TraceWriter(tmp_path / "t.jsonl", HEADER) as trace:
        trace.write(step(0))
        assert len(Trace.read(tmp_path / "t.jsonl").steps) == 1


def test_killed_at_any_byte_it_reads_and_resumes_to_the_same_bytes(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    steps = [step(0), step(1, PostEdit("schön")), step(2)]
    whole = written(path, *steps)
    for size in range(len(whole) + 1):
        path.write_bytes(whole[:size])
        with TraceWriter(path, HEADER) as trace:
            assert trace.past == steps[: len(trace.past)]
            for late in steps[len(trace.past) :]:
                trace.write(late)
        assert path.read_bytes() == whole, size


def test_reading_drops_a_torn_line_and_keeps_one_that_lacks_only_its_newline(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    whole = written(path, step(0), step(1))
    path.write_bytes(whole[:-2])
    assert len(Trace.read(path).steps) == 1
    path.write_bytes(whole[:-1])
    assert len(Trace.read(path).steps) == 2


def test_another_run_is_not_continued(tmp_path: Path) -> None:
    before = written(tmp_path / "t.jsonl", step(0))
    with pytest.raises(TraceError, match="another run"):
        TraceWriter(tmp_path / "t.jsonl", Header(seed=4))
    assert (tmp_path / "t.jsonl").read_bytes() == before


def test_late_feedback_lands_on_its_step_and_is_learned_when_it_came(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    written(path, step(0), step(1, PostEdit("b")), LateFeedback(0, PostEdit("a")))
    trace = Trace.read(path)
    assert trace.steps[0].feedback == PostEdit("a")
    assert [lesson.index for lesson in trace.lessons()] == [1, 0]


def test_a_retracted_lesson_is_not_learned(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    written(path, step(0, PostEdit("a")), step(1, PostEdit("b")), Retract(0))
    assert [lesson.index for lesson in Trace.read(path).lessons()] == [1]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "no header line"),
        (b"\xff\xfe\n", ":1: not JSON"),
        (b"hello\nworld\n", ":1: not JSON"),
        (b'{"kind":"step"}\n', ":1: the first line is no trace header"),
        (b'{"kind":"header","format":99}\n', "trace format 99"),
        (b'{"kind":"header","format":1}\n{"kind":"dance"}\n', ":2: an event has a kind"),
        (b'{"kind":"header","format":1}\ntorn {\n{"kind":"retract","step":0}\n', ":2: not JSON"),
        (b'{"kind":"header","format":1}\n{"kind":"retract","step":0}\n', ":2: names step 0"),
    ],
)
def test_a_broken_trace_names_its_line(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(content)
    with pytest.raises(TraceError, match=says):
        Trace.read(path)


def test_the_same_step_twice_is_an_error(tmp_path: Path) -> None:
    written(tmp_path / "t.jsonl", step(0), step(0))
    with pytest.raises(TraceError, match="stands where step 1 should"):
        Trace.read(tmp_path / "t.jsonl")


def test_a_missing_trace_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="cannot be read: No such file"):
        Trace.read(tmp_path / "none.jsonl")


def test_what_is_no_trace_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("precious")
    with pytest.raises(TraceError, match="is no trace"):
        TraceWriter(tmp_path / "notes.txt", HEADER)
    assert (tmp_path / "notes.txt").read_text() == "precious"


def test_a_configuration_with_tuples_is_continued(tmp_path: Path) -> None:
    header = Header(config={"layers": (1, 2)})  # type: ignore[dict-item]
    TraceWriter(tmp_path / "t.jsonl", header).close()
    with TraceWriter(tmp_path / "t.jsonl", header) as trace:
        assert trace.past == []


def test_a_writer_that_is_refused_leaves_the_other_ones_trace_alone(tmp_path: Path) -> None:
    path, header = tmp_path / "run.jsonl", Header(config={"n": 1})
    with TraceWriter(path, header, alone=True) as first:
        first.write(Step(0, Proposal(Segment("1", "a"), "b")))
        with pytest.raises(TraceError, match="being written by another process"):
            TraceWriter(path, header, alone=True)
        first.write(Step(1, Proposal(Segment("2", "a"), "b")))
    assert len(Trace.read(path).steps) == 2
    with TraceWriter(path, header, alone=True) as second:  # and once it is closed, it is free
        assert len(second.past) == 2


def test_where_files_know_no_locks_it_works_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl

    def refuse(file: object, how: int) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with TraceWriter(tmp_path / "run.jsonl", Header(), alone=True) as trace:
        assert trace.past == []
