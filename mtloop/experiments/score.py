"""Score the outputs of systems in Python: what `mtloop.score` does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

from mtloop.core.errors import InputError, UnknownName
from mtloop.core.names import list_names
from mtloop.core.types import Score
from mtloop.data import Pair, read_lines
from mtloop.experiments.learned_scores import LearnedScores, Systems
from mtloop.experiments.measures import Measures
from mtloop.experiments.systems import judged_steps, stream_of_texts, unique_names
from mtloop.metrics.evaluation import Evaluation, SystemResult
from mtloop.metrics.given_scores import as_score, check_name
from mtloop.metrics.score_files import UNNAMED, ScoreFile, ScoreTable
from mtloop.metrics.scorer_process import TIMEOUT, Scorer
from mtloop.report import text_tables, write_report
from mtloop.report.result import Result
from mtloop.report.table import Table
from mtloop.report.verdict import lead_text

Texts: TypeAlias = str | Path | Sequence[str]
"""A file with one segment per line, or a list of segments."""

SegmentScores: TypeAlias = str | Path | Sequence[float]
"""A file with segment scores, or a list of numbers."""

SYSTEM = "system"  # the name of a system that has no name


def score(
    refs: Texts | Sequence[Sequence[str]] | Sequence[Path],
    hyps: Texts | Mapping[str, Texts],
    *,
    metrics: Sequence[str] | str | None = None,
    lang: str | None = None,
    sources: Texts | None = None,
    source_lang: str | None = None,
    baseline: str | None = None,
    tokenize: str | None = None,
    spm: str | Path | None = None,
    stopwords: str | Path | None = None,
    truecase: str | Path | None = None,
    seen: str | Path | None = None,
    vocabulary: str | Path | None = None,
    oracle: str | Path | None = None,
    glossary: str | Path | None = None,
    scores: Mapping[str, SegmentScores | Mapping[str, SegmentScores]] | None = None,
    scorers: Mapping[str, str] | None = None,
    scorer_timeout: float = TIMEOUT,
    lower_is_better: Sequence[str] = (),
    block_words: int = 1000,
    resamples: int = 1000,
    seed: int = 1,
) -> EvaluationResult:
    """Score the outputs of one or several systems against references, in the order of the stream.

    Args:
        refs: A list of segments, or a file with one segment per line. Several references: a list of such lists or
            `Path`s.
        hyps: The output of a system, as a list or a file. Several systems: a mapping from names to outputs.
        metrics: Names of metrics, as a list or as text with commas. The default is that of `mtloop score`.
        lang: Target language. It selects the tokeniser and the stop list.
        sources: The source texts, as a list or a file. Slopes count their words per block; the metrics `near-better`,
            `near-worse` and `flips` need them.
        source_lang: Source language, for words in a source without spaces.
        baseline: The name of the system with which the others are compared. The metrics `near-better`, `near-worse` and
            `flips` need it.
        tokenize: Tokeniser of sacreBLEU (default: that of `lang`).
        spm: SentencePiece model. Recall then counts subwords, without a stop list.
        stopwords: Stop list to use instead of the built-in one, one word per line.
        truecase: Text to train the truecaser on. Without it, case is kept.
        seen: Training text, or `seen-words.npy` of a model. Recall then counts only words that are not in it.
        vocabulary: Training text for the out-of-vocabulary rate (metric `oov`).
        oracle: Trace of an oracle system, for the metric `regret`.
        glossary: Terms and their translations (TSV, CSV or TBX), for the metric `terms`. It needs `sources` and `lang`.
        scores: Segment scores of learned metrics: by metric, and by system if there are several.
        scorers: Programs that score segments: commands by metric.
        scorer_timeout: Longest time without an answer of a scorer, in seconds (0: no limit).
        lower_is_better: Names of learned metrics whose best score is the lowest.
        block_words: Number of words per block, for slopes.
        resamples: Number of resamples for intervals and significance tests.
        seed: Random seed of the resampling.

    Examples:
        >>> scores = score(["Öffnen Sie den Bereich."], ["Öffnen Sie die Bereiche."], metrics="ter", lang="de")
        >>> print(scores["ter"])
        50.00
    """
    commands = [Scorer(check_name(name), command, scorer_timeout) for name, command in (scorers or {}).items()]
    learned = LearnedScores(*_given_scores(scores or {}), scorers=commands, lower_is_better=lower_is_better)
    measures = Measures(
        names=None if metrics is None else list_names(metrics, "metric"),
        language=lang,
        source_language=source_lang,
        tokenize=tokenize,
        spm=_path(spm),
        stopwords=_path(stopwords),
        truecase=_path(truecase),
        seen=_path(seen),
        vocabulary=_path(vocabulary),
        oracle=_path(oracle),
        glossary=_path(glossary),
        block_words=block_words,
        resamples=resamples,
        seed=seed,
        learned=learned,
    )
    measures.prepare(has_baseline=baseline is not None)  # wrong metrics are found before the files are read
    systems = _systems(refs, hyps, sources)
    if baseline is not None and baseline not in systems:
        raise UnknownName("system", baseline, systems, hint="the baseline is one of the systems")
    return EvaluationResult(measures.evaluate(systems, baseline))


@dataclass(frozen=True, repr=False, eq=False)
class EvaluationResult(Result):
    """The scores of one or several systems.

    `result["bleu"]` is the score of the only system, `result["mine", "bleu"]` that of a system.
    """

    evaluation: Evaluation

    @property
    def systems(self) -> list[str]:
        """The names of the systems."""
        return list(self.evaluation.systems)

    @cached_property
    def results(self) -> list[SystemResult]:
        """All scores, with their comparisons with the baseline; computed once."""
        return list(self.evaluation.results())

    @property
    def lead(self) -> str:
        """Two sentences, those of the report: what was found, and how sure it is."""
        return lead_text(self.evaluation, self.results)

    @property
    def table(self) -> Table:
        """The scores of all systems, with their signatures."""
        return text_tables.score_table(self.evaluation, self.results)

    def __getitem__(self, key: str | tuple[str, str]) -> Score:
        system, metric = key if isinstance(key, tuple) else (self._only_system(key), key)
        if system not in self.evaluation.systems:
            raise UnknownName("system", system, self.systems)
        found = [one.score for one in self.results if (one.system, one.score.name) == (system, metric.lower())]
        if not found:
            raise UnknownName("score", metric, self)
        return found[0]

    def __iter__(self) -> Iterator[str]:
        return iter(metric.name for metric in self.evaluation.metrics)

    def __len__(self) -> int:
        return len(self.evaluation.metrics)

    def __contains__(self, metric: object) -> bool:
        return metric in list(self)

    def keys(self) -> list[str]:
        """The names of the metrics."""
        return list(self)

    def report(self, path: str | Path = "report.html", *, title: str | None = None) -> Path:
        """Write one HTML file with scores, learning curves, differences and all segments; return its path."""
        return write_report(self.evaluation, Path(path), title=title, results=self.results, pictures=())[0]

    def plot(self) -> Any:
        """Return the score of all segments so far, for every system and metric, as a figure for a notebook."""
        from mtloop.report.notebook import plot_curves

        return plot_curves(self.evaluation)

    def _only_system(self, metric: str) -> str:
        if len(self.systems) > 1:
            example = f"[{self.systems[0]!r}, {metric!r}]"
            raise InputError(f"several systems were scored ({', '.join(self.systems)}); name one, as in {example}")
        return self.systems[0]


def _systems(
    refs: Texts | Sequence[Sequence[str]] | Sequence[Path], hyps: Texts | Mapping[str, Texts], sources: Texts | None
) -> Systems:
    references = _references(refs)
    named = hyps if isinstance(hyps, Mapping) else {_name(hyps): hyps}
    if not named:
        raise InputError("nothing to score: `hyps` is empty")
    lines = len(references[0])
    _check_count(references, "reference", lines)
    texts = None if sources is None else _lines(sources)
    _check_count([] if texts is None else [texts], "source", lines)
    stream = stream_of_texts(references, texts)
    return {name: judged_steps(stream, _hypotheses(stream, given, name), name) for name, given in named.items()}


def _hypotheses(stream: Sequence[Pair], given: Texts, name: str) -> dict[str, str]:
    lines = _lines(given)
    _check_count([lines], name, len(stream))
    return {segment.id: text for (segment, _), text in zip(stream, lines, strict=True)}


def _references(refs: Texts | Sequence[Sequence[str]] | Sequence[Path]) -> list[list[str]]:
    """Return one list per reference. A list of strings is one reference; a list of lists or paths is several."""
    if isinstance(refs, str | Path):
        return [_lines(refs)]
    items: list[Any] = _items(refs)
    if not items:
        raise InputError("nothing to score: `refs` is empty")
    return [_lines(items)] if any(isinstance(item, str) for item in items) else [_lines(item) for item in items]


def _lines(texts: Texts) -> list[str]:
    if isinstance(texts, str | Path):
        return read_lines(texts)
    lines = _items(texts)
    for text in lines:
        if not isinstance(text, str):
            raise InputError(f"{text!r} is not a text; expected a list of strings, or a file")
    return lines


def _items(texts: Any) -> list[Any]:
    if not isinstance(texts, Iterable):
        raise InputError(f"{texts!r} is not a list of texts; expected a list of strings, or a file")
    return list(texts)


def _check_count(columns: Sequence[Sequence[str]], name: str, expected: int) -> None:
    for column in columns:
        if len(column) != expected:
            hint = "several references are one list each, as in sacreBLEU"
            raise InputError(f"{name}: {len(column)} segments, but the first reference has {expected}; {hint}")


def _name(hyps: Texts) -> str:
    return unique_names([Path(hyps)])[Path(hyps)] if isinstance(hyps, str | Path) else SYSTEM


def _given_scores(
    scores: Mapping[str, SegmentScores | Mapping[str, SegmentScores]],
) -> tuple[list[ScoreFile], dict[str, ScoreTable]]:
    """Return the files with scores, and the scores in memory by metric and system."""
    files: list[ScoreFile] = []
    tables: dict[str, ScoreTable] = {}
    for metric, given in scores.items():
        name = check_name(metric)
        for system, one in (given if isinstance(given, Mapping) else {UNNAMED: given}).items():
            if isinstance(one, str | Path):
                files.append(ScoreFile(name, Path(one), system or None))
            else:
                tables.setdefault(name, {})[system] = [as_score(value) for value in one]
    return files, tables


def _path(path: str | Path | None) -> Path | None:
    return None if path is None else Path(path)
