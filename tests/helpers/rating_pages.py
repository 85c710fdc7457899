"""A service with rating campaigns, and the people who use their pages in a browser."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import uvicorn
from helpers.rated_campaigns import campaign_body, quality_of
from playwright.sync_api import Browser, FloatRect, Page, Response, expect

from mtloop.service import Settings, create_app
from mtloop.service.administration import Administration
from mtloop.service.server import listen


def organiser_key(settings: Settings) -> str:
    """The key of a new organiser. It is made in another thread, because Playwright has an event loop in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(Administration(settings).add_participant, "olga", True).result()


@dataclass
class CampaignSite:
    """A service at an address, and the key of an organiser."""

    url: str
    key: str

    def api(self) -> httpx2.Client:
        return httpx2.Client(base_url=f"{self.url}/v1", headers={"x-api-key": self.key}, timeout=60)

    def create(self, name: str, **fields: Any) -> None:
        with self.api() as client:
            answer = client.post("/campaigns", json=campaign_body(name, **fields))
            assert answer.status_code == 201, answer.text

    def link(self, campaign: str, rater: str = "kim") -> str:
        """The address of a new rater's page."""
        with self.api() as client:
            answer = client.post(f"/campaigns/{campaign}/raters", json={"name": rater})
            assert answer.status_code == 201, answer.text
            return f"{self.url}{answer.json()['link']}"

    def get(self, campaign: str, part: str) -> dict[str, Any]:
        with self.api() as client:
            return dict(client.get(f"/campaigns/{campaign}/{part}", params={"limit": 500}).json())

    def ratings(self, campaign: str) -> list[dict[str, Any]]:
        """Every rating with what was shown."""
        return list(self.get(campaign, "ratings")["ratings"])


@contextmanager
def campaign_site(folder: Path) -> Iterator[CampaignSite]:
    """Run a service in this process. All raters of a test have one address, so addresses have no limits."""
    settings = Settings(folder=folder / "data", anonymous=0, failures=0)
    key = organiser_key(settings)
    listening = listen("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(create_app(settings), log_config=None))
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    while not server.started:
        time.sleep(0.05)
    yield CampaignSite(f"http://127.0.0.1:{listening.getsockname()[1]}", key)
    server.should_exit = True
    thread.join()


@dataclass
class Person:
    """Somebody with a browser of their own. It keeps errors, requests, and every text that the service sent."""

    page: Page
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    responses: list[Response] = field(default_factory=list)

    @classmethod
    def with_browser(cls, browser: Browser, **options: Any) -> Person:
        page = browser.new_context(**options).new_page()
        page.set_default_timeout(20_000)
        person = cls(page)
        page.on("request", lambda request: person.requests.append(request.url))
        page.on("response", lambda response: person.responses.append(response))
        page.on("console", lambda message: person.errors.append(message.text))
        page.on("pageerror", lambda error: person.errors.append(str(error)))
        page.on("dialog", lambda dialog: person.errors.append(dialog.message))
        return person

    @classmethod
    def rates(cls, browser: Browser, link: str, **options: Any) -> Person:
        """A rater who opened the link and read the instructions."""
        person = cls.with_browser(browser, **options)
        person.page.goto(link)
        expect(person.page.locator("#work")).to_be_visible()
        if person.page.locator("#begin").is_visible():
            person.page.click("#begin")
        return person

    @classmethod
    def organises(cls, browser: Browser, site: CampaignSite, **options: Any) -> Person:
        """An organiser who is signed in."""
        person = cls.with_browser(browser, **options)
        person.page.goto(f"{site.url}/login")
        person.page.fill("#key", site.key)
        person.page.keyboard.press("Enter")
        person.page.wait_for_url("**/organiser")
        return person

    @property
    def texts(self) -> list[str]:
        """The translations that are shown."""
        return self.page.locator("#cards .text").all_inner_texts()

    @property
    def source(self) -> str:
        return self.page.locator("#source").inner_text()

    def box(self, selector: str) -> FloatRect:
        """Where an element is in the window."""
        found = self.page.locator(selector).bounding_box()
        assert found is not None, selector
        return found

    def expect_text(self, text: str) -> None:
        """Wait until this translation is the one to rate."""
        expect(self.page.locator("#cards .text")).to_have_text(text)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def save(self) -> None:
        """Save the rating, and wait for the next item or the end."""
        with self.page.expect_response(lambda answer: answer.url.endswith("/next")):
            self.press("Enter")
        expect(self.page.locator("body")).not_to_have_class("busy")

    def act(self, key: str) -> None:
        """Skip or undo, and wait for the item that follows."""
        with self.page.expect_response(lambda answer: answer.url.endswith("/next")):
            self.press(key)
        expect(self.page.locator("body")).not_to_have_class("busy")

    def score(self, number: int) -> None:
        self.page.keyboard.type(str(number))
        self.save()

    def score_by_quality(self) -> bool:
        """Give one translation the score that it deserves. False: there is nothing to rate."""
        if self.page.locator("#done").is_visible():
            return False
        self.score(round(quality_of(self.texts[0])))
        return True

    def received(self) -> str:
        """All text that the service sent to this browser: pages, scripts, answers of the API."""
        return "\n".join(one.text() for one in self.responses if one.status < 300)

    def check_no_errors(self, url: str) -> None:
        assert self.errors == []
        assert all(one.startswith((url, "data:")) for one in self.requests)
