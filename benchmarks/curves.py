"""Time learning curves: every prefix of a stream scored from rows, against sacreBLEU on every prefix.

    python benchmarks/curves.py                     synthetic sentences
    python benchmarks/curves.py --data FILE.tsv.xz  a stream with columns mt (or source) and post_edit (or target)

Measures both in one run. Prints the ratio on a short stream (the naive way is too slow for more), and the time of the
curves of a long stream, in units of one sacreBLEU corpus score of that stream.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import sacrebleu

from mtloop.core import Step, run
from mtloop.data import pairs, read, take
from mtloop.judges import PostEditor
from mtloop.methods.recorded import Recorded
from mtloop.metrics import BLEU, TER, ChrF, Recall
from mtloop.metrics.base import Additive
from mtloop.metrics.curves import cumulative
from mtloop.text.stopwords import StopWords
from mtloop.text.units import ContentWords

PEERS = {"bleu": sacrebleu.BLEU, "chrf": sacrebleu.CHRF, "ter": sacrebleu.TER}


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--short", type=int, default=150)
    parser.add_argument("--long", type=int, default=20_000)
    parser.add_argument("--small", action="store_true", help="a run of seconds, to check that the script works")
    options = parser.parse_args(argv)
    if options.small:
        options.short, options.long = 8, 40
    steps = from_file(options.data, options.long) if options.data else synthetic(options.long)
    compare_short(steps[: options.short])
    measure_long(steps)


def metrics() -> list[Additive]:
    return [BLEU(), ChrF(), TER(), Recall(ContentWords("de", StopWords.of_language("de")), {1})]


def compare_short(steps: Sequence[Step]) -> None:
    print(f"\n{len(steps)} segments, every prefix: sacreBLEU / rows\n")
    for metric in metrics()[:3]:
        naive, expected = timed(lambda metric=metric: prefix_by_prefix(metric.name, steps))
        ours, curve = timed(lambda metric=metric: cumulative(metric, metric.rows(steps)).tolist())
        assert curve == expected, "the curves must be equal to the last digit"
        print(f"{metric.name:>6}  {naive:8.2f} s  {ours:8.3f} s   ratio {naive / ours:8.0f}")


def measure_long(steps: Sequence[Step]) -> None:
    print(f"\n{len(steps)} segments, every prefix, in units of one sacreBLEU corpus BLEU of the same stream\n")
    hyps, refs = texts(steps)
    unit, _ = timed(lambda: sacrebleu.BLEU(force=True).corpus_score(hyps, [refs]))
    total = 0.0
    for metric in metrics():
        seconds, _ = timed(lambda metric=metric: cumulative(metric, metric.rows(steps)))
        total += seconds
        print(f"{metric.name:>6}  {seconds:8.2f} s   {seconds / unit:6.2f} corpus scores")
    print(f"{'all':>6}  {total:8.2f} s   {total / unit:6.2f} corpus scores (one takes {unit:.2f} s)")


def prefix_by_prefix(name: str, steps: Sequence[Step]) -> list[float]:
    hyps, refs = texts(steps)
    peer = PEERS[name]()
    return [peer.corpus_score(hyps[:n], [refs[:n]]).score for n in range(1, len(steps) + 1)]


def texts(steps: Sequence[Step]) -> tuple[list[str], list[str]]:
    return [step.proposal.text for step in steps], [step.references[0] for step in steps]


def timed(work: Callable[[], object]) -> tuple[float, object]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def from_file(path: Path, size: int) -> list[Step]:
    stream = list(take(read(path), size))
    translations = {segment.id: str(segment.context.get("mt", segment.source)) for segment, _ in stream}
    return list(run(stream, Recorded(translations), PostEditor()))


def synthetic(size: int, seed: int = 1) -> list[Step]:
    """Return steps on sentences of common and rare words; the system gets three words in four right."""
    rng = random.Random(seed)
    words = [f"wort{int(rng.paretovariate(0.7)) % 5000}" for _ in range(20_000)]
    references = [" ".join(rng.choices(words, k=rng.randint(3, 30))) + "." for _ in range(size)]
    hypotheses = [" ".join(w if rng.random() < 0.75 else rng.choice(words) for w in r.split()) for r in references]
    return list(run(pairs(references, references), Recorded(hypotheses), PostEditor()))


if __name__ == "__main__":
    main()
