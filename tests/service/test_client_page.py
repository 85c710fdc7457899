"""Run the shell and Python blocks of the pages about shared tasks, in their order: how-to, tutorial, README."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"```(sh|python)(?: title=(\S+))?\n(.*?)```", re.DOTALL)
PRINTED = re.compile(r"```text\n(.*?)```", re.DOTALL)


def script(page: str) -> Iterator[str]:
    """A page as one shell script. Background processes end with it."""
    yield "set -euo pipefail; trap 'kill $(jobs -p)' EXIT"
    for language, title, text in BLOCK.findall(page):
        if title:
            yield f"cat > {title} <<'END'\n{text}END"
        else:
            yield text if language == "sh" else f"python - <<'END'\n{text}END"


def run(page: str, folder: Path) -> str:
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    (folder / "clients").symlink_to(ROOT / "clients")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    text = "\n".join(script(page)).replace("localhost:8017", f"127.0.0.1:{port}")
    environment = os.environ | {"PATH": path, "MTLOOP_PORT": str(port), "PYTHONPATH": str(ROOT)}
    with (folder / "log").open("w+") as log:  # a pipe would stay open as long as the service runs
        process = subprocess.Popen(
            ["bash", "-c", text], cwd=folder, env=environment, stdout=log, stderr=log, start_new_session=True
        )
        try:
            process.wait(timeout=300)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # and all processes that it started
        log.seek(0)
        output = log.read()
    assert process.returncode == 0, output
    return output


@pytest.mark.skipif(shutil.which("javac") is None or shutil.which("curl") is None, reason="needs a JDK and curl")
@pytest.mark.slow
def test_all_commands_of_the_client_page(tmp_path: Path) -> None:
    output = run((ROOT / "docs/how-to/take-part-in-a-task.md").read_text(encoding="utf-8"), tmp_path)
    assert "OPEN THE DRAWER" in output
    assert output.count('"reward":1.0') == 2
    assert '"pass":2' in output
    assert "3 sentences, mean reward" in output


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
@pytest.mark.slow
def test_all_commands_of_the_first_shared_task(tmp_path: Path) -> None:
    page = (ROOT / "docs/tutorials/first-shared-task.md").read_text(encoding="utf-8")
    output = run(page, tmp_path)
    for expected in PRINTED.findall(page):
        assert re.search(".*".join(map(re.escape, expected.strip().split("..."))), output, re.DOTALL), output


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_the_shared_task_of_the_readme(tmp_path: Path) -> None:
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    output = run(page.partition("## A shared task")[2].partition("\n## ")[0], tmp_path)
    assert '"source":"open the drawer"' in output
    assert '"reward":1.0,"next":{' in output
