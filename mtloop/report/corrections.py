"""A clause of the verdict on the effect of a single correction: R1 and the repeated-error rate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mtloop.metrics.evaluation import Evaluation, SystemResult
from mtloop.report.sentences import Sentence, SystemName
from mtloop.report.wording import p_value_text, selection_note, signed


def correction_clauses(evaluation: Evaluation, results: Sequence[SystemResult]) -> Iterator[Sentence]:
    """Yield a clause on the system with the best significant R1 gain, if any; even a short stream can show one."""
    compared = [result for result in results if result.score.name == "r1" and result.comparison is not None]
    improved = [result for result in compared if _differs(result, 1)]
    if not improved:
        return
    best = max(improved, key=lambda result: result.score.value)
    repeated = [r for r in results if r.score.name == "rer" and r.system == best.system and _differs(r, -1)]
    beginning = " learns from one correction: words that appeared once before are correct in "
    gain = f" (R1 {_difference(best)}{selection_note(len(compared))})"
    clause = (SystemName(best.system), beginning, *_rates(best, evaluation), gain)
    yield (*clause, *(part for result in repeated for part in _repeated_errors(result, evaluation)))


def _differs(result: SystemResult, sign: int) -> bool:
    """Return whether the result differs significantly from the baseline, in the direction of `sign`."""
    comparison = result.comparison
    return comparison is not None and bool(comparison.mark) and sign * comparison.difference > 0


def _repeated_errors(result: SystemResult, evaluation: Evaluation) -> Sentence:
    beginning = ", and words that were corrected once are wrong again in "
    return (beginning, *_rates(result, evaluation), f" (RER {_difference(result)})")


def _rates(result: SystemResult, evaluation: Evaluation) -> Sentence:
    assert result.comparison is not None
    baseline_rate = result.score.value - result.comparison.difference
    rates = f"{result.score.value:.1f} % of cases, compared with {baseline_rate:.1f} % for "
    return (rates, SystemName(evaluation.baseline))


def _difference(result: SystemResult) -> str:
    assert result.comparison is not None
    low, high = result.comparison.interval
    difference, p = signed(result.comparison.difference, 1), p_value_text(result.comparison.p_value)
    return f"{difference}, 95 % interval {signed(low, 1)} to {signed(high, 1)}, {p}"
