"""What corrections brought, in one sentence: words met once before, and words that were corrected once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mtloop.metrics.evaluation import Evaluation, SystemResult
from mtloop.report.markup import Markup, element, join
from mtloop.report.wording import chosen, p_value, signed


def corrections(evaluation: Evaluation, results: Sequence[SystemResult]) -> Iterator[Markup]:
    """Of whoever gains most on words met once, if anyone does: a stream of any length can show it."""
    compared = [result for result in results if result.score.name == "r1" and result.comparison is not None]
    gained = [result for result in compared if _gains(result, 1)]
    if not gained:
        return
    best = max(gained, key=lambda result: result.score.value)
    again = [r for r in results if r.score.name == "rer" and r.system == best.system and _gains(r, -1)]
    told = [element("strong", best.system), " learns from one correction: words met once before are right in "]
    told += [_against(best, evaluation), f" (R1 {_chance(best)}{chosen(len(compared))})"]
    yield join([*told, *(part for result in again for part in _still_wrong(result, evaluation))])


def _gains(result: SystemResult, sign: int) -> bool:
    comparison = result.comparison
    return comparison is not None and bool(comparison.mark) and sign * comparison.difference > 0


def _still_wrong(result: SystemResult, evaluation: Evaluation) -> Iterator[Markup | str]:
    yield ", and words corrected once are wrong again in "
    yield _against(result, evaluation)
    yield f" ({_chance(result)})"


def _against(result: SystemResult, evaluation: Evaluation) -> Markup:
    assert result.comparison is not None
    before = result.score.value - result.comparison.difference
    baseline = element("strong", str(evaluation.baseline))
    return join([f"{result.score.value:.1f} % of cases, where ", baseline, f" has {before:.1f} %"])


def _chance(result: SystemResult) -> str:
    assert result.comparison is not None
    low, high = result.comparison.interval
    difference, p = signed(result.comparison.difference, 1), p_value(result.comparison.p_value)
    return f"{difference}, 95 % interval {signed(low, 1)} to {signed(high, 1)}, {p}"
