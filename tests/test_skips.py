"""With CI=true a skip that is not on the committed list makes a test run fail."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
TESTS = """
import pytest

def test_passes(): pass

@pytest.mark.skip(reason="no moon")
@pytest.mark.parametrize("side", ["left", "right"])
def test_moon(side): pass
"""
MODULE = "import pytest\npytest.importorskip('no_such_package')\n"


def run(folder: Path, allowed: str, ci: str, *options: str) -> subprocess.CompletedProcess[str]:
    tests = folder / "tests"
    tests.mkdir()
    (folder / "pytest.ini").write_text("[pytest]\n")
    (tests / "conftest.py").write_text((HERE / "conftest.py").read_text(encoding="utf-8"), encoding="utf-8")
    (tests / "allowed_skips.txt").write_text(allowed)
    (tests / "test_sky.py").write_text(TESTS)
    (tests / "test_module.py").write_text(MODULE)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "xdist", *options]
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    clean |= {"CI": ci, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(command, cwd=folder, env=clean, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("workers", ["0", "1"])
def test_a_skip_that_is_not_listed_fails_with_ci(tmp_path: Path, workers: str) -> None:
    done = run(tmp_path, "# a comment\n\ntests/test_sky.py::test_moon[left]  the moon\n", "true", "-n", workers)
    assert done.returncode == 1, done.stdout + done.stderr
    named = re.findall(r"ERROR (\S+) was skipped, and tests/allowed_skips.txt does not list it", done.stdout)
    assert named == ["tests/test_module.py", "tests/test_sky.py::test_moon[right]"]


def test_listed_skips_pass_with_ci(tmp_path: Path) -> None:
    listed = ["tests/test_sky.py::test_moon[left]", "tests/test_sky.py::test_moon[right]", "tests/test_module.py"]
    done = run(tmp_path, "\n".join(listed), "true", "-n", "0")
    assert done.returncode == 0, done.stdout + done.stderr


def test_skips_pass_without_ci(tmp_path: Path) -> None:
    done = run(tmp_path, "", "", "-n", "0")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "was skipped" not in done.stdout


def test_every_listed_test_exists() -> None:
    lines = (HERE / "allowed_skips.txt").read_text(encoding="utf-8").splitlines()
    for name in (line.split()[0] for line in lines if not line.startswith("#")):
        path, _, function = name.partition("::")
        assert f"def {function.partition('[')[0]}(" in (HERE.parent / path).read_text(encoding="utf-8"), name


def test_every_test_that_mounts_a_file_system_is_listed() -> None:
    """Containers often lack the right, also those of CI."""
    names = {line.split()[0] for line in (HERE / "allowed_skips.txt").read_text(encoding="utf-8").splitlines()}
    found = {
        f"{path.relative_to(HERE.parent).as_posix()}::{name}"
        for path in HERE.rglob("test_*.py")
        for name in re.findall(r"^@needs_mounts\n(?:@.*\n)*def (\w+)", path.read_text(encoding="utf-8"), re.M)
    }
    assert len(found) > 3
    assert found <= names
