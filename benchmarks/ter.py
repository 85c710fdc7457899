"""Time the TER counts of mtloop and of sacreBLEU in one run, and check that they are equal.

    python benchmarks/ter.py
    python benchmarks/ter.py --data postedits.tsv.xz --segments 2000
    python benchmarks/ter.py --data parallel.tsv --hypotheses shuffled --segments 300

Synthetic sentences are always timed. A table with the column `post_edit` or `target` adds real ones. The hypotheses are
its column `mt`, or they come from the references: those of other segments, or their own with shuffled words.
"""

from __future__ import annotations

import argparse
import csv
import lzma
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from pathlib import Path
from time import perf_counter

from sacrebleu.metrics.lib_ter import translation_edit_rate
from sacrebleu.metrics.ter import TER

from mtloop.metrics.ter import edit_counts

Segment = tuple[list[str], list[str]]
Counts = list[tuple[int, int]]

ROUNDS = 3
SEED = 1
TOKENISER = TER().tokenizer


@dataclass(frozen=True)
class Timing:
    seconds: float
    counts: Counts


def main(argv: Sequence[str] | None = None) -> None:
    arguments = parse_arguments(argv)
    suites = {"synthetic": synthetic(arguments.segments)}
    if arguments.data:
        rows = read_rows(arguments.data)[: arguments.segments]
        hypotheses = arguments.hypotheses or ("mt" if "mt" in rows[0] else "others")
        suites[f"{arguments.data.name}, {hypotheses}"] = real(rows, hypotheses)
    for name, segments in suites.items():
        theirs, ours = compare(segments)
        assert ours.counts == theirs.counts, f"counts differ on {name}"
        print(
            f"{name}: {len(segments)} segments, TER {rate(ours.counts):.2f}, sacreBLEU {theirs.seconds:.3f} s, "
            f"ours {ours.seconds:.4f} s, ratio {theirs.seconds / ours.seconds:.1f}"
        )


def parse_arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="table of real segments, .tsv or .tsv.xz, with a header")
    parser.add_argument("--segments", type=int, default=2000, help="segments per suite (default: %(default)s)")
    parser.add_argument("--hypotheses", choices=["mt", "others", "shuffled"], help="default: mt if the table has it")
    parser.add_argument("--small", action="store_true", help="a run of seconds, to check that the script works")
    arguments = parser.parse_args(argv)
    if arguments.small:
        arguments.segments = 20
    return arguments


def compare(segments: Sequence[Segment]) -> tuple[Timing, Timing]:
    """Return the timings of sacreBLEU and of mtloop, each the fastest of several alternating rounds."""
    rounds = [(timed(translation_edit_rate, segments), timed(edit_counts, segments)) for _ in range(ROUNDS)]
    theirs, ours = (min(timings, key=lambda timing: timing.seconds) for timings in zip(*rounds, strict=True))
    return theirs, ours


def timed(count: Callable[[list[str], list[str]], tuple[int, int]], segments: Sequence[Segment]) -> Timing:
    start = perf_counter()
    counts = [count(hypothesis, reference) for hypothesis, reference in segments]
    return Timing(perf_counter() - start, counts)


def rate(counts: Counts) -> float:
    edits, lengths = map(sum, zip(*counts, strict=True))
    return 100 * edits / lengths


def read_rows(path: Path) -> list[dict[str, str]]:
    opened = lzma.open if path.suffix == ".xz" else open
    with opened(path, "rt", encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


def real(rows: Sequence[dict[str, str]], hypotheses: str) -> list[Segment]:
    references = [tokens(row["post_edit" if "post_edit" in row else "target"]) for row in rows]
    if hypotheses == "mt":
        outputs = [tokens(row["mt"]) for row in rows]
    elif hypotheses == "others":
        outputs = references[1:] + references[:1]
    else:
        rng = random.Random(SEED)
        outputs = [rng.sample(reference, len(reference)) for reference in references]
    return list(zip(outputs, references, strict=True))


def tokens(sentence: str) -> list[str]:
    return str(TOKENISER(sentence.rstrip())).split()


def synthetic(count: int) -> list[Segment]:
    """Return references with Zipf-distributed words, and hypotheses that are edits of them."""
    rng = random.Random(SEED)
    vocabulary = [f"word{rank}" for rank in range(1, 5001)]
    weights = list(accumulate(1 / rank for rank in range(1, 5001)))
    draw = partial(rng.choices, vocabulary, cum_weights=weights)
    references = [draw(k=rng.randint(4, 30)) for _ in range(count)]
    return [(edited(rng, reference, draw), reference) for reference in references]


def edited(rng: random.Random, words: list[str], draw: Callable[..., list[str]]) -> list[str]:
    """Return the words with up to a third replaced, dropped or added, and sometimes a block moved."""
    words = words.copy()
    for _ in range(rng.randint(0, len(words) // 3)):
        start = rng.randrange(len(words))
        words[start : start + rng.randint(0, 2)] = draw(k=1)
    if rng.random() < 0.25:
        start = rng.randrange(len(words))
        block = words[start : start + 3]
        del words[start : start + 3]
        target = rng.randint(0, len(words))
        words[target:target] = block
    return words


if __name__ == "__main__":
    main()
