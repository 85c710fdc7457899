"""Time a thousand runs of EXP3: vectorised over runs, against a plain loop over runs and segments.

    python benchmarks/selection.py [--runs 1000 --systems 20 --segments 2000 --plain 20]

Measures both in one process. Prints the time of all vectorised runs, the time of the plain loop (over `--plain` of the
same runs, scaled up to all), the ratio of the two, and the largest difference between their weights.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Sequence

import numpy as np

from mtloop.core import Segment
from mtloop.selection import EXP3
from mtloop.selection.replay import Recording, Replay, segment_orders


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--systems", type=int, default=20)
    parser.add_argument("--segments", type=int, default=2000)
    parser.add_argument("--plain", type=int, default=20, help="runs of the plain loop")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--small", action="store_true", help="a run of seconds, to check that the script works")
    options = parser.parse_args(argv)
    if options.small:
        options.runs, options.systems, options.segments, options.plain = 10, 4, 50, 2
    scores = np.round(np.random.default_rng(options.seed).beta(4, 1.5, (options.systems, options.segments)), 2)
    uniforms = np.random.default_rng([options.seed, 1]).random((options.segments, options.runs))
    fast, weights = timed(lambda: vectorised(scores, options.runs, options.seed))
    slow, loop = timed(lambda: [plain(scores.T.tolist(), uniforms[:, run].tolist()) for run in range(options.plain)])
    whole, _ = timed(lambda: replayed(scores, options.runs, options.seed))
    scaled = slow * options.runs / options.plain
    difference = np.abs(weights[: options.plain] - np.array(loop)).max()
    print(f"{options.runs} EXP3 runs x {options.systems} systems x {options.segments} segments")
    print(f"vectorised                 {fast:8.2f} s")
    print(f"plain loop                 {scaled:8.2f} s   (from {options.plain} runs)   ratio {scaled / fast:6.1f}")
    print(f"with rankings and ratings  {whole:8.2f} s                     ratio {scaled / whole:6.1f}")
    print(f"largest difference between weights {difference:.1e}")
    assert difference < 1e-12, "the weights must be equal to 1e-12"


def vectorised(scores: np.ndarray, runs: int, seed: int) -> np.ndarray:
    systems, segments = scores.shape
    policy = EXP3([str(i) for i in range(systems)], horizon=segments, runs=runs)
    rng = np.random.default_rng([seed, 1])
    segment_ids = [""] * runs
    for column in scores.T:
        draw = policy.choose_batch(rng, segment_ids)
        policy.update_batch(draw, np.broadcast_to(column, policy.shape))
    return policy.batch_weights()


def replayed(scores: np.ndarray, runs: int, seed: int) -> object:
    systems, segments = scores.shape
    names = tuple(str(i) for i in range(systems))
    recording = Recording(names, tuple(Segment(str(i), "") for i in range(segments)), scores)
    policy = EXP3(names, horizon=segments, runs=runs)
    return Replay(recording).run(policy, segment_orders(segments, runs, seed), seed=seed)


def plain(scores: Sequence[Sequence[float]], uniforms: Sequence[float]) -> list[float]:
    """Run the equations of the paper once: a list of log weights and a for loop."""
    segments, systems = len(scores), len(scores[0])
    eta = math.sqrt(2 * math.log(systems) / (segments * systems))
    logs = [0.0] * systems
    for rated, uniform in zip(scores, uniforms, strict=True):
        weights = softmax(logs)
        arm, cumulative = 0, weights[0]
        while uniform >= cumulative and arm < systems - 1:
            arm += 1
            cumulative += weights[arm]
        logs[arm] += eta * rated[arm] / weights[arm]
    return softmax(logs)


def softmax(logs: Sequence[float]) -> list[float]:
    top = max(logs)
    weights = [math.exp(value - top) for value in logs]
    total = sum(weights)
    return [weight / total for weight in weights]


def timed(work: Callable[[], object]) -> tuple[float, object]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


if __name__ == "__main__":
    main()
