"""Finding a model by name, and what the user is told if it is not there."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from mtloop.core.errors import InputError, MissingExtra
from mtloop.nmt.engine import find_model as module
from mtloop.nmt.engine.find_model import find_model


@pytest.fixture
def without_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mtloop_en_de", None)


@pytest.mark.usefixtures("without_package")
def test_in_a_clone_the_hint_is_a_command_that_works_in_every_folder() -> None:
    with pytest.raises(InputError, match=r"^model 'en-de' is not installed; run: pip install '") as caught:
        find_model("en-de")
    (folder,) = re.findall(r"pip install '(.*)'$", str(caught.value))
    assert Path(folder).is_absolute()
    assert 'name = "mtloop-en-de"' in (Path(folder) / "pyproject.toml").read_text()


@pytest.mark.usefixtures("without_package")
def test_the_user_of_a_wheel_is_not_sent_to_a_folder_of_the_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "__file__", str(tmp_path / "mtloop" / "nmt" / "engine" / "find_model.py"))
    with pytest.raises(InputError) as caught:
        find_model("en-de")
    assert "models/" not in str(caught.value)
    assert "Helsinki-NLP/opus-mt-en-de" in str(caught.value)


def test_a_folder_is_a_model_and_an_unknown_name_lists_what_can_be_given(tmp_path: Path) -> None:
    assert find_model(str(tmp_path)) == tmp_path
    with pytest.raises(InputError, match="no model 'de-xx': give a folder, a hub name such as Helsinki-NLP/"):
        find_model("de-xx")


def test_a_hub_name_needs_the_hub_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(MissingExtra, match=r"^huggingface_hub is not installed; run: pip install 'mtloop\[nmt\]'$"):
        find_model("Helsinki-NLP/opus-mt-en-de")
