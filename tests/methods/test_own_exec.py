"""A program as a learner: the protocol, its faults, the end of the program, and resuming."""

from __future__ import annotations

import gc
import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest
from helpers.own_engines import COUNTING_PROGRAM, program, write_page_engines
from helpers.stream import SCHEDULES, STREAM, post_editor
from helpers.tiers import slow

from mtloop.checks.learner_contract import check_learner
from mtloop.core import Header, InputError, PostEdit, Proposal, Reward, Schedule, Segment, Stateful, record
from mtloop.core.types import JSON
from mtloop.methods.own import EngineError, ExecEngine, own_method, start_engine

SEGMENTS = [segment for segment, _ in STREAM[:6]]
THIRD = Segment("3", "Save the file.")
LAST_LINES = r"its last lines on standard error: two \| three \| out of memory"


@pytest.fixture(autouse=True)
def _in_tmp_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    yield
    assert not children(), "a program was left running"


def children() -> list[str]:
    """The programs that this process has started and that run, or have ended and were not waited for."""
    gc.collect()
    listed = subprocess.run(["ps", "--ppid", str(os.getpid()), "-o", "args="], capture_output=True, text=True).stdout
    return [line for line in listed.splitlines() if "count.py" in line or "engine.py" in line or "<defunct>" in line]


def use(engine: ExecEngine, folder: Path) -> None:
    """Send all requests."""
    engine.learn(engine.propose(THIRD), PostEdit("a"))
    assert isinstance(engine, Stateful)
    engine.save(folder)


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("words", [(), ("saves",), ("reward",)])
def test_a_program_keeps_the_contract_of_learners(tmp_path: Path, words: tuple[str, ...]) -> None:
    command = program(tmp_path, *words)
    answer = (lambda proposal: Reward(0.5)) if "reward" in words else None
    check_learner(lambda: start_engine(command), SEGMENTS, answer)


def test_only_a_program_that_can_save_is_stateful(tmp_path: Path) -> None:
    with start_engine(program(tmp_path)) as engine:
        assert not isinstance(engine, Stateful)
        assert engine.learns_from == (PostEdit,)
    with start_engine(program(tmp_path, "saves", "reward")) as engine:
        assert isinstance(engine, Stateful)
        assert engine.learns_from == (Reward,)


def test_an_answer_becomes_a_proposal(tmp_path: Path) -> None:
    with start_engine(program(tmp_path), mark="?", size=2) as engine:
        expected = Proposal(THIRD, "Save the file. ??", system="count", probability=0.5, memo={"state": ""})
        assert engine.propose(THIRD) == expected


def test_feedback_of_another_kind_is_not_sent(tmp_path: Path) -> None:
    with start_engine(program(tmp_path)) as engine:
        before = engine.propose(THIRD)
        assert engine.learn(before, Reward(0.5)).updates == 0
        assert engine.propose(THIRD) == before
        assert engine.learn(before, PostEdit("Speichern.")).updates == 1
        assert engine.propose(THIRD) != before


def test_requests_of_any_length_and_alphabet_arrive(tmp_path: Path) -> None:
    text = 'Ünïcode 日本語 \U0001f600\u2028\n\t"' + "long " * 100_000
    with start_engine(program(tmp_path), mark="") as engine:
        assert engine.propose(Segment("1", text)).text == f"{text} "


@pytest.mark.parametrize(
    ("fault", "problem"),
    [
        ("propose:loading ...", r"expected one JSON object on one line, got 'loading \.\.\.'; messages belong on .*"),
        ("propose:debug", "expected one JSON object on one line, got 'debug'; messages belong on standard error"),
        ("propose:long", r"expected one JSON object on one line, got 'x{80}…'; messages belong on standard error"),
        ("propose:[1]", r"expected one JSON object on one line, got '\[1\]'; messages .*"),
        ("propose:bytes", r"expected UTF-8, got the byte 0xff at position 10: .*"),
        ('propose:{"txt":1}', r"expected a JSON object with \"text\", got {'txt': 1}"),
        ('propose:{"text":"a","txt":1}', r"expected a JSON object with \"text\", got {'text': 'a', 'txt': 1}"),
        ('propose:{"text":5}', "field text is 5; expected text"),
        ('propose:{"text":"a","memo":[]}', r"field memo is \[\]; expected an object"),
        ('propose:{"text":"a","probability":true}', "field probability is True; expected a number"),
        ('propose:{"text":"a","probability":2}', "field probability is 2; expected a number from 0 to 1"),
        ('propose:{"text":"a","probability":NaN}', "expected one JSON object on one line, got .*"),
        (r'propose:{"text":"\ud800"}', "cannot be written as JSON: .*"),
        ('propose:{"error":"no such model"}', "the program reports: no such model"),
        ("propose:die", f"expected an answer, but the program ended with exit code 3; {LAST_LINES}"),
        ("propose:close", "expected an answer, but the program closed its standard output; it wrote nothing .*"),
        ("propose:hang", r"no answer within 0\.5 s; give it more time .*; its last lines on standard error: thinking"),
        ("learn:die", f"expected an answer, but the program ended with exit code 3; {LAST_LINES}"),
        ('learn:{"text":"a"}', r"expected a JSON object with \"updates\", \"rejected\" or \"info\", got {'text': 'a'}"),
        ('learn:{"updates":1.5}', "field updates is 1.5; expected a whole number"),
        ('save:{"text":"a"}', "expected a JSON object with no field, got {'text': 'a'}"),
        ("save:die", f"expected an answer, but the program ended with exit code 3; {LAST_LINES}"),
    ],
)  # fmt: skip
def test_a_fault_names_engine_request_and_segment_and_ends_the_program(
    tmp_path: Path, fault: str, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if fault.endswith(("hang", "close")):
        monkeypatch.setattr("mtloop.methods.own.engine_process.GRACE", 0.1)
    request = fault.partition(":")[0]
    command = program(tmp_path, "saves", f"fault:{fault}")
    engine = start_engine(command)
    engine._conversation.timeout = 0.5 if "hang" in fault else 60
    with pytest.raises(EngineError) as raised:
        use(engine, tmp_path)
    place = f"at segment '3' (folder {tmp_path})" if request == "save" else "at segment '3'"
    expected = re.escape(f"engine exec:{command} failed in {request} {place}: ") + problem
    assert re.fullmatch(expected, str(raised.value)), str(raised.value)
    assert not is_running(engine.pid)
    with pytest.raises(EngineError, match="the program was ended earlier"):
        engine.propose(THIRD)


@pytest.mark.parametrize(
    ("fault", "problem"),
    [
        ("die", "ended with exit code 3"),
        ('{"name":"toy"}', 'expected a JSON object with "protocol", "name" and "learns_from"'),
        ('{"protocol":2,"name":"toy","learns_from":[]}', "expected protocol 1, got 2"),
        (
            '{"protocol":1,"name":"toy","learns_from":["tears"]}',
            "learns_from has 'tears'; expected names from: post",
        ),
        (
            '{"protocol":1,"name":"a","learns_from":[],"settings":{"timeout":1}}',
            "the setting timeout belongs to mtloop",
        ),
        ('{"protocol":1,"name":"a","learns_from":[],"settings":{"x":[]}}', r"setting x is \[\]; expected text"),
        ('{"protocol":1,"name":"a","learns_from":[],"saves":"no"}', "field saves is 'no'; expected true or false"),
    ],
)
def test_a_wrong_hello_is_refused(tmp_path: Path, fault: str, problem: str) -> None:
    with pytest.raises(EngineError, match=rf"^engine exec:.* failed in hello: .*{problem}"):
        own_method("exec:" + program(tmp_path, f"fault:hello:{fault}"))


@pytest.mark.parametrize(
    ("extra", "problem"),
    [
        ("json.dumps(last)", r'expected "n": 3, the number of this request, got 2; print one line for each request'),
        ("json.dumps({'text': 'a'})", r"""expected "n": 3, the number of this request, got \{'text': 'a'\}"""),
        ("'debug'", "expected one JSON object on one line, got 'debug'"),
    ],
)
def test_a_late_line_does_not_shift_the_answers(tmp_path: Path, extra: str, problem: str) -> None:
    """The extra line of a request arrives when the next request was already sent."""
    answer = 'print(json.dumps({"n": request["n"], **answer}), flush=True)'
    late = f'request.get("id") == "2" and print({extra}, flush=True); last = {{"n": request["n"], **answer}}; {answer}'
    with start_engine(program(tmp_path, code=COUNTING_PROGRAM.replace(answer, late))) as engine:
        engine.propose(Segment("1", "Open it."))
        with pytest.raises(EngineError, match=rf"failed in propose at segment '2': {problem}"):
            engine.propose(Segment("2", "Save it."))


def test_a_line_that_was_not_asked_for_is_refused(tmp_path: Path) -> None:
    code = COUNTING_PROGRAM + '        request["do"] == "propose" and print("{}", flush=True)\n'
    with start_engine(program(tmp_path, code=code)) as engine:
        proposal = engine.propose(THIRD)
        with pytest.raises(EngineError, match=r'expected (one line per request, got one more|"n": 3, the number of)'):
            engine.learn(proposal, PostEdit("a"))


@pytest.mark.parametrize("number", ["None", "True", "'1'", "0", "request['n'] + 1"])
def test_an_answer_without_the_number_of_its_request_is_refused(tmp_path: Path, number: str) -> None:
    code = COUNTING_PROGRAM.replace('"n": request["n"], **answer', f'"n": {number}, **answer')
    with pytest.raises(EngineError, match=r'failed in hello: expected "n": 1, the number of this request, got '):
        own_method("exec:" + program(tmp_path, code=code))


def test_a_command_that_cannot_be_started_is_refused() -> None:
    with pytest.raises(EngineError, match=r"^engine exec:no-such-program -x failed in start: the program 'no-such"):
        own_method("exec:no-such-program -x")
    with pytest.raises(InputError, match=r"exec: has no command; expected for example exec:python engine\.py"):
        own_method("exec: ")
    with pytest.raises(InputError, match="cannot be split into words: No closing quotation"):
        own_method("exec:python 'engine.py")


@pytest.mark.parametrize("timeout", [-1, float("nan"), float("inf")])
def test_a_wrong_timeout_is_refused(tmp_path: Path, timeout: float) -> None:
    with pytest.raises(InputError, match=r"^setting timeout is .*; expected a number of seconds, 0 or more"):
        start_engine(program(tmp_path), timeout=timeout)


@pytest.mark.parametrize(("timeout", "message"), [("x", "expected a number$"), (-1, "expected a number of seconds, 0")])
def test_a_wrong_time_limit_for_the_first_request_is_refused(tmp_path: Path, timeout: JSON, message: str) -> None:
    with pytest.raises(InputError, match=f"^setting timeout is .*; {message}"):
        own_method("exec:" + program(tmp_path), timeout)


def test_a_program_describes_itself_once_whatever_the_time_limit(tmp_path: Path) -> None:
    name = "exec:" + program(tmp_path, code="open('started', 'a').write('x')\n" + COUNTING_PROGRAM)
    assert own_method(name, 30) is own_method(name) is own_method(name, "20")
    assert (tmp_path / "started").read_text() == "x"


def test_messages_on_standard_error_reach_the_user(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    command = program(tmp_path, code="import sys; print('loading', file=sys.stderr)\n" + COUNTING_PROGRAM)
    with start_engine(command):
        pass
    assert capfd.readouterr().err == "loading\n"


def test_an_error_shows_the_last_lines_of_standard_error_and_the_user_sees_all(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    code = (
        "import sys\nfor number in range(20_000): print('Zeile ü', number, file=sys.stderr)\nraise ValueError('no')\n"
    )
    with pytest.raises(EngineError, match=r"exit code 1; its last lines on .*: .* \| ValueError: no$") as raised:
        start_engine(program(tmp_path, code=code))
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 1000
    written = capfd.readouterr().err
    assert written.startswith("Zeile ü 0\nZeile ü 1\n")
    assert "\nZeile ü 19999\nTraceback" in written


def test_a_program_ends_when_its_engine_is_deleted(tmp_path: Path) -> None:
    engine = start_engine(program(tmp_path))
    pid = engine.pid
    assert is_running(pid)
    del engine
    assert not is_running(pid)


def test_a_program_that_ignores_the_end_of_its_input_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mtloop.methods.own.engine_process.GRACE", 0.1)
    code = COUNTING_PROGRAM + "\nimport signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(600)\n"
    engine = start_engine(program(tmp_path, code=code))
    engine.close()
    assert not is_running(engine.pid)


def test_a_program_that_does_not_read_a_long_request_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mtloop.methods.own.engine_process.GRACE", 0.1)
    code = COUNTING_PROGRAM.replace(
        "    if at not in faults", "    os.close(0) if at == 'hello' else 0\n    if at not in faults"
    )
    sleeping = COUNTING_PROGRAM + "    time.sleep(600)\n"
    engine = start_engine(program(tmp_path, code=sleeping), timeout=0.5)
    with pytest.raises(EngineError, match="failed in propose at segment '1': no answer within"):
        engine.propose(Segment("1", "word " * 100_000))
    assert not is_running(engine.pid)
    engine = start_engine(program(tmp_path, code=code))
    with pytest.raises(EngineError, match=r"failed in propose at segment '1': .*the program ended"):
        engine.propose(Segment("1", "word " * 100_000))


@pytest.mark.parametrize("ending", ["kill -9", "exit", "exception"])
def test_a_program_ends_with_mtloop(tmp_path: Path, ending: str) -> None:
    last = {"kill -9": "os.kill(os.getpid(), 9)", "exit": "", "exception": "1 / 0"}[ending]
    command = program(tmp_path)
    code = f"import os\nfrom mtloop.methods.own import start_engine\nengine = start_engine({command!r})\n"
    code += f"print(engine.pid, flush=True)\n{last}\n"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    pid, deadline = int(done.stdout), time.monotonic() + 60
    while is_running(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not is_running(pid)


def test_the_record_describes_the_program(tmp_path: Path) -> None:
    name = "exec:" + program(tmp_path, "reward")
    method = own_method(name)
    assert (method.name, method.summary, method.learns_from) == (name, "The program count.", (Reward,))
    assert method.settings_with({"mark": "?", "size": "3", "timeout": "5"}) == {"mark": "?", "size": 3, "timeout": 5.0}
    assert not method.engine.loads_model
    assert [name for name, setting in method.settings.items() if not setting.in_header] == ["timeout"]
    with pytest.raises(InputError, match=r"has no setting 'sise'; did you mean 'size'\? known: mark, size, timeout"):
        method.settings_with({"sise": 1})


def test_the_fingerprint_follows_every_file_in_the_command(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("1")
    (tmp_path / "b.txt").write_text("1")
    command = "exec:" + program(tmp_path, "a.txt", "--file=b.txt", "c.txt")
    first = own_method(command).fingerprint
    assert re.fullmatch(r"python\S* \w{16}, count\.py \w{16}, a\.txt \w{16}, b\.txt \w{16}", first)
    (tmp_path / "b.txt").write_text("2")
    second = own_method(command).fingerprint
    assert first != second
    assert first.rpartition(" ")[0] == second.rpartition(" ")[0]


@pytest.mark.parametrize("words", [(), ("saves",)])
@pytest.mark.parametrize("schedule", SCHEDULES, ids=repr)
def test_a_resumed_run_writes_the_same_bytes(tmp_path: Path, words: tuple[str, ...], schedule: Schedule) -> None:
    command, header = program(tmp_path, *words), Header()
    whole = tmp_path / "whole.jsonl"
    list(record(whole, header, STREAM, start_engine(command), post_editor, schedule=schedule, snapshot_every=4))
    part = tmp_path / "part.jsonl"
    steps = record(part, header, STREAM, start_engine(command), post_editor, schedule=schedule, snapshot_every=4)
    list(islice(steps, 7))
    steps.close()  # type: ignore[attr-defined]
    list(record(part, header, STREAM, start_engine(command), post_editor, schedule=schedule, snapshot_every=4))
    assert part.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize("words", [(), ("saves",)])
@pytest.mark.parametrize("fault", ["propose:die", "learn:die", "learn:rubbish", "save:die", slow("propose:hang")])
def test_a_run_goes_on_after_a_fault(tmp_path: Path, words: tuple[str, ...], fault: str) -> None:
    if fault.startswith("save") and not words:
        return
    command = program(tmp_path, *words, f"fault:{fault}")
    (tmp_path / "repaired").touch()
    whole, part = tmp_path / "whole.jsonl", tmp_path / "part.jsonl"
    list(record(whole, Header(), STREAM, start_engine(command), post_editor, snapshot_every=2))
    (tmp_path / "repaired").unlink()
    with pytest.raises(EngineError, match="at segment"):
        list(record(part, Header(), STREAM, start_engine(command, timeout=1), post_editor, snapshot_every=2))
    assert part.read_bytes().endswith(b"\n")
    assert whole.read_bytes().startswith(part.read_bytes())
    assert len(part.read_bytes().splitlines()) == (3 if fault.startswith("save") else 4), (
        "the header and complete steps"
    )
    (tmp_path / "repaired").touch()
    list(record(part, Header(), STREAM, start_engine(command), post_editor, snapshot_every=2))
    assert part.read_bytes() == whole.read_bytes()


def test_the_program_of_the_docs_equals_the_class_of_the_docs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_page_engines(tmp_path)
    code = (tmp_path / "engine.py").read_text()
    assert code.count("\n") <= 30
    assert "mtloop" not in code
    command = shlex.join([sys.executable, "engine.py"])
    check_learner(lambda: start_engine(command), SEGMENTS)
    toy = own_method("toy.py:Toy").make(settings={"mark": "+"})
    stream = [*STREAM, *STREAM]
    for path, learner in (("class.jsonl", toy), ("program.jsonl", start_engine(command, mark="+"))):
        list(record(path, Header(), stream, learner, post_editor))
    assert Path("class.jsonl").read_bytes() == Path("program.jsonl").read_bytes()
    monkeypatch.syspath_prepend(tmp_path)
    exec((tmp_path / "test_toy.py").read_text(), {})
