"""Charts in a real browser: axes, values, zoom, keyboard, touch, print, and charts that are hard to draw."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.report_samples import HOSTILE
from playwright.sync_api import Locator, Page, expect

from mtloop.report.chart import Axis, Chart, Mode, Series
from mtloop.report.chart_assets import chart_script, chart_style, report_asset
from mtloop.report.drawing_data import drawing_data

NewPage = Callable[..., Any]
Draw = Callable[..., Page]
SEGMENTS = Axis("segments so far", unit="segment")


def curve(name: str, values: Any, number: int = 1, mode: Mode = "line") -> Series:
    y = np.array(values, dtype=float)
    return Series(name, np.arange(1.0, len(y) + 1), y, number, mode)


def chart(*series: Series, x: Axis = SEGMENTS, y: Axis = Axis("score"), **options: Any) -> Chart:  # noqa: B008
    return Chart("c", "A chart", x, y, series, **options)


def html(drawn: Chart) -> str:
    data = json.dumps({"c": drawing_data(drawn)}).replace("<", "\\u003c")
    buttons = "".join(f'<button data-system="{number}" aria-pressed="true"></button>' for number in range(2))
    return f"""<!doctype html><meta charset="utf-8"><style>{chart_style()}{report_asset("report.css")}</style>{buttons}
<figure><figcaption>A chart</figcaption><div class="plot" data-chart="c"></div></figure>
<script type="application/json" id="chart-data">{data}</script><script type="module">{chart_script()}</script>"""


@pytest.fixture
def draw(new_page: NewPage, tmp_path: Path) -> Draw:
    """Draws a chart on a page of its own and returns the page; `errors` are its messages."""

    def drawn(shown: Chart, width: int = 900, **options: Any) -> Page:
        (tmp_path / "chart.html").write_text(html(shown), encoding="utf-8")
        observed = new_page(viewport={"width": width, "height": 600}, **options)
        page: Page = observed.page
        page.goto((tmp_path / "chart.html").as_uri())
        page.wait_for_selector("svg .axis-line", state="attached")
        assert observed.messages == []
        return page

    return drawn


def ticks(page: Page, axis: str) -> list[str]:
    return page.locator(f"svg .{axis}-tick").all_text_contents()


def values(page: Page) -> list[str]:
    return page.locator(".reading .value").all_inner_texts()


def hover(page: Page, share: float) -> None:
    """Move the mouse to a share of the width of the plotted area."""
    page.mouse.move(*place(page.locator("svg .axis-line").first, share))


def place(area: Locator, share: float) -> tuple[float, float]:
    box = area.bounding_box()
    assert box
    return box["x"] + box["width"] * share, box["y"] + box["height"] / 2


def drag(page: Page, start: float, end: float) -> None:
    area = page.locator("svg .axis-line").first
    page.mouse.move(*place(area, start))
    page.mouse.down()
    page.mouse.move(*place(area, end), steps=4)
    page.mouse.up()


def test_hovering_shows_the_value_of_every_series(draw: Draw) -> None:
    page = draw(chart(curve("falling", range(101, 0, -1)), curve("rising", range(1, 102), 2)))
    hover(page, 0.25)
    expect(page.locator(".reading strong")).to_have_text("segment 26")
    assert page.locator(".reading bdi").all_inner_texts() == ["falling", "rising"]
    assert values(page) == ["76.00", "26.00"]
    page.mouse.move(0, 0)
    expect(page.locator(".reading")).to_be_hidden()


def test_dragging_zooms_in_and_a_double_click_zooms_out(draw: Draw) -> None:
    page = draw(chart(curve("a", [500, *range(1, 101)]), y=Axis("score", range=(0, 100))))
    assert ticks(page, "x") == [str(n) for n in range(10, 101, 10)]
    drag(page, 0.5, 0.6)
    assert set(ticks(page, "x")) <= {str(n) for n in range(50, 63)}
    assert ticks(page, "y")[0] != "0"
    page.locator("svg").dblclick()
    assert ticks(page, "y")[-1] == "100"
    page.locator("svg").dblclick()  # everything, also the first value
    assert ticks(page, "y")[-1] == "500"


@pytest.mark.slow
def test_the_keyboard_reads_zooms_and_leaves(draw: Draw) -> None:
    page = draw(chart(curve("a", range(1, 101))))
    chart_image = page.get_by_role("img", name="Chart: A chart; score over segments so far")
    chart_image.press("ArrowRight")
    expect(page.get_by_role("status")).to_have_text("segment 1 a 1.00", use_inner_text=True)
    chart_image.press("Shift+ArrowRight")
    assert values(page) == ["11.00"]
    chart_image.press("End")
    chart_image.press("ArrowLeft")
    assert values(page) == ["99.00"]
    chart_image.press("+")
    assert "20" not in ticks(page, "x")
    chart_image.press("Escape")
    assert "20" in ticks(page, "x")
    expect(page.locator(".reading")).to_be_hidden()


def hold(page: Page, first: str, key: str) -> None:
    """Press a key, then another one 80 times. A chart that hangs is a timeout."""
    page.evaluate(
        """([first, key]) => {
          const press = (key) => document.querySelector("svg").dispatchEvent(new KeyboardEvent("keydown", { key }));
          window.held = false;
          setTimeout(() => { [first, ...Array(80).fill(key)].forEach(press); window.held = true; });
        }""",
        [first, key],
    )
    page.wait_for_function("window.held", timeout=20_000)


UNEVEN = np.cumsum(np.random.default_rng(2).uniform(0.01, 0.1, 200))


@pytest.mark.parametrize(
    ("x", "axis"),
    [
        (np.arange(1.0, 10_001), Axis("samples", "sample", log=True)),
        (UNEVEN, Axis("hours")),
        (0.1 + np.arange(3) * 2e-16, Axis("hours")),  # neighbours that a number can hardly tell apart
        (np.arange(1.0, 101), SEGMENTS),
    ],
    ids=["logarithmic", "not whole", "hardly different", "segments"],
)
@pytest.mark.parametrize("first", ["End", ""], ids=["at a point", "in the middle"])
def test_a_held_plus_key_stops_at_a_few_points(x: Any, axis: Axis, first: str, draw: Draw) -> None:
    page = draw(chart(Series("a", x, np.sin(x)), x=axis))
    image = page.locator("svg")
    hold(page, first, "+")
    assert 0 < len(ticks(page, "x")) < 25
    assert "NaN" not in image.inner_html()
    image.press("Home")
    expect(page.locator(".reading")).to_be_visible()  # there is still a point to read
    hold(page, first, "-")
    image.press("Home")
    assert float(page.locator(".reading strong").inner_text().split()[-1]) == pytest.approx(x[0], rel=1e-4)


def test_the_narrowest_zoom_shows_three_steps_of_the_points(draw: Draw) -> None:
    page = draw(chart(curve("a", range(1, 101))))
    hold(page, "", "ArrowRight")
    hold(page, "", "+")
    assert ticks(page, "x") == ["79", "80", "81"]  # from 78.5 to 81.5


def test_values_that_hardly_differ_have_few_ticks(draw: Draw) -> None:
    page = draw(chart(curve("a", [1, 1 + 2**-52, 1])))
    assert 0 < len(ticks(page, "y")) < 25


def test_a_click_or_enter_chooses_the_segment(draw: Draw) -> None:
    page = draw(chart(curve("a", range(1, 102))))
    page.evaluate("addEventListener('segment', (event) => { window.chosen = event.detail; })")
    page.mouse.click(*place(page.locator("svg .axis-line").first, 0.5))
    page.wait_for_function("window.chosen === 51")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.wait_for_function("window.chosen === 52")


@pytest.mark.slow
def test_a_finger_reads_first_and_chooses_with_the_second_tap(draw: Draw) -> None:
    page = draw(chart(curve("a", range(1, 102))), width=390, has_touch=True)
    page.evaluate("addEventListener('segment', (event) => { window.chosen = event.detail; })")
    where = place(page.locator("svg .axis-line").first, 0.5)
    page.touchscreen.tap(*where)
    expect(page.locator(".reading strong")).to_have_text("segment 51")
    page.wait_for_timeout(400)
    assert page.evaluate("window.chosen") is None
    page.touchscreen.tap(*where)
    page.wait_for_function("window.chosen === 51")


@pytest.mark.parametrize(
    ("length", "expected"),
    [(30, ["1", "2", "5", "10", "20"]), (100_000, ["1", "10", "100", "1,000", "10,000", "100,000"])],
)
def test_a_logarithmic_axis_has_round_ticks(length: int, expected: list[str], draw: Draw) -> None:
    x = np.unique(np.geomspace(1, length, 50).round())
    page = draw(chart(Series("a", x, x), x=Axis("samples", "sample", log=True)))
    assert ticks(page, "x") == expected
    page.locator("svg").press("End")
    expect(page.locator(".reading strong")).to_have_text(f"sample {length:,}")


def test_given_ticks_are_kept_and_thinned_where_they_overlap(draw: Draw) -> None:
    powers = tuple(2.0**n for n in range(14))
    points = Series("a", np.array(powers), np.array(powers), mode="points")
    page = draw(chart(points, x=Axis("blocks", "block", log=True, ticks=powers)), width=390)
    assert ticks(page, "x") == ["1", "16", "256", "4,096"]


def test_gaps_single_points_and_levels_are_drawn(draw: Draw) -> None:
    page = draw(chart(curve("a", [1, math.nan, 2, 3, math.nan, 4]), vertical_lines=(2.0, 5.0), horizontal_line=0.0))
    path = str(page.locator(".curve").get_attribute("d"))
    assert path.count("M") == 3
    assert "NaN" not in page.locator("svg").inner_html()
    assert str(page.locator(".symbols").get_attribute("d")).count("M") == 2  # the lone points are dots
    expect(page.locator(".guide.start")).to_have_count(2)
    expect(page.locator(".guide.level")).to_have_count(1)
    assert "0" in ticks(page, "y")
    page.locator("svg").press("Home")
    page.locator("svg").press("ArrowRight")
    assert values(page) == ["–"]


@pytest.mark.parametrize("shown", [chart(), chart(curve("a", [])), chart(curve("a", [math.nan] * 3))])
def test_an_empty_chart_says_so(shown: Chart, draw: Draw) -> None:
    page = draw(shown)
    expect(page.locator("svg")).to_contain_text("nothing to show")
    hover(page, 0.5)
    page.locator("svg").press("ArrowRight")


@pytest.mark.parametrize("mode", ["line", "points"])
def test_one_single_point(mode: Mode, draw: Draw) -> None:
    page = draw(chart(curve("a", [7], mode=mode)))
    expect(page.locator(".symbols")).to_have_count(1)
    hover(page, 0.5)
    assert values(page) == ["7.000"]


@pytest.mark.slow
def test_thirty_systems_can_be_read_on_any_screen(draw: Draw) -> None:
    names = [f"a-system-with-a-long-name-{number}" for number in range(30)]
    shown = chart(*(curve(name, [number, number + 1], number) for number, name in enumerate(names)))
    for width in (390, 1200):
        page = draw(shown, width=width)
        for share in (0.1, 0.9):
            hover(page, share)
            assert page.locator(".reading bdi").all_text_contents() == names
            box = page.locator(".reading").bounding_box()
            assert box
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width
            assert box["height"] < 320
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_names_are_text(draw: Draw) -> None:
    page = draw(Chart("c", HOSTILE, Axis(HOSTILE), Axis(HOSTILE), (curve(HOSTILE, [1, 2]),)))
    hover(page, 0.1)
    assert page.locator(".reading bdi").text_content() == HOSTILE
    assert page.evaluate("window.hacked") is None
    assert page.locator("img, svg script").count() == 0


def test_a_long_series_is_thinned_without_losing_extremes(draw: Draw) -> None:
    noise = np.random.default_rng(1).normal(size=(5, 20_000))
    noise[0, 12_345] = 50
    page = draw(chart(*(curve(f"s{number}", row, number) for number, row in enumerate(noise))))
    drawn = page.locator(".curve").first
    assert str(drawn.get_attribute("d")).count("L") < 4 * 900
    top = page.locator("svg .axis-line").first.bounding_box()
    peak = drawn.bounding_box()
    assert top
    assert peak
    assert peak["y"] - top["y"] < 20  # the peak is near the upper end
    took = page.evaluate("""() => {
      const svg = document.querySelector("svg"), started = performance.now();
      for (const key of ["+", "+", "ArrowRight", "-", "-"]) svg.dispatchEvent(new KeyboardEvent("keydown", { key }));
      return performance.now() - started;
    }""")
    assert took < 2000


@pytest.mark.parametrize("width", [390, 1200])
def test_the_chart_follows_the_width_of_the_window(width: int, draw: Draw) -> None:
    page = draw(chart(curve("a", range(1, 2001))), width=700)
    page.set_viewport_size({"width": width, "height": 600})
    box = page.locator(".plot").bounding_box()
    assert box
    expect(page.locator(".plot svg")).to_have_attribute("width", str(round(box["width"])))
    assert len(ticks(page, "x")) >= 4
    assert ticks(page, "x")[-1] == "2,000"


def test_buttons_hide_systems_and_the_axis_stays(draw: Draw) -> None:
    page = draw(chart(curve("0", [1, 2], 1), curve("1", [1, 9], 2)))
    before = ticks(page, "x")
    page.locator("[data-system='1']").click()
    expect(page.locator(".curve")).to_have_count(1)
    hover(page, 0.2)
    assert page.locator(".reading bdi").all_inner_texts() == ["0"]
    assert ticks(page, "x") == before


@pytest.mark.slow
def test_a_chart_is_saved_as_svg_and_png_with_title_and_legend(draw: Draw) -> None:
    page = draw(chart(curve("a & <b>", [1, 2])))
    saved = {}
    for kind in ("SVG", "PNG"):
        with page.expect_download() as download:
            page.get_by_role("button", name=f"Save the chart A chart as {kind}").click()
        assert download.value.suggested_filename == f"c.{kind.lower()}"
        saved[kind] = Path(download.value.path()).read_bytes()
    assert saved["PNG"].startswith(b"\x89PNG")
    assert len(saved["PNG"]) > 5000
    text = saved["SVG"].decode()
    assert "A chart" in text
    assert "a &amp; &lt;b&gt;" in text
    assert "rgb(0, 114, 178)" in text  # the colours are in the file
    assert "var(" not in text


@pytest.mark.slow
def test_paper_is_light_in_dark_mode(draw: Draw) -> None:
    page = draw(chart(curve("a", [1, 2])), color_scheme="dark")
    expect(page.locator(".curve")).to_have_css("stroke", "rgb(86, 180, 233)")
    page.emulate_media(media="print")
    expect(page.locator(".curve")).to_have_css("stroke", "rgb(0, 114, 178)")
    expect(page.locator(".chart-tools")).to_be_hidden()
    assert page.pdf()
