"""Measure how much of the variance of rewards each baseline removes before the model learns.

    python benchmarks/baselines.py [FILE [SENTENCES]]

Samples translations at temperature 0.3 from the unchanged embedded model, for the shuffled sentences of FILE (the demo
document if no file is given). Each baseline predicts a reward from the earlier ones. Prints 1 - E[advantage^2] /
variance with a bootstrap interval over sentences; the first 50 sentences are left out.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from mtloop.bandits.neural.baselines import Baseline, RewardObservation, RunningMean, SourceRidge
from mtloop.bandits.neural.critic import Critic
from mtloop.bandits.neural.expected_loss import expected_loss
from mtloop.core import Proposal, Reward, Segment, Truth
from mtloop.data import read, shuffled
from mtloop.judges import Rater
from mtloop.judges.rewards import sentence_reward
from mtloop.methods.registry import find_method
from mtloop.nmt.engine.marian import Marian
from mtloop.nmt.engine.search import LengthLimits, sample

SEED, TEMPERATURE = 7, 0.3
DEMO = Path(__file__).parents[1] / "mtloop" / "demo" / "manual.en-de.tsv"


def main(argv: Sequence[str] | None = None) -> None:
    options = parse(argv)
    engine = find_method("nmt-el").engine
    engine.set_threads(1)
    model = engine.load(engine.model)
    assert isinstance(model, Marian)
    width = model.shape.width
    baselines: dict[str, Baseline] = {
        "running mean": RunningMean(),
        "nmt-el-ridge": SourceRidge(width),
        "nmt-reinforce": Critic(width),
    }
    squares: dict[str, list[float]] = {name: [] for name in baselines}
    rewards: list[float] = []
    for number, (segment, truth) in enumerate(shuffled(list(read(options.data)), SEED)[: options.sentences]):
        observation = observe(model, segment, truth, number, rewards)
        for name, baseline in baselines.items():
            squares[name].append(float(baseline.advantage(observation).pow(2).mean()))
    for name, found in squares.items():
        print(f"{name:14} {explained(np.array(found[options.skip :]), np.array(rewards[options.skip :]))}")


def observe(model: Marian, segment: Segment, truth: Truth, seed: int, rewards: list[float]) -> RewardObservation:
    """Sample a translation, append its reward to `rewards` and return the observation."""
    source = model.encode(model.source.encode(segment.source))
    ids = sample(model, source, LengthLimits(), seed, TEMPERATURE).ids
    answer = Rater(sentence_reward("wmt17"))(Proposal(segment, model.target.decode(ids)), truth)
    assert isinstance(answer, Reward)
    rewards.append(answer.value)
    lesson = expected_loss(model, source, ids, 1.0, temperature=TEMPERATURE, limits=LengthLimits())
    return RewardObservation(answer.value, sum(rewards) / len(rewards), source, lesson, TEMPERATURE)


def explained(squares: np.ndarray, rewards: np.ndarray) -> str:
    rng, size = np.random.default_rng(SEED), len(rewards)
    samples = [rng.integers(size, size=size) for _ in range(1000)]
    reductions = [1 - squares[sample].mean() / rewards[sample].var() for sample in samples]
    low, high = np.percentile(reductions, [2.5, 97.5])
    reduction = 1 - squares.mean() / rewards.var()
    return f"{reduction:.3f} of the variance removed, 95 % interval {low:.3f} to {high:.3f} ({size} rewards)"


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="?", default=DEMO)
    parser.add_argument("sentences", type=int, nargs="?", default=1000)
    parser.add_argument("--skip", type=int, default=50, help="sentences left out at the start (default: %(default)s)")
    parser.add_argument("--small", action="store_true", help="a run of seconds, to check that the script works")
    options = parser.parse_args(argv)
    if options.small:
        options.sentences, options.skip = 12, 2
    return options


if __name__ == "__main__":
    main()
