"""Sample streams and a sample chart for reports."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from lxml import html

from mtloop.core import PostEdit, Proposal, Segment, Step, Truth
from mtloop.report.chart import Axis, Band, Chart, Series

TERMS = [("drawer", "Schublade", "Fach"), ("lever", "Hebel", "Griff"), ("valve", "Ventil", "Klappe")]
HOSTILE = "</script><script>window.hacked = 1; alert(1)</script><img src=x onerror='window.hacked = 1'>"


def steps(triples: Sequence[tuple[str, str, str]], document: str = "") -> list[Step]:
    """Steps of (source, hypothesis, reference)."""
    context = {"document": document} if document else {}
    return [
        Step(i, Proposal(Segment(str(i + 1), source, context), hyp), PostEdit(ref), truth=Truth((ref,)))
        for i, (source, hyp, ref) in enumerate(triples)
    ]


def stream(learns: bool, length: int = 60) -> list[Step]:
    """A stream with recurring terms; the learning system translates each correctly the second time and from segment 21.

    Every fourth segment has an error that is never corrected.
    """
    return steps([_triple(i, learns and (3 <= i < 6 or i >= 20)) for i in range(length)])


def _triple(i: int, right: bool) -> tuple[str, str, str]:
    source, term, other = TERMS[i % 3]
    output, number = term if right else other, "Zahl" if i % 4 == 2 else "Nummer"
    return f"Open the {source} {i} .", f"Öffnen Sie {output} {number} {i} .", f"Öffnen Sie {term} Nummer {i} ."


def report_lead(page: Path) -> str:
    """Return the first two sentences of a report, as plain text."""
    (verdict,) = html.document_fromstring(page.read_text(encoding="utf-8")).xpath("//p[@class='verdict']")
    return " ".join(verdict.text_content().split())


def terms(learns: bool, number: int = 40) -> list[Step]:
    """Each term appears exactly twice; the learning system is correct the second time, so no curve falls."""
    appearances = ((i, learns and second) for i in range(number) for second in (False, True))
    return steps(
        [
            (f"Open Part{i} .", f"Öffnen Sie {'Teil' if right else 'Ding'}{i} .", f"Öffnen Sie Teil{i} .")
            for i, right in appearances
        ]
    )


def sample_chart(name: str = "a & <b>", points: bool = False) -> Chart:
    """A chart with a line and its band, a second series, a log axis and an undefined value."""
    x = np.array([1.0, 2.0, 3.0])
    y = np.array([math.nan, 2.0, 1.5])
    line = Series(name, x, y, style_number=1, band=Band(y - 1, y + 1), note="S = 90")
    dots = Series("_points", x, y, style_number=2, mode="points" if points else "line")
    x_axis = Axis("x", log=True, ticks=(1, 2), range=(1, 4))
    return Chart(
        "chart", "Title", x_axis, Axis("y", range=(0, 3)), (line, dots), vertical_lines=(2.0,), horizontal_line=1.0
    )
