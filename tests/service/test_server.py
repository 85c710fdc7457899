"""Processes of the service: workers end with their parent, and a killed service leaves no folder for ever."""

from __future__ import annotations

import json
import os
import re
import tempfile
import time
from pathlib import Path

import pytest
from helpers.serving import serving
from helpers.tiers import slow

from mtloop.core.errors import InputError
from mtloop.service.server import listen
from mtloop.service.telemetry import FOLDER, NEW_SECONDS, OWNER, metrics_folder


def is_free(port: int) -> bool:
    try:
        listen("127.0.0.1", port).close()
    except InputError:
        time.sleep(0.1)
        return False
    return True


@pytest.mark.skipif(os.name == "nt", reason="rights of files are those of POSIX")
@pytest.mark.parametrize("workers", ["1", slow("2")])
def test_the_address_is_printed_and_every_log_line_is_json(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], workers: str
) -> None:
    folder = tmp_path / "data"
    folder.mkdir(0o755)
    (folder / "mtloop.db").touch(0o644)
    with serving(folder, "--workers", workers) as (port, _, log):
        pass
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    assert capfd.readouterr().out == f"http://127.0.0.1:{port}\n"
    (listening,) = (line for line in lines if line["event"] == "listening")
    assert listening["address"] == f"http://127.0.0.1:{port}"
    assert sum("mtloop.db could be used by others" in line["event"] for line in lines) == 1
    migrated = [line for line in lines if line["event"] == "database migrated"]
    assert migrated
    assert all((line["from"], len(line["to"])) == (None, 4) for line in migrated)
    log.unlink()
    with serving(folder):
        pass
    assert "database migrated" not in log.read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="kill -9")
def test_workers_end_when_their_parent_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with serving(tmp_path / "data", "--workers", "2") as (port, process, log):
        assert not is_free(port)
        process.kill()
        process.wait(30)
        assert any(is_free(port) for _ in range(300))
        workers = re.findall(r"Started server process \[(\d+)\]", log.read_text(encoding="utf-8"))
        assert len(workers) == 2
        assert any(not alive(workers) for _ in range(300))
    (left,) = tmp_path.glob(f"{FOLDER}*")
    assert (left / OWNER).is_file()


def alive(pids: list[str]) -> list[str]:
    found = []
    for pid in pids:
        try:
            os.kill(int(pid), 0)
            found.append(pid)
        except ProcessLookupError:
            continue
    time.sleep(0.1 if found else 0)
    return found


def test_folders_of_killed_services_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    killed, starting, foreign = (tmp_path / f"{FOLDER}{name}" for name in ("killed", "starting", "foreign"))
    for folder in (killed, starting, foreign):
        folder.mkdir()
        (folder / "counter_1.db").write_bytes(b"")
    for folder in (killed, starting):
        (folder / OWNER).touch()
    with metrics_folder() as running:
        for folder in (killed, running):
            long_ago = time.time() - NEW_SECONDS - 1
            os.utime(folder / OWNER, (long_ago, long_ago))
        with metrics_folder() as second:
            assert set(tmp_path.iterdir()) == {running, second, starting, foreign}
    assert set(tmp_path.iterdir()) == {starting, foreign}
