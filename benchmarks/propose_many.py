"""Time the translation of many segments at once (`propose_many`), against the same learner's `propose` one by one.

    python benchmarks/propose_many.py                       the demo document
    python benchmarks/propose_many.py --data FILE.tsv.xz [--learned 300] [--segments 1000] [--threads 2]

Confirms the first segments of the data and translates the next ones. One by one has one thread, because more are
hardly faster for products with one vector; the first line of times shows it. `propose_many` is timed before and after
it, and the mean counts. Also counts the translations that differ: sums in another order round differently. The last
line of times is the work of `mtloop translate FILE`: chunk by chunk, with the checks and second tries with beams.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from mtloop.core import PostEdit, Proposal, Segment
from mtloop.data import read, take
from mtloop.methods.defaults import DEFAULT_METHOD
from mtloop.methods.registry import make_learner
from mtloop.nmt.adaptive import AdaptiveNMT
from mtloop.nmt.engine.find_model import find_model
from mtloop.nmt.engine.marian import Marian
from mtloop.nmt.engine.threads import set_threads
from mtloop.translation.fill_units import chunks
from mtloop.translation.unit_translation import translate_units

S = TypeVar("S")
T = TypeVar("T")
DEMO = Path(__file__).parents[1] / "mtloop" / "demo" / "manual.en-de.tsv"
TRIED = 50  # segments, to compare the numbers of threads


def main(argv: Sequence[str] | None = None) -> None:
    options = parse(argv)
    set_threads(1)
    learner = make_learner(options.method, Marian.load(find_model(options.model)))
    assert isinstance(learner, AdaptiveNMT)
    needed = options.learned + options.segments
    stream = list(take(read(options.data), needed))
    if len(stream) < needed:
        raise SystemExit(f"{options.data.name}: {needed} segments are needed, found {len(stream)}")
    for segment, truth in stream[: options.learned]:
        learner.learn(Proposal(segment, ""), PostEdit(truth.references[0]))
    segments = [segment for segment, _ in stream[options.learned :]]
    different = len({segment.source for segment in segments})
    print(
        f"{options.method}: {options.learned} segments learned, {len(segments)} to translate, {different} different\n"
    )
    report(learner, segments, options.threads)


def report(learner: AdaptiveNMT, segments: Sequence[Segment], threads: int) -> None:
    one, several = (timed(number, learner.propose, segments[:TRIED])[0] for number in (1, threads))
    print(f"one by one     {threads} thread(s) {several / one:8.2f} of the time of 1 thread, on the first segments")
    first, many = timed(threads, learner.propose_many, [segments])
    slow, alone = timed(1, learner.propose, segments)
    again, _ = timed(threads, learner.propose_many, [segments])
    fast = statistics.mean((first, again))
    print(f"one by one     1 thread(s) {slow:8.2f} s")
    print(f"many at a time {threads} thread(s) {fast:8.2f} s   ratio {slow / fast:.2f}")
    count = sum(one.text != other.text for one, other in zip(many[0], alone, strict=True))
    print(f"translations that differ: {count} of {len(segments)} ({count / len(segments):.2%})")
    report_chunks(learner, segments, threads, slow)


def report_chunks(learner: AdaptiveNMT, segments: Sequence[Segment], threads: int, slow: float) -> None:
    """Print the times in the chunks of `mtloop translate FILE`, without and with its checks. `slow`: one by one."""
    units = [(number, replace(one, context={"syntax": "plain"})) for number, one in enumerate(segments)]
    parts = list(chunks(units, (one.source for one in segments)))
    fill = partial(translate_units, learner, target_lang="de", one_thread=partial(one_thread, threads))
    chunked, _ = timed(threads, learner.propose_many, [[one for _, one in part] for part in parts])
    filled, _ = timed(threads, fill, parts)
    print(f"in chunks      {threads} thread(s) {chunked:8.2f} s   ratio {slow / chunked:.2f}   {len(parts)} chunk(s)")
    print(f"as translate   {threads} thread(s) {filled:8.2f} s   ratio {slow / filled:.2f}")


@contextmanager
def one_thread(threads: int) -> Iterator[None]:
    """Compute with one thread for a while, as the command does for second tries."""
    set_threads(1)
    yield
    set_threads(threads)


def timed(threads: int, work: Callable[[S], T], inputs: Sequence[S]) -> tuple[float, list[T]]:
    """Return the seconds of the work on all inputs, and its results."""
    set_threads(threads)
    start = time.perf_counter()
    found = [work(one) for one in inputs]
    return time.perf_counter() - start, found


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DEMO)
    parser.add_argument("--model", default="en-de")
    parser.add_argument("--method", default=DEFAULT_METHOD)
    parser.add_argument("--learned", type=int, help="segments to confirm first (default: 300, of the demo document 40)")
    parser.add_argument("--segments", type=int, help="segments to translate (default: 1000, of the demo document 200)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--small", action="store_true", help="a run of seconds, to check that the script works")
    options = parser.parse_args(argv)
    learned, segments = (3, 6) if options.small else (40, 200) if options.data == DEMO else (300, 1000)
    options.learned = learned if options.learned is None else options.learned
    options.segments = segments if options.segments is None else options.segments
    return options


if __name__ == "__main__":
    main()
