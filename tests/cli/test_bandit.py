"""`mtloop bandit`: methods that learn from rewards, side by side."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.said import Said
from helpers.serving import serving
from helpers.shared_task import Hall
from helpers.tiny_marian import demo_pairs

from mtloop.client import Client
from mtloop.core import Reward, Step, Trace, run
from mtloop.experiments.bandit_task import BanditTask
from mtloop.methods.registry import make_learner
from mtloop.nmt.engine.marian import Marian
from mtloop.service import Settings

Mtloop = Callable[..., Said]
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
    options = ("--model", model, "--held-out", 3, "--blocks", 3, "--jobs", 1, "--set", "rate=0.01", "--out", out)
    said = mtloop("bandit", "--task", data, "--methods", EVERYONE, *options)
    assert said.code == 0, said.err
    rows = {line.split()[0]: line for line in said.out.splitlines() if line.split()}
    for method in EVERYONE.split(","):
        earned = rewards(out / f"{method}.jsonl")
        assert len(earned) == 11 + 3 * 3
        assert f"{sum(earned):,.1f}" in rows[method]
    assert "+7.0 %" in rows["nmt-el"]
    assert "-4.2 %" in rows["nmt-el-cv"]
    assert {path.name for path in out.glob("*.png")} == {"regret.png", "held-out-bleu.png", "held-out-sentence.png"}
    assert Trace.read(out / "nmt-el.jsonl").header.config["settings"]["steps"] == 20  # type: ignore[index, call-overload]
    assert "steps" not in Trace.read(out / "baseline.jsonl").header.config["settings"]  # type: ignore[operator]


def test_killed_and_started_again_it_goes_on_in_other_processes(mtloop: Mtloop, data: Path, model: Path) -> None:
    out = data.parent / "out"
    arguments = ("bandit", "--task", data, "--methods", "copy-source,nmt-el-cv", "--model", model, "--out", out)
    assert mtloop(*arguments, "--jobs", 1).code == 0
    whole = {path.name: path.read_bytes() for path in out.glob("*.jsonl")}
    trace = out / "nmt-el-cv.jsonl"
    trace.write_bytes(b"\n".join(trace.read_bytes().split(b"\n")[:7]) + b'\n{"kind":"st')
    assert mtloop(*arguments, "--jobs", 2).code == 0
    assert {path.name: path.read_bytes() for path in out.glob("*.jsonl")} == whole


def test_a_part_of_a_file_is_cut_as_mtloop_run_cuts_it(mtloop: Mtloop, data: Path) -> None:
    """Repeats are left out before the count, so that a limit says how many sentences there are."""
    later = "".join("\t".join(pair) + "\n" for pair in [*PAIRS[12:], *PAIRS[:3]])
    data.write_text(data.read_text(encoding="utf-8") + later, encoding="utf-8")
    cut = ("--skip", 12, "--distinct", "--limit", 4)
    out, alone = data.parent / "out", data.parent / "run.jsonl"
    said = mtloop("bandit", "--task", data, *cut, "--methods", "copy-source", "--jobs", 1, "--out", out)
    assert said.code == 0, said.err
    assert mtloop("run", "--data", data, *cut, "--method", "copy-source", "--out", alone).code == 0
    expected = [source for source, _ in [*PAIRS[12:], *PAIRS[:2]]]
    for trace in (out / "copy-source.jsonl", alone):
        assert [step.proposal.segment.source for step in Trace.read(trace).steps] == expected


def test_noisy_raters_are_heard_and_the_table_says_what_it_was_worth(mtloop: Mtloop, data: Path) -> None:
    out = data.parent / "out"
    said = mtloop("bandit", "--task", data, "--methods", "copy-source", "--thumbs", 0.9, "--jobs", 1, "--out", out)
    assert said.code == 0, said.err
    assert set(rewards(out / "copy-source.jsonl")) <= {0.0, 1.0}
    worth = BanditTask(str(data)).rater().worth
    assert f"{sum(worth(*pair) for pair in PAIRS):,.1f}" in said.out
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


def test_regret_is_held_against_an_oracle(mtloop: Mtloop, data: Path) -> None:
    out = data.parent / "out"
    arguments = ("bandit", "--task", data, "--methods", "copy-source", "--jobs", 1, "--out", out)
    assert mtloop(*arguments).code == 0
    said = mtloop(*arguments, "--oracle", out / "copy-source.jsonl")
    assert said.code == 0
    assert "0.0000" in said.out
    assert "the oracle's translations" in said.out


def test_an_oracle_is_trained_for_the_purpose(mtloop: Mtloop, data: Path, model: Path) -> None:
    out = data.parent / "out"
    options = ("--model", model, "--jobs", 1, "--set", "nmt-oracle:rate=0.05", "--set", "epochs=10", "--out", out)
    said = mtloop("bandit", "--task", data, "--methods", "baseline", "--oracle", "nmt-oracle", *options)
    assert said.code == 0, said.err
    rows = {line.split()[0]: line for line in said.out.splitlines() if line.split()}
    assert "+251.5 %" in rows["nmt-oracle"]
    assert rows["nmt-oracle"].split()[-1] == "0.0000"
    assert float(rows["baseline"].split()[-1]) > 0.1
    assert sum(rewards(out / "nmt-oracle.jsonl")) > sum(rewards(out / "baseline.jsonl"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--methods", "domain-adaptation"), "--set general=FILE"),
        (("--methods", "wnmt-el"), "--word-model FOLDER); train one: mtloop train --vocab word"),
        (("--methods", "copy-source", "--word-model", "x"), "no method here takes --word-model"),
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
            "which a service keeps to itself",
        ),
        (("--methods", "copy-source", "--oracle", "nowhere.jsonl"), "nowhere.jsonl"),
        (("--methods", "nmt-le"), "did you mean 'nmt-el'"),
        (("--methods", "full"), "learns from PostEdit"),
        (("--methods", "copy-source", "--set", "rate=1"), "no method here has this setting"),
        (("--methods", "nmt-el", "--set", "rate=fast"), "rate takes a float"),
        (("--methods", "nmt-el", "--set", "scope=ful"), "unknown scope 'ful'"),
        (("--methods", ","), "names no method"),
        (("--methods", "copy-source", "--smt-model", "x"), "no method here takes --smt-model"),
        (("--methods", "smt-el-cv-adam"), "--model FOLDER"),
        (("--methods", "copy-source", "--skip", "14"), "holds no sentences after the first 14"),
        (("--methods", "copy-source", "--blocks", "3"), "--held-out"),
        (("--methods", "copy-source", "--held-out", "3"), "at least 2 times"),
        (("--methods", "copy-source", "--thumbs", "2"), "thumb"),
        (("--methods", "copy-source", "--noise", "loud=1"), "unknown noise 'loud'"),
        (("--methods", "copy-source", "--noise", "skew=x"), "NAME=NUMBER"),
        (("--methods", "copy-source", "--reward", "blue"), "did you mean 'bleu'"),
        (("--methods", "copy-source", "--key-file", "k"), "--key-file has no meaning"),
        (("--methods", "copy-source", "--task", "http://localhost:1/dev"), "--key-file FILE"),
        (("--methods", "copy-source", "--task", "http://localhost:1/dev", "--blocks", "2"), "--blocks has no meaning"),
    ],
)
def test_a_mistake_is_one_line(
    mtloop: Mtloop, data: Path, model: Path, arguments: tuple[str, ...], message: str
) -> None:
    given = ("--task", data, "--jobs", 1, "--out", data.parent / "out")
    if arguments[1].startswith("nmt"):
        given += ("--model", model)
    said = mtloop("bandit", *given, *arguments)
    assert said.code == 2
    assert message in said.err
    assert len(said.err.strip().splitlines()) == 1
    assert not (data.parent / "out").exists(), "nothing is left behind"


@pytest.mark.parametrize("method", ["nmt-el-cv", "nmt-el-recall"])
def test_the_same_learner_through_the_service_and_at_home_is_the_same_trace(
    data: Path, model: Path, method: str
) -> None:
    hall = Hall(Settings(folder=data.parent / "data"), data.parent)
    hall.task(data=data, held_out=3, blocks=3)
    task = BanditTask(str(data), held_out=3, blocks=3)
    settings = {"steps": len(task.layout), "start": 0.5}
    at_home = list(run(task.stream(), make_learner(method, Marian.load(model), settings), task.rater()))
    with hall.serve(hall.participant()) as http:
        away = Client(http).join("tiny")
        served = list(run(away, make_learner(method, Marian.load(model), settings), away.judge))
    assert len(served) == 20
    assert list(map(essence, served)) == list(map(essence, at_home))


def test_methods_as_participants_of_a_service(mtloop: Mtloop, data: Path) -> None:
    folder, key = data.parent / "served", data.parent / "key.txt"
    assert mtloop("task", "create", "tiny", "--kind", "mock", "--data", data, "--folder", folder).code == 0
    key.write_text(mtloop("participant", "add", "me", "--folder", folder).out)
    out = data.parent / "out"
    with serving(folder) as (port, _, _):
        url = f"http://127.0.0.1:{port}"
        arguments = ("--methods", "copy-source", "--key-file", key, "--out", out)
        said = mtloop("bandit", "--task", f"{url}/tiny", *arguments)
        lost = mtloop("bandit", "--task", f"{url}/tini", *arguments[:-1], data.parent / "none")
    assert said.code == 0, said.err
    assert f"{sum(rewards(out / 'copy-source.jsonl')):,.1f}" in said.out
    assert [path.name for path in out.glob("*.png")] == ["regret.png"]
    assert lost.code == 2
    assert "method copy-source failed" in lost.err


def essence(step: Step) -> tuple[object, ...]:
    """A step but for the id, which the service makes up, and the truth, which it keeps."""
    proposal = step.proposal
    return step.index, proposal.segment.source, proposal.text, dict(proposal.memo), step.feedback, step.learned
