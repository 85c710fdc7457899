"""Check the docs: run every console example and compare its output; every command and metric is documented."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from mtloop.cli import COMMANDS, cli
from mtloop.metrics.registry import METRICS, PATTERNS

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)


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


@pytest.mark.parametrize("page", [page for page in PAGES if examples(page)], ids=lambda page: page.name)
def test_console_examples(page: Path, tmp_path: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for command, expected in examples(page):
        run = subprocess.run(
            ["bash", "-c", command],
            cwd=tmp_path,
            env=os.environ | {"PATH": path},
            capture_output=True,
            text=True,
            timeout=120,
        )
        output = run.stdout + run.stderr
        assert not expected or matches(expected, output), f"{page.name}: {command}\n{output}"


def test_every_link_between_pages_has_a_target() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+?)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_command_reference_is_the_help_text() -> None:
    """docs/reference/cli.md is generated: run `python scripts/cli_reference.py` after changing an option."""
    command = [sys.executable, str(ROOT / "scripts" / "cli_reference.py"), "-"]
    expected = subprocess.run(command, capture_output=True, check=True).stdout.decode()
    assert (ROOT / "docs/reference/cli.md").read_text(encoding="utf-8") == expected


def test_the_method_reference_is_the_registry() -> None:
    """docs/reference/methods.md is generated: run `python scripts/method_reference.py` after changing a method."""
    command = [sys.executable, str(ROOT / "scripts" / "method_reference.py"), "-"]
    expected = subprocess.run(command, capture_output=True, check=True).stdout.decode()
    assert (ROOT / "docs/reference/methods.md").read_text(encoding="utf-8") == expected


def test_every_command_has_an_example_in_its_help() -> None:
    for name in COMMANDS:
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        assert f"mtloop {name}" in (command.epilog or ""), name


def test_every_metric_is_described() -> None:
    page = (ROOT / "docs/reference/metrics.md").read_text(encoding="utf-8")
    for name in [*METRICS, *PATTERNS]:
        assert f"`{name}`" in page, name
