"""Compare several methods on one stream: what `mtloop compare` and `mtloop.compare` do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from mtloop.core.log import logger
from mtloop.core.names import list_names
from mtloop.core.ranges import check_at_least
from mtloop.core.trace import Trace, read_header
from mtloop.core.types import Proposal, Segment, Step, Truth
from mtloop.data import check_corpus
from mtloop.experiments import backward_reliability
from mtloop.experiments.experiment import Experiment
from mtloop.experiments.folders import output_folder
from mtloop.experiments.measures import Measures
from mtloop.experiments.method_settings import (
    GivenSettings,
    assign_settings,
    find_methods,
    pairs_of,
    recorded_settings,
)
from mtloop.experiments.options import ExperimentOptions
from mtloop.experiments.run import ExperimentJob
from mtloop.experiments.runners import Runner, make_runner, run_jobs
from mtloop.experiments.trace_notes import other_commits
from mtloop.methods.defaults import COMPARED_METHODS
from mtloop.methods.method import Method
from mtloop.methods.presets import check_preset, preset_for
from mtloop.report.chart import Chart
from mtloop.report.result_file import DataFile, ExperimentResult, Origin, seeds
from mtloop.report.table import Table

if TYPE_CHECKING:
    from mtloop.metrics.evaluation import Evaluation
    from mtloop.metrics.reliability import Reliability
    from mtloop.report.learning_curves import LearningCurves
    from mtloop.report.notebook import Plot

QUALITY, LEARNING, SLOPE = ("bleu", "sbleu", "ter"), ("r0", "r1", "r01", "rer"), ("slope-ca",)
ADAPTING = "smt-adapting"  # the method for which the 2012 paper measures backward reliability
DOCUMENTS = 6  # the number of documents in that paper


def compare(
    data: str | Path | None = None,
    methods: str | Sequence[str] = COMPARED_METHODS,
    *,
    out: str | Path | None = None,
    metrics: str | Sequence[str] | None = None,
    settings: GivenSettings = (),
    tokenize: str | None = None,
    spm: str | Path | None = None,
    block_words: int = 1000,
    reliability: int | None = None,
    snapshot_every: int = 100,
    jobs: int = 2,
    runner: Runner | None = None,
    **options: Unpack[ExperimentOptions],
) -> MethodComparison:
    """Run several methods on the same stream; compare their quality and speed of learning. The first is the baseline.

    Args:
        data: A file with sources and references (or post-edits). It may also be named in the file `config`.
        methods: Names of methods, as a list or as text with commas.
        out: The folder of the traces (None: a temporary folder). Existing traces are resumed.
        metrics: Names of metrics. The default: quality, recall where words can be counted, slope, collateral.
        settings: Settings of all methods that have them. The name `METHOD:SETTING` applies to one method.
        tokenize: Tokeniser of sacreBLEU (default: that of the target language).
        spm: SentencePiece model. Recall then counts subwords, without a stop list.
        block_words: Number of words per block, for slopes.
        reliability: Number of documents on which backward reliability is measured. The default: 6 if `smt-adapting`
            is compared, else 0.
        snapshot_every: Number of segments between snapshots of a learner.
        jobs: Number of runs in parallel.
        runner: How the runs are made, instead of `jobs` child processes.
        **options: Model, languages, segments and schedule: see `ExperimentOptions`. Model and beam size apply to the
            methods that use a model.
    """
    check_at_least(1, snapshot_every=snapshot_every)
    experiments = make_experiments(methods, settings, data=data, **options)
    first = next(iter(experiments.values()))
    check_corpus(first.corpus, [experiment.learner_config.languages for experiment in experiments.values()])
    languages = {
        "source_language": first.source_lang or first.corpus.source_lang or None,
        "language": next((one.language for one in experiments.values() if one.language), None),
    }
    measures = make_measures(metrics, **languages, tokenize=tokenize, spm=spm, block_words=block_words)
    stream = first.stream()
    measures.metrics({"": untranslated(stream)}, baseline="")  # what cannot be computed is found before the runs
    origin = make_origin(first, len(stream), measures)
    if reliability:
        backward_reliability.check_documents(first, reliability)
    folder = output_folder(out)
    folder.mkdir(parents=True, exist_ok=True)
    traces = {name: folder / f"{one.learner_config.method.file_name}.jsonl" for name, one in experiments.items()}
    runs = [ExperimentJob(experiments[name], trace, snapshot_every=snapshot_every) for name, trace in traces.items()]
    run_jobs(runs, runner or make_runner(jobs))
    documents = (DOCUMENTS if ADAPTING in experiments else 0) if reliability is None else reliability
    measured = backward_reliability.measure_reliability(experiments, documents, folder) if documents else {}
    recorded = recorded_settings({name: read_header(trace) for name, trace in traces.items()})
    commits = other_commits(traces, origin.provenance.commit)
    return MethodComparison(traces, measures, measured, replace(origin, settings=recorded, trace_commits=commits))


def make_experiments(
    methods: str | Sequence[str], settings: GivenSettings = (), config: str | Path | None = None, **options: Any
) -> dict[str, Experiment]:
    """Return the experiment of each method. Raise InputError for a wrong name, setting or schedule.

    The settings in the file `config` apply to all methods that have them, like `settings`, which take precedence.
    """
    fields = Experiment.read_fields(Path(config)) if config else {}
    names, settings = list_names(methods, "method"), pairs_of(settings)
    found = {method.name: method for method in find_methods(names, fields.get("settings", {}), settings)}
    in_file = assign_settings(list(found.values()), fields.pop("settings", {}))
    given = assign_settings(list(found.values()), settings)
    fields = {**fields, **{name: value for name, value in options.items() if value is not None}, "method": None}
    check_preset(fields.get("preset", ""), found.values())
    return {
        name: Experiment.create(
            **_applicable(method, fields) | {"method": name, "settings": in_file[name] | given[name]}
        )
        for name, method in found.items()
    }


def _applicable(method: Method, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options that apply to a method: without a model, or a preset, where it has none."""
    unused = () if method.engine.loads_model else ("model", "beam_size")
    if not preset_for(options.get("preset", ""), method.name):
        unused = (*unused, "preset")
    return {name: value for name, value in options.items() if name not in unused}


def make_origin(experiment: Experiment, segments: int, measures: Measures) -> Origin:
    """Return where the result of a comparison comes from; call it before the runs."""
    data = DataFile.read(experiment.data, segments, experiment.selection)
    return Origin("compare", (data,), seed=seeds(shuffle=experiment.shuffle, resampling=measures.seed))


def untranslated(stream: Iterable[tuple[Segment, Truth]]) -> list[Step]:
    """Return the steps of a stream without translations, to check metrics before the runs."""
    return [Step(i, Proposal(segment, ""), truth=truth) for i, (segment, truth) in enumerate(stream)]


def make_measures(
    names: str | Sequence[str] | None, *, language: str | None, spm: str | Path | None, **options: Any
) -> Measures:
    """Return the metrics to compute. Raise InputError for a wrong name or option, before the runs."""
    subwords, listed = None if spm is None else Path(spm), None if names is None else list_names(names, "metric")
    measures = Measures(names=listed, language=language, spm=subwords, **options)
    if names is None:
        if measures.options.lacks_stopwords:
            logger.warning("recall is left out: there is no stop list for language %s", language)
        learning = LEARNING if measures.options.can_count_words else ()
        measures = replace(measures, names=(*QUALITY, *learning, *SLOPE), collateral=True)
    measures.prepare(has_baseline=True)
    return measures


@dataclass(frozen=True, repr=False)
class MethodComparison(ExperimentResult):
    """The runs of several methods on one stream; the first is the baseline.

    `traces` are the files of the runs by method, `measures` the metrics, and `reliability` the backward reliability of
    methods where it was measured. `origin` is what `save` writes about the data and the runs.
    """

    traces: Mapping[str, Path]
    measures: Measures
    reliability: Mapping[str, Reliability] = field(default_factory=dict)
    origin: Origin | None = None

    @cached_property
    def evaluation(self) -> Evaluation:
        """The scores of all methods, computed once."""
        steps = {method: Trace.read(path).steps for method, path in self.traces.items()}
        return self.measures.evaluate(steps, next(iter(steps)))

    @cached_property
    def learning_curves(self) -> LearningCurves | None:
        """The tables and figures of the 2012 paper, for statistical methods or with backward reliability."""
        from mtloop.report.learning_curves import PAPER_SLOPES, LearningCurves

        if not self.reliability and PAPER_SLOPES.keys().isdisjoint(self.traces):
            return None
        return LearningCurves(self.evaluation, self.measures.block_words, self.reliability)

    @cached_property
    def _results(self) -> list[Any]:
        return list(self.evaluation.results())

    @property
    def lead(self) -> str:
        """Two sentences, those of the report: what was found, and how sure it is."""
        from mtloop.report.verdict import lead_text

        return lead_text(self.evaluation, self._results)

    @property
    def table(self) -> Table:
        """The scores; stars mark significant differences from the baseline."""
        from mtloop.report import text_tables

        return text_tables.score_table(self.evaluation, self._results)

    @property
    def relative(self) -> Table:
        """The scores of the baseline, and the differences of the other methods from it in per cent."""
        from mtloop.report import text_tables

        return text_tables.relative_score_table(self.evaluation, self._results)

    @property
    def differences(self) -> Table:
        """The scores, with the 95 % intervals of their differences from the baseline."""
        from mtloop.report.difference_table import difference_table

        return difference_table(self.evaluation, self._results)

    def saved_tables(self) -> dict[str, Table]:
        """The tables that `save` writes."""
        tables = {"differences": self.differences, "scores": self.table, "relative": self.relative}
        if (curves := self.learning_curves) is None:
            return tables
        return tables | {"slopes": curves.table} | ({"forgetting": curves.forgetting} if self.reliability else {})

    def saved_charts(self) -> Iterable[Chart]:
        """The charts that `save` writes: those of the report."""
        from mtloop.report.evaluation_charts import make_charts

        figures = tuple(self.learning_curves.charts()) if self.learning_curves else ()
        return make_charts(self.evaluation, self._results, figures)

    def report(self, path: str | Path = "report.html", title: str = "Methods compared") -> Path:
        """Write one HTML file with scores, learning curves, differences and all segments; return its path."""
        from mtloop.report import write_report

        curves = self.learning_curves
        return write_report(self.evaluation, Path(path), title=title, learning_curves=curves, results=self._results)[0]

    def plot(self) -> Plot:
        """Return the score of all segments so far, for every method and metric, as a figure for a notebook."""
        from mtloop.report.notebook import plot_curves

        return plot_curves(self.evaluation)

    def text(self) -> Iterator[str]:
        """Yield what was found, and the tables: scores, relative differences, those of the 2012 paper if they apply."""
        if self.lead:
            yield f"{self.lead}\n"
        yield f"{self.table}\n"
        yield f"{self.relative}\n"
        if self.learning_curves is not None:
            yield self.learning_curves.text()
