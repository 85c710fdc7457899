"""The organiser's pages of campaigns in a real browser: a new campaign from files, links, export, who may see them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from helpers.accessibility import accessibility_faults
from helpers.browser import chromium
from helpers.overflow import LONG_WORD, PHONE_WIDTH, overflowing
from helpers.rated_campaigns import QUALITY, campaign_body, text_of
from helpers.rating_pages import CampaignSite, Person, campaign_site
from helpers.tiers import slow
from playwright.sync_api import Browser, expect

from mtloop.service import problems
from mtloop.service.accounts.keys import COOKIE
from mtloop.service.campaigns import campaign_routes, rating_routes
from mtloop.service.pages.page_texts import LANGUAGES, messages
from mtloop.service.problems import Problem

LINES = 20
WAIT_MS = 700


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    expect.set_options(timeout=20_000)  # the machine may be slow
    with chromium() as browser:
        yield browser
    expect.set_options(timeout=5_000)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CampaignSite]:
    with campaign_site(tmp_path_factory.mktemp("campaigns")) as site:
        yield site


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Source, documents and the outputs of systems as text files; one is too short, one is not UTF-8."""
    folder = tmp_path_factory.mktemp("files")
    texts = {name: [text_of(name, at) for at in range(LINES)] for name in QUALITY}
    texts |= {"source": [f"Sentence number {at}." for at in range(LINES)]}
    texts |= {"documents": [f"d{at // 5}" for at in range(LINES)], "short": ["Eine Zeile."]}
    for name, lines in texts.items():
        (folder / f"{name}.txt").write_text("".join(f"{line}\r\n" for line in lines), encoding="utf-8", newline="")
    (folder / "latin.txt").write_bytes("Größe\n".encode("latin-1"))
    return folder


def test_a_campaign_from_files_to_the_export(browser: Browser, site: CampaignSite, files: Path) -> None:
    organiser = Person.organises(browser, site)
    page = organiser.page
    page.get_by_role("link", name="Campaigns").click()
    page.fill("#name", "office")
    page.set_input_files("#sources", files / "source.txt")
    page.set_input_files("#outputs", [files / f"{name}.txt" for name in (*QUALITY, "short")])
    expect(page.locator("#systems .wrong")).to_have_text(f"Lines: 1; the source has {LINES}")
    page.get_by_role("button", name="Remove short").click()
    page.set_input_files("#documents", files / "documents.txt")
    page.set_input_files("#references", files / "latin.txt")
    page.click("text=Create the campaign")
    expect(page.locator("#said")).to_have_text("latin.txt is not a text file in UTF-8.")
    page.set_input_files("#references", [])
    page.fill("#top", "9")
    page.click("text=Create the campaign")
    expect(page.locator("#said")).to_contain_text("choose a smaller top")
    page.fill("#top", "1")
    page.select_option("#policy", "elimination")
    page.fill("#settings", "bound")
    page.click("text=Create the campaign")
    expect(page.locator("#said")).to_have_text("bound is not a setting. Write NAME=VALUE.")
    page.fill("#settings", "bound=posterior min_ratings=12")
    page.select_option("#policy", "race")
    page.click("text=Create the campaign")
    page.wait_for_url("**/organiser/campaigns/office")
    expect(page.locator(".lead")).to_contain_text(f"Segments: {LINES} · Systems: 4 · race")
    with site.api() as client:
        made = client.get("/campaigns/office").json()
    assert made["settings"] == {"bound": "posterior", "min_ratings": "12"}
    page.fill("#rater", "kim")
    page.keyboard.press("Enter")
    expect(page.locator("#made")).to_contain_text("Link for kim")
    rater = Person.rates(browser, page.input_value("#link"))
    rater.page.wait_for_timeout(WAIT_MS)  # after the page was shown
    rater.score(80)
    rater.score(30)
    expect(page.get_by_role("row", name="kim").locator("td").first).to_have_text("2")  # without a reload
    with page.expect_download() as download:
        page.click("text=Export (TSV)")
    header, *rows = Path(download.value.path()).read_text(encoding="utf-8").splitlines()
    table = [dict(zip(header.split("\t"), row.split("\t"), strict=True)) for row in rows]
    assert [one["score"] for one in table] == ["80", "30"]
    for one in table:
        at = int(one["segment"]) - 1
        assert one["source"] == f"Sentence number {at}."
        assert one["hypothesis"] == text_of(one["system"], at)
        assert (one["document"], one["rater"]) == (f"d{at // 5}", "kim")
        assert one["time"].endswith("Z")
    seconds = [float(one["seconds"]) for one in table]
    assert WAIT_MS / 1000 <= seconds[0] < 60
    assert 0 <= seconds[1] < 60
    rater.check_no_errors(site.url)
    assert [one for one in organiser.errors if "422" not in one] == []


@pytest.mark.slow
def test_stop_renew_and_delete(browser: Browser, site: CampaignSite) -> None:
    site.create("ending")
    rater = Person.rates(browser, site.link("ending"))
    organiser = Person.organises(browser, site)
    page = organiser.page
    page.goto(f"{site.url}/organiser/campaigns/ending")
    page.click("text=Stop the campaign")
    expect(page.locator("#progress")).to_contain_text("The campaign is stopped.")
    rater.score(50)
    expect(rater.page.locator("#done-reason")).to_have_text("The organiser has stopped the campaign.")
    page.click("text=Let it go on")
    expect(page.locator("#stop")).to_have_text("Stop the campaign")
    page.get_by_role("button", name="New link for kim").click()
    page.click("#yes")
    expect(page.locator("#made")).to_contain_text("Link for kim")
    Person.rates(browser, page.input_value("#link")).score(50)
    page.click("text=Delete")
    page.keyboard.press("Escape")
    page.click("text=Delete")
    page.click("#yes")
    page.wait_for_url("**/organiser/campaigns")
    assert page.get_by_role("link", name="ending").count() == 0
    organiser.check_no_errors(site.url)


@pytest.mark.slow
def test_the_page_waits_for_the_second_rater(browser: Browser, site: CampaignSite) -> None:
    """With overlap, one rater alone does not finish a translation."""
    site.create("second", segments=3, overlap=2)
    organiser = Person.organises(browser, site)
    page = organiser.page
    page.goto(f"{site.url}/organiser/campaigns/second")
    kim, lee = (Person.rates(browser, site.link("second", name)) for name in ("kim", "lee"))
    while kim.score_by_quality():
        pass
    expect(page.locator("#progress")).to_contain_text(
        "Not decided yet. 12 translations of the systems that can still change the answer need further ratings."
    )
    expect(page.get_by_role("row", name="alpha-net")).to_contain_text("above the border of the best; 3 to be rated")
    expect(lee.page.locator("#work")).to_be_visible()
    assert lee.score_by_quality()
    expect(page.locator("#progress")).to_contain_text("Not decided yet. 11 translations")
    organiser.check_no_errors(site.url)


POST_FROM_PAGE = """headers => fetch("/v1/campaigns/mine/raters", {
  method: "POST", headers: { "content-type": "application/json", ...headers }, body: '{"name": "fay"}',
}).then(answer => answer.status)"""


def test_only_organisers_see_the_pages_and_only_pages_may_use_a_session(browser: Browser, site: CampaignSite) -> None:
    organiser = Person.organises(browser, site)
    site.create("mine")
    cookies = {one["name"]: one["value"] for one in organiser.page.context.cookies()}
    (cookie,) = (one for one in organiser.page.context.cookies() if one["name"] == COOKIE)
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
    assert [organiser.page.evaluate(POST_FROM_PAGE, one) for one in ({}, {"x-mtloop-page": "1"})] == [401, 201]
    with httpx2.Client(base_url=site.url, cookies=cookies) as client:
        for headers in ({}, {"x-mtloop-page": "1", "origin": "https://elsewhere.example"}):
            assert client.post("/v1/campaigns/mine/raters", json={"name": "eve"}, headers=headers).status_code == 401
        assert client.delete("/v1/campaigns/mine").status_code == 401
        assert client.post("/v1/campaigns/mine/raters", json={"name": "eve"}, headers={"x-mtloop-page": "1"}).is_success
        assert "default-src 'none'" in client.get("/organiser/campaigns/mine").headers["content-security-policy"]
        assert client.get("/organiser/campaigns/nothing").status_code == 404
    with httpx2.Client(base_url=site.url) as stranger:
        for path in ("", "/mine"):
            assert stranger.get(f"/organiser/campaigns{path}").headers["location"] == "/login"
        assert stranger.get("/organiser/campaigns/mine/progress").status_code == 404


@pytest.mark.slow
def test_refusals_are_shown_in_german(browser: Browser, site: CampaignSite, files: Path) -> None:
    site.create("schon-da")
    site.link("schon-da")
    page = Person.organises(browser, site, locale="de").page
    page.goto(f"{site.url}/organiser/campaigns")
    page.fill("#name", "schon-da")
    page.set_input_files("#sources", files / "source.txt")
    page.set_input_files("#outputs", [files / f"{name}.txt" for name in QUALITY])
    page.click("#new-campaign .primary")
    expect(page.locator("#said")).to_contain_text("Eine Kampagne mit diesem Namen gibt es schon.")
    page.fill("#name", "neu")
    page.fill("#top", "9")
    page.click("#new-campaign .primary")
    expect(page.locator("#said")).to_contain_text("Eine Angabe passt nicht: top is 9")
    page.goto(f"{site.url}/organiser/campaigns/schon-da")
    page.fill("#rater", "kim")
    page.keyboard.press("Enter")
    expect(page.locator("#said")).to_contain_text("Eine Person mit diesem Namen gibt es schon.")


def test_every_problem_of_a_campaign_has_a_text() -> None:
    routes = [*campaign_routes.router.routes, *rating_routes.router.routes]
    said = " ".join(str(description) for one in routes for description in vars(one)["responses"].values())
    known = [one for one in vars(problems).values() if isinstance(one, Problem) and one.name]
    named = {one.name for one in known if one.detail in said} | {"invalid-request", "too-many-requests"}
    assert {"campaign-exists", "rated-already", "database-unavailable"} <= named
    never = {"wrong-content-type", "unknown-segment"}  # the pages do not cause them
    for language in LANGUAGES:
        assert named - never <= set(messages("campaign_problems", language).texts)


@pytest.mark.parametrize("language", ["de", slow("en")])
def test_tables_fit_a_phone(browser: Browser, site: CampaignSite, language: str) -> None:
    """Every value of a row has its label beside it; nothing is scrolled sideways, also with long names."""
    name = f"{LONG_WORD[:40].replace('ä', 'ae')}-{language}"
    outputs = {f"{system} {LONG_WORD}": lines for system, lines in campaign_body()["outputs"].items()}
    site.create(name, overlap=2, attention_checks=0.1, outputs=outputs)
    for rater in ("kim", f"lee-{LONG_WORD[:40]}".replace("ä", "ae")):
        site.link(name, rater)
    page = Person.organises(browser, site, viewport={"width": PHONE_WIDTH, "height": 800}, locale=language).page
    for path in ("", f"/{name}"):
        page.goto(f"{site.url}/organiser/campaigns{path}")
        assert overflowing(page) == [], path
    cell = page.get_by_role("row").filter(has_text="kim").locator("td").nth(1)
    label = "Übersprungen" if language == "de" else "Skipped"
    assert label in cell.evaluate("cell => getComputedStyle(cell, '::before').content")


@pytest.mark.parametrize(
    "options",
    [{}, slow({"color_scheme": "dark"}), slow({"viewport": {"width": 380, "height": 800}, "locale": "de"})],
    ids=["light", "dark", "phone"],
)
def test_axe_finds_nothing_wrong(browser: Browser, site: CampaignSite, options: Any) -> None:
    name = f"axe-{len(str(options))}"
    site.create(name, overlap=2, attention_checks=0.1)
    for rater in ("kim", "lee"):
        site.link(name, rater)
    page = Person.organises(browser, site, **options).page
    for path in ("", f"/{name}"):
        page.goto(f"{site.url}/organiser/campaigns{path}")
        assert accessibility_faults(page) == []
    page.get_by_role("button", name="Delete" if page.locator("html[lang=en]").count() else "Löschen").click()
    assert accessibility_faults(page) == []
