"""The tables of a search."""

from __future__ import annotations

import math

from helpers.samples import SplitWords

from mtloop.core import Proposal, Segment, Step, Truth
from mtloop.experiments.tuning.tune_result import report_tables
from mtloop.metrics.adaptation import Recall


def test_an_undefined_score_prints_no_nan() -> None:
    step = Step(0, Proposal(Segment("1", "Save"), "Sichern"), truth=Truth(("Speichern",)))
    recall = Recall(SplitWords(), {1})  # no word occurs twice, so the recall is 0/0
    tables = report_tables({"baseline": [step], "default": [step]}, [recall], "rows 1-1")
    text = "\n".join(map(str, tables))
    assert "nan" not in text
    rows = [line.split() for line in text.splitlines() if line.startswith(("baseline", "default"))]
    assert rows == [["baseline", "0/0"], ["default", "0/0"], ["default", "-"]]
    record = tables[0].records[0]
    assert (record["system"], record["metric"]) == ("baseline", "r1")
    assert math.isnan(float(str(record["score"])))
