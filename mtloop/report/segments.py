"""The segments as JSON for the report page: texts, scores per segment, and words at their first two appearances."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from mtloop.core.types import JSON, Step
from mtloop.metrics.adaptation import Recall, WordSet
from mtloop.metrics.base import Additive
from mtloop.metrics.evaluation import Evaluation
from mtloop.metrics.given_scores import GivenScores
from mtloop.metrics.titles import title
from mtloop.report.evaluation_charts import style_numbers
from mtloop.report.palette import series_style

# Metrics that are meaningful for a single segment, the most useful first, with the decimals to show.
SEGMENT_METRICS = {"ter": 1, "sbleu": 1, "chrf": 1, "hter": 1, "wmt17": 1, "reward": 2}


def segment_data(evaluation: Evaluation) -> dict[str, JSON]:
    """Return columns with one entry per segment; a column without content is null."""
    first = next(iter(evaluation.systems.values()))
    metrics = _segment_metrics(evaluation)
    words = _word_appearances(evaluation)
    return {
        "ids": [step.proposal.segment.id for step in first],
        "documents": _unless_empty([step.proposal.segment.document for step in first]),
        "sources": _unless_empty([step.proposal.segment.source for step in first]),
        "references": [list(step.references) for step in first],
        "baseline": evaluation.baseline,
        "metrics": [_metric(metric) for metric in metrics],
        "systems": [_system(evaluation, system, metrics, words) for system in evaluation.systems],
    }


@dataclass(frozen=True)
class WordAppearances:
    """Finds the words that appear for the first or second time in each reference, and whether the output has them.

    They are written "1+word" (first time, in the output), "1-word" (not in the output), "2+word" and "2-word".
    """

    units: Callable[[str], frozenset[str]]
    seen: WordSet = ()

    def __call__(self, steps: Sequence[Step]) -> list[JSON]:
        appearances: Counter[str] = Counter()
        return [self._marked_words(step, appearances) for step in steps]

    def _marked_words(self, step: Step, appearances: Counter[str]) -> list[JSON]:
        target = step.references[0]
        novel = (word for word in self.units(target) if word not in self.seen)
        words = sorted(novel, key=lambda word: (target.find(word), word))
        new = [word for word in words if appearances[word] < 2]
        output = self.units(step.proposal.text) if new else frozenset()
        marked: list[JSON] = [f"{appearances[word] + 1}{'+' if word in output else '-'}{word}" for word in new]
        appearances.update(words)
        return marked


def _word_appearances(evaluation: Evaluation) -> WordAppearances | None:
    """Use the words of the first recall metric; the cache tokenises references, which systems share, only once."""
    recall = next((metric for metric in evaluation.metrics if isinstance(metric, Recall)), None)
    return None if recall is None else WordAppearances(cache(recall.units), recall.seen or ())


def _system(evaluation: Evaluation, system: str, metrics: Sequence[Additive], words: WordAppearances | None) -> JSON:
    steps = evaluation.systems[system]
    style = series_style(style_numbers(evaluation)[system])
    return {
        "name": system,
        "shade": style.shade,
        "dash": style.dash,
        "texts": [step.proposal.text for step in steps],
        "references": _own_references(evaluation, steps),
        "scores": [_scores(evaluation, system, metric) for metric in metrics],
        "words": None if words is None else words(steps),
    }


def _own_references(evaluation: Evaluation, steps: Sequence[Step]) -> JSON:
    """Return the system's references if they differ from the first system's (its output was post-edited); else None."""
    first = next(iter(evaluation.systems.values()))
    same = all(ours.references == theirs.references for ours, theirs in zip(steps, first, strict=True))
    return None if same else [list(step.references) for step in steps]


def _scores(evaluation: Evaluation, system: str, metric: Additive) -> list[JSON]:
    values = metric.aggregate(evaluation.rows(system, metric)).tolist()
    return [round(value, 2) if math.isfinite(value) else None for value in values]


def _segment_metrics(evaluation: Evaluation) -> list[Additive]:
    """Return the metrics to sort segments by; the first additive metric if none is meaningful for a segment."""
    suitable = [metric for metric in evaluation.additive if metric.name in SEGMENT_METRICS]
    learned = [metric for metric in evaluation.additive if isinstance(metric, GivenScores)]
    ordered = sorted(suitable, key=lambda metric: list(SEGMENT_METRICS).index(metric.name))
    return [*ordered, *learned] or evaluation.additive[:1]


def _metric(metric: Additive) -> JSON:
    digits = SEGMENT_METRICS.get(metric.name, metric.digits - 1)
    return {"title": title(metric.name), "higher": metric.higher_is_better, "digits": digits}


def _unless_empty(texts: list[str]) -> JSON:
    return list(texts) if any(texts) else None
