"""Every library that mtloop imports is in the dependencies, or in the extra of the room that imports it.

The environment of the tests has the libraries of every extra, so no other test would notice.
"""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
NO_FEATURES = ("dev", "all")  # extras that only name others, or serve the tests
# The extra that a room may import when it is itself imported. The modules of any other room need no extra.
EXTRA_OF_ROOM = {"nmt": "nmt", "bandits": "nmt", "report": "report", "service": "service"}

WITHOUT_EXTRAS = """
import importlib, sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in REFUSED:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Refuse())
for name in MODULES:
    importlib.import_module(name)
from mtloop.cli import main
main(["score", "--ref", sys.argv[1], "--hyp", sys.argv[1], "--metrics", "bleu,ter"])
"""


def distributions(lines: list[str]) -> set[str]:
    return {canonicalize_name(Requirement(line).name) for line in lines} - {"mtloop"}


@cache
def base() -> set[str]:
    return distributions(PROJECT["dependencies"])


@cache
def extras() -> dict[str, set[str]]:
    """The libraries of each extra that are not in the dependencies anyway."""
    listed = PROJECT["optional-dependencies"].items()
    return {extra: distributions(lines) - base() for extra, lines in listed if extra not in NO_FEATURES}


@cache
def providers() -> dict[str, set[str]]:
    """The distributions of each name that can be imported."""
    return {name: set(map(canonicalize_name, found)) for name, found in packages_distributions().items()}


def libraries(node: ast.AST, *, at_import: bool) -> Iterator[str]:
    """The libraries that a module imports: all, or only those that it needs to be imported itself."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        if at_import and isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        yield from map(top_level, imported(child))
        yield from libraries(child, at_import=at_import)


def imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [name.name for name in node.names]
    return [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []


def top_level(name: str) -> str:
    return name.partition(".")[0]


def modules() -> Iterator[tuple[str, str, ast.Module]]:
    """Room, dotted name and syntax tree of every module."""
    for path in sorted((ROOT / "mtloop").rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        yield parts[1], ".".join(parts).removesuffix(".__init__"), ast.parse(path.read_text(encoding="utf-8"))


def missing(tree: ast.Module, provided: set[str], *, at_import: bool) -> list[str]:
    """The libraries that a module imports and that none of the distributions provides."""
    others = set(libraries(tree, at_import=at_import)) - sys.stdlib_module_names - {"mtloop"}
    return sorted(name for name in others if not providers().get(name, {canonicalize_name(name)}) & provided)


def test_every_import_is_in_the_dependencies_or_an_extra() -> None:
    declared = base().union(*extras().values())
    found = {name: missing(tree, declared, at_import=False) for _, name, tree in modules()}
    assert {name: lacking for name, lacking in found.items() if lacking} == {}


def test_a_module_is_imported_without_the_extras_of_other_rooms() -> None:
    found = {}
    for room, name, tree in modules():
        provided = base() | extras().get(EXTRA_OF_ROOM.get(room, ""), set())
        found[name] = missing(tree, provided, at_import=True)
    assert {name: lacking for name, lacking in found.items() if lacking} == {}


@pytest.mark.parametrize(
    ("code", "needed", "at_import"),
    [
        ("import torch.nn", ["torch"], ["torch"]),
        ("from yaml import load\nimport numpy, os", ["yaml"], ["yaml"]),
        ("def f():\n    import torch", ["torch"], []),
        ("try:\n    import torch\nexcept ImportError:\n    pass", ["torch"], ["torch"]),
        ("class A:\n    import torch", ["torch"], ["torch"]),
        ("if TYPE_CHECKING:\n    import torch", [], []),
        ("from . import core", [], []),
    ],
)
def test_imports_are_found(code: str, needed: list[str], at_import: list[str]) -> None:
    assert missing(ast.parse(code), base(), at_import=False) == needed
    assert missing(ast.parse(code), base(), at_import=True) == at_import


@pytest.mark.slow
def test_the_other_rooms_and_a_score_work_without_any_extra(tmp_path: Path) -> None:
    """Also what they import from the rooms with an extra must then be inside functions."""
    refused = {name for name, found in providers().items() if found & set().union(*extras().values())}
    assert {"torch", "jinja2", "fastapi", "thot"} <= refused
    names = [name for room, name, _ in modules() if room not in {*EXTRA_OF_ROOM, "__main__"}]
    (tmp_path / "text.txt").write_text("The dog bites the lady\n")
    code = WITHOUT_EXTRAS.replace("REFUSED", repr(refused)).replace("MODULES", repr(names))
    command = [sys.executable, "-c", code, str(tmp_path / "text.txt")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "BLEU" in done.stdout
