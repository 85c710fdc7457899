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
        ("data = 3 4", "cannot read a job from this file"),
        ('data = ["a"]', "the job has no key 'out'"),
        ('dta = ["a"]', "a job has no key 'dta'; did you mean 'data'"),
        ('data = ["absent.tsv"]\nout = "x"\n[recipe]\nsteps = 1', "absent.tsv: cannot be read"),
    ],
)
def test_errors_in_a_job_file(tmp_path: Path, job: str, message: str) -> None:
    (tmp_path / "job.toml").write_text(job)
    with pytest.raises(MtloopError, match=message):
        main([str(tmp_path / "job.toml")])
