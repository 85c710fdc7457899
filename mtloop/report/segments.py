"""The segments as the page's browser reads them: texts, scores of each, and the words that could be learned."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from mtloop.core.types import JSON, Step
from mtloop.metrics.adaptation import Recall, Seen
from mtloop.metrics.base import Additive
from mtloop.metrics.evaluation import Evaluation
from mtloop.metrics.titles import title
from mtloop.report.evaluation_charts import looks
from mtloop.report.palette import look

# Those that mean something for a single segment, the handiest first, and the decimals they are shown with.
SORTING = {"ter": 1, "sbleu": 1, "chrf": 1, "hter": 1, "wmt17": 1, "reward": 2}


def segment_data(evaluation: Evaluation) -> dict[str, JSON]:
    """Columns, one entry a segment; a column that would say nothing is null."""
    first = next(iter(evaluation.systems.values()))
    metrics = _sorting(evaluation)
    words = _first_recall(evaluation)
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
class DueWords:
    """The words that come for the first or second time in each segment's reference, and whether they were said.

    Written "1+word" (first time, said), "1-word" (not said), "2+word" and "2-word".
    """

    units: Callable[[str], frozenset[str]]
    seen: Seen = ()

    def __call__(self, steps: Sequence[Step]) -> list[JSON]:
        appearances: Counter[str] = Counter()
        return [self._of(step, appearances) for step in steps]

    def _of(self, step: Step, appearances: Counter[str]) -> list[JSON]:
        target = step.references[0]
        novel = (word for word in self.units(target) if word not in self.seen)
        wanted = sorted(novel, key=lambda word: (target.find(word), word))
        due = [word for word in wanted if appearances[word] < 2]
        said = self.units(step.proposal.text) if due else frozenset()
        marked: list[JSON] = [f"{appearances[word] + 1}{'+' if word in said else '-'}{word}" for word in due]
        appearances.update(wanted)
        return marked


def _first_recall(evaluation: Evaluation) -> DueWords | None:
    """The words that the first recall metric counts; references, shared by all systems, are cut up once."""
    recall = next((metric for metric in evaluation.metrics if isinstance(metric, Recall)), None)
    return None if recall is None else DueWords(cache(recall.units), recall.seen or ())


def _system(evaluation: Evaluation, system: str, metrics: Sequence[Additive], words: DueWords | None) -> JSON:
    steps = evaluation.systems[system]
    style = look(looks(evaluation)[system])
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
    """Where a system's output was post-edited by itself, its references are its own."""
    first = next(iter(evaluation.systems.values()))
    same = all(ours.references == theirs.references for ours, theirs in zip(steps, first, strict=True))
    return None if same else [list(step.references) for step in steps]


def _scores(evaluation: Evaluation, system: str, metric: Additive) -> list[JSON]:
    values = metric.aggregate(evaluation.rows(system, metric)).tolist()
    return [round(value, 2) if math.isfinite(value) else None for value in values]


def _sorting(evaluation: Evaluation) -> list[Additive]:
    fit = [metric for metric in evaluation.additive if metric.name in SORTING]
    return sorted(fit, key=lambda metric: list(SORTING).index(metric.name)) or evaluation.additive[:1]


def _metric(metric: Additive) -> JSON:
    digits = SORTING.get(metric.name, 1)
    return {"title": title(metric.name), "higher": metric.higher_is_better, "digits": digits}


def _unless_empty(texts: list[str]) -> JSON:
    return list(texts) if any(texts) else None
