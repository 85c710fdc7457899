"""Results pages: each is exactly what its JSON file gives, and the commands write such files."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
import subprocess
import sys
from dataclasses import replace
from html import unescape
from pathlib import Path
from types import ModuleType
from typing import Any

import markdown
import pytest
from helpers.ratings import make_recording, write_ratings
from PIL import Image

from mtloop.report.chart import Axis, Chart
from mtloop.report.provenance import Provenance, command_text
from mtloop.report.result_file import DataFile, Origin, ResultFile
from mtloop.report.table import Table

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "docs" / "results"
COMMAND = "mtloop select --ratings DATA/ratings.tsv --policies exp3,race --missing skip --runs 3"
PLACEHOLDER = re.compile(
    r"\b(?:to be (?:written|done|filled|decided)|todo|tbd|tba|fixme|xxx|placeholder|lorem)\b", re.I
)
COMMIT = "0123456789" * 4
CHART = {"effort": Chart("effort", "<b>Effort</b>", Axis("x"), Axis("y"), (), caption="*c*")}
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
    with Image.open(PAGES / f"{name}.png") as picture:
        assert picture.info[SCRIPT.DIGEST] == SCRIPT.digest(result.charts[TEXTS[name].picture])


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_has_no_placeholder(name: str) -> None:
    texts = {field: str(value) for field, value in vars(TEXTS[name]).items() if field != "short_columns"}
    assert not [field for field, text in texts.items() if not text.strip("[] ") or PLACEHOLDER.search(text)]


def test_placeholders_are_found() -> None:
    assert all(PLACEHOLDER.search(text) for text in ("TO BE WRITTEN", "found: todo.", "TBD"))


@pytest.mark.parametrize("name", TEXTS)
def test_a_result_was_made_by_its_command_from_committed_code(name: str) -> None:
    result = ResultFile.read(PAGES / f"{name}.json")
    words = [word.removeprefix("DATA/") for word in shlex.split(TEXTS[name].command)]
    typed = [Path(word).name if "/" in word else word for word in words]
    assert result.command == command_text([*typed, "--out", name])
    assert re.fullmatch("[0-9a-f]{40}", result.origin.provenance.commit or "")
    assert (PAGES / f"{name}.json").stat().st_size < 200_000


def in_checkout(path: Path) -> None:
    """Write a commit into a result that was made outside a checkout."""
    content = json.loads(path.read_text(encoding="utf-8"))
    content["provenance"]["commit"] = content["provenance"]["commit"] or COMMIT
    path.write_text(json.dumps(content), encoding="utf-8")


def made(table: Table, **fields: Any) -> ResultFile:
    origin = {"data": [DataFile("x.tsv", "0" * 64)], "provenance": Provenance("2026-11-16", "1", COMMIT)} | fields
    return ResultFile(Origin("select", **origin), "mtloop select `x` | y", {"intervals": table}, CHART)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"provenance": Provenance()}, "the commit of the code is unknown"),
        ({"trace_commits": {"full": ["a", None]}}, "other commits wrote the trace of full; run the experiment again"),
        ({"data": [DataFile("dev")]}, "the SHA-256 of dev is unknown"),
    ],
)
def test_a_result_of_unknown_origin_gives_no_page(tmp_path: Path, fields: dict[str, Any], reason: str) -> None:
    text = SCRIPT.PageText(**TEXT, command=COMMAND, tables=["intervals"], picture="effort")
    made(Table(["policy"], [["race"]]), **fields).write(tmp_path / "two.json")
    with pytest.raises(SystemExit, match=f"^two: no page is written: {reason}[^\n]*$"):
        SCRIPT.write("two", text, tmp_path)
    assert not (tmp_path / "two.md").exists()


def test_a_missing_result_and_a_wrong_name_end_with_one_line(tmp_path: Path) -> None:
    text = SCRIPT.PageText(**TEXT, command=COMMAND, tables=["intervals"], picture="effort")
    with pytest.raises(SystemExit, match=r"^two: no page is written: two\.json is missing; run [^\n]*$"):
        SCRIPT.write("two", text, tmp_path)
    with pytest.raises(SystemExit, match=f"^no experiment 'nope'; there are {', '.join(TEXTS)}$"):
        SCRIPT.main(["--only", "nope"])
    with pytest.raises(SystemExit, match="absent is not a folder"):
        SCRIPT.main(["--run", str(tmp_path / "absent")])


def test_names_on_a_page_are_neither_html_nor_markdown() -> None:
    names = ["<img src=x onerror=alert(1)>", "a*d*", "a|b", "`c`", "[d](e)", "{: #f }"]
    table = Table(["<b>policy</b>"], [[name] for name in names], title="_gold_", notes=["```", "<i>"])
    text = SCRIPT.PageText(**TEXT | {"title": "<b>*Two*</b>"}, command=COMMAND, tables=["intervals"], picture="effort")
    content = SCRIPT.page("two", text, made(table))
    outside = re.sub(r"```text\n.*?\n```\n", "", content, flags=re.DOTALL)
    html = markdown.markdown(outside, extensions=["tables", "attr_list"])
    assert not re.search(r"<(?:img src=x|b>|i>|em>)|id=.f|href=.e\W", html)
    shown = unescape(re.sub(r"<[^>]+>", "", html))
    assert [
        name for name in [*names, "<b>*Two*</b>", "_gold_", "*c*", "mtloop select `x` | y"] if name not in shown
    ] == []
    assert '```text\n"""\n<i>\n```' in content


def test_a_column_is_shortened_only_if_its_rows_are_equal() -> None:
    table = Table(["policy", "to\nsettle", "right"], [["a", "9", "1"], ["b", "9", "2"]])
    text = SCRIPT.PageText(**TEXT, command=COMMAND, tables=["intervals"], picture="effort")
    text = replace(text, short_columns=["to settle", "right"])
    content = SCRIPT.page("two", text, made(table, seed={"shuffle": 0, "rater": 0}))
    assert "| policy | right |\n|---|---:|\n| a | 1 |" in content
    assert "to settle: 9 in all rows" in content
    assert "| Seed | rater 0 |" in content


def test_a_page_shows_the_seeds_of_the_methods_too() -> None:
    settings = {"baseline": {"settings": {"beam_size": 1}}, "lora": {"settings": {"seed": 3}}, "oracle": None}
    text = SCRIPT.PageText(**TEXT, command=COMMAND, tables=["intervals"], picture="effort")
    table = Table(["policy"], [["race"]])
    content = SCRIPT.page("two", text, made(table, seed={"resampling": 1}, settings=settings))
    assert "| Seed | resampling 1, lora 3 |" in content


def test_the_commits_of_all_results_pages_are_in_this_repository() -> None:
    pages = {page.name: page.read_text(encoding="utf-8") for page in PAGES.glob("*.md")}
    rows = {name: re.findall(r"^\| *Commit *\|(.*)\|\s*$", text, re.M) for name, text in pages.items()}
    assert not [name for name, cells in rows.items() if any(re.search("dirty|unknown", cell) for cell in cells)]
    if git("rev-parse", "--is-shallow-repository") != "false":
        pytest.skip("the history is not here")
    commits = {
        commit for cells in rows.values() for cell in cells for commit in re.findall(r"`([0-9a-f]{7,40})`", cell)
    }
    assert commits
    unknown = {commit for commit in commits if git("cat-file", "-t", commit) != "commit"}
    assert unknown <= set(SCRIPT.squashed_commits())
    assert [into for into in SCRIPT.squashed_commits().values() if git("cat-file", "-t", into) != "commit"] == []


def git(*arguments: str) -> str:
    """Return the output of a git command in this repository; empty if it fails."""
    try:
        return subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True).stdout.strip()
    except OSError:
        return ""


def test_a_page_of_opposites(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The package has the data, so the command reads no file; `copy-source` has no seed."""
    command = "mtloop opposites --methods copy-source --part report --jobs 1"
    text = SCRIPT.PageText(**TEXT, command=command, tables=["methods", "kinds"], picture="flips")
    monkeypatch.setattr(SCRIPT, "OUT", tmp_path / "out")
    SCRIPT.run("two", text, tmp_path, tmp_path)
    in_checkout(tmp_path / "two.json")
    SCRIPT.write("two", text, tmp_path)
    page = (tmp_path / "two.md").read_text(encoding="utf-8")
    for part in (
        "| Data | Made up: `opposites.en-de.tsv`, 120 segments, part report, SHA-256 `",
        f"| Command | `{command} --out two` |",
        "| Seed | none |",
        "| copy-source | 1 (0-5 %) | 0 (0-3 %) |",
        "| copy-source | negation | 17 |",
        "![Opposites that took over the lesson](two.png)",
        "The kinds: negation, antonym, particle, number, name, direction, switch.",
        "```sh\npython scripts/results_pages.py --run --only two\n```",
    ):
        assert part in page
    assert "DATA" not in page
    assert (tmp_path / "two.png").is_file()


def test_every_results_page_is_in_the_list() -> None:
    listed = re.findall(r"^\| \[[^]]+\]\(([\w-]+\.md)\)", (PAGES / "index.md").read_text(encoding="utf-8"), re.M)
    assert sorted(listed) == sorted({page.name for page in PAGES.glob("*.md")} - {"index.md"})


def test_the_script_runs_an_experiment_and_writes_its_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_ratings(tmp_path / "ratings.tsv", make_recording([0.85, 0.75, 0.65, 0.4, 0.3], 60, coverage=0.8))
    text = SCRIPT.PageText(**TEXT, command=COMMAND, tables=["intervals"], picture="effort")
    monkeypatch.setattr(SCRIPT, "OUT", tmp_path / "out")
    (tmp_path / "out" / "two").mkdir(parents=True)
    (tmp_path / "out" / "two" / "old.jsonl").touch()
    SCRIPT.run("two", text, tmp_path, tmp_path)
    assert not (tmp_path / "out" / "two" / "old.jsonl").exists()  # nothing of older code is resumed
    in_checkout(tmp_path / "two.json")
    SCRIPT.write("two", text, tmp_path)
    page = (tmp_path / "two.md").read_text(encoding="utf-8")
    saved = json.loads((tmp_path / "two.json").read_text(encoding="utf-8"))
    assert saved["command"] == f"{COMMAND.replace('DATA/', '')} --out two"
    for part in (
        "# Two policies",
        f"| Command | `{saved['command']}` |",
        "| Seed | replay 1, resampling 1 |",
        "![Ratings needed",
    ):
        assert part in page
    assert f"| Date | {saved['provenance']['date'][:10]} |" in page
    assert "| race | " in page
    assert str(tmp_path) not in page
    assert (tmp_path / "two.png").is_file()
