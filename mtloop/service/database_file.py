"""The file of an SQLite database. It holds references and hashes of keys, so only its owner may read it."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

from mtloop.core.errors import InputError
from mtloop.service.telemetry import LOGGER

FILE_MODE, FOLDER_MODE = 0o600, 0o700
OTHERS = 0o077  # what the group and everybody else may do
BESIDE = ("", "-wal", "-shm", "-journal")  # the files of SQLite: the database, and what it writes beside it
MIN_FREE_BYTES = 1 << 20
START = b"SQLite format 3\0"  # of every file of SQLite that is not empty


def prepare_file(file: Path) -> None:
    """Create the file and its folder if they are missing; take the rights of others away from existing ones.

    SQLite gives the files that it writes beside the database the same rights.
    """
    try:
        file.parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        os.close(os.open(file, os.O_RDWR | os.O_CREAT, FILE_MODE))
    except OSError as error:
        raise InputError(f"cannot write the database: {error.strerror or error}", path=file) from error
    _check_start(file)
    if os.name == "posix":
        _close_to_others(file)


def check_free_space(folder: Path) -> None:
    """Raise OSError if the disk is full. A tiny write can succeed on a full disk, in space that SQLite has already."""
    usage = shutil.disk_usage(folder)
    if usage.total and usage.free < MIN_FREE_BYTES:
        raise OSError(errno.ENOSPC, f"less than {MIN_FREE_BYTES} bytes are free on the disk of the database")


def _check_start(file: Path) -> None:
    """Raise InputError for a file that is not a database, before anything is changed."""
    with file.open("rb") as opened:
        if opened.read(len(START)) not in (b"", START):
            raise InputError("is not an SQLite database; check --folder or --database", path=file)


def _close_to_others(file: Path) -> None:
    files = [file.with_name(file.name + end) for end in BESIDE]
    own = {one.name for one in files}
    # A folder that holds other things too may be meant for others: then the rights of the files protect the database.
    folders = [file.parent] if all(one.name in own for one in file.parent.iterdir()) else []
    for path in (*files, *folders):
        _mend(path)


def _mend(path: Path) -> None:
    try:
        mode = path.stat().st_mode & 0o777
        if not mode & OTHERS:
            return
        path.chmod(mode & ~OTHERS)
    except FileNotFoundError:  # SQLite removes the files beside the database
        return
    except OSError as error:
        LOGGER.warning("%s can be read by others and cannot be changed: %s", path, error.strerror)
        return
    LOGGER.warning("%s could be used by others (mode %o); it has mode %o now", path, mode, mode & ~OTHERS)
