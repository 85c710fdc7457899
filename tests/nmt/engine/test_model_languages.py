"""The languages of a model folder."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from mtloop.nmt.engine.find_model import find_model
from mtloop.nmt.engine.model_languages import model_languages


def test_the_embedded_model() -> None:
    assert model_languages(find_model("en-de")) == ("en", "de")


@pytest.mark.parametrize(
    ("tokenizer", "config", "languages"),
    [
        ({"source_lang": "en", "target_lang": "it"}, {}, ("en", "it")),
        ({"source_lang": "en", "target_lang": None}, {"target_lang": "it"}, ("en", "it")),
        ({}, {}, ("", "")),
        ([], {"source_lang": "en"}, ("en", "")),
    ],
)
def test_files_of_a_folder(tokenizer: object, config: object, languages: tuple[str, str], tmp_path: Path) -> None:
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(tokenizer))
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert model_languages(tmp_path) == languages


def test_damaged_and_missing_files(tmp_path: Path) -> None:
    (tmp_path / "tokenizer_config.json").write_bytes(b"{\xff")
    assert model_languages(tmp_path) == model_languages(tmp_path / "missing") == ("", "")


def test_torch_is_not_imported() -> None:
    code = "import sys, mtloop.nmt.engine.model_languages, mtloop.nmt.engine.find_model; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
