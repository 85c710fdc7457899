"""A pseudo-terminal: a command of mtloop runs in it, in a forked child, and the test types and reads."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import sys
import time
import traceback
import warnings
from codecs import getincrementaldecoder
from collections.abc import Sequence
from contextlib import suppress
from fcntl import ioctl
from struct import pack
from termios import TIOCSWINSZ
from types import TracebackType

from mtloop.cli import main

DEADLINE = 30.0  # seconds
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b[()][A-Z0-9]|\x1b[=>78]|\x1b\][^\x07]*\x07|\r")
UNFINISHED = re.compile(r"\x1b[^A-Za-z=>78]*$")
CURSOR_REQUEST = b"\x1b[6n"
KEYS = {"enter": "\r", "tab": "\t", "ctrl-s": "\x13", "ctrl-c": "\x03", "ctrl-a": "\x01", "ctrl-k": "\x0b"}
KEYS |= {"ctrl-d": "\x04", "pgup": "\x1b[5~", "pgdn": "\x1b[6~", "f1": "\x1bOP", "f2": "\x1bOQ", "f3": "\x1bOR"}
KEYS |= {"f4": "\x1bOS", "alt-enter": "\x1b\r", "end": "\x1b[F"}


class Terminal:
    """A terminal in which one command runs. Use it in a `with` block, which kills the command if it still runs."""

    def __init__(self, *arguments: object, columns: int = 100, rows: int = 40) -> None:
        self.output = ""
        self._raw, self._decoder = "", getincrementaldecoder("utf-8")(errors="replace")
        self.code: int | None = None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # a fork with threads: the child uses none of them
            self._child, self._terminal = pty.fork()
        if not self._child:
            _run([str(argument) for argument in arguments])
        ioctl(self._terminal, TIOCSWINSZ, pack("HHHH", rows, columns, 0, 0))

    def wait_for(self, text: str, timeout: float = DEADLINE) -> str:
        """Read until a text comes. Return what came before it and the text, and forget that part of the output."""
        end = time.monotonic() + timeout
        while text not in self.output:
            if time.monotonic() > end or not self._read(end - time.monotonic()):
                raise AssertionError(f"{text!r} did not come; the terminal shows: {self.output[-3000:]}")
        before, _, self.output = self.output.partition(text)
        return before + text

    def type(self, *keys: str) -> None:
        """Press keys: the names of KEYS, or texts."""
        for key in keys:
            os.write(self._terminal, KEYS.get(key, key).encode())

    def replace(self, text: str) -> None:
        """Delete the line and type another text."""
        self.type("ctrl-a", "ctrl-k", text)

    def kill(self) -> None:
        """Kill the command, as `kill -9` does."""
        os.kill(self._child, signal.SIGKILL)
        self.wait_for_end()

    def wait_for_end(self, timeout: float = DEADLINE) -> str:
        """Read until the command ends; set `code`. Return the rest of the output."""
        end = time.monotonic() + timeout
        while self._read(end - time.monotonic()):
            if time.monotonic() > end:
                raise AssertionError(f"the command does not end; the terminal shows: {self.output[-3000:]}")
        _, status = os.waitpid(self._child, 0)
        self.code = os.waitstatus_to_exitcode(status)
        return self.output

    def _read(self, timeout: float) -> bool:
        """Read what is there. Return False at the end of the output."""
        ready, _, _ = select.select([self._terminal], [], [], max(0.0, timeout))
        if not ready:
            return True
        try:
            content = os.read(self._terminal, 65536)
        except OSError:  # the command has ended
            return False
        if CURSOR_REQUEST in content:  # the program asks where the cursor is
            os.write(self._terminal, b"\x1b[1;1R")
        self._raw += self._decoder.decode(content)
        complete = UNFINISHED.sub("", self._raw)
        self.output += ESCAPES.sub("", complete)
        self._raw = self._raw[len(complete) :]
        return bool(content)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if self.code is None:
            with suppress(OSError, AssertionError):
                self.kill()
        os.close(self._terminal)


def _run(arguments: Sequence[str]) -> None:
    """Run a command in the child; never return to the test."""
    code = 1
    try:
        os.environ["TERM"] = "xterm"
        streams = [os.fdopen(number, mode, encoding="utf-8") for number, mode in ((0, "r"), (1, "w"), (2, "w"))]
        sys.stdin, sys.stdout, sys.stderr = sys.__stdin__, sys.__stdout__, sys.__stderr__ = streams
        main(list(arguments))
        code = 0
    except SystemExit as stop:
        code = int(stop.code or 0)
    except BaseException:
        traceback.print_exc()
    finally:
        with suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)
