"""Check the docs: run every console example and compare its output; every command and metric is documented."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from _pytest.mark import ParameterSet
from helpers.console import run_console
from helpers.prose import FENCE, paragraphs, sentences

from mtloop.cli import COMMANDS, cli
from mtloop.core.errors import MtloopError
from mtloop.metrics.registry import METRICS, PATTERNS

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.glob("**/*.md")])
BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)
LONG = (
    "adapt.md",
    "first-learner.md",
    "http-api.md",
    "learn-from-rewards.md",
    "translate-files.md",
    "translate-with-a-server.md",
    "tune.md",
    "use-a-glossary.md",
)
MAX_SENTENCES = 4  # of a paragraph
RESULTS = sorted(set(DOCS.glob("results/*.md")) - {DOCS / "results/index.md"})
ORIGIN = {
    name: re.compile(rf"^\| *{name} *\|(.*)\|\s*$", re.M) for name in ("Date", "Commit", "Data", "Command", "Seed")
}
MEASURED = re.compile(r"[+−-]\d+(?:\.\d+)? ?%|\b\d+\.\d+ ?%|\b(?:BLEU|TER|chrF)\b (?:is|was|of|rises?|falls?) \d")
FOREIGN = re.compile(r"<(?:script|link|img|iframe)[^>]*(?:src|href)=\"(?:https?:)?//", re.I)


def relative(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def examples(page: Path) -> list[tuple[str, str]]:
    """Pairs (command, expected output) in the order of the page."""
    found = []
    for block in BLOCK.findall(page.read_text(encoding="utf-8")):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            found.append((command, output.strip()))
    return found


def matches(expected: str, got: str) -> bool:
    """Whether the texts are equal; `...` matches any text."""
    pattern = ".*".join(map(re.escape, expected.split("...")))
    return re.fullmatch(pattern, got.strip(), re.DOTALL) is not None


def exit_code(command: str) -> int:
    """The exit code that an example names in a comment, as in `mtloop score  # exit code 2`; otherwise 0."""
    named = re.search(r"  # exit code (\d+)$", command)
    return int(named[1]) if named else 0


def with_examples() -> list[ParameterSet]:
    """The pages with examples. Those that train, or translate much, are slow."""
    found = [page for page in PAGES if examples(page)]
    return [pytest.param(page, id=page.name, marks=[pytest.mark.slow] * (page.name in LONG)) for page in found]


@pytest.mark.parametrize("page", with_examples())
def test_console_examples(page: Path, tmp_path: Path) -> None:
    for command, expected in examples(page):
        done = run_console(command, tmp_path)
        output = done.stdout + done.stderr
        assert not expected or matches(expected, output), f"{page.name}: {command}\n{output}"
        assert done.returncode == exit_code(command), f"{page.name}: {command}: {done.returncode}\n{output}"


@pytest.mark.parametrize(
    ("command", "code"),
    [("mtloop score  # exit code 2", 2), ("exit 3", 3), ("false | cat", 1), ("mtloop --version", 0)],
)
def test_an_example_has_its_exit_code(command: str, code: int, tmp_path: Path) -> None:
    assert run_console(command, tmp_path).returncode == code


def test_an_example_that_fails_says_so() -> None:
    assert [exit_code(line) for line in ("mtloop score", "mtloop score  # exit code 2")] == [0, 2]


def test_every_link_between_pages_has_a_target() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+?)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


@pytest.mark.parametrize(
    ("paragraph", "count"),
    [
        ("One. Two! Three? mtloop ends here", 4),
        ("See e.g. `a. b.` in version 2.6.0 (Bertoldi et al. 2012), cli.md and so on ... here.", 1),
        ("It costs 0.5. *Really.* (So it is.) [A link. With a stop](page.md).", 5),
    ],
)
def test_sentences_are_counted(paragraph: str, count: int) -> None:
    assert sentences(paragraph) == count


def test_list_items_and_cells_are_paragraphs() -> None:
    prose, table = "One.\nTwo since\n2017. Three.\n\n- a\n  b\n- c\n", "| d | e |\n|---|---|\n| f | g |\n"
    page = f"# A. B.\n\n{prose}\n{table}```sh\nh. i.\n```\n"
    assert list(paragraphs(page)) == ["One. Two since 2017. Three.", "a b", "c", "d", "e", "f", "g"]


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "CHANGELOG.md"], ids=relative)
def test_a_paragraph_has_at_most_four_sentences(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    long = [paragraph for paragraph in paragraphs(text) if sentences(paragraph) > MAX_SENTENCES]
    assert not long, "\n\n".join(f"{sentences(one)} sentences: {one}" for one in long)


@pytest.mark.parametrize("page", RESULTS, ids=relative)
def test_a_results_page_says_where_its_numbers_come_from(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    origins = {name: row.findall(text) for name, row in ORIGIN.items()}
    assert all(origins.values()), f"rows are missing: {[name for name, rows in origins.items() if not rows]}"
    assert len({len(rows) for rows in origins.values()}) == 1, "a table lacks one of the rows"
    assert all(row.strip() for rows in origins.values() for row in rows), "a row is empty"
    for commit in origins["Commit"]:
        assert re.search(r"\b[0-9a-f]{7,40}\b", commit), commit


@pytest.mark.parametrize("page", [page for page in PAGES if page.parent.name != "results"], ids=relative)
def test_measured_numbers_are_on_the_results_pages(page: Path) -> None:
    prose = re.sub(r"`[^`]*`", "", FENCE.sub("", page.read_text(encoding="utf-8")))
    found = [match.group() for match in MEASURED.finditer(prose)]
    assert not found or page.name == "CHANGELOG.md", found


def test_every_page_is_in_the_navigation() -> None:
    listed = set(re.findall(r"[\w/-]+\.md$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.M))
    assert listed == {page.relative_to(DOCS).as_posix() for page in DOCS.glob("**/*.md")}


def build_site(project: Path, site: Path) -> subprocess.CompletedProcess[str]:
    """Build a site with the command of `make docs`, into a folder."""
    (line,) = re.findall(r"^docs:.*\n\t(.*\$\(BIN\)/mkdocs .*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
    command = line.replace("$(BIN)/mkdocs", f"{shlex.quote(sys.executable)} -m mkdocs")
    return subprocess.run(
        f"{command} --site-dir {shlex.quote(str(site))}", shell=True, cwd=project, capture_output=True, text=True
    )


def test_a_broken_link_makes_the_build_of_the_site_fail(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/index.md").write_text("[no such page](missing.md)\n")
    (tmp_path / "mkdocs.yml").write_text("site_name: a site\nplugins: []\n")
    built = build_site(tmp_path, tmp_path / "site")
    assert built.returncode != 0
    assert "missing.md" in built.stderr


def test_the_site_builds_without_a_warning_and_asks_no_other_host(tmp_path: Path) -> None:
    """The page that fails is in the output."""
    built = build_site(ROOT, tmp_path)
    assert built.returncode == 0, built.stderr
    assert "WARNING" not in built.stderr
    pages = sorted(tmp_path.glob("**/*.html"))
    assert len(pages) > len(list(DOCS.glob("**/*.md")))
    assert not [page.name for page in pages if FOREIGN.search(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("name", ["cli", "method", "problem", "settings"])
def test_a_generated_reference_is_up_to_date(name: str) -> None:
    """Run the script after changing an option, a method, a setting or a problem of the service."""
    script = ROOT / "scripts" / f"{name}_reference.py"
    pages = {"cli": "cli.md", "method": "methods.md", "problem": "problem-codes.md", "settings": "settings.md"}
    page = DOCS / "reference" / pages[name]
    expected = subprocess.run([sys.executable, str(script), "-"], capture_output=True, check=True).stdout.decode()
    assert page.read_text(encoding="utf-8") == expected, f"run: python scripts/{script.name}"


def test_every_command_has_an_example_in_its_help() -> None:
    for name in COMMANDS:
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        assert f"mtloop {name}" in (command.epilog or ""), name


def help_examples() -> Iterator[tuple[click.Command, str, list[str]]]:
    """Every example in a help text: the command, the line, and its arguments without what a pipe or a file takes."""
    groups: list[tuple[click.Group, click.Context]] = [(cli, click.Context(cli, info_name="mtloop"))]
    for group, parent in groups:
        for name in group.list_commands(parent):
            command = group.get_command(parent, name)
            assert command is not None
            if isinstance(command, click.Group):
                groups.append((command, click.Context(command, parent=parent, info_name=name)))
            text = (command.epilog or "").replace("\\\n", " ")
            for line in re.findall(r"^  (?:.*\| )?(mtloop .*)", text, re.M):
                yield command, line, shlex.split(re.split(r"\s{2,}\(| [|<>]", line)[0])[1:]


def test_every_example_in_a_help_text_has_existing_options() -> None:
    found = list(help_examples())
    assert len(found) > len(COMMANDS)
    for _, line, arguments in found:
        command: click.Command = cli
        context = click.Context(cli, info_name="mtloop")
        while isinstance(command, click.Group):
            one = command.get_command(context, name := arguments.pop(0))
            assert one is not None, line
            command, context = one, click.Context(one, parent=context, info_name=name)
        try:
            command.make_context(command.name, arguments, parent=context.parent)
        except (click.ClickException, MtloopError) as error:
            pytest.fail(f"{line}: {error}")


@pytest.mark.parametrize("name", ["score", "compare", "stats"])
def test_what_is_hard_to_guess_has_an_example(name: str) -> None:
    """Options that take a file, or text of a form of their own."""
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    own = [one for one in command.params if isinstance(one, click.Option) and isinstance(one.type, click.Path)]
    own += [one for one in command.params if isinstance(one, click.Option) and "=" in (one.metavar or "")]
    shown = set(re.findall(r"--[\w-]+", command.epilog or ""))
    without = {one.opts[0] for one in own if not shown & set(one.opts)}
    assert without <= {"--stopwords"}, without


def test_every_metric_is_described() -> None:
    page = (ROOT / "docs/reference/metrics.md").read_text(encoding="utf-8")
    for name in [*METRICS, *PATTERNS]:
        assert f"`{name}`" in page, name
