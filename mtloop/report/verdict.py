"""What the numbers say, in one sentence: who learns, by how much, and whether it is more than luck."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from mtloop.core.types import Score
from mtloop.metrics.base import Additive
from mtloop.metrics.evaluation import Evaluation, SystemResult
from mtloop.metrics.slope import Slope
from mtloop.metrics.titles import title
from mtloop.report.corrections import corrections
from mtloop.report.markup import Markup, element, join
from mtloop.report.wording import chosen, fitted, p_value, signed

UNFAIR = "-unfair"  # how the names of systems end that have seen the answers; their slopes are what they are for


def verdict(evaluation: Evaluation, results: Sequence[SystemResult]) -> Markup:
    """Who learns, then the first metric against the baseline."""
    clauses = [*_learning(evaluation, results), *_quality(evaluation, _fair(results))]
    return join([join(clauses, "; "), "."]) if clauses else Markup()


def _fair(results: Sequence[SystemResult]) -> list[SystemResult]:
    """Without those that learn each block before they translate it: what they get right was told them."""
    return [result for result in results if not result.system.endswith(UNFAIR)]


def _learning(evaluation: Evaluation, results: Sequence[SystemResult]) -> Iterator[Markup]:
    """By the errors of each block if they were fitted, else by the first slope there is; the others may object.

    Where no slope shows anything, which takes a long stream, what corrections brought comes first.
    """
    slopes = [metric for metric in evaluation.metrics if isinstance(metric, Slope)]
    brought = list(corrections(evaluation, _fair(results)))
    if not slopes:
        yield from brought
        return
    first, *rest = sorted(slopes, key=lambda slope: slope.name != "slope-u")
    scores, objections = _scores(first, results), {fitted(slope): _scores(slope, results) for slope in rest}
    others = {system: score for system, score in scores.items() if system != evaluation.baseline} or scores
    if told := _told(others):
        for system, words in told.items():
            yield join([words, *_though(system, scores[system], objections)])
        yield from _easier(evaluation.baseline, scores)
        yield from brought
    elif brought:
        yield from brought
        yield join(["over time no slope is shown yet", *_covering(others)])
    else:
        yield _nothing_shown(others, objections)


def _scores(slope: Slope, results: Sequence[SystemResult]) -> dict[str, Score]:
    return {result.system: result.score for result in results if result.score.name == slope.name}


def _told(scores: Mapping[str, Score]) -> dict[str, Markup]:
    """The clauses on the fastest learner and on the one that forgets most, as far as there are such."""
    learning, forgetting = _with_verdict(scores, "learning"), _with_verdict(scores, "forgetting")
    told = {}
    if learning:
        told[learning[0]] = _learner(learning, scores)
    if forgetting:
        worst = forgetting[-1]
        told[worst] = join([_name(worst), " forgets: ", _doubling(scores[worst])])
    return told


def _with_verdict(scores: Mapping[str, Score], word: str) -> list[str]:
    """Those of whom it holds, the fastest learner first."""
    found = [system for system, score in scores.items() if score.detail.get("verdict") == word]
    return sorted(found, key=lambda system: scores[system].value)


def _learner(systems: Sequence[str], scores: Mapping[str, Score]) -> Markup:
    fastest, *too = systems
    verb = " learns fastest: " if too else " learns: "
    also = [" (", _names(too), " learn too)" if len(too) > 1 else " learns too)"] if too else []
    return join([_name(fastest), verb, _doubling(scores[fastest]), *also])


def _though(system: str, score: Score, objections: Mapping[str, Mapping[str, Score]]) -> Iterator[str]:
    """Another curve that does not say the same of the system is not kept silent."""
    for curve, scores in objections.items():
        other = scores[system]
        if other.defined and other.interval and other.detail["verdict"] != score.detail["verdict"]:
            low, high = other.interval
            yield f", though {curve} says {other.detail['verdict']} ({low:.1f} to {high:.1f})"


def _objected(system: str, score: Score, objections: Mapping[str, Mapping[str, Score]]) -> Iterator[Markup]:
    """The same where several systems were named before: the objection says of whom."""
    for objection in _though(system, score, objections):
        yield join([objection, " of ", _name(system)])


def _easier(baseline: str | None, scores: Mapping[str, Score]) -> Iterator[Markup]:
    """A baseline that seems to learn betrays a stream that grows easier."""
    if baseline is not None and baseline in _with_verdict(scores, "learning") and len(scores) > 1:
        left = f" fall too, to {scores[baseline].value:.1f} %: the text grows easier"
        yield join(["but the errors of ", _name(baseline), left])


def _nothing_shown(scores: Mapping[str, Score], objections: Mapping[str, Mapping[str, Score]]) -> Markup:
    system, score = next(iter(scores.items()))
    if not any(score.defined for score in scores.values()):
        return join([f"No learning curve could be fitted ({score.detail.get('verdict', 'nothing to measure')})"])
    if len(scores) > 1:
        told = ["No learning is shown: the 95 % interval of the slope covers 100 for ", _names(scores)]
        return join([*told, *(part for name in scores for part in _objected(name, scores[name], objections))])
    told = [_name(system), " shows no learning: ", _doubling(score), ", which covers 100"]
    return join([*told, *_though(system, score, objections)])


def _covering(scores: Mapping[str, Score]) -> Iterator[Markup | str]:
    """The slopes whose interval covers 100, as an aside."""
    if fits := {system: score for system, score in scores.items() if score.defined}:
        told = [join([_name(system), f": {_doubling(score)}"]) for system, score in fits.items()]
        yield from (" (", join(told, "; "), ")")


def _doubling(score: Score) -> str:
    low, high = score.interval or (score.value, score.value)
    return f"each doubling of the text leaves {score.value:.1f} % of its errors, 95 % interval {low:.1f} to {high:.1f}"


def _quality(evaluation: Evaluation, results: Sequence[SystemResult]) -> Iterator[Markup]:
    metric = next(iter(evaluation.additive), None)
    if metric is None:
        return
    sign = 1 if metric.higher_is_better else -1
    rows = [result for result in results if result.score.name == metric.name and result.score.defined]
    compared = [row for row in rows if row.comparison is not None]
    if compared:
        best = max(compared, key=lambda row: sign * row.score.value)
        yield _against(best, str(evaluation.baseline), metric, len(compared))
    elif rows:
        yield _best(max(rows, key=lambda row: sign * row.score.value), metric, len(rows))


def _against(result: SystemResult, baseline: str, metric: Additive, systems: int) -> Markup:
    comparison = result.comparison
    assert comparison is not None
    better = (comparison.difference > 0) == metric.higher_is_better
    low, high = comparison.interval
    interval = f"95 % interval {signed(low, 1)} to {signed(high, 1)}, {p_value(comparison.p_value)}{chosen(systems)}"
    if comparison.mark:
        points = f" is {abs(comparison.difference):.1f} {title(metric.name)} {'better' if better else 'worse'} than "
        words = [points, _name(baseline), f" ({interval})"]
    else:
        size = f" in {title(metric.name)} ({signed(comparison.difference, 1)}, {interval})"
        words = [" does not differ significantly from ", _name(baseline), size]
    return join(["over the whole stream ", _name(result.system), *words])


def _best(result: SystemResult, metric: Additive, systems: int) -> Markup:
    place = "is best with" if systems > 1 else "has"
    tested = "; no baseline was given, so no difference was tested" if systems > 1 else ""
    value = f" {place} {title(metric.name)} {result.score}{tested}"
    return join(["over the whole stream ", _name(result.system), value])


def _name(system: str) -> Markup:
    return element("strong", system)


def _names(systems: Iterable[str]) -> Markup:
    *first, last = map(_name, systems)
    return join([join(first, ", "), " and " if first else "", last])
