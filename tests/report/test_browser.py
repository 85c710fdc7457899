"""The page in a real browser: charts, controls, and no network access."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from helpers.contrast import CONTRAST
from helpers.report_samples import HOSTILE, steps, stream
from helpers.tiers import slow
from playwright.sync_api import Page, expect

from mtloop.experiments.measures import Measures
from mtloop.methods.defaults import COMPARED_METHODS
from mtloop.metrics import BLEU, SBLEU, TER, Recall, Slope
from mtloop.metrics.evaluation import Evaluation
from mtloop.metrics.reliability import RepeatedErrors
from mtloop.report import write_report
from mtloop.text.units import ContentWords

NewPage = Callable[..., Any]


def colour(page: Page, selector: str, of: str = "color") -> str:
    return str(page.locator(selector).first.evaluate("(element, of) => getComputedStyle(element)[of]", of))


def first_heading(page: Page) -> str:
    return page.locator("article h3").first.inner_text().split("\n")[0].strip()


def test_all_charts_are_drawn_without_network_requests(new_page: NewPage, report: Path) -> None:
    observed = new_page()
    page = observed.open(report)
    charts = page.locator("[data-chart]")
    for number in range(charts.count()):
        expect(charts.nth(number).locator("svg .curve").first).to_be_attached()
    for part in ("curve", "band", "symbols"):
        expect(charts.first.locator(f"svg .{part}")).to_have_count(2)
    assert observed.requests == [report.as_uri()]
    assert observed.messages == []


def test_hostile_names_and_texts_do_nothing(new_page: NewPage, hostile_report: Path) -> None:
    observed = new_page()
    page = observed.open(hostile_report)
    assert page.evaluate("window.hacked") is None
    assert observed.messages == []
    assert observed.requests == [hostile_report.as_uri()]
    assert page.locator("article img, article script, h1 script, article b").count() == 0
    assert page.locator("h1").inner_text() == HOSTILE
    assert page.locator("article dd").first.inner_text() == HOSTILE


@pytest.mark.slow
def test_right_to_left_empty_and_long_segments(new_page: NewPage, hostile_report: Path) -> None:
    page = new_page().open(hostile_report)
    arabic, long, chinese = (page.locator("article").nth(number) for number in (1, 2, 3))
    assert arabic.locator(".text").nth(1).evaluate("(text) => getComputedStyle(text).direction") == "rtl"
    expect(arabic.locator(".empty").first).to_have_text("(empty)")
    assert long.locator(".text.long").first.bounding_box()["height"] < 300  # type: ignore[index]
    assert long.locator("del").count() == 1
    assert chinese.locator("del").all_inner_texts() == ["档"]
    assert chinese.locator("ins").all_inner_texts() == ["件"]


def test_differences_from_the_reference_are_marked(page: Page) -> None:
    page.fill("#search", "#5")
    expect(page.locator("#found")).to_have_text("1 of 60 segments")
    assert page.locator("article dt bdi").all_inner_texts() == ["static", "adapting"]
    assert page.locator("del").filter(has_text="Griff").count() == 1
    assert page.locator("article ins").all_inner_texts() == ["Hebel"]
    assert "line-through" in colour(page, "article del", "textDecorationLine")
    assert "underline" in colour(page, "article ins", "textDecorationLine")
    assert page.locator("article mark.second").first.inner_text() == "Hebel"
    assert page.locator("article .words .wrong").all_inner_texts() == ["Hebel"]
    assert page.locator("article .words .right").nth(0).inner_text() == "Hebel"


def test_differences_from_the_baseline_are_marked(page: Page) -> None:
    page.fill("#search", "#5")
    expect(page.locator("article")).to_have_count(1)
    page.select_option("#against", "baseline")
    assert page.locator("article del").all_inner_texts() == ["Griff"]
    assert page.locator("article ins").all_inner_texts() == ["Hebel"]
    expect(page.locator("[data-against=baseline]")).to_be_visible()


def test_systems_with_the_same_output_are_shown_once(page: Page) -> None:
    outputs = page.locator("article").first.locator("dt:has(.swatch)")
    expect(outputs).to_have_count(1)
    assert outputs.locator("bdi").all_inner_texts() == ["static", "adapting"]


def test_search_filter_order_and_pages(page: Page) -> None:
    found = page.locator("#found")
    expect(page.locator("#page")).to_have_text("page 1 of 3")
    page.click("#next")
    assert first_heading(page) == "Segment 21"
    page.fill("#search", "VENTIL")
    expect(found).to_have_text("20 of 60 segments")
    page.fill("#search", "nowhere to be found")
    expect(found).to_have_text("0 of 60 segments")
    page.fill("#search", "")
    expect(found).to_have_text("60 of 60 segments")
    page.select_option("#filter", label="changed against the baseline")
    expect(found).to_have_text("43 of 60 segments")
    page.select_option("#filter", label="second appearance correct, baseline wrong")
    expect(found).to_have_text("3 of 60 segments")
    page.select_option("#filter", label="all segments")
    page.select_option("#order", label="best first")
    assert first_heading(page) == "Segment 4"
    page.select_option("#order", label="worst first")
    assert first_heading(page) == "Segment 3"
    page.select_option("#order", label="largest gain first")
    assert first_heading(page) == "Segment 4"


def test_a_click_on_a_curve_opens_its_segment(page: Page) -> None:
    chart = page.locator("[data-chart=curve-bleu] svg")
    chart.hover(position={"x": 200, "y": 100})
    read = page.locator("[data-chart=curve-bleu] .reading strong").inner_text()
    chart.click(position={"x": 200, "y": 100})
    expect(page.locator("article")).to_have_count(1)
    assert first_heading(page).lower() == read


def test_the_legend_hides_a_system_by_keyboard(page: Page) -> None:
    traces = page.locator("[data-chart=curve-ter] .curve")
    expect(traces).to_have_count(2)
    button = page.locator("[data-system=static]").first
    button.focus()
    page.keyboard.press("Enter")
    expect(button).to_have_attribute("aria-pressed", "false")
    expect(traces).to_have_count(1)
    page.keyboard.press("Enter")
    expect(traces).to_have_count(2)


@pytest.mark.slow
def test_charts_are_resized_for_printing_and_back(page: Page) -> None:
    drawn = page.locator("[data-chart=curve-ter] svg")
    wide = drawn.get_attribute("width")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    expect(drawn).to_have_attribute("width", "360")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    expect(drawn).to_have_attribute("width", str(wide))


@pytest.mark.parametrize("scheme", ["light", slow("dark")])
def test_readable_in_light_and_dark(scheme: str, new_page: NewPage, report: Path) -> None:
    page = new_page(color_scheme=scheme).open(report)
    ground = colour(page, "body", "backgroundColor")
    pairs = [(colour(page, selector), ground) for selector in ("body", ".note", "a", "td small", "article dt")]
    pairs += [(colour(page, kind), colour(page, kind, "backgroundColor")) for kind in ("del", "ins", "mark", "select")]
    pairs.append((colour(page, "[data-chart] .x-tick", "fill"), ground))
    assert min(page.evaluate(CONTRAST, list(pair)) for pair in pairs) >= 4.5
    line = colour(page, "[data-chart=curve-ter] .curve.solid", "stroke")
    assert page.evaluate(CONTRAST, [line, ground]) >= 3


@pytest.mark.slow
def test_charts_change_with_the_colour_scheme(new_page: NewPage, report: Path) -> None:
    page = new_page(color_scheme="light").open(report)
    tick = "[data-chart] .x-tick"
    before = colour(page, tick, "fill")
    page.emulate_media(color_scheme="dark")
    expect(page.locator(tick).first).not_to_have_css("fill", before)


def test_the_page_fits_a_narrow_screen(new_page: NewPage, report: Path) -> None:
    page = new_page(viewport={"width": 400, "height": 800}).open(report)
    assert page.evaluate("document.documentElement.scrollWidth") <= 400


CUT_OFF = """() => {
  const wide = (box) => box.scrollWidth > box.clientWidth ? [box.getAttribute("aria-label") || box.tagName] : [];
  const boxes = [document.documentElement, ...document.querySelectorAll(".scroll")];
  const outside = [...document.querySelectorAll(".scroll :is(th, td, .score, .stars, small)")].filter((part) =>
    part.getBoundingClientRect().right > part.closest(".scroll").getBoundingClientRect().right);
  return [...boxes.flatMap(wide), ...outside.map((part) => part.textContent)];
}"""  # what is wider than its place: nothing was scrolled


@pytest.fixture(scope="module")
def seven_systems(words: ContentWords, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report on the methods of the demo, with the metrics of `mtloop compare` and both slopes."""
    baseline, worst, *others = COMPARED_METHODS.split(",")
    wrong = steps([(one.proposal.segment.source, "Zahl", one.references[0]) for one in stream(False)])
    systems = {baseline: stream(False), worst: wrong, **{name: stream(True) for name in others}}
    evaluation = Evaluation(systems, [], baseline, resamples=50)
    quality = [BLEU(), SBLEU(), TER(), *(Recall(words, times) for times in ({0}, {1}, {0, 1})), RepeatedErrors(words)]
    slopes = [Slope(TER(), model, 40, resamples=50) for model in ("u", "ca")]
    harm = Measures(names=("near-better", "near-worse", "flips"), language="de", source_language="en")
    collateral = harm.metrics(systems, baseline)
    out = tmp_path_factory.mktemp("seven") / "report.html"
    (page,) = write_report(replace(evaluation, metrics=[*quality, *slopes, *collateral]), out, pictures=())
    return page


@pytest.mark.parametrize("width", [390, slow(800), 1200])
def test_nothing_is_cut_off(width: int, new_page: NewPage, seven_systems: Path) -> None:
    page = new_page(viewport={"width": width, "height": 800}).open(seven_systems)
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert page.locator("#scores tbody tr").count() == 2 * 7  # ten metrics: two tables
    assert page.locator("#harm tbody tr").count() > 0
    assert page.evaluate(CUT_OFF) == []


def test_on_a_phone_each_metric_is_a_row_with_its_name(new_page: NewPage, seven_systems: Path) -> None:
    page = new_page(viewport={"width": 390, "height": 800}).open(seven_systems)
    rows = page.locator("#scores tbody tr").nth(1)
    boxes = [cell.bounding_box() for cell in rows.locator("td").all()]
    assert len({box["x"] for box in boxes}) == 1
    assert all(upper["y"] + upper["height"] <= lower["y"] for upper, lower in pairwise(boxes))
    labels = rows.locator("td").evaluate_all("(all) => all.map((one) => getComputedStyle(one, '::before').content)")
    assert labels[:3] == ['"BLEU ↑"', '"SBLEU ↑"', '"TER ↓"']
    assert page.locator("#scores thead").first.is_hidden()


@pytest.mark.slow
def test_a_report_on_twenty_thousand_segments_is_small_and_fast(new_page: NewPage, tmp_path: Path) -> None:
    triples = [(f"Open drawer number {i}.", f"Öffnen Fach {i}.", f"Öffnen Sie Schublade {i}.") for i in range(20_000)]
    systems = {"static": steps(triples), "adapting": steps([(a, c, c) for a, _, c in triples])}
    evaluation = Evaluation(systems, [SBLEU()], "static", resamples=10)
    results = list(evaluation.results())
    started = time.process_time()
    (out,) = write_report(evaluation, tmp_path / "big.html", pictures=(), results=results)
    assert time.process_time() - started < 10
    assert out.stat().st_size < 10_000_000
    page = new_page().open(out)
    took = page.evaluate("""() => {
      const started = performance.now();
      const order = document.getElementById("order");
      order.value = 1;
      order.dispatchEvent(new Event("change"));
      return performance.now() - started;
    }""")
    assert took < 2000
    page.fill("#search", "number 19999.")
    expect(page.locator("#found")).to_have_text("1 of 20,000 segments")
