"""The pages in a real browser: charts, live updates, keyboard, contrast in light and dark."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest
import uvicorn
from helpers.accessibility import accessibility_faults
from helpers.browser import chromium
from helpers.contrast import CONTRAST
from helpers.overflow import PHONE_WIDTH, overflowing
from helpers.shared_task import REFERENCES, SOURCES, TRANSLATIONS, TaskServer, start, translate_all
from helpers.tiers import slow
from playwright.sync_api import Browser, Page, expect

from mtloop.service import Settings, create_app
from mtloop.service.server import listen

HOSTILE = "<img src=x onerror=alert(1)>"
TRANSLATION_OF = dict(zip(SOURCES, TRANSLATIONS, strict=True))
SCREENSHOTS = os.environ.get("MTLOOP_SCREENSHOTS", "")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    expect.set_options(timeout=20_000)  # the machine may be slow
    with chromium() as browser:
        yield browser
    expect.set_options(timeout=5_000)


@dataclass
class Site:
    """A service with tasks and runs, on the loopback interface."""

    task_server: TaskServer
    url: str
    keys: dict[str, str]
    run: str = ""
    others: str = ""
    _client: Any = field(default=None)

    def client(self, name: str) -> httpx2.Client:
        return httpx2.Client(base_url=self.url, headers={"x-api-key": self.keys[name]}, timeout=30)


def improving_translator(rate: int) -> Callable[[str], str]:
    """A translator that gets better with every sentence."""
    count = [0]

    def translate(source: str) -> str:
        count[0] += 1
        words = TRANSLATION_OF[source].split()
        return " ".join(words[: max(1, len(words) * count[0] // rate)])

    return translate


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("site")
    task_server = TaskServer(Settings(folder=folder / "data", rate=0, quota=0), folder)
    (folder / "oracle.txt").write_text("\n".join(REFERENCES) + "\n", encoding="utf-8")
    task_server.task("dev", "dev", held_out=3, blocks=3, oracle=folder / "oracle.txt")
    task_server.task("train", "training")
    names = {"team-a": False, "team-b": False, "committee": True}
    keys = {name: task_server.participant(name, organiser) for name, organiser in names.items()}
    listening = listen("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(create_app(task_server.settings), log_config=None))
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    while not server.started:
        time.sleep(0.05)
    site = Site(task_server, f"http://127.0.0.1:{listening.getsockname()[1]}", keys)
    with site.client("team-a") as client:
        site.run = start(client, "dev", name="EL, annealed")
        translate_all(client, site.run, improving_translator(20))
        client.post(f"/v1/runs/{site.run}/passes")
        translate_all(client, site.run, TRANSLATION_OF.__getitem__)
    with site.client("team-b") as client:
        site.others = start(client, "dev", name=HOSTILE)
        translate_all(client, site.others, improving_translator(50))
        translate_all(client, start(client, "train"), improving_translator(30))
    yield site
    server.should_exit = True
    thread.join()


class Visitor:
    """A page with its errors and requests."""

    def __init__(self, page: Page, site: Site) -> None:
        self.page, self.site, self.errors, self.requests = page, site, list[str](), list[str]()
        page.set_default_timeout(20_000)
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("console", lambda message: self.errors.append(message.text))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("dialog", lambda dialog: self.errors.append(dialog.message))

    def go(self, path: str) -> Page:
        self.page.goto(self.site.url + path)
        return self.page

    def sign_in(self, name: str) -> Page:
        self.go("/login")
        expect(self.page.locator("#key")).to_be_focused()
        self.page.keyboard.type(self.site.keys[name])
        self.page.keyboard.press("Enter")
        self.page.wait_for_url(lambda url: not url.endswith("/login"))
        return self.page

    def check_no_errors(self) -> None:
        assert self.errors == []
        assert all(url.startswith((self.site.url, "data:", "blob:")) for url in self.requests)


@pytest.fixture
def visit(browser: Browser, site: Site) -> Iterator[Callable[..., Visitor]]:
    contexts = []

    def make(**options: Any) -> Visitor:
        context = browser.new_context(**options)
        contexts.append(context)
        return Visitor(context.new_page(), site)

    yield make
    for context in contexts:
        context.close()


def screenshot(page: Page, name: str) -> None:
    """Save a screenshot in the folder MTLOOP_SCREENSHOTS, if it is set."""
    if SCREENSHOTS:
        page.screenshot(path=Path(SCREENSHOTS) / f"{name}.png", full_page=True)


def test_the_task_list_leads_to_a_leaderboard(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    page = visitor.go("/")
    screenshot(page, "tasks")
    page.get_by_role("link", name="dev", exact=True).click()
    expect(page.locator("tbody tr")).to_have_count(2)
    screenshot(page, "leaderboard")
    cells = page.locator("tbody tr").first.locator("td, th").all_inner_texts()
    assert cells[:5] == ["1", "team-a", "EL, annealed", "2", "26"]
    assert page.locator("tbody tr").nth(1).locator("td").nth(1).inner_text() == HOSTILE
    page.get_by_role("link", name="Tasks").click()
    page.get_by_role("link", name="train", exact=True).click()
    expect(page.locator(".notice")).to_contain_text("not opened the results")
    assert page.locator("tbody").count() == 0
    visitor.check_no_errors()


@pytest.mark.slow
def test_a_task_page_says_how_to_take_part_and_what_its_reward_means(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    shown = visitor.go("/tasks/dev").locator(".part")
    expect(shown).to_contain_text("mtloop join ADDRESS --task dev --key-file key.txt")
    expect(shown).to_contain_text("the BLEU score of your sentence in lower case")
    expect(shown).to_contain_text("The regret compares you with another system")
    assert accessibility_faults(visitor.page) == []
    visitor.sign_in("team-a")
    expect(visitor.go("/tasks/train").locator(".part")).to_contain_text("You may start 1 run.", use_inner_text=False)
    visitor.check_no_errors()


def test_the_leaderboard_updates_live(visit: Callable[..., Visitor], site: Site) -> None:
    visitor = visit()
    page = visitor.go("/tasks/dev")
    rows = page.locator("tbody tr")
    before = rows.count()
    with site.client("team-b") as client:
        run = start(client, "dev", name="late")
        expect(rows).to_have_count(before + 1)
        page.uncheck("#live")
        expect(page.locator("tbody")).to_contain_text("late")
        translate_all(client, run, improving_translator(100))
        page.wait_for_timeout(2500)
        assert page.locator("tr.unranked").count() == 1
        page.check("#live")
        expect(page.locator("tr.unranked")).to_have_count(0)
    visitor.check_no_errors()


def test_run_charts_have_logarithmic_axes(visit: Callable[..., Visitor], site: Site) -> None:
    visitor = visit()
    page = visitor.sign_in("team-a")
    page.get_by_role("link", name="EL, annealed").click()
    plots = page.locator("[data-chart]")
    expect(plots).to_have_count(4)
    for number in range(4):
        expect(plots.nth(number).locator("svg .curve")).to_have_count(2)
    screenshot(page, "run")
    ticks = [plots.nth(number).locator(".x-tick").all_text_contents() for number in range(4)]
    assert ticks == [["1", "2", "5", "10", "20"]] * 2 + [["1", "2", "3"]] * 2
    first, last = regret_at(page, "Home"), regret_at(page, "End")
    assert last < first
    page.get_by_role("button", name="pass 2").click()
    for number in range(4):
        expect(plots.nth(number).locator("svg .curve")).to_have_count(1)
    visitor.check_no_errors()


def test_a_chart_is_saved_under_the_policy_of_the_service(visit: Callable[..., Visitor], site: Site) -> None:
    visitor = visit()
    visitor.sign_in("team-a")
    page = visitor.go(f"/runs/{site.run}")
    for kind, beginning in (("SVG", b"<svg"), ("PNG", b"\x89PNG")):
        with page.expect_download() as download:
            page.locator("figure:has([data-chart=regret])").get_by_text(kind, exact=True).click()
        assert Path(download.value.path()).read_bytes().startswith(beginning)
    visitor.check_no_errors()


def regret_at(page: Page, key: str) -> float:
    """Read the first pass's regret at one end of the chart, by keyboard."""
    chart = page.locator("[data-chart=regret]")
    chart.locator("svg").press(key)
    return float(chart.locator(".reading .value").first.inner_text())


def test_runs_of_others_and_the_organisers_page_are_not_found(visit: Callable[..., Visitor], site: Site) -> None:
    visitor = visit()
    for path in (f"/runs/{site.run}", "/organiser"):
        expect(visitor.go(path).locator("h1")).to_have_text("Not found")
    visitor.sign_in("team-a")
    for path in (f"/runs/{site.others}", "/organiser", "/runs/nothing"):
        expect(visitor.go(path).locator("h1")).to_have_text("Not found")
    page = visitor.go("/tasks/dev")
    assert page.locator("tbody a").all_inner_texts() == ["EL, annealed"]


@pytest.mark.slow
def test_a_wrong_key_is_refused(visit: Callable[..., Visitor]) -> None:
    page = visit().go("/login")
    page.fill("#key", "mtl_wrong")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("not known")


def test_an_organiser_opens_results_by_keyboard(visit: Callable[..., Visitor], site: Site) -> None:
    visitor = visit()
    page = visitor.sign_in("committee")
    expect(page.locator("h1")).to_have_text("Activity")
    expect(page.locator("main")).to_contain_text("team-a")
    screenshot(page, "organiser")
    page.get_by_role("button", name="Open the results of train").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Hide the results of train")).to_be_visible()
    expect(visit().go("/tasks/train").locator("tbody tr")).to_have_count(1)
    page.get_by_role("button", name="Hide the results of train").click()
    expect(page.get_by_role("button", name="Open the results of train")).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("link", name="Sign in")).to_be_visible()
    expect(visitor.go("/organiser").locator("h1")).to_have_text("Not found")


@pytest.mark.parametrize("scheme", ["light", slow("dark")])
def test_readable_in_light_and_dark(visit: Callable[..., Visitor], site: Site, scheme: str) -> None:
    visitor = visit(color_scheme=scheme)
    page = visitor.sign_in("team-a")
    visitor.go(f"/runs/{site.run}")
    page.locator("[data-chart=reward] .x-tick").first.wait_for()
    screenshot(page, f"run-{scheme}")
    background = colour(page, "body", "backgroundColor")
    pairs = [(colour(page, one), background) for one in ("body", ".lead", "a", ".note", "thead th", "footer p")]
    pairs.append((colour(page, "[data-chart] .x-tick", "fill"), background))
    pairs.append((colour(page, "button"), colour(page, "button", "backgroundColor")))
    assert min(page.evaluate(CONTRAST, list(pair)) for pair in pairs) >= 4.5
    line = colour(page, "[data-chart=reward] .curve", "stroke")
    assert page.evaluate(CONTRAST, [line, background]) >= 3
    screenshot(visitor.go("/tasks/dev"), f"leaderboard-{scheme}")


@pytest.mark.slow
def test_pages_fit_a_narrow_screen(visit: Callable[..., Visitor], site: Site) -> None:
    visitor = visit(viewport={"width": PHONE_WIDTH, "height": 800})
    visitor.sign_in("committee")
    for path in ("/", "/tasks/dev", f"/runs/{site.run}", "/organiser"):
        page = visitor.go(path)
        assert overflowing(page) == [], path
    visitor.page.get_by_role("button", name="Sign out").click()
    visitor.sign_in("team-a")
    for path in ("/login", "/runs", "/nowhere"):
        page = visitor.go(path)
        assert overflowing(page) == [], path


@pytest.mark.slow
def test_all_controls_can_be_reached_by_keyboard(visit: Callable[..., Visitor]) -> None:
    page = visit().go("/tasks/dev")
    reached = []
    for _ in range(8):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.textContent.trim() || document.activeElement.id"))
    assert reached[0] == "Skip to the content"
    assert {"Tasks", "Sign in", "live"} <= set(reached)


def colour(page: Page, selector: str, of: str = "color") -> str:
    return str(page.locator(selector).first.evaluate("(element, of) => getComputedStyle(element)[of]", of))
