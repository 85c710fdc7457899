"""The package works on systems that lack modules, functions and signals of Unix."""

from __future__ import annotations

import ast
import importlib
import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "mtloop"
# psutil chooses its code by the name of the system, so on Linux it needs `resource`. It is imported first.
IMPORT_ALL = """
import importlib, json, pkgutil, sys, warnings
import psutil
for name in ("fcntl", "grp", "pwd", "resource", "termios"):
    sys.modules[name] = None
warnings.filterwarnings("ignore", "only soft file lock is available")
import mtloop

names = [module.name for module in pkgutil.walk_packages(mtloop.__path__, "mtloop.")]
names = [name for name in names if not name.endswith("__main__") and ".migrations." not in name]
failed = {}
for name in names:
    try:
        importlib.import_module(name)
    except ImportError as error:
        failed[name] = str(error)
print(json.dumps([len(names), failed]))
"""
# What these modules lack on Windows.
MISSING = """
os: fork forkpty getuid geteuid getgid getegid getpgid getpgrp setpgid setsid setuid setgid killpg nice uname statvfs
os: fchmod chown lchown mkfifo mknod pread pwrite sched_getaffinity sched_setaffinity sysconf wait wait3 wait4 chroot
os: getloadavg fchdir sync fdatasync register_at_fork WNOHANG O_NOFOLLOW O_DIRECTORY O_NONBLOCK
signal: SIGKILL SIGHUP SIGUSR1 SIGUSR2 SIGALRM SIGCHLD SIGSTOP SIGCONT SIGQUIT SIGPIPE SIGTSTP alarm pause setitimer
signal: pthread_sigmask sigwait
socket: AF_UNIX SO_REUSEPORT
"""
NOT_ON_WINDOWS = {
    f"{module}.{name}"
    for line in MISSING.split("\n")
    for module, _, names in [line.partition(": ")]
    for name in names.split()
}
REFUSED_ARGUMENTS = {"pass_fds", "preexec_fn", "start_new_session", "dir_fd"}  # Windows raises an error for them
UNIX_MODULES = {"fcntl", "grp", "pwd", "resource", "termios", "tty", "pty", "posix", "readline", "syslog"}


@cache
def trees() -> dict[str, ast.Module]:
    return {
        path.relative_to(PACKAGE).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted(PACKAGE.rglob("*.py"))
    }


def unix_names(tree: ast.Module) -> list[str]:
    """The functions, constants and modules that a module uses and Windows lacks."""
    found = []
    optional = {id(node) for one in ast.walk(tree) if isinstance(one, ast.Try) for node in _optional_imports(one)}
    optional |= {id(node) for one in ast.walk(tree) if isinstance(one, ast.If) for node in _not_on_windows(one)}
    for node in ast.walk(tree):
        if id(node) in optional:
            continue
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            found.append(f"{node.value.id}.{node.attr}")
        elif isinstance(node, ast.Import):
            found += [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            found += [str(node.module), *(f"{node.module}.{name.name}" for name in node.names)]
    return [name for name in found if name in NOT_ON_WINDOWS | UNIX_MODULES]


def _optional_imports(block: ast.Try) -> list[ast.stmt]:
    """The imports of a block that also works without them."""
    caught = [handler.type.id for handler in block.handlers if isinstance(handler.type, ast.Name)]
    return (
        [one for one in block.body if isinstance(one, ast.Import | ast.ImportFrom)] if "ImportError" in caught else []
    )


def _not_on_windows(block: ast.If) -> list[ast.AST]:
    """Everything below `if sys.platform != "win32":`."""
    if ast.unparse(block.test) != "sys.platform != 'win32'":
        return []
    return [node for one in block.body for node in ast.walk(one)]


@pytest.mark.slow
def test_every_module_imports_without_the_modules_of_unix() -> None:
    done = subprocess.run([sys.executable, "-W", "error", "-c", IMPORT_ALL], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    count, failed = json.loads(done.stdout)
    assert count > 150
    assert not failed


def test_no_module_uses_what_windows_lacks() -> None:
    used = {path: names for path, tree in trees().items() if (names := unix_names(tree))}
    assert not used


def test_no_call_has_an_argument_that_windows_refuses() -> None:
    for path, tree in trees().items():
        named = {node.arg for node in ast.walk(tree) if isinstance(node, ast.keyword)}
        named |= {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
        assert not named & REFUSED_ARGUMENTS, path


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("import fcntl", "fcntl"),
        ("from resource import getrusage", "resource"),
        ("os.kill(1, signal.SIGKILL)", "signal.SIGKILL"),
        ("from os import fork", "os.fork"),
    ],
)
def test_the_check_sees_what_windows_lacks(line: str, name: str) -> None:
    assert unix_names(ast.parse(line)) == [name]


def test_an_import_that_may_fail_is_allowed() -> None:
    assert unix_names(ast.parse("try:\n import resource\nexcept ImportError:\n resource = None")) == []
    assert unix_names(ast.parse("try:\n import resource\nexcept OSError:\n pass")) == ["resource"]


@pytest.mark.skipif(sys.platform != "linux", reason="the names are those of Linux")
def test_the_list_of_missing_names_has_no_typing_error() -> None:
    for name in NOT_ON_WINDOWS:
        module, _, attribute = name.partition(".")
        assert hasattr(importlib.import_module(module), attribute), name
