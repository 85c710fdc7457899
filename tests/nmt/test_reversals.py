"""With the model of the package, a lesson is known at once, and its opposite is not turned round."""

from __future__ import annotations

import pytest
import torch

from mtloop.experiments.opposite_pairs import OppositePair
from mtloop.experiments.opposites import ask
from mtloop.methods.defaults import DEFAULT_METHOD
from mtloop.methods.registry import make_learner
from mtloop.nmt.engine.find_model import find_model
from mtloop.nmt.engine.marian import Marian

LOG_IN = OppositePair("Log in", "Anmelden", "Log out", "Abmelden")
ENABLE = OppositePair(
    "Enable the option.", "Aktivieren Sie die Option.", "Disable the option.", "Deaktivieren Sie die Option."
)
ENCRYPT = OppositePair(
    "Encrypt the message.",
    "Verschlüsseln Sie die Nachricht.",
    "Decrypt the message.",
    "Entschlüsseln Sie die Nachricht.",
)
ZOOM_IN = OppositePair("Zoom in", "Vergrößern", "Zoom out", "Verkleinern")


@pytest.fixture(scope="module")
def model() -> Marian:
    torch.set_num_threads(1)
    return Marian.load(find_model("en-de"))


@pytest.mark.parametrize("pair", [LOG_IN, ENABLE, ENCRYPT, ZOOM_IN], ids=lambda pair: pair.lesson_source)
def test_a_lesson_is_known_at_once_and_its_opposite_is_not_turned_round(model: Marian, pair: OppositePair) -> None:
    answer = ask(make_learner(DEFAULT_METHOD, model), pair)
    assert answer.known_at_once
    assert not answer.flipped, answer.text()


@pytest.mark.parametrize("pair", [LOG_IN, ENABLE], ids=lambda pair: pair.lesson_source)
def test_without_the_check_of_changed_words_the_opposite_is_turned_round(model: Marian, pair: OppositePair) -> None:
    answer = ask(make_learner(DEFAULT_METHOD, model, {"check_changed_words": False}), pair)
    assert answer.known_at_once
    assert (answer.after, answer.flipped) == (pair.lesson_target, True)
