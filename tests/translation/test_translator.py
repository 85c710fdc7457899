"""A translator: before, teach, after; what it says; saving and loading."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from helpers.own_engines import COUNTING_CLASS, program
from helpers.tiny_smt import write_tiny_smt

import mtloop
from mtloop.core.errors import InputError, MtloopError
from mtloop.core.types import JSON

SOURCE, CORRECTION = "Open the pane.", "Öffnen Sie den Bereich."


@pytest.fixture(scope="module")
def taught() -> mtloop.Translator:
    translator = mtloop.load("en-de")
    assert translator.correct(SOURCE, CORRECTION)
    return translator


def test_before_teach_after() -> None:
    translator = mtloop.load("en-de")
    before = translator.translate(SOURCE)
    assert str(before) == before.text != CORRECTION
    assert before.because == "nothing was corrected yet; this is the translation of the base model"
    assert translator.correct(SOURCE, CORRECTION)
    after = translator.translate(SOURCE)
    assert (after.text, after.because) == (
        CORRECTION,
        "this source was corrected before; this is the newest correction",
    )


def test_the_next_translation_names_the_correction_that_it_is_based_on(taught: mtloop.Translator) -> None:
    translation = taught.translate("Close the pane.")
    assert "Bereich" in translation.text
    [similar] = translation.similar
    assert (similar.source, similar.target) == (SOURCE, CORRECTION)
    assert 0.2 <= similar.similarity < 1
    assert f"the most similar one is {SOURCE!r} -> {CORRECTION!r}" in translation.because


def test_a_source_without_similar_corrections_says_so(taught: mtloop.Translator) -> None:
    translation = taught.translate("Yesterday it rained")
    assert translation.similar == ()
    assert translation.because.endswith("none of them is similar to this source")


def test_a_method_without_a_memory_does_not_speak_of_similar_corrections() -> None:
    translator = mtloop.load("en-de", method="bias")
    assert translator.correct(SOURCE, CORRECTION)
    translation = translator.translate(SOURCE)
    assert (translation.because, translation.similar) == ("the model has learned from 1 correction", ())


@pytest.mark.parametrize(
    ("method", "settings", "reason"),
    [
        ("baseline", {}, "method baseline never learns"),
        ("copy-source", {}, "method copy-source never learns"),
        ("bias", {"max_updates": 0}, "method bias never learns with these settings"),
    ],
)
def test_a_method_that_never_learns_says_so(method: str, settings: dict[str, JSON], reason: str) -> None:
    translator = mtloop.load(method=method, settings=settings)
    for source in (SOURCE, translator.translate(SOURCE)):
        done = translator.correct(source, CORRECTION)
        assert (bool(done), str(done), done.source) == (False, f"not learned: {reason}", SOURCE)
    assert translator.corrections_ == 0
    assert translator.translate(SOURCE).because == reason


@pytest.mark.parametrize("value", [None, 3, ["a"], b"a"])
def test_a_text_of_another_type_is_one_line(value: object) -> None:
    translator = mtloop.load(method="copy-source")
    for call, name in (
        (lambda: translator.translate(value), "source"),  # type: ignore[arg-type]
        (lambda: translator.correct(value, "a"), "source"),  # type: ignore[arg-type]
        (lambda: translator.correct("a", value), "text"),  # type: ignore[arg-type]
    ):
        with pytest.raises(InputError, match=rf"^{name} is {re.escape(repr(value))}; expected text$"):
            call()


@pytest.mark.parametrize("path", [None, 3, ""])
def test_a_path_of_another_type_is_one_line(toy: str, path: object) -> None:
    with pytest.raises(InputError, match=r"^path is .*; expected the name of the file or folder to write$"):
        mtloop.load(method=toy).save(path)  # type: ignore[arg-type]


def test_a_saved_folder_of_an_own_engine_needs_its_method(toy: str, tmp_path: Path) -> None:
    saved = mtloop.load(method=toy, delta="run.state").save("toy.delta")
    with pytest.raises(InputError, match=r"^toy\.delta: does not say which method saved it; name the method too, for"):
        mtloop.load(delta=saved)
    assert mtloop.load(method=toy, delta=saved).translate("a").text != "a !"


def test_what_was_saved_translates_alike(taught: mtloop.Translator, tmp_path: Path) -> None:
    loaded = mtloop.load("en-de", delta=taught.save(tmp_path / "mine.delta"))
    assert loaded.config.method.name == taught.config.method.name
    for source in (SOURCE, "Close the pane.", "Select a color."):
        assert loaded.translate(source).text == taught.translate(source).text
    assert loaded.translate("Close the pane.").because == taught.translate("Close the pane.").because


def test_a_correction_says_what_happened() -> None:
    translator = mtloop.load("en-de", method="bias", settings={"max_updates": 2})
    done = translator.correct(SOURCE, CORRECTION)
    assert str(done).startswith("learned with 2 updates; the perplexity of the correction was ")
    refused = translator.correct(SOURCE, "  ")
    assert (bool(refused), str(refused)) == (False, "not learned: the source or the translation is empty")


def test_a_correction_uses_the_proposal_that_was_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A learner may need what travels with the proposal; a second proposal would also cost a second decoding."""
    monkeypatch.chdir(tmp_path)
    Path("toy.py").write_text(COUNTING_CLASS)
    translator = mtloop.load(method="toy.py:Counting")
    shown = translator.translate(SOURCE)
    monkeypatch.setattr(translator.learner, "propose", lambda segment: pytest.fail("proposed again"))
    learned_from: list[object] = []
    learn = translator.learner.learn
    monkeypatch.setattr(
        translator.learner,
        "learn",
        lambda proposal, feedback: (learned_from.append(proposal), learn(proposal, feedback))[1],
    )
    assert translator.correct(shown, CORRECTION).source == SOURCE
    assert learned_from == [shown.proposal]


def test_a_statistical_model_learns_and_is_saved_as_a_folder(tmp_path: Path) -> None:
    model = write_tiny_smt(tmp_path / "smt")
    translator = mtloop.load(model)
    assert translator.config.method.name == "smt-adapting"
    assert translator.correct("the quux", "der Quux")
    loaded = mtloop.load(model, delta=translator.save(tmp_path / "state"))
    assert loaded.translate("the quux").text == translator.translate("the quux").text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"model": "nowhere"}, "no model 'nowhere'"),
        ({"model": 3}, "^model is 3; expected the name or the folder of a model, or None for the default$"),
        ({"model": ""}, "^model is ''; expected the name or the folder of a model"),
        ({"delta": 3}, "^delta is 3; expected the name of a file or folder that was saved$"),
        ({"method": 3}, r"^method is 3; expected its name, or 'FILE\.py:CLASS' for a class of your own$"),
        ({"method": mtloop.Translator}, r"expected its name, or 'FILE\.py:Translator' for a class of your own$"),
        ({"settings": [1]}, r"^settings is \[1\]; expected names and values, for example {'beam_size': 4}$"),
        ({"settings": {1: 2}}, "^settings is {1: 2}; expected names and values"),
        ({"settings": "a=1"}, "^settings is 'a=1'; expected names and values"),
        ({"method": "fulll"}, "did you mean 'full'"),
        ({"model": "en-de", "method": "copy-source"}, "method copy-source uses no model"),
        ({"method": "nmt-el"}, "method nmt-el learns from rewards"),
        ({"delta": "nowhere.delta"}, "nowhere.delta"),
        (
            {"method": "full", "settings": {"learning_rate": "fast"}},
            "setting learning_rate is 'fast'; expected a number",
        ),
    ],
)
def test_a_mistake_is_one_line(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        mtloop.load(**arguments)  # type: ignore[arg-type]


def test_a_learner_without_state_cannot_be_saved(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="method copy-source cannot be saved"):
        mtloop.load(method="copy-source").save(tmp_path / "x")


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An engine of the user that can be saved, in the current folder, with a run of two segments."""
    monkeypatch.chdir(tmp_path)
    Path("toy.py").write_text(COUNTING_CLASS)
    Path("manual.tsv").write_text("source\ttarget\nOne.\tEins.\nTwo.\tZwei.\n")
    mtloop.run("manual.tsv", "toy.py:Saving", out="run.jsonl", snapshot_every=1)
    return "toy.py:Saving"


def test_the_state_folder_of_a_run_is_loaded_for_an_own_engine(toy: str) -> None:
    newest = Path("run.state/000000002")
    expected = f"{SOURCE} {(newest / 'state.txt').read_text()}!"
    for folder in ("run.state", newest):
        assert mtloop.load(method=toy, delta=folder).translate(SOURCE).text == expected


def test_a_loaded_engine_does_not_claim_that_nothing_was_corrected(toy: str) -> None:
    fresh, loaded = mtloop.load(method=toy), mtloop.load(method=toy, delta="run.state")
    assert fresh.translate(SOURCE).because.startswith("nothing was corrected yet")
    before = "what was learned before was loaded; the number of those corrections is unknown"
    assert loaded.translate(SOURCE).because == before
    loaded.correct(SOURCE, CORRECTION)
    fresh.correct(SOURCE, CORRECTION)
    assert loaded.translate(SOURCE).because == f"{before}; 1 correction learned since"
    assert fresh.translate(SOURCE).because == "the model has learned from 1 correction"


def test_a_folder_that_cannot_be_loaded_is_one_line(toy: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(
        MtloopError, match=r"^engine toy\.py:Saving failed in load \(folder empty\): FileNotFoundError: "
    ):
        mtloop.load(method=toy, delta="empty")


def test_a_translator_closes_its_learner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with mtloop.load(method=f"exec:{program(tmp_path)}") as translator:
        assert translator.translate(SOURCE).text == f"{SOURCE} !"
    with pytest.raises(MtloopError, match="the program was ended earlier"):
        translator.translate(SOURCE)
    translator.close()
    mtloop.load(method="copy-source").close()
