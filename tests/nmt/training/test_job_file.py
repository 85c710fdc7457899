"""`python -m mtloop.nmt.training`: run a job that a file describes."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("transformers")

from helpers.toy_training import toy_pairs
from transformers import MarianMTModel

from mtloop.core.errors import MtloopError
from mtloop.nmt.training.__main__ import main

SMALL = (
    "--vocab-size 305 --width 32 --heads 4 --ffn 64 --encoder-layers 1 --decoder-layers 1"
    " --steps 3 --checkpoint-every 2"
)


def test_run_a_job_file(tmp_path: Path) -> None:
    (tmp_path / "toys.tsv").write_text("".join(f"{s}\t{t}\n" for s, t in toy_pairs(200)), encoding="utf-8")
    parts = [part.split() for part in SMALL.replace("--", "\n").replace("-", "_").strip().split("\n")]
    recipe = "\n".join(f"{name} = {value}" for name, value in parts)
    job = f'data = ["{tmp_path}/toys.tsv"]\nout = "{tmp_path}/model"\nshard_mb = 1\n[recipe]\n{recipe}\n'
    (tmp_path / "job.toml").write_text(job)
    main([str(tmp_path / "job.toml")])
    assert MarianMTModel.from_pretrained(tmp_path / "model").config.decoder_layers == 1


@pytest.mark.parametrize(
    ("job", "message"),
    [
        ("data = 3 4", r"job\.toml: not a TOML file"),
        ('data = ["a"]', r"job\.toml: the setting 'out' is missing"),
        ('dta = ["a"]', r"job\.toml: there is no setting 'dta'; did you mean 'data'"),
        ('data = "a"\nout = "x"', r"job\.toml: data is 'a'; expected a list"),
        ('data = ["a"]\nout = "x"\nvocabularies = ["a.spm"]', r"vocabularies is \['a.spm'\]; expected more values"),
        ('data = ["a"]\nout = "x"\n[recipe]\nsteps = "many"', r"job\.toml: steps is 'many'; expected a whole number"),
        (
            'data = ["a"]\nout = "x"\n[recipe]\nwide = 3',
            r"job\.toml: the recipe has no setting 'wide'; did you mean 'width'",
        ),
        ('data = ["a"]\nout = "x"\n[recipe]\nwidth = 3', r"job\.toml: set the training budget"),
        ('data = ["absent.tsv"]\nout = "x"\n[recipe]\nsteps = 1', "absent.tsv: cannot be read"),
    ],
)
def test_errors_in_a_job_file(tmp_path: Path, job: str, message: str) -> None:
    (tmp_path / "job.toml").write_text(job)
    with pytest.raises(MtloopError, match=message):
        main([str(tmp_path / "job.toml")])
