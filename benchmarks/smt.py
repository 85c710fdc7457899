"""Time the statistical engine: training, decoding and one online update, and how they grow with the model.

    python benchmarks/smt.py
    python benchmarks/smt.py --data parallel.tsv.xz --sizes 2000,4000,8000 --segments 200

Without data, sentences of a made-up language are used. Times are those of the processor, so that other work on the
machine does not count; every size is also given as a ratio to the first.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import process_time

from mtloop.data import read
from mtloop.smt.engine import Thot
from mtloop.smt.training import SmtJob

Pair = tuple[str, str]
WORDS = 2000


@dataclass(frozen=True)
class Timing:
    """Seconds of training; milliseconds: median translation, n-best list and update; 95th percentile of updates."""

    pairs: int
    training: float
    decoding: float
    listing: float
    update: float
    slowest: float


def main() -> None:
    arguments = parse_arguments()
    sizes = [int(size) for size in arguments.sizes.split(",")]
    pairs = real(arguments.data) if arguments.data else made_up(max(sizes) + arguments.segments)
    random.Random(1).shuffle(pairs)
    held_out, rest = pairs[: arguments.segments], pairs[arguments.segments :]
    timings = [measure(rest[:size], held_out) for size in sizes if size <= len(rest)]
    print("   pairs  training s  decode ms  50-best ms  update ms  update 95 % ms   decode x  update x")
    for timing in timings:
        print(line(timing, timings[0]))


def line(timing: Timing, first: Timing) -> str:
    times = f"{timing.training:11.1f} {timing.decoding:10.1f} {timing.listing:11.1f} {timing.update:10.1f}"
    ratios = f"{timing.decoding / first.decoding:10.2f} {timing.update / first.update:9.2f}"
    return f"{timing.pairs:8,} {times} {timing.slowest:15.1f} {ratios}"


def measure(pairs: Sequence[Pair], held_out: Sequence[Pair]) -> Timing:
    with tempfile.TemporaryDirectory() as folder:
        job = SmtJob(pairs=pairs, out=Path(folder) / "model", say=lambda text: None)
        training = timed(job.run)
        engine = Thot.load(job.out)
    decoding = [timed(engine.translate, source) for source, _ in held_out]
    listing = [timed(engine.nbest, source, 50) for source, _ in held_out]
    update = sorted(timed(engine.learn, source, target) for source, target in held_out)
    middles = [1000 * median(times) for times in (decoding, listing, update)]
    return Timing(len(pairs), training, *middles, slowest=1000 * update[int(len(update) * 0.95)])


def timed(action: Callable[..., object], *arguments: object) -> float:
    start = process_time()
    action(*arguments)
    return process_time() - start


def real(path: Path) -> list[Pair]:
    return [(segment.source, truth.references[0]) for segment, truth in read(path)]


def made_up(count: int) -> list[Pair]:
    """Sentences of words with few frequent and many rare ones, and their translation word by word, pairs swapped."""
    rng = random.Random(1)
    weights = [1 / rank for rank in range(1, WORDS + 1)]
    return [_pair(rng.choices(range(WORDS), weights, k=rng.randint(3, 20)), rng) for _ in range(count)]


def _pair(words: list[int], rng: random.Random) -> Pair:
    target = list(words)
    for i in range(len(target) - 1):
        if rng.random() < 0.1:
            target[i], target[i + 1] = target[i + 1], target[i]
    return " ".join(f"s{word}" for word in words), " ".join(f"t{word}" for word in target)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="parallel text; without it, made-up sentences")
    parser.add_argument("--sizes", default="1000,2000,4000", help="pairs to train on")
    parser.add_argument("--segments", type=int, default=100, help="held-out segments to translate and learn")
    return parser.parse_args()


if __name__ == "__main__":
    main()
