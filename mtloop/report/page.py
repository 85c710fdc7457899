"""The report page: one HTML file with all texts, tables, charts, and the scripts that draw them."""

from __future__ import annotations

import base64
import hashlib
import json
import platform
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from mtloop.core.types import JSON
from mtloop.metrics.collateral import MIN_TER_CHANGE
from mtloop.metrics.evaluation import Evaluation, SystemResult
from mtloop.report.chart_assets import chart_script, chart_style, report_asset
from mtloop.report.drawing_data import drawing_data
from mtloop.report.evaluation_charts import MAX_SHADED_SYSTEMS, Charts, style_numbers
from mtloop.report.harmed_segments import harm_tables
from mtloop.report.learning_curves import LearningCurves
from mtloop.report.page_tables import page_scores, page_slopes, signatures
from mtloop.report.segments import segment_data
from mtloop.report.short_streams import short_stream_note
from mtloop.report.templating import JSON_SETTINGS, render
from mtloop.report.verdict import verdict

SEGMENT_SCRIPTS = ("diff.js", "cards.js", "segments.js")
VERSIONS = ("mtloop", "numpy", "sacrebleu", "sacremoses")


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
            "harmed": harm_tables(self.evaluation),
            "min_ter_change": f"{MIN_TER_CHANGE:g}",
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
            "figures": {chart.name: drawing_data(chart) for chart in self.charts},
            "segments": _compressed(segment_data(self.evaluation)),
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
    script = "\n".join([chart_script(), *map(report_asset, SEGMENT_SCRIPTS)])
    style = chart_style() + report_asset("report.css")
    return {"policy": _content_security_policy(script, style), "script": script, "style": style}


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _versions() -> Iterator[str]:
    yield f"Python {platform.python_version()}"
    for package in VERSIONS:
        try:
            yield f"{package} {version(package)}"
        except PackageNotFoundError:  # mtloop runs from a checkout without installation
            continue


def _content_security_policy(script: str, style: str) -> str:
    """Return a policy that lets the browser use only this script and this style sheet, and load nothing."""
    return f"default-src 'none'; script-src {_digest(script)}; style-src {_digest(style)}; img-src data:"


def _compressed(data: JSON) -> str:
    """Return JSON, compressed, as base64 text. The texts of a long stream take a third of the space."""
    text = json.dumps(data, **JSON_SETTINGS)
    return base64.b64encode(zlib.compress(text.encode("utf-8", "replace"), 9)).decode()


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
