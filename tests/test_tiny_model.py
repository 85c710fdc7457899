"""The committed vocabularies of the tiny models are those that their script makes."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.tiny_model import make_spm


def test_the_committed_models_are_up_to_date() -> None:
    with pytest.raises(SystemExit) as stop:
        make_spm.main(["--check"])
    assert stop.value.code == 0


def test_a_model_of_another_text_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for side in make_spm.SIDES:
        (tmp_path / f"{side}.spm.xz").write_bytes((make_spm.FOLDER / "source.spm.xz").read_bytes())
    monkeypatch.setattr(make_spm, "FOLDER", tmp_path)
    with pytest.raises(SystemExit, match=r"out of date, run make_spm\.py: target$"):
        make_spm.main(["--check"])


def test_the_committed_models_are_small() -> None:
    assert sum(path.stat().st_size for path in make_spm.FOLDER.glob("*.xz")) < 400_000
