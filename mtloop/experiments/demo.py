"""Compare the methods on the demo document, a software manual: what `mtloop demo` does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import as_file, files
from importlib.util import find_spec
from pathlib import Path

from mtloop.experiments.compare import MethodComparison, compare
from mtloop.experiments.measures import Measures, evaluate_files
from mtloop.experiments.score import EvaluationResult
from mtloop.experiments.systems import SystemFiles
from mtloop.report import check, write_report
from mtloop.report.result import Result
from mtloop.report.table import Table

DATA = "manual.en-de.tsv"
METRICS = ("bleu", "sbleu", "ter", "r0", "r1", "r01", "rer", "slope-u", "slope-ca")
BLOCK_WORDS = 250  # small blocks, because the document is short


def demo(out: str | Path, *, recorded: bool = False) -> DemoResult:
    """Compare every learning method on the demo document, and write traces and a report to the folder `out`.

    Two recorded systems are scored instead if `recorded` is true, or if torch or the embedded model is not installed.
    """
    report = Path(out) / "report.html"
    check(report, ("png",))
    with as_file(files("mtloop") / "demo") as folder:
        if not recorded and find_spec("torch") and find_spec("mtloop_en_de"):
            compared = compare(folder / DATA, out=out, metrics=METRICS, block_words=BLOCK_WORDS)
            return DemoResult(compared, compared.report(report))
        scores = score_recorded(folder)
    write_report(scores.evaluation, report, title="The demo document", results=scores.results)
    return DemoResult(scores, report)


def score_recorded(folder: Path) -> EvaluationResult:
    """Score two recorded systems: a static one and one that learns."""
    systems = SystemFiles(
        data=folder / DATA, hyps=(folder / "adapting.txt",), baseline=folder / "static.txt", language="de"
    )
    return EvaluationResult(evaluate_files(systems, Measures(names=METRICS, language="de", block_words=BLOCK_WORDS)))


@dataclass(frozen=True, repr=False)
class DemoResult(Result):
    """The scores of the methods or of the recorded systems, and the file of the report."""

    scores: MethodComparison | EvaluationResult
    report: Path

    @property
    def table(self) -> Table:
        return self.scores.table

    def text(self) -> Iterator[str]:
        """Yield all tables as text."""
        if isinstance(self.scores, MethodComparison):
            yield from self.scores.text()
        else:
            yield f"{self.table}\n"
