"""Own engines in the commands: the four ways through kill and resume, and every command that runs methods."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from helpers.fake_service import KEY, SOURCES, Service, served
from helpers.forked import run_forked
from helpers.own_engines import COUNTING_CLASS, COUNTING_PROGRAM, page_commands, write_page_engines
from helpers.tiers import slow

from mtloop.cli import main
from mtloop.core import Trace
from mtloop.methods.registry import plugin_points, plugins

SEGMENTS = 24
WAYS = {
    "file": "toys/toy.py:{name}",
    "module": "module_of_toys:{name}",
    "exec": "exec:python count.py {word}",
    "entry point": "toy-{word}",
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder with data, a toy in a file, in a module, as a program, and in an installed distribution."""
    monkeypatch.chdir(tmp_path)
    rows = [f"Open the file {number % 7}.\tÖffnen Sie die Datei {number % 7}." for number in range(SEGMENTS)]
    (tmp_path / "manual.tsv").write_text("\n".join(["source\ttarget", *rows, ""]), encoding="utf-8")
    for path in ("toys/toy.py", "module_of_toys.py", "site/toy_plugin.py"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(COUNTING_CLASS)
    (tmp_path / "count.py").write_text(COUNTING_PROGRAM)
    distribution = tmp_path / "site" / "toy_plugin-1.0.dist-info"
    distribution.mkdir()
    (distribution / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-plugin\nVersion: 1.0\n")
    (distribution / "entry_points.txt").write_text(
        "[mtloop.methods]\ntoy-counts = toy_plugin:Counting\ntoy-saves = toy_plugin:Saving\n"
    )
    return tmp_path


def environment() -> dict[str, str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {"PYTHONPATH": str(Path("site").resolve()), "PATH": path}


def start(*arguments: object) -> subprocess.Popen[str]:
    """Start a command as a new process."""
    command = ["mtloop", *map(str, arguments)]
    return subprocess.Popen(command, env=os.environ | environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def result(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a command in a forked child, which finds the installed distribution as a new process does."""

    def work() -> None:
        os.environ |= environment()
        sys.path.insert(0, os.environ["PYTHONPATH"])
        plugins.cache_clear()
        plugin_points.cache_clear()
        main([str(argument) for argument in arguments])

    return run_forked(work)


def mtloop(*arguments: object) -> str:
    """Run a command; return its standard output."""
    done = result(*arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def failure(*arguments: object) -> str:
    """Run a command that fails; return its last line on standard error."""
    done = result(*arguments)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr.strip().splitlines()[-1]


def run(method: str, out: str, *more: object) -> tuple[object, ...]:
    return ("run", "--data", "manual.tsv", "--method", method, "--out", out, "--snapshot-every", 3, *more)


def children_of(pid: int) -> list[int]:
    listed = subprocess.run(["ps", "--ppid", str(pid), "-o", "pid="], capture_output=True, text=True).stdout
    return [int(child) for child in listed.split()]


def wait_for(condition: object, timeout: float = 60) -> None:
    end = time.monotonic() + timeout
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.005)


def is_running(pid: int) -> bool:
    state = subprocess.run(["ps", "-p", str(pid), "-o", "stat="], capture_output=True, text=True).stdout.strip()
    return bool(state) and not state.startswith("Z")


def lines_of(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


@pytest.mark.parametrize(
    ("way", "saves"),
    [
        ("exec", True), slow("exec", False), slow("file", True), ("file", False), ("module", True),
        slow("module", False), slow("entry point", True), ("entry point", False),
    ],
)  # fmt: skip
def test_a_killed_run_is_resumed_to_the_same_trace(folder: Path, way: str, saves: bool) -> None:
    method = WAYS[way].format(name="Saving" if saves else "Counting", word="saves" if saves else "counts")
    mtloop(*run(method, "whole.jsonl"))
    (folder / "slow").touch()
    process = start(*run(method, "killed.jsonl"))
    wait_for(lambda: lines_of(folder / "killed.jsonl") > 8 or process.poll() is not None)
    programs = children_of(process.pid)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert 8 < lines_of(folder / "killed.jsonl") < SEGMENTS
    assert len(programs) == (way == "exec")
    wait_for(lambda: not any(map(is_running, programs)))
    assert (folder / "killed.state").is_dir() is saves
    (folder / "slow").unlink()
    mtloop(*run(method, "killed.jsonl", "--resume"))
    assert (folder / "killed.jsonl").read_bytes() == (folder / "whole.jsonl").read_bytes()
    trace = Trace.read("whole.jsonl")
    assert trace.header.config["method"] == method
    assert len({step.proposal.text for step in trace.steps}) == SEGMENTS, (
        "every translation shows all lessons before it"
    )


@pytest.mark.parametrize(
    ("fault", "saves"), [("learn:die", "saves"), slow("learn:rubbish", "counts"), slow("propose:hang", "saves")]
)
def test_a_run_that_failed_goes_on_with_resume(folder: Path, fault: str, saves: str) -> None:
    method = f"exec:python count.py {saves} fault:{fault}"
    (folder / "repaired").touch()
    mtloop(*run(method, "whole.jsonl"))
    (folder / "repaired").unlink()
    request, message = fault.split(":")[0], failure(*run(method, "part.jsonl", "--set", "timeout=2"))
    assert message.startswith(f"mtloop: engine {method} failed in {request} at segment '3': ")
    assert lines_of(folder / "part.jsonl") == 3, "the header and two steps"
    (folder / "repaired").touch()
    mtloop(*run(method, "part.jsonl", "--resume"))
    assert (folder / "part.jsonl").read_bytes() == (folder / "whole.jsonl").read_bytes()


@pytest.mark.parametrize(
    ("method", "file", "fingerprint"),
    [
        slow("toys/toy.py:Saving", "toys/toy.py", "toy.py "),
        slow("module_of_toys:Saving", "module_of_toys.py", "module_of_toys.py "),
        ("exec:python count.py", "count.py", "count.py "),
        ("toy-saves", "site/toy_plugin.py", "toy-plugin 1.0, toy_plugin.py "),
    ],
    ids=["file", "module", "exec", "entry point"],
)
def test_a_run_is_not_resumed_with_a_changed_engine(folder: Path, method: str, file: str, fingerprint: str) -> None:
    mtloop(*run(method, "run.jsonl", "--stop-after", 5))
    before = (folder / "run.jsonl").read_bytes()
    path = folder / file
    path.write_text(path.read_text() + "\n# another version\n")
    message = failure(*run(method, "run.jsonl", "--resume"))
    assert message.startswith(f"mtloop: run.jsonl: belongs to another run (fingerprint is '{fingerprint}")
    assert message.endswith(
        " now); a file of the engine or of the model has changed: restore it, or choose another file name (--out)"
    )
    assert (folder / "run.jsonl").read_bytes() == before


def test_a_run_is_not_resumed_with_another_version_of_a_package(folder: Path) -> None:
    mtloop(*run("toy-saves", "run.jsonl", "--stop-after", 5))
    metadata = folder / "site" / "toy_plugin-1.0.dist-info" / "METADATA"
    metadata.write_text(metadata.read_text().replace("Version: 1.0", "Version: 1.1"))
    assert "another run (fingerprint is 'toy-plugin 1.0, toy_plugin.py " in failure(
        *run("toy-saves", "run.jsonl", "--resume")
    )


def test_a_restored_engine_is_resumed_and_a_repaired_one_starts_again(folder: Path) -> None:
    method, path = "toys/toy.py:Saving", folder / "toys" / "toy.py"
    working = path.read_text()
    path.write_text(working.replace("lesson = f", "lesson = 1 / (proposal.segment.id != '3') and f"))
    failing = path.read_text()
    assert "at segment '3': ZeroDivisionError" in failure(*run(method, "part.jsonl"))
    path.write_text(working)
    assert "restore it, or choose another file name (--out)" in failure(*run(method, "part.jsonl", "--resume"))
    mtloop(*run(method, "whole.jsonl"))
    path.write_text(failing)
    assert "at segment '3': ZeroDivisionError" in failure(*run(method, "part.jsonl", "--resume"))


@pytest.mark.parametrize(
    "command",
    [
        ("run", "--data", "manual.tsv", "--out", "out", "--method"),
        slow(
            ("compare", "--data", "manual.tsv", "--target-lang", "de", "--metrics", "ter", "--out", "out", "--methods")
        ),
        slow(("bandit", "--task", "manual.tsv", "--out", "out", "--methods")),
    ],
    ids=lambda command: command[0],
)
def test_the_time_limit_counts_for_the_first_request(folder: Path, command: tuple[str, ...]) -> None:
    (folder / "count.py").write_text("import time; time.sleep(1.5)\n" + COUNTING_PROGRAM)
    method = "exec:python count.py reward" if command[0] == "bandit" else "exec:python count.py"
    message = failure(*command, method, "--set", "timeout=0.1")
    assert message.startswith(f"mtloop: engine {method} failed in hello: no answer within 0.1 s")
    mtloop(*command, method, "--set", "timeout=30")


@pytest.mark.parametrize(("way", "fails"), [slow("run", False), ("run", True), slow("bandit", False)])
def test_the_learner_of_a_run_is_closed_at_its_end(folder: Path, way: str, fails: bool) -> None:
    code = COUNTING_CLASS.replace("(PostEdit,)", "()") + "\n    def close(self): Path('closed').touch()\n"
    (folder / "toys" / "toy.py").write_text(code.replace("lesson = f", "1 / 0\n        lesson = f") if fails else code)
    names = {
        "run": ("run", "--data", "manual.tsv", "--method"),
        "bandit": ("bandit", "--task", "manual.tsv", "--methods"),
    }
    (failure if fails else mtloop)(*names[way], "toys/toy.py:Saving", "--out", "out")
    assert (folder / "closed").exists()


def test_a_class_that_exits_is_an_error(folder: Path) -> None:
    path = folder / "toys" / "toy.py"
    path.write_text(
        path.read_text().replace("lesson = f", "proposal.segment.id == '3' and exit(0)\n        lesson = f")
    )
    message = failure(*run("toys/toy.py:Saving", "run.jsonl"))
    assert message.startswith(
        "mtloop: engine toys/toy.py:Saving failed in learn at segment '3': SystemExit: 0 (toy.py, "
    )


@pytest.mark.parametrize("way", ["exec", slow("file")])
def test_a_state_that_cannot_be_loaded_is_deleted_to_resume(folder: Path, way: str) -> None:
    method = WAYS[way].format(name="Saving", word="saves")
    mtloop(*run(method, "whole.jsonl"))
    mtloop(*run(method, "run.jsonl", "--stop-after", 5))
    for state in (folder / "run.state").glob("*/state.txt"):
        state.unlink()
    message = failure(*run(method, "run.jsonl", "--resume"))
    assert message.startswith(f"mtloop: engine {method} failed in load (folder ")
    assert "000000005): " in message
    assert message.endswith("; delete the folder run.state to learn the recorded lessons again")
    shutil.rmtree("run.state")
    mtloop(*run(method, "run.jsonl", "--resume"))
    assert (folder / "run.jsonl").read_bytes() == (folder / "whole.jsonl").read_bytes()


def test_a_setting_of_the_wrong_type_is_one_line_and_writes_nothing(folder: Path) -> None:
    message = failure(*run("exec:python count.py", "run.jsonl", "--set", "size=big"))
    assert message == "mtloop: setting size is 'big'; expected a whole number"
    assert failure(*run("toys/toy.py:Saving", "run.jsonl", "--set", "sise=1")).endswith("known: mark")
    assert not (folder / "run.jsonl").exists()


def test_the_header_has_the_settings_of_the_program_but_not_the_timeout() -> None:
    mtloop(*run("exec:python count.py", "run.jsonl", "--set", "size=2", "--set", "timeout=9"))
    assert Trace.read("run.jsonl").header.config["settings"] == {"mark": "!", "size": 2}


def test_the_settings_are_listed() -> None:
    listed = mtloop("methods", "exec:python count.py")
    assert all(word in listed for word in ("timeout", "size", "mark", "The program count."))
    assert "Shows its lessons" in mtloop("methods", "toys/toy.py:Saving")
    assert "toy-saves" in mtloop("methods")


def test_a_broken_plugin_is_named_and_does_not_disturb_other_methods(folder: Path) -> None:
    (folder / "site" / "toy_plugin.py").write_text("import no_such_library")
    mtloop(*run("copy-source", "run.jsonl"))
    expected = "mtloop: the method toy-counts of the package toy-plugin cannot be used: ModuleNotFoundError: "
    assert failure(*run("toy-counts", "other.jsonl")).startswith(expected)
    assert not (folder / "other.jsonl").exists()


def test_a_broken_plugin_does_not_disturb_other_plugins(folder: Path) -> None:
    (folder / "site" / "broken_plugin.py").write_text("raise SystemExit('no licence')")
    entry_points = folder / "site" / "toy_plugin-1.0.dist-info" / "entry_points.txt"
    entry_points.write_text(entry_points.read_text() + "toy-broken = broken_plugin:Toy\ntoy-strange = math:hypot\n")
    mtloop(*run("toy-counts", "run.jsonl"))
    warnings = [
        "mtloop: the method toy-broken of the package toy-plugin cannot be used: SystemExit: no licence; "
        "repair or uninstall it",
        "mtloop: the method toy-strange of the package toy-plugin cannot be used: engine toy-strange has no signature "
        "that Python can read, so its settings are unknown; repair or uninstall it",
    ]
    for options in ((), ("--format", "json")):
        done = result("methods", *options)
        assert (done.returncode, done.stderr.splitlines()) == (0, warnings)
        assert all(name in done.stdout for name in ("toy-counts", "toy-saves", "copy-source"))
        assert "toy-broken" not in done.stdout
    assert failure("methods", "toy-broken") == warnings[0]


def test_a_plugin_with_the_name_of_a_method_of_mtloop_is_ignored(folder: Path) -> None:
    entry_points = folder / "site" / "toy_plugin-1.0.dist-info" / "entry_points.txt"
    entry_points.write_text("[mtloop.methods]\ncopy-source = toy_plugin:Saving\ntoy = toy_plugin:Saving\n")
    warning = "mtloop: the method copy-source of the package toy-plugin is ignored: mtloop uses this name itself"
    done = result("methods", "--format", "json")
    assert (done.returncode, done.stderr.splitlines()) == (0, [warning])
    listed = {record["name"]: record for record in json.loads(done.stdout)}
    assert "toy" in listed
    done = result("methods", "copy-source", "--format", "json")
    assert (json.loads(done.stdout), done.stderr.splitlines()) == (listed["copy-source"], [warning])
    assert listed["copy-source"]["settings"] == []


@pytest.mark.slow
def test_compare_runs_own_engines(folder: Path) -> None:
    methods = "copy-source,toys/toy.py:Saving,exec:python count.py saves,toy-counts"
    options = ("--data", "manual.tsv", "--target-lang", "de", "--methods", methods, "--metrics", "ter,r1")
    printed = mtloop("compare", *options, "--out", "compared")
    assert all(name in printed for name in methods.split(","))
    traces = sorted((folder / "compared").glob("*.jsonl"))
    assert sum(not path.name.endswith(".meta.jsonl") for path in traces) == 4
    assert mtloop("compare", *options, "--out", "compared") == printed


def test_compare_names_the_engine_that_failed() -> None:
    method = "exec:python count.py fault:propose:die"
    message = failure("compare", "--data", "manual.tsv", "--methods", f"copy-source,{method}", "--out", "compared")
    assert f"engine {method} failed in propose at segment '3': expected an answer, but the program ended" in message
    assert "; its last lines on standard error: two | three | out of memory" in message


def test_bandit_runs_an_engine_that_learns_from_rewards(folder: Path) -> None:
    methods = "copy-source,exec:python count.py reward saves"
    options = ("--task", "manual.tsv", "--methods", methods, "--set", "mark=?", "--jobs", 1, "--out", "rewards")
    printed = mtloop("bandit", *options)
    assert "exec:python count.py reward saves" in printed
    (path,) = (path for path in (folder / "rewards").glob("exec*.jsonl") if not path.name.endswith(".meta.jsonl"))
    learned = [step.learned.updates for step in Trace.read(path).steps if step.learned]
    assert learned == [1] * SEGMENTS
    assert mtloop("bandit", *options) == printed
    refused = failure("bandit", "--task", "manual.tsv", "--methods", "exec:python count.py", "--out", "refused")
    assert "method exec:python count.py learns from post-edits, but" in refused


def test_tune_searches_the_settings_of_a_program(folder: Path) -> None:
    options = ("--data", "manual.tsv", "--method", "exec:python count.py saves", "--space", "size=1:3", "--trials", 3)
    rows = ("--tune-rows", "1-8", "--report-rows", "9-16", "--report-metrics", "ter", "--jobs", 1, "--out", "tuned")
    assert "Winner: " in mtloop("tune", *options, *rows)
    winner = (folder / "tuned" / "winner.toml").read_text()
    assert 'method = "exec:python count.py saves"' in winner
    mtloop("run", "--config", "tuned/winner.toml", "--data", "manual.tsv", "--limit", 3, "--out", "won.jsonl")


@pytest.mark.parametrize("saves", ["saves", slow("counts")])
def test_join_resumes_after_the_engine_died_while_it_learned(folder: Path, saves: str) -> None:
    method = f"exec:python count.py reward {saves} fault:learn:die"
    (folder / "key.txt").write_text(KEY)
    path = folder / "count.py"
    path.write_text(path.read_text().replace('request.get("id", "3") == "3"', "True"))  # it dies in its first lesson
    service = Service()
    with served(service) as url:
        join = ("join", url, "--task", "dev", "--key-file", "key.txt", "--method", method, "--out", "run.jsonl")
        message = failure(*join)
        assert message.startswith(f"mtloop: engine {method} failed in learn at segment ")
        (folder / "repaired").touch()
        mtloop(*join, "--resume")
    (joined,) = service.runs.values()
    steps = Trace.read("run.jsonl").steps
    assert len(steps) == len(SOURCES)
    assert [step.feedback.value for step in steps if step.feedback] == joined.rewards  # type: ignore[union-attr]


def test_the_engines_work_in_python(folder: Path) -> None:
    code = """
import os, subprocess
from pathlib import Path
import mtloop

def programs():
    listed = subprocess.run(["ps", "--ppid", str(os.getpid()), "-o", "args="], capture_output=True, text=True).stdout
    return [line for line in listed.splitlines() if "count.py" in line]

first = mtloop.load(method="exec:python count.py saves")
first.translate("Open it.")
first.correct("Open it.", "Öffnen.")
first.save("learned")
with mtloop.load(method="exec:python count.py saves", delta="learned") as second:
    assert str(first.translate("Close it.")) == str(second.translate("Close it.")) != "Close it. !"
    assert second.translate("Close it.").because.startswith("what was learned before was loaded")
    assert len(programs()) == 2
first.close()
assert not programs()
mtloop.run("manual.tsv", "exec:python count.py saves", out="run.jsonl", snapshot_every=10)
assert not programs()
with mtloop.load(method="exec:python count.py saves", delta="run.state") as third:
    assert str(third.translate("Open it.")) == "Open it. " + Path("run.state/000000024/state.txt").read_text() + "!"
print(mtloop.run("manual.tsv", "toys/toy.py:Saving", settings={"mark": "?"}).steps[0].proposal.text)
"""
    path = {"PATH": environment()["PATH"]}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ | path)
    assert done.stdout == "Open the file 0. ?\n", done.stderr


def test_an_experiment_file_names_an_engine(folder: Path) -> None:
    (folder / "experiment.toml").write_text(
        'data = "manual.tsv"\nmethod = "toys/toy.py:Saving"\n[settings]\nmark = "?"\n'
    )
    mtloop("run", "--config", "experiment.toml", "--out", "run.jsonl")
    assert Trace.read("run.jsonl").steps[0].proposal.text.endswith("?")


def test_a_trace_that_names_an_engine_starts_nothing(folder: Path) -> None:
    mtloop(*run("exec:python count.py", "run.jsonl"))
    (folder / "count.py").write_text("open('started', 'w')")
    mtloop("score", "run.jsonl", "--metrics", "ter")
    mtloop("report", "run.jsonl", "--out", "report.html")
    shutil.copy("run.jsonl", "other.jsonl")
    assert failure(*run("copy-source", "other.jsonl", "--resume")).startswith(
        "mtloop: other.jsonl: belongs to another run"
    )
    assert not (folder / "started").exists()


def test_a_delta_that_names_an_engine_starts_nothing(folder: Path) -> None:
    from mtloop.nmt.delta import Delta

    Delta("exec:touch started", "", {}, {"lessons": 0, "updates": 0}).write(folder / "run.delta")
    expected = "mtloop: run.delta: names the engine 'exec:touch started', but a data file must not start an engine; "
    for command in (("run", "--data", "manual.tsv", "--out", "run.jsonl"), ("translate",)):
        assert failure(*command, "--delta", "run.delta").startswith(expected)
    assert not (folder / "started").exists()


@pytest.mark.slow
def test_the_engines_and_commands_of_the_docs_work(folder: Path) -> None:
    write_page_engines(folder)
    entry_points = folder / "site" / "toy_plugin-1.0.dist-info" / "entry_points.txt"
    shutil.copy("toy.py", "site/my_package.py")
    entry_points.write_text("[mtloop.methods]\ntoy = my_package:Toy\n")
    commands = page_commands()
    assert len(commands) == 4
    for command in commands:
        mtloop(*shlex.split(command)[1:])
    texts = [
        [step.proposal.text for step in Trace.read(f"{name}.jsonl").steps] for name in ("toy", "plugin", "program")
    ]
    assert texts[0] == texts[1] == texts[2]
    assert texts[0][0] == "Open the file 0.+"
    assert texts[0][7] == "Öffnen Sie die Datei 0."
