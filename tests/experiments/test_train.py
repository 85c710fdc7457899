"""`train` from Python: what it takes, what its result gives."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("transformers")

from helpers.toy_training import one_thread, toy_pairs

from mtloop.core.errors import InputError
from mtloop.experiments.train import TrainingFiles, train
from mtloop.nmt.engine.model_languages import model_languages

SMALL = {"vocab_size": 305, "width": 32, "heads": 4, "ffn": 64, "encoder_layers": 1, "decoder_layers": 1, "steps": 2}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "toys.tsv"
    path.write_text("".join(f"{source}\t{target}\n" for source, target in toy_pairs(100)))
    return path


def test_a_neural_model(data: Path, tmp_path: Path) -> None:
    lines: list[str] = []
    out = tmp_path / "model"
    with one_thread():
        result = train(
            data, out=out, source_lang="en", target_lang="nl", tests={"toys": data}, log=lines.append, **SMALL
        )
    assert (result.folder, list(result.scores)) == (out, ["toys"])
    assert model_languages(out) == ("en", "nl")
    assert result.to_pandas().to_dict("list") == {"set": ["toys"], "bleu": [result.scores["toys"]]}
    assert lines[0].startswith("100 pairs")


def test_a_statistical_model(data: Path, tmp_path: Path) -> None:
    pytest.importorskip("thot")
    lines: list[str] = []
    result = train([data], out=tmp_path / "smt", engine="smt", valid=str(data), ngram_order=2, log=lines.append)
    assert list(result.scores) == ["valid (untuned)", "valid"]
    assert str(result).splitlines()[0].split() == ["set", "BLEU"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"engine": "rnn"}, "there is no engine 'rnn'"),
        ({"engine": "smt", "steps": 3}, "engine smt has no option 'steps'"),
        ({"stepps": 3}, "engine nmt has no option 'stepps'; did you mean 'steps'?"),
        ({"steps": 3, "width": "wide"}, "width is 'wide'; expected a whole number"),
        ({}, "either --steps or --minutes"),
    ],
)
def test_wrong_options(data: Path, tmp_path: Path, options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError) as error:
        train(data, out=tmp_path / "model", source_lang="en", target_lang="de", **options)  # type: ignore[arg-type]
    assert message in str(error.value)
    assert not (tmp_path / "model").exists()


def test_files_of_one_training(data: Path, tmp_path: Path) -> None:
    for side, name in enumerate(("a.en", "a.de")):
        (tmp_path / name).write_text("".join(f"{pair[side]}\n" for pair in toy_pairs(3, seed=1)))
    files = TrainingFiles([data], [tmp_path / "a.en"], [tmp_path / "a.de"])
    assert list(files.pairs()) == toy_pairs(100) + toy_pairs(3, seed=1)
    assert (files.validation_pairs(), files.test_sets(), files.languages()) == ([], {}, ("", ""))
    with pytest.raises(InputError, match="no training data"):
        TrainingFiles()
