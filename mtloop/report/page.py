"""The report page: one HTML file with all texts, tables, charts, and the scripts that draw them."""

from __future__ import annotations

import base64
import hashlib
import html
import platform
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from string import Template

from mtloop.core.types import JSON
from mtloop.metrics.evaluation import Evaluation, SystemResult
from mtloop.report import plotly_charts
from mtloop.report.chart import Chart
from mtloop.report.evaluation_charts import MAX_SHADED_SYSTEMS, Charts, style_numbers
from mtloop.report.html_tables import score_table, signatures, slope_table
from mtloop.report.learning_curves import LearningCurves
from mtloop.report.markup import Markup, element, join, script_json
from mtloop.report.palette import css, series_style
from mtloop.report.segments import segment_data
from mtloop.report.verdict import verdict

SCRIPTS = ("charts.js", "diff.js", "cards.js", "segments.js")
VERSIONS = ("mtloop", "numpy", "sacrebleu", "sacremoses", "plotly")


@dataclass(frozen=True)
class Page:
    """The contents of a report page; `html` returns the page."""

    evaluation: Evaluation
    results: Sequence[SystemResult]
    charts: Charts
    title: str
    command: str = ""
    learning_curves: LearningCurves | None = None

    def html(self) -> str:
        parts = {**self._sections(), **self._scripts()}
        page = Template(_asset("page.html")).substitute(parts)
        return page.encode("utf-8", "replace").decode()  # a trace may contain a lone surrogate, a UTF-8 file may not

    def _sections(self) -> dict[str, str]:
        return {
            "title": html.escape(self.title),
            "verdict": verdict(self.evaluation, self.results),
            "extent": self._size(),
            "scores": score_table(self.evaluation, self.results),
            "marks": self._score_notes(),
            "learning": self._learning_section(),
            "differences": self._difference_section(),
            "reproduce": self._reproduction(),
        }

    def _scripts(self) -> dict[str, str]:
        plotly, own = plotly_charts.library(), "\n".join(map(_asset, SCRIPTS))
        figures: JSON = {chart.name: plotly_charts.figure(chart) for chart in self.charts}
        return {
            "policy": _content_security_policy([plotly, own]),
            "style": css() + _asset("report.css"),
            "plotly": plotly,
            "script": own,
            "charts": script_json(figures),
            "segments": script_json(segment_data(self.evaluation)),
        }

    def _size(self) -> Markup:
        steps = next(iter(self.evaluation.systems.values()))
        documents = len({step.proposal.segment.document for step in steps})
        count = f"{len(steps):,} segments" + (f" in {documents:,} documents" if documents > 1 else "")
        against = ["; compared with ", element("strong", self.evaluation.baseline)] if self.evaluation.baseline else []
        return join([count, ", ", _count(len(self.evaluation.systems), "system"), *against])

    def _score_notes(self) -> str:
        bold = "Bold marks the best score of a column; 0/0 means that there was nothing to measure."
        if self.evaluation.baseline is None:
            return f"{bold} Without a baseline, no difference was tested."
        stars = "* p < 0.05, ** p < 0.01, *** p < 0.001 against "
        test = f"by approximate randomisation, {self.evaluation.resamples:,} resamples, seed {self.evaluation.seed}"
        small = f"{test}. The small print shows the difference and its 95 % interval (paired bootstrap)."
        return join([f"{bold} ", stars, element("strong", self.evaluation.baseline), f" {small}"])

    def _learning_section(self) -> Markup:
        parts = [*self._slopes(), self._legend(), _grid(self.charts.slopes), *self._curves()]
        return join([*parts, *self._paper_figures()])

    def _paper_figures(self) -> Iterator[Markup]:
        if self.learning_curves is not None:
            yield self.learning_curves.section()
            yield _grid(self.charts.figures)

    def _slopes(self) -> Iterator[Markup]:
        if self.charts.slopes:
            yield slope_table(self.evaluation, self.results)
            yield Markup(_asset("slopes.html"))

    def _curves(self) -> Iterator[Markup]:
        if self.charts.curves:
            yield element("h3", "Score of all segments so far")
            yield Markup(_asset("curves.html"))
            yield _grid(self.charts.curves)

    def _difference_section(self) -> Markup:
        if not self.charts.differences:
            return element("p", "With a baseline (--baseline), this section shows how the systems differ from it.")
        return join([self._legend(without=self.evaluation.baseline), _grid(self.charts.differences)])

    def _legend(self, without: str | None = None) -> Markup:
        """Return buttons that show or hide a system in all charts at once."""
        numbers = style_numbers(self.evaluation)
        items = (element("li", _system_button(system, numbers[system])) for system in numbers if system != without)
        return element("ul", *items, class_="legend", aria_label="Systems in the charts")

    def _reproduction(self) -> Markup:
        command = element("pre", element("code", self.command)) if self.command else ""
        all_signatures = element("dl", *signatures(self.evaluation.metrics, self.results), class_="signatures")
        return join([command, element("p", ", ".join(_versions())), all_signatures])


def _grid(charts: Iterable[Chart]) -> Markup:
    return element("div", *map(_figure, charts), class_="grid")


def _figure(chart: Chart) -> Markup:
    """Return the element into which the script draws a chart, with its title, key and caption."""
    notes = [element("li", _swatch(series.style_number), series.label) for series in chart.series if series.note]
    caption = element("figcaption", element("h4", chart.title))
    label = f"Chart: {chart.title}, {chart.y.title} over {chart.x.title}"
    plot = element("div", class_="plot", data_chart=chart.name, role="img", aria_label=label)
    few = 0 < len(notes) <= MAX_SHADED_SYSTEMS  # a longer key is left out: the table above has the same numbers
    key = element("ul", *notes, class_="key") if few else ""
    return element("figure", caption, plot, key, element("p", chart.caption) if chart.caption else "")


def _system_button(system: str, number: int) -> Markup:
    name = element("bdi", system)
    return element("button", _swatch(number), name, type="button", aria_pressed="true", data_system=system)


def _swatch(number: int) -> Markup:
    style = series_style(number)
    colour = f"--colour: var(--series-{style.shade})"
    return element("span", class_=f"swatch {style.dash}", style=colour, aria_hidden="true")


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _versions() -> Iterator[str]:
    yield f"Python {platform.python_version()}"
    for package in VERSIONS:
        try:
            yield f"{package} {version(package)}"
        except PackageNotFoundError:  # mtloop runs from a checkout without installation
            continue


def _content_security_policy(scripts: Iterable[str]) -> str:
    """Return a policy that lets the browser run only these scripts and load nothing."""
    digests = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in scripts)
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:"


def _asset(name: str) -> str:
    return (files("mtloop.report") / "assets" / name).read_text(encoding="utf-8")
