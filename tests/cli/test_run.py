from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.said import Said
from helpers.tiny_marian import demo_pairs, write_tiny

from mtloop.core import Segment, Trace
from mtloop.methods.registry import make_learner, settings_of
from mtloop.nmt.delta_files import find_delta, read_delta, take_up
from mtloop.nmt.engine.marian import Marian

Call = Callable[..., Said]
SEGMENTS = 12


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "stream.tsv"
    rows = [f"{source}\t{target}" for source, target in demo_pairs()[:SEGMENTS]]
    path.write_text("\n".join(["source\ttarget", *rows, ""]), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def whole(model: Path, data: Path, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The trace of a run that nobody disturbed."""
    out = tmp_path_factory.mktemp("whole") / "run.jsonl"
    assert child(model, data, out, "", 0).returncode == 0
    return out.read_bytes()


CHILD = """
import os, pathlib, signal, sys
where, nth, arguments = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
import mtloop.core.trace
import mtloop.nmt.scopes.dense as scopes
import mtloop.nmt.engine.search as search
import mtloop.nmt.delta as delta

calls = 0
def kill_at(function, before=None):
    def call(*args, **keywords):
        global calls
        calls += 1
        if calls == nth:
            if before: before(*args)
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*args, **keywords)
    return call

def half_a_line(trace, line):
    trace._file.write(line[: len(line) // 2])
    trace._file.flush()

def half_a_file(snapshot, path):
    path.write_bytes(b"half")

if where == "decoding": search.Decoder.step = kill_at(search.Decoder.step)
if where == "update": scopes.Dense.update = kill_at(scopes.Dense.update)
if where == "inside update": scopes.Dense._note = kill_at(scopes.Dense._note)
if where == "write": mtloop.core.trace.TraceWriter._append = kill_at(mtloop.core.trace.TraceWriter._append, half_a_line)
if where == "snapshot": delta.Delta.write = kill_at(delta.Delta.write, half_a_file)
if where == "rename": pathlib.Path.rename = kill_at(pathlib.Path.rename)
from mtloop.cli import main
main(arguments)
"""


def child(model: Path, data: Path, out: Path, where: str, nth: int) -> subprocess.CompletedProcess[str]:
    arguments = ["run", "--data", data, "--model", model, "--method", "full", "--out", out, "--snapshot", 3, "--resume"]
    command = [sys.executable, "-c", CHILD, where, str(nth), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"})


MOMENTS = [
    ("decoding", 2), ("decoding", 8), ("update", 1), ("update", 20), ("inside update", 40), ("write", 1),
    ("write", 5), ("write", 13), ("snapshot", 1), ("snapshot", 3), ("rename", 2),
]  # fmt: skip


@pytest.mark.parametrize(("where", "nth"), MOMENTS)
def test_killed_and_resumed_it_writes_the_same_bytes(
    model: Path, data: Path, whole: bytes, tmp_path: Path, where: str, nth: int
) -> None:
    out = tmp_path / "run.jsonl"
    killed = child(model, data, out, where, nth)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert out.read_bytes() != whole or where in ("snapshot", "rename", "write")
    assert child(model, data, out, "", 0).returncode == 0
    assert out.read_bytes() == whole


def test_the_header_says_how_to_run_it_again(whole: bytes, tmp_path: Path) -> None:
    (tmp_path / "run.jsonl").write_bytes(whole)
    header = Trace.read(tmp_path / "run.jsonl").header
    assert header.config["settings"] == settings_of("full")
    assert {"rate", "clip", "updates", "enough", "kl", "replay", "surprise"} <= settings_of("full").keys()
    assert header.config["method"] == "full"
    assert header.threads == 1
    assert {"mtloop", "torch", "python"} <= header.versions.keys()
    assert b"seconds" not in whole


def test_a_run_needs_no_more_than_data_and_a_method(mtloop: Call, model: Path, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "bias.jsonl"
    said = mtloop(
        "run", "--data", data, "--model", model, "--method", "bias", "--set", "rate=0.5", "--limit", 4, "--out", out
    )
    assert (said.code, said.out.strip()) == (0, str(out))
    assert len(Trace.read(out).steps) == 4
    assert Trace.read(out).header.config["settings"]["rate"] == 0.5  # type: ignore[index,call-overload]
    clock = [json.loads(line) for line in (tmp_path / "bias.meta.jsonl").read_text().splitlines()]
    assert [line["step"] for line in clock] == [0, 1, 2, 3]


def test_toml_holds_what_the_options_do_and_options_win(mtloop: Call, model: Path, data: Path, tmp_path: Path) -> None:
    config = tmp_path / "run.toml"
    config.write_text(f'data = "{data}"\nmodel = "{model}"\nmethod = "top"\nlimit = 3\n[settings]\nrate = 0.02\n')
    mtloop("run", "--config", config, "--limit", 2, "--out", tmp_path / "t.jsonl")
    trace = Trace.read(tmp_path / "t.jsonl")
    assert len(trace.steps) == 2
    assert (trace.header.config["method"], trace.header.config["settings"]["rate"]) == ("top", 0.02)  # type: ignore[index,call-overload]


@pytest.mark.parametrize("schedule", ["delay:2", "blocks:20", "blocks:20:unfair"])
def test_other_schedules(mtloop: Call, model: Path, data: Path, tmp_path: Path, schedule: str) -> None:
    out = tmp_path / "s.jsonl"
    assert mtloop("run", "--data", data, "--model", model, "--limit", 5, "--schedule", schedule, "--out", out).code == 0
    assert len(Trace.read(out).steps) == 5


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--method", "fulll"], "did you mean 'full'?"),
        (["--set", "rat=1"], "did you mean 'rate'?"),
        (["--set", "rate=fast"], "setting rate takes a float"),
        (["--set", "rate=nan"], "setting rate takes a float"),
        (["--method", "lasso", "--set", "strength=nan"], "setting strength takes a float"),
        (["--set", "updates=2.5"], "setting updates takes a int"),
        (["--set", "clip=never"], "clip is 'clip'"),
        (["--set", "rate"], "KEY=VALUE"),
        (["--schedule", "sometimes"], "expected each, delay:K"),
        (["--model", "nowhere"], "no model 'nowhere'"),
        (["--method", "fixed"], "mtloop model choose"),
        (["--columns", "target=x"], "column"),
        (["--config", "none.toml"], "none.toml: not a TOML file"),
    ],
)
def test_a_mistake_is_one_line_and_nothing_is_written(
    mtloop: Call, model: Path, data: Path, tmp_path: Path, arguments: list[str], says: str
) -> None:
    out = tmp_path / "run.jsonl"
    given = ["run", "--data", data, "--out", out, *([] if "--model" in arguments else ["--model", model]), *arguments]
    said = mtloop(*given)
    assert said.code == 2
    assert says in said.err
    assert len(said.err.splitlines()) == 1
    assert not out.exists()


def test_a_trace_that_is_there_is_not_overwritten(mtloop: Call, model: Path, data: Path, tmp_path: Path) -> None:
    (tmp_path / "run.jsonl").write_text("precious")
    said = mtloop("run", "--data", data, "--model", model, "--out", tmp_path / "run.jsonl")
    assert "--resume" in said.err
    assert (tmp_path / "run.jsonl").read_text() == "precious"


def test_a_trace_of_other_settings_is_not_continued(mtloop: Call, model: Path, data: Path, tmp_path: Path) -> None:
    arguments = ["run", "--data", data, "--model", model, "--limit", 2, "--out", tmp_path / "r.jsonl", "--resume"]
    assert mtloop(*arguments).code == 0
    said = mtloop(*arguments, "--set", "rate=0.5")
    assert said.code == 2
    assert "another run" in said.err


def test_compare_prints_the_tables_and_writes_the_report(mtloop: Call, model: Path, data: Path, tmp_path: Path) -> None:
    methods = "baseline,bias,full,lasso"
    said = mtloop(
        "compare", "--data", data, "--model", model, "--methods", methods, "--out", tmp_path, "--block-words", 20
    )
    assert said.code == 0, said.err
    assert all(method in said.out for method in methods.split(","))
    assert "relative" in said.out
    assert (tmp_path / "report.html").stat().st_size > 100_000
    assert {path.name for path in tmp_path.glob("*.jsonl")} >= {f"{method}.jsonl" for method in methods.split(",")}


def test_compare_looks_back_at_every_method_that_learns_from_post_edits(
    mtloop: Call, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mtloop.experiments import backward_reliability

    monkeypatch.setattr(backward_reliability, "SHORTEST", 3)
    pairs = demo_pairs()[:4]  # each document says the same again in its last third: what was learned can be seen
    rows = [f"{source}\t{target}\t{name}" for name in "ab" for source, target in [*pairs, *pairs[:2]]]
    data, out = tmp_path / "stream.tsv", tmp_path / "out"
    data.write_text("\n".join(["source\ttarget\tdocument", *rows, ""]), encoding="utf-8")
    arguments = ["compare", "--data", data, "--model", model, "--methods", "copy-source,baseline,bias,memory"]
    said = mtloop(*arguments, "--reliability", 2, "--out", out)
    assert said.code == 0, said.err
    assert "Figure 5: bias" in said.out
    assert "Figure 5: memory" in said.out
    assert said.out.count("Figure 5") == said.out.count("backward transfer") == 2  # the others never learn
    texts = json.loads((out / "memory.reliability.json").read_text(encoding="utf-8"))["texts"]
    wanted = [target for _, target in pairs[:2]]
    assert [document["ada"] for document in texts] == [document["final"] for document in texts] == [wanted, wanted]
    assert all(document["baseline"] != wanted for document in texts)
    drawn = {path.stem for path in (out / "report_files").glob("figure-5-*.png")}
    assert drawn == {f"figure-5-{method}-{metric}" for method in ("bias", "memory") for metric in ("ter", "bleu")}


def test_reliability_without_documents_is_refused_before_any_work(
    mtloop: Call, model: Path, data: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    said = mtloop("compare", "--data", data, "--model", model, "--methods", "bias", "--reliability", 2, "--out", out)
    assert said.code == 2
    assert "--reliability needs two documents of 30 segments or more" in said.err
    assert len(said.err.splitlines()) == 1
    assert not out.exists()


def test_compare_finds_a_wrong_method_before_any_work(mtloop: Call, model: Path, data: Path, tmp_path: Path) -> None:
    said = mtloop("compare", "--data", data, "--model", model, "--methods", "baseline,ful", "--out", tmp_path / "out")
    assert "did you mean 'full'?" in said.err
    assert not (tmp_path / "out").exists()


def test_translate_takes_a_delta(model: Path, data: Path, tmp_path: Path) -> None:
    run = [sys.executable, "-m", "mtloop"]
    out = tmp_path / "run.jsonl"
    subprocess.run([*run, "run", "--data", data, "--model", model, "--set", "rate=0.1", "--limit", "6", "--snapshot", "3",
                    "--out", out], check=True, capture_output=True)  # fmt: skip
    plain = subprocess.run(
        [*run, "translate", "--model", model], input="Open\nSave\n\n", text=True, capture_output=True
    )
    delta = tmp_path / "run.state" / "000000006" / "delta.safetensors"
    learned = subprocess.run(
        [*run, "translate", "--model", model, "--delta", delta], input="Open\nSave\n\n", text=True, capture_output=True
    )
    assert plain.stdout.count("\n") == learned.stdout.count("\n") == 3
    assert learned.stdout != plain.stdout


def said_in(trace: Path) -> list[str]:
    return [step.proposal.text for step in Trace.read(trace).steps]


def test_a_run_goes_on_from_what_another_learned(mtloop: Call, model: Path, data: Path, tmp_path: Path) -> None:
    """Two days in two runs are one run of two days."""
    stream = ["run", "--data", data, "--model", model, "--set", "rate=0.1"]
    whole, monday, tuesday = (tmp_path / f"{name}.jsonl" for name in ("whole", "monday", "tuesday"))
    assert mtloop(*stream, "--method", "lora+memory", "--limit", 6, "--out", whole).code == 0
    assert mtloop(*stream, "--method", "lora+memory", "--limit", 3, "--out", monday).code == 0
    later = [*stream, "--skip", 3, "--limit", 3, "--delta", tmp_path / "monday.state", "--out", tuesday]
    assert mtloop(*later).code == 0
    assert said_in(monday) + said_in(tuesday) == said_in(whole)
    header = Trace.read(tuesday).header.config
    assert header["method"] == "lora+memory"
    assert header["delta"]
    deltas = [read_delta(tmp_path / f"{name}.state") for name in ("whole", "tuesday")]
    assert deltas[0].counters == deltas[1].counters
    assert deltas[0].tensors.keys() == deltas[1].tensors.keys()
    assert all(deltas[0].tensors[name].equal(deltas[1].tensors[name]) for name in deltas[0].tensors)
    again = mtloop(*later, "--resume", "--delta", tmp_path / "whole.state")
    assert again.code == 2
    assert "is of another run" in again.err


def test_the_newest_whole_snapshot_is_the_one(tmp_path: Path) -> None:
    for name in ("000000009", "000000010", "unfinished"):
        (tmp_path / "r.state" / name).mkdir(parents=True)
        (tmp_path / "r.state" / name / "delta.safetensors").touch()
    newest = tmp_path / "r.state" / "000000010" / "delta.safetensors"
    assert find_delta(tmp_path / "r.state") == find_delta(newest.parent) == find_delta(newest) == newest


def test_a_run_does_not_begin_with_what_it_would_replace(mtloop: Call, model: Path, data: Path, tmp_path: Path) -> None:
    run = ["run", "--data", data, "--model", model, "--method", "bias", "--limit", 2, "--out", tmp_path / "r.jsonl"]
    assert mtloop(*run).code == 0
    (tmp_path / "r.jsonl").rename(tmp_path / "kept.jsonl")
    said = mtloop(*run, "--delta", tmp_path / "r.state")
    assert (said.code, "would replace" in said.err) == (2, True)
    assert find_delta(tmp_path / "r.state").is_file()


def test_a_delta_that_a_run_cannot_go_on_from(mtloop: Call, model: Path, data: Path, tmp_path: Path) -> None:
    assert mtloop("run", "--data", data, "--model", model, "--limit", 2, "--out", tmp_path / "r.jsonl").code == 0
    (tmp_path / "empty.state").mkdir()
    state, out = tmp_path / "r.state", tmp_path / "s.jsonl"
    for method, delta, message in (
        (["--method", "full"], state, "learned with method 'lora+memory+copy', not 'full'"),
        (["--method", "nmt-el"], state, "leave out --delta"),
        ([], tmp_path / "none.safetensors", "no such delta"),
        ([], tmp_path / "empty.state", "holds no snapshot"),
    ):
        said = mtloop("run", "--data", data, "--model", model, *method, "--delta", delta, "--out", out)
        assert (said.code, said.err.count("\n")) == (2, 1), said.err
        assert message in said.err
        assert not out.exists()


@pytest.mark.parametrize(
    ("settings", "method"),
    [({"optimiser": "adam", "rate": "0.05"}, "full"), ({"scope": "lora", "rate": "0.5"}, "lora")],
)
def test_what_was_learned_from_rewards_translates(
    mtloop: Call, model: Path, data: Path, tmp_path: Path, settings: dict[str, str], method: str
) -> None:
    chosen = [word for pair in settings.items() for word in ("--set", "=".join(pair))]
    given = ["--task", data, "--model", model, "--limit", 6, "--jobs", 1, "--out", tmp_path]
    assert mtloop("bandit", *given, "--methods", "nmt-el-cv", *chosen).code == 0
    state = tmp_path / "nmt-el-cv.state"
    assert "learned      6 rewards, " in mtloop("model", "info", state).out
    learned, base = read_delta(state), Marian.load(model)
    assert learned.method == method
    speaker, drawing = make_learner(method, base), make_learner("nmt-el-cv", base, settings_of("nmt-el-cv", settings))
    take_up(speaker, method, learned)
    drawing.load(state / "000000006")  # type: ignore[attr-defined]
    for name, tensor in drawing.scope.model.weights.items():  # type: ignore[attr-defined]
        assert tensor.equal(speaker.model.weights[name])  # type: ignore[attr-defined]
    command = [sys.executable, "-m", "mtloop", "translate", "--model", model, "--delta", state]
    said = subprocess.run(command, input="Open\nSave\n", text=True, capture_output=True, check=True).stdout
    assert said.splitlines() == [speaker.propose(Segment("", source)).text for source in ("Open", "Save")]


def test_a_delta_for_another_base(mtloop: Call, data: Path, model: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    write_tiny(tmp_path / "other", seed=5)
    mtloop("run", "--data", data, "--model", model, "--limit", 3, "--snapshot", 3, "--out", tmp_path / "r.jsonl")
    delta = tmp_path / "r.state" / "000000003" / "delta.safetensors"
    said = mtloop("translate", "--model", tmp_path / "other", "--delta", delta)
    assert said.code == 2
    assert "another base model" in said.err


def test_a_method_that_learns_from_rewards_is_told_where_to_go(
    mtloop: Call, model: Path, data: Path, tmp_path: Path
) -> None:
    said = mtloop("run", "--data", data, "--model", model, "--method", "nmt-el", "--out", tmp_path / "r.jsonl")
    assert said.code == 2
    assert "mtloop bandit" in said.err
    assert not (tmp_path / "r.jsonl").exists()


def test_a_delta_says_what_it_holds_and_what_it_costs(mtloop: Call, model: Path, data: Path, tmp_path: Path) -> None:
    run = ["run", "--data", data, "--model", model, "--method", "lora+memory", "--limit", 3, "--snapshot", 3]
    assert mtloop(*run, "--out", tmp_path / "r.jsonl").code == 0
    delta = tmp_path / "r.state" / "000000003" / "delta.safetensors"
    said = dict(line.split(maxsplit=1) for line in mtloop("model", "info", delta).out.splitlines())
    assert said["method"] == "lora+memory"
    assert said["memory"] == "3 segments"
    assert 0 < int(said["bytes"].replace(",", "")) <= delta.stat().st_size
    assert mtloop("model", "info", tmp_path / "none.safetensors").code == 2


def test_a_model_that_only_has_a_bin_is_converted(mtloop: Call, model: Path, tmp_path: Path) -> None:
    import torch
    from safetensors.torch import load_file

    old = tmp_path / "old"
    old.mkdir()
    for path in model.iterdir():
        if path.suffix != ".safetensors":
            (old / path.name).write_bytes(path.read_bytes())
    torch.save(load_file(model / "model.safetensors"), old / "pytorch_model.bin")
    assert mtloop("model", "convert", old, tmp_path / "new").code == 0
    one, other = (mtloop("model", "info", folder).out for folder in (model, tmp_path / "new"))
    assert one == other
    (old / "pytorch_model.bin").write_bytes(b"")
    assert "not a file of tensors" in mtloop("model", "convert", old, tmp_path / "x").err


def test_choosing_what_fixed_learns(mtloop: Call, model: Path, data: Path, tmp_path: Path) -> None:
    choice = tmp_path / "fixed.json"
    said = mtloop("model", "choose", "--data", data, "--model", model, "--limit", 3, "--budget", 5000, "--out", choice)
    assert said.code == 0
    assert len(json.loads(choice.read_text())["tensors"]) > 3
    out = tmp_path / "f.jsonl"
    fixed = ["run", "--data", data, "--model", model, "--method", "fixed", "--set", f"tensors={choice}", "--limit", 2]
    assert mtloop(*fixed, "--out", out).code == 0
