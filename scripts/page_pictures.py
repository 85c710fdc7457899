"""Pictures of every page of the service, light, dark and as on a phone: `make screenshots` makes them.

The service has the demo project, the shared task of `service-run.png`, and a rating campaign of each kind. A person
works at the last chapter of the demo document, which the project has not learned.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from PIL import Image
from playwright.sync_api import Browser, Page, expect

LOOKS: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light", "viewport": {"width": 1200, "height": 800}},
    "dark": {"color_scheme": "dark", "viewport": {"width": 1200, "height": 800}},
    "phone": {
        "color_scheme": "light",
        "viewport": {"width": 390, "height": 800},
        "has_touch": True,
        "is_mobile": True,  # it has no pointer that hovers
    },
}
COLOURS = 128  # of a picture: text and lines need no more
LAST_CHAPTER = "10-exchange-and-maintenance"
WITH_CHIPS = ("Import %d records into <b>%s</b>?", "%d Datensätze in <b>%s</b> importieren?")
CONFIRMED = 2  # segments of the document
KINDS = ("score", "thumbs", "pair", "mqm")


@dataclass(frozen=True)
class People:
    """The address of the service, and the keys of the people who look at its pages."""

    url: str
    translator: str
    participant: str
    organiser: str


def page_pictures(browser: Browser, people: People, demo: Path, out: Path) -> None:
    """Photograph every page in every look. `demo` is the demo document."""
    out.mkdir(parents=True, exist_ok=True)
    rows = list(_chapter(demo))
    run = f"/runs/{_call(people.url, people.participant, '/v1/runs')['runs'][0]['run']}"
    document = _upload(people, rows)
    links = {kind: _campaign(people, kind, rows) for kind in KINDS}
    _work(browser, people, document, rows)
    for look, options in LOOKS.items():
        for name, key, path, ready in _pages(people, run, document, links):
            page = _opened(browser, people, key, path, options)
            page.wait_for_selector(ready)
            if name.startswith("rate-"):
                page.get_by_role("button", name="Begin").click()
            if name == "rate-mqm":
                for key in ("ArrowRight", "ArrowRight", "m", "1"):  # mark a word as a minor mistranslation
                    page.keyboard.press(key)
            page.wait_for_load_state("networkidle")
            _save(page, out / f"{name}.{look}.png")
            page.context.close()


def _pages(people: People, run: str, document: str, links: dict[str, str]) -> Iterator[tuple[str, str, str, str]]:
    """Yield the name of each picture, whose key opens the page, its path, and what it must have."""
    yield "tasks", "", "/", "tbody tr"
    yield "task", "", "/tasks/demo", "tbody tr"
    yield "login", "", "/login", "#key"
    yield "runs", people.participant, "/runs", "tbody tr"
    yield "run", people.participant, run, "svg .curve"
    yield "missing", "", "/tasks/none", ".lead"
    yield "problem", "", "/nowhere", ".lead[role=alert]"
    yield "organiser", people.organiser, "/organiser", "tbody tr"
    yield "campaigns", people.organiser, "/organiser/campaigns", "h1"
    yield "campaign", people.organiser, "/organiser/campaigns/score", "h1"
    yield "projects", people.translator, "/projects", "tbody tr"
    yield "project", people.translator, "/projects/demo", "tbody tr"
    yield "curves", people.translator, "/projects/demo/curves", "svg"
    yield "no-project", people.translator, "/projects/none", ".lead"
    yield "workbench", people.translator, document, ".is-active .box"
    for kind, link in links.items():
        yield f"rate-{kind}", "", link, "#work:not([hidden])"


def _chapter(demo: Path) -> Iterator[tuple[str, str]]:
    """Yield the segments of the last chapter with their translations, and one with placeholders and tags."""
    with demo.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    chapter = [(row["source"], row["target"]) for row in rows if row["document"] == LAST_CHAPTER]
    yield from chapter[:CONFIRMED]
    yield WITH_CHIPS
    yield from chapter[CONFIRMED:]


def _upload(people: People, rows: Sequence[tuple[str, str]]) -> str:
    """Upload the chapter as a PO file; return the path of its page."""
    units = (f'\n#, c-format\nmsgid {json.dumps(source, ensure_ascii=False)}\nmsgstr ""\n' for source, _ in rows)
    header = 'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n"Language: de\\n"\n'
    content = (header + "".join(units)).encode()
    answer = _call(people.url, people.translator, "/v1/projects/demo/documents?name=maintenance.po", content)
    return f"/projects/demo/documents/{answer['document']}"


def _campaign(people: People, kind: str, rows: Sequence[tuple[str, str]]) -> str:
    """Create a campaign, let one rater rate a little, and return the path of another rater's page."""
    targets = [target for _, target in rows[:12]]
    shorter = [" ".join(text.split()[:-1]) or text for text in targets]
    outputs = {"first": targets, "second": [text.replace("Sie ", "") for text in targets], "third": shorter}
    body = {"name": kind, "kind": kind, "sources": [source for source, _ in rows[:12]], "outputs": outputs}
    _call(people.url, people.organiser, "/v1/campaigns", body | {"overlap": 2, "top": 1})
    kim, lee = (_rater(people, kind, name) for name in ("kim", "lee"))
    if kind == "score":
        for seconds in range(1, 9):
            _rate(people, kim, seconds)
    return lee


def _rater(people: People, campaign: str, name: str) -> str:
    return str(_call(people.url, people.organiser, f"/v1/campaigns/{campaign}/raters", {"name": name})["link"])


def _rate(people: People, link: str, seconds: int) -> None:
    token = link.rpartition("/")[2]
    item = _call(people.url, "", f"/v1/rating/{token}/next")
    scores = [95.0 - 7 * seconds for _ in item["translations"]]
    body = {"item": item["item"], "scores": scores, "seconds": seconds}
    _call(people.url, "", f"/v1/rating/{token}/ratings", body)


def _work(browser: Browser, people: People, document: str, rows: Sequence[tuple[str, str]]) -> None:
    """Confirm the first segments of the document, so that the pages have something to show."""
    page = _opened(browser, people, people.translator, document, LOOKS["light"])
    for number, (_, target) in enumerate(rows[:CONFIRMED]):
        active = page.locator(f"#rows li.is-active[data-index='{number}']")
        expect(active.locator(".state")).not_to_have_text("open", timeout=60_000)
        active.locator(".box").focus()
        page.keyboard.press("Control+A")
        page.keyboard.insert_text(target)
        page.keyboard.press("Control+Enter")
        expect(page.locator(f"#rows li.is-confirmed[data-index='{number}']")).to_be_visible(timeout=60_000)
    page.context.close()


def _opened(browser: Browser, people: People, key: str, path: str, options: dict[str, Any]) -> Page:
    page = browser.new_context(**options, locale="en").new_page()
    if key:
        page.goto(f"{people.url}/login")
        page.fill("#key", key)
        page.keyboard.press("Enter")
        page.wait_for_url(lambda url: not url.endswith("/login"))
    page.goto(people.url + path)
    if "/documents/" in path:
        page.wait_for_selector(".is-active .box")
        expect(page.locator(".is-active .state")).not_to_have_text("open", timeout=60_000)
        expect(page.locator("#strip-r1")).not_to_have_text("–", timeout=60_000)
    return page


def _save(page: Page, path: Path) -> None:
    """Write what is seen, with few colours: a fifth of the bytes."""
    picture = Image.open(io.BytesIO(page.screenshot(animations="disabled"))).convert("RGB")
    picture.quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)


def _call(url: str, key: str, path: str, body: Any = None) -> Any:
    """Call the API: a GET without a body; a POST of JSON, or of the bytes of a file."""
    is_file = isinstance(body, bytes)
    content = body if body is None or is_file else json.dumps(body).encode()
    headers = {"content-type": "application/octet-stream" if is_file else "application/json"}
    with urlopen(Request(url + path, content, headers | ({"x-api-key": key} if key else {}))) as answer:
        return json.load(answer)
