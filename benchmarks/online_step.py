"""Time one online step (translate, then learn from the correction), against a plain loop in transformers.

    python benchmarks/online_step.py                the demo document
    python benchmarks/online_step.py --model en-de --data FILE.tsv.xz [--segments 40] [--threads 2]

The plain loop uses `generate`, `loss.backward()` and dense SGD with every tensor clipped. Both loops start from the
same weights and process the same segments in turn, in one run. After every segment the tokens must be the same and the
weights equal up to rounding; the time to learn includes the time to apply all updates to the weights. Segments that
`full` does not learn from are left out. Also prints the time of the fast loop relative to a lower bound: bytes divided
by the measured bandwidth for decoding, multiplications divided by the measured rate for learning.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import TypeVar

import torch
from transformers import MarianMTModel

from mtloop.core import PostEdit, Proposal, Segment
from mtloop.data import read
from mtloop.nmt.adaptive import AdaptiveNMT
from mtloop.nmt.engine.find_model import find_model
from mtloop.nmt.engine.marian import Marian
from mtloop.nmt.engine.search import UNLIMITED
from mtloop.nmt.engine.weights import EMBEDDINGS
from mtloop.nmt.scopes.dense import Dense, all_names, hidden_names

T = TypeVar("T")
LEARNING_RATE, UPDATES, TARGET_PERPLEXITY = 1e-2, 3, 2.0
TOLERANCE = 1e-5  # of a weight; rounding gives 7e-7 after 15 segments
DEMO = Path(__file__).parents[1] / "mtloop" / "demo" / "manual.en-de.tsv"


def main(argv: Sequence[str] | None = None) -> None:
    options = parse(argv)
    torch.set_num_threads(options.threads)
    torch.set_flush_denormal(True)  # for both loops
    folder = find_model(options.model)
    plain, fast = Plain(folder), Fast(folder)
    found = ((segment.source, truth.references[0]) for segment, truth in read(options.data))
    pairs = list(islice((pair for pair in found if fast.accepts(*pair)), options.segments))
    times: dict[str, list[float]] = {"plain": [], "fast": [], "plain decode": [], "fast decode": []}
    tokens, updates, difference = 0, 0, 0.0
    for number, (source, target) in enumerate(pairs):
        plain_tokens = timed(times["plain decode"], plain.translate, source)
        fast_tokens = timed(times["fast decode"], fast.translate, source)
        plain_updates = timed(times["plain"], plain.learn, source, target)
        fast_updates = timed(times["fast"], fast.learn, source, target)
        assert plain_tokens == fast_tokens, f"segment {number}: different tokens"
        assert plain_updates == fast_updates, f"segment {number}: {plain_updates} updates against {fast_updates}"
        difference = max(difference, largest_difference(plain, fast))
        assert difference <= TOLERANCE, f"segment {number}: the weights differ by {difference:.0e}"
        tokens, updates = tokens + len(fast_tokens), updates + fast_updates
    print(
        f"{len(pairs)} segments, {tokens} tokens out, {updates} updates, {options.threads} thread(s)\n"
        f"the same tokens, weights equal to {difference:.0e}\n"
    )
    report(times, tokens, updates, len(pairs), fast)


class Plain:
    """The plain loop in transformers."""

    def __init__(self, folder: Path) -> None:
        self.model = MarianMTModel.from_pretrained(folder, dtype=torch.float32).eval()
        self.vocabulary = Marian.load(folder)

    def translate(self, source: str) -> list[int]:
        ids = torch.tensor([self.vocabulary.source.encode(source)])
        return self.model.generate(ids, num_beams=1, do_sample=False, max_length=512)[0].tolist()[1:]

    def learn(self, source: str, target: str) -> int:
        ids, labels = (torch.tensor([v]) for v in self.encode(source, target))
        for done in range(UPDATES):
            loss = self.model(input_ids=ids, labels=labels).loss
            if float(loss.detach().exp()) <= TARGET_PERPLEXITY:
                return done
            self.model.zero_grad()
            loss.backward()
            with torch.no_grad():
                for parameter in self.model.parameters():
                    if parameter.grad is not None:
                        parameter.sub_(parameter.grad, alpha=LEARNING_RATE / max(1.0, float(parameter.grad.norm())))
        return UPDATES

    def encode(self, source: str, target: str) -> tuple[list[int], list[int]]:
        return self.vocabulary.source.encode(source), self.vocabulary.target.encode(target)


class Fast:
    """The method `full` of mtloop."""

    def __init__(self, folder: Path) -> None:
        model = Marian.load(folder)
        self.learner = AdaptiveNMT(
            Dense(model, all_names(model.weights), LEARNING_RATE),
            max_updates=UPDATES,
            target_perplexity=TARGET_PERPLEXITY,
            limits=UNLIMITED,
        )

    def translate(self, source: str) -> list[int]:
        return list(self.learner.search(source)[0].ids)

    def accepts(self, source: str, target: str) -> bool:
        """Tell whether the method learns from pairs like this one: not empty, copied or too long."""
        model, learner = self.learner.model, self.learner
        tokens = max(len(model.source.encode(source)), len(model.target.encode(target)))
        return learner.pair_filter(source, target) is None and tokens <= learner.max_sentence_tokens

    def learn(self, source: str, target: str) -> int:
        """Take the whole step of the method, which also applies the updates to the weights."""
        learned = self.learner.learn(Proposal(Segment("", source), ""), PostEdit(target))
        assert not learned.rejected, f"pair rejected ({learned.rejected}): {source}"
        return learned.updates


@torch.no_grad()
def largest_difference(plain: Plain, fast: Fast) -> float:
    """Return the largest difference between two weights; the updates of the fast loop must have been applied."""
    weights = fast.learner.model.weights
    assert not weights.pending, "some updates are not applied to the weights"
    state = plain.model.state_dict()
    return max(float((weights[name] - state[name]).abs().max()) for name in all_names(weights))


def timed(times: list[float], work: Callable[..., T], *arguments: str) -> T:
    start = time.perf_counter()
    result = work(*arguments)
    times.append(time.perf_counter() - start)
    return result


def report(times: dict[str, list[float]], tokens: int, updates: int, segments: int, fast: Fast) -> None:
    total = {name: sum(values) for name, values in times.items()}
    plain, ours = total["plain"] + total["plain decode"], total["fast"] + total["fast decode"]
    for name, one, other in (("decode", "plain decode", "fast decode"), ("learn", "plain", "fast")):
        print(
            f"{name:>8}  plain {total[one]:7.2f} s  fast {total[other]:7.2f} s  ratio {total[one] / total[other]:5.2f}"
        )
    print(f"{'step':>8}  plain {plain:7.2f} s  fast {ours:7.2f} s  ratio {plain / ours:5.2f}")
    bound = min_decoding_time(fast, tokens) + min_learning_time(fast, updates, tokens / segments)
    work = "one read per token, three products per update"
    print(f"\nlower bound {bound:.2f} s ({work}): fast takes {ours / bound:.1f} x that")


def min_decoding_time(fast: Fast, tokens: int) -> float:
    """Return a lower bound in seconds: every token reads the decoder and the output matrix once."""
    weights = fast.learner.model.weights
    size = sum(weights[n].numel() for n in weights if ".decoder.layers." in n) + weights[EMBEDDINGS[2]].numel()
    block = torch.randn(8_000_000)
    seconds = statistics.median(clock(lambda: block.sum()) for _ in range(15))
    return tokens * size / (block.numel() / seconds)


def min_learning_time(fast: Fast, updates: int, length: float) -> float:
    """Return a lower bound in seconds: three products of every matrix with `length` positions per update."""
    weights = fast.learner.model.weights
    size = sum(weights[n].numel() for n in hidden_names(weights)) + weights[EMBEDDINGS[2]].numel()
    left, right = torch.randn(256, 1024), torch.randn(1024, 1024)
    seconds = statistics.median(clock(lambda: left @ right) for _ in range(15))
    return updates * 3 * size * length / (256 * 1024 * 1024 / seconds)


def clock(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="en-de")
    parser.add_argument("--data", type=Path, default=DEMO)
    parser.add_argument("--segments", type=int, default=40)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--small", action="store_true", help="a run of seconds, to check that the script works")
    options = parser.parse_args(argv)
    if options.small:
        options.segments, options.threads = 2, 1
    return options


if __name__ == "__main__":
    main()
