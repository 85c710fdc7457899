"""The main path through the workbench in a real browser; scripts in texts, and requests of other sites."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from helpers.browser import chromium
from helpers.served_projects import ServedProjects, serving_projects
from helpers.workbench import SOURCES, Bench, api, confirmed, document_of, po_file
from playwright.sync_api import Browser, expect

HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script> {{ 7 * 7 }} Close it."


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


def test_a_script_in_a_segment_is_shown_as_text(browser: Browser, served: ServedProjects) -> None:
    document = document_of(served, "hostile", (HOSTILE, "Close the tray."))
    bench = Bench.sign_in(browser, served.url, served.key)
    page = bench.open_document("hostile", document)
    assert bench.row(1).locator(".source").inner_text() == HOSTILE
    bench.type_over(HOSTILE)
    page.keyboard.press("Control+Enter")
    expect(bench.row(1)).to_have_class(re.compile("is-confirmed"))
    page.fill("#concordance", "onerror")
    page.keyboard.press("Enter")
    expect(page.locator("#hits mark").first).to_have_text("onerror")
    page.fill("#search", "<script>")
    expect(page.locator("#rows li")).to_have_count(1)
    assert page.locator("#rows img, #rows script, #hits img, #details img").count() == 0
    bench.check_no_errors()


def test_requests_of_other_sites_are_refused(served: ServedProjects) -> None:
    """A cookie alone is no key: a request needs the header that only our pages can send."""
    document = document_of(served, "guarded")
    with httpx2.Client(base_url=served.url) as client:
        answer = client.post("/login", data={"key": served.key})
        assert {"httponly", "samesite=strict", "path=/"} <= set(answer.headers["set-cookie"].lower().split("; "))
        page = client.get(f"/projects/guarded/documents/{document}")
        policy = page.headers["content-security-policy"]
        assert page.status_code == 200
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert "<script>" not in page.text
        assert "onclick" not in page.text
        path = f"/v1/projects/guarded/documents/{document}/units/0/confirm"
        body = {"text": "Zu.", "version": 0}
        assert client.post(path, json=body).status_code in (401, 403)
        foreign = {"x-mtloop-page": "1", "origin": "https://elsewhere.example"}
        assert client.post(path, json=body, headers=foreign).status_code in (401, 403)
        assert confirmed(served, "guarded", document) == {}
        own = {"x-mtloop-page": "1", "origin": served.url}
        assert client.post(path, json=body | {"version": _version(served, document)}, headers=own).status_code == 200
        assert client.get("/projects/guarded/documents/" + "0" * 32).status_code == 404
    with httpx2.Client(base_url=served.url) as stranger:
        assert stranger.get(f"/projects/guarded/documents/{document}").headers["location"] == "/login"


def _version(served: ServedProjects, document: str) -> int:
    with api(served) as client:
        return int(client.get(f"/projects/guarded/documents/{document}/units").json()["units"][0]["version"])
