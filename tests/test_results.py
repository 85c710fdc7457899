"""Results pages: each is exactly what its JSON file gives, and the commands write such files."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
import sys
from pathlib import Path
from types import ModuleType

import pytest
from helpers.ratings import make_recording, write_ratings

from mtloop.report.provenance import command_text
from mtloop.report.result_file import ResultFile

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "docs" / "results"
COMMAND = "mtloop select --ratings DATA/ratings.tsv --policies exp3,race --missing skip --runs 3"
TEXT = {"title": "Two policies", "asked": "Which?", "found": "One.", "source": "Made up:"}


def load_script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("results_pages", ROOT / "scripts" / "results_pages.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


SCRIPT = load_script()
TEXTS = SCRIPT.read_texts()


def test_every_result_has_a_text_and_every_text_a_result() -> None:
    assert {path.stem for path in PAGES.glob("*.json")} == TEXTS.keys()


@pytest.mark.parametrize("name", TEXTS)
def test_a_page_is_what_its_result_gives(name: str) -> None:
    """Run `python scripts/results_pages.py` after a change."""
    result = ResultFile.read(PAGES / f"{name}.json")
    assert (PAGES / f"{name}.md").read_text(encoding="utf-8") == SCRIPT.page(name, TEXTS[name], result)
    assert (PAGES / f"{name}.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", TEXTS)
def test_a_result_was_made_by_its_command_from_committed_code(name: str) -> None:
    result = ResultFile.read(PAGES / f"{name}.json")
    words = [word.removeprefix("DATA/") for word in shlex.split(TEXTS[name].command)]
    typed = [Path(word).name if "/" in word else word for word in words]
    assert result.command == command_text([*typed, "--out", name])
    assert re.fullmatch("[0-9a-f]{40}", result.origin.provenance.commit or "")
    assert (PAGES / f"{name}.json").stat().st_size < 200_000


def test_the_script_runs_an_experiment_and_writes_its_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_ratings(tmp_path / "ratings.tsv", make_recording([0.85, 0.75, 0.65, 0.4, 0.3], 60, coverage=0.8))
    text = SCRIPT.PageText(**TEXT, command=COMMAND, tables=["intervals"], picture="effort")
    monkeypatch.setattr(SCRIPT, "OUT", tmp_path / "out")
    SCRIPT.run("two", text, tmp_path, tmp_path)
    SCRIPT.write("two", text, tmp_path)
    page = (tmp_path / "two.md").read_text(encoding="utf-8")
    saved = json.loads((tmp_path / "two.json").read_text(encoding="utf-8"))
    assert saved["command"] == f"{COMMAND.replace('DATA/', '')} --out two"
    for part in ("# Two policies", f"| Command | `{saved['command']}` |", "| Seed | replay 1 |", "![Ratings needed"):
        assert part in page
    assert f"| Date | {saved['provenance']['date'][:10]} |" in page
    assert "| race | " in page
    assert str(tmp_path) not in page
    assert (tmp_path / "two.png").is_file()
