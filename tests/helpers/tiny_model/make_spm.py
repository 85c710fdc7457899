"""Make the SentencePiece models of the tiny Marian models from mtloop's demo document.

    python tests/helpers/tiny_model/make_spm.py           write source.spm.xz and target.spm.xz
    python tests/helpers/tiny_model/make_spm.py --check   compare them with models trained now

Most of a model of SentencePiece is its table of Unicode characters, so the files are compressed.
"""

from __future__ import annotations

import io
import lzma
import sys
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

import sentencepiece

FOLDER = Path(__file__).parent
SIDES = ("source", "target")
PIECES = 400


def demo_pairs() -> list[tuple[str, str]]:
    """Return the sentence pairs of the demo document."""
    lines = (files("mtloop") / "demo" / "manual.en-de.tsv").read_text(encoding="utf-8").splitlines()[1:]
    return [(source, target) for source, target, _ in (line.split("\t") for line in lines)]


def spm_bytes(side: str) -> bytes:
    """Return the committed model of one side."""
    return lzma.decompress((FOLDER / f"{side}.spm.xz").read_bytes())


def pieces(model: bytes) -> list[tuple[str, float]]:
    """Return the pieces of a model with their scores."""
    spm = sentencepiece.SentencePieceProcessor(model_proto=model)
    return [(spm.id_to_piece(i), round(spm.get_score(i), 3)) for i in range(spm.get_piece_size())]


def train(texts: Sequence[str]) -> bytes:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts),
        model_writer=model,
        vocab_size=PIECES,
        character_coverage=1.0,
        minloglevel=2,
    )
    return model.getvalue()


def main(arguments: Sequence[str]) -> None:
    trained = {side: train(texts) for side, texts in zip(SIDES, zip(*demo_pairs(), strict=True), strict=True)}
    if arguments == ["--check"]:
        old = [side for side, model in trained.items() if pieces(model) != pieces(spm_bytes(side))]
        sys.exit(f"out of date, run {Path(__file__).name}: {', '.join(old)}" if old else 0)
    for side, model in trained.items():
        (FOLDER / f"{side}.spm.xz").write_bytes(lzma.compress(model))


if __name__ == "__main__":
    main(sys.argv[1:])
