"""`mtloop train`."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("transformers")

from click.testing import CliRunner, Result
from helpers.toy_training import one_thread, toy_pairs
from transformers import MarianMTModel

from mtloop.cli.train import command
from mtloop.core.errors import InputError
from mtloop.nmt.engine.model_languages import model_languages

SMALL = (
    "--vocab-size 305 --width 32 --heads 4 --ffn 64 --encoder-layers 1 --decoder-layers 1"
    " --steps 3 --checkpoint-every 2"
)


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    with one_thread():
        yield


@pytest.fixture
def train(tmp_path: Path) -> Callable[..., Result]:
    def run(*arguments: str | Path) -> Result:
        small = [*SMALL.split(), "--workers", "1", "--out", str(tmp_path / "model")]
        return CliRunner().invoke(command, [*map(str, arguments), *small])

    return run


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "toys.tsv.gz"
    path.write_bytes(gzip.compress("".join(f"{s}\t{t}\n" for s, t in toy_pairs(200)).encode()))
    return path


def test_train_from_a_compressed_table(train: Callable[..., Result], table: Path, tmp_path: Path) -> None:
    (tmp_path / "dev.tsv").write_text("source\ttarget\tid\nred cat .\tKatze rot .\t1\n")
    result = train("--data", table, "--valid", tmp_path / "dev.tsv", "--test", f"toys={tmp_path / 'dev.tsv'}")
    assert result.exception is None
    assert [line.split("\t")[0] for line in result.stdout.splitlines()] == ["validation", "toys"]
    assert "tokens/s" in result.stderr
    assert MarianMTModel.from_pretrained(tmp_path / "model").config.d_model == 32


def test_train_from_two_text_files_with_given_vocabularies(
    train: Callable[..., Result], table: Path, tmp_path: Path
) -> None:
    train("--data", table)
    for side, name in enumerate(("a.en", "a.de")):
        (tmp_path / name).write_text("".join(f"{pair[side]}\n" for pair in toy_pairs(50)))
    spm = [tmp_path / "model" / name for name in ("source.spm", "target.spm")]
    texts = ("--src", tmp_path / "a.en", "--tgt", tmp_path / "a.de")
    result = train(*texts, "--spm", *spm, "--work-dir", tmp_path / "other")
    assert "vocabularies are given" in result.stderr
    assert result.exception is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "no training data"),
        (["--data", "absent.tsv"], "absent.tsv: no such file"),
        (["--data", "empty.tsv"], "empty.tsv: the file is empty"),
        (["--data", "broken.tsv"], "broken.tsv:2: 1 column; expected two, source and target"),
        (["--data", "broken.tsv.gz"], "damaged"),
        (["--src", "two.txt", "--tgt", "three.txt"], "three.txt has 3 lines, .*two.txt has 2"),
        (["--src", "two.txt"], "1 --src but 0 --tgt"),
        (["--data", "good.tsv", "--test", "good.tsv"], "--test expects NAME=FILE"),
        (["--data", "good.tsv", "--spm", "absent.spm", "good.tsv"], "absent.spm: no such SentencePiece model"),
        (["--data", "good.tsv", "--spm", "good.tsv", "good.tsv"], "not a SentencePiece model"),
        (["--data", "good.tsv", "--device", "tpu"], "no device 'tpu' here"),
        (["--data", "good.tsv", "--minutes", "1"], "either --steps or --minutes"),
    ],
)
def test_input_errors_are_one_line(
    train: Callable[..., Result],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty.tsv").write_text("")
    Path("broken.tsv").write_text("one\teins\ntwo\n")
    Path("broken.tsv.gz").write_bytes(b"no gzip")
    Path("two.txt").write_text("a\nb\n")
    Path("three.txt").write_text("a\nb\nc\n")
    Path("good.tsv").write_text("".join(f"{s}\t{t}\n" for s, t in toy_pairs(100)))
    error = train(*arguments).exception
    assert isinstance(error, InputError)
    assert re.search(message, str(error))
    assert "\n" not in str(error)


def memory(path: Path, source: str, target: str) -> Path:
    """Write toy pairs as TMX, and a unit without translation."""
    units = "".join(
        f'<tu><tuv xml:lang="{source}"><seg>{s}</seg></tuv><tuv xml:lang="{target}"><seg>{t}</seg></tuv></tu>'
        for s, t in [*toy_pairs(100), ("cat", "")]
    )
    path.write_text(f'<tmx version="1.4"><header srclang="{source}"/><body>{units}</body></tmx>')
    return path


def test_the_model_has_the_languages_of_the_data(
    train: Callable[..., Result], tmp_path: Path, log_messages: list[str]
) -> None:
    data = memory(tmp_path / "a.tmx", "en-US", "it-IT")
    assert train("--data", data).exception is None
    assert model_languages(tmp_path / "model") == ("en", "it")
    assert log_messages == [f"{data}: 100 pairs, 1 skipped (1 untranslated)"]


def test_data_without_languages_is_labelled_en_de_with_a_warning(
    train: Callable[..., Result], table: Path, tmp_path: Path, log_messages: list[str]
) -> None:
    assert train("--data", table).exception is None
    assert model_languages(tmp_path / "model") == ("en", "de")
    assert [message.split("; see")[0] for message in log_messages] == [
        "the data does not name its languages; the model is labelled en -> de"
    ]


def test_validation_data_in_another_language(train: Callable[..., Result], tmp_path: Path) -> None:
    data, valid = memory(tmp_path / "a.tmx", "en", "it"), memory(tmp_path / "b.tmx", "en", "de")
    error = train("--data", data, "--valid", valid).exception
    assert isinstance(error, InputError)
    assert str(error).startswith(f"{valid}: the texts are en -> de, but the other files are en -> it")
