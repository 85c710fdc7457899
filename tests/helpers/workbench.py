"""A service with projects and people who work on documents in a browser."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import httpx2
from helpers.served_projects import ServedProjects
from playwright.sync_api import Browser, Locator, Page, expect

HEADER = 'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n"Language: de\\n"\n'
SOURCES = (
    "Close the tray.",
    "Open the file %s.",
    "Save the image.",
    "Print the page.",
    "The printer is ready.",
    "Delete the file %s now.",
    "The image is too large.",
    "Choose a paper size.",
    "Open the settings.",
    "Print the page again.",
)


def po_file(sources: Sequence[str], flags: str = "c-format") -> bytes:
    """A PO file without translations. Equal sources are told apart by their context."""

    def quoted(text: str) -> str:
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'

    units = [
        f'\n{f"#, {flags}" if "%" in source else "#. plain"}\nmsgctxt "{number}"\nmsgid {quoted(source)}\nmsgstr ""\n'
        for number, source in enumerate(sources)
    ]
    return (HEADER + "".join(units)).encode()


def upload(served: ServedProjects, project: str, content: bytes, name: str = "de.po") -> str:
    """Upload a document; return its id."""
    with api(served) as client:
        answer = client.post(f"/projects/{project}/documents", params={"name": name}, content=content)
        assert answer.status_code == 201, answer.text
        return str(answer.json()["document"])


def document_of(served: ServedProjects, project: str, sources: Sequence[str] = SOURCES) -> str:
    """Create a project with a document of these sources; return the id of the document."""
    served.create(project)
    return upload(served, project, po_file(sources))


def confirmed(served: ServedProjects, project: str, document: str) -> dict[int, str]:
    """The confirmed texts of a document by the index of their unit."""
    with api(served) as client:
        found = client.get(f"/projects/{project}/documents/{document}/units", params={"filter": "confirmed"}).json()
    return {unit["index"]: unit["target"] for unit in found["units"]}


def api(served: ServedProjects, key: str = "") -> httpx2.Client:
    return httpx2.Client(base_url=f"{served.url}/v1", headers={"x-api-key": key or served.key}, timeout=60)


@dataclass
class Bench:
    """A person at the workbench. Errors of the page are collected."""

    page: Page
    url: str
    errors: list[str]
    requests: list[str]

    @classmethod
    def sign_in(cls, browser: Browser, url: str, key: str, **options: Any) -> Bench:
        page = browser.new_context(**options).new_page()
        page.set_default_timeout(20_000)
        bench = cls(page, url, [], [])
        page.on("request", lambda request: bench.requests.append(request.url))
        page.on("console", lambda message: bench.errors.append(message.text))
        page.on("pageerror", lambda error: bench.errors.append(str(error)))
        page.on("dialog", lambda dialog: bench.errors.append(dialog.message))
        page.goto(f"{url}/login")
        page.fill("#key", key)
        page.keyboard.press("Enter")
        page.wait_for_url(lambda here: not here.endswith("/login"))
        return bench

    def open(self, path: str) -> Page:
        self.page.goto(self.url + path)
        return self.page

    def open_document(self, project: str, document: str) -> Page:
        page = self.open(f"/projects/{project}/documents/{document}")
        expect(self.editor).to_be_focused()
        return page

    @property
    def editor(self) -> Locator:
        return self.page.locator(".box")

    def row(self, number: int) -> Locator:
        return self.page.locator(f"#rows li[data-index='{number - 1}']")

    def active(self) -> int:
        return int(self.page.locator("#rows li.is-active").get_attribute("data-index") or -1) + 1

    def wait_for_active(self, number: int) -> None:
        expect(self.row(number)).to_have_class(_word("is-active"))

    def text(self) -> str:
        """The exact text of the active segment."""
        return str(self.page.evaluate("editor.text"))

    def type_over(self, text: str) -> None:
        """Replace the text of the active segment by typing; again if a suggestion came between two keys."""
        for _ in range(5):
            self.editor.focus()
            self.page.keyboard.press("Control+A")
            self.page.keyboard.press("Delete")
            self.page.keyboard.insert_text(text)
            if self.text() == text:
                return

    def confirm(self, text: str) -> None:
        number = self.active()
        self.type_over(text)
        self.page.keyboard.press("Control+Enter")
        expect(self.row(number)).to_have_class(_word("is-confirmed"))

    def check_no_errors(self) -> None:
        assert self.errors == []
        assert all(url.startswith((self.url, "data:", "blob:")) for url in self.requests)


def _word(name: str) -> Any:
    import re

    return re.compile(rf"\b{name}\b")
