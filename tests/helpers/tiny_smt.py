"""A small artificial parallel corpus, and a phrase-based model trained on it in about a second."""

from __future__ import annotations

import io
from functools import cache
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile

from mtloop.smt.training import SmtJob

VERBS = {"Open": "Öffnen Sie", "Save": "Speichern Sie", "Print": "Drucken Sie", "Delete": "Löschen Sie"}
THINGS = {"the file": "die Datei", "the table": "die Tabelle", "the page": "die Seite", "the picture": "das Bild"}
PLACES = {"": "", " in the folder": " im Ordner", " on the left": " auf der linken Seite", " now": " jetzt"}
# pairs with words that the model has never seen
NEW = [
    ("Open the toolbar.", "Öffnen Sie die Werkzeugleiste."),
    ("Save the toolbar now.", "Speichern Sie die Werkzeugleiste jetzt."),
    ("Delete the toolbar in the folder.", "Löschen Sie die Werkzeugleiste im Ordner."),
    ("Print the toolbar on the left.", "Drucken Sie die Werkzeugleiste auf der linken Seite."),
]


def known_pairs() -> list[tuple[str, str]]:
    return [
        (f"{verb} {thing}{place}.", f"{VERBS[verb]} {THINGS[thing]}{PLACES[place]}.")
        for verb, thing, place in product(VERBS, THINGS, PLACES)
    ]


def stream_pairs() -> list[tuple[str, str]]:
    """Return alternating new and known sentences: some to learn from and some to translate."""
    new = [
        (f"{verb} the {thing}{place}.", f"{VERBS[verb]} {german}{PLACES[place]}.")
        for (thing, german), verb, place in product(
            {"toolbar": "die Werkzeugleiste", "chart": "das Diagramm"}.items(), VERBS, PLACES
        )
    ]
    return [pair for both in zip(new, known_pairs(), strict=False) for pair in both]


def write_tiny_smt(folder: Path, *, tuned: bool = True) -> Path:
    with ZipFile(io.BytesIO(_trained(tuned))) as files:
        files.extractall(folder)
    return folder


@cache
def _trained(tuned: bool) -> bytes:
    """Return a zip file with the trained model. Each test process trains it only once."""
    pairs, content = known_pairs(), io.BytesIO()
    with TemporaryDirectory() as folder, ZipFile(content, "w") as files:
        out = Path(folder, "model")
        SmtJob(pairs=pairs, out=out, valid=pairs[::8] if tuned else (), log=lambda text: None).run()
        for path in out.rglob("*"):
            files.write(path, path.relative_to(out))
    return content.getvalue()


def write_stream(path: Path, pairs: list[tuple[str, str]]) -> Path:
    rows = [f"{source}\t{target}\tdocument {number // 8}" for number, (source, target) in enumerate(pairs)]
    path.write_text("\n".join(["source\ttarget\tdocument", *rows, ""]), encoding="utf-8")
    return path
