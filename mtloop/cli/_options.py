"""Command-line options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from mtloop.core.errors import InputError

if TYPE_CHECKING:
    from mtloop.translation.fill_files import EngineChoice

F = TypeVar("F", bound=Callable[..., Any])
PATH = click.Path(path_type=Path)
COUNT = click.IntRange(min=0)
POSITIVE = click.IntRange(min=1)

_STREAM = (
    click.option("--data", type=PATH, help="File with the stream: sources and references (or post-edits)."),
    click.option("--columns", metavar="source=A,target=B", help="Column names in --data."),
    click.option(
        "--model", help="The embedded en-de, a folder, or a Hugging Face name; for smt-* a folder.  [default: en-de]"
    ),
    click.option("--beam-size", type=POSITIVE, help="Number of hypotheses in beam search; 1: greedy.  [default: 1]"),
)
_LANGUAGES = (
    click.option(
        "--source-lang",
        metavar="CODE",
        help="Source language; selects the texts if the data has several languages.  [default: that of the data]",
    ),
    click.option(
        "--target-lang",
        "--lang",
        "target_lang",
        metavar="CODE",
        help="Target language; selects the texts, tokenisation and stop list.  [default: that of the data]",
    ),
)
_PART = (
    click.option("--skip", type=COUNT, help="Number of segments to leave out at the start.  [default: 0]"),
    click.option("--limit", type=POSITIVE, help="Maximum number of segments.  [default: all]"),
)
_PROCESSING = (
    click.option("--shuffle", type=int, metavar="SEED", help="Shuffle the stream with this seed; 0: no shuffling."),
    click.option("--distinct", is_flag=True, default=None, help="Leave out segments with a source seen before."),
    click.option(
        "--schedule",
        metavar="WHEN",
        help="When the method learns: each (after every segment), delay:K (K segments later), blocks:WORDS (after "
        "a block of this many words), blocks:WORDS:unfair (before translating the block).  "
        "[default: each; smt-*: blocks:1000]",
    ),
    click.option("--threads", type=POSITIVE, help="Number of CPU threads.  [default: 1]"),
    click.option("--config", type=PATH, help="TOML file with these settings. Command-line options take precedence."),
)
_FILES = (
    click.argument("traces", nargs=-1, type=PATH),
    click.option(
        "--ref", "refs", multiple=True, type=PATH, help="References, one line per segment. Repeat for more references."
    ),
    click.option(
        "--hyp", "hyps", multiple=True, type=PATH, help="System output, one line per segment. Repeat for more systems."
    ),
    click.option("--src", type=PATH, help="Source text, one line per segment. Slopes count its words per block."),
    click.option(
        "--data",
        type=PATH,
        help="File with sources and references (.tsv .csv .tmx .xlf .xliff .sdlxliff .mqxliff .ts .po .mo, also .gz "
        ".xz .zst), instead of --src and --ref. Without --hyp, its column `mt` is the system output.",
    ),
    click.option("--columns", default="", metavar="source=A,target=B", help="Column names in --data."),
    click.option("--baseline", type=PATH, help="Trace or hypothesis file to compare the other systems with."),
)
_MEASURES = (
    click.option(
        "--target-lang",
        "--lang",
        "language",
        metavar="CODE",
        help="Target language, for tokenisation, the stop list, and the texts of --data.",
    ),
    click.option(
        "--source-lang",
        "source_language",
        metavar="CODE",
        help="Source language, for the texts of --data, and for words in a source without spaces.",
    ),
    click.option(
        "--metrics",
        "names",
        metavar="A,B,...",
        help="Metrics to compute.  [default: bleu,chrf,ter,sbleu; also r0,r1,r01 with --spm, or if the target "
        "language has spaces between words and a stop list (or --stopwords)]",
    ),
    click.option(
        "--tokenize",
        metavar="NAME",
        help="sacreBLEU's tokeniser: 13a, intl, zh, ja-mecab, ko-mecab, char, none.  [default: that of --target-lang]",
    ),
    click.option(
        "--scores",
        multiple=True,
        metavar="NAME[:SYSTEM]=FILE",
        help="Segment scores of a learned metric: a number per line, or what comet-score prints or saves as JSON.",
    ),
    click.option(
        "--scorer",
        "scorers",
        multiple=True,
        metavar="NAME=COMMAND",
        help="Program that scores segments: it reads JSON lines with src, mt and ref, and answers each with a number.",
    ),
    click.option(
        "--scorer-timeout",
        default=600,
        show_default=True,
        type=click.FloatRange(min=0),
        metavar="SECONDS",
        help="Longest time without an answer of the scorer; 0: no limit.",
    ),
    click.option(
        "--lower-is-better",
        multiple=True,
        metavar="NAME",
        help="Learned metric whose best score is the lowest, such as MetricX.",
    ),
    click.option("--stopwords", type=PATH, help="Stop list to use instead of the built-in one, one word per line."),
    click.option("--truecase", type=PATH, help="Text to train the truecaser on. Without it, case is kept."),
    click.option(
        "--seen",
        type=PATH,
        help="Training text, or seen-words.npy of a model. Recall then counts only words that are not in it.",
    ),
    click.option("--spm", type=PATH, help="SentencePiece model. Recall then counts subwords, without a stop list."),
    click.option("--vocabulary", type=PATH, help="Training text for the out-of-vocabulary rate (metric oov)."),
    click.option("--oracle", type=PATH, help="Trace of an oracle system, for metric regret."),
    click.option(
        "--glossary",
        type=PATH,
        help="Terms and their translations (.tsv .csv .tbx): adds metric terms, which needs mtloop[terms].",
    ),
    click.option("--block-words", default=1000, show_default=True, type=POSITIVE, help="Words per block, for slopes."),
    click.option(
        "--resamples",
        default=1000,
        show_default=True,
        type=click.IntRange(min=10),
        help="Number of resamples for intervals and significance tests.",
    ),
    click.option("--seed", default=1, show_default=True, type=COUNT, help="Random seed of the resampling."),
)
_WHICH = "if a file has several, or names none.  [default: that of the file, then that of the model]"
_LESSONS = (
    click.option(
        "--learn",
        default=2000,
        show_default=True,
        type=COUNT,
        help="Maximum number of translated units to learn first, the most similar to those to translate.",
    ),
    click.option(
        "--learn-from",
        multiple=True,
        type=PATH,
        metavar="FILE",
        help="Another translated file to learn from first, such as a translation memory (TMX). Repeat for more files.",
    ),
    click.option("--no-learn", is_flag=True, help="Learn nothing first."),
    click.option(
        "--template",
        type=PATH,
        help="Source texts, for JSON, Android, .properties and text files: a file; for a folder, also a folder.",
    ),
    click.option("--columns", default="", metavar="source=A,target=B", help="Column names of a table."),
)
_FILE_LANGUAGES = (
    click.option("--source-lang", metavar="CODE", help=f"Source language, {_WHICH}"),
    click.option("--target-lang", "--lang", "target_lang", metavar="CODE", help=f"Target language, {_WHICH}"),
)
_ENGINE = (
    click.option(
        "--model",
        help="The embedded en-de, a folder (neural or statistical), or a Hugging Face name.  [default: en-de]",
    ),
    click.option("--method", help="Learning method; see mtloop methods.  [default: lora+memory+copy; that of --delta]"),
    click.option("--set", "pairs", multiple=True, metavar="KEY=VALUE", help="Setting of the method. Repeat for more."),
    click.option(
        "--delta", type=PATH, help="Delta learned on this model: a file, or RUN.state for its newest snapshot."
    ),
    click.option("--glossary", type=PATH, help="Terms and their translations, which are used: TSV, CSV or TBX."),
    click.option("--threads", default=2, show_default=True, type=POSITIVE, help="Number of CPU threads."),
)
_DATABASE = (
    click.option("--folder", type=PATH, help="Folder with the SQLite file.  [default: mtloop-data]"),
    click.option(
        "--database",
        metavar="URL",
        help="postgresql://user@host/name or sqlite:///file. Takes precedence over --folder.",
    ),
)


def experiment_options(command: F) -> F:
    """Add the options of a run over a stream; `Experiment.create` takes them."""
    return _add(command, _STREAM + _LANGUAGES + _PART + _PROCESSING)


def stream_options(command: F) -> F:
    """Add the same options without --skip and --limit, for a command that selects rows itself."""
    return _add(command, _STREAM + _LANGUAGES + _PROCESSING)


def file_options(command: F) -> F:
    """Add the options of a command that translates files: what is learned first, the languages and the engine."""
    return _add(command, _LESSONS + _FILE_LANGUAGES + _ENGINE)


def check_learning(
    context: click.Context, *, no_learn: bool, learn: int, learn_from: tuple[Path, ...], **_: Any
) -> None:
    """Raise InputError if the options of `file_options` contradict each other about what is learned first."""
    if no_learn and is_given(context, "learn"):
        raise InputError("give --learn or --no-learn, not both")
    if learn_from and (no_learn or not learn):
        raise InputError(f"give --learn-from or {'--no-learn' if no_learn else '--learn 0'}, not both")


def engine_choice(
    *,
    learns: bool,
    model: str | None,
    method: str | None,
    delta: Path | None,
    pairs: tuple[str, ...],
    threads: int,
    glossary: Path | None,
    beam_size: int | None = None,
    **_: Any,
) -> EngineChoice:
    """Return the engine that the options of `file_options` choose. `learns`: whether it is taught something."""
    from mtloop.smt.card import CARD_FILE
    from mtloop.translation.fill_files import EngineChoice

    statistical = model is not None and (Path(model) / CARD_FILE).is_file()
    if statistical and (delta or beam_size):
        raise InputError("--delta and --beam-size apply to Marian models, not to statistical models", path=model)
    if method is None and not learns and not delta:
        method = "smt-baseline" if statistical else "baseline"
    settings: dict[str, Any] = {**parse_settings(pairs), **({"beam_size": beam_size} if beam_size else {})}
    return EngineChoice(model or "", method or "", settings, str(delta or ""), threads, str(glossary or ""))


def language_options(command: F) -> F:
    """Add --source-lang and --target-lang (also --lang), for a command that reads files."""
    return _add(command, _LANGUAGES)


def input_options(command: F) -> F:
    """Add the options that select systems and metrics; `make_evaluation` takes them."""
    return _add(command, _FILES + _MEASURES)


def database_options(command: F) -> F:
    """Add the options that select the service's database."""
    return _add(command, _DATABASE)


def model_option(command: F) -> F:
    """Add --model, for a command that needs a neural model."""
    text = "The embedded en-de, a folder, or a Hugging Face name."
    return click.option("--model", default="en-de", show_default=True, help=text)(command)


def settings_option(command: F) -> F:
    """Add --set for a command that runs several methods; `parse_setting` splits its values."""
    text = "Setting of all methods that have it, or of one METHOD. Repeat for more settings."
    return click.option("--set", "pairs", multiple=True, metavar="[METHOD:]KEY=VALUE", help=text)(command)


def preset_option(command: F) -> F:
    """Add --preset for a command that runs methods."""
    text = "Settings of the paper of this year, for the methods that it describes; --set takes precedence."
    return click.option("--preset", metavar="YEAR", help=f"{text} One of 2012, 2017, 2019.")(command)


def format_option(*formats: str) -> Callable[[F], F]:
    """Return a decorator that adds --format (parameter `output_format`); the first format is the default."""
    choice = click.Choice(formats)
    return click.option(
        "--format", "output_format", type=choice, default=formats[0], show_default=True, help="Output format."
    )


def is_given(context: click.Context, name: str) -> bool:
    """Whether the user gave this parameter on the command line."""
    return context.get_parameter_source(name) is ParameterSource.COMMANDLINE


def typed_command(context: click.Context) -> str | None:
    """Return the command as the user typed it, without the folders of files; None if it was not typed."""
    from mtloop.report.provenance import command_text

    return None if context.obj is None else command_text(("mtloop", *context.obj))


def parse_settings(pairs: Iterable[str]) -> dict[str, str]:
    """Return the settings by name, from the values KEY=VALUE of --set."""
    return dict(map(parse_setting, pairs))


def parse_setting(pair: str) -> tuple[str, str]:
    """Split KEY=VALUE."""
    name, equals, value = pair.partition("=")
    if not equals:
        raise InputError(f"--set expects KEY=VALUE, not {pair!r}")
    return name.strip(), value.strip()


def parse_noise(pairs: Iterable[str]) -> dict[str, float]:
    """Return the noise of the rater by name, from the values NAME=NUMBER of --noise."""
    return dict(map(_parse_noise, pairs))


def _parse_noise(pair: str) -> tuple[str, float]:
    name, _, value = pair.partition("=")
    try:
        return name.strip(), float(value)
    except ValueError:
        raise InputError(f"--noise expects NAME=NUMBER, not {pair!r}") from None


def _add(command: F, options: tuple[Callable[[F], F], ...]) -> F:
    for option in reversed(options):
        command = option(command)
    return command
