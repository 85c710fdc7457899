"""The main path through the workbench in a real browser."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.browser import chromium
from helpers.served_projects import ServedProjects, serving_projects
from helpers.workbench import SOURCES, Bench, po_file
from playwright.sync_api import Browser, expect


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedProjects]:
    with serving_projects(tmp_path_factory.mktemp("workbench")) as served:
        yield served


@pytest.fixture(scope="module")
def browser(served: ServedProjects) -> Iterator[Browser]:
    """It starts after the service, which is prepared in an event loop of its own."""
    expect.set_options(timeout=20_000)  # the machine may be slow
    with chromium() as browser:
        yield browser
    expect.set_options(timeout=5_000)


def test_ten_segments_from_the_file_to_the_download(browser: Browser, served: ServedProjects, tmp_path: Path) -> None:
    """A correction changes the suggestion of a later, equal segment; undo changes it back."""
    served.create("ten")
    sources = [*SOURCES[:9], SOURCES[0]]
    (tmp_path / "de.po").write_bytes(po_file(sources))
    bench = Bench.sign_in(browser, served.url, served.key, viewport={"width": 1280, "height": 1400})
    page = bench.open("/projects/ten")
    page.set_input_files("#file", tmp_path / "de.po")
    expect(bench.editor).to_be_focused()
    last = bench.row(10).locator(".open-row")
    expect(bench.row(10)).to_have_class(re.compile("is-suggested"))
    expect(bench.row(10).locator(".state")).to_have_text("suggestion")
    before = last.inner_text()

    bench.confirm("Schließen Sie die Kassette.")
    bench.wait_for_active(2)
    expect(last).to_have_text("Schließen Sie die Kassette.")
    expect(bench.row(10)).to_have_class(re.compile("is-changed"))
    page.wait_for_function("CSS.highlights.get('learned')?.size > 0")

    bench.row(1).get_by_role("button", name="Undo the confirmation").click()
    expect(last).to_have_text(before)
    bench.row(1).locator(".source").click()
    assert bench.text() == "Schließen Sie die Kassette.", "the text that was confirmed is a draft"
    page.keyboard.press("Control+Enter")

    for number, source in enumerate(sources[1:9], start=2):
        bench.wait_for_active(number)
        bench.confirm(f"{source[:-1]} auf Deutsch %s.".replace(" %s", "") if "%" not in source else "Datei %s öffnen.")
    bench.wait_for_active(10)
    assert bench.text() == "Schließen Sie die Kassette."
    page.keyboard.press("Control+Enter")
    expect(page.locator("#said")).to_contain_text("All segments are done")
    with page.expect_download() as download:
        page.keyboard.press("Enter")
    done = Path(download.value.path())
    subprocess.run(["msgfmt", "-c", "-o", str(tmp_path / "de.mo"), str(done)], check=True)
    assert done.read_text(encoding="utf-8").count("Schließen Sie die Kassette.") == 2
    bench.check_no_errors()
