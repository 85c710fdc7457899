"""The report page: one HTML file with all texts, tables, charts, and the scripts that draw them."""

from __future__ import annotations

import base64
import hashlib
import platform
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from typing import Any

from mtloop.metrics.evaluation import Evaluation, SystemResult
from mtloop.report import plotly_charts
from mtloop.report.evaluation_charts import MAX_SHADED_SYSTEMS, Charts, style_numbers
from mtloop.report.learning_curves import LearningCurves
from mtloop.report.page_tables import page_scores, page_slopes, signatures
from mtloop.report.palette import css
from mtloop.report.segments import segment_data
from mtloop.report.short_streams import short_stream_note
from mtloop.report.templating import render
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
        page = render("page.html", **self._contents(), **self._data(), **_scripts())
        return page.encode("utf-8", "replace").decode()  # a trace may contain a lone surrogate, a UTF-8 file may not

    def _contents(self) -> dict[str, Any]:
        return {
            "title": self.title,
            "command": self.command,
            "baseline": self.evaluation.baseline,
            "verdict": verdict(self.evaluation, self.results),
            "extent": self._extent(),
            "test": self._test(),
            "warnings": self.evaluation.warnings,
            "scores": page_scores(self.evaluation, self.results),
            "slopes": page_slopes(self.evaluation, self.results),
            "short_stream": short_stream_note(self.evaluation, self.results),
            "paper_tables": self.learning_curves.text() if self.learning_curves else "",
            "versions": list(_versions()),
            "signatures": list(signatures(self.evaluation.metrics, self.results)),
        }

    def _data(self) -> dict[str, Any]:
        return {
            "charts": self.charts,
            "systems": style_numbers(self.evaluation),
            "max_key": MAX_SHADED_SYSTEMS,
            "figures": {chart.name: plotly_charts.figure(chart) for chart in self.charts},
            "segments": segment_data(self.evaluation),
        }

    def _extent(self) -> str:
        steps = next(iter(self.evaluation.systems.values()))
        documents = len({step.proposal.segment.document for step in steps})
        count = f"{len(steps):,} segments" + (f" in {documents:,} documents" if documents > 1 else "")
        return f"{count}, {_count(len(self.evaluation.systems), 'system')}"

    def _test(self) -> str:
        return f"by approximate randomisation, {self.evaluation.resamples:,} resamples, seed {self.evaluation.seed}"


def _scripts() -> dict[str, str]:
    """Return the style and the scripts, and the policy that allows them."""
    plotly, own = plotly_charts.library(), "\n".join(map(_asset, SCRIPTS))
    return {
        "policy": _content_security_policy([plotly, own]),
        "style": css() + _asset("report.css"),
        "plotly": plotly,
        "script": own,
    }


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
