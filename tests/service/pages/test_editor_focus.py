"""The keyboard of the workbench in a real browser: the list of keys, and no click on the source loses what is typed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from helpers.browser import chromium
from helpers.served_projects import ServedProjects, serving_projects
from helpers.workbench import Bench, document_of
from playwright.sync_api import Browser, expect

pytestmark = pytest.mark.slow
GAPS = """rows => rows.map((row) => {
  const [keys, text] = [...row.children];
  return text.getBoundingClientRect().x - keys.lastElementChild.getBoundingClientRect().right;
})"""  # between the keys of each row and their text
MIN_GAP = 12  # pixels


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedProjects]:
    with serving_projects(tmp_path_factory.mktemp("focus")) as served:
        yield served


@pytest.fixture(scope="module")
def browser(served: ServedProjects) -> Iterator[Browser]:
    """It starts after the service, which is prepared in an event loop of its own."""
    expect.set_options(timeout=20_000)  # the machine may be slow
    with chromium() as browser:
        yield browser
    expect.set_options(timeout=5_000)


def test_a_click_on_the_source_leaves_the_focus_in_the_editor(browser: Browser, served: ServedProjects) -> None:
    document = document_of(served, "clicked", ["Close the tray.", "Print the page."])
    bench = Bench.sign_in(browser, served.url, served.key)
    page = bench.open_document("clicked", document)
    source = bench.row(1).locator(".source")
    bench.type_over("Das Fach.")
    page.keyboard.press("ArrowLeft")
    for place in (source, bench.row(1).locator(".number")):
        place.click()
        expect(bench.editor).to_be_focused()
    page.keyboard.type(" hier")
    assert bench.text() == "Das Fach hier.", "the caret is where it was"
    page.keyboard.press("Control+Enter")
    bench.wait_for_active(2)
    expect(bench.row(1).locator(".open-row")).to_have_text("Das Fach hier.")
    bench.check_no_errors()


def test_a_word_of_the_source_is_selected_and_typing_goes_on(browser: Browser, served: ServedProjects) -> None:
    document = document_of(served, "selected", ["Tray.", "Print the page."])
    bench = Bench.sign_in(browser, served.url, served.key)
    page = bench.open_document("selected", document)
    source = bench.row(1).locator(".source")
    bench.type_over("Fach")
    source.dblclick(position={"x": 8, "y": 8})
    assert page.evaluate("String(getSelection())").strip() == "Tray"
    page.keyboard.press("Shift")
    page.keyboard.press("Control+C")
    assert page.evaluate("String(getSelection())").strip() == "Tray", "it can be copied"
    page.keyboard.type(" auf")
    assert bench.text() == "Fach auf"
    source.dblclick(position={"x": 8, "y": 8})
    page.keyboard.press("Alt+g")
    expect(page.locator("#term-source")).to_have_value("Tray")
    expect(page.locator("#term-target")).to_be_focused()
    page.keyboard.type("Lade")
    expect(page.locator("#term-target")).to_have_value("Lade")
    assert bench.text() == "Fach auf"
    bench.check_no_errors()


@pytest.mark.parametrize(("locale", "control"), [("en", "Ctrl"), ("de", "Strg")])
def test_keys_are_listed_beside_their_texts(
    browser: Browser, served: ServedProjects, locale: str, control: str
) -> None:
    document = document_of(served, f"keys-{locale}", ["Tray."])
    bench = Bench.sign_in(browser, served.url, served.key, locale=locale)
    page = bench.open_document(f"keys-{locale}", document)
    page.keyboard.press("F1")
    expect(page.locator("#keys")).to_be_visible()
    keys = [text.split() for text in page.locator("#keys dt").all_inner_texts()]
    assert [control, "Z"] in keys
    assert ["Esc"] in keys
    gaps = page.locator("#keys dl > div").evaluate_all(GAPS)
    assert min(gaps) >= MIN_GAP
