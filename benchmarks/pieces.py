"""Measure the quality of long segments in pieces of a few sentences: a table of docs/results/long-segments.md.

    python benchmarks/pieces.py                     the demo document, four sentences in a segment
    python benchmarks/pieces.py office-help.en-de.tsv.xz --skip 20000

Takes segments of several sentences from a file of sources and references, translates them with the base model in pieces
of several sizes, and prints BLEU, chrF and the length of the translations divided by that of the references.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Sequence
from pathlib import Path

import sacrebleu

from mtloop.core.types import Segment
from mtloop.data import read, subset
from mtloop.methods.registry import make_learner
from mtloop.nmt.adaptive import SENTENCE_END
from mtloop.nmt.engine.find_model import find_model
from mtloop.nmt.engine.marian import Marian
from mtloop.nmt.engine.threads import set_threads

LENGTHS = (24, 32, 48, 64, 96, 1000)  # bounds, in source tokens, of the rows of the table
PIECES = (256, 96, 64, 48, 32, 24)  # maximum tokens of a piece
SENTENCES = 4  # in a segment of the demo document
DEMO = Path(__file__).parents[1] / "mtloop" / "demo" / "manual.en-de.tsv"


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="?", default=DEMO)
    parser.add_argument("--model", default="en-de")
    parser.add_argument("--skip", type=int, default=0)
    parser.add_argument("--segments", type=int, default=400)
    parser.add_argument("--small", action="store_true", help="a run of seconds, to check that the script works")
    options = parser.parse_args(argv)
    if options.small:
        options.segments = 2
    set_threads(1)
    model = Marian.load(find_model(options.model))
    pairs = [(segment.source, truth.references[0]) for segment, truth in subset(read(options.data), skip=options.skip)]
    if options.data == DEMO:
        pairs = joined(pairs)
    several = [pair for pair in pairs if len(SENTENCE_END.split(pair[0])) > 1]
    lengths = [len(model.source.encode(source)) for source, _ in several]
    kept = [(length, *pair) for length, pair in zip(lengths, several, strict=True) if length > LENGTHS[0]]
    report(model, kept[: options.segments])


def joined(pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Join consecutive sentences to longer segments."""
    groups = (pairs[start : start + SENTENCES] for start in range(0, len(pairs), SENTENCES))
    return [(" ".join(source for source, _ in group), " ".join(target for _, target in group)) for group in groups]


def report(model: Marian, segments: Sequence[tuple[int, str, str]]) -> None:
    translations = {
        piece: [
            make_learner("baseline", model, {"max_piece_tokens": piece}).propose(Segment("", one[1])).text
            for one in segments
        ]
        for piece in PIECES
    }
    print("| tokens | segments | piece | BLEU | chrF | length |\n|---|---|---|---|---|---|")
    for low, high in itertools.pairwise(LENGTHS):
        indices = [index for index, (length, *_) in enumerate(segments) if low < length <= high]
        references = [segments[index][2] for index in indices]
        for piece in PIECES if indices else ():
            texts = [translations[piece][index] for index in indices]
            bleu, chrf = sacrebleu.corpus_bleu(texts, [references]), sacrebleu.corpus_chrf(texts, [references])
            length = sum(len(text.split()) for text in texts) / sum(len(text.split()) for text in references)
            scores = f"{bleu.score:.1f} | {chrf.score:.1f} | {length:.2f}"
            print(f"| {low + 1} to {high} | {len(indices)} | {piece} | {scores} |", flush=True)


if __name__ == "__main__":
    main()
