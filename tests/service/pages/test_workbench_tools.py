"""The tools of the workbench in a real browser: keys, chips, completion, glossary, search, appearance."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from helpers.accessibility import accessibility_faults
from helpers.browser import chromium
from helpers.overflow import PHONE_WIDTH, overflowing
from helpers.served_projects import ServedProjects, serving_projects
from helpers.workbench import SOURCES, Bench, api, document_of, po_file, upload
from playwright.sync_api import Browser, Page, Route, expect

from mtloop.service.administration import Administration
from mtloop.service.settings import Settings

MIDDLE = """([element, start, end]) => {
  const range = document.createRange();
  range.setStart(element.firstChild, start);
  range.setEnd(element.firstChild, end);
  const box = range.getBoundingClientRect();
  return [box.x + box.width / 2, box.y + box.height / 2];
}"""  # of some characters of a text
DROPPED = """files => {
  const data = new DataTransfer();
  for (const [name, text] of Object.entries(files)) data.items.add(new File([text], name));
  return data;
}"""
pytestmark = pytest.mark.slow
CHIPS = ("Open the file %s in <b>%d</b> seconds.", "Close the tray.", "Save the image.", "Print the page.")
SIMILAR = ("Print the page.", "Print the page again.", "Save the image.")
MANY = tuple(f"Shelf {number} is free." for number in range(100))


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedProjects]:
    with serving_projects(tmp_path_factory.mktemp("tools")) as served:
        yield served


@pytest.fixture(scope="module")
def other_key(served: ServedProjects) -> str:
    """The key of a person who organises no project."""
    return Administration(Settings(folder=served.folder)).add_participant("cara")


@pytest.fixture(scope="module")
def browser(served: ServedProjects, other_key: str) -> Iterator[Browser]:
    """It starts after the service, which is prepared in an event loop of its own."""
    expect.set_options(timeout=20_000)  # the machine may be slow
    with chromium() as browser:
        yield browser
    expect.set_options(timeout=5_000)


def test_chips_stay_whole_and_can_be_put_back(browser: Browser, served: ServedProjects) -> None:
    document = document_of(served, "chips", CHIPS)
    bench = Bench.sign_in(browser, served.url, served.key)
    page = bench.open_document("chips", document)
    pieces = ["%s", "<b>", "%d", "</b>"]
    assert bench.row(1).locator(".source .chip").all_inner_texts() == pieces
    bench.type_over("Datei ")
    expect(bench.row(1).locator(".pieces button")).to_have_count(4)
    page.keyboard.press("Alt+1")
    assert bench.text() == "Datei %s"
    expect(bench.editor.locator(".chip")).to_have_text(["%s"])
    page.keyboard.press("Backspace")
    assert bench.text().rstrip() == "Datei", "a chip is deleted as a whole"
    page.keyboard.press("Control+Enter")
    expect(bench.row(1).locator(".problem")).to_contain_text("%s")
    expect(bench.row(1)).to_have_class(re.compile("is-active"))
    for key in ("Alt+1", "Alt+2", "Alt+3", "Alt+4"):
        page.keyboard.press(key)
    assert bench.text() == "Datei %s<b>%d</b>" or bench.text() == "Datei%s<b>%d</b>"
    page.keyboard.press("Control+Enter")
    expect(bench.row(1)).to_have_class(re.compile("is-confirmed"))
    assert all("422" in error for error in bench.errors), "the browser notes the refusal"


def test_lines_and_percent_signs_are_kept(browser: Browser, served: ServedProjects) -> None:
    """Lines also where a program types them at once; a percent sign also apart from its number."""
    document = document_of(served, "lines", ["100%% of %s are done.", "Close the tray."])
    bench = Bench.sign_in(browser, served.url, served.key)
    page = bench.open_document("lines", document)
    bench.type_over("100 %% von %s sind fertig.")
    assert bench.editor.locator(".chip").all_inner_texts() == ["%%", "%s"]
    expect(bench.row(1).locator(".pieces button")).to_have_count(0)
    bench.confirm("100 %% von %s sind fertig.")
    assert bench.row(1).locator(".warning").count() == 0
    bench.wait_for_active(2)
    for lines in ("Eins\nZwei", "Eins\nZwei\n\nVier"):
        bench.type_over(lines)
        assert bench.text() == lines
    page.keyboard.press("Enter")
    page.keyboard.type("Ende")
    assert bench.text() == "Eins\nZwei\n\nVier\nEnde"


def test_the_engine_completes_what_is_typed(browser: Browser, served: ServedProjects) -> None:
    document = document_of(served, "completed")
    bench = Bench.sign_in(browser, served.url, served.key)
    page = bench.open_document("completed", document)
    expect(bench.row(1).locator(".state")).to_have_text("suggestion")
    bench.type_over("Das ")
    expect(page.locator(".completion .ghost")).not_to_be_empty()
    rest = page.locator(".completion .ghost").inner_text()
    page.keyboard.press("Tab")
    assert bench.text() == f"Das {rest.removeprefix(' ')}"
    expect(bench.editor).to_be_focused()


def test_a_completion_in_mid_sentence_deletes_nothing(browser: Browser, served: ServedProjects) -> None:
    document = document_of(served, "mid-sentence")
    bench = Bench.sign_in(browser, served.url, served.key)
    page = bench.open_document("mid-sentence", document)
    expect(bench.row(1).locator(".state")).to_have_text("suggestion")
    bench.type_over("Das ist der Rest.")
    for _ in "ist der Rest.":
        page.keyboard.press("ArrowLeft")
    page.keyboard.type("da ")
    page.evaluate("editor.complete()")
    assert page.evaluate("editor.completion") == ""
    page.keyboard.press("End")
    page.keyboard.type(" Und")
    expect(page.locator(".completion .ghost")).not_to_be_empty()
    rest = page.evaluate("editor.completion")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Tab")
    assert bench.text() == f"Das da ist der Rest. Und{rest}"
    page.keyboard.press("Control+z")
    assert bench.text() == "Das da ist der Rest. Und"


def test_every_change_of_the_text_can_be_taken_back(browser: Browser, served: ServedProjects) -> None:
    """Also those by keys of the page, and by pasting."""
    document = document_of(served, "taken-back", CHIPS)
    bench = Bench.sign_in(browser, served.url, served.key)
    page = bench.open_document("taken-back", document)
    expect(bench.row(1).locator(".state")).to_have_text("suggestion")
    first = bench.text()
    bench.type_over("")
    page.keyboard.type("Mein Text.")
    page.evaluate("editor.insert(' Mehr.')")
    page.keyboard.press("Alt+1")
    page.keyboard.press("Alt+r")
    texts = ["Mein Text. Mehr.%s", "Mein Text. Mehr.", "Mein Text.", "Mein", "", first]
    for text in texts:
        page.keyboard.press("Control+z")
        assert bench.text() == text
    page.keyboard.press("Control+z")
    assert bench.text() == first
    for text in texts[-2::-1]:
        page.keyboard.press("Control+Shift+z")
        assert bench.text() == text
    expect(bench.editor.locator(".chip")).to_have_text(["%s"])


def test_a_term_is_added_from_a_selection(browser: Browser, served: ServedProjects) -> None:
    document = document_of(served, "terms")
    bench = Bench.sign_in(browser, served.url, served.key)
    page = bench.open_document("terms", document)
    expect(bench.row(1).locator(".state")).to_have_text("suggestion")
    page.mouse.dblclick(*page.evaluate(MIDDLE, [bench.row(1).locator(".source").element_handle(), 6, 9]))
    page.keyboard.press("Alt+g")
    assert page.input_value("#term-source").strip() == "the"
    page.fill("#term-source", chosen := "tray")
    page.fill("#term-target", "Fach")
    page.keyboard.press("Enter")
    expect(page.locator("#terms")).to_contain_text(f"{chosen} → Fach")
    with api(served) as client:
        assert client.get("/projects/terms/glossary").json()["terms"] == {chosen: "Fach"}


def test_two_organisers_at_once_lose_no_term(browser: Browser, served: ServedProjects) -> None:
    """The other one adds a term while the first one is sending theirs."""
    document = document_of(served, "both")
    bench = Bench.sign_in(browser, served.url, served.key)
    page = bench.open_document("both", document)

    def add_another(route: Route) -> None:
        if route.request.method == "PATCH":
            with api(served) as client:
                assert client.patch("/projects/both", json={"glossary": {"file": "Akte"}}).is_success
        route.continue_()

    page.route(re.compile(r"/v1/projects/both(/glossary)?$"), add_another)
    page.keyboard.press("Alt+g")
    page.fill("#term-source", "tray")
    page.fill("#term-target", "Fach")
    page.keyboard.press("Enter")
    expect(page.locator("#terms")).to_contain_text("tray → Fach")
    with api(served) as client:
        assert client.get("/projects/both/glossary").json()["terms"] == {"file": "Akte", "tray": "Fach"}


def test_only_organisers_are_shown_the_key_for_terms(browser: Browser, served: ServedProjects, other_key: str) -> None:
    document = document_of(served, "keys-of-terms")
    with api(served) as client:
        assert client.put("/projects/keys-of-terms/members/cara", json={"role": "confirm"}).is_success
    for key, is_shown in ((served.key, True), (other_key, False)):
        bench = Bench.sign_in(browser, served.url, key)
        page = bench.open_document("keys-of-terms", document)
        assert page.locator("#keys dd", has_text="add a term").count() == is_shown
        page.keyboard.press("Alt+g")
        expect(page.locator("#term-source" if is_shown else ".box")).to_be_focused()
        bench.check_no_errors()


def test_a_file_is_dropped_on_the_page_of_a_project(browser: Browser, served: ServedProjects) -> None:
    served.create("dropped")
    bench = Bench.sign_in(browser, served.url, served.key)
    page = bench.open("/projects/dropped")
    event = {"dataTransfer": page.evaluate_handle(DROPPED, {"de.po": po_file(SOURCES).decode()})}
    place = page.locator("#drop")
    place.dispatch_event("dragover", event)
    expect(place).to_have_class("drop over")
    place.dispatch_event("drop", event)
    expect(bench.editor).to_be_focused()
    expect(page.locator("h1")).to_contain_text("de.po")
    expect(page.locator("#rows li")).to_have_count(len(SOURCES))
    bench.check_no_errors()


def test_several_files_are_dropped_at_once(browser: Browser, served: ServedProjects, tmp_path: Path) -> None:
    """All are added; what was refused is told."""
    served.create("several")
    bench = Bench.sign_in(browser, served.url, served.key)
    page = bench.open("/projects/several")
    files = {"a.txt": "One.", "b.doc": "Two.", "c.txt": "Three."}
    page.locator("#drop").dispatch_event("drop", {"dataTransfer": page.evaluate_handle(DROPPED, files)})
    expect(page.locator("tbody th a")).to_have_text(["c.txt", "a.txt"])
    expect(page.locator("#said")).to_have_text(re.compile(r"^b\.doc was not added: "))
    for name in ("d.txt", "e.txt"):
        (tmp_path / name).write_text("Four.")
    page.set_input_files("#file", [tmp_path / "d.txt", tmp_path / "e.txt"])
    expect(page.locator("tbody th a")).to_have_text(["e.txt", "d.txt", "c.txt", "a.txt"])
    expect(page.locator("#said")).to_have_text("")


def test_a_correction_changes_the_suggestion_of_a_similar_segment(browser: Browser, served: ServedProjects) -> None:
    """The card beside it says which correction that is. Undo changes the suggestion back."""
    document = document_of(served, "similar", SIMILAR)
    bench = Bench.sign_in(browser, served.url, served.key)
    page = bench.open_document("similar", document)
    similar = bench.row(2)
    expect(similar.locator(".state")).to_have_text("suggestion")
    before = similar.locator(".open-row").inner_text()
    bench.confirm("Drucken Sie die Seite.")
    bench.wait_for_active(2)
    expect(similar.locator(".state")).to_have_text("suggestion changed")
    assert bench.text() == "Drucken Sie die Seite." != before
    card = page.locator("#origins .card")
    expect(card.locator(".text")).to_have_text(["Print the page.", "Drucken Sie die Seite."])
    expect(card.locator(".note").first).to_have_text(re.compile(r"^\d\d % similar$"))
    bench.row(1).get_by_role("button", name="Undo the confirmation").click()
    expect(bench.editor).to_have_text(before)
    expect(card).to_have_count(0)
    bench.check_no_errors()


def test_the_mark_of_a_changed_suggestion_stays(browser: Browser, served: ServedProjects) -> None:
    """After a search, another filter and a jump to the end. A filter shows the marked segments."""
    served.create("marked", method="memory")  # it changes the suggestions of similar segments only
    document = upload(served, "marked", po_file((SIMILAR[0], SIMILAR[2], SIMILAR[1], *MANY, SIMILAR[0])))
    bench = Bench.sign_in(browser, served.url, served.key)
    page = bench.open_document("marked", document)
    similar, numbers = bench.row(3).locator(".state"), page.locator("#rows .number")
    expect(similar).to_have_text("suggestion")
    page.select_option("#filter", label="Suggestion changed")
    expect(page.locator("#empty")).to_be_visible()
    page.select_option("#filter", label="All")
    bench.row(1).locator(".source").click()
    bench.confirm("Drucken Sie die Seite.")
    expect(similar).to_have_text("suggestion changed")
    page.fill("#search", "again")
    expect(numbers).to_have_text(["3"])
    expect(similar).to_have_text("suggestion changed")
    page.fill("#search", "")
    page.fill("#jump", str(len(MANY) + 4))
    page.keyboard.press("Enter")
    bench.wait_for_active(len(MANY) + 4)
    expect(bench.row(1)).to_have_count(0)
    page.select_option("#filter", label="Suggestion changed")
    expect(numbers).to_have_text(["3"])
    expect(similar).to_have_text("suggestion changed")
    similar.click()
    bench.confirm("Drucken Sie die Seite noch einmal.")
    bench.wait_for_active(4)  # no other one is marked
    page.select_option("#filter", label="Open")
    page.select_option("#filter", label="Suggestion changed")
    expect(page.locator("#empty")).to_be_visible()
    bench.check_no_errors()


def test_suggestions_that_change_out_of_sight_are_found(browser: Browser, served: ServedProjects) -> None:
    """The first segments were seen; then one at the end is confirmed."""
    served.create("unseen", method="memory")  # it changes the suggestions of similar segments only
    document = upload(served, "unseen", po_file((SIMILAR[1], SIMILAR[2], *MANY, SIMILAR[0], SOURCES[0])))
    bench = Bench.sign_in(browser, served.url, served.key)
    page = bench.open_document("unseen", document)
    expect(bench.row(1).locator(".state")).to_have_text("suggestion")
    page.fill("#jump", str(len(MANY) + 3))
    page.keyboard.press("Enter")
    bench.wait_for_active(len(MANY) + 3)
    bench.confirm("Drucken Sie die Seite.")
    page.select_option("#filter", label="Suggestion changed")
    expect(page.locator("#rows .number")).to_have_text(["1"])
    expect(bench.row(1).locator(".state")).to_have_text("suggestion changed")
    expect(page.locator("#empty")).to_be_hidden()
    bench.check_no_errors()


def test_a_rebuild_is_asked_for_once_at_a_time(browser: Browser, served: ServedProjects) -> None:
    """After it, only the nearest segments out of sight are asked for again. The clock stands between the steps."""
    document = document_of(served, "rebuilt", MANY)
    bench = Bench.sign_in(browser, served.url, served.key, viewport={"width": 1280, "height": 12_000})
    page = bench.page
    page.clock.install()
    bench.open_document("rebuilt", document)
    expect(page.locator("#rows .state", has_text="suggestion")).to_have_count(len(MANY))
    bench.row(len(MANY)).locator(".source").click()
    bench.wait_for_active(len(MANY))
    page.select_option("#filter", label="Suggestion changed")
    expect(page.locator("#empty")).to_be_visible()
    page.clock.pause_at("2100-01-01")
    asked, is_rebuilding = list[list[int]](), [True]

    def answer(route: Route) -> None:
        asked.append(route.request.post_data_json["units"])
        given = route.fetch()
        route.fulfill(response=given, json=given.json() | {"rebuilding": is_rebuilding[0]})

    page.route(re.compile("/suggestions$"), answer)
    page.evaluate("suggestions.renew()")
    for count in range(1, 4):
        wait_for_suggestions(page)
        assert len(asked) == count
        page.clock.run_for(1_500)
    wait_for_suggestions(page)
    asked.clear()
    is_rebuilding[0] = False
    page.clock.run_for(1_500)
    wait_for_suggestions(page)
    assert sorted(index for batch in asked for index in batch) == list(range(len(MANY) - 50, len(MANY)))
    page.clock.run_for(10_000)
    wait_for_suggestions(page)
    assert len(asked) == 10
    bench.check_no_errors()


def test_a_service_that_refuses_suggestions_is_asked_after_a_pause(browser: Browser, served: ServedProjects) -> None:
    """Here five texts are too long together, and one alone is not answered. However often the page wants to ask."""
    document = document_of(served, "refusing")
    bench = Bench.sign_in(browser, served.url, served.key)
    page = bench.page
    page.clock.install()
    bench.open_document("refusing", document)
    expect(page.locator("#rows .state", has_text="suggestion")).to_have_count(len(SOURCES))
    page.select_option("#filter", label="Suggestion changed")
    expect(page.locator("#empty")).to_be_visible()
    page.clock.pause_at("2100-01-01")
    asked = list[int]()

    def refuse(route: Route) -> None:
        asked.append(len(route.request.post_data_json["units"]))
        route.fulfill(status=413 if asked[-1] > 1 else 503, body="{}")

    page.route(re.compile("/suggestions$"), refuse)
    page.evaluate("suggestions.renew()")
    wait_for_suggestions(page)
    page.evaluate("suggestions.ask()")
    wait_for_suggestions(page)
    assert asked == [5, 1] * 2
    page.clock.run_for(4_000)
    wait_for_suggestions(page)
    assert asked == [5, 1] * 3


def wait_for_suggestions(page: Page) -> None:
    """Until nothing is asked for."""
    for _ in range(200):
        page.wait_for_timeout(100)
        if not page.evaluate("suggestions.running"):
            return
    raise AssertionError("the page asks without pause")


def test_a_hidden_tab_takes_no_time(browser: Browser, served: ServedProjects) -> None:
    document = document_of(served, "timed", SIMILAR)
    bench = Bench.sign_in(browser, served.url, served.key)
    page = bench.page
    page.clock.install()
    bench.open_document("timed", document)
    page.clock.pause_at("2100-01-01")
    before = page.evaluate("segmentClock.read()")
    page.clock.run_for(5_000)
    for is_hidden in (True, False):
        page.evaluate(
            "hidden => { Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });"
            " document.dispatchEvent(new Event('visibilitychange')); }",
            is_hidden,
        )
        page.clock.run_for(60_000 if is_hidden else 2_000)
    assert page.evaluate("segmentClock.read()") - before == pytest.approx(7, abs=0.1)
    page.keyboard.press("Alt+ArrowDown")
    assert page.evaluate("segmentClock.read()") < 1


def test_the_strip_and_the_curves_say_what_was_learned(browser: Browser, served: ServedProjects) -> None:
    document = document_of(served, "measured", SIMILAR)
    bench = Bench.sign_in(browser, served.url, served.key)
    page = bench.open_document("measured", document)
    for number, text in enumerate(("Drucken Sie die Seite.", "Drucken Sie die Seite noch einmal."), start=1):
        bench.wait_for_active(number)
        expect(bench.row(number).locator(".state")).to_have_text(re.compile("suggestion" if number == 1 else "changed"))
        bench.confirm(text)
    bench.wait_for_active(3)
    expect(page.locator("#strip-r1")).to_have_text("100 %")
    expect(page.locator("#strip-repeated_errors")).to_have_text("0 %")
    expect(page.locator("#strip-time_per_segment")).to_have_text(re.compile(r"^\d+ s$"))
    with api(served) as client:
        metrics = client.get("/projects/measured/statistics").json()["metrics"]
    [ter] = [one for one in metrics if one["name"] == "ter"]
    saved = 100 * (1 - ter["value"] / ter["base"]["value"])
    assert saved > 0
    expect(page.locator("#strip-effort_saved")).to_have_text(f"{saved:.0f} %")
    with page.context.expect_page() as opened:
        page.get_by_role("link", name="Show the curves").click()
    expect(opened.value.locator("h1")).to_contain_text("Curves")
    expect(opened.value.locator("svg").first).to_be_visible()
    bench.check_no_errors()


def test_filters_find_edited_segments_and_those_with_warnings(browser: Browser, served: ServedProjects) -> None:
    document = document_of(served, "filtered")
    bench = Bench.sign_in(browser, served.url, served.key)
    page = bench.open_document("filtered", document)
    bench.confirm("Schließen Sie das Fach")
    bench.wait_for_active(2)
    with page.expect_response(re.compile("/draft$")):
        bench.type_over("Datei %s öffnen.")
    numbers = page.locator("#rows .number")
    page.select_option("#filter", label="Edited")
    expect(numbers).to_have_text(["1", "2"])
    page.select_option("#filter", label="With warnings")
    expect(numbers).to_have_text(["1"])
    expect(bench.row(1).locator(".warning")).to_have_text("Other punctuation at the end")
    bench.check_no_errors()


def test_search_filters_jump_and_concordance(browser: Browser, served: ServedProjects) -> None:
    document = document_of(served, "searched")
    bench = Bench.sign_in(browser, served.url, served.key)
    page = bench.open_document("searched", document)
    bench.confirm("Schließen Sie das Fach.")
    page.fill("#search", "image")
    expect(page.locator("#rows li")).to_have_count(2)
    page.fill("#search", "")
    expect(page.locator("#rows li")).to_have_count(len(SOURCES))
    page.select_option("#filter", "confirmed")
    expect(page.locator("#rows li")).to_have_count(1)
    page.select_option("#filter", "open")
    expect(page.locator("#rows li")).to_have_count(len(SOURCES) - 1)
    page.keyboard.press("Alt+j")
    page.keyboard.type("7")
    page.keyboard.press("Enter")
    bench.wait_for_active(7)
    page.keyboard.press("Alt+k")
    page.keyboard.type("fach")
    page.keyboard.press("Enter")
    expect(page.locator("#hits mark")).to_have_text("Fach")
    page.select_option("#filter", "all")
    bench.row(1).locator(".source").click()
    page.check("#compare")
    with api(served) as client:
        asked = client.post(f"/projects/searched/documents/{document}/suggestions", json={"units": [0], "base": True})
        base = asked.json()["suggestions"][0]["translation"]
        assert base != "Schließen Sie das Fach."
        expect(page.locator("#base-text")).to_have_text(base)
        assert client.post("/projects/searched/documents", params={"name": "b.txt"}, content=b"One.\n").is_success
    bench.open("/projects/searched")
    expect(page.locator("tbody").first.locator("th a")).to_have_text(["b.txt", "de.po"])
    bench.check_no_errors()


def test_a_method_is_switched(browser: Browser, served: ServedProjects) -> None:
    document = document_of(served, "switched")
    bench = Bench.sign_in(browser, served.url, served.key)
    page = bench.open_document("switched", document)
    page.focus("#method")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.select_option("#method", "full")
    with api(served) as client:
        assert client.get("/projects/switched").json()["method"] != "full", (
            "nothing is changed by going through the menu"
        )
    page.get_by_role("button", name="Use this method").click()
    expect(page.locator("#use-method")).to_be_hidden()
    expect(page.locator("#said")).to_have_text(re.compile("learning|changed"))
    expect(bench.row(1).locator(".state")).to_have_text(re.compile("suggestion"))
    with api(served) as client:
        assert client.get("/projects/switched").json()["method"] == "full"


def test_a_refused_method_is_not_shown_as_that_of_the_project(browser: Browser, served: ServedProjects) -> None:
    document = document_of(served, "refused-method")
    bench = Bench.sign_in(browser, served.url, served.key)
    page = bench.open_document("refused-method", document)
    before = page.input_value("#method")
    names = page.locator("#method option").all_inner_texts()
    assert "full" in names
    assert not {"lasso", "knn-mt", "smt-adapting", "domain-adaptation", "baseline"} & set(names), "what is refused"
    answer = {
        "status": 403,
        "content_type": "application/problem+json",
        "body": '{"type": "urn:mtloop:not-allowed-here"}',
    }
    for path in (f"/projects/refused-method/documents/{document}", "/projects/refused-method"):
        bench.open(path)
        page.route("**/v1/projects/refused-method", lambda route: route.fulfill(**answer))
        page.select_option("#method", "full")
        with page.expect_response("**/v1/projects/refused-method"):
            page.locator("#method-form button").click()
        expect(page.locator("#said")).to_have_class(re.compile("error"))
        expect(page.locator("#method")).to_have_value(before)
        page.unroute("**/v1/projects/refused-method")


def test_a_document_is_done_by_keyboard_alone(browser: Browser, served: ServedProjects) -> None:
    document = document_of(served, "keys", SOURCES[:1] + SOURCES[2:4])
    bench = Bench.sign_in(browser, served.url, served.key)
    page = bench.open_document("keys", document)
    page.keyboard.press("F1")
    expect(page.locator("#keys")).to_be_visible()
    page.keyboard.press("Escape")
    expect(bench.editor).to_be_focused()
    for number in (1, 2, 3):
        bench.wait_for_active(number)
        page.keyboard.press("Control+A")
        page.keyboard.type(f"Satz {number}.")
        page.keyboard.press("Control+Enter")
    expect(page.locator("#said")).to_contain_text("All segments are done")
    expect(page.locator("#download")).to_be_focused()
    page.keyboard.press("Alt+j")
    page.keyboard.type("2")
    page.keyboard.press("Enter")
    page.keyboard.press("Alt+u")
    expect(bench.row(2)).to_have_class(re.compile("is-draft"))
    page.keyboard.press("Alt+ArrowUp")
    bench.wait_for_active(1)
    reached = set()
    for _ in range(40):
        page.keyboard.press("Shift+Tab")
        reached.add(page.evaluate("document.activeElement.id || document.activeElement.className"))
    assert {"search", "filter", "jump", "method", "compare", "show-keys", "download"} <= reached


def test_pages_of_a_project_are_accessible(browser: Browser, served: ServedProjects) -> None:
    """Light and dark, wide and narrow, English and German."""
    document = document_of(served, "readable", CHIPS)
    looks = (("light", 1280, "en"), ("dark", 1280, "de"), ("light", PHONE_WIDTH, "de"), ("dark", PHONE_WIDTH, "en"))
    for scheme, width, language in looks:
        size = {"width": width, "height": 900}
        bench = Bench.sign_in(browser, served.url, served.key, color_scheme=scheme, viewport=size)
        for path in ("/projects", "/projects/readable", "/projects/readable/curves", "/projects/unknown"):
            page = bench.open(f"{path}?lang={language}")
            assert page.evaluate("document.documentElement.lang") == language
            assert accessibility_faults(page) == [], (path, scheme, width)
            assert overflowing(page) == [], (path, width)
        page = bench.open_document("readable", document)
        bench.type_over(f"{language} %s {width}")
        expect(bench.row(1).locator(".pieces button")).to_have_count(3)
        page.evaluate("document.getElementById('term-box').open = true")
        assert accessibility_faults(page) == [], (scheme, width)
        assert overflowing(page) == [], width
        assert (
            page.get_by_role(
                "button", name="Bestätigen Strg Eingabe" if language == "de" else "Confirm Ctrl Enter"
            ).count()
            == 1
        )


@pytest.mark.parametrize(
    ("scheme", "width", "language"),
    [("light", 1280, "en"), ("dark", 1280, "de"), ("light", PHONE_WIDTH, "de"), ("dark", PHONE_WIDTH, "en")],
)
def test_every_state_of_the_workbench_is_accessible(
    browser: Browser, served: ServedProjects, scheme: Literal["light", "dark"], width: int, language: str
) -> None:
    """A confirmed row, the card of a correction, a warning, a refusal, the base model, the keys, curves with data."""
    name = f"states-{scheme}-{width}"
    document = document_of(served, name, (*SIMILAR[:2], CHIPS[0], SIMILAR[0]))
    size = {"width": width, "height": 900}
    bench = Bench.sign_in(browser, served.url, served.key, color_scheme=scheme, viewport=size, locale=language)
    page = bench.open_document(name, document)

    def check(state: str, selector: str) -> None:
        expect(page.locator(selector).first).to_be_visible()
        assert accessibility_faults(page) == [], state
        assert overflowing(page) == [], state

    expect(bench.row(2).locator(".state")).to_have_text(re.compile("^(suggestion|Vorschlag)$"))
    bench.confirm("Drucken Sie die Seite")
    bench.wait_for_active(2)
    check("a confirmed row with a warning", ".row.is-confirmed .warning")
    check("a suggestion that changed", ".row.is-changed")
    check("the card of a correction", "#origins .card")
    page.check("#compare")
    expect(page.locator("#base-text")).not_to_have_text(re.compile("…"))
    check("the base model", "#base-text")
    page.fill("#concordance", "Seite")
    page.keyboard.press("Enter")
    check("a hit of the concordance", "#hits mark")
    bench.row(3).locator(".source").click()
    bench.type_over("Datei öffnen.")
    page.keyboard.press("Control+Enter")
    check("a refusal", ".problem button")
    page.keyboard.press("F1")
    check("the keys", "#keys")
    page.keyboard.press("Escape")
    for _ in range(40):  # the base model translates the correction after the person has gone on
        bench.open(f"/projects/{name}/curves")
        if page.locator("main svg").count():
            break
        page.wait_for_timeout(500)
    check("curves with data", "main svg")


def test_a_new_suggestion_does_not_replace_what_is_selected(browser: Browser, served: ServedProjects) -> None:
    """The last segment is the first one again, so its suggestion changes when the first one is confirmed."""
    document = document_of(served, "selected", (SOURCES[0], SOURCES[2], SOURCES[0]))
    bench = Bench.sign_in(browser, served.url, served.key)
    page = bench.open_document("selected", document)
    expect(bench.row(3).locator(".state")).to_have_text("suggestion")
    bench.row(3).locator(".source").click()
    bench.wait_for_active(3)
    before = bench.text()
    page.keyboard.press("Control+A")
    path = f"/projects/selected/documents/{document}/units/0"
    with api(served) as client:
        unit = client.get(f"/projects/selected/documents/{document}/units").json()["units"][0]
        body = {"text": "Schließen Sie das Fach.", "version": unit["version"]}
        assert client.post(f"{path}/confirm", json=body).is_success
    expect(bench.row(3).locator(".state")).to_have_text("suggestion changed")
    assert bench.text() == before
    page.keyboard.insert_text("Fach zu.")
    assert bench.text() == "Fach zu."
    page.keyboard.press("Alt+r")
    assert bench.text() == "Schließen Sie das Fach."
    bench.check_no_errors()


PLURAL = b"""msgid ""
msgstr "Content-Type: text/plain; charset=UTF-8\\n"
"Language: de\\nPlural-Forms: nplurals=2; plural=(n != 1);\\n"

msgctxt "menu"
msgid "Open"
msgstr ""

msgid "Sheep"
msgid_plural "Sheep"
msgstr[0] ""
msgstr[1] ""
"""


def test_equal_sources_are_told_apart(browser: Browser, served: ServedProjects) -> None:
    served.create("equal")
    document = upload(served, "equal", PLURAL)
    bench = Bench.sign_in(browser, served.url, served.key)
    page = bench.open_document("equal", document)
    expect(page.locator("#rows li")).to_have_count(3)
    shown = page.locator("#rows .source").evaluate_all(
        "all => all.map((one) => getComputedStyle(one, '::after').content)"
    )
    assert shown == ['"menu"', '"plural form 1"', '"plural form 2"']


def test_a_download_with_broken_placeholders_is_told(browser: Browser, served: ServedProjects) -> None:
    document = document_of(served, "broken", CHIPS)
    bench = Bench.sign_in(browser, served.url, served.key)
    page = bench.open_document("broken", document)
    with page.expect_download():
        page.click("#download")
    bench.type_over("Datei öffnen.")
    page.keyboard.press("Control+Enter")
    page.get_by_role("button", name="Confirm anyway").click()
    bench.wait_for_active(2)
    expect(bench.row(1)).to_have_class(re.compile("is-confirmed"))
    for path, link in ((f"/projects/broken/documents/{document}", "#download"), ("/projects/broken", "a[download]")):
        bench.open(path)
        with page.expect_download():
            page.click(link)
        expect(page.locator("#said")).to_contain_text("1 confirmed segment has other placeholders or tags")


XLIFF = b"""<xliff version="1.2"><file source-language="en" target-language="de" datatype="x" original="a"><body>
<trans-unit id="1"><source>Press <x id="1"/> and wait.</source></trans-unit>
<trans-unit id="2"><source>Save the file.</source></trans-unit>
</body></file></xliff>"""


def test_refusals_are_shown_in_german(browser: Browser, served: ServedProjects, tmp_path: Path) -> None:
    document = document_of(served, "refusals", ["Open the file %s.", "Save it as a new copy.", "Close it."])
    bench = Bench.sign_in(browser, served.url, served.key, locale="de")
    page = bench.open_document("refusals", document)
    problem = page.locator(".problem")
    bench.type_over("Datei %s und %d öffnen.")
    page.keyboard.press("Control+Enter")
    expect(problem.locator("span")).to_have_text("%d kommt im Ausgangstext nicht vor.")
    expect(problem.locator("button")).to_have_text("Trotzdem bestätigen")
    bench.row(2).locator(".source").click()
    bench.confirm("Save it to a new place now.")
    expect(page.locator("#said")).to_contain_text(
        "nicht gelernt: die Übersetzung scheint nicht in der Zielsprache zu sein"
    )
    marked = upload(served, "refusals", XLIFF, "a.xlf")
    page = bench.open_document("refusals", marked)
    bench.type_over('<x id="1"/> & warten')
    page.keyboard.press("Control+Enter")
    expect(problem).to_contain_text("Die Zeichen & und < werden hier als &amp; und &lt; geschrieben")
    (wrong := tmp_path / "wrong.xlf").write_text("<xliff")
    bench.open("/projects/refusals")
    page.set_input_files("#file", wrong)
    expect(page.locator("#said")).to_contain_text("wrong.xlf wurde nicht hinzugefügt: Zeile 1: ")
    page.fill("#member", "nobody")
    page.click("#member-form button")
    expect(page.locator("#said")).to_contain_text("Der Server kennt niemanden mit diesem Namen.")
