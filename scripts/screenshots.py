"""Make the screenshots of pages that README and docs show, from real runs: make screenshots

`report.png` is the report of `mtloop demo --recorded`. `service-run.png` is the page of a run in a shared task on the
first part of the demo document: the embedded model learns from rewards by `nmt-el`, two passes.
`pages/` has every page of the service, light, dark and as on a phone (`page_pictures.py`). Needs an installed Chromium.
"""

from __future__ import annotations

import argparse
import csv
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from page_pictures import People, page_pictures
from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).parents[1]
DATA = ROOT / "mtloop" / "demo" / "manual.en-de.tsv"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
SEGMENTS, HELD_OUT, BLOCKS, PASSES = 120, 20, 4, 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "images", help="folder for the pictures")
    out = parser.parse_args().out
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        picture_of_report(browser, Path(folder), out / "report.png")
        picture_of_run(browser, Path(folder), out / "service-run.png")
        pictures_of_pages(browser, Path(folder), out / "pages")


def picture_of_report(browser: Browser, folder: Path, out: Path) -> None:
    """Photograph the first screens of the report: summary, scores, learning curves."""
    mtloop("demo", "--recorded", "--out", folder / "demo")
    page = browser.new_page(viewport={"width": 1200, "height": 1400})
    page.goto((folder / "demo" / "report.html").as_uri())
    page.wait_for_selector("article")
    page.screenshot(path=out)


def picture_of_run(browser: Browser, folder: Path, out: Path) -> None:
    """Photograph the page of a run after two passes."""
    key = create_task(folder)
    with service(folder / "data") as url:
        join = ("join", url, "--task", "demo", "--key-file", folder / "key", "--out", folder / "run.jsonl")
        mtloop(*join, "--method", "nmt-el", "--passes", PASSES)
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.goto(f"{url}/login")
        page.fill("#key", key)
        page.keyboard.press("Enter")
        page.locator("tbody th a").first.click()
        page.wait_for_selector("svg .curve")
        page.screenshot(path=out, full_page=True)


def pictures_of_pages(browser: Browser, folder: Path, out: Path) -> None:
    """Photograph all pages: of the task and its run, of the demo project, of rating campaigns."""
    organiser = mtloop("participant", "add", "committee", "--organiser", "--folder", folder / "data").strip()
    printed = folder / "printed"
    with service(folder / "data", "--demo", output=printed) as url:
        translator = printed.read_text().partition("Key:")[2].split()[0]
        people = People(url, translator, (folder / "key").read_text(), organiser)
        page_pictures(browser, people, DATA, out)


def create_task(folder: Path) -> str:
    """Create the task and a participant; return the key. Regret is measured against the references."""
    with DATA.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))[:SEGMENTS]
    for column in ("source", "target"):
        (folder / column).write_text("".join(f"{row[column]}\n" for row in rows), encoding="utf-8")
    texts = ("--source", folder / "source", "--reference", folder / "target", "--oracle", folder / "target")
    languages = ("--source-lang", "en", "--target-lang", "de")
    layout = ("--held-out", HELD_OUT, "--blocks", BLOCKS, "--folder", folder / "data")
    mtloop("task", "create", "demo", *texts, *languages, *layout)
    key = mtloop("participant", "add", "anna", "--folder", folder / "data").strip()
    (folder / "key").write_text(key)
    return key


@contextmanager
def service(folder: Path, *options: str, output: Path | None = None) -> Iterator[str]:
    """Serve the tasks and projects in a folder on a free port; yield the address. It prints into `output`."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "mtloop", "serve", "--folder", str(folder), "--port", str(port), *options]
    with (output or Path(os.devnull)).open("w") as printed:
        process = subprocess.Popen(command, stdout=printed, stderr=subprocess.DEVNULL)
        try:
            wait_for(f"http://127.0.0.1:{port}/healthz")
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait()


def wait_for(url: str, seconds: float = 600) -> None:
    end = time.monotonic() + seconds
    while True:
        try:
            with urlopen(url):
                return
        except URLError:
            if time.monotonic() > end:
                raise
            time.sleep(0.2)


def mtloop(*arguments: object) -> str:
    command = [sys.executable, "-m", "mtloop", *map(str, arguments)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


@contextmanager
def chromium() -> Iterator[Browser]:
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        raise SystemExit(f"no browser found: none of {', '.join(BROWSERS)} is in PATH")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield browser
        browser.close()


if __name__ == "__main__":
    main()
