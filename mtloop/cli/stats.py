"""`mtloop stats`: the statistics of texts."""

from __future__ import annotations

import json
from pathlib import Path

import click

from mtloop.cli._options import PATH, format_option

EPILOG = """
\b
Examples:
  mtloop stats corpus.tsv
  mtloop stats train.tmx dev.tmx test.tmx --source-lang en --target-lang de --overlap
  mtloop stats test.tsv --against train.tsv               (unknown words; segments that occur in the training data)
  mtloop stats test.de --against train.de --lowercase     (plain text: one file for each language)
  mtloop stats corpus.csv --columns source=English,target=German --format json
  mtloop stats run.jsonl --lang de                        (a trace: the source, the references and the output)
\b
Files are pairs (.tsv .csv .tmx .xlf .xliff .sdlxliff .mqxliff .ts .po .mo), plain text (.txt, a language such as
.de, or no suffix) or traces (.jsonl). All but traces may be compressed (.gz .xz .zst). Each text of a file has a row;
so have the pairs of source and target.
\b
  segments    units of the file; empty lines of plain text are skipped
  sentences   found by their full stops; a segment may have several
  words       tokens: a full stop is a word of its own. Found by Moses, or by sacreBLEU for text without spaces
  types       different words
  duplicates  segments that occurred before in the file
  RR          repetition rate, as metric rr, of the words
  OOV         % of the words that do not occur in the files of --against
  overlap     % of the segments that occur in the files of --against
"""


@click.command(epilog=EPILOG)
@click.argument("files", nargs=-1, required=True, type=PATH)
@click.option(
    "--against",
    multiple=True,
    type=PATH,
    metavar="FILE",
    help="File to compare with, such as the training data. Repeat for more files, which count as one.",
)
@click.option("--overlap", is_flag=True, help="Also compare every file with every other one, segment by segment.")
@click.option("--columns", default="", metavar="source=A,target=B", help="Column names in tables.")
@click.option(
    "--source-lang",
    metavar="CODE",
    help="Source language; selects the texts and the tokeniser.  [default: that of the file]",
)
@click.option(
    "--target-lang",
    "--lang",
    "target_lang",
    metavar="CODE",
    help="Target language; selects the texts and the tokeniser.  [default: that of the file]",
)
@click.option(
    "--tokenize",
    metavar="NAME",
    help="moses, or sacreBLEU's 13a, intl, zh, ja-mecab, ko-mecab, char, none.  "
    "[default: moses; that of the language if it has no spaces between words]",
)
@click.option("--lowercase", is_flag=True, help="Count and compare words and segments in lower case.")
@format_option("table", "json")
def command(
    files: tuple[Path, ...], against: tuple[Path, ...], overlap: bool, columns: str, source_lang: str | None,
    target_lang: str | None, tokenize: str | None, lowercase: bool, output_format: str,
) -> None:  # fmt: skip
    """Count the segments, sentences and words of files, what repeats in them, and what other files do not have."""
    from mtloop.experiments.stats import stats

    result = stats(
        files,
        against=against,
        overlap=overlap,
        columns=columns,
        source_lang=source_lang,
        target_lang=target_lang,
        tokenize=tokenize,
        lowercase=lowercase,
    )
    if output_format == "json":
        click.echo(json.dumps(result.to_json(), indent=2, ensure_ascii=False, allow_nan=False))
    else:
        click.echo(result.text())
