"""Time the workbench with a large document against a small one, in a real browser.

    python benchmarks/workbench.py                          5,000 segments against 50, the embedded model
    python benchmarks/workbench.py --large 2000 --repeats 20

The server has one web process and one engine. Two parts, in turn for both documents, so that both meet
the same load of the machine:

- Opening the page: from the request until a segment can be edited and the list is shown.
- Confirming: from Ctrl+Enter until the next segment is open.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx2
from playwright.sync_api import Browser, Page, sync_playwright

from mtloop.service.administration import Administration
from mtloop.service.server import listen
from mtloop.service.settings import Settings

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
PROJECT = "bench"
WAIT = """(before) => new Promise((resolve) => {
  const check = () => (editor.index !== before && editor.box ? resolve() : requestAnimationFrame(check));
  check();
})"""  # until another segment than this can be edited


@dataclass
class Opened:
    """A document of the benchmark: its address, and seconds of what was done in it."""

    url: str
    opening: list[float] = field(default_factory=list)
    confirming: list[float] = field(default_factory=list)


def main(argv: Sequence[str] | None = None) -> None:
    options = parse(argv)
    with tempfile.TemporaryDirectory() as folder:
        settings, key = prepare(Path(folder), options.model)
        with serving(settings, Path(folder) / "log"), chromium() as browser:
            url = f"http://127.0.0.1:{settings.port}"
            with httpx2.Client(base_url=url, headers={"x-api-key": key}, timeout=600) as client:
                wait_for(client)
                small, large = (upload(client, size) for size in (options.small_size, options.large))
            measure(signed_in(browser, url, key), url, (small, large), options.repeats)
    sizes = f"{options.large:,} segments against {options.small_size:,}"
    print_ratio(f"opening    {sizes}", small.opening, large.opening)
    print_ratio(f"confirming {sizes}", small.confirming, large.confirming)


def measure(page: Page, url: str, documents: Sequence[Opened], repeats: int) -> None:
    """Open each document and confirm a segment in it, in turn. The first time warms everything up."""
    for number in range(repeats + 1):
        for document in documents:
            opening, confirming = open_page(page, url + document.url), confirm(page, number)
            if number:
                document.opening.append(opening)
                document.confirming.append(confirming)


def open_page(page: Page, url: str) -> float:
    start = time.perf_counter()
    page.goto(url)
    page.evaluate(WAIT, -1)
    return time.perf_counter() - start


def confirm(page: Page, number: int) -> float:
    """Type a text and confirm it; wait until another segment is active."""
    page.keyboard.press("Control+A")
    page.keyboard.insert_text(f"Satz {number}.")
    before = page.evaluate("editor.index")
    start = time.perf_counter()
    page.keyboard.press("Control+Enter")
    page.evaluate(WAIT, before)
    return time.perf_counter() - start


def print_ratio(name: str, small: Sequence[float], large: Sequence[float]) -> None:
    few, many = statistics.median(small), statistics.median(large)
    print(f"{name}: {many * 1000:7.1f} ms against {few * 1000:7.1f} ms, ratio {many / few:.2f}")


def prepare(folder: Path, model: str) -> tuple[Settings, str]:
    """The settings of a server, and the key of a participant in it."""
    with listen("127.0.0.1", 0) as probe:
        port = int(probe.getsockname()[1])
    settings = Settings(folder=folder / "data", models=model, port=port, rate=0, quota=0, engine_linger=1)
    return settings, Administration(settings).add_participant("ann")


@contextmanager
def serving(settings: Settings, log: Path) -> Iterator[None]:
    with log.open("ab") as file:
        command = [sys.executable, "-m", "mtloop", "serve"]
        process = subprocess.Popen(command, env=os.environ | settings.environment(), stdout=file, stderr=file)
    try:
        yield
    finally:
        process.terminate()
        process.wait(60)


def wait_for(client: httpx2.Client) -> None:
    for _ in range(600):
        try:
            client.post("/v1/projects", json={"name": PROJECT, "source_language": "en", "target_language": "de"})
        except httpx2.TransportError:
            time.sleep(0.1)
        else:
            return
    raise SystemExit("the server did not start")


def upload(client: httpx2.Client, size: int) -> Opened:
    """A document with so many segments, all different."""
    content = "".join(f"Open the drawer {number} and close it again.\n" for number in range(size)).encode()
    answer = client.post(f"/v1/projects/{PROJECT}/documents", params={"name": f"{size}.txt"}, content=content)
    if answer.status_code != 201:
        raise SystemExit(answer.text)
    return Opened(f"/projects/{PROJECT}/documents/{answer.json()['document']}")


@contextmanager
def chromium() -> Iterator[Browser]:
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        raise SystemExit(f"no browser found: none of {', '.join(BROWSERS)} is in PATH")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield browser
        browser.close()


def signed_in(browser: Browser, url: str, key: str) -> Page:
    page = browser.new_page()
    page.goto(f"{url}/login")
    page.fill("#key", key)
    page.keyboard.press("Enter")
    page.wait_for_url(lambda here: not here.endswith("/login"))
    return page


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="en-de")
    parser.add_argument("--large", type=int, help="segments of the large document (default: 5000)")
    parser.add_argument("--small-size", type=int, default=50, help="segments of the small document")
    parser.add_argument("--repeats", type=int, help="times that each page is opened (default: 20)")
    parser.add_argument("--small", action="store_true", help="a run of seconds, to check that the script works")
    options = parser.parse_args(argv)
    large, repeats = (200, 2) if options.small else (5000, 20)
    options.large = large if options.large is None else options.large
    options.repeats = repeats if options.repeats is None else options.repeats
    return options


if __name__ == "__main__":
    main()
