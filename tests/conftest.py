"""Settings and fixtures for all tests."""

from __future__ import annotations

import gc
import logging
import os
import sys
from collections.abc import Callable, Iterator
from ipaddress import ip_address
from pathlib import Path

import pytest
from hypothesis import settings

os.environ["OMP_NUM_THREADS"] = "1"  # tests run in parallel, and a forked child of a test must not wait for threads

settings.register_profile("mtloop", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("mtloop")

SLOW_PAGES = ("docs/how-to/python.md",)
ALLOWED_SKIPS = Path(__file__).with_name("allowed_skips.txt")


def refuse_other_machines(event: str, arguments: tuple[object, ...]) -> None:
    """Raise for a connection to another machine: the tests reach this one only."""
    if event == "socket.connect" and isinstance(address := arguments[1], tuple) and not is_here(str(address[0])):
        raise PermissionError(f"a test connects to {address[0]}; tests reach this machine only")


def is_here(host: str) -> bool:
    try:
        address = ip_address(host)
    except ValueError:
        return host == "localhost"
    return address.is_loopback or address.is_unspecified


sys.addaudithook(refuse_other_machines)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the examples of pages that take long: their doctests cannot carry a mark."""
    for item in items:
        if item.nodeid.startswith(SLOW_PAGES):
            item.add_marker(pytest.mark.slow)


def pytest_collection_finish() -> None:
    """Take the imported modules out of the garbage collection, which otherwise takes half a second with torch."""
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """With CI=true, a skipped test that is not in allowed_skips.txt makes the run fail."""
    if unexpected_skips(session.config) and session.exitstatus in (
        pytest.ExitCode.OK,
        pytest.ExitCode.NO_TESTS_COLLECTED,
    ):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for name in unexpected_skips(terminalreporter.config):
        terminalreporter.write_line(
            f"ERROR {name} was skipped, and tests/{ALLOWED_SKIPS.name} does not list it", red=True
        )


def unexpected_skips(config: pytest.Config) -> list[str]:
    """Return the tests and modules whose skip is not allowed; in a worker of pytest-xdist, nothing."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("CI") != "true" or reporter is None:
        return []
    lines = ALLOWED_SKIPS.read_text(encoding="utf-8").splitlines()
    allowed = {line.split()[0] for line in lines if line.strip() and not line.startswith("#")}
    return sorted({report.nodeid for report in reporter.stats.get("skipped", ())} - allowed)


@pytest.fixture(autouse=True)
def _torch_settings() -> Iterator[None]:
    """Restore what a run in this process changes in torch: denormal numbers become zero, and threads become more.

    Tests run in as many processes as there are cores. More threads there wait for each other, for minutes.
    """
    yield
    if torch := sys.modules.get("torch"):
        torch.set_flush_denormal(False)
        if torch.get_num_threads() > 1:
            torch.set_num_threads(1)


@pytest.fixture
def log_messages(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the messages of mtloop's logger, which grow during the test."""
    messages: list[str] = []
    handler = logging.Handler()
    monkeypatch.setattr(handler, "emit", lambda record: messages.append(record.getMessage()))
    monkeypatch.setattr(logging.getLogger("mtloop"), "handlers", [handler])
    return messages


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, bytes | str], Path]:
    """Return a function that writes a file to the temporary folder of the test and returns its path."""

    def _write(name: str, content: bytes | str) -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return _write
