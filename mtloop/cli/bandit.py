"""`mtloop bandit`: compare methods that learn from rewards on one task, as the 2017 paper does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mtloop.cli._options import (
    COUNT,
    PATH,
    POSITIVE,
    is_given,
    language_options,
    parse_noise,
    parse_setting,
    preset_option,
    settings_option,
    typed_command,
)
from mtloop.core.extras import need_extras
from mtloop.methods.defaults import BANDIT_METHODS

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
@click.option("--methods", default=BANDIT_METHODS, show_default=True, help="Methods to compare, separated by commas.")
@click.option(
    "--out",
    type=PATH,
    required=True,
    help="Folder for traces, figures and result.json. Existing traces are resumed.",
)
@settings_option
@preset_option
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
@language_options
@click.pass_context
def command(
    context: click.Context, /, task: str, methods: str, out: Path, pairs: tuple[str, ...], noise: tuple[str, ...],
    model: str, smt_model: str, word_model: str, oracle: str | None, key_file: Path | None, threads: int, jobs: int,
    **options: Any,
) -> None:  # fmt: skip
    """Run methods that learn from rewards; print a table and draw figures like those of the 2017 paper."""
    from mtloop.experiments.bandit import bandit, write_charts
    from mtloop.report.result_file import FILE_NAME

    need_extras("report", *(["client"] if "://" in task else []))
    given = {name: value for name, value in options.items() if is_given(context, name)}
    given |= {"noise": parse_noise(noise)} if noise else {}
    results = bandit(
        task, methods, out=out, settings=list(map(parse_setting, pairs)), model=model, smt_model=smt_model,
        word_model=word_model, oracle=oracle, key_file=key_file, threads=threads, jobs=jobs, **given,
    )  # fmt: skip
    charts = list(write_charts(results, out))  # the files first: a closed pipe ends the printing
    results.save(out / FILE_NAME, command=typed_command(context))
    click.echo(results.text())
    for path in charts:
        click.echo(path)
