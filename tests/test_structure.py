"""A reader who knows the word finds the file: module and class names occur once, libraries stay in their rooms."""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Collection, Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "mtloop"
# Modules that may have the same name, because their folder tells them apart.
SHARED_MODULE_NAMES = {"store", "tables", "models", "registry"}
# Where a library may be imported by name, as in `need("thot.translation", "smt")`. import-linter checks the rest.
ROOMS_BY_LIBRARY = {
    "huggingface_hub": {"nmt"},
    "thot": {"smt"},
    "httpx2": {"client"},
    "matplotlib": {"report"},
    "jinja2": {"report"},
    "pandas": {"report"},
    "optuna": {"experiments"},
    "simplemma": {"text"},
}


@cache
def modules() -> dict[Path, ast.Module]:
    paths = sorted(path for path in PACKAGE.rglob("*.py") if "migrations" not in path.parts)
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in paths}


def repeated(named: Iterator[tuple[str, Path]]) -> dict[str, list[str]]:
    """The names that occur more than once, each with the files it occurs in."""
    found = defaultdict(list)
    for name, path in named:
        found[name].append(str(path.relative_to(PACKAGE)))
    return {name: paths for name, paths in found.items() if len(paths) > 1}


def public_classes() -> Iterator[tuple[str, Path]]:
    for path, tree in modules().items():
        if path.parent.name == "wmt_client_python":
            continue  # the names of the 2017 client cannot be changed
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                yield node.name, path


def imports_by_name() -> Iterator[tuple[str, str, Path]]:
    """Every `need("library.module", ...)` and `import_module("library.module")`: library, room and file."""
    for path, tree in modules().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and _called(node) in ("need", "import_module") and node.args:
                first = node.args[0]
                if isinstance(first, ast.Constant) and isinstance(first.value, str):
                    yield first.value.split(".")[0], path.relative_to(PACKAGE).parts[0], path


def imports_of(tree: ast.Module, known: Collection[str]) -> Iterator[str]:
    """The modules that a module imports, also inside functions, but not for type checking alone."""
    unused = {id(node) for branch in ast.walk(tree) if _is_type_checking(branch) for node in ast.walk(branch)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and id(node) not in unused:
            for name in node.names:
                submodule = f"{node.module}.{name.name}"
                yield submodule if submodule in known else node.module
        elif isinstance(node, ast.Import) and id(node) not in unused:
            yield from (name.name for name in node.names)


def dotted_name(path: Path) -> str:
    """The name by which a module or package is imported."""
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


def _is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def _called(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")


def test_a_module_name_occurs_once() -> None:
    """The command `cli/run.py` may have the name of the function that it calls, in `experiments/run.py`."""
    named = [path for path in modules() if not path.stem.startswith("__")]
    verbs = {path.name for path in named if path.is_relative_to(PACKAGE / "experiments")}
    commands = {path for path in named if path.parent.name == "cli" and path.name in verbs}
    stems = ((path.stem, path) for path in named if path not in commands)
    again = {name: paths for name, paths in repeated(stems).items() if name not in SHARED_MODULE_NAMES}
    assert not again, f"give one of them another name: {again}"


def test_a_public_class_name_occurs_once() -> None:
    again = repeated(public_classes())
    assert not again, f"give one of them another name: {again}"


def test_libraries_imported_by_name_stay_in_their_rooms() -> None:
    found = list(imports_by_name())
    assert {"thot", "matplotlib", "httpx2"} <= {library for library, _, _ in found}
    astray = [(library, str(path)) for library, room, path in found if room not in ROOMS_BY_LIBRARY.get(library, set())]
    assert not astray, f"only these rooms may import them: {ROOMS_BY_LIBRARY}"


def test_modules_do_not_import_each_other_in_a_circle() -> None:
    """Imports inside functions count too: they only hide a circle."""
    named = {dotted_name(path): tree for path, tree in modules().items()}
    graph = {name: {found for found in imports_of(tree, named) if found in named} for name, tree in named.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        raise AssertionError(f"a circle of imports: {error.args[1]}") from error


def test_the_exceptions_are_needed() -> None:
    stems = [path.stem for path in modules()]
    unneeded = [name for name in SHARED_MODULE_NAMES if stems.count(name) < 2]
    assert not unneeded


def test_the_core_needs_only_the_standard_library_and_a_lock() -> None:
    """A lock that works on every system is no part of the standard library."""
    core = {path: tree for path, tree in modules().items() if path.relative_to(PACKAGE).parts[0] == "core"}
    used = {name.split(".")[0] for tree in core.values() for name in imports_of(tree, ())}
    assert used - {"mtloop", "filelock"} <= sys.stdlib_module_names


def test_every_folder_says_what_is_in_it() -> None:
    silent = [path for path, tree in modules().items() if path.name == "__init__.py" and not ast.get_docstring(tree)]
    assert not silent


def paths_in_table() -> Iterator[tuple[str, bool]]:
    """The paths in the table of ARCHITECTURE.md, and whether each is there.

    A path begins in the package or in the repository. It may also be in, or beside, a path before it in its row.
    """
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    table = text.partition("## Where is what")[2].partition("\n## ")[0]
    for row in re.findall(r"^\|.*\| (.+) \|$", table, re.MULTILINE):
        folders = [PACKAGE, ROOT]
        for name in re.findall(r"`([^` ]*[/.][^` ]*)`", row):
            found = [path for folder in folders for path in folder.glob(name.rstrip("/"))]
            folders += [folder for path in found[:1] for folder in (path, path.parent)]
            yield name, bool(found)


def test_the_paths_in_the_architecture_exist() -> None:
    paths = list(paths_in_table())
    assert not [name for name, is_there in paths if not is_there]
    assert ("service/engines/", True) in paths
