"""Compare methods that learn from rewards on one task: what `mtloop bandit` and `mtloop.bandit` do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

from mtloop.core.errors import InputError
from mtloop.core.names import list_names
from mtloop.core.trace import Trace, read_header
from mtloop.core.types import JSON, Reward, Step
from mtloop.data import check_corpus
from mtloop.experiments.bandit_task import BanditJob, BanditTask
from mtloop.experiments.folders import output_folder
from mtloop.experiments.join import ParticipantJob
from mtloop.experiments.method_settings import (
    GivenSettings,
    assign_settings,
    find_methods,
    pairs_of,
    recorded_settings,
)
from mtloop.experiments.options import TaskOptions
from mtloop.experiments.runners import Runner, make_runner, run_jobs
from mtloop.experiments.trace_notes import other_commits
from mtloop.judges.rewards import sentence_reward
from mtloop.methods.compatibility import check_feedback, check_without_references
from mtloop.methods.defaults import BANDIT_METHODS
from mtloop.methods.learner_config import LearnerConfig
from mtloop.methods.method import Method
from mtloop.methods.oracles import ORACLES
from mtloop.methods.presets import check_preset, preset_for
from mtloop.methods.registry import find_method
from mtloop.methods.word_level import LEXICON_SETTING
from mtloop.report.bandit_results import BanditResults
from mtloop.report.result_file import DataFile, Origin, seeds
from mtloop.text.settings_files import make_settings


def bandit(
    task: str | Path | BanditTask,
    methods: str | Sequence[str] = BANDIT_METHODS,
    *,
    out: str | Path | None = None,
    settings: GivenSettings = (),
    preset: str = "",
    model: str = "",
    smt_model: str = "",
    word_model: str = "",
    oracle: str | Path | None = None,
    key_file: str | Path | None = None,
    threads: int = 1,
    jobs: int = 2,
    runner: Runner | None = None,
    **options: Unpack[TaskOptions],
) -> BanditResults:
    """Run methods that learn from rewards on one task.

    Args:
        task: A file with sources and references, a `BanditTask`, or the URL of a task on a service.
        methods: Names of methods, as a list or as text with commas.
        out: The folder of the traces (None: a temporary folder). Existing traces are resumed.
        settings: Settings of all methods that have them. The name `METHOD:SETTING` applies to one method.
        preset: The year of a paper whose settings apply to the methods that it describes. `settings` take precedence.
        model: Model of neural methods: the embedded `en-de`, a folder, or a Hugging Face name.
        smt_model: Folder of the model of statistical methods, and of the lexical table of `wnmt-*`.
        word_model: Folder of the model of the methods `wnmt-*`.
        oracle: `nmt-oracle`, `smt-oracle`, or the trace of a system. The regret is computed against it.
        key_file: File with the API key, for a task on a service.
        threads: Number of CPU threads per method.
        jobs: Number of methods that run in parallel.
        runner: How the runs are made, instead of `jobs` child processes.
        **options: Segments, rewards and noise of a task from a file: see `TaskOptions`.
    """
    trained = str(oracle) if oracle in ORACLES else ""
    settings = pairs_of(settings)
    found = find_methods(list_names(methods, "method"), settings)
    found += [find_method(trained)] if trained and trained not in {method.name for method in found} else []
    check_preset(preset, found)
    models = {"--model": model, "--smt-model": smt_model, "--word-model": word_model}
    given = assign_settings(found, settings)
    check_models(found, models, lexicon_used=assign_lexicon(found, given, smt_model))
    folder, run = output_folder(out), runner or make_runner(jobs)
    oracle_trace = folder / f"{trained}.jsonl" if trained else Path(oracle) if oracle else None
    if isinstance(task, str) and "://" in task:
        refuse_options(options, "a task on a service, which has its own")
        configs = [make_config(method, models, given[method.name], threads, preset) for method in found]
        return run_on_service(task, configs, folder, key_file, oracle_trace, run)
    local = make_task(task, options, key_file)
    configs = [make_config(method, models, given[method.name], threads, preset) for method in found]
    configs = [config.with_stream_length(len(local.layout)) for config in configs]
    return run_locally(local, configs, folder, oracle_trace, run)


def make_task(
    task: str | Path | BanditTask, options: Mapping[str, Any], key_file: str | Path | None = None
) -> BanditTask:
    """Return a local task and check it. Raise InputError for an option that would be ignored."""
    refuse_options({} if key_file is None else {"key_file": key_file}, "a local task")
    if isinstance(task, BanditTask):
        refuse_options(options, "a BanditTask, which has its own")
        task.check()
        return task
    given = {name: value for name, value in options.items() if value is not None}
    given = {"target_lang" if name == "lang" else name: value for name, value in given.items()}
    made = make_settings(BanditTask, {"data": str(task), **given})
    made.check()
    return made


def refuse_options(options: Iterable[str], task: str) -> None:
    """Raise InputError for the first of these options."""
    for name in options:
        raise InputError(f"--{name.replace('_', '-')} does not apply to {task}; leave it out")


def write_charts(results: BanditResults, out: Path) -> Iterator[Path]:
    """Save the figures of the 2017 paper as PNG files in a folder, and yield their paths."""
    from mtloop.report.matplotlib_charts import save

    for chart in results.charts():
        path = out / f"{chart.name}.png"
        save(chart, path)
        yield path


def run_locally(
    task: BanditTask, configs: Sequence[LearnerConfig], out: Path, oracle: Path | None, runner: Runner
) -> BanditResults:
    """Run all methods on a task from a file."""
    check_corpus(task.corpus, [config.languages for config in configs])
    check_rewards(configs)
    jobs = [BanditJob(task, config, out) for config in configs]
    check_oracle([job.trace for job in jobs], oracle)
    data = [
        DataFile.read(task.data, len(task.layout), task.selection),
        *oracle_file([job.trace for job in jobs], oracle),
    ]
    seed = seeds(rater=task.seed, shuffle=task.shuffle, resampling=BanditResults.seed)
    origin = Origin("bandit", data, seed=seed)
    run_jobs(jobs, runner)
    traces = {job.config.method.name: job.trace for job in jobs}
    reward, rater = sentence_reward(task.reward, task.language), task.rater_settings
    return BanditResults(
        read_steps(traces),
        task.checkpoints(),
        read_oracle(oracle),
        reward,
        task.language,
        origin=with_settings(origin, traces, {"rater": rater}),
    )


def run_on_service(
    url: str,
    configs: Sequence[LearnerConfig],
    out: Path,
    key_file: str | Path | None,
    oracle: Path | None,
    runner: Runner,
) -> BanditResults:
    """Run all methods as participants of a task on a service.

    The positions of the held-out block are not known, because the service does not publish them.
    """
    service, _, task = url.rstrip("/").rpartition("/")
    if key_file is None or service.endswith(":/"):
        raise InputError("a task on a service needs --task http://HOST:PORT/TASK and --key-file FILE")
    for config in configs:
        check_without_references(config.method)
    check_rewards(configs)
    traces = [out / f"{config.method.file_name}.jsonl" for config in configs]
    check_oracle(traces, oracle)
    out.mkdir(parents=True, exist_ok=True)
    data, seed = list(oracle_file(traces, oracle)), seeds(resampling=BanditResults.seed)
    pairs, origin = zip(configs, traces, strict=True), Origin("bandit", seed=seed)
    run_jobs([ParticipantJob(service, task, Path(key_file), config, trace) for config, trace in pairs], runner)
    named = dict(zip((config.method.name for config in configs), traces, strict=True))
    steps = read_steps(named)
    origin = replace(origin, data=[DataFile(task, segments=len(steps[configs[0].method.name])), *data])
    return BanditResults(steps, oracle=read_oracle(oracle), origin=with_settings(origin, named))


def read_steps(traces: Mapping[str, Path]) -> dict[str, Sequence[Step]]:
    return {name: Trace.read(trace).steps for name, trace in traces.items()}


def with_settings(origin: Origin, traces: Mapping[str, Path], more: Mapping[str, JSON] | None = None) -> Origin:
    """Return the origin of a result with the settings in the headers of the traces, and the commits of older traces."""
    recorded = recorded_settings({name: read_header(trace) for name, trace in traces.items()})
    commits = other_commits(traces, origin.provenance.commit)
    return replace(origin, settings={**recorded, **(more or {})}, trace_commits=commits)


def check_rewards(configs: Iterable[LearnerConfig]) -> None:
    """Raise InputError for a method that cannot learn from rewards, before the first run."""
    for config in configs:
        check_feedback(config.method.name, config.method.learns_from or (), Reward)


def make_config(
    method: Method, models: Mapping[str, str], settings: Mapping[str, JSON], threads: int, preset: str = ""
) -> LearnerConfig:
    """Return a method with its settings and the model of its engine; with the preset, if that describes the method."""
    model = models.get(method.engine.option, "")
    return LearnerConfig.create(method.name, model, settings, threads, preset=preset_for(preset, method.name))


def assign_lexicon(methods: Sequence[Method], given: Mapping[str, dict[str, JSON]], folder: str) -> bool:
    """Set the lexicon of the SMT model in `folder` for methods that need one and have none; True if any was set."""
    needing = [
        one.name for one in methods if LEXICON_SETTING in one.settings and not given[one.name].get(LEXICON_SETTING)
    ]
    for name in needing if folder else ():
        given[name][LEXICON_SETTING] = folder
    return bool(folder and needing)


def check_models(methods: Sequence[Method], models: Mapping[str, str], *, lexicon_used: bool) -> None:
    """Raise InputError for a model option that no method takes."""
    options = {method.engine.option for method in methods}
    for option, model in models.items():
        if model and option not in options and not (option == "--smt-model" and lexicon_used):
            raise InputError(f"none of the methods takes {option}; leave it out")


def check_oracle(written: Iterable[Path], oracle: Path | None) -> None:
    """Read the trace of the oracle before the runs, so that an error shows early. Skip it if a run will write it."""
    if oracle and not is_written(oracle, written):
        Trace.read(oracle)


def oracle_file(written: Iterable[Path], oracle: Path | None) -> Iterator[DataFile]:
    """Yield the trace of the oracle, unless a run of this experiment writes it."""
    if oracle and not is_written(oracle, written):
        yield DataFile.read(oracle)


def is_written(trace: Path, written: Iterable[Path]) -> bool:
    """Return whether a trace is one of those that the runs write."""
    return trace.resolve() in {one.resolve() for one in written}


def read_oracle(path: Path | None) -> Sequence[Step]:
    return Trace.read(path).steps if path else ()
