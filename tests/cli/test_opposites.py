"""`mtloop opposites`: its table, its files, and mistakes on the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.command_result import CommandResult

Mtloop = Callable[..., CommandResult]
ROWS = [
    "kind\tlesson_source\tlesson_target\topposite_source\topposite_target",
    "verb\tSave the file.\tSpeichern Sie die Datei.\tDelete the file.\tLöschen Sie die Datei.",
    "verb\tOpen the window.\tÖffnen Sie das Fenster.\tClose the window.\tSchließen Sie das Fenster.",
    "negation\tPrint it.\tDrucken Sie es.\tDo not print it.\tDrucken Sie es nicht.",
]


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    (tmp_path / "pairs.tsv").write_text("\n".join(ROWS) + "\n", encoding="utf-8")
    return tmp_path / "pairs.tsv"


def test_three_pairs_and_two_methods(mtloop: Mtloop, pairs: Path, model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    arguments = ["--data", pairs, "--model", model, "--methods", "baseline,copy+memory", "--jobs", 1, "--out", out]
    result = mtloop("opposites", *arguments, "--set", "memory_temperature=0.3")
    assert (result.code, result.err) == (0, "")
    assert "of 3 pairs; in brackets: the 95 % interval of the share (Wilson)" in result.out
    assert "memory+copy  negation" in result.out
    assert result.out.endswith(f"Translations: {out / 'opposites.jsonl'}\n")
    lines = [json.loads(line) for line in (out / "opposites.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [line["method"] for line in lines] == ["baseline"] * 3 + ["memory+copy"] * 3
    assert [line["known_at_once"] for line in lines] == [False] * 3 + [True] * 3, "a memory knows its lesson at once"
    assert [line["before"] for line in lines[:3]] == [line["before"] for line in lines[3:]], "all learners start equal"
    saved = json.loads((out / "result.json").read_text(encoding="utf-8"))
    assert saved["command"].startswith("mtloop opposites --data pairs.tsv --model ")
    assert saved["settings"]["memory+copy"]["settings"]["memory_temperature"] == 0.3
    assert saved["data"][0]["segments"] == 3


def test_one_method_by_its_short_option(mtloop: Mtloop, tmp_path: Path) -> None:
    result = mtloop("opposites", "--method", "copy-source", "--part", "report", "--jobs", 1, "--out", tmp_path / "out")
    assert (result.code, result.out.splitlines()[2].split()[0]) == (0, "copy-source")
    assert "of 120 pairs" in result.out
    saved = json.loads((tmp_path / "out" / "result.json").read_text(encoding="utf-8"))
    assert saved["data"][0]["name"] == "opposites.en-de.tsv"
    assert saved["data"][0]["rows"] == {"part": "report"}
    assert saved["command"] == "mtloop opposites --method copy-source --part report --jobs 1 --out out"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--part", "reprot"], "did you mean 'report'? known: development, report"),
        (["--methods", "loar"], "did you mean 'lora'?"),
        (["--set", "check_changed_word=no"], "none of the methods has a setting 'check_changed_word'"),
        (["--set", "check_changed_words"], "--set expects KEY=VALUE"),
        (["--data", "none.tsv"], "none.tsv: no such file"),
        (["--target-lang", "it"], "describe your own pairs; give these with --data FILE"),
        (["--jobs", "0"], "Invalid value for '--jobs'"),
    ],
)
def test_a_mistake_is_one_line_and_writes_nothing(
    mtloop: Mtloop, tmp_path: Path, arguments: list[str], message: str
) -> None:
    result = mtloop("opposites", "--out", tmp_path / "out", *arguments)
    assert (result.code, result.out, message in result.err) == (2, "", True), result.err
    assert not (tmp_path / "out").exists()


def test_a_model_of_other_languages_is_refused(mtloop: Mtloop, model: Path, tmp_path: Path) -> None:
    """The pairs of the package are English-German."""
    folder = tmp_path / "en-it"
    folder.mkdir()
    for path in model.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    (folder / "tokenizer_config.json").write_text(json.dumps({"source_lang": "en", "target_lang": "it"}))
    result = mtloop("opposites", "--model", folder, "--method", "baseline", "--out", tmp_path / "out")
    assert result.code == 2
    assert result.err == (
        "mtloop: the pairs are en -> de, but the model translates en -> it; "
        "give pairs in its languages with --data FILE, or another --model\n"
    )
