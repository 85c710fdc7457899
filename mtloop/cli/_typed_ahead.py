"""What is typed while the engine works: it is not shown, and thrown away before a line can be edited."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

try:
    import termios
except ImportError:  # Windows
    HAS_TERMIOS = False
else:
    HAS_TERMIOS = True


@contextmanager
def without_echo() -> Iterator[None]:
    """Let the terminal not show what is typed; a line that is edited shows itself. At the end it is as before."""
    if not HAS_TERMIOS:
        yield
        return
    before = termios.tcgetattr(sys.stdin)
    quiet = list(before)
    quiet[3] &= ~termios.ECHO
    termios.tcsetattr(sys.stdin, termios.TCSANOW, quiet)
    try:
        yield
    finally:
        with suppress(termios.error):  # the terminal may be closed
            termios.tcsetattr(sys.stdin, termios.TCSANOW, before)


def discard_typed() -> None:
    """Throw away what was typed and not read yet."""
    if sys.platform == "win32":
        from msvcrt import getwch, kbhit

        while kbhit():
            getwch()
    elif HAS_TERMIOS:
        with suppress(termios.error):
            termios.tcflush(sys.stdin, termios.TCIFLUSH)
