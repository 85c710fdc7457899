"""What a model folder says about itself. The card is written last, so a folder with a card is whole."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from mtloop.core.atomic import write_text
from mtloop.core.errors import InputError
from mtloop.core.types import JSON
from mtloop.smt.tokens import Casing, SmtTokeniser

FORMAT = 1
CARD, WORDS = "smt.json", "words.json"
RETRAIN = "train one: mtloop train --engine smt --data FILE --valid FILE --out FOLDER"


@dataclass(frozen=True)
class Card:
    """`weights` are the log-linear ones, `rescoring` those of foreground features; `sizes` of all files, in bytes."""

    weights: Mapping[str, float]
    rescoring: Mapping[str, float]
    facts: Mapping[str, JSON] = field(default_factory=dict)
    sizes: Mapping[str, int] = field(default_factory=dict)
    fingerprint: str = ""
    format: int = FORMAT

    @classmethod
    def read(cls, folder: Path) -> Card:
        """The card of a folder whose files are all there."""
        if not folder.is_dir():
            raise InputError(f"no folder of an SMT model; {RETRAIN}", path=folder)
        try:
            table = json.loads((folder / CARD).read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise InputError(f"holds no whole SMT model ({CARD} is missing); {RETRAIN}", path=folder) from None
        except ValueError as error:
            raise InputError(f"is no model card: {error}", path=folder / CARD) from error
        if not isinstance(table, dict) or table.get("format") != FORMAT:
            found = table.get("format") if isinstance(table, dict) else None
            message = f"is of format {found}, this version reads {FORMAT}; train the model again"
            raise InputError(message, path=folder / CARD)
        try:
            card = cls(**table)
        except TypeError as error:
            raise InputError(f"is no model card: {error}", path=folder / CARD) from error
        card._check_files(folder)
        return card

    def _check_files(self, folder: Path) -> None:
        for name, size in self.sizes.items():
            path = folder / name
            if not path.is_file() or path.stat().st_size != size:
                raise InputError(f"is not the file the model was written with; {RETRAIN}", path=path)

    def write(self, folder: Path) -> None:
        write_text(folder / CARD, json.dumps(asdict(self), indent=1, ensure_ascii=False))


def describe(
    folder: Path, weights: Mapping[str, float], rescoring: Mapping[str, float], facts: Mapping[str, JSON]
) -> Card:
    """The card of what lies in a folder now; its fingerprint is of the weights and of every file."""
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name != CARD)
    digest = hashlib.sha256(json.dumps([dict(weights), dict(rescoring)]).encode())
    for path in files:
        with path.open("rb") as file:
            digest.update(path.name.encode() + hashlib.file_digest(file, "sha256").digest())
    sizes = {path.name: path.stat().st_size for path in files}
    return Card(dict(weights), dict(rescoring), facts, sizes, digest.hexdigest()[:16])


def write_words(folder: Path, words: SmtTokeniser) -> None:
    table = {"source": words.source.forms, "target": words.target.forms}
    write_text(folder / WORDS, json.dumps(table, ensure_ascii=False))


def read_words(folder: Path) -> SmtTokeniser:
    table = json.loads((folder / WORDS).read_text(encoding="utf-8"))
    return SmtTokeniser(Casing(table["source"]), Casing(table["target"]))
