"""What a program writes to standard error: it is passed on to the user, and its end is kept for error messages."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from typing import IO

KEPT_LINES = 3
MAX_LINE_SHOWN = 200  # characters
_TAIL = 4096  # bytes
_STDERR = 2  # the file descriptor, which exists also where sys.stderr was replaced


class ProgramMessages:
    """Reads the standard error of a program in a thread until it ends."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._pipe, self._tail = pipe, b""
        self._thread = threading.Thread(target=self._forward, daemon=True)
        self._thread.start()

    def wait(self, seconds: float) -> None:
        """Wait until everything was passed on, but no longer than this: a child of the program may still write."""
        self._thread.join(seconds)

    def last_lines(self) -> str:
        """Return the last lines as one line; empty if the program wrote nothing."""
        text = self._tail.decode(errors="backslashreplace")
        lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
        return " | ".join(map(_printable, lines[-KEPT_LINES:]))

    def _forward(self) -> None:
        with self._pipe:
            while chunk := os.read(self._pipe.fileno(), 1 << 16):
                self._tail = (self._tail + chunk)[-_TAIL:]
                with suppress(OSError):  # mtloop has no standard error
                    _write_all(chunk)


def _write_all(content: bytes) -> None:
    while content:
        content = content[os.write(_STDERR, content) :]


def _printable(line: str) -> str:
    """Return the start of a line without control characters, such as those of coloured text."""
    short = line if len(line) <= MAX_LINE_SHOWN else f"{line[:MAX_LINE_SHOWN]}…"
    return "".join(character for character in short if character.isprintable())
