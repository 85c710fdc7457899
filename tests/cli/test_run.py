from __future__ import annotations

import hashlib
import json
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.command_result import CommandResult
from helpers.forked import kill_at, run_forked
from helpers.report_samples import report_lead
from helpers.tiers import slow
from helpers.tiny_marian import demo_pairs, write_tiny

from mtloop.cli import main
from mtloop.core import Segment, Trace
from mtloop.core.trace import TraceWriter
from mtloop.methods.registry import make_learner, settings_of
from mtloop.nmt.delta import Delta
from mtloop.nmt.delta_files import apply_delta, find_delta, read_delta
from mtloop.nmt.engine.marian import Marian
from mtloop.nmt.engine.search import Decoder
from mtloop.nmt.scopes.dense import Dense

Call = Callable[..., CommandResult]
SEGMENTS = 12


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "stream.tsv"
    rows = [f"{source}\t{target}" for source, target in demo_pairs()[:SEGMENTS]]
    path.write_text("\n".join(["source\ttarget", *rows, ""]), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def whole(model: Path, data: Path, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The trace of an uninterrupted run."""
    out = tmp_path_factory.mktemp("whole") / "run.jsonl"
    assert child(model, data, out).returncode == 0
    return out.read_bytes()


def half_a_line(trace: TraceWriter, line: bytes) -> None:
    trace._file.write(line[: len(line) // 2])
    trace._file.flush()


def half_a_file(delta: Delta, path: Path) -> None:
    path.write_bytes(b"half")


# What is called there, and what is done before the process is killed.
PLACES: dict[str, tuple[type, str, Callable[..., None] | None]] = {
    "decoding": (Decoder, "states", None),
    "update": (Dense, "update", None),
    "inside update": (Dense, "_record_rows", None),
    "write": (TraceWriter, "_append", half_a_line),
    "snapshot": (Delta, "write", half_a_file),
    "rename": (Path, "rename", None),
}


def child(model: Path, data: Path, out: Path, where: str = "", nth: int = 0) -> subprocess.CompletedProcess[str]:
    """Run the method full in a child process, which is killed at the nth call of a place."""
    arguments = ["run", "--data", data, "--model", model, "--method", "full", "--out", out, "--snapshot-every", 3]

    def work() -> None:
        if where:
            owner, name, first = PLACES[where]
            kill_at(owner, name, nth, first=first)
        main([*map(str, arguments), "--resume"])

    return run_forked(work)


MOMENTS = [
    slow("decoding", 2), slow("decoding", 8), slow("update", 1), slow("update", 20), ("inside update", 40),
    slow("write", 1), slow("write", 5), ("write", 13), slow("snapshot", 1), slow("snapshot", 3), slow("rename", 2),
]  # fmt: skip


@pytest.mark.parametrize(("where", "nth"), MOMENTS)
def test_a_killed_and_resumed_run_writes_the_same_bytes(
    model: Path, data: Path, whole: bytes, tmp_path: Path, where: str, nth: int
) -> None:
    out = tmp_path / "run.jsonl"
    killed = child(model, data, out, where, nth)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert out.read_bytes() != whole or where in ("snapshot", "rename", "write")
    assert child(model, data, out).returncode == 0
    assert out.read_bytes() == whole


def test_the_header_contains_the_configuration(whole: bytes, tmp_path: Path) -> None:
    (tmp_path / "run.jsonl").write_bytes(whole)
    header = Trace.read(tmp_path / "run.jsonl").header
    assert header.config["settings"] == settings_of("full")
    names = {"learning_rate", "gradient_clipping", "max_updates", "target_perplexity", "kl_weight", "replay_pairs"}
    assert names | {"loss_threshold"} <= settings_of("full").keys()
    assert header.config["method"] == "full"
    assert header.threads == 1
    assert {"mtloop", "torch", "python"} <= header.versions.keys()
    assert b"seconds" not in whole


def test_a_run_with_data_and_a_method(mtloop: Call, model: Path, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "bias.jsonl"
    result = mtloop(
        *("run", "--data", data, "--model", model, "--method", "bias", "--set", "learning_rate=0.5"),
        *("--limit", 4, "--out", out),
    )
    assert (result.code, result.out.strip()) == (0, str(out))
    assert len(Trace.read(out).steps) == 4
    assert Trace.read(out).header.config["settings"]["learning_rate"] == 0.5  # type: ignore[index,call-overload]
    clock = [json.loads(line) for line in (tmp_path / "bias.meta.jsonl").read_text().splitlines()]
    assert [line["step"] for line in clock] == [0, 1, 2, 3]


def test_toml_sets_options_and_the_command_line_takes_precedence(
    mtloop: Call, model: Path, data: Path, tmp_path: Path
) -> None:
    config = tmp_path / "run.toml"
    table = f'data = "{data}"\nmodel = "{model}"\nmethod = "top"\nlimit = 3\n[settings]\nlearning_rate = 0.02\n'
    config.write_text(table)
    mtloop("run", "--config", config, "--limit", 2, "--out", tmp_path / "t.jsonl")
    trace = Trace.read(tmp_path / "t.jsonl")
    assert len(trace.steps) == 2
    assert (trace.header.config["method"], trace.header.config["settings"]["learning_rate"]) == ("top", 0.02)  # type: ignore[index,call-overload]


@pytest.mark.parametrize("schedule", ["delay:2", "blocks:20", "blocks:20:unfair"])
def test_other_schedules(mtloop: Call, model: Path, data: Path, tmp_path: Path, schedule: str) -> None:
    out = tmp_path / "s.jsonl"
    assert mtloop("run", "--data", data, "--model", model, "--limit", 5, "--schedule", schedule, "--out", out).code == 0
    assert len(Trace.read(out).steps) == 5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--method", "fulll"], "did you mean 'full'?"),
        (["--set", "learning_rat=1"], "did you mean 'learning_rate'?"),
        (["--set", "learning_rate=fast"], "setting learning_rate is 'fast'; expected a number"),
        (["--set", "learning_rate=nan"], "setting learning_rate is 'nan'; expected a number"),
        (["--method", "lasso", "--set", "lasso_penalty=nan"], "setting lasso_penalty is 'nan'; expected a number"),
        (["--set", "max_updates=2.5"], "setting max_updates is '2.5'; expected a whole number"),
        (["--set", "gradient_clipping=never"], "setting gradient_clipping is 'never'; expected clip, scale or none"),
        (["--set", "learning_rate"], "KEY=VALUE"),
        (["--schedule", "sometimes"], "expected each, delay:K"),
        (["--model", "nowhere"], "no model 'nowhere'"),
        (["--method", "fixed"], "mtloop model choose"),
        (["--columns", "target=x"], "column"),
        (["--config", "none.toml"], "none.toml: no such file"),
    ],
)
def test_an_error_is_one_line_and_nothing_is_written(
    mtloop: Call, model: Path, data: Path, tmp_path: Path, arguments: list[str], message: str
) -> None:
    out = tmp_path / "run.jsonl"
    given = ["run", "--data", data, "--out", out, *([] if "--model" in arguments else ["--model", model]), *arguments]
    result = mtloop(*given)
    assert result.code == 2
    assert message in result.err
    assert len(result.err.splitlines()) == 1
    assert not out.exists()


def test_an_existing_trace_is_not_overwritten(mtloop: Call, model: Path, data: Path, tmp_path: Path) -> None:
    (tmp_path / "run.jsonl").write_text("precious")
    result = mtloop("run", "--data", data, "--model", model, "--out", tmp_path / "run.jsonl")
    assert "--resume" in result.err
    assert (tmp_path / "run.jsonl").read_text() == "precious"


def test_a_trace_with_other_settings_is_not_resumed(mtloop: Call, model: Path, data: Path, tmp_path: Path) -> None:
    arguments = ["run", "--data", data, "--model", model, "--limit", 2, "--out", tmp_path / "r.jsonl", "--resume"]
    assert mtloop(*arguments).code == 0
    result = mtloop(*arguments, "--set", "learning_rate=0.5")
    assert result.code == 2
    assert "another run" in result.err


def test_compare_prints_the_tables_and_writes_the_report(mtloop: Call, model: Path, data: Path, tmp_path: Path) -> None:
    methods, options = "baseline,bias,full,lasso", ("--block-words", 20, "--jobs", 1, "--out", tmp_path)
    result = mtloop("compare", "--data", data, "--model", model, "--methods", methods, *options)
    assert result.code == 0, result.err
    assert all(method in result.out for method in methods.split(","))
    assert "relative" in result.out
    lead = result.out.split("\n\n")[0]
    assert " ".join(lead.split()) == report_lead(tmp_path / "report.html")
    assert max(map(len, lead.splitlines())) <= 100
    assert (tmp_path / "report.html").stat().st_size > 10_000
    assert {path.name for path in tmp_path.glob("*.jsonl")} >= {f"{method}.jsonl" for method in methods.split(",")}


def test_compare_writes_its_result_without_sentences(mtloop: Call, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    arguments = ("--data", data, "--methods", "copy-source", "--skip", 1, "--limit", 5, "--jobs", 1, "--out", out)
    assert mtloop("compare", *arguments).code == 0
    text = (out / "result.json").read_text(encoding="utf-8")
    saved = json.loads(text)
    options = "--methods copy-source --skip 1 --limit 5 --jobs 1 --out out"
    assert saved["command"] == f"mtloop compare --data {data.name} {options}"
    (read,) = saved["data"]
    assert (read["name"], read["segments"], read["rows"]) == (data.name, 5, {"skip": 1, "limit": 5})
    assert read["sha256"] == hashlib.sha256(data.read_bytes()).hexdigest()
    assert saved["settings"]["copy-source"]["schedule"] == "each"
    assert {"curve-bleu", "curve-ter"} <= saved["charts"].keys()
    assert str(tmp_path) not in text
    for step in Trace.read(out / "copy-source.jsonl").steps:
        assert step.proposal.segment.source not in text
        assert step.references[0] not in text


ENGINE = """
from mtloop.core import Learned, PostEdit, Proposal


class Engine:
    learns_from = (PostEdit,)

    def propose(self, segment):
        return Proposal(segment, segment.source)

    def learn(self, proposal, feedback):
        return Learned()
"""


def test_the_result_of_an_own_engine_names_no_folder(mtloop: Call, data: Path, tmp_path: Path) -> None:
    (tmp_path / "my data").mkdir()
    (tmp_path / "my data" / "mine.py").write_text(ENGINE, encoding="utf-8")
    methods, out = f"copy-source,{tmp_path / 'my data' / 'mine.py'}:Engine", tmp_path / "out"
    options = ("--data", data, "--methods", methods, "--metrics", "ter", "--limit", 5, "--jobs", 1, "--out", out)
    result = mtloop("compare", *options)
    assert result.code == 0, result.err
    text = (out / "result.json").read_text(encoding="utf-8")
    saved = json.loads(text)
    assert str(tmp_path) not in text
    assert "my data" not in text
    assert saved["settings"].keys() == {"copy-source", "mine.py:Engine"}
    assert "--methods copy-source,mine.py:Engine " in saved["command"]
    assert [row[0] for row in saved["tables"]["differences"]["cells"]] == ["copy-source", "mine.py:Engine"]


TAKES_OVER = """
from mtloop.core import Learned, PostEdit, Proposal


class TakesOver:
    learns_from = (PostEdit,)

    def __init__(self):
        self.last_ = ""

    def propose(self, segment):
        return Proposal(segment, self.last_ or segment.source)

    def learn(self, proposal, feedback):
        self.last_ = feedback.text
        return Learned(updates=1)
"""


def test_compare_shows_what_learning_harms(mtloop: Call, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(TAKES_OVER, encoding="utf-8")
    data, out = tmp_path / "stream.tsv", tmp_path / "out"
    data.write_text("source\ttarget\nLog in\tAnmelden\nLog out\tAbmelden\n", encoding="utf-8")
    methods = f"copy-source,{tmp_path / 'mine.py'}:TakesOver"
    options = ("--data", data, "--target-lang", "de", "--jobs", 1)
    result = mtloop("compare", *options, "--methods", methods, "--out", out)
    assert result.code == 0, result.err
    scores, relative = result.out.split("relative")
    assert all(name in scores and name not in relative for name in ("NEAR-BETTER", "NEAR-WORSE", "FLIPS"))
    text = (out / "result.json").read_text(encoding="utf-8")
    records = json.loads(text)["tables"]["scores"]["records"]
    assert [record["flips"] for record in records] == [0, 100]
    assert not any(sentence in text for sentence in ("Anmelden", "Abmelden", "Log out"))
    assert "mine.py:TakesOver</bdi>: 1 of 1 segments with a lesson" in (out / "report.html").read_text(encoding="utf-8")
    alone = mtloop("compare", *options, "--methods", "copy-source", "--out", tmp_path / "alone")
    assert "FLIPS" not in alone.out


@pytest.mark.slow
def test_compare_measures_reliability_of_methods_that_learn_from_post_edits(
    mtloop: Call, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mtloop.experiments import backward_reliability

    monkeypatch.setattr(backward_reliability, "MIN_SEGMENTS", 3)
    pairs = demo_pairs()[:4]  # the last third of each document repeats the first: learning is visible
    rows = [f"{source}\t{target}\t{name}" for name in "ab" for source, target in [*pairs, *pairs[:2]]]
    data, out = tmp_path / "stream.tsv", tmp_path / "out"
    data.write_text("\n".join(["source\ttarget\tdocument", *rows, ""]), encoding="utf-8")
    arguments = ["compare", "--data", data, "--model", model, "--methods", "copy-source,baseline,bias,memory"]
    result = mtloop(*arguments, "--reliability", 2, "--jobs", 1, "--out", out)
    assert result.code == 0, result.err
    assert "Figure 5: bias" in result.out
    assert "Figure 5: memory" in result.out
    assert result.out.count("Figure 5") == result.out.count("backward transfer") == 2  # the other methods never learn
    texts = json.loads((out / "memory.reliability.json").read_text(encoding="utf-8"))["texts"]
    wanted = [target for _, target in pairs[:2]]
    assert [document["ada"] for document in texts] == [document["final"] for document in texts] == [wanted, wanted]
    assert all(document["baseline"] != wanted for document in texts)
    saved = json.loads((out / "result.json").read_text(encoding="utf-8"))["tables"]["forgetting"]["records"]
    assert [row["method"] for row in saved] == ["bias", "bias", "memory", "memory"]
    drawn = {path.stem for path in (out / "report_files").glob("figure-5-*.png")}
    assert drawn == {f"figure-5-{method}-{metric}" for method in ("bias", "memory") for metric in ("ter", "bleu")}


def test_reliability_without_documents_is_refused_before_any_work(
    mtloop: Call, model: Path, data: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    result = mtloop("compare", "--data", data, "--model", model, "--methods", "bias", "--reliability", 2, "--out", out)
    assert result.code == 2
    assert "--reliability needs two documents of 20 segments or more" in result.err
    assert len(result.err.splitlines()) == 1
    assert not out.exists()


def test_compare_without_a_method_is_refused(mtloop: Call, model: Path, data: Path, tmp_path: Path) -> None:
    result = mtloop("compare", "--data", data, "--model", model, "--methods", ",", "--out", tmp_path / "out")
    assert (result.code, result.out) == (2, "")
    assert result.err == "mtloop: no method is named; give at least one\n"
    assert not (tmp_path / "out").exists()


def test_compare_names_a_method_that_fails_once(mtloop: Call, model: Path, data: Path, tmp_path: Path) -> None:
    result = mtloop("compare", "--data", data, "--model", model, "--methods", "nmt-el", "--out", tmp_path / "out")
    assert result.code != 0
    assert result.err == (
        "mtloop: method nmt-el learns from rewards, but here it would get only post-edits; use mtloop bandit\n"
    )


def test_compare_records_a_combination_under_one_name(mtloop: Call, model: Path, data: Path, tmp_path: Path) -> None:
    given = ("--data", data, "--model", model, "--limit", 4, "--metrics", "ter", "--jobs", 1, "--out", tmp_path / "out")
    result = mtloop("compare", *given, "--methods", "memory+bias,bias+memory")
    assert result.code == 0, result.err
    assert Trace.read(tmp_path / "out" / "bias+memory.jsonl").header.config["method"] == "bias+memory"


def test_compare_finds_a_wrong_method_before_any_work(mtloop: Call, model: Path, data: Path, tmp_path: Path) -> None:
    result = mtloop("compare", "--data", data, "--model", model, "--methods", "baseline,ful", "--out", tmp_path / "out")
    assert "did you mean 'full'?" in result.err
    assert not (tmp_path / "out").exists()


def test_translate_with_a_delta(mtloop: Call, model: Path, data: Path, tmp_path: Path) -> None:
    given = ("--data", data, "--model", model, "--limit", 6, "--snapshot-every", 3, "--out", tmp_path / "run.jsonl")
    assert mtloop("run", *given, "--set", "learning_rate=0.1").code == 0
    plain = mtloop("translate", "--model", model, stdin="Open\nSave\n\n")
    delta = tmp_path / "run.state" / "000000006" / "delta.safetensors"
    learned = mtloop("translate", "--model", model, "--delta", delta, stdin="Open\nSave\n\n")
    assert plain.out.count("\n") == learned.out.count("\n") == 3
    assert learned.out != plain.out


def texts_of(trace: Path) -> list[str]:
    return [step.proposal.text for step in Trace.read(trace).steps]


def test_a_run_starts_from_the_delta_of_another(mtloop: Call, model: Path, data: Path, tmp_path: Path) -> None:
    """Two runs, the second from the delta of the first, equal one run over both streams."""
    stream = ["run", "--data", data, "--model", model, "--set", "learning_rate=0.1"]
    whole, monday, tuesday = (tmp_path / f"{name}.jsonl" for name in ("whole", "monday", "tuesday"))
    assert mtloop(*stream, "--method", "lora+memory", "--limit", 6, "--out", whole).code == 0
    assert mtloop(*stream, "--method", "lora+memory", "--limit", 3, "--out", monday).code == 0
    later = [*stream, "--skip", 3, "--limit", 3, "--delta", tmp_path / "monday.state", "--out", tuesday]
    assert mtloop(*later).code == 0
    assert texts_of(monday) + texts_of(tuesday) == texts_of(whole)
    header = Trace.read(tuesday).header.config
    assert header["method"] == "lora+memory"
    assert header["delta"]
    deltas = [read_delta(tmp_path / f"{name}.state") for name in ("whole", "tuesday")]
    assert deltas[0].counters == deltas[1].counters
    assert deltas[0].tensors.keys() == deltas[1].tensors.keys()
    assert all(deltas[0].tensors[name].equal(deltas[1].tensors[name]) for name in deltas[0].tensors)
    again = mtloop(*later, "--resume", "--delta", tmp_path / "whole.state")
    assert again.code == 2
    assert "belongs to another run" in again.err


def test_the_newest_complete_snapshot_is_found(tmp_path: Path) -> None:
    for name in ("000000009", "000000010", "unfinished"):
        (tmp_path / "r.state" / name).mkdir(parents=True)
        (tmp_path / "r.state" / name / "delta.safetensors").touch()
    newest = tmp_path / "r.state" / "000000010" / "delta.safetensors"
    assert find_delta(tmp_path / "r.state") == find_delta(newest.parent) == find_delta(newest) == newest


def test_a_run_does_not_start_from_snapshots_it_would_overwrite(
    mtloop: Call, model: Path, data: Path, tmp_path: Path
) -> None:
    run = ["run", "--data", data, "--model", model, "--method", "bias", "--limit", 2, "--out", tmp_path / "r.jsonl"]
    assert mtloop(*run).code == 0
    (tmp_path / "r.jsonl").rename(tmp_path / "kept.jsonl")
    result = mtloop(*run, "--delta", tmp_path / "r.state")
    assert (result.code, "would overwrite" in result.err) == (2, True)
    assert find_delta(tmp_path / "r.state").is_file()


def test_a_delta_that_a_run_cannot_start_from(mtloop: Call, model: Path, data: Path, tmp_path: Path) -> None:
    assert mtloop("run", "--data", data, "--model", model, "--limit", 2, "--out", tmp_path / "r.jsonl").code == 0
    (tmp_path / "empty.state").mkdir()
    state, out = tmp_path / "r.state", tmp_path / "s.jsonl"
    for method, delta, message in (
        (["--method", "full"], state, "learned with method 'lora+memory+copy', not 'full'"),
        (["--method", "nmt-el"], state, "leave out --delta"),
        ([], tmp_path / "none.safetensors", "no such delta"),
        ([], tmp_path / "empty.state", "holds no snapshot"),
    ):
        result = mtloop("run", "--data", data, "--model", model, *method, "--delta", delta, "--out", out)
        assert (result.code, result.err.count("\n")) == (2, 1), result.err
        assert message in result.err
        assert not out.exists()


@pytest.mark.parametrize(
    ("settings", "method"),
    [({"optimiser": "adam", "learning_rate": "0.05"}, "full"), slow({"scope": "lora", "learning_rate": "0.5"}, "lora")],
)
def test_translate_with_a_delta_learned_from_rewards(
    mtloop: Call, model: Path, data: Path, tmp_path: Path, settings: dict[str, str], method: str
) -> None:
    chosen = [word for pair in settings.items() for word in ("--set", "=".join(pair))]
    given = ["--task", data, "--model", model, "--limit", 6, "--jobs", 1, "--out", tmp_path]
    assert mtloop("bandit", *given, "--methods", "nmt-el-cv", *chosen).code == 0
    state = tmp_path / "nmt-el-cv.state"
    assert "learned      6 rewards, " in mtloop("model", "info", state).out
    learned, base = read_delta(state), Marian.load(model)
    assert learned.method == method
    adapted, drawing = make_learner(method, base), make_learner("nmt-el-cv", base, settings_of("nmt-el-cv", settings))
    apply_delta(adapted, method, learned)
    drawing.load(state / "000000006")  # type: ignore[attr-defined]
    for name, tensor in drawing.scope.model.weights.items():  # type: ignore[attr-defined]
        assert tensor.equal(adapted.model.weights[name])  # type: ignore[attr-defined]
    result = mtloop("translate", "--model", model, "--delta", state, stdin="Open\nSave\n")
    assert result.out.splitlines() == [adapted.propose(Segment("", source)).text for source in ("Open", "Save")]


def test_a_delta_for_another_base(mtloop: Call, data: Path, model: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    write_tiny(tmp_path / "other", seed=5)
    mtloop("run", "--data", data, "--model", model, "--limit", 3, "--snapshot-every", 3, "--out", tmp_path / "r.jsonl")
    delta = tmp_path / "r.state" / "000000003" / "delta.safetensors"
    result = mtloop("translate", "--model", tmp_path / "other", "--delta", delta)
    assert result.code == 2
    assert "another base model" in result.err


def test_a_method_that_learns_from_rewards_is_refused_with_a_hint(
    mtloop: Call, model: Path, data: Path, tmp_path: Path
) -> None:
    result = mtloop("run", "--data", data, "--model", model, "--method", "nmt-el", "--out", tmp_path / "r.jsonl")
    assert result.code == 2
    assert "mtloop bandit" in result.err
    assert not (tmp_path / "r.jsonl").exists()


def test_info_of_a_delta(mtloop: Call, model: Path, data: Path, tmp_path: Path) -> None:
    run = ["run", "--data", data, "--model", model, "--method", "lora+memory", "--limit", 3, "--snapshot-every", 3]
    assert mtloop(*run, "--out", tmp_path / "r.jsonl").code == 0
    delta = tmp_path / "r.state" / "000000003" / "delta.safetensors"
    result = dict(line.split(maxsplit=1) for line in mtloop("model", "info", delta).out.splitlines())
    assert result["method"] == "lora+memory"
    assert result["memory"] == "3 segments"
    assert 0 < int(result["bytes"].replace(",", "")) <= delta.stat().st_size
    assert mtloop("model", "info", tmp_path / "none.safetensors").code == 2


def test_a_model_with_only_a_bin_file_is_converted(mtloop: Call, model: Path, tmp_path: Path) -> None:
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


def test_choosing_the_tensors_of_fixed(mtloop: Call, model: Path, data: Path, tmp_path: Path) -> None:
    choice = tmp_path / "fixed.json"
    result = mtloop(
        "model", "choose", "--data", data, "--model", model, "--limit", 3, "--budget", 5000, "--out", choice
    )
    assert result.code == 0
    assert len(json.loads(choice.read_text())["tensors"]) > 3
    out = tmp_path / "f.jsonl"
    fixed = ["run", "--data", data, "--model", model, "--method", "fixed", "--set", f"tensors_file={choice}"]
    fixed += ["--limit", 2]
    assert mtloop(*fixed, "--out", out).code == 0
