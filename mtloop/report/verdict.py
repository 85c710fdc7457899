"""The verdict: two sentences on what was found and how sure it is; the other findings follow as a list."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import fill

from mtloop.core.types import Score
from mtloop.metrics.base import Additive
from mtloop.metrics.evaluation import Evaluation, SystemResult
from mtloop.metrics.significance import Comparison
from mtloop.metrics.slope import Slope
from mtloop.metrics.titles import title
from mtloop.report.corrections import correction_findings
from mtloop.report.sentences import Finding, Sentence, SystemName, names
from mtloop.report.short_streams import short_stream_note, shown_metrics
from mtloop.report.wording import fitted_errors, p_value_text, selection_note, signed

UNFAIR_SUFFIX = "-unfair"  # marks systems that have seen the references; only their slopes are of interest
LINE = 100  # characters of a line of plain text


@dataclass(frozen=True)
class Verdict:
    """The lead of a report, at most two sentences, and the other findings, one or two sentences each."""

    lead: Sentence
    others: Sequence[Sentence]


def verdict(evaluation: Evaluation, results: Sequence[SystemResult]) -> Verdict:
    """Return the verdict. The most important finding is the lead.

    Significant slopes come first, then the effect of corrections, then significant differences in quality, and at the
    end what is not significant.
    """
    slopes, quality = SlopeFindings(evaluation, results), list(_quality(evaluation, _fair(results)))
    findings = [
        *slopes.significant(),
        *correction_findings(evaluation, _fair(results)),
        *(finding for finding in quality if finding.significant),
        *slopes.no_learning(),
        *(finding for finding in quality if not finding.significant),
    ]
    if not findings:
        note = short_stream_note(evaluation, results)
        return Verdict((f"{note.capitalize()}.",) if note else (), ())
    lead, *others = (finding.sentences for finding in findings)
    return Verdict(lead, others)


def lead_text(evaluation: Evaluation, results: Sequence[SystemResult]) -> str:
    """Return the lead as lines of a terminal; empty if there is nothing to say."""
    return fill("".join(verdict(evaluation, results).lead), LINE, break_on_hyphens=False)


def _fair(results: Sequence[SystemResult]) -> list[SystemResult]:
    """Leave out systems that learn each block before they translate it: they have seen the references."""
    return [result for result in results if not result.system.endswith(UNFAIR_SUFFIX)]


class SlopeFindings:
    """Findings from the block-wise slope of TER if there is one, else from the first slope; others may disagree."""

    def __init__(self, evaluation: Evaluation, results: Sequence[SystemResult]) -> None:
        shown = [metric for metric in shown_metrics(evaluation, results) if isinstance(metric, Slope)]
        ordered = sorted(shown, key=lambda slope: slope.name != "slope-u")
        self.baseline = evaluation.baseline
        self.scores = _scores(ordered[0], results) if ordered else {}
        self.others = {fitted_errors(slope): _scores(slope, results) for slope in ordered[1:]}
        not_baseline = {system: score for system, score in self.scores.items() if system != self.baseline}
        self.systems = not_baseline or self.scores

    def significant(self) -> Iterator[Finding]:
        """Yield the fastest learner and the system that forgets most, if there are such systems."""
        if learning := _with_verdict(self.systems, "learning"):
            fastest, *others = learning
            verb = " learns fastest: " if others else " learns: "
            sure = (_interval(self.scores[fastest]), *_also_learn(others), *self._easier_text())
            yield self._finding(fastest, verb, sure)
            yield from self._disagreements(fastest)
        if forgetting := _with_verdict(self.systems, "forgetting"):
            yield self._finding(forgetting[-1], " forgets: ", (_interval(self.scores[forgetting[-1]]),))
            yield from self._disagreements(forgetting[-1])

    def no_learning(self) -> Iterator[Finding]:
        """Yield what the slopes show if none of them is significant."""
        verdicts = {score.detail.get("verdict") for score in self.systems.values()}
        if not self.systems or verdicts & {"learning", "forgetting"}:
            return
        defined = {system: score for system, score in self.systems.items() if score.defined}
        if not defined:
            yield Finding((f"No learning curve could be fitted ({next(iter(verdicts))})",))
        elif len(defined) > 1:
            includes = ("The 95 % interval of the slope includes 100 for ", *names(defined))
            yield Finding(("The learning curves show neither learning nor forgetting",), includes, False)
        else:
            ((system, score),) = defined.items()
            yield self._finding(system, " shows no learning: ", (f"{_interval(score)}, which includes 100",), False)
        for system in defined:
            yield from self._disagreements(system)

    def _finding(self, system: str, verb: str, sure: Sentence, significant: bool = True) -> Finding:
        remain = f"{self.scores[system].value:.1f} % of the errors remain each time the text doubles"
        return Finding((SystemName(system), verb, remain), sure, significant)

    def _easier_text(self) -> Sentence:
        """Return a warning if the static baseline seems to learn: then the text becomes easier."""
        if self.baseline is None or self.baseline not in _with_verdict(self.scores, "learning") or len(self.scores) < 2:
            return ()
        fall = f" also fall, to {self.scores[self.baseline].value:.1f} % per doubling: the text becomes easier"
        return (", but the errors of ", SystemName(self.baseline), fall)

    def _disagreements(self, system: str) -> Iterator[Finding]:
        """Yield a finding for every other slope whose verdict on the system differs."""
        for errors, scores in self.others.items():
            other = scores[system]
            if other.defined and other.detail["verdict"] != self.scores[system].detail["verdict"]:
                found = f"The slope of {errors} has another verdict for "
                sure = f": {other.detail['verdict']}, {other.value:.1f}"
                yield Finding((found, SystemName(system), sure), (_interval(other),))


def _scores(slope: Slope, results: Sequence[SystemResult]) -> dict[str, Score]:
    return {result.system: result.score for result in results if result.score.name == slope.name}


def _with_verdict(scores: Mapping[str, Score], word: str) -> list[str]:
    """Return the systems whose slope has this verdict, the smallest slope first."""
    systems = [system for system, score in scores.items() if score.detail.get("verdict") == word]
    return sorted(systems, key=lambda system: scores[system].value)


def _interval(score: Score) -> str:
    low, high = score.interval or (score.value, score.value)
    return f"The 95 % interval is {low:.1f} to {high:.1f}"


def _also_learn(systems: Sequence[str]) -> Sentence:
    return ("; ", *names(systems), " also learn" if len(systems) > 1 else " also learns") if systems else ()


def _quality(evaluation: Evaluation, results: Sequence[SystemResult]) -> Iterator[Finding]:
    """Yield the best system in the first metric, compared with the baseline if there is one."""
    metric = next(iter(evaluation.additive), None)
    if metric is None:
        return
    sign = 1 if metric.higher_is_better else -1
    rows = [result for result in results if result.score.name == metric.name and result.score.defined]
    compared = [row for row in rows if row.comparison is not None]
    if compared:
        best = max(compared, key=lambda row: sign * row.score.value)
        yield _difference(best, str(evaluation.baseline), metric, len(compared))
    elif rows:
        yield _best(max(rows, key=lambda row: sign * row.score.value), metric, len(rows))


def _difference(result: SystemResult, baseline: str, metric: Additive, systems: int) -> Finding:
    comparison, digits = result.comparison, metric.digits - 1
    assert comparison is not None
    better = "better" if (comparison.difference > 0) == metric.higher_is_better else "worse"
    name = title(metric.name)
    different = f" is {abs(comparison.difference):.{digits}f} {name} {better} than "
    verb = different if comparison.mark else f" does not differ significantly in {name} from "
    found = ("Over the whole stream, ", SystemName(result.system), verb, SystemName(baseline))
    return Finding(found, (_certainty(comparison, digits, systems),), bool(comparison.mark))


def _certainty(comparison: Comparison, digits: int, systems: int) -> str:
    low, high = comparison.interval
    size = f"The difference is {signed(comparison.difference, digits)}"
    interval = f"95 % interval {signed(low, digits)} to {signed(high, digits)}"
    return f"{size} ({interval}, {p_value_text(comparison.p_value)}{selection_note(systems)})"


def _best(result: SystemResult, metric: Additive, systems: int) -> Finding:
    verb = "is best with" if systems > 1 else "has"
    untested = ("No baseline was given, so no difference was tested",) if systems > 1 else ()
    found = ("Over the whole stream, ", SystemName(result.system), f" {verb} {title(metric.name)} {result.score}")
    return Finding(found, untested)
