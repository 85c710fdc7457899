"""The page of results: machine, date and commit, and the command and output of every run."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from mtloop.report.provenance import checked_out_commit

FOLDER = Path(__file__).parents[2] / "benchmarks"
RUNNER = "run_all.py"
SCRIPTS = sorted(path.name for path in FOLDER.glob("*.py") if path.name != RUNNER)


def test_small_runs_give_a_page(tmp_path: Path) -> None:
    page = tmp_path / "new" / "page.md"
    command = [sys.executable, FOLDER / RUNNER, "--small", "--only", "ter,selection", "--out", page]
    subprocess.run(command, check=True, capture_output=True)
    text = page.read_text(encoding="utf-8")
    assert re.search(r"^\| Machine \| \S.*, \d+ cores \|$", text, re.MULTILINE)
    assert re.search(r"^\| Date \| \d{4}-\d\d-\d\d \|$", text, re.MULTILINE)
    commit = checked_out_commit(FOLDER.parent / "mtloop")
    assert f"| Commit | {f'`{commit}`' if commit else 'unknown'} |\n" in text
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == ["ter.py", "selection.py"]
    assert "```sh\npython benchmarks/ter.py --small\n```" in text
    assert re.search(r"```text\nsynthetic: 20 segments.* ratio \d", text)


def test_every_script_has_real_runs(load_benchmark: Callable[[str], ModuleType]) -> None:
    assert sorted(load_benchmark(RUNNER).RUNS) == SCRIPTS


def test_commands_show_files_without_their_folders(load_benchmark: Callable[[str], ModuleType], tmp_path: Path) -> None:
    (data := tmp_path / "help.tsv").touch()
    runner = load_benchmark(RUNNER)
    options = runner.parse(["--data", str(data), "--human", str(tmp_path)])
    commands = [run.command for run in runner.planned_runs(options)]
    assert "python benchmarks/online_step.py --data help.tsv --threads 1" in commands
    assert f"python benchmarks/selection_quality.py effort {tmp_path.name}" in commands


def test_without_data_nothing_needs_a_file(load_benchmark: Callable[[str], ModuleType]) -> None:
    runner = load_benchmark(RUNNER)
    commands = " ".join(run.command for run in runner.planned_runs(runner.parse([])))
    assert "python benchmarks/online_step.py --threads 1 " in commands
    assert not re.search("DATA|HUMAN|--data|None", commands)


def test_failing_script_writes_no_page(
    load_benchmark: Callable[[str], ModuleType],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "broken.py").write_text("print('half')\nraise SystemExit(3)\n", encoding="utf-8")
    runner = load_benchmark(RUNNER)
    monkeypatch.setattr(runner, "HERE", tmp_path)
    monkeypatch.setattr(runner, "RUNS", {"broken.py": [""]})
    with pytest.raises(SystemExit, match=r"broken\.py failed \(exit code 3\); no page was written"):
        runner.main(["--only", "broken", "--out", str(tmp_path / "page.md")])
    assert "half" in capsys.readouterr().out
    assert not (tmp_path / "page.md").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--small"], "--small needs --out"),
        (["--only", "speed"], "no benchmark 'speed.py'; there are baselines.py"),
        (["--data", "missing.tsv"], "missing.tsv does not exist"),
    ],
)
def test_wrong_options_end_with_one_line(
    load_benchmark: Callable[[str], ModuleType], arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        load_benchmark(RUNNER).main(arguments)
    assert message in capsys.readouterr().err
