"""What must not go wrong at the workbench: lost work, overwritten work."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from helpers.accessibility import accessibility_faults
from helpers.browser import chromium
from helpers.served_projects import ServedProjects, serving_projects
from helpers.serving import serving
from helpers.workbench import SOURCES, Bench, api, confirmed, document_of, po_file, upload
from playwright.sync_api import Browser, FilePayload, Route, expect

from mtloop.service.administration import Administration
from mtloop.service.settings import Settings

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedProjects]:
    with serving_projects(tmp_path_factory.mktemp("safety")) as served:
        yield served


@pytest.fixture(scope="module")
def other_key(served: ServedProjects) -> str:
    """The key of a second person, who works in the same projects."""
    return Administration(Settings(folder=served.folder)).add_participant("cara")


@pytest.fixture(scope="module")
def browser(served: ServedProjects, other_key: str) -> Iterator[Browser]:
    """It starts after the service, which is prepared in an event loop of its own."""
    expect.set_options(timeout=20_000)  # the machine may be slow
    with chromium() as browser:
        yield browser
    expect.set_options(timeout=5_000)


def test_a_killed_server_loses_nothing(browser: Browser, tmp_path: Path, served: ServedProjects) -> None:
    """The server is killed between a confirmation and the next, which is made while it is away."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("MTLOOP_ENGINE_LINGER", "1")
        environment.delenv("MTLOOP_KEY", raising=False)
        key = _in_own_loop(lambda: Administration(Settings(folder=tmp_path / "data")).add_participant("dora"))
        with serving(tmp_path / "data", "--models", served.model) as (port, process, _):
            here = ServedProjects(f"http://127.0.0.1:{port}", key, served.model, tmp_path / "data")
            here.create("killed")
            document = upload(here, "killed", po_file(SOURCES))
            bench = Bench.sign_in(browser, here.url, key)
            bench.open_document("killed", document)
            bench.confirm("Schließen Sie das Fach.")
            bench.wait_for_active(2)
            process.kill()
            process.wait()
            bench.type_over("Datei %s öffnen.")
            bench.page.keyboard.press("Control+Enter")
            expect(bench.row(2)).to_contain_text("waits for the connection")
            bench.wait_for_active(3)
            bench.type_over("Bild spei")
            expect(bench.page.locator("#connection")).to_contain_text("No connection")
        with serving(tmp_path / "data", "--models", served.model, port=port):
            expect(bench.row(2)).to_have_class(re.compile("is-confirmed"), timeout=30_000)
            expect(bench.page.locator("#connection")).to_have_text("Everything is saved")
            assert bench.text() == "Bild spei"
            assert confirmed(here, "killed", document) == {0: "Schließen Sie das Fach.", 1: "Datei %s öffnen."}


def _in_own_loop(make: Any) -> str:
    """Run what needs an event loop of its own: this thread has that of the browser."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        return str(pool.submit(make).result())


def test_a_closed_tab_and_a_dead_connection_lose_nothing(browser: Browser, served: ServedProjects) -> None:
    document = document_of(served, "closed")
    bench = Bench.sign_in(browser, served.url, served.key)
    page = bench.open_document("closed", document)
    page.context.set_offline(True)
    bench.type_over("Fach zu.")
    page.keyboard.press("Control+Enter")
    expect(bench.row(1)).to_contain_text("waits for the connection")
    bench.type_over("Datei %s offen")
    expect(page.locator("#connection")).to_contain_text("No connection")
    page.context.set_offline(False)  # the tab is closed before it can send anything
    page.close(run_before_unload=False)

    again = Bench(bench.page.context.new_page(), served.url, [], [])
    again.open_document("closed", document)
    again.wait_for_active(2)
    expect(again.row(1)).to_have_class(re.compile("is-confirmed"))
    assert again.text() == "Datei %s offen"
    expect(again.page.locator("#connection")).to_have_text("Everything is saved")
    assert confirmed(served, "closed", document) == {0: "Fach zu."}
    with api(served) as client:
        units = client.get(f"/projects/closed/documents/{document}/units").json()["units"]
    assert units[1]["draft"]["text"] == "Datei %s offen"


@dataclass
class Held:
    """Requests that are held back until `release`."""

    routes: list[Route] = field(default_factory=list)
    is_released: bool = False

    def take(self, route: Route) -> None:
        if self.is_released:
            route.continue_()
        else:
            self.routes.append(route)

    def release(self) -> None:
        self.is_released = True
        for route in self.routes:
            route.continue_()


def hold(bench: Bench, pattern: str) -> Held:
    """Hold back the requests to an address."""
    held = Held()
    bench.page.route(pattern, lambda route: held.take(route))
    return held


def test_what_is_typed_during_a_confirmation_stays(browser: Browser, served: ServedProjects) -> None:
    document = document_of(served, "during")
    bench = Bench.sign_in(browser, served.url, served.key)
    page = bench.open_document("during", document)
    held = hold(bench, "**/confirm")
    bench.type_over("Fach zu.")
    with page.expect_request("**/confirm"):
        page.keyboard.press("Control+Enter")
    bench.type_over("Fach schließen.")
    held.release()
    expect(bench.row(1)).to_have_class(re.compile("is-confirmed"))
    assert (bench.active(), bench.text()) == (1, "Fach schließen."), "the page does not move on"
    expect(page.locator("#connection")).to_have_text("Everything is saved")
    assert confirmed(served, "during", document) == {0: "Fach zu."}
    bench.row(2).locator(".source").click()
    bench.row(1).locator(".source").click()
    assert bench.text() == "Fach schließen.", "a draft of a confirmed segment is shown again"
    page.keyboard.press("Control+Enter")
    bench.wait_for_active(2)
    assert confirmed(served, "during", document) == {0: "Fach schließen."}


def test_a_key_after_a_confirmation_that_waits_for_a_draft_does_not_cancel_it(
    browser: Browser, served: ServedProjects
) -> None:
    document = document_of(served, "queued")
    bench = Bench.sign_in(browser, served.url, served.key)
    page = bench.open_document("queued", document)
    held = hold(bench, "**/draft")
    with page.expect_request("**/draft"):
        bench.type_over("Fach zu.")
    page.keyboard.press("Control+Enter")
    page.keyboard.insert_text("!")
    held.release()
    expect(bench.row(1)).to_have_class(re.compile("is-confirmed"))
    expect(page.locator("#connection")).to_have_text("Everything is saved")
    assert confirmed(served, "queued", document) == {0: "Fach zu."}
    assert bench.text() == "Fach zu.!"


def test_a_held_key_confirms_one_segment(browser: Browser, served: ServedProjects) -> None:
    document = document_of(served, "held")
    bench = Bench.sign_in(browser, served.url, served.key)
    page = bench.open_document("held", document)
    bench.type_over("Fach zu.")
    page.keyboard.down("Control")
    for _ in range(3):
        page.keyboard.down("Enter")  # the second and the third are repetitions
        bench.wait_for_active(2)
    page.keyboard.up("Enter")
    page.keyboard.up("Control")
    expect(page.locator("#connection")).to_have_text("Everything is saved")
    assert confirmed(served, "held", document) == {0: "Fach zu."}


def test_a_confirmation_made_offline_does_not_replace_a_newer_one_after_a_reload(
    browser: Browser, served: ServedProjects, other_key: str
) -> None:
    document = document_of(served, "reload")
    with api(served) as client:
        assert client.put("/projects/reload/members/cara", json={"role": "confirm"}).is_success
    cara = Bench.sign_in(browser, served.url, other_key)
    cara.open_document("reload", document)
    hold(cara, "**/confirm")
    hold(cara, "**/draft")
    cara.type_over("Caras Text.")
    with cara.page.expect_request("**/confirm"):
        cara.page.keyboard.press("Control+Enter")
    with api(served) as client:
        unit = client.get(f"/projects/reload/documents/{document}/units").json()["units"][0]
        body = {"text": "Annes Text.", "version": unit["version"]}
        assert client.post(f"/projects/reload/documents/{document}/units/0/confirm", json=body).is_success
    page = cara.page.context.new_page()
    cara.page.close(run_before_unload=False)
    again = Bench(page, served.url, [], [])
    again.open(f"/projects/reload/documents/{document}")
    expect(page.locator("#conflict")).to_be_visible()
    expect(page.locator("#conflict-mine")).to_have_text("Caras Text.")
    assert confirmed(served, "reload", document) == {0: "Annes Text."}


def test_two_people_in_one_document(browser: Browser, served: ServedProjects, other_key: str) -> None:
    document = document_of(served, "shared")
    with api(served) as client:
        assert client.put("/projects/shared/members/cara", json={"role": "confirm"}).is_success
    ann = Bench.sign_in(browser, served.url, served.key)
    cara = Bench.sign_in(browser, served.url, other_key)
    ann.open_document("shared", document)
    cara.open_document("shared", document)
    held = hold(cara, "**/draft")
    ann.type_over("Annes Text.")
    cara.type_over("Caras Text.")
    ann.page.keyboard.press("Control+Enter")
    expect(ann.row(1)).to_have_class(re.compile("is-confirmed"))
    held.release()
    dialog = cara.page.locator("#conflict")
    expect(dialog).to_be_visible()
    expect(dialog).to_contain_text("What ann wrote")
    expect(dialog.locator("#conflict-theirs")).to_have_text("Annes Text.")
    expect(dialog.locator("#conflict-mine")).to_have_text("Caras Text.")
    assert accessibility_faults(cara.page) == []
    assert confirmed(served, "shared", document) == {0: "Annes Text."}, "nothing is overwritten unseen"
    dialog.get_by_role("button", name="Take theirs").click()
    expect(cara.row(1)).to_contain_text("confirmed by ann")

    cara.row(3).locator(".source").click()
    cara.confirm("Caras Bild.")
    expect(ann.row(3)).to_contain_text("confirmed by cara")
    expect(ann.row(3)).to_contain_text("Caras Bild.")
    ann.check_no_errors()


@pytest.mark.parametrize("is_open", [True, False], ids=["in the segment", "in another segment"])
def test_a_saved_draft_is_not_replaced_without_a_word(
    browser: Browser, served: ServedProjects, other_key: str, is_open: bool
) -> None:
    """The service has the draft already when another person confirms the segment."""
    name = f"drafted-{is_open}".lower()
    document = document_of(served, name)
    with api(served) as client:
        assert client.put(f"/projects/{name}/members/cara", json={"role": "confirm"}).is_success
    ann = Bench.sign_in(browser, served.url, served.key)
    page = ann.open_document(name, document)
    ann.type_over("Annes langer Entwurf.")
    expect(page.locator("#connection")).to_have_text("Everything is saved")
    if not is_open:
        ann.row(3).locator(".source").click()
    with api(served, other_key) as client:
        unit = client.get(f"/projects/{name}/documents/{document}/units").json()["units"][0]
        assert unit["draft"]["text"] == "Annes langer Entwurf."
        body = {"text": "Caras Text.", "version": unit["version"]}
        assert client.post(f"/projects/{name}/documents/{document}/units/0/confirm", json=body).is_success
    dialog = page.locator("#conflict")
    expect(dialog).to_contain_text("What cara wrote")
    expect(dialog.locator("#conflict-theirs")).to_have_text("Caras Text.")
    expect(dialog.locator("#conflict-mine")).to_have_text("Annes langer Entwurf.")
    dialog.get_by_role("button", name="Go on with mine").click()
    expect(page.locator("#connection")).to_have_text("Everything is saved")
    ann.row(1).locator(".source").click()
    assert ann.text() == "Annes langer Entwurf."
    assert confirmed(served, name, document) == {0: "Caras Text."}
    page.keyboard.press("Control+Enter")
    expect(ann.row(1)).to_contain_text("confirmed by ann")
    assert confirmed(served, name, document) == {0: "Annes langer Entwurf."}


def test_a_draft_that_was_replaced_while_the_page_was_closed_is_shown(
    browser: Browser, served: ServedProjects, other_key: str
) -> None:
    document = document_of(served, "away")
    with api(served) as client:
        assert client.put("/projects/away/members/cara", json={"role": "confirm"}).is_success
    ann = Bench.sign_in(browser, served.url, served.key)
    page = ann.open_document("away", document)
    ann.type_over("Annes Entwurf.")
    expect(page.locator("#connection")).to_have_text("Everything is saved")
    ann.open("/projects")
    with api(served, other_key) as client:
        body = {"text": "Caras Entwurf.", "version": 1}
        assert client.put(f"/projects/away/documents/{document}/units/0/draft", json=body).is_success
    ann.open(f"/projects/away/documents/{document}")
    expect(page.locator("#conflict-theirs")).to_have_text("Caras Entwurf.")
    expect(page.locator("#conflict-mine")).to_have_text("Annes Entwurf.")
    page.locator("#conflict").get_by_role("button", name="Take theirs").click()
    page.reload()
    expect(ann.editor).to_be_focused()
    ann.row(1).locator(".source").click()
    assert ann.text() == "Caras Entwurf."
    expect(page.locator("#conflict")).to_be_hidden()


def test_a_deleted_document_and_a_lost_role_are_told(browser: Browser, served: ServedProjects, other_key: str) -> None:
    document = document_of(served, "ended")
    with api(served) as client:
        assert client.put("/projects/ended/members/cara", json={"role": "confirm"}).is_success
        cara, ann = (Bench.sign_in(browser, served.url, key) for key in (other_key, served.key))
        cara.open_document("ended", document)
        expect(cara.row(1).locator(".state")).to_have_text("suggestion")
        ann.open_document("ended", document)
        assert client.delete("/projects/ended/members/cara").is_success
        cara.type_over("Caras Text.")
        expect(cara.page.locator("#connection")).to_contain_text(
            "you are no member of it any more. What you type is not saved"
        )
        expect(cara.row(1).locator(".state")).to_have_text("draft")
        assert client.delete(f"/projects/ended/documents/{document}").is_success
        ann.type_over("Annes Text.")
        ann.page.keyboard.press("Control+Enter")
        expect(ann.page.locator("#connection")).to_contain_text("The document does not exist any more. What you type")
        assert ann.text() == "Annes Text."


def test_typed_text_is_called_a_draft(browser: Browser, served: ServedProjects) -> None:
    document = document_of(served, "called")
    bench = Bench.sign_in(browser, served.url, served.key)
    page = bench.open_document("called", document)
    expect(bench.row(1).locator(".state")).to_have_text("suggestion")
    bench.type_over("Mein Text.")
    expect(page.locator("#connection")).to_have_text("Everything is saved")
    expect(bench.row(1).locator(".state")).to_have_text("draft")


def test_a_change_by_somebody_else_leaves_the_focus_where_it_is(
    browser: Browser, served: ServedProjects, other_key: str
) -> None:
    """They work on the segment that is open here, while this person searches."""
    document = document_of(served, "focus")
    with api(served) as client:
        assert client.put("/projects/focus/members/cara", json={"role": "confirm"}).is_success
    bench = Bench.sign_in(browser, served.url, served.key)
    page = bench.open_document("focus", document)
    expect(bench.row(1).locator(".state")).to_have_text("suggestion")
    page.evaluate("document.getElementById('term-box').open = true")
    path = f"/projects/focus/documents/{document}/units/0"
    for number, place in enumerate(("search", "concordance", "term-source")):
        page.focus(f"#{place}")
        text, seen = f"Fach {number} zu", page.evaluate("editor.unit.version")
        with api(served, other_key) as client:
            assert client.put(f"{path}/draft", json={"text": text, "version": seen}).is_success
        expect(bench.editor).to_have_text(text)
        expect(page.locator(f"#{place}")).to_be_focused()
    page.keyboard.type("tray")
    assert page.input_value("#term-source") == "tray"
    bench.editor.focus()
    with api(served, other_key) as client:
        body = {"text": "Fach zu.", "version": page.evaluate("editor.unit.version")}
        assert client.post(f"{path}/confirm", json=body).is_success
    expect(bench.row(1)).to_have_class(re.compile("is-confirmed"))
    expect(bench.editor).to_be_focused()
    bench.check_no_errors()


FORBIDDEN = """for (const name of ["localStorage", "sessionStorage"]) {
  Object.defineProperty(window, name, { get() { throw new DOMException("forbidden", "SecurityError"); } });
}"""


def test_a_browser_that_keeps_nothing_works(browser: Browser, served: ServedProjects) -> None:
    """Some forbid a page to store anything. What is typed goes to the service."""
    document = document_of(served, "forbidden")
    bench = Bench.sign_in(browser, served.url, served.key)
    bench.page.add_init_script(FORBIDDEN)
    bench.open("/projects/forbidden")
    page = bench.open_document("forbidden", document)
    bench.confirm("Schließen Sie das Fach.")
    bench.wait_for_active(2)
    with page.expect_response(re.compile("/draft$")):
        bench.type_over("Datei %s öffnen.")
    expect(page.locator("#connection")).to_have_text("Everything is saved")
    page = bench.open_document("forbidden", document)
    assert bench.text() == "Datei %s öffnen."
    assert confirmed(served, "forbidden", document) == {0: "Schließen Sie das Fach."}
    bench.check_no_errors()


def test_files_are_listed_where_a_browser_keeps_nothing(browser: Browser, served: ServedProjects) -> None:
    """Several at once, and what was refused is told."""
    served.create("unkept")
    bench = Bench.sign_in(browser, served.url, served.key)
    bench.page.add_init_script(FORBIDDEN)
    page = bench.open("/projects/unkept")
    page.set_input_files("#file", [FilePayload(name=name, mimeType="", buffer=b"One.") for name in ("a.txt", "b.txt")])
    expect(page.locator("tbody th a")).to_have_text(["b.txt", "a.txt"])
    expect(page.locator("#said")).to_have_text("")
    page.set_input_files("#file", [FilePayload(name=name, mimeType="", buffer=b"One.") for name in ("c.txt", "d.doc")])
    expect(page.locator("tbody th a")).to_have_text(["c.txt", "b.txt", "a.txt"])
    expect(page.locator("#said")).to_have_text(re.compile(r"^d\.doc was not added: "))
    page.reload()
    expect(page.locator("#said")).to_have_text("")
