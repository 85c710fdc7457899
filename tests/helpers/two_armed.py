"""A model with two likely translations of one source: a two-armed bandit."""

from __future__ import annotations

from pathlib import Path

from helpers.tiny_marian import write_tiny

from mtloop.nmt.engine.lesson import forward_pass
from mtloop.nmt.engine.marian import Marian
from mtloop.nmt.scopes.dense import Dense, all_names

SOURCE, RIGHT, WRONG = "Save the file.", "Speichern Sie die Datei.", "Öffnen Sie den Bereich."


def make_two_armed(folder: Path, right: frozenset[int], of: int) -> Marian:
    """Train a model on 300 lessons: RIGHT for the lessons with `number % of` in `right`, else WRONG."""
    write_tiny(folder)
    model = Marian.load(folder)
    scope = Dense(model, all_names(model.weights), learning_rate=0.05)
    ids = model.source.encode(SOURCE)
    for number in range(300):
        wanted = model.target.encode(RIGHT if number % of in right else WRONG)
        scope.update(forward_pass(scope.model, ids, wanted, scope.names))
        scope.commit()
    return scope.model
