"""The page of raters in a real browser: every kind of rating by keyboard, undo, pause, a killed server, no hints."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.accessibility import accessibility_faults
from helpers.browser import chromium
from helpers.overflow import LONG_WORD, PHONE_WIDTH, overflowing
from helpers.project_server import project_server
from helpers.rated_campaigns import QUALITY, SEGMENTS, campaign_body
from helpers.rating_pages import CampaignSite, Person, campaign_site, organiser_key
from helpers.tiers import slow
from playwright.sync_api import Browser, expect

from mtloop.selection.rating_instructions import INSTRUCTIONS
from mtloop.service import Settings
from mtloop.service.pages.page_texts import LANGUAGES, messages
from mtloop.service.server import listen

SCRIPT = "<script>alert(1)</script><img src=x onerror=alert(2)> & more"
PHONE: dict[str, Any] = {"viewport": {"width": PHONE_WIDTH, "height": 800}, "has_touch": True}
HINTS = re.compile("|".join([*QUALITY, "verdict", '"means"', "weights", "confidence", "undecided"]))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    expect.set_options(timeout=20_000)  # the machine may be slow
    with chromium() as browser:
        yield browser
    expect.set_options(timeout=5_000)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CampaignSite]:
    with campaign_site(tmp_path_factory.mktemp("rating")) as site:
        yield site


def test_scores_skip_and_undo_by_keyboard_without_a_hint_about_systems(browser: Browser, site: CampaignSite) -> None:
    site.create("scores", min_per_rater=10, documents=[f"d{at // 10}" for at in range(SEGMENTS)])
    rater = Person.rates(browser, site.link("scores"))
    page = rater.page
    (first,) = rater.texts
    assert page.locator(".around").count() > 0
    rater.score(100)
    assert page.locator("#progress-text").inner_text() == "1 of 10 rated"
    (second,) = rater.texts
    rater.act("s")
    (third,) = rater.texts
    assert len({first, second, third}) == 3
    rater.act("u")
    rater.expect_text(second)  # the skip was taken back
    rater.act("u")
    rater.expect_text(first)  # and the rating
    assert page.locator("#progress-text").inner_text() == "0 of 10 rated"
    with page.expect_response(lambda answer: answer.url.endswith("/undo")) as nothing:
        rater.press("u")
    assert nothing.value.status == 409
    expect(page.locator("#message")).to_have_text("There is nothing to take back.")
    rater.score(42)
    assert [(one["answer"], one["retracted"] is None) for one in site.ratings("scores")] == [
        ({"scores": [100.0]}, False),
        ({"scores": [42.0]}, True),
    ]
    assert not HINTS.search(rater.received())
    assert [one for one in rater.errors if "409" not in one] == []


LONG = "A sentence of a manual that is so long that only a few like it fit on the page at the same time. "


@pytest.mark.parametrize("width", [1280, PHONE_WIDTH], ids=["desktop", "phone"])
@pytest.mark.parametrize(("lines", "seen"), [(1, 1.0), (2, 1.0), slow(9, 0.0)], ids=["short", "long", "too long"])
def test_the_sentence_to_rate_is_in_sight(
    browser: Browser, site: CampaignSite, width: int, lines: int, seen: float
) -> None:
    """The page and the document around are scrolled to it; of one that does not fit, the beginning is in sight."""
    name = f"sight-{width}-{lines}"
    site.create(name, sources=[f"{at}. {LONG * lines}" for at in range(SEGMENTS)])
    rater = Person.rates(browser, site.link(name), viewport={"width": width, "height": 600})
    for _ in range(2):
        frame, place, header, bar = map(rater.box, ("#document", "#source", "header.rater", ".actions"))
        assert place["y"] >= max(frame["y"], header["y"] + header["height"]) - 1
        assert place["y"] + place["height"] * seen <= min(frame["y"] + frame["height"], bar["y"]) + 1
        rater.page.evaluate("scrollTo(0, document.body.scrollHeight)")
        rater.score(50)
        if width == 1280:
            rater.page.set_viewport_size({"width": 700, "height": 800})  # the text is wrapped anew


@pytest.mark.slow
def test_three_raters_with_overlap_rate_until_the_rule_stops(browser: Browser, site: CampaignSite) -> None:
    site.create("overlap", overlap=2, min_per_rater=8, attention_checks=0.1)
    organiser = Person.organises(browser, site)
    organiser.page.goto(f"{site.url}/organiser/campaigns/overlap")
    raters = [Person.rates(browser, site.link("overlap", name)) for name in ("kim", "lee", "mia")]
    rated = 0
    while any(one.score_by_quality() for one in raters):  # a list: each rates in each round
        rated += 1
        assert rated < 100
    for one in raters:
        expect(one.page.locator("#done")).to_be_visible()
        assert not HINTS.search(one.received())
        one.check_no_errors(site.url)
    page = organiser.page
    expect(page.locator("#progress")).to_contain_text("Decided. Best: alpha-net. Confidence 95 %")
    expect(page.locator("#progress")).to_contain_text("Krippendorff's alpha: 1.00")
    pairs = site.get("overlap", "status")["agreement"]["pairs"]
    assert pairs
    for pair in pairs:
        expect(page.get_by_role("row", name=" – ".join(pair["raters"]))).to_be_visible()
    assert accessibility_faults(page) == []
    organiser.check_no_errors(site.url)


@pytest.mark.slow
def test_error_spans_by_keyboard(browser: Browser, site: CampaignSite) -> None:
    """Places are code points, also behind characters that JavaScript counts twice."""
    text = "Der 😀 rote Wagen fährt nach Hause."
    site.create("spans", kind="mqm", segments=4, outputs={"a": [text] * 4, "b": [f"{text} Ja"] * 4})
    rater = Person.rates(browser, site.link("spans"))
    shown = rater.texts[0]
    rater.press("ArrowRight", "ArrowRight", "ArrowRight", "Shift+ArrowRight", "m", "2")  # words 3 and 4
    rater.press("Home", "g", "1")
    rater.press("End", "y", "3")
    rater.press("Home", "Delete")
    assert rater.page.locator(".errors li").count() == 2
    expect(rater.page.locator("#save")).to_contain_text("Save 2 errors")
    expect(rater.page.locator("#state")).to_have_text("Error removed.")
    assert accessibility_faults(rater.page) == []
    rater.save()
    (rating,) = site.ratings("spans")
    found = [
        (shown[one["start"] : one["end"]], one["category"], one["severity"]) for one in rating["answer"]["spans"][0]
    ]
    last = re.findall(r"\w+|[^\w\s]", shown)[-1]
    assert found == [("rote Wagen", "accuracy/mistranslation", "major"), (last, "style", "neutral")]
    assert rating["values"] == [0.8]
    rater.press("ArrowRight", "n")  # the whole text
    rater.save()
    assert site.ratings("spans")[1]["values"] == [0.0]
    rater.save()  # no errors
    assert site.ratings("spans")[2]["values"] == [1.0]
    rater.press("ArrowRight", "m", "2")
    rater.save()
    rater.act("u")
    expect(rater.page.locator("#save")).to_contain_text("Save 1 error")  # the spans come back
    rater.check_no_errors(site.url)


def test_enter_on_the_instructions_begins_and_rates_nothing(browser: Browser, site: CampaignSite) -> None:
    site.create("begin", kind="mqm")
    page = browser.new_context(locale="en").new_page()
    page.goto(site.link("begin"))
    expect(page.locator("#instructions")).to_have_attribute("open", "")
    expect(page.locator("#cards .card, #cards > *").first).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.locator("#instructions")).not_to_have_attribute("open", "")
    assert site.ratings("begin") == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "keys", "answers"),
    [
        ("thumbs", ["1", "0"], [{"thumbs": [True]}, {"thumbs": [False]}]),
        ("pair", ["1", "2", "0"], [{"better": 0}, {"better": 1}, {"better": None}]),
    ],
)
def test_thumbs_and_pairs_by_keyboard(
    browser: Browser, site: CampaignSite, kind: str, keys: list[str], answers: list[Any]
) -> None:
    site.create(kind, kind=kind)
    rater = Person.rates(browser, site.link(kind))
    for key in keys:
        rater.press(key)
        rater.save()
    assert [one["answer"] for one in site.ratings(kind)] == answers
    rater.check_no_errors(site.url)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, slow(PHONE)], ids=["mouse", "touch"])
def test_a_slider_by_arrow_keys_and_by_pointer(browser: Browser, site: CampaignSite, options: Any) -> None:
    name = f"slider-{len(options)}"
    site.create(name)
    rater = Person.rates(browser, site.link(name), **options)
    slider, value = rater.page.locator("input[type=range]"), rater.page.locator(".value")
    slider.focus()
    before = int(slider.input_value())
    rater.press("ArrowRight", "ArrowRight", "ArrowLeft")
    expect(value).to_have_text(str(before + 1))
    rater.press("End")
    expect(slider).to_have_attribute("aria-valuetext", re.compile("^100 "))
    rater.save()
    place = rater.box("input[type=range]")
    x, y = place["x"] + place["width"] * 0.25, place["y"] + place["height"] / 2
    if options:
        rater.page.touchscreen.tap(x, y)
    else:
        rater.page.mouse.click(x, y)
        rater.page.mouse.move(x, y)
        rater.page.mouse.down()
        rater.page.mouse.move(place["x"] + place["width"] * 0.5, y, steps=4)
        rater.page.mouse.move(x, y, steps=4)
        rater.page.mouse.up()
    chosen = int(value.inner_text())
    assert 20 <= chosen <= 30
    rater.page.locator("#save").click()
    expect(rater.page.locator("#progress-text")).to_have_text("2 rated")
    scores = [one["answer"]["scores"] for one in site.ratings(name)]
    assert scores == [[100.0], [float(chosen)]]
    rater.check_no_errors(site.url)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, slow(PHONE)], ids=["mouse", "touch"])
@pytest.mark.parametrize(
    ("kind", "buttons", "answers"),
    [
        ("thumbs", ["Good", "Bad"], [{"thumbs": [True]}, {"thumbs": [False]}]),
        ("pair", ["A is better", "B is better", "No difference"], [{"better": 0}, {"better": 1}, {"better": None}]),
    ],
)
def test_thumbs_and_pairs_by_pointer(
    browser: Browser, site: CampaignSite, kind: str, buttons: list[str], answers: list[Any], options: Any
) -> None:
    name = f"{kind}-pointer-{len(options)}"
    site.create(name, kind=kind)
    rater = Person.rates(browser, site.link(name), **options)
    for number, button in enumerate(buttons, start=1):
        for found in (rater.page.get_by_role("button", name=button), rater.page.locator("#save")):
            found.tap() if options else found.click()
        expect(rater.page.locator("#progress-text")).to_have_text(f"{number} rated")
    assert [one["answer"] for one in site.ratings(name)] == answers
    rater.check_no_errors(site.url)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, slow(PHONE)], ids=["mouse", "touch"])
def test_error_spans_by_pointer(browser: Browser, site: CampaignSite, options: Any) -> None:
    """A drag selects text exactly; a tap selects a word, and a second tap up to that word."""
    text, name = "Der rote Wagen fährt nach Hause.", f"spans-pointer-{len(options)}"
    site.create(name, kind="mqm", segments=4, outputs={"a": [text] * 4, "b": [f"{text} Ja"] * 4})
    rater = Person.rates(browser, site.link(name), **options)
    page, words = rater.page, rater.page.locator(".words [role=option]")
    first, second = words.filter(has_text="rote"), words.filter(has_text="Wagen")
    if options:
        first.tap()
        second.tap()
    else:
        begin, end = first.bounding_box(), second.bounding_box()
        assert begin
        assert end
        page.mouse.move(begin["x"] + 1, begin["y"] + begin["height"] / 2)
        page.mouse.down()
        page.mouse.move(end["x"] + end["width"] - 1, end["y"] + end["height"] / 2, steps=5)
        page.mouse.up()
    expect(page.locator(".picker q")).to_have_text("rote Wagen")
    for button in (page.locator("[data-category='accuracy/mistranslation']"), page.locator("[data-severity=major]")):
        button.tap() if options else button.click()
    expect(page.locator(".errors li")).to_have_count(1)
    word = words.filter(has_text="Hause")
    word.tap() if options else word.click()
    expect(page.locator(".picker q")).to_have_text("Hause")
    page.locator(".picker .cancel").click()
    page.locator("#save").click()
    expect(page.locator("#progress-text")).to_have_text("1 rated")
    (rating,) = site.ratings(name)
    (span,) = rating["answer"]["spans"][0]
    assert (text[span["start"] : span["end"]], span["category"], span["severity"]) == (
        "rote Wagen",
        "accuracy/mistranslation",
        "major",
    )
    rater.check_no_errors(site.url)


@pytest.mark.slow
def test_translations_side_by_side_are_blind_and_shuffled(browser: Browser, site: CampaignSite) -> None:
    site.create("beside", side_by_side=True, overlap=4)
    orders = set()
    for name in ("a", "b", "c", "d"):
        rater = Person.rates(browser, site.link("beside", name))
        assert [one.inner_text() for one in rater.page.locator(".card h2").all()] == [
            f"Translation {letter}" for letter in "ABCD"
        ]
        orders.add(tuple(rater.texts))
    assert len(orders) > 1
    for number in (10, 20, 30):
        rater.page.keyboard.type(str(number))
        rater.press("Enter")
    rater.score(40)
    (rating,) = site.ratings("beside")
    assert rating["answer"] == {"scores": [10.0, 20.0, 30.0, 40.0]}
    assert not HINTS.search(rater.received())


@pytest.mark.slow
def test_pause_and_go_on_in_another_browser(browser: Browser, site: CampaignSite) -> None:
    site.create("pause")
    here = Person.rates(browser, site.link("pause"))
    here.score(70)
    (item,) = here.texts
    here.page.click("#pause")
    link = here.page.input_value("#link")
    there = Person.rates(browser, link, **PHONE)
    there.expect_text(item)
    assert there.page.locator("#progress-text").inner_text() == "1 rated"
    there.score(60)
    here.page.click("#continue")
    here.expect_text(there.texts[0])
    there.score(50)  # this item is still open in the first browser
    here.score(40)
    expect(here.page.locator("#message")).to_contain_text("answered in another window")
    assert [one["answer"]["scores"] for one in site.ratings("pause")] == [[70.0], [60.0], [50.0]]


@pytest.mark.slow
def test_saving_twice_stores_one_rating(browser: Browser, site: CampaignSite) -> None:
    site.create("twice")
    rater = Person.rates(browser, site.link("twice"))
    rater.page.keyboard.type("55")
    with rater.page.expect_response(lambda answer: answer.url.endswith("/next")):
        rater.page.dblclick("#save")
    rater.page.wait_for_timeout(300)
    assert len(site.ratings("twice")) == 1


@pytest.mark.slow
def test_a_killed_server_loses_no_rating(browser: Browser, tmp_path: Path) -> None:
    """The server is killed before a rating is sent. The page sends it again until a new server has stored it."""
    with listen("127.0.0.1", 0) as probe:
        settings = Settings(folder=tmp_path / "data", port=int(probe.getsockname()[1]))
    site = CampaignSite(f"http://127.0.0.1:{settings.port}", organiser_key(settings))
    with project_server(settings, tmp_path / "log") as server:
        site.create("killed")
        rater = Person.rates(browser, site.link("killed"))
        rater.score(10)
        (shown,) = rater.texts
        server.process.kill()
        server.process.wait()
        rater.page.keyboard.type("20")
        rater.press("Enter")
        expect(rater.page.locator("#message")).to_contain_text("Not saved yet")
    with project_server(settings, tmp_path / "log"):
        expect(rater.page.locator("#cards .text")).not_to_have_text(shown)
        expect(rater.page.locator("#message")).to_be_hidden()
        rater.score(30)
        assert [one["answer"]["scores"] for one in site.ratings("killed")] == [[10.0], [20.0], [30.0]]


@pytest.mark.slow
def test_a_reloaded_page_has_what_was_not_saved_yet(browser: Browser, site: CampaignSite) -> None:
    site.create("draft", kind="mqm")
    rater = Person.rates(browser, site.link("draft"))
    rater.press("ArrowRight", "m", "2")
    rater.page.reload()
    expect(rater.page.locator(".errors li")).to_have_count(1)


def test_a_script_in_a_text_is_shown_as_text(browser: Browser, site: CampaignSite) -> None:
    lines = [f"{SCRIPT} {at}" for at in range(4)]
    texts: dict[str, Any] = {"sources": lines, "outputs": {SCRIPT: lines, "b": [f"{one} b" for one in lines]}}
    body = campaign_body("script", kind="mqm", references=lines, documents=[SCRIPT] * 4, instructions=SCRIPT)
    with site.api() as client:
        assert client.post("/campaigns", json=body | texts).status_code == 201
    rater = Person.rates(browser, site.link("script"))
    assert rater.source.startswith(SCRIPT)
    assert rater.texts[0].startswith(SCRIPT)
    rater.press("ArrowRight", "m", "2")
    rater.page.click("#instructions summary")
    expect(rater.page.locator(".own")).to_have_text(SCRIPT)
    rater.check_no_errors(site.url)
    organiser = Person.organises(browser, site)
    organiser.page.goto(f"{site.url}/organiser/campaigns/script")
    expect(organiser.page.get_by_role("row", name=SCRIPT)).to_be_visible()
    organiser.page.evaluate("update()")  # the part that is updated, too
    expect(organiser.page.get_by_role("row", name=SCRIPT)).to_be_visible()
    organiser.check_no_errors(site.url)


def test_the_page_allows_its_own_scripts_only_and_sets_no_cookie(browser: Browser, site: CampaignSite) -> None:
    site.create("policy")
    rater = Person.rates(browser, site.link("policy"))
    headers = rater.responses[0].headers
    assert "script-src 'self'" in headers["content-security-policy"]
    assert "default-src 'none'" in headers["content-security-policy"]
    assert headers["referrer-policy"] == "no-referrer"
    assert rater.page.context.cookies() == []
    ran = rater.page.evaluate(
        "() => { const one = document.createElement('script'); one.textContent = 'window.ran = true';"
        " document.body.append(one); return window.ran ?? false; }"
    )
    assert ran is False
    (problem,) = rater.errors
    assert "Content Security Policy" in problem


@pytest.mark.parametrize("options", [{}, slow({"color_scheme": "dark"}), slow(PHONE)], ids=["light", "dark", "phone"])
@pytest.mark.parametrize("kind", ["score", slow("thumbs"), slow("pair"), slow("mqm")])
def test_axe_finds_nothing_wrong(browser: Browser, site: CampaignSite, kind: str, options: Any) -> None:
    name = f"axe-{kind}-{len(str(options))}"
    site.create(name, kind=kind, references=[f"Referenz {at}" for at in range(SEGMENTS)])
    rater = Person.with_browser(browser, **options)
    page = rater.page
    page.goto(site.link(name))
    expect(page.locator("#work")).to_be_visible()
    assert accessibility_faults(page) == []
    page.click("#begin")
    rater.press(*({"mqm": ["ArrowRight", "m", "2", "End", "p"]}.get(kind, ["1"])))
    assert accessibility_faults(page) == []
    assert overflowing(page) == []
    page.click("#pause")
    assert accessibility_faults(page) == []


@pytest.mark.parametrize("language", ["de", slow("en")])
@pytest.mark.parametrize("kind", [slow("score"), slow("thumbs"), slow("pair"), "mqm"])
def test_nothing_overflows_on_a_phone(browser: Browser, site: CampaignSite, kind: str, language: str) -> None:
    name = f"phone-{kind}-{language}"
    texts = campaign_body()
    outputs = {system: [f"{line} {LONG_WORD * 2}" for line in lines] for system, lines in texts["outputs"].items()}
    lines = [f"{line} {LONG_WORD}" for line in texts["sources"]]
    site.create(name, kind=kind, sources=lines, references=lines, outputs=outputs, instructions=LONG_WORD)
    rater = Person.with_browser(browser, **PHONE, locale=language)
    page = rater.page
    page.goto(site.link(name))
    expect(page.locator("#work")).to_be_visible()
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    assert overflowing(page) == []
    page.click("#begin")
    rater.press(*({"mqm": ["ArrowRight", "m"]}.get(kind, ["1"])))
    assert overflowing(page) == []
    page.click("#pause")
    assert overflowing(page) == []


@pytest.mark.slow
def test_the_page_speaks_german(browser: Browser, site: CampaignSite) -> None:
    site.create("deutsch", instructions="Bitte genau lesen.")
    rater = Person.with_browser(browser, locale="de-AT")
    page = rater.page
    page.goto(site.link("deutsch"))
    assert page.locator("html").get_attribute("lang") == "de"
    expect(page.locator(".own")).to_have_text("Bitte genau lesen.")
    expect(page.locator("#work")).to_be_visible()
    page.click("text=Beginnen")
    rater.score(50)
    expect(page.locator("#state")).to_have_text("Gespeichert.")
    expect(page.locator("#progress-text")).to_have_text("1 bewertet")
    answer = {"status": 413, "content_type": "application/problem+json", "body": '{"type": "urn:mtloop:too-large"}'}
    page.route("**/ratings", lambda route: route.fulfill(**answer))
    page.keyboard.type("5")
    page.keyboard.press("Enter")
    expect(page.locator("#message")).to_contain_text("Die Texte sind größer, als dieser Dienst erlaubt.")
    assert "413" in rater.errors.pop()
    page.click("text=English")
    expect(page.locator("#undo")).to_contain_text("Undo")
    rater.check_no_errors(site.url)


@pytest.mark.parametrize("name", ["rating", "campaigns", "service", "workbench", "refusals", "campaign_problems"])
def test_catalogues_have_the_same_texts_and_placeholders_in_every_language(name: str) -> None:
    known, *others = (messages(name, language).texts for language in LANGUAGES)

    def placeholders(texts: dict[str, str]) -> dict[str, set[str]]:
        return {key: set(re.findall(r"\{\w+\}", text)) for key, text in texts.items()}

    for other in others:
        assert placeholders(other) == placeholders(known)


@pytest.mark.parametrize("kind", INSTRUCTIONS)
def test_the_page_says_what_the_terminal_says(kind: str) -> None:
    """Every sentence of the instructions in the terminal is one of the page's texts, or a part of one."""
    texts = " ".join(messages("rating", "en").texts.values()).lower()
    for sentence in re.split(r"\. |\.$", INSTRUCTIONS[kind].lower()):  # type: ignore[index]
        meaning = re.sub(r"^(0|50|100|major|minor|neutral): ", "", sentence)
        assert meaning in texts


@pytest.mark.slow
def test_a_renewed_or_wrong_link_is_refused(browser: Browser, site: CampaignSite) -> None:
    site.create("renew")
    rater = Person.rates(browser, site.link("renew"))
    with site.api() as client:
        client.post("/campaigns/renew/raters", json={"name": "kim", "renew": True})
    rater.page.keyboard.type("5")
    rater.press("Enter")
    expect(rater.page.locator("#message")).to_contain_text("does not work any more")
    expect(rater.page.locator("#work")).to_be_hidden()
    rater.page.reload()
    expect(rater.page.locator("h1")).to_have_text("Not found")
