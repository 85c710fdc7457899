"""Compare the methods on the demo document, a software manual: what `mtloop demo` does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
BASELINE, LEARNER = "baseline", "lora+memory+copy"  # the recorded methods: scripts/demo_outputs.py writes their outputs
NEEDED = {"torch": "torch", "mtloop_en_de": "the model mtloop-en-de"}  # module and name of what the methods need


def demo(out: str | Path, *, recorded: bool = False) -> DemoResult:
    """Compare seven methods on the demo document, and write traces and a report to the folder `out`.

    The recorded outputs of two methods are scored instead if `recorded` is true, or if torch or the embedded model is
    not installed.
    """
    report = Path(out) / "report.html"
    check(report, ("png",))
    missing = [package for package in NEEDED if find_spec(package) is None]
    with as_file(files("mtloop") / "demo") as folder:
        if not recorded and not missing:
            compared = compare(folder / DATA, out=out, metrics=METRICS)
            return DemoResult(compared, compared.report(report))
        scores = score_recorded(folder)
    write_report(scores.evaluation, report, title="The demo document", results=scores.results)
    return DemoResult(scores, report, _note([] if recorded else missing))


def _note(missing: Sequence[str]) -> str:
    """Return a note on recorded outputs, with the reason if something is missing."""
    verb = "are" if len(missing) > 1 else "is"
    reason = f", because {' and '.join(NEEDED[package] for package in missing)} {verb} not installed" if missing else ""
    return f"These are recorded outputs of the embedded model{reason}."


def score_recorded(folder: Path) -> EvaluationResult:
    """Score the recorded outputs of the model without learning and of the default method."""
    hypotheses, baseline = folder / f"{LEARNER}.txt", folder / f"{BASELINE}.txt"
    systems = SystemFiles(data=folder / DATA, hyps=(hypotheses,), baseline=baseline, language="de")
    return EvaluationResult(evaluate_files(systems, Measures(names=METRICS, language="de")))


@dataclass(frozen=True, repr=False)
class DemoResult(Result):
    """The scores of the methods, the file of the report, and a note if the outputs are recorded ones."""

    scores: MethodComparison | EvaluationResult
    report: Path
    note: str = ""

    @property
    def table(self) -> Table:
        return self.scores.table

    def text(self) -> Iterator[str]:
        """Yield the note, what was found, and all tables as text."""
        if self.note:
            yield f"{self.note}\n"
        if isinstance(self.scores, MethodComparison):
            yield from self.scores.text()
        else:
            yield f"{self.scores.lead}\n"
            yield f"{self.table}\n"
