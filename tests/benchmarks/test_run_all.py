"""The page of results: date, commit, data, versions and machine, and the command and output of every run."""

from __future__ import annotations

import hashlib
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
    data = r"^\| Data \| the demo document `manual\.en-de\.tsv`, SHA-256 `[0-9a-f]{16}`; "
    assert re.search(data, text, re.MULTILINE)
    assert re.search(r"^\| Versions \| mtloop \S+, Python 3\S+, .*torch \d", text, re.MULTILINE)
    assert f"| Command | `python benchmarks/{RUNNER} --small --only ter,selection --out page.md` |\n" in text
    assert "| Seed | " in text
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
        (["--only", "speed"], "no benchmark 'speed.py'; there are attacks.py"),
        (["--data", "missing.tsv"], "missing.tsv does not exist"),
    ],
)
def test_wrong_options_end_with_one_line(
    load_benchmark: Callable[[str], ModuleType], arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        load_benchmark(RUNNER).main(arguments)
    assert message in capsys.readouterr().err


def test_files_and_folders_have_their_digest(load_benchmark: Callable[[str], ModuleType], tmp_path: Path) -> None:
    (data := tmp_path / "help.tsv").write_bytes(b"abc")
    (human := tmp_path / "human" / "wmt20").mkdir(parents=True)
    (human / "scores.csv").write_bytes(b"abc")
    file, folder, *_ = load_benchmark(RUNNER).data_cells(data, human.parent)
    digest = hashlib.sha256(b"abc").hexdigest()
    listed = hashlib.sha256(f"{digest}  wmt20/scores.csv\n".encode()).hexdigest()
    assert file == f"`help.tsv`, SHA-256 `{digest[:16]}`"
    assert folder == f"`human` (1 file), SHA-256 of what `sha256sum` prints for them `{listed[:16]}`"


def test_a_page_of_a_script_that_is_gone(load_benchmark: Callable[[str], ModuleType]) -> None:
    runner = load_benchmark(RUNNER)
    page = list(runner.page_lines([], [runner.Finished(runner.Run("gone.py"), 1.0, "a\n```\nb\n")]))
    assert page[page.index("## gone.py") :][:4] == ["## gone.py", "", "```sh", "python benchmarks/gone.py"]
    assert 'a\n"""\nb' in page


def test_other_sections_stay_with_their_origin(load_benchmark: Callable[[str], ModuleType]) -> None:
    runner = load_benchmark(RUNNER)

    def page(date: str, *scripts: str, data: str = "help") -> str:
        rows = {"Date": date, "Commit": f"`{date[-2:]}`", "Data": data, "Machine": "two cores"}
        origin = ["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows.items())]
        runs = [runner.Finished(runner.Run(name), 2.0, f"{name} of {date}") for name in scripts]
        return "\n".join(runner.page_lines(origin, runs))

    both = runner.merged(page("2026-01-01", "smt.py", "ter.py"), page("2026-02-02", "curves.py", "ter.py"))
    assert re.findall(r"^## (.*)$", both, re.MULTILINE) == ["curves.py", "smt.py", "ter.py"]
    assert re.findall(r"\| Date \| (.*) \|", both) == ["2026-02-02"]
    assert "This run took 2 s, on 2026-01-01 at commit `01`.\n\n```text\nsmt.py of 2026-01-01" in both
    assert "This run took 2 s.\n\n```text\nter.py of 2026-02-02" in both
    third = runner.merged(both, page("2026-03-03", "curves.py"))
    assert third.count("on 2026-01-01 at commit `01`") == 1
    assert third.count("on 2026-02-02 at commit `02`") == 1
    other = runner.merged(third, page("2026-04-04", "ter.py", data="manual"))
    assert "This run took 2 s, on 2026-03-03 at commit `03` (data: help).\n\n```text\ncurves.py" in other


def test_results_pages_have_the_output_of_every_script(load_benchmark: Callable[[str], ModuleType]) -> None:
    pages = [page.read_text(encoding="utf-8") for page in load_benchmark(RUNNER).PAGE.parent.glob("*.md")]
    shown = {script for page in pages for script in re.findall(r"python benchmarks/(\w+\.py)", page)}
    assert shown >= {*SCRIPTS}


def test_a_page_of_its_own_has_a_title(load_benchmark: Callable[[str], ModuleType]) -> None:
    runner = load_benchmark(RUNNER)
    one = runner.Finished(runner.Run("ter.py"), 1.0, "ratio 2")
    assert next(runner.page_lines([], [one])) == "# Benchmarks"
    lines = list(runner.page_lines([], [one], runner.parse(["--title", "A server"]).title))
    assert lines[0] == "# A server"


@pytest.mark.parametrize("name", ["benchmarks.md", "projects.md"])
def test_a_page_says_how_the_script_wrote_it(name: str, load_benchmark: Callable[[str], ModuleType]) -> None:
    runner = load_benchmark(RUNNER)
    assert runner.NOTE in (runner.PAGE.parent / name).read_text(encoding="utf-8")
    assert runner.NOTE.splitlines()[0] in runner.page_lines([], [])
