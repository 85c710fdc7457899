"""Time the statistical engine: training, decoding and one online update, for models of several sizes.

    python benchmarks/smt.py
    python benchmarks/smt.py --data parallel.tsv.xz --sizes 2000,4000,8000 --segments 200

Without data, synthetic sentences are used. Times are processor times, so that other work on the machine does not
count. Decoding and update times are also printed as ratios to those of the first size.
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
VOCABULARY_SIZE = 2000


@dataclass(frozen=True)
class Timing:
    """Training time in seconds; other times in milliseconds: three medians, and the 95th percentile of updates."""

    pairs: int
    training: float
    decoding: float
    nbest: float
    update: float
    update_p95: float


def main(argv: Sequence[str] | None = None) -> None:
    arguments = parse_arguments(argv)
    sizes = [int(size) for size in arguments.sizes.split(",")]
    pairs = read_pairs(arguments.data) if arguments.data else synthetic(max(sizes) + arguments.segments)
    random.Random(1).shuffle(pairs)
    held_out, rest = pairs[: arguments.segments], pairs[arguments.segments :]
    timings = [measure(rest[:size], held_out) for size in sizes if size <= len(rest)]
    print("   pairs  training s  decode ms  50-best ms  update ms  update 95 % ms   decode x  update x")
    for timing in timings:
        print(line(timing, timings[0]))


def line(timing: Timing, first: Timing) -> str:
    times = f"{timing.training:11.1f} {timing.decoding:10.1f} {timing.nbest:11.1f} {timing.update:10.1f}"
    ratios = f"{timing.decoding / first.decoding:10.2f} {timing.update / first.update:9.2f}"
    return f"{timing.pairs:8,} {times} {timing.update_p95:15.1f} {ratios}"


def measure(pairs: Sequence[Pair], held_out: Sequence[Pair]) -> Timing:
    with tempfile.TemporaryDirectory() as folder:
        job = SmtJob(pairs=pairs, out=Path(folder) / "model", log=lambda text: None)
        training = timed(job.run)
        engine = Thot.load(job.out)
    decoding = [timed(engine.translate, source) for source, _ in held_out]
    nbest = [timed(engine.nbest, source, 50) for source, _ in held_out]
    update = sorted(timed(engine.learn, source, target) for source, target in held_out)
    medians = [1000 * median(times) for times in (decoding, nbest, update)]
    return Timing(len(pairs), training, *medians, update_p95=1000 * update[int(len(update) * 0.95)])


def timed(action: Callable[..., object], *arguments: object) -> float:
    start = process_time()
    action(*arguments)
    return process_time() - start


def read_pairs(path: Path) -> list[Pair]:
    return [(segment.source, truth.references[0]) for segment, truth in read(path)]


def synthetic(count: int) -> list[Pair]:
    """Return sentences with Zipf-distributed words, translated word by word with some neighbours swapped."""
    rng = random.Random(1)
    weights = [1 / rank for rank in range(1, VOCABULARY_SIZE + 1)]
    return [_pair(rng.choices(range(VOCABULARY_SIZE), weights, k=rng.randint(3, 20)), rng) for _ in range(count)]


def _pair(words: list[int], rng: random.Random) -> Pair:
    target = list(words)
    for i in range(len(target) - 1):
        if rng.random() < 0.1:
            target[i], target[i + 1] = target[i + 1], target[i]
    return " ".join(f"s{word}" for word in words), " ".join(f"t{word}" for word in target)


def parse_arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="parallel text; without it, synthetic sentences")
    parser.add_argument("--sizes", default="1000,2000,4000", help="numbers of training pairs, comma-separated")
    parser.add_argument("--segments", type=int, default=100, help="held-out segments to translate and learn")
    parser.add_argument("--small", action="store_true", help="a run of seconds, to check that the script works")
    arguments = parser.parse_args(argv)
    if arguments.small:
        arguments.sizes, arguments.segments = "30,60", 5
    return arguments


if __name__ == "__main__":
    main()
