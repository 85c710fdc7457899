"""Running scores of a run, shown beside the progress bar."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from mtloop.core.types import Step
from mtloop.metrics.adaptation import Recall
from mtloop.metrics.base import Additive, Array
from mtloop.metrics.quality import BLEU, ChrF
from mtloop.metrics.titles import title
from mtloop.text.stopwords import StopWords, has_stopwords
from mtloop.text.tokenisers import DEFAULT, tokeniser_name
from mtloop.text.units import ContentWords

REFRESH_EVERY = 10  # steps between two updates of the displayed scores


class RunningScores:
    """BLEU, R0 and R1 of the steps so far; chrF, which needs no words, if the language is unknown or has no spaces.

    R0 and R1 are left out if there is no stop list for the language.
    """

    def __init__(self, language: str | None) -> None:
        self._rows = list(_row_counters(language))
        self._sums: list[Array] = []

    def add(self, step: Step) -> None:
        if step.references:
            rows = [np.asarray(row(step), dtype=float) for _, row in self._rows]
            self._sums = [one + other for one, other in zip(self._sums, rows, strict=True)] if self._sums else rows

    def __str__(self) -> str:
        metrics = [metric for metric, _ in self._rows]
        values = zip(metrics, self._sums, strict=False)  # no sums before the first step
        return " ".join(f"{title(metric.name)} {metric.aggregate(sums[None])[0]:.1f}" for metric, sums in values)


def _row_counters(language: str | None) -> Iterator[tuple[Additive, Callable[[Step], Any]]]:
    """Yield the metrics, each with the function that computes the row of a step."""
    if language is None or tokeniser_name(language) != DEFAULT:
        chrf = ChrF()
        yield chrf, lambda step: chrf.rows([step])[0]
        return
    bleu = BLEU()
    yield bleu, lambda step: bleu.rows([step])[0]
    if not has_stopwords(language):
        return
    units = ContentWords(language, StopWords.of_language(language))
    for recall in (Recall(units, {0}), Recall(units, {1})):
        yield recall, recall.make_row_counter()


def with_progress(steps: Iterable[Step], total: int, name: str, language: str | None) -> Iterator[Step]:
    """Yield the steps; show a progress bar with running scores if stderr is a terminal."""
    from tqdm import tqdm

    scores = RunningScores(language)
    with tqdm(total=total, desc=name, unit="seg", disable=None) as bar:
        for step in steps:
            if not bar.disable:
                scores.add(step)
                if step.index % REFRESH_EVERY == 0:
                    bar.set_postfix_str(str(scores), refresh=False)
            bar.update()
            yield step
