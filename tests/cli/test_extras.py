"""A package that a command needs is missing: one line says how to install it, before any file is written."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from helpers.tiers import slow

from mtloop.core.errors import CPU_HINT

WITHOUT = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in sys.argv[1].split(","):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
from mtloop.cli import main
main(sys.argv[2:])
"""
RUN = "--data data.tsv --out out/run.jsonl"
COMPARE = "compare --data data.tsv --out out"
BANDIT = "bandit --task data.tsv --out out --methods copy-source"
JOIN = "join http://127.0.0.1:9 --task dev --key-file key --out out/join.jsonl"
TUNE = "tune --data data.tsv --tune-rows 1-2 --report-rows 3-4 --space learning_rate=0.001:0.01 --out out"
CASES = [  # one quick case for each extra
    ("torch", "nmt", f"run {RUN}"),
    slow("safetensors", "nmt", f"run {RUN} --method lora"),
    ("thot", "smt", f"run {RUN} --method smt-adapting --model smt"),
    slow("torch", "nmt", f"{COMPARE} --methods copy-source,full"),
    ("jinja2", "report", f"{COMPARE} --methods copy-source"),
    slow("torch", "nmt", "opposites --out out"),
    slow("torch", "nmt", f"{BANDIT},nmt-el"),
    slow("thot", "smt", f"{BANDIT},smt-el-cv --smt-model smt"),
    slow("matplotlib", "report", BANDIT),
    ("httpx2", "client", "bandit --task http://127.0.0.1:9/dev --key-file key --methods copy-source --out out"),
    slow("httpx2", "client", f"{JOIN} --method copy-source"),
    slow("torch", "nmt", f"{JOIN} --method nmt-el"),
    ("optuna", "tune", TUNE),
    ("simplemma", "terms", "score --ref ref.txt --hyp hyp.txt --lang de --glossary data.tsv"),
    slow("torch", "nmt", TUNE),
    slow("torch", "nmt", "translate"),
    ("prompt_toolkit", "work", "work de.po"),
    slow("jinja2", "report", "demo --out out --recorded"),
    slow("jinja2", "report", "demo --out out"),
    slow("jinja2", "report", "report --ref ref.txt --hyp hyp.txt --out out/report.html"),
    slow("matplotlib", "report", "report --ref ref.txt --hyp hyp.txt --pictures png --out out/report.html"),
    slow("matplotlib", "report", "select --ratings ratings.tsv --out out"),
    slow("torch", "nmt", "train --data data.tsv --steps 3 --out out"),
    slow("thot", "smt", "train --engine smt --data data.tsv --out out"),
    slow("torch", "nmt", "learn-offline --trace run.jsonl --out out/new.safetensors"),
    slow("torch", "nmt", "model convert folder out"),
    slow("torch", "nmt", "model choose --data data.tsv --out out/tensors.json"),
    slow("safetensors", "nmt", "model info en-de"),
    ("fastapi", "service", "serve --folder out"),
    slow("pydantic_settings", "service", "serve --folder out"),
    slow("sqlalchemy", "service", "task create tiny --source ref.txt --reference hyp.txt --folder out"),
    slow("alembic", "service", "task list --folder out"),
    slow("aiosqlite", "service", "participant add me --folder out"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "data.tsv").write_text(
        "source\ttarget\n" + "Open the file.\tÖffnen Sie die Datei.\n" * 4, encoding="utf-8"
    )
    (tmp_path / "ref.txt").write_text("a b c\n")
    (tmp_path / "hyp.txt").write_text("a b d\n")
    (tmp_path / "key").write_text("secret\n")
    (tmp_path / "ratings.tsv").write_text("segment\tsystem\tscore\n1\ta\t50\n1\tb\t60\n2\ta\t40\n2\tb\t70\n")
    return tmp_path


def run_without(module: str, command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    arguments = [sys.executable, "-c", WITHOUT, module, *command.split()]
    return subprocess.run(arguments, cwd=folder, input="", capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize(("module", "extra", "command"), CASES, ids=lambda text: text.split(" --")[0])
def test_a_missing_package_is_named_before_any_file_is_written(
    module: str, extra: str, command: str, folder: Path
) -> None:
    before = sorted(folder.rglob("*"))
    done = run_without(module, command, folder)
    hint = CPU_HINT if module == "torch" else ""
    assert done.stderr == f"mtloop: {module} is not installed; run: pip install 'mtloop[{extra}]'{hint}\n"
    assert (done.returncode, done.stdout) == (2, "")
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize(
    "command", ["serve", "train", *map(slow, ("task create", "join", "tune", "model choose", "report"))]
)
def test_help_needs_no_extra(command: str, folder: Path) -> None:
    done = run_without("fastapi,sqlalchemy,torch,thot,jinja2,optuna,httpx2", f"{command} --help", folder)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_missing_package_of_no_extra_is_not_hidden(folder: Path) -> None:
    done = run_without("tabulate", "score --ref ref.txt --hyp hyp.txt", folder)
    assert "ModuleNotFoundError: No module named 'tabulate'" in done.stderr
