"""Run the console examples of the docs."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from helpers.forked import run_forked

import mtloop.nmt.engine.marian  # noqa: F401  (torch is imported here, not in each child)
from mtloop.cli import main

# A command of mtloop alone, or with one line of input.
PLAIN = re.compile(r"(?:echo '([^']*)' \| )?mtloop ([^|<>;&$*#]+)(?:  #.*)?")


def run_console(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command line in a folder. A pipe fails if one of its commands fails, unless `head` closes it."""
    path = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    if (plain := PLAIN.fullmatch(command)) and "smt" not in command:  # Thot's threads would block a forked child
        return run_forked(lambda: _run_plain(plain[2], folder, path), stdin=f"{plain[1]}\n" if plain[1] else "")
    line = ["bash", *([] if "| head" in command else ["-o", "pipefail"]), "-c", command]
    return subprocess.run(line, cwd=folder, env=os.environ | path, capture_output=True, text=True, timeout=120)


def _run_plain(arguments: str, folder: Path, environment: dict[str, str]) -> None:
    os.chdir(folder)
    os.environ |= environment
    main(shlex.split(arguments))
