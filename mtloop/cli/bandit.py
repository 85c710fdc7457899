"""`mtloop bandit`: several methods that learn from rewards, on one task, compared as the 2017 paper does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mtloop.cli._inputs import PATH
from mtloop.cli.run import setting
from mtloop.core.errors import InputError

if TYPE_CHECKING:
    from mtloop.core.types import JSON
    from mtloop.experiments.bandit_task import BanditTask, Entrant

METHODS = "copy-source,baseline,nmt-el,nmt-el-cv,nmt-el-recall"
NUMBER = click.IntRange(min=0)
AT_HOME = ("columns", "shuffle", "skip", "distinct", "limit", "held_out", "blocks", "reward", "noise", "thumbs", "seed",
           "delay")  # fmt: skip

EPILOG = """
\b
Examples:
  mtloop bandit --task office.tsv --held-out 200 --blocks 6 --out out/office
  mtloop bandit --task office.tsv --methods baseline,nmt-el-cv --set scope=bias --set rate=0.05 --out out/bias
  mtloop bandit --task office.tsv --skip 5000 --limit 4800 --held-out 100 --blocks 4 --out out/later
  mtloop bandit --task office.tsv --methods baseline,nmt-el --thumbs 0.4 --out out/thumbs
  mtloop bandit --task office.tsv --methods baseline,nmt-el-cv --oracle nmt-oracle --out out/regret
  mtloop bandit --task office.tsv --methods baseline,domain-adaptation --set general=train.tsv --out out/domain
  mtloop bandit --task http://localhost:8017/dev --key-file key.txt --methods baseline,nmt-el --out out/dev
\b
Killed and started again, it goes on where it was.
"""


@click.command(epilog=EPILOG)
@click.option("--task", required=True, metavar="FILE|URL", help="Source and reference in one file, or SERVICE/TASK.")
@click.option("--methods", default=METHODS, show_default=True, help="Methods to compare.")
@click.option("--out", type=PATH, required=True, help="Folder for traces and figures.")
@click.option("--set", "pairs", multiple=True, metavar="[METHOD:]KEY=VALUE", help="A setting of all that have it.")
@click.option("--model", default="", help="Of neural methods: the embedded en-de, a folder, a hub name.")
@click.option("--smt-model", default="", help="Of statistical methods, and the lexical table of wnmt-*: a folder.")
@click.option("--word-model", default="", help="Of wnmt-*: a folder (mtloop train --vocab word).")
@click.option("--jobs", default=2, show_default=True, type=click.IntRange(min=1), help="Methods at the same time.")
@click.option("--delay", default=0, show_default=True, type=NUMBER, help="Sentences until a reward is learned from.")
@click.option("--columns", default="", metavar="source=A,target=B", help="Names of the columns in a FILE.")
@click.option("--shuffle", default=0, type=int, metavar="SEED", help="Shuffle a FILE first.")
@click.option("--skip", default=0, type=NUMBER, help="Leave out the first N sentences of a FILE.")
@click.option("--distinct", is_flag=True, help="Leave out exact repeats of a source in a FILE.")
@click.option("--limit", default=0, type=NUMBER, help="At most N sentences of a FILE.")
@click.option("--held-out", default=0, type=NUMBER, help="Sentences, off its end, of the block that is laid in.")
@click.option("--blocks", default=0, type=NUMBER, help="How often: at the start, at regular intervals, at the end.")
@click.option("--reward", default="wmt17", show_default=True, metavar="METRIC", help="wmt17, sbleu, chrf, ter, bleu.")
@click.option("--noise", multiple=True, metavar="NAME=N", help="granularity, variance or skew of the rater.")
@click.option("--thumbs", type=float, metavar="MARK", help="Thumb up (1) from this reward on, else down (0).")
@click.option(
    "--oracle", metavar="METHOD|TRACE", help="For regret: nmt-oracle, smt-oracle, or the trace of another system."
)
@click.option("--key-file", type=PATH, help="The API key, for a task on a service.")
@click.option("--seed", default=1, show_default=True, type=NUMBER, help="Of the rater's noise.")
@click.option("--threads", default=1, show_default=True, type=click.IntRange(min=1), help="Threads of each method.")
@click.pass_context
def command(
    context: click.Context, /, task: str, methods: str, out: Path, pairs: tuple[str, ...], model: str, smt_model: str,
    word_model: str, jobs: int, oracle: str | None, key_file: Path | None, threads: int, noise: tuple[str, ...],
    **options: int | str | float | None,
) -> None:  # fmt: skip
    """Let methods translate for rewards alone; print Table 3 of the 2017 paper, draw its Figures 1 and 3."""
    from mtloop.experiments.bandit_runs import at_home, on_service
    from mtloop.methods.oracles import ORACLES

    models = {"--model": model, "--smt-model": smt_model, "--word-model": word_model}
    trained = oracle if oracle in ORACLES else ""
    entrants = make_entrants(f"{methods},{trained}", pairs, models, threads)
    known = out / f"{trained}.jsonl" if trained else Path(oracle) if oracle else None
    if "://" in task:
        refuse_idle(context, AT_HOME)
        on_service(task, entrants, out, jobs, key_file, known)
        return
    refuse_idle(context, ("key_file",), "a task at home")
    at_home(make_task(task, noise, options), entrants, out, jobs, known)


def make_task(data: str, noise: Iterable[str], options: dict[str, int | str | float | None]) -> BanditTask:
    from mtloop.experiments.bandit_task import BanditTask

    return BanditTask(data, noise=dict(map(_number, noise)), **options)  # type: ignore[arg-type]


def make_entrants(methods: str, pairs: Iterable[str], models: Mapping[str, str], threads: int) -> list[Entrant]:
    """Each method with the model and the settings that are meant for it; what is meant for none is a mistake."""
    from mtloop.experiments.bandit_task import Entrant
    from mtloop.methods.engines import engine_of

    names = list(dict.fromkeys(name.strip() for name in methods.split(",") if name.strip()))
    if not names:
        raise InputError(f"--methods names no method; say, --methods {METHODS}")
    settings = share_out(names, list(pairs))
    helped = lend_table(settings, models["--smt-model"])
    options = {name: engine_of(name).option for name in names}
    for option, model in models.items():
        if model and option not in options.values() and not (option == "--smt-model" and helped):
            raise InputError(f"no method here takes {option}; leave it out")
    return [Entrant(name, models.get(options[name], ""), settings[name], threads) for name in names]


def lend_table(settings: Mapping[str, dict[str, JSON]], folder: str) -> bool:
    """A method with a lexical table takes that of the statistical model, if it was given none; whether one did."""
    from mtloop.methods.registry import settings_of
    from mtloop.methods.word_level import LEXICON

    lent = [name for name in settings if folder and LEXICON in settings_of(name) and not settings[name].get(LEXICON)]
    for name in lent:
        settings[name][LEXICON] = folder
    return bool(lent)


def share_out(names: Sequence[str], pairs: Sequence[str]) -> dict[str, dict[str, JSON]]:
    """KEY=VALUE for all methods that have the setting, METHOD:KEY=VALUE for one of them."""
    from mtloop.methods.registry import settings_of

    known = {name: settings_of(name) for name in names}
    given: dict[str, dict[str, JSON]] = {name: {} for name in names}
    for pair in pairs:
        (key, value), method = setting(pair), ""
        if ":" in key:
            method, _, key = key.partition(":")
        meant = [name for name in names if key in known[name] and method in ("", name)]
        if not meant:
            raise InputError(f"--set {pair}: no method here has this setting" + (f" and is {method}" if method else ""))
        for name in meant:
            given[name][key] = value
    for name in names:  # a value of the wrong kind is found before an hour of work
        settings_of(name, given[name])
    return given


def refuse_idle(
    context: click.Context, names: Iterable[str], where: str = "a task on a service, which has its own"
) -> None:
    """An option that would be ignored is a mistake."""
    from click.core import ParameterSource

    for name in names:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise InputError(f"--{name.replace('_', '-')} has no meaning for {where}; leave it out")


def _number(pair: str) -> tuple[str, float]:
    name, value = setting(pair)
    try:
        return name, float(value)
    except ValueError:
        raise InputError(f"--noise takes NAME=NUMBER, not {pair!r}") from None
