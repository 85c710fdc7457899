"""`mtloop bandit`: compare methods that learn from rewards on one task, as the 2017 paper does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mtloop.cli._options import COUNT, PATH, POSITIVE, parse_noise, split_names
from mtloop.cli.run import parse_setting
from mtloop.core.errors import InputError

if TYPE_CHECKING:
    from mtloop.core.types import JSON
    from mtloop.experiments.bandit_task import BanditTask, MethodConfig

METHODS = "copy-source,baseline,nmt-el,nmt-el-cv,nmt-el-recall"
LOCAL_OPTIONS = ("columns", "shuffle", "skip", "distinct", "limit", "held_out", "blocks", "reward", "noise", "thumbs",
                 "seed", "delay")  # fmt: skip

EPILOG = """
\b
Examples:
  mtloop bandit --task office.tsv --held-out 200 --blocks 6 --out out/office
  mtloop bandit --task office.tsv --methods baseline,nmt-el-cv --set scope=bias --set learning_rate=0.05 --out out/bias
  mtloop bandit --task office.tsv --skip 5000 --limit 4800 --held-out 100 --blocks 4 --out out/later
  mtloop bandit --task office.tsv --methods baseline,nmt-el --thumbs 0.4 --out out/thumbs
  mtloop bandit --task office.tsv --methods baseline,nmt-el-cv --oracle nmt-oracle --out out/regret
  mtloop bandit --task office.tsv --methods baseline,domain-adaptation --set general_data=train.tsv --out out/domain
  mtloop bandit --task http://localhost:8017/dev --key-file key.txt --methods baseline,nmt-el --out out/dev
\b
Run the same command again to resume after an interruption.
"""


@click.command(epilog=EPILOG)
@click.option(
    "--task", required=True, metavar="FILE|URL", help="File with sources and references, or http://HOST:PORT/TASK."
)
@click.option("--methods", default=METHODS, show_default=True, help="Methods to compare, separated by commas.")
@click.option("--out", type=PATH, required=True, help="Folder for traces and figures. Existing traces are resumed.")
@click.option(
    "--set",
    "pairs",
    multiple=True,
    metavar="[METHOD:]KEY=VALUE",
    help="Setting of all methods that have it, or of one METHOD. Repeat for more settings.",
)
@click.option(
    "--model",
    default="",
    help="Neural methods: the embedded en-de, a folder, or a Hugging Face name.  [default: en-de]",
)
@click.option("--smt-model", default="", help="Statistical methods and the lexical table of wnmt-*: model folder.")
@click.option("--word-model", default="", help="Methods wnmt-*: model folder (from mtloop train --vocab word).")
@click.option("--jobs", default=2, show_default=True, type=POSITIVE, help="Number of methods that run in parallel.")
@click.option(
    "--delay", default=0, show_default=True, type=COUNT, help="Learn from a reward this number of sentences later."
)
@click.option("--columns", default="", metavar="source=A,target=B", help="Column names in the FILE.")
@click.option(
    "--shuffle", default=0, type=int, metavar="SEED", help="Shuffle the FILE with this seed; 0: no shuffling."
)
@click.option(
    "--skip",
    default=0,
    show_default=True,
    type=COUNT,
    help="Number of sentences of the FILE to leave out at the start.",
)
@click.option("--distinct", is_flag=True, help="Leave out sentences of the FILE with a source seen before.")
@click.option(
    "--limit", default=0, show_default=True, type=COUNT, help="Maximum number of sentences of the FILE; 0: all."
)
@click.option(
    "--held-out",
    default=0,
    show_default=True,
    type=COUNT,
    help="Number of held-out sentences, taken from the end of the data.",
)
@click.option(
    "--blocks",
    default=0,
    show_default=True,
    type=COUNT,
    help="Number of times the held-out block is inserted: at the start, at regular intervals, at the end.",
)
@click.option(
    "--reward",
    default="wmt17",
    show_default=True,
    metavar="METRIC",
    help="Metric that gives the reward: wmt17, sbleu, chrf, ter or bleu.",
)
@click.option(
    "--noise",
    multiple=True,
    metavar="NAME=N",
    help="Noise of the rater: granularity, variance or skew. Repeat to combine.",
)
@click.option("--thumbs", type=float, metavar="MARK", help="Binary rewards: 1 if the reward is at least MARK, else 0.")
@click.option(
    "--oracle", metavar="METHOD|TRACE", help="Oracle for the regret: nmt-oracle, smt-oracle, or the trace of a system."
)
@click.option("--key-file", type=PATH, help="File with the API key, for a task on a service.")
@click.option("--seed", default=1, show_default=True, type=COUNT, help="Random seed of the rater's noise.")
@click.option("--threads", default=1, show_default=True, type=POSITIVE, help="Number of CPU threads per method.")
@click.pass_context
def command(
    context: click.Context, /, task: str, methods: str, out: Path, pairs: tuple[str, ...], model: str, smt_model: str,
    word_model: str, jobs: int, oracle: str | None, key_file: Path | None, threads: int, noise: tuple[str, ...],
    **options: int | str | float | None,
) -> None:  # fmt: skip
    """Run methods that learn from rewards; print Table 3 of the 2017 paper and draw its Figures 1 and 3."""
    from mtloop.experiments.bandit_runs import run_locally, run_on_service
    from mtloop.methods.oracles import ORACLES

    models = {"--model": model, "--smt-model": smt_model, "--word-model": word_model}
    trained = oracle if oracle in ORACLES else ""
    configs = make_configs(f"{methods},{trained}", pairs, models, threads)
    oracle_trace = out / f"{trained}.jsonl" if trained else Path(oracle) if oracle else None
    if "://" in task:
        refuse_unused_options(context, LOCAL_OPTIONS, "a task on a service, which has its own")
        run_on_service(task, configs, out, jobs, key_file, oracle_trace)
        return
    refuse_unused_options(context, ("key_file",), "a local task")
    run_locally(make_task(task, noise, options), configs, out, jobs, oracle_trace)


def make_task(data: str, noise: Iterable[str], options: dict[str, int | str | float | None]) -> BanditTask:
    from mtloop.experiments.bandit_task import BanditTask

    return BanditTask(data, noise=parse_noise(noise), **options)  # type: ignore[arg-type]


def make_configs(methods: str, pairs: Iterable[str], models: Mapping[str, str], threads: int) -> list[MethodConfig]:
    """Each method with its model and settings. Raise InputError for a model option that no method takes."""
    from mtloop.experiments.bandit_task import MethodConfig
    from mtloop.methods.engines import engine_of

    names = list(dict.fromkeys(split_names(methods, "--methods", "method", METHODS)))
    settings = assign_settings(names, list(pairs))
    lexicon_used = assign_lexicon(settings, models["--smt-model"])
    options = {name: engine_of(name).option for name in names}
    for option, model in models.items():
        if model and option not in options.values() and not (option == "--smt-model" and lexicon_used):
            raise InputError(f"none of the methods takes {option}; leave it out")
    return [MethodConfig(name, models.get(options[name], ""), settings[name], threads) for name in names]


def assign_lexicon(settings: Mapping[str, dict[str, JSON]], folder: str) -> bool:
    """Set the lexicon of the SMT model in `folder` for methods that need one and have none; True if any was set."""
    from mtloop.methods.registry import settings_of
    from mtloop.methods.word_level import LEXICON_SETTING

    names = [
        name
        for name in settings
        if folder and LEXICON_SETTING in settings_of(name) and not settings[name].get(LEXICON_SETTING)
    ]
    for name in names:
        settings[name][LEXICON_SETTING] = folder
    return bool(names)


def assign_settings(names: Sequence[str], pairs: Sequence[str]) -> dict[str, dict[str, JSON]]:
    """Settings by method: KEY=VALUE for all methods that have the setting, METHOD:KEY=VALUE for one method."""
    from mtloop.methods.registry import settings_of

    known = {name: settings_of(name) for name in names}
    given: dict[str, dict[str, JSON]] = {name: {} for name in names}
    for pair in pairs:
        (key, value), method = parse_setting(pair), ""
        if ":" in key:
            method, _, key = key.partition(":")
        chosen = [name for name in names if key in known[name] and method in ("", name)]
        if not chosen:
            which = f"method {method} is not among the methods or has no" if method else "none of the methods has a"
            raise InputError(f"--set {pair}: {which} setting {key!r}")
        for name in chosen:
            given[name][key] = value
    for name in names:  # a value of the wrong type raises before any run starts
        settings_of(name, given[name])
    return given


def refuse_unused_options(context: click.Context, names: Iterable[str], task: str) -> None:
    """Raise InputError if an option that this kind of task ignores was given."""
    from click.core import ParameterSource

    for name in names:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise InputError(f"--{name.replace('_', '-')} does not apply to {task}; leave it out")
