"""The service in a separate process, on a free local port."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from helpers.free_ports import free_port


@contextmanager
def serving(folder: Path, *options: str, port: int = 0) -> Iterator[tuple[int, subprocess.Popen[bytes], Path]]:
    """Run `mtloop serve` on a folder, at a free port unless one is given; yield its port, process and log file."""
    port = port or free_port()
    log = folder.parent / "log.jsonl"
    command = [sys.executable, "-m", "mtloop", "serve", "--folder", str(folder), "--port", str(port), *options]
    with log.open("ab") as errors:
        process = subprocess.Popen(command, stderr=errors, env=os.environ | {"OMP_NUM_THREADS": "1"})
    try:
        _wait_until_ready(f"http://127.0.0.1:{port}/readyz")
        yield port, process, log
    finally:
        process.terminate()
        process.wait(30)


def _wait_until_ready(url: str) -> None:
    for _ in range(600):
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except OSError:
            time.sleep(0.1)
    raise AssertionError("the service did not start within 60 seconds")
