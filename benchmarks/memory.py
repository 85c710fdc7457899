"""Time decoding with a translation memory as it grows: `memory` against `baseline`, sentence by sentence.

    python benchmarks/memory.py                     the demo document
    python benchmarks/memory.py --data FILE.tsv.xz [--stored 500,1000,2000,5000] [--sentences 40] [--threads 1]

Confirms the first segments of the data and translates later ones. Measures processor time (`process_time`), so that
other work on the machine changes the ratio little; output lengths differ, so times are per token.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

from mtloop.core import PostEdit, Proposal, Segment, Truth
from mtloop.data import read, take
from mtloop.methods.registry import make_learner
from mtloop.nmt.adaptive import AdaptiveNMT
from mtloop.nmt.engine.find_model import find_model
from mtloop.nmt.engine.marian import Marian
from mtloop.nmt.engine.threads import set_threads

DEMO = Path(__file__).parents[1] / "mtloop" / "demo" / "manual.en-de.tsv"


def main(argv: Sequence[str] | None = None) -> None:
    options = parse(argv)
    set_threads(options.threads)
    model = Marian.load(find_model(options.model))
    sizes = sorted(map(int, options.stored.split(",")))
    needed = sizes[-1] + options.sentences
    stream = list(take(read(options.data), needed))
    if len(stream) < needed:
        raise SystemExit(f"{options.data.name}: {needed} segments are needed, found {len(stream)}")
    new = [segment for segment, _ in stream[-options.sentences :]]
    plain, memory = (make_learner(name, model) for name in ("baseline", "memory"))
    assert isinstance(plain, AdaptiveNMT)
    assert isinstance(memory, AdaptiveNMT)
    print(f"{len(new)} sentences, {options.threads} thread(s)\n\n{'segments':>8} {'states':>8} {'MB':>6} {'ratio':>6}")
    done = 0
    for size in sizes:
        for pair in stream[done:size]:
            confirm(memory, *pair)
        done = size
        assert memory.memory is not None
        megabytes = sum(tensor.numel() * tensor.element_size() for tensor in memory.memory.tensors().values()) / 1e6
        print(f"{size:8} {memory.memory.states:8} {megabytes:6.1f} {ratio(plain, memory, new):6.2f}", flush=True)


def confirm(learner: AdaptiveNMT, segment: Segment, truth: Truth) -> None:
    learner.learn(Proposal(segment, ""), PostEdit(truth.references[0]))


def ratio(plain: AdaptiveNMT, memory: AdaptiveNMT, segments: list[Segment]) -> float:
    """Return the time per token of `memory` divided by that of `plain`."""
    seconds, tokens = {plain: 0.0, memory: 0.0}, {plain: 0, memory: 0}
    for segment in segments:
        for learner in (plain, memory):
            start = time.process_time()
            found = learner.search(segment.source)[0]
            seconds[learner] += time.process_time() - start
            tokens[learner] += len(found.ids)
            learner.search("x")  # the learner caches the last encoded source; replace it
    return (seconds[memory] / tokens[memory]) / (seconds[plain] / tokens[plain])


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="en-de")
    parser.add_argument("--data", type=Path, default=DEMO)
    parser.add_argument("--stored", help="default: 500,1000,2000,5000; for the demo document 50,100,200")
    parser.add_argument("--sentences", type=int, default=40)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--small", action="store_true", help="a run of seconds, to check that the script works")
    options = parser.parse_args(argv)
    options.stored = options.stored or ("50,100,200" if options.data == DEMO else "500,1000,2000,5000")
    if options.small:
        options.stored, options.sentences = "3,6", 3
    return options


if __name__ == "__main__":
    main()
