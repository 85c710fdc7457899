"""Where a result comes from: date, commit, versions, machine, and the command without the folders of its files."""

from __future__ import annotations

import os
import platform
import re
import shlex
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from mtloop import __version__
from mtloop.core.types import JSON

PACKAGES = ("torch", "numpy", "sacrebleu")
_PACKAGE_FOLDER = Path(__file__).parents[1]
_PATH = re.compile(r"[^\s=,:]*/[^\s=,:]+")  # in a word such as `methods=a,folder/mine.py:Engine`


@dataclass(frozen=True)
class Provenance:
    """The moment, the code and the machine. `commit` is None if mtloop does not run from a checkout."""

    date: str = ""
    mtloop: str = ""
    commit: str | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    processor: str = ""
    cores: int = 1

    @classmethod
    def now(cls) -> Provenance:
        """Describe this moment. Call it before a long experiment: the files of a checkout may change meanwhile."""
        date = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
        return cls(date, __version__, checked_out_commit(_PACKAGE_FOLDER), versions(), processor(), cores())


def checked_out_commit(package: Path) -> str | None:
    """Return the commit that a package runs from, with `-dirty` if tracked files differ; None outside a checkout.

    An installed package may lie inside the checkout of something else, so git must know its files.
    """
    if not _git(package, "ls-files", "__init__.py"):
        return None
    return _git(package, "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*") or None


def _git(folder: Path, *arguments: str) -> str:
    """Return the output of a git command; empty if it fails or git is not installed."""
    command = ["git", "--no-optional-locks", "-C", str(folder), *arguments]
    try:
        return subprocess.run(command, capture_output=True, encoding="utf-8", check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that change scores, where they are installed."""
    found = {"Python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def processor() -> str:
    """Return the name of the processor."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def without_folders(text: str) -> str:
    """Return a text with the names of files in place of their paths; a model's name on the hub and a URL stay.

    >>> without_folders("mine=/home/me/mine.py:Engine"), without_folders("owner/model")
    ('mine=mine.py:Engine', 'owner/model')
    """
    name, equals, value = text.partition("=")
    if "://" in text:
        return text
    if _exists(value if equals else text):
        return f"{name}={_last_part(value)}" if equals else _last_part(text)
    return _PATH.sub(lambda found: _last_part(found[0]) if _is_path(found[0]) else found[0], text)


def plain_settings(value: JSON) -> JSON:
    """Return settings with the names of files in place of their paths."""
    if isinstance(value, dict):
        return {name: plain_settings(item) for name, item in value.items()}
    if isinstance(value, list):
        return list(map(plain_settings, value))
    return without_folders(value) if isinstance(value, str) else value


def command_text(words: Iterable[str]) -> str:
    """Return a command line as the user typed it, without the folders of files.

    >>> command_text(["mtloop", "compare", "--data", "/home/me/my manual.tsv", "--limit", "20"])
    "mtloop compare --data 'my manual.tsv' --limit 20"
    """
    return shlex.join(map(without_folders, words))


def _is_path(text: str) -> bool:
    return text.startswith(("/", "~", ".")) or _exists(text)


def _last_part(path: str) -> str:
    return Path(path).name or path


def _exists(text: str) -> bool:
    try:
        return Path(text).exists()
    except OSError:  # the text is too long for a name
        return False
