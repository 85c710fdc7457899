"""`mtloop bandit`: comparing methods that learn from rewards."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.command_result import CommandResult
from helpers.serving import serving
from helpers.shared_task import TaskServer
from helpers.tiny_marian import demo_pairs

from mtloop.client import Client
from mtloop.core import Reward, Step, Trace, run
from mtloop.experiments.bandit_task import BanditTask
from mtloop.methods.registry import make_learner
from mtloop.nmt.engine.marian import Marian
from mtloop.report.result_file import ResultFile
from mtloop.service import Settings

Mtloop = Callable[..., CommandResult]
PAIRS = [pair for pair in demo_pairs() if len(pair[0].split()) < 6][:14]
EVERYONE = "copy-source,baseline,nmt-el,nmt-el-cv,nmt-el-recall,nmt-el-ridge,nmt-reinforce,nmt-szo"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    rows = ["source\ttarget", *("\t".join(pair) for pair in PAIRS)]
    (tmp_path / "task.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return tmp_path / "task.tsv"


def rewards(path: Path) -> list[float]:
    return [step.feedback.value for step in Trace.read(path).steps if isinstance(step.feedback, Reward)]


def test_all_methods_in_one_table_and_the_papers_figures(mtloop: Mtloop, data: Path, model: Path) -> None:
    out = data.parent / "out"
    where = ("--model", model, "--out", out)
    options = (*where, "--held-out", 3, "--blocks", 3, "--jobs", 1, "--set", "learning_rate=0.01")
    result = mtloop("bandit", "--task", data, "--methods", EVERYONE, *options)
    assert result.code == 0, result.err
    rows = {line.split()[0]: line for line in result.out.splitlines() if line.split()}
    for method in EVERYONE.split(","):
        earned = rewards(out / f"{method}.jsonl")
        assert len(earned) == 11 + 3 * 3
        assert f"{sum(earned):,.1f}" in rows[method]
    assert "+7.0 %" in rows["nmt-el"]
    assert "-4.2 %" in rows["nmt-el-cv"]
    assert {path.name for path in out.glob("*.png")} == {"regret.png", "held-out-bleu.png", "held-out-sentence.png"}
    saved = ResultFile.read(out / "result.json")
    assert str(saved.tables["rewards"]) in result.out
    assert saved.charts.keys() == {"regret", "held-out-bleu", "held-out-sentence"}
    assert (saved.origin.data[0].segments, saved.origin.data[0].rows) == (20, {"held_out": 3, "blocks": 3})
    assert saved.origin.settings.keys() == {*EVERYONE.split(","), "rater"}
    settings = Trace.read(out / "nmt-el.jsonl").header.config["settings"]
    assert settings["stream_length"] == 20  # type: ignore[index, call-overload]
    assert "stream_length" not in Trace.read(out / "baseline.jsonl").header.config["settings"]  # type: ignore[operator]


@pytest.mark.slow
def test_an_interrupted_comparison_resumes_in_other_processes(mtloop: Mtloop, data: Path, model: Path) -> None:
    out = data.parent / "out"
    arguments = ("bandit", "--task", data, "--methods", "copy-source,nmt-el-cv", "--model", model, "--out", out)
    assert mtloop(*arguments, "--jobs", 1).code == 0
    names = ("copy-source.jsonl", "nmt-el-cv.jsonl")
    whole = [(out / name).read_bytes() for name in names]
    trace = out / "nmt-el-cv.jsonl"
    trace.write_bytes(b"\n".join(trace.read_bytes().split(b"\n")[:7]) + b'\n{"kind":"st')
    assert mtloop(*arguments, "--jobs", 2).code == 0
    assert [(out / name).read_bytes() for name in names] == whole


def test_skip_distinct_and_limit_select_the_same_sentences_as_in_run(mtloop: Mtloop, data: Path) -> None:
    """Repeats are left out before the limit is applied."""
    later = "".join("\t".join(pair) + "\n" for pair in [*PAIRS[12:], *PAIRS[:3]])
    data.write_text(data.read_text(encoding="utf-8") + later, encoding="utf-8")
    cut = ("--skip", 12, "--distinct", "--limit", 4)
    out, alone = data.parent / "out", data.parent / "run.jsonl"
    result = mtloop("bandit", "--task", data, *cut, "--methods", "copy-source", "--jobs", 1, "--out", out)
    assert result.code == 0, result.err
    assert mtloop("run", "--data", data, *cut, "--method", "copy-source", "--out", alone).code == 0
    expected = [source for source, _ in [*PAIRS[12:], *PAIRS[:2]]]
    for trace in (out / "copy-source.jsonl", alone):
        assert [step.proposal.segment.source for step in Trace.read(trace).steps] == expected


def test_learners_get_noisy_rewards_and_the_table_shows_exact_rewards(mtloop: Mtloop, data: Path) -> None:
    out = data.parent / "out"
    result = mtloop("bandit", "--task", data, "--methods", "copy-source", "--thumbs", 0.9, "--jobs", 1, "--out", out)
    assert result.code == 0, result.err
    assert set(rewards(out / "copy-source.jsonl")) <= {0.0, 1.0}
    sentence_reward = BanditTask(str(data)).rater().sentence_reward
    assert f"{sum(sentence_reward(*pair) for pair in PAIRS):,.1f}" in result.out
    noisy = mtloop(
        "bandit",
        "--task",
        data,
        "--methods",
        "copy-source",
        "--noise",
        "granularity=2",
        "--jobs",
        1,
        "--out",
        out / "2",
    )
    assert noisy.code == 0
    assert set(rewards(out / "2" / "copy-source.jsonl")) <= {0.0, 0.5, 1.0}


def test_regret_against_a_trace(mtloop: Mtloop, data: Path) -> None:
    out = data.parent / "out"
    arguments = ("bandit", "--task", data, "--methods", "copy-source", "--jobs", 1, "--out", out)
    assert mtloop(*arguments).code == 0
    result = mtloop(*arguments, "--oracle", out / "copy-source.jsonl")
    assert result.code == 0
    assert "0.0000" in result.out
    assert "the oracle's translations" in result.out
    assert len(ResultFile.read(out / "result.json").origin.data) == 1  # the run itself wrote the trace
    assert mtloop(*arguments[:-1], data.parent / "other", "--oracle", out / "copy-source.jsonl").code == 0
    origin = ResultFile.read(data.parent / "other" / "result.json").origin
    digest = hashlib.sha256((out / "copy-source.jsonl").read_bytes()).hexdigest()
    assert (origin.data[1].name, origin.data[1].sha256) == ("copy-source.jsonl", digest)
    assert origin.seed == {"rater": 1, "resampling": 1}
    assert origin.trace_commits == {}


@pytest.mark.slow
def test_regret_against_a_trained_oracle(mtloop: Mtloop, data: Path, model: Path) -> None:
    out = data.parent / "out"
    settings = ("--set", "nmt-oracle:learning_rate=0.05", "--set", "epochs=10")
    options = ("--model", model, "--jobs", 1, *settings, "--out", out)
    result = mtloop("bandit", "--task", data, "--methods", "baseline", "--oracle", "nmt-oracle", *options)
    assert result.code == 0, result.err
    rows = {line.split()[0]: line for line in result.out.splitlines() if line.split()}
    assert "+251.5 %" in rows["nmt-oracle"]
    assert rows["nmt-oracle"].split()[-1] == "0.0000"
    assert float(rows["baseline"].split()[-1]) > 0.1
    assert sum(rewards(out / "nmt-oracle.jsonl")) > sum(rewards(out / "baseline.jsonl"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--methods", "domain-adaptation"), "--set general_data=FILE"),
        (("--methods", "wnmt-el"), "--word-model FOLDER); train one: mtloop train --vocab word"),
        (("--methods", "copy-source", "--word-model", "x"), "none of the methods takes --word-model"),
        (
            (
                "--methods",
                "copy-source",
                "--task",
                "http://localhost:1/dev",
                "--key-file",
                "k",
                "--oracle",
                "nmt-oracle",
            ),
            "nmt-oracle is trained on the references of a task first, so the task must be a local file",
        ),
        (("--methods", "copy-source", "--oracle", "nowhere.jsonl"), "nowhere.jsonl"),
        (("--methods", "nmt-le"), "did you mean 'nmt-el'"),
        (("--methods", "full"), "method full learns from post-edits, but a task gives only rewards"),
        (("--methods", "copy-source,full"), "method full learns from post-edits, but a task gives only rewards"),
        (("--methods", "copy-source", "--set", "learning_rate=1"), "none of the methods has a setting 'learning_rate'"),
        (("--methods", "nmt-el", "--set", "learning_rate=fast"), "setting learning_rate is 'fast'; expected a number"),
        (("--methods", "nmt-el", "--set", "scope=ful"), "setting scope is 'ful'; did you mean 'full'?"),
        (("--methods", ","), "no method is named"),
        (("--methods", "copy-source", "--smt-model", "x"), "none of the methods takes --smt-model"),
        (("--methods", "smt-el-cv-adam"), "--model FOLDER"),
        (("--methods", "copy-source", "--skip", "14"), "contains no sentences after the first 14"),
        (("--methods", "copy-source", "--blocks", "3"), "--held-out"),
        (("--methods", "copy-source", "--held-out", "3"), "at least --blocks 2"),
        (("--methods", "copy-source", "--thumbs", "2"), "thumb"),
        (("--methods", "copy-source", "--noise", "loud=1"), "there is no noise setting 'loud'"),
        (("--methods", "copy-source", "--noise", "skew=x"), "--noise expects NAME=NUMBER, not 'skew=x'"),
        (("--methods", "copy-source", "--noise", "skew"), "--noise expects NAME=NUMBER, not 'skew'"),
        (("--methods", "copy-source", "--reward", "blue"), "did you mean 'bleu'"),
        (("--methods", "copy-source", "--key-file", "k"), "--key-file does not apply to a local task"),
        (("--methods", "copy-source", "--task", "http://localhost:1/dev"), "--key-file FILE"),
        (
            ("--methods", "copy-source", "--task", "http://localhost:1/dev", "--blocks", "2"),
            "--blocks does not apply to a task on a service",
        ),
    ],
)
def test_an_error_is_one_line(
    mtloop: Mtloop, data: Path, model: Path, arguments: tuple[str, ...], message: str
) -> None:
    given = ("--task", data, "--jobs", 1, "--out", data.parent / "out")
    if arguments[1].startswith("nmt"):
        given += ("--model", model)
    result = mtloop("bandit", *given, *arguments)
    assert result.code == 2
    assert message in result.err
    assert len(result.err.strip().splitlines()) == 1
    assert not (data.parent / "out").exists(), "no file is created"


def test_an_unknown_name_in_a_child_process_is_one_line(mtloop: Mtloop, data: Path, model: Path) -> None:
    given = ("--task", data, "--jobs", 2, "--model", model, "--out", data.parent / "out")
    result = mtloop("bandit", *given, "--methods", "baseline,nmt-el", "--set", "scope=foo")
    assert result.code == 2
    assert result.err == "mtloop: setting scope is 'foo'; expected full, top, fixed, bias, lasso or lora\n"


@pytest.mark.parametrize("method", ["nmt-el-cv", "nmt-el-recall"])
def test_a_learner_writes_the_same_trace_locally_and_on_a_service(data: Path, model: Path, method: str) -> None:
    task_server = TaskServer(Settings(folder=data.parent / "data"), data.parent)
    task_server.task(data=data, held_out=3, blocks=3)
    task = BanditTask(str(data), held_out=3, blocks=3)
    settings = {"stream_length": len(task.layout), "annealing_start": 0.5}
    at_home = list(run(task.stream(), make_learner(method, Marian.load(model), settings), task.rater()))
    with task_server.serve(task_server.participant()) as http:
        away = Client(http).join("tiny")
        served = list(run(away, make_learner(method, Marian.load(model), settings), away.judge))
    assert len(served) == 20
    assert list(map(essence, served)) == list(map(essence, at_home))


@pytest.mark.slow
def test_methods_as_participants_of_a_service(mtloop: Mtloop, data: Path) -> None:
    folder, key = data.parent / "served", data.parent / "key.txt"
    assert mtloop("task", "create", "tiny", "--kind", "mock", "--data", data, "--folder", folder).code == 0
    key.write_text(mtloop("participant", "add", "me", "--folder", folder).out)
    out = data.parent / "out"
    with serving(folder) as (port, _, _):
        url = f"http://127.0.0.1:{port}"
        arguments = ("--methods", "copy-source", "--key-file", key, "--out", out)
        result = mtloop("bandit", "--task", f"{url}/tiny", *arguments)
        lost = mtloop("bandit", "--task", f"{url}/tini", *arguments[:-1], data.parent / "none")
    assert result.code == 0, result.err
    assert f"{sum(rewards(out / 'copy-source.jsonl')):,.1f}" in result.out
    assert [path.name for path in out.glob("*.png")] == ["regret.png"]
    assert lost.code == 2
    assert "method copy-source failed" in lost.err


def essence(step: Step) -> tuple[object, ...]:
    """A step without the id and the truth, which a service replaces and hides."""
    proposal = step.proposal
    return step.index, proposal.segment.source, proposal.text, dict(proposal.memo), step.feedback, step.learned
