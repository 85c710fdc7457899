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
def atomic(path: str | Path) -> Iterator[BinaryIO]:
    """Open a temporary file that replaces `path` when the block ends; on any error the old file stays."""
    path = Path(path).resolve()  # a symbolic link stays a link; its target is replaced
    if path.exists() and not path.is_file():
        raise InputError("is not a regular file and cannot be overwritten; choose another file name", path=path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(0o666 & ~_umask())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def write_text(path: str | Path, text: str) -> None:
    """Write a whole text file atomically, as UTF-8."""
    with atomic(path) as file:
        file.write(text.encode())


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
