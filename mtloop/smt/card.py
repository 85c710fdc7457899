"""The card of an SMT model folder. It is written last, so a folder with a card is complete."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from mtloop.core.atomic import write_text
from mtloop.core.errors import InputError
from mtloop.core.json_files import json_errors, parse_json
from mtloop.core.types import JSON
from mtloop.smt.tokens import FirstWordTruecaser, SmtTokeniser

FORMAT = 1
CARD_FILE, TOKENISER_FILE = "smt.json", "words.json"
TRAIN_HINT = "train one: mtloop train --engine smt --data FILE --valid FILE --out FOLDER"


@dataclass(frozen=True)
class SmtModelCard:
    """`weights` are the log-linear weights, `rescoring` the weights of foreground features, `sizes` bytes per file."""

    weights: Mapping[str, float]
    rescoring: Mapping[str, float]
    facts: Mapping[str, JSON] = field(default_factory=dict)
    sizes: Mapping[str, int] = field(default_factory=dict)
    fingerprint: str = ""
    format: int = FORMAT

    @classmethod
    def read(cls, folder: Path) -> SmtModelCard:
        """Return the card of a folder. Raise InputError if a file of the model is missing or has another size."""
        if not folder.is_dir():
            raise InputError(f"not a folder with an SMT model; {TRAIN_HINT}", path=folder)
        try:
            table = parse_json((folder / CARD_FILE).read_bytes())
        except FileNotFoundError:
            raise InputError(f"no complete SMT model ({CARD_FILE} is missing); {TRAIN_HINT}", path=folder) from None
        except ValueError as error:
            raise InputError(f"not a model card: {error}", path=folder / CARD_FILE) from error
        if not isinstance(table, dict) or table.get("format") != FORMAT:
            found = table.get("format") if isinstance(table, dict) else None
            message = f"has format {found}, but this version reads format {FORMAT}; train the model again"
            raise InputError(message, path=folder / CARD_FILE)
        try:
            card = cls(**table)
        except TypeError as error:
            raise InputError(f"not a model card: {error}", path=folder / CARD_FILE) from error
        card._check_files(folder)
        return card

    @property
    def languages(self) -> tuple[str, str]:
        """The source and the target language, "" if unknown."""
        return str(self.facts.get("source_lang", "")), str(self.facts.get("target_lang", ""))

    def _check_files(self, folder: Path) -> None:
        for name, size in self.sizes.items():
            path = folder / name
            if not path.is_file() or path.stat().st_size != size:
                raise InputError(f"missing, or its size differs from the model card; {TRAIN_HINT}", path=path)

    def write(self, folder: Path) -> None:
        write_text(folder / CARD_FILE, json.dumps(asdict(self), indent=1, ensure_ascii=False))


def make_card(
    folder: Path, weights: Mapping[str, float], rescoring: Mapping[str, float], facts: Mapping[str, JSON]
) -> SmtModelCard:
    """Return the card of the files now in a folder; the fingerprint covers both sets of weights and every file."""
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name != CARD_FILE)
    digest = hashlib.sha256(json.dumps([dict(weights), dict(rescoring)]).encode())
    for path in files:
        with path.open("rb") as file:
            digest.update(path.name.encode() + hashlib.file_digest(file, "sha256").digest())
    sizes = {path.name: path.stat().st_size for path in files}
    return SmtModelCard(dict(weights), dict(rescoring), facts, sizes, digest.hexdigest()[:16])


def write_tokeniser(folder: Path, tokeniser: SmtTokeniser) -> None:
    table = {"source": tokeniser.source.forms, "target": tokeniser.target.forms}
    write_text(folder / TOKENISER_FILE, json.dumps(table, ensure_ascii=False))


def read_tokeniser(folder: Path) -> SmtTokeniser:
    with json_errors(folder / TOKENISER_FILE, "a tokeniser"):
        table = parse_json((folder / TOKENISER_FILE).read_bytes())
        return SmtTokeniser(FirstWordTruecaser(table["source"]), FirstWordTruecaser(table["target"]))
