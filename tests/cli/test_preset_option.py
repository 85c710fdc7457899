"""`--preset`: the settings of a paper, in every command that runs methods."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from helpers.command_result import CommandResult
from helpers.tiny_marian import demo_pairs

from mtloop.core import Trace

Mtloop = Callable[..., CommandResult]
LANGUAGE = ("--target-lang", "de")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    rows = ["source\ttarget", *("\t".join(pair) for pair in demo_pairs()[:6])]
    (tmp_path / "stream.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return tmp_path / "stream.tsv"


def config_of(trace: Path) -> dict[str, Any]:
    return dict(Trace.read(trace).header.config)


def test_run_with_a_preset_and_an_own_setting(mtloop: Mtloop, data: Path, model: Path) -> None:
    out = data.with_name("run.jsonl")
    options = ("--model", model, "--preset", "2019", "--set", "learning_rate=0.02")
    result = mtloop("run", "--data", data, "--method", "full", *options, *LANGUAGE, "--out", out)
    assert result.code == 0, result.err
    config = config_of(out)
    assert config["preset"] == "2019"
    assert (config["settings"]["learning_rate"], config["settings"]["gradient_clipping"]) == (0.02, "scale")
    assert (config["settings"]["filter_pairs"], config["settings"]["limit_loops"]) == (False, False)


def test_a_toml_file_names_a_preset(mtloop: Mtloop, data: Path, model: Path) -> None:
    (toml := data.with_name("run.toml")).write_text(
        f'data = "{data}"\nmethod = "full"\npreset = "2019"\nmodel = "{model}"\n[settings]\nmax_updates = 2\n'
    )
    out = data.with_name("run.jsonl")
    assert mtloop("run", "--config", toml, *LANGUAGE, "--out", out).code == 0
    assert config_of(out)["settings"]["max_updates"] == 2
    assert config_of(out)["settings"]["learning_rate"] == 0.01


def test_compare_applies_it_to_the_methods_of_the_paper(mtloop: Mtloop, data: Path, model: Path) -> None:
    out = data.with_name("out")
    options = ("--methods", "baseline,full,full+memory", "--preset", "2019", "--set", "full:learning_rate=0.03")
    result = mtloop("compare", "--data", data, *options, "--model", model, *LANGUAGE, "--out", out, "--jobs", 1)
    assert result.code == 0, result.err
    assert config_of(out / "full.jsonl")["preset"] == "2019"
    assert config_of(out / "full.jsonl")["settings"]["learning_rate"] == 0.03
    assert config_of(out / "full.jsonl")["settings"]["gradient_clipping"] == "scale"
    assert "preset" not in config_of(out / "full+memory.jsonl")
    assert config_of(out / "full+memory.jsonl")["settings"]["gradient_clipping"] == "clip"


def test_bandit_with_a_preset(mtloop: Mtloop, data: Path, model: Path) -> None:
    out = data.with_name("out")
    options = ("--methods", "baseline,nmt-el", "--preset", "2017", "--model", model, "--jobs", 1)
    result = mtloop("bandit", "--task", data, *options, "--out", out)
    assert result.code == 0, result.err
    settings = config_of(out / "nmt-el.jsonl")["settings"]
    assert (settings["optimiser"], settings["dropout"], settings["temperature"]) == ("adam", 0.5, 1.0)
    assert settings["stream_length"] > 0


def test_tune_starts_from_a_preset(mtloop: Mtloop, data: Path, model: Path) -> None:
    out = data.with_name("out")
    rows = ("--tune-rows", "1-3", "--report-rows", "4-6", "--trials", 2, "--jobs", 1, "--metric", "chrf")
    options = ("--method", "bias", "--preset", "2019", "--space", "learning_rate=0.5,1.0", "--model", model)
    result = mtloop("tune", "--data", data, *options, *rows, *LANGUAGE, "--out", out)
    assert result.code == 0, result.err
    traces = [config_of(path) for path in (out / "report").glob("*.jsonl") if ".meta" not in path.name]
    learned = [one for one in traces if one.get("method") == "bias"]
    assert learned
    assert all(one["preset"] == "2019" and one["settings"]["gradient_clipping"] == "scale" for one in learned)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("run", "--method", "lora", "--preset", "2019"), "preset 2019 has no settings for method lora"),
        (("run", "--method", "full", "--preset", "2020"), "there is no preset '2020'"),
        (("compare", "--methods", "memory,lora", "--preset", "2019"), "no settings for any of these methods"),
    ],
)
def test_a_preset_that_does_not_fit_is_one_line(
    mtloop: Mtloop, data: Path, model: Path, options: tuple[str, ...], reason: str
) -> None:
    out = data.with_name("out")
    result = mtloop(*options, "--data", data, "--model", model, *LANGUAGE, "--out", out)
    assert result.code != 0
    assert reason in result.err
    assert len(result.err.strip().splitlines()) == 1
    assert not out.exists()
