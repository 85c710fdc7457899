"""Running scores of a run, shown beside the progress bar."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from mtloop.core.types import Step
from mtloop.metrics.adaptation import Recall
from mtloop.metrics.base import Additive, Array
from mtloop.metrics.quality import BLEU
from mtloop.metrics.titles import title
from mtloop.text.stopwords import StopWords
from mtloop.text.units import ContentWords

REFRESH_EVERY = 10  # steps between two updates of the displayed scores


class RunningScores:
    """BLEU, R0 and R1 of the steps so far."""

    def __init__(self, language: str) -> None:
        units = ContentWords(language, StopWords.of_language(language))
        self._bleu = BLEU()
        self._recalls = [Recall(units, {0}), Recall(units, {1})]
        self._rows: list[tuple[Additive, Callable[[Step], Any]]] = [
            (self._bleu, lambda step: self._bleu.rows([step])[0]),
            *((recall, recall.make_row_counter()) for recall in self._recalls),
        ]
        self._sums: list[Array] = [np.zeros(10), np.zeros(2), np.zeros(2)]

    def add(self, step: Step) -> None:
        if step.references:
            for sums, (_, row) in zip(self._sums, self._rows, strict=True):
                sums += np.asarray(row(step), dtype=float)

    def __str__(self) -> str:
        parts = zip(self._sums, self._rows, strict=True)
        values = ((metric, float(metric.aggregate(sums[None])[0])) for sums, (metric, _) in parts)
        return " ".join(f"{title(metric.name)} {value:.1f}" for metric, value in values)


def with_progress(steps: Iterable[Step], total: int, name: str, language: str) -> Iterator[Step]:
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
