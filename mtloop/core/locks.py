"""Locks between processes, on every system. The operating system holds them: a lock ends when its process ends.

A lock is taken on a file. Windows lets nobody read a locked file, so there a trace is locked through an empty file
beside it, `NAME.lock`. On a file system without locks, every lock is granted.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

WINDOWS = sys.platform == "win32"
POLL_SECONDS = 0.1


@dataclass(frozen=True)
class FileLock:
    """A lock that is held. `temporary`: its file exists only for the lock and is removed with it."""

    path: Path
    file: BinaryIO
    temporary: bool = True

    def release(self) -> None:
        """End the lock."""
        self.file.close()
        if self.temporary:
            with suppress(OSError):  # another process has taken or removed the file
                _remove_unused(self.path)


@contextmanager
def locked(path: Path, *, on_wait: Callable[[], None] = lambda: None) -> Iterator[FileLock]:
    """Hold the lock file `path` during a block. If another process holds it, call `on_wait` once and wait.

    with locked(folder / ".lock", on_wait=lambda: print("another search is running here; waiting for it")):
        search()
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = try_lock(path)
    if lock is None:
        on_wait()
    while lock is None:
        time.sleep(POLL_SECONDS)
        lock = try_lock(path)
    try:
        yield lock
    finally:
        lock.release()


def try_lock(path: Path, *, temporary: bool = True) -> FileLock | None:
    """Lock the file `path`, created if missing. Return None if it is locked, by this process or another."""
    while True:
        with ExitStack() as opened:
            file = opened.enter_context(path.open("ab"))
            if not _take(file):
                return None
            if _is_at(path, file):  # else: its last holder removed the file after it was opened here
                opened.pop_all()
                return FileLock(path, file, temporary)


def try_write_lock(path: Path) -> FileLock | None:
    """Lock a file for one writer. Everybody can still read it. Return None if there is another writer."""
    if WINDOWS:
        return try_lock(path.with_name(f"{path.name}.lock"))
    return try_lock(path, temporary=False)


def _take(file: BinaryIO) -> bool:
    from filelock import lock_descriptor  # takes longer to import than the rest of this room

    try:
        return lock_descriptor(file.fileno(), blocking=False)
    except OSError:  # the file system has no locks
        return True


def _is_at(path: Path, file: BinaryIO) -> bool:
    """Whether the open file is still the one at this path."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def _remove_unused(path: Path) -> None:
    """Remove a lock file that no process holds. Windows refuses to remove a file that is open."""
    if WINDOWS:
        path.unlink()
        return
    with path.open("r+b") as file:
        if _take(file):
            path.unlink()
