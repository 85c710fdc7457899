"""Findings on the effect of a single correction: R1 and the repeated-error rate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mtloop.metrics.evaluation import Evaluation, SystemResult
from mtloop.metrics.titles import title
from mtloop.report.sentences import Finding, SystemName
from mtloop.report.wording import p_value_text, selection_note, signed

_FOUND = {
    "r1": " learns from one correction: words that appeared once before are correct in ",
    "rer": " repeats fewer errors: words that were corrected once are wrong again in ",
}


def correction_findings(evaluation: Evaluation, results: Sequence[SystemResult]) -> Iterator[Finding]:
    """Yield the system with the best significant R1 gain, if any, and its repeated errors; a short stream is enough."""
    compared = [result for result in results if result.score.name == "r1" and result.comparison is not None]
    improved = [result for result in compared if _differs(result, 1)]
    if not improved:
        return
    best = max(improved, key=lambda result: result.score.value)
    yield _finding(best, evaluation, selection_note(len(compared)))
    for result in results:
        if result.score.name == "rer" and result.system == best.system and _differs(result, -1):
            yield _finding(result, evaluation)


def _finding(result: SystemResult, evaluation: Evaluation, note: str = "") -> Finding:
    comparison = result.comparison
    assert comparison is not None
    low, high = comparison.interval
    interval = f"95 % interval {signed(low, 1)} to {signed(high, 1)}, {p_value_text(comparison.p_value)}{note}"
    certainty = f"The difference in {title(result.score.name)} is {signed(comparison.difference, 1)} ({interval})"
    baseline_rate = result.score.value - comparison.difference
    rates = f"{_FOUND[result.score.name]}{result.score.value:.1f} % of cases, compared with {baseline_rate:.1f} % for "
    return Finding((SystemName(result.system), rates, SystemName(evaluation.baseline)), (certainty,))


def _differs(result: SystemResult, sign: int) -> bool:
    """Return whether the result differs significantly from the baseline, in the direction of `sign`."""
    comparison = result.comparison
    return comparison is not None and bool(comparison.mark) and sign * comparison.difference > 0
