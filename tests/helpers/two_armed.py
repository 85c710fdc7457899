"""A model that says one of two things about one source."""

from __future__ import annotations

from pathlib import Path

from helpers.tiny_marian import write_tiny

from mtloop.nmt.engine.lesson import study
from mtloop.nmt.engine.marian import Marian
from mtloop.nmt.scopes.dense import Dense, all_names

SOURCE, RIGHT, WRONG = "Save the file.", "Speichern Sie die Datei.", "Öffnen Sie den Bereich."


def make_two_armed(folder: Path, right: frozenset[int], of: int) -> Marian:
    """Taught 300 times over: of each `of` lessons, those whose numbers are in `right` say the right thing."""
    write_tiny(folder)
    model = Marian.load(folder)
    scope = Dense(model, all_names(model.weights), rate=0.05)
    ids = model.source.encode(SOURCE)
    for number in range(300):
        wanted = model.target.encode(RIGHT if number % of in right else WRONG)
        scope.update(study(scope.model, ids, wanted, scope.names))
        scope.settle()
    return scope.model
