"""Time a step of each method relative to `full`: methods that learn from post-edits, and from rewards.

    python benchmarks/steps.py [SEGMENTS] [--data FILE]

A step proposes and learns, on the first segments of the demo document or of FILE, with the embedded model and one
thread. The methods take turns; their mean processor times are compared. `again` is a second pass over the same
sentences, after all other measurements.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from mtloop.core import Judge, Learner, Segment, Truth
from mtloop.data import read
from mtloop.judges import PostEditor, Rater
from mtloop.judges.rewards import sentence_reward
from mtloop.methods.engines import Model
from mtloop.methods.registry import find_method, make_learner, settings_of

DEMO = Path(__file__).parents[1] / "mtloop" / "demo" / "manual.en-de.tsv"
UNCHECKED = "lora+memory+copy check_changed_words=false"
PEERS = ("knn-mt", "knn-adaptive", "knn-kok", "sk-mt", "similar-tuning")
POST_EDITS = ("full", "lora", "memory", "full+memory", "full+memory+copy", "lora+memory+copy", UNCHECKED, *PEERS)
REWARDS = (
    *("nmt-el", "nmt-el-cv", "nmt-el-recall", "nmt-el-ridge", "nmt-reinforce", "nmt-szo"),
    "nmt-el optimiser=adam",
)
METHODS = POST_EDITS + REWARDS
AGAIN = "nmt-el-recall"  # searches longer for repeated sources with a low reward


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("segments", type=int, nargs="?", default=40)
    parser.add_argument("--data", type=Path, default=DEMO, help="table of sources and references")
    parser.add_argument("--small", action="store_true", help="a run of seconds, to check that the script works")
    options = parser.parse_args(argv)
    report(measure(options.data, 1 if options.small else options.segments))


def measure(data: Path, segments: int) -> dict[str, list[float]]:
    """Return the processor times of the steps of each method."""
    engine = find_method("nmt-el").engine
    engine.set_threads(1)
    model = engine.load(engine.model)
    learners = {method: make(method, model) for method in METHODS}
    rater = Rater(sentence_reward("wmt17"))
    judges: dict[str, Judge] = {method: PostEditor() if method in POST_EDITS else rater for method in METHODS}
    times: dict[str, list[float]] = {method: [] for method in METHODS}
    stream = list(islice(read(data), segments))
    for segment, truth in stream:
        for method, learner in learners.items():
            times[method].append(seconds(learner, judges[method], segment, truth))
    times[f"{AGAIN}, again"] = [seconds(learners[AGAIN], rater, *both) for both in stream]
    return times


def report(times: dict[str, list[float]]) -> None:
    full = statistics.mean(times["full"])
    for method, taken in times.items():
        mean = statistics.mean(taken)
        print(f"{method:46} {1000 * mean:7.1f} ms per step, {mean / full:.2f} of full")


def seconds(learner: Learner, judge: Judge, segment: Segment, truth: Truth) -> float:
    """Return the processor time of one step."""
    start = time.process_time()
    proposal = learner.propose(segment)
    feedback = judge(proposal, truth)
    assert feedback is not None
    learner.learn(proposal, feedback)
    return time.process_time() - start


def make(method: str, model: Model | None) -> Learner:
    """Return the learner of a method name with optional settings after it."""
    name, *settings = method.split()
    return make_learner(name, model, settings_of(name, dict(setting.split("=") for setting in settings)))


if __name__ == "__main__":
    main()
