"""The verdict: one sentence on which systems learn, how much, and whether the difference is significant."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from mtloop.core.types import Score
from mtloop.metrics.base import Additive
from mtloop.metrics.evaluation import Evaluation, SystemResult
from mtloop.metrics.slope import Slope
from mtloop.metrics.titles import title
from mtloop.report.corrections import correction_clauses
from mtloop.report.sentences import Sentence, SystemName, join, names
from mtloop.report.wording import fitted_errors, p_value_text, selection_note, signed

UNFAIR_SUFFIX = "-unfair"  # marks systems that have seen the references; only their slopes are of interest


def verdict(evaluation: Evaluation, results: Sequence[SystemResult]) -> Sentence:
    """Return the verdict: which systems learn, then the first metric compared with the baseline."""
    clauses = [*_learning_clauses(evaluation, results), *_quality_clauses(evaluation, _fair(results))]
    return (*join(clauses, "; "), ".") if clauses else ()


def _fair(results: Sequence[SystemResult]) -> list[SystemResult]:
    """Leave out systems that learn each block before they translate it: they have seen the references."""
    return [result for result in results if not result.system.endswith(UNFAIR_SUFFIX)]


def _learning_clauses(evaluation: Evaluation, results: Sequence[SystemResult]) -> Iterator[Sentence]:
    """Yield clauses from the block-wise slope of TER if there is one, else from the first slope.

    Other slopes add an objection if they disagree. If no slope shows anything, the effect of corrections comes
    first, because a significant slope needs a long stream.
    """
    slopes = [metric for metric in evaluation.metrics if isinstance(metric, Slope)]
    corrections = list(correction_clauses(evaluation, _fair(results)))
    if not slopes:
        yield from corrections
        return
    first, *rest = sorted(slopes, key=lambda slope: slope.name != "slope-u")
    scores, other_slopes = _scores(first, results), {fitted_errors(slope): _scores(slope, results) for slope in rest}
    systems = {system: score for system, score in scores.items() if system != evaluation.baseline} or scores
    if clauses := _slope_clauses(systems):
        for system, clause in clauses.items():
            yield (*clause, *_disagreements(system, scores[system], other_slopes))
        yield from _easier_text_clause(evaluation.baseline, scores)
        yield from corrections
    elif corrections:
        yield from corrections
        yield ("the learning curve does not show significant learning yet", *_slopes_in_brackets(systems))
    else:
        yield _no_learning_clause(systems, other_slopes)


def _scores(slope: Slope, results: Sequence[SystemResult]) -> dict[str, Score]:
    return {result.system: result.score for result in results if result.score.name == slope.name}


def _slope_clauses(scores: Mapping[str, Score]) -> dict[str, Sentence]:
    """Return the clauses on the fastest learner and on the system that forgets most, if there are such systems."""
    learning, forgetting = _with_verdict(scores, "learning"), _with_verdict(scores, "forgetting")
    clauses: dict[str, Sentence] = {}
    if learning:
        clauses[learning[0]] = _learner_clause(learning, scores)
    if forgetting:
        worst = forgetting[-1]
        clauses[worst] = (SystemName(worst), " forgets: ", _remaining_errors(scores[worst]))
    return clauses


def _with_verdict(scores: Mapping[str, Score], word: str) -> list[str]:
    """Return the systems whose slope has this verdict, the smallest slope first."""
    systems = [system for system, score in scores.items() if score.detail.get("verdict") == word]
    return sorted(systems, key=lambda system: scores[system].value)


def _learner_clause(systems: Sequence[str], scores: Mapping[str, Score]) -> Sentence:
    fastest, *others = systems
    verb = " learns fastest: " if others else " learns: "
    also = (" (", *names(others), " also learn)" if len(others) > 1 else " also learns)") if others else ()
    return (SystemName(fastest), verb, _remaining_errors(scores[fastest]), *also)


def _disagreements(system: str, score: Score, other_slopes: Mapping[str, Mapping[str, Score]]) -> Iterator[str]:
    """Yield a remark for every other slope whose verdict on the system differs."""
    for errors, scores in other_slopes.items():
        other = scores[system]
        if other.defined and other.interval and other.detail["verdict"] != score.detail["verdict"]:
            low, high = other.interval
            yield f", but the verdict for {errors} is {other.detail['verdict']} ({low:.1f} to {high:.1f})"


def _named_disagreements(system: str, score: Score, other_slopes: Mapping[str, Mapping[str, Score]]) -> Iterator[str]:
    """Yield the same remarks with the system's name, for a clause that names several systems."""
    for remark in _disagreements(system, score, other_slopes):
        yield from (remark, " for ", SystemName(system))


def _easier_text_clause(baseline: str | None, scores: Mapping[str, Score]) -> Iterator[Sentence]:
    """Yield a warning if the static baseline seems to learn: then the text becomes easier."""
    if baseline is not None and baseline in _with_verdict(scores, "learning") and len(scores) > 1:
        fall = f" also fall, to {scores[baseline].value:.1f} % per doubling: the text becomes easier"
        yield ("but the errors of ", SystemName(baseline), fall)


def _no_learning_clause(scores: Mapping[str, Score], other_slopes: Mapping[str, Mapping[str, Score]]) -> Sentence:
    system, score = next(iter(scores.items()))
    if not any(score.defined for score in scores.values()):
        return (f"No learning curve could be fitted ({score.detail.get('verdict', 'nothing to measure')})",)
    if len(scores) > 1:
        remarks = (remark for name in scores for remark in _named_disagreements(name, scores[name], other_slopes))
        return ("No learning is shown: the 95 % interval of the slope includes 100 for ", *names(scores), *remarks)
    remaining = f" shows no learning: {_remaining_errors(score)}, which includes 100"
    return (SystemName(system), remaining, *_disagreements(system, score, other_slopes))


def _slopes_in_brackets(scores: Mapping[str, Score]) -> Sentence:
    """Return the slopes of all systems, in brackets."""
    defined = {system: score for system, score in scores.items() if score.defined}
    slopes = ((SystemName(system), f": {_remaining_errors(score)}") for system, score in defined.items())
    return (" (", *join(slopes, "; "), ")") if defined else ()


def _remaining_errors(score: Score) -> str:
    low, high = score.interval or (score.value, score.value)
    return f"{score.value:.1f} % of the errors remain each time the text doubles, 95 % interval {low:.1f} to {high:.1f}"


def _quality_clauses(evaluation: Evaluation, results: Sequence[SystemResult]) -> Iterator[Sentence]:
    metric = next(iter(evaluation.additive), None)
    if metric is None:
        return
    sign = 1 if metric.higher_is_better else -1
    rows = [result for result in results if result.score.name == metric.name and result.score.defined]
    compared = [row for row in rows if row.comparison is not None]
    if compared:
        best = max(compared, key=lambda row: sign * row.score.value)
        yield _compared_clause(best, str(evaluation.baseline), metric, len(compared))
    elif rows:
        yield _best_clause(max(rows, key=lambda row: sign * row.score.value), metric, len(rows))


def _compared_clause(result: SystemResult, baseline: str, metric: Additive, systems: int) -> Sentence:
    comparison = result.comparison
    assert comparison is not None
    better = (comparison.difference > 0) == metric.higher_is_better
    (low, high), digits = comparison.interval, metric.digits - 1
    chance = f"{p_value_text(comparison.p_value)}{selection_note(systems)}"
    interval = f"95 % interval {signed(low, digits)} to {signed(high, digits)}, {chance}"
    if comparison.mark:
        size = f"{abs(comparison.difference):.{digits}f} {title(metric.name)}"
        points = f" is {size} {'better' if better else 'worse'} than "
        parts = (points, SystemName(baseline), f" ({interval})")
    else:
        size = f" in {title(metric.name)} ({signed(comparison.difference, digits)}, {interval})"
        parts = (" does not differ significantly from ", SystemName(baseline), size)
    return ("over the whole stream ", SystemName(result.system), *parts)


def _best_clause(result: SystemResult, metric: Additive, systems: int) -> Sentence:
    verb = "is best with" if systems > 1 else "has"
    untested = "; no baseline was given, so no difference was tested" if systems > 1 else ""
    value = f" {verb} {title(metric.name)} {result.score}{untested}"
    return ("over the whole stream ", SystemName(result.system), value)
