"""Where a result comes from: the commit of the checkout, and commands without the folders of files."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from mtloop import __version__
from mtloop.report.provenance import Provenance, checked_out_commit, command_text, plain_settings, without_folders


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"]
    command = ["git", "-C", str(folder), *identity, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package in a repository with one commit."""
    folder = tmp_path / "package"
    folder.mkdir()
    (folder / "__init__.py").write_text("x = 1\n")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", "package")
    git(tmp_path, "commit", "--quiet", "--message", "first")
    return folder


def test_the_commit_says_whether_tracked_files_differ(package: Path) -> None:
    commit = git(package, "rev-parse", "HEAD")
    (package / "new.txt").write_text("git does not know this file\n")
    assert checked_out_commit(package) == commit
    (package / "__init__.py").write_text("x = 2\n")
    assert checked_out_commit(package) == f"{commit}-dirty"


def test_an_installed_package_has_no_commit_also_inside_another_checkout(package: Path, tmp_path: Path) -> None:
    installed = tmp_path / ".venv" / "mtloop"
    installed.mkdir(parents=True)
    (installed / "__init__.py").touch()
    assert checked_out_commit(installed) is None
    assert checked_out_commit(Path(package.anchor)) is None


def test_this_moment() -> None:
    now = Provenance.now()
    assert now.date.endswith("Z")
    assert (now.mtloop, now.versions.keys() >= {"Python", "numpy", "sacrebleu"}) == (__version__, True)
    assert now.processor
    assert now.cores >= 1


def test_paths_become_names_and_other_words_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my data").mkdir()
    (tmp_path / "my data" / "manual.tsv").touch()
    (tmp_path / "my data" / "mine.py").touch()
    for typed, shown in {
        "my data/manual.tsv": "manual.tsv",
        "--data=my data/manual.tsv": "--data=manual.tsv",
        "../elsewhere/model": "model",
        "baseline,/home/me/mine.py:Engine": "baseline,mine.py:Engine",
        "exec:/usr/bin/translate --model ~/models/big": "exec:translate --model big",
        "Helsinki-NLP/opus-mt-en-de": "Helsinki-NLP/opus-mt-en-de",
        "http://localhost:8017/dev": "http://localhost:8017/dev",
        "http://user:se,cret@host/": "http://host/",
        "baseline,http://me:secret@host/dev?a=b": "baseline,http://host/dev?a=b",
        "copy-source,/abs/my data/mine.py:Engine": "copy-source,mine.py:Engine",
        "/abs/my data/mine.py:Engine:rate=0.5": "mine.py:Engine:rate=0.5",
        "baseline,my data/mine.py:Engine": "baseline,mine.py:Engine",
        "general_data=my data/none.tsv": "general_data=none.tsv",
        r"C:\Users\me\x.tsv": "x.tsv",
        r"--data=C:\Users\me\x.tsv": "--data=x.tsv",
        "D:/mine/x.tsv": "x.tsv",
        r"\\server\share\x.tsv": "x.tsv",
        "file:///home/me/x.tsv": "x.tsv",
        "some/where/else": "else",
        "/home/me/folder/": "folder",
        "exec:python '/my data/count.py' --rate=1 saves": "exec:python 'count.py' --rate=1 saves",
        r"exec:C:\Python\python.exe count.py": "exec:python.exe count.py",
        "source=A, target=B": "source=A, target=B",
        "lora+memory+copy": "lora+memory+copy",
        "race:top=1:confidence=0.9": "race:top=1:confidence=0.9",
    }.items():
        assert without_folders(typed) == shown
    assert command_text(["mtloop", "run", "my data/manual.tsv"]) == "mtloop run manual.tsv"
    assert plain_settings({"/a/mine.py:E": {"model": "~/m"}}) == {"mine.py:E": {"model": "m"}}
    assert plain_settings({"files": ["/a/b.tsv", 1], "rate": 0.5}) == {"files": ["b.tsv", 1], "rate": 0.5}
