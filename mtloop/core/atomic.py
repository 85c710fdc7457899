"""Atomic file writing: readers see the old file or the complete new one, never a part."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from mtloop.core.errors import InputError


@contextmanager
def atomic(path: str | Path, mode: int | None = None) -> Iterator[BinaryIO]:
    """Open a temporary file that replaces `path` when the block ends; on any error the old file stays.

    `mode` is that of the new file (None: the usual one, which the umask gives).
    """
    path = Path(path).resolve()  # a symbolic link stays a link; its target is replaced
    if path.exists() and not path.is_file():
        raise InputError("is not a regular file and cannot be overwritten; choose another file name", path=path)
    handle, temporary = _temporary_file(path)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(0o666 & ~_umask() if mode is None else mode)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _temporary_file(path: Path) -> tuple[int, str]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    except OSError as error:  # it names the temporary file, which the user does not know
        raise OSError(error.errno, error.strerror, str(path)) from error


def write_text(path: str | Path, text: str) -> None:
    """Write a whole text file atomically, as UTF-8."""
    with atomic(path) as file:
        file.write(text.encode())


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
