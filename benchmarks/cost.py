"""Time decoding and learning against a plain transformers loop and CTranslate2, and a token as the memory grows.

    python benchmarks/cost.py [--data FILE] [--segments 30] [--threads 1,2] [--widths 256,512]

Width 256 is the embedded model (20 million parameters). Another width is a model with random weights and the same
vocabulary, six layers on either side (512: 69 million); its sources have 12 tokens, and its output as many. All engines
take turns, segment by segment. Ratios are to the plain loop of the same run: processor time, so that other programs
matter less. MB are those of all weights. CTranslate2 is left out if it is not installed.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from transformers import MarianConfig, MarianMTModel

from mtloop.core import PostEdit, Segment
from mtloop.data import read
from mtloop.methods.registry import make_learner, settings_of
from mtloop.nmt.adaptive import AdaptiveNMT
from mtloop.nmt.decoding.memory import StoredSegment
from mtloop.nmt.engine.batch_search import greedy_batch
from mtloop.nmt.engine.find_model import find_model
from mtloop.nmt.engine.marian import Marian
from mtloop.nmt.engine.search import LengthLimits, greedy
from mtloop.nmt.engine.threads import set_threads
from mtloop.nmt.engine.weights import OUTPUT

DEMO = Path(__file__).parents[1] / "mtloop" / "demo" / "manual.en-de.tsv"
METHODS = ("baseline", "bias", "full", "lasso", "lora", "memory", "lora+memory+copy")
PRECISIONS = ("float32", "bfloat16", "int8")
EMBEDDED_WIDTH, LAYERS, RANDOM_LENGTH = 256, 6, 12
RATE, UPDATES, TARGET_PERPLEXITY = 3e-3, 3, 2.0
Pairs = Sequence[tuple[str, str]]
Ids = list[list[int]]


def main(argv: Sequence[str] | None = None) -> None:
    options = parse(argv)
    pairs = [(one.source, truth.references[0]) for one, truth in islice(read(options.data), options.segments)]
    for width in options.widths:
        with tempfile.TemporaryDirectory() as folder:
            bench = Bench(model_folder(width, Path(folder)), width != EMBEDDED_WIDTH, pairs)
            for threads in options.threads:
                set_threads(threads)
                print(f"\n{bench.millions:.0f} million parameters, {threads} thread(s)\n", flush=True)
                bench.decode(options.batches)
                bench.learn()
    set_threads(1)
    growth(Marian.load(find_model("en-de")), pairs, options.stored)


class Bench:
    """One model in all engines."""

    def __init__(self, folder: Path, is_random: bool, pairs: Pairs) -> None:
        self.folder, self.pairs, self.model = folder, pairs, Marian.load(folder)
        self.plain = MarianMTModel.from_pretrained(folder, dtype=torch.float32).eval()
        self.sources = [self._ids(source, is_random) for source, _ in pairs]
        self.limits = LengthLimits(factor=1.0, slack=0) if is_random else LengthLimits(max_repeats=10**6)
        self.millions = sum(one.numel() for one in self.plain.parameters()) / 1e6

    def _ids(self, source: str, is_random: bool) -> list[int]:
        """Return a source as ids; for random weights all have one length, so that all engines write as many tokens."""
        ids = self.model.source.encode(source)
        return (ids * RANDOM_LENGTH)[: RANDOM_LENGTH - 1] + ids[-1:] if is_random else ids

    def decode(self, batches: Sequence[int]) -> None:
        for source in self.sources:  # the engine prepares what it uses often; a server has done so
            self._own([source])
            self._rounded([source])
        for batch in batches:
            groups = [self.sources[start : start + batch] for start in range(0, len(self.sources), batch)]
            engines = {
                "plain": self._plain,
                "mtloop float32": self._own,
                "mtloop int8": self._rounded,
                **self._ctranslate2(),
            }
            times = {name: [0.0, 0] for name in engines}
            for number, group in enumerate([groups[0], *groups]):  # the first one once more: it warms up
                for name, engine in engines.items():
                    add(times[name], engine, group, not number)
            report(f"decode, batch {batch}", "token", times, self._bytes())

    def learn(self) -> None:
        """A step: translate, then learn from the correction; a pair that a method rejects costs its check."""
        steps: dict[str, Callable[[str, str], int]] = {"plain full": PlainStep(self)}
        for method in METHODS:
            for precision in PRECISIONS:
                learner = make_learner(method, self.model, settings_of(method, {"precision": precision}))
                assert isinstance(learner, AdaptiveNMT)
                learner.limits = self.limits
                steps[f"{method} {precision}"] = OwnStep(learner)
        times = {name: [0.0, 0] for name in steps}
        for number, pair in enumerate([self.pairs[0], *self.pairs]):
            for name, step in steps.items():
                add(times[name], lambda _, step=step, pair=pair: [[0] * step(*pair)], [], not number)
        report("step", "segment", {name: [seconds, len(self.pairs)] for name, (seconds, _) in times.items()}, {})

    def _plain(self, sources: Ids) -> Ids:
        longest = max(map(len, sources))
        padding = self.model.shape.padding
        ids = torch.tensor([[*one, *[padding] * (longest - len(one))] for one in sources])
        limit = self.limits.max_length(longest, self.model.shape.positions)
        mask = (torch.arange(longest) < torch.tensor([len(one) for one in sources])[:, None]).long()
        found = self.plain.generate(ids, attention_mask=mask, num_beams=1, do_sample=False, max_length=limit + 1)
        return [[one for one in row[1:] if one != padding] for row in found.tolist()]

    def _own(self, sources: Ids) -> Ids:
        return self._search(self.model, sources)

    def _rounded(self, sources: Ids) -> Ids:
        return self._search(self.model.with_precision("int8"), sources)

    def _search(self, model: Marian, sources: Ids) -> Ids:
        if len(sources) > 1:
            return [list(ids) for ids in greedy_batch(model, sources, self.limits)]
        return [list(greedy(model, sources[0], self.limits, scored=False).ids)]

    def _ctranslate2(self) -> dict[str, Callable[[Ids], Ids]]:
        try:
            import ctranslate2
        except ImportError:
            return {}
        folder = self.folder / "ctranslate2"
        if not folder.exists():
            convert(self.plain, self.model, folder)
        found = {}
        for kind in ("float32", "int8"):
            threads = torch.get_num_threads()
            translator = ctranslate2.Translator(str(folder), compute_type=kind, inter_threads=1, intra_threads=threads)
            found[f"CTranslate2 {kind}"] = CTranslate2(translator, self.limits, self.model.shape.positions)
        return found

    def _bytes(self) -> dict[str, float]:
        """Megabytes of weights; those of mtloop include its copies in int8, and not those in bfloat16."""
        weights = self.model.weights
        screen = weights[OUTPUT].numel() / 1e6
        decoder = sum(one.numel() for name, one in weights.items() if ".decoder.layers." in name) / 1e6
        whole = dict.fromkeys(("plain", "CTranslate2 float32"), 4 * self.millions)
        whole["mtloop int8"] = whole["plain"] + screen + decoder
        return whole | {"mtloop float32": whole["plain"] + screen, "CTranslate2 int8": self.millions}


class CTranslate2:
    """A translator of CTranslate2 on ids; the tokens of its vocabulary are numbers."""

    def __init__(self, translator: Any, limits: LengthLimits, positions: int) -> None:
        self.translator, self.limits, self.positions = translator, limits, positions

    def __call__(self, sources: Ids) -> Ids:
        tokens = [[TOKENS.get(one, str(one)) for one in ids] for ids in sources]
        limit = self.limits.max_length(max(map(len, sources)), self.positions)
        padding = [["<pad>"]]
        found = self.translator.translate_batch(
            tokens, beam_size=1, max_decoding_length=limit, suppress_sequences=padding
        )
        return [[0] * (len(one.hypotheses[0]) + 1) for one in found]


TOKENS = {0: "</s>", 1: "<unk>", 2: "<pad>"}


def convert(plain: MarianMTModel, model: Marian, folder: Path) -> None:
    """Write a model in the format of CTranslate2; its own converter expects the padding at the end."""
    from ctranslate2.converters.transformers import MarianMTLoader

    class Loader(MarianMTLoader):  # type: ignore[misc]
        def _remove_pad_weights(self, spec: Any) -> None:
            """Keep all rows."""

        def set_decoder(self, spec: Any, decoder: Any) -> None:
            super().set_decoder(spec, decoder)
            spec.start_from_zero_embedding = False

    spec = Loader().get_model_spec(plain)
    tokens = [TOKENS.get(one, str(one)) for one in range(len(model.target.pieces))]
    spec.register_source_vocabulary(tokens)
    spec.register_target_vocabulary(tokens)
    spec.config.decoder_start_token = spec.config.bos_token = "<pad>"
    spec.config.eos_token, spec.config.unk_token, spec.config.add_source_eos = "</s>", "<unk>", False
    spec.validate()
    spec.optimize(quantization=None)
    folder.mkdir()
    spec.save(str(folder))


class PlainStep:
    """One step of a plain loop in transformers that learns all weights."""

    def __init__(self, bench: Bench) -> None:
        self.bench, self.plain = bench, MarianMTModel.from_pretrained(bench.folder, dtype=torch.float32).eval()

    def __call__(self, source: str, target: str) -> int:
        model = self.bench.model
        ids, labels = torch.tensor([model.source.encode(source)]), torch.tensor([model.target.encode(target)])
        limit = self.bench.limits.max_length(ids.shape[1], model.shape.positions)
        self.plain.generate(ids, num_beams=1, do_sample=False, max_length=limit + 1)
        for done in range(UPDATES):
            loss = self.plain(input_ids=ids, labels=labels).loss
            if float(loss.detach().exp()) <= TARGET_PERPLEXITY:
                return done
            self.plain.zero_grad()
            loss.backward()
            with torch.no_grad():
                for one in self.plain.parameters():
                    if one.grad is not None:
                        one.sub_(one.grad, alpha=RATE / max(1.0, float(one.grad.norm())))
        return UPDATES


class OwnStep:
    """One step of a method of mtloop."""

    def __init__(self, learner: AdaptiveNMT) -> None:
        self.learner, self.number = learner, 0

    def __call__(self, source: str, target: str) -> int:
        self.number += 1
        proposal = self.learner.propose(Segment(str(self.number), source))
        return self.learner.learn(proposal, PostEdit(target)).updates


def growth(model: Marian, pairs: Pairs, sizes: Sequence[int]) -> None:
    """Print the time of a token with a memory of so many corrections, relative to the smallest."""
    learner = make_learner("memory", model)
    assert isinstance(learner, AdaptiveNMT)
    assert learner.memory is not None
    added, first = 0, 0.0
    print("\ncorrections  a token, relative")
    for size in sizes:
        for segment in stored(model, pairs, added, size):
            learner.memory.add(segment)
        added, seconds, tokens = size, 0.0, 0
        for _ in range(2):
            for source, _target in pairs[:20]:
                start = time.process_time()
                tokens += len(learner.search(source)[0].ids)
                seconds += time.process_time() - start
                learner.search("x")  # the learner keeps the last encoding
        first = first or seconds / tokens
        print(f"{size:11,}  {seconds / tokens / first:6.2f}", flush=True)


def stored(model: Marian, pairs: Pairs, start: int, stop: int) -> Iterator[StoredSegment]:
    """Yield corrections of sources with the words of the data, and with random states."""
    generator = torch.Generator().manual_seed(start)
    for number in range(start, stop):
        source, target = pairs[number % len(pairs)]
        tokens = torch.tensor(model.target.encode(target))
        words = source.lower().split() or ["x"]
        keys = torch.randn(len(tokens), model.shape.width, generator=generator).half()
        attended = tuple(words[place % len(words)] for place in range(len(tokens)))
        yield StoredSegment(number, f"{source} {number}", target, tokens, keys, attended)


def add(total: list[float], work: Callable[[Ids], Ids], group: Ids, warms_up: bool) -> None:
    start = time.process_time()
    found = work(group)
    if not warms_up:
        total[0] += time.process_time() - start
        total[1] += sum(map(len, found))


def report(what: str, unit: str, times: dict[str, list[float]], megabytes: dict[str, float]) -> None:
    plain = next(iter(times.values()))
    for name, (seconds, count) in times.items():
        each, size = seconds / max(count, 1), megabytes.get(name)
        ratio = each / (plain[0] / max(plain[1], 1))
        room = f"  {size:5.0f} MB" if size else ""
        print(f"{what:16} {name:28} {1000 * each:8.2f} ms a {unit}  ratio {ratio:5.2f}{room}", flush=True)


def model_folder(width: int, folder: Path) -> Path:
    """Return the folder of the embedded model, or of one with random weights and the same vocabulary."""
    embedded = find_model("en-de")
    target = folder / "model"
    shutil.copytree(embedded, target, ignore=shutil.ignore_patterns("__pycache__"))
    if width == EMBEDDED_WIDTH:
        return target
    sizes = {"d_model": width, "encoder_layers": LAYERS, "decoder_layers": LAYERS}
    sizes |= {f"{side}_ffn_dim": 4 * width for side in ("encoder", "decoder")}
    config = json.loads((target / "config.json").read_text()) | sizes
    torch.manual_seed(1)
    MarianMTModel(MarianConfig(**config)).eval().save_pretrained(target)
    (target / "config.json").write_text(json.dumps(config))
    return target


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    def numbers(text: str) -> list[int]:
        return [int(one) for one in text.split(",")]

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DEMO)
    parser.add_argument("--segments", type=int, default=30)
    parser.add_argument("--threads", type=numbers, default=[1, 2])
    parser.add_argument("--widths", type=numbers, default=[EMBEDDED_WIDTH, 512])
    parser.add_argument("--batches", type=numbers, default=[1, 8, 32])
    parser.add_argument("--stored", type=numbers, default=[100, 1000, 10000, 50000])
    parser.add_argument("--small", action="store_true", help="a run of seconds, to check that the script works")
    options = parser.parse_args(argv)
    if options.small:
        options.segments, options.threads, options.widths = 2, [1], [EMBEDDED_WIDTH]
        options.batches, options.stored = [1, 2], [2, 4]
    return options


if __name__ == "__main__":
    main()
