"""Only the owner may read the SQLite database; a database that cannot be written is one line."""

from __future__ import annotations

import os
import sqlite3
import stat
import sys
from contextlib import closing
from pathlib import Path

import pytest
from helpers.mounts import in_mount_namespace, needs_mounts
from helpers.shared_task import TaskServer, start

from mtloop.core.errors import InputError
from mtloop.service import Settings
from mtloop.service.database_file import prepare_file

pytestmark = pytest.mark.skipif(os.name != "posix", reason="rights of files are those of POSIX")


def modes(folder: Path) -> dict[str, str]:
    found = {path.name: oct(stat.S_IMODE(path.stat().st_mode)) for path in folder.iterdir()}
    return found | {".": oct(stat.S_IMODE(folder.stat().st_mode))}


def test_new_files_are_closed_to_others_also_while_the_service_runs(lite: TaskServer) -> None:
    umask = os.umask(0)
    try:
        lite.task()
        with lite.serve(lite.participant()) as client:
            start(client)
            found = modes(lite.settings.folder)
    finally:
        os.umask(umask)
    assert found.keys() >= {"mtloop.db", "mtloop.db-wal", "mtloop.db-shm", "."}
    assert {name: mode for name, mode in found.items() if mode != ("0o700" if name == "." else "0o600")} == {}


def test_a_journal_is_closed_to_others(tmp_path: Path) -> None:
    file = tmp_path / "d" / "mtloop.db"
    prepare_file(file)
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript("PRAGMA journal_mode=DELETE; CREATE TABLE t (x); BEGIN; INSERT INTO t VALUES (1);")
        assert modes(file.parent)["mtloop.db-journal"] == "0o600"


def test_existing_files_are_mended_at_start_and_the_log_says_so(lite: TaskServer, log_lines: list[str]) -> None:
    lite.task()
    folder = lite.settings.folder
    with closing(sqlite3.connect(folder / "mtloop.db")) as other:
        other.execute("SELECT count(*) FROM tasks").fetchone()
        for path in (*folder.iterdir(), folder):
            path.chmod(0o755 if path.is_dir() else 0o644)
        assert "mtloop.db-wal" in modes(folder)
        log_lines.clear()
        with lite.serve():
            assert set(modes(folder).values()) == {"0o600", "0o700"}
    assert sum("it has mode 600 now" in line for line in log_lines) == 3
    assert sum("it has mode 700 now" in line for line in log_lines) == 1


def test_a_folder_with_other_things_keeps_its_rights(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("for everyone")
    tmp_path.chmod(0o755)
    (tmp_path / "mtloop.db").touch(0o644)
    prepare_file(tmp_path / "mtloop.db")
    assert modes(tmp_path) == {".": "0o755", "letter.txt": "0o644", "mtloop.db": "0o600"}


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"mtloop.db: cannot write the database: Not a directory"):
        TaskServer(Settings(folder=tmp_path / "file" / "d"), tmp_path).with_storage(lambda storage: storage.migrate())


READ_ONLY = """
mount -t tmpfs none {folder}
mkdir {folder}/d
touch {folder}/d/mtloop.db
mount -o remount,ro {folder}
for command in serve "task list" "participant add me"; do
    {python} -m mtloop $command --folder {folder}/d; echo "exit code $?"
    {python} -m mtloop $command --folder {folder}/new; echo "exit code $?"
done
"""


@pytest.mark.slow
@needs_mounts
def test_a_read_only_file_system_is_one_line(tmp_path: Path) -> None:
    done = in_mount_namespace(READ_ONLY.format(folder=tmp_path, python=sys.executable))
    assert done.stdout.split("\n")[:-1] == ["exit code 2"] * 6, done.stderr
    lines = done.stderr.splitlines()
    assert len(lines) == 6, done.stderr
    written = [line for line in lines if line.endswith("mtloop.db: cannot write the database: Read-only file system")]
    assert len(written) == 5
    assert "this folder contains no database" in lines[3]  # `task list` makes no new one
