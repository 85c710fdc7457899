"""The model that comes with the package: it loads, translates, and learns a term from one correction."""

from __future__ import annotations

import pytest
import torch

from mtloop.core import PostEdit, Proposal, Segment
from mtloop.core.protocols import SupportsForget
from mtloop.methods.defaults import DEFAULT_METHOD
from mtloop.methods.neural import NEURAL_METHODS
from mtloop.methods.registry import find_method, make_learner
from mtloop.nmt.engine.find_model import find_model
from mtloop.nmt.engine.marian import Marian


@pytest.fixture(scope="module")
def model() -> Marian:
    torch.set_num_threads(1)
    return Marian.load(find_model("en-de"))


def test_the_model_has_the_shape_of_the_paper(model: Marian) -> None:
    shape = model.shape
    assert (shape.encoder_layers, shape.decoder_layers, shape.width, shape.heads) == (6, 3, 256, 8)
    assert model.weights.canonical_name("lm_head.weight") != model.weights.canonical_name(
        "model.decoder.embed_tokens.weight"
    )


def test_the_model_translates(model: Marian) -> None:
    text = make_learner("baseline", model).propose(Segment("1", "Click Save to save the file.")).text
    assert "Datei" in text
    assert "speichern" in text.lower()


def test_one_correction_is_enough_for_the_next_segment(model: Marian) -> None:
    """The base translates pane as `Leiste`; after one correction to `Bereich`, `full` uses that."""
    learner = make_learner("full", model)
    later = [Segment("2", "The pane shows all records."), Segment("3", "Click the pane.")]
    assert not any("Bereich" in learner.propose(segment).text for segment in later)
    learner.learn(Proposal(Segment("1", "Open the pane."), ""), PostEdit("Öffnen Sie den Bereich."))
    assert all("Bereich" in learner.propose(segment).text for segment in later)


def test_a_memory_learns_a_correction_and_can_forget_it(model: Marian) -> None:
    """After `forget` the translations are the same as before."""
    learner = make_learner("memory", model)
    later = [Segment("2", "The pane shows all records."), Segment("3", "The pane is empty.")]
    before = [learner.propose(segment).text for segment in later]
    assert not any("Bereich" in text for text in before)
    learner.learn(Proposal(Segment("1", "The pane is open."), ""), PostEdit("Der Bereich ist geöffnet."))
    assert all("Bereich" in learner.propose(segment).text for segment in later)
    assert isinstance(learner, SupportsForget)
    assert learner.forget(0)
    assert [learner.propose(segment).text for segment in later] == before


def test_the_default_method_learns_a_term_at_once(model: Marian) -> None:
    learner = make_learner(DEFAULT_METHOD, model)
    later = Segment("2", "The pane shows all records.")
    assert "Bereich" not in learner.propose(later).text
    learner.learn(Proposal(Segment("1", "Open the pane."), ""), PostEdit("Öffnen Sie den Bereich."))
    assert "Bereich" in learner.propose(later).text


@pytest.mark.parametrize("method", [name for name in NEURAL_METHODS if find_method(name).engine.loads_model])
def test_every_method_runs_on_the_embedded_model(model: Marian, method: str) -> None:
    learner = make_learner(method, model)
    learned = learner.learn(Proposal(Segment("1", "Open the pane."), ""), PostEdit("Öffnen Sie den Bereich."))
    assert learned.rejected is None
    assert (learned.updates > 0) == (method not in ("baseline", "memory"))
    assert learner.propose(Segment("1", "Open the pane.")).text


def test_the_seen_words_of_the_model_show_novel_words() -> None:
    from pathlib import Path

    from mtloop.metrics.registry import MetricOptions

    seen = MetricOptions(language="de", seen=Path(find_model("en-de")) / "seen-words.npy").seen_words
    assert seen is not None
    assert "Datei" in seen
    assert "Ordavelhandbuch" not in seen
    assert len(seen) > 500_000
