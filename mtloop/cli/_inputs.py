"""The systems and metrics that `score` and `report` evaluate, from command-line options."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mtloop.cli._options import split_names

if TYPE_CHECKING:
    from mtloop.experiments.measures import Measures
    from mtloop.experiments.systems import SystemFiles
    from mtloop.metrics.evaluation import Evaluation


@dataclass(frozen=True)
class Inputs:
    """The values of `input_options`."""

    traces: tuple[Path, ...] = ()
    refs: tuple[Path, ...] = ()
    hyps: tuple[Path, ...] = ()
    src: Path | None = None
    data: Path | None = None
    columns: str = ""
    baseline: Path | None = None
    source_language: str | None = None
    language: str | None = None
    names: str | None = None
    tokenize: str | None = None
    stopwords: Path | None = None
    truecase: Path | None = None
    seen: Path | None = None
    spm: Path | None = None
    vocabulary: Path | None = None
    oracle: Path | None = None
    block_words: int = 1000
    resamples: int = 1000
    seed: int = 1
    scores: tuple[str, ...] = ()
    scorers: tuple[str, ...] = ()
    scorer_timeout: float = 600
    lower_is_better: tuple[str, ...] = ()

    def evaluation(self, *, slopes: bool = False) -> Evaluation:
        """Read the files and build the evaluation. Scores are computed later; `slopes` adds the slopes of TER."""
        from mtloop.experiments.measures import evaluate_files

        measures = self._measures(slopes)
        return evaluate_files(self._files(), measures)

    def _files(self) -> SystemFiles:
        from mtloop.experiments.systems import SystemFiles

        return SystemFiles(
            self.traces,
            self.refs,
            self.hyps,
            self.src,
            self.data,
            self.columns,
            self.baseline,
            self.source_language,
            self.language,
        )

    def _measures(self, slopes: bool) -> Measures:
        from mtloop.experiments.learned_scores import LearnedScores
        from mtloop.experiments.measures import Measures
        from mtloop.metrics.score_files import ScoreFile
        from mtloop.metrics.scorer_process import Scorer

        files = [ScoreFile.parse(text) for text in self.scores]
        scorers = [Scorer.parse(text, self.scorer_timeout) for text in self.scorers]
        return Measures(
            names=None if self.names is None else split_names(self.names, "--metrics", "metric", "bleu,ter,r1"),
            language=self.language,
            source_language=self.source_language,
            tokenize=self.tokenize,
            stopwords=self.stopwords,
            truecase=self.truecase,
            seen=self.seen,
            spm=self.spm,
            vocabulary=self.vocabulary,
            oracle=self.oracle,
            block_words=self.block_words,
            resamples=self.resamples,
            seed=self.seed,
            learned=LearnedScores(files, scorers=scorers, lower_is_better=self.lower_is_better),
            slopes=slopes,
        )
