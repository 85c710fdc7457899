"""A small stream, a report on it, and a browser that opens the report."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from helpers.browser import chromium
from helpers.report_samples import HOSTILE, steps, stream
from playwright.sync_api import Browser, Page

from mtloop.metrics import BLEU, SBLEU, TER, Recall, Slope
from mtloop.metrics.evaluation import Evaluation
from mtloop.report import write_report
from mtloop.text.stopwords import StopWords
from mtloop.text.units import ContentWords


@pytest.fixture(scope="session")
def words() -> ContentWords:
    return ContentWords("de", StopWords.of_words(["sie"], "test"))


@pytest.fixture(scope="session")
def evaluation(words: ContentWords) -> Evaluation:
    ter = TER()
    recalls = [Recall(words, {0}), Recall(words, {1})]
    slopes = [Slope(ter, "u", 40, resamples=50), Slope(ter, "ca", 40, resamples=50)]
    systems = {"static": stream(False), "adapting": stream(True)}
    return Evaluation(systems, [BLEU(), ter, SBLEU(), *recalls, *slopes], "static", resamples=100)


@pytest.fixture(scope="session")
def hostile() -> Evaluation:
    """Names and texts with HTML and scripts, right-to-left text, an empty output, a very long output."""
    triples = [
        (HOSTILE, HOSTILE, f"{HOSTILE} & more"),
        ("Open the file.", "", "افتح الملف من القائمة"),
        ("long", "wort " * 20_000, "andere " * 20_000),
        ("打开文件", "打开文档", "打开文件"),
    ]
    systems = {"<b>base</b> & $x$": steps(triples, "<i>doc</i>"), HOSTILE: steps([(a, c, c) for a, _, c in triples])}
    return Evaluation(systems, [SBLEU()], "<b>base</b> & $x$", resamples=10)


@pytest.fixture(scope="session")
def report(evaluation: Evaluation, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("report") / "report.html"
    write_report(evaluation, out, pictures=(), title="Ein Bericht", command="mtloop report --out report.html")
    return out


@pytest.fixture(scope="session")
def hostile_report(hostile: Evaluation, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("hostile") / "report.html"
    write_report(hostile, out, pictures=(), title=HOSTILE, command=HOSTILE)
    return out


@pytest.fixture(scope="module")  # an open browser occupies the event loop, which other modules need
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


class ObservedPage:
    """A page with its network requests, and with its console messages, errors and dialogs."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.requests: list[str] = []
        self.messages: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("console", lambda message: self.messages.append(message.text))
        page.on("pageerror", lambda error: self.messages.append(str(error)))
        page.on("dialog", lambda dialog: self.messages.append(dialog.message))

    def open(self, path: Path) -> Page:
        self.page.goto(path.as_uri())
        self.page.wait_for_selector("[data-chart] svg .axis-line")
        self.page.wait_for_selector("article")
        return self.page


@pytest.fixture
def new_page(browser: Browser) -> Iterator[Callable[..., ObservedPage]]:
    contexts = []

    def make(**options: object) -> ObservedPage:
        context = browser.new_context(**options)  # type: ignore[arg-type]
        contexts.append(context)
        return ObservedPage(context.new_page())

    yield make
    for context in contexts:
        context.close()


@pytest.fixture(scope="module")
def opened(browser: Browser, report: Path) -> Page:
    """One page for all tests that change only its controls, because loading it is slow."""
    return ObservedPage(browser.new_page()).open(report)


@pytest.fixture
def page(opened: Page) -> Page:
    """The opened page with its controls reset."""
    opened.locator("form").evaluate("(form) => form.reset()")
    for menu in ("#filter", "#against"):
        opened.locator(menu).dispatch_event("change")
    return opened
