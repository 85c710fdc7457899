"""The systems and metrics that `score` and `report` evaluate, from command-line options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mtloop.core.names import list_names

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mtloop.experiments.learned_scores import LearnedScores
    from mtloop.metrics.evaluation import Evaluation

FILES = ("traces", "refs", "hyps", "src", "data", "columns", "baseline")


def make_evaluation(
    *,
    names: str | None,
    scores: Iterable[str],
    scorers: Iterable[str],
    scorer_timeout: float,
    lower_is_better: tuple[str, ...],
    slopes: bool = False,
    collateral: bool = False,
    **options: Any,
) -> Evaluation:
    """Read the files and build the evaluation, from the values of `input_options`.

    Scores are computed later. `slopes` adds the slopes of TER; without `names`, `collateral` adds its metrics.
    """
    from mtloop.experiments.measures import Measures, evaluate_files
    from mtloop.experiments.systems import SystemFiles

    files = {name: options.pop(name) for name in FILES}
    learned = _learned_scores(scores, scorers, scorer_timeout, lower_is_better)
    metrics = None if names is None else list_names(names, "metric")
    harm = collateral and names is None
    measures = Measures(names=metrics, learned=learned, slopes=slopes, collateral=harm, **options)
    languages = {name: options[name] for name in ("source_language", "language")}
    return evaluate_files(SystemFiles(**files, **languages), measures)


def _learned_scores(
    scores: Iterable[str], scorers: Iterable[str], timeout: float, lower_is_better: tuple[str, ...]
) -> LearnedScores:
    from mtloop.experiments.learned_scores import LearnedScores
    from mtloop.metrics.score_files import ScoreFile
    from mtloop.metrics.scorer_process import Scorer

    files = [ScoreFile.parse(text) for text in scores]
    commands = [Scorer.parse(text, timeout) for text in scorers]
    return LearnedScores(files, scorers=commands, lower_is_better=lower_is_better)
