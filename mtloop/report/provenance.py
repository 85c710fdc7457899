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
_USER_INFO = re.compile(r"(?<=://)[^/\s]*@")
_SEPARATORS = re.compile(r"(\s*[,=]\s*)")
_PREFIX = re.compile(r"[\w+-]{2,}:(?!//)")
_PATH_START = re.compile(r"[/~\\]|\.\.?[/\\]|[A-Za-z]:[/\\]")
_WORD = re.compile(r"(?P<quote>[\"'])(?P<quoted>.*?)(?P=quote)|(?:\\ |\S)+")


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
        return cls(date, __version__, running_commit(), versions(), processor(), cores())


def running_commit() -> str | None:
    """Return the commit of the code that runs now."""
    return checked_out_commit(_PACKAGE_FOLDER)


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


def versions(packages: Iterable[str] = PACKAGES) -> dict[str, str]:
    """Return the versions of Python and of packages (default: those that change scores), where they are installed."""
    found = {"Python": platform.python_version()}
    for package in packages:
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
    """Return the number of cores of the machine."""
    return os.cpu_count() or 1


def without_folders(text: str) -> str:
    """Return a text with the names of files in place of their paths, and URLs without user names and passwords.

    The text may be a list with commas, KEY=VALUE, or a command after `exec:`. A model's name on the hub stays.

    >>> without_folders("mine=/home/me/mine.py:Engine"), without_folders("owner/model")
    ('mine=mine.py:Engine', 'owner/model')
    >>> without_folders("http://me:secret@host:8017/dev"), without_folders("a,C:\\\\Users\\\\me\\\\x.tsv")
    ('http://host:8017/dev', 'a,x.tsv')
    """
    text = _USER_INFO.sub("", text)
    name, equals, value = text.partition("=")
    if _exists(text):
        return _last_part(text)
    if equals and _exists(value):
        return f"{without_folders(name)}={_last_part(value)}"
    return "".join(map(_reduced, _SEPARATORS.split(text)))


def _reduced(text: str) -> str:
    """Return one item of a list without folders."""
    if prefix := _PREFIX.match(text):  # such as `exec:`
        rest = text[prefix.end() :]
        return prefix[0] + (_reduced_words(rest) if prefix[0] == "exec:" else _reduced(rest))
    if "://" in text:
        return _last_part(text) if text.startswith("file:") else text
    if _is_path(text):
        return _last_part(text)
    return _reduced_words(text) if " " in text else text


def _reduced_words(text: str) -> str:
    """Return a command line without folders; words in quotes stay in quotes."""
    return _WORD.sub(_reduced_word, text)


def _reduced_word(word: re.Match[str]) -> str:
    quote = word["quote"] or ""
    return f"{quote}{without_folders(word['quoted'] if quote else word[0])}{quote}"


def plain_settings(value: JSON) -> JSON:
    """Return settings with the names of files in place of their paths, also in the names of settings."""
    if isinstance(value, dict):
        return {without_folders(name): plain_settings(item) for name, item in value.items()}
    if isinstance(value, list):
        return list(map(plain_settings, value))
    return without_folders(value) if isinstance(value, str) else value


def short_names(names: Iterable[str]) -> dict[str, str]:
    """Return names of systems without folders, by their long names; equal ones get a number.

    >>> short_names(["full", "/a/mine.py:Engine", "/b/mine.py:Engine"])
    {'full': 'full', '/a/mine.py:Engine': 'mine.py:Engine', '/b/mine.py:Engine': 'mine.py:Engine (2)'}
    """
    short: dict[str, str] = {}
    for name in names:
        plain = without_folders(name)
        equal = sum(without_folders(other) == plain for other in short)
        short[name] = f"{plain} ({equal + 1})" if equal else plain
    return short


def renamed(value: JSON, names: Mapping[str, str]) -> JSON:
    """Return plain JSON with other names in all its texts and keys."""
    if isinstance(value, dict):
        return {str(renamed(key, names)): renamed(item, names) for key, item in value.items()}
    if isinstance(value, list):
        return [renamed(item, names) for item in value]
    return _renamed_text(value, names) if isinstance(value, str) else value


def _renamed_text(text: str, names: Mapping[str, str]) -> str:
    for name in sorted(names, key=len, reverse=True):  # one name may be the end of another
        text = text.replace(name, names[name]) if names[name] != name else text
    return text


def command_text(words: Iterable[str]) -> str:
    """Return a command line as the user typed it, without the folders of files.

    >>> command_text(["mtloop", "compare", "--data", "/home/me/my manual.tsv", "--limit", "20"])
    "mtloop compare --data 'my manual.tsv' --limit 20"
    """
    return shlex.join(map(without_folders, words))


def _is_path(text: str) -> bool:
    """Return whether a text is a path: a name on the hub has one slash, and its first part is no folder here."""
    if _PATH_START.match(text) or text.count("/") > 1 or re.search(r"\\\w", text):
        return True
    folder, slash, _ = text.partition("/")
    return _exists(text) or (bool(slash) and (_exists(text.rpartition(":")[0]) or _exists(folder)))


def _last_part(path: str) -> str:
    return re.split(r"[/\\]", path.rstrip("/\\"))[-1] or path


def _exists(text: str) -> bool:
    try:
        return bool(text) and Path(text).exists()
    except (OSError, ValueError):  # the text is too long for a name, or holds a zero byte
        return False
