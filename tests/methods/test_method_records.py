"""The records of all methods: complete, and true of the learners that they make."""

from __future__ import annotations

from typing import Any

import pytest
from helpers.tiny_marian import write_tiny
from helpers.tiny_smt import write_tiny_smt
from helpers.tiny_words import write_tiny_words

from mtloop.core.errors import InputError
from mtloop.core.protocols import DeclaresFeedback, Learner
from mtloop.methods.listing import method_table, settings_text
from mtloop.methods.method import Method
from mtloop.methods.registry import METHODS, find_method
from mtloop.methods.setting import Setting, settings_of_maker


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A small model of each engine, by the name of the engine."""
    folder = tmp_path_factory.mktemp("models")
    (folder / "tiny").mkdir()
    write_tiny(folder / "tiny")
    (folder / "tiny" / "fixed.json").write_text('{"tensors": ["model.encoder.layers.0.fc1.weight"]}')
    (folder / "pairs.tsv").write_text("source\ttarget\none\teins\n")
    statistical, words = write_tiny_smt(folder / "smt"), write_tiny_words(folder / "words", steps=1)
    names = {"neural": folder / "tiny", "statistical": statistical, "neural, word-level": words}
    loaded = {name: _engine(name).load(str(path)) for name, path in names.items()}
    return loaded | {"none": None, "folder": folder}


def _engine(name: str) -> Any:
    return next(method.engine for method in METHODS.values() if method.engine.name == name)


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_a_record_is_complete(method: Method) -> None:
    assert method.summary.endswith(".")
    assert method.learns_from is not None
    for setting in method.settings.values():
        assert setting.help.endswith("."), f"setting {setting.name} of {method.name} has no help"
        assert setting.default in setting.choices or not setting.choices
        assert setting.convert(setting.default) == setting.default
        assert setting.convert(str(setting.default)) == setting.default, "the text of a default is the default"
    assert method.settings_with() == method.defaults


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_a_record_is_true_of_its_learner(method: Method, models: dict[str, Any]) -> None:
    settings = {"general_data": str(models["folder"] / "pairs.tsv")} if "general_data" in method.settings else {}
    learner = method.make(models[method.engine.name], settings)
    assert isinstance(learner, Learner)
    assert isinstance(learner, DeclaresFeedback)
    assert learner.learns_from == method.learns_from


def test_the_table_lists_every_method() -> None:
    text = str(method_table())
    assert all(name in text for name in METHODS)
    assert "setting" in settings_text(find_method("full"))
    assert settings_text(find_method("copy-source")).endswith("It has no settings.")


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        (Setting("rank", 4), "many", "setting rank is 'many'; expected a whole number"),
        (Setting("rate", 0.1), True, "setting rate is True; expected a number"),
        (Setting("optimiser", "sgd", choices=("sgd", "adam")), "adma", "did you mean 'adam'"),
    ],
)
def test_a_wrong_value_names_setting_type_and_value(setting: Setting, value: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        setting.convert(value)


def test_a_maker_without_annotations_still_has_settings() -> None:
    def maker(model, *, rate=0.5, name="x", missing: NoSuchType = 3) -> None:  # type: ignore[no-untyped-def,name-defined] # noqa: F821
        """Do nothing."""

    assert [(one.name, one.default, one.help) for one in settings_of_maker(maker).values()] == [
        ("rate", 0.5, ""),
        ("name", "x", ""),
        ("missing", 3, ""),
    ]
