"""Writing files so that nobody ever sees half of one."""

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
    """A file to write to that takes its name only when all of it is written; on any error the old one stays."""
    path = Path(path).resolve()  # a link stays a link to what is written
    if path.exists() and not path.is_file():
        raise InputError("is no file that could be written", path=path)
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
