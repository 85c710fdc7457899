from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mtloop.core import Header, PostEdit, Proposal, Segment, Step, Trace, TraceError, TraceWriter
from mtloop.core.trace import FORMAT, LateFeedback, Retract

HEADER = Header(config={"method": "full"}, seed=3)
HEADER_LINE = b'{"kind":"header","format":%d}\n' % FORMAT


def step(index: int, feedback: PostEdit | None = None) -> Step:
    return Step(index, Proposal(Segment(str(index), f"Quelle {index} \u2028 ende"), f"Ziel {index}"), feedback)


def write_trace(path: Path, *events: Step | LateFeedback | Retract) -> bytes:
    with TraceWriter(path, HEADER) as trace:
        for event in events:
            trace.write(event)
    return path.read_bytes()


def test_reading_returns_the_written_steps(tmp_path: Path) -> None:
    steps = [step(i, PostEdit("ä")) for i in range(3)]
    write_trace(tmp_path / "t.jsonl", *steps)
    trace = Trace.read(tmp_path / "t.jsonl")
    assert trace.steps == steps
    assert trace.header.config == HEADER.config
    assert repr(trace) == f"<Trace of 3 events, seed {HEADER.seed}>"


def test_each_step_is_flushed_when_write_returns(tmp_path: Path) -> None:
    with TraceWriter(tmp_path / "t.jsonl", HEADER) as trace:
        trace.write(step(0))
        assert len(Trace.read(tmp_path / "t.jsonl").steps) == 1


def test_a_trace_cut_off_at_any_byte_is_resumed_to_the_same_bytes(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    steps = [step(0), step(1, PostEdit("schön")), step(2)]
    whole = write_trace(path, *steps)
    for size in range(len(whole) + 1):
        path.write_bytes(whole[:size])
        with TraceWriter(path, HEADER) as trace:
            assert trace.past == steps[: len(trace.past)]
            for missing in steps[len(trace.past) :]:
                trace.write(missing)
        assert path.read_bytes() == whole, size


def test_reading_drops_an_incomplete_line_but_keeps_one_without_a_newline(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    whole = write_trace(path, step(0), step(1))
    path.write_bytes(whole[:-2])
    assert len(Trace.read(path).steps) == 1
    path.write_bytes(whole[:-1])
    assert len(Trace.read(path).steps) == 2


def test_a_trace_of_another_run_is_not_resumed(tmp_path: Path) -> None:
    before = write_trace(tmp_path / "t.jsonl", step(0))
    with pytest.raises(TraceError, match="another run"):
        TraceWriter(tmp_path / "t.jsonl", Header(seed=4))
    assert (tmp_path / "t.jsonl").read_bytes() == before


def test_late_feedback_is_added_to_its_step_and_learned_last(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    write_trace(path, step(0), step(1, PostEdit("b")), LateFeedback(0, PostEdit("a")))
    trace = Trace.read(path)
    assert trace.steps[0].feedback == PostEdit("a")
    assert [lesson.index for lesson in trace.lessons()] == [1, 0]


def test_a_retracted_lesson_is_not_learned(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    write_trace(path, step(0, PostEdit("a")), step(1, PostEdit("b")), Retract(0))
    assert [lesson.index for lesson in Trace.read(path).lessons()] == [1]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no header line"),
        (b"\xff\xfe\n", ":1: not JSON"),
        (b"hello\nworld\n", ":1: not JSON"),
        (b'{"kind":"step"}\n', ":1: the first line is not a trace header"),
        (b'{"kind":"header","format":99}\n', ":1: trace format 99 was written by a newer mtloop"),
        (HEADER_LINE + b'{"kind":"dance"}\n', ":2: an event needs a kind"),
        (HEADER_LINE + b'torn {\n{"kind":"retract","step":0}\n', ":2: not JSON"),
        (HEADER_LINE + b'{"kind":"retract","step":0}\n', ":2: refers to step 0"),
    ],
)
def test_an_invalid_trace_gives_the_line_number(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(content)
    with pytest.raises(TraceError, match=message):
        Trace.read(path)


@pytest.mark.parametrize("use", [Trace.read, lambda path: TraceWriter(path, HEADER)], ids=["read", "resume"])
def test_a_trace_of_format_1_must_be_recorded_again(tmp_path: Path, use: Callable[[Path], object]) -> None:
    path = tmp_path / "t.jsonl"
    content = b'{"kind":"header","format":1}\n{"kind":"step","index":0}\n'
    path.write_bytes(content)
    with pytest.raises(TraceError) as error:
        use(path)
    assert str(error.value) == (
        f"{path}:1: trace format 1 was written by an older mtloop; this version reads format 2; "
        "repeat the run with another --out file"
    )
    assert path.read_bytes() == content


def test_the_same_step_twice_is_an_error(tmp_path: Path) -> None:
    write_trace(tmp_path / "t.jsonl", step(0), step(0))
    with pytest.raises(TraceError, match="has step 0, expected step 1"):
        Trace.read(tmp_path / "t.jsonl")


def test_a_missing_trace_is_a_trace_error(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="cannot be read: No such file"):
        Trace.read(tmp_path / "none.jsonl")


def test_a_file_that_is_not_a_trace_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("precious")
    with pytest.raises(TraceError, match="is not a trace"):
        TraceWriter(tmp_path / "notes.txt", HEADER)
    assert (tmp_path / "notes.txt").read_text() == "precious"


def test_a_configuration_with_tuples_is_resumed(tmp_path: Path) -> None:
    header = Header(config={"layers": (1, 2)})  # type: ignore[dict-item]
    TraceWriter(tmp_path / "t.jsonl", header).close()
    with TraceWriter(tmp_path / "t.jsonl", header) as trace:
        assert trace.past == []


def test_a_second_exclusive_writer_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    path, header = tmp_path / "run.jsonl", Header(config={"n": 1})
    with TraceWriter(path, header, exclusive=True) as first:
        first.write(Step(0, Proposal(Segment("1", "a"), "b")))
        with pytest.raises(TraceError, match="being written by another process"):
            TraceWriter(path, header, exclusive=True)
        first.write(Step(1, Proposal(Segment("2", "a"), "b")))
    assert len(Trace.read(path).steps) == 2
    with TraceWriter(path, header, exclusive=True) as second:  # the lock ends with close
        assert len(second.past) == 2


def test_a_file_system_without_locks_is_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl

    def refuse(file: object, how: int) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with TraceWriter(tmp_path / "run.jsonl", Header(), exclusive=True) as trace:
        assert trace.past == []
