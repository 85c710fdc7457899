"""Finding a translation: greedy, beam, sampling, and completing what a translator has begun.

One step of the decoder is a handful of small products; `generate` spends more time around them than in them.
The tokens are those of Hugging Face's `generate` (greedy, and beam search with its length penalty and stopping rule).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional as F

from mtloop.nmt.engine.layers import ACTIVATIONS, split
from mtloop.nmt.engine.marian import GAZE, Encoded, Marian, gaze
from mtloop.nmt.engine.truncation import WHOLE, Truncation
from mtloop.nmt.engine.vocabulary import SPACE
from mtloop.nmt.engine.weights import OUTPUT, TARGET, Weights


@dataclass(frozen=True)
class Found:
    """A translation as ids, and the log-probability the model gave it."""

    ids: tuple[int, ...]
    log_probability: float
    score: float
    likeliest: bool = False
    """Whether a draw came out as the greedy translation."""


@dataclass(frozen=True)
class LengthLimits:
    """What keeps a model that has gone astray from talking forever.

    The output may be `factor` times the source plus `slack` tokens long; a phrase of up to `phrase` tokens
    may stand `repeats` times in a row, then the sentence ends.
    """

    factor: float = 3.0
    slack: int = 20
    phrase: int = 8
    repeats: int = 4

    def longest(self, source: int, positions: int) -> int:
        return min(positions, int(self.factor * source) + self.slack)

    def loops(self, ids: Sequence[int]) -> bool:
        """Whether the last tokens are one phrase over and over.

        >>> LengthLimits().loops([7, 1, 2, 1, 2, 1, 2, 1, 2]), Limits().loops([1, 2, 3])
        (True, False)
        """
        return any(self._repeated(ids, size) for size in range(1, self.phrase + 1))

    def _repeated(self, ids: Sequence[int], size: int) -> bool:
        tail = ids[-size * self.repeats :]
        return len(tail) == size * self.repeats and all(tail[i] == tail[i - size] for i in range(size, len(tail)))


@dataclass(frozen=True, eq=False)
class Moment:
    """Where a search stands: the decoder's state of each beam, where it looks at the source, what it has written."""

    states: Tensor
    attention: Tensor
    written: Sequence[Sequence[int]]


class Advice(Protocol):
    """Has a say in the next token."""

    def __call__(self, moment: Moment, logits: Tensor) -> Tensor:
        """Logits (beams, vocabulary) to better ones, or to log-probabilities."""


UNLIMITED = LengthLimits(factor=1e6, repeats=10**6)
FIRST_ROOM = 64  # tokens to keep before memory is doubled


@dataclass(frozen=True)
class Affine:
    """A linear layer's two tensors, bound once: looking them up by name would cost as much as the product."""

    bias: Tensor
    matrix: Tensor

    @classmethod
    def of(cls, weights: Weights, prefix: str) -> Affine:
        return cls(weights.block(f"{prefix}.bias"), weights.block(f"{prefix}.weight").t())

    def __call__(self, x: Tensor) -> Tensor:
        return torch.addmm(self.bias, x, self.matrix)


class DecoderLayer:
    """One layer on one source: its tensors, the source's keys and values, and those of the tokens so far."""

    def __init__(self, model: Marian, prefix: str, memory: Tensor, beams: int) -> None:
        weights, self.beams, self.heads = model.weights, beams, model.shape.heads
        self.project, self.mix = (Affine.of(weights, f"{prefix}.self_attn.{part}") for part in ("fused", "out_proj"))
        self.ask, self.hear = (Affine.of(weights, f"{prefix}.encoder_attn.{part}") for part in ("q_proj", "out_proj"))
        self.widen, self.narrow = (Affine.of(weights, f"{prefix}.{part}") for part in ("fc1", "fc2"))
        self.norms = [
            (weights[f"{prefix}.{part}_layer_norm.weight"], weights[f"{prefix}.{part}_layer_norm.bias"])
            for part in ("self_attn", "encoder_attn", "final")
        ]
        self.activation = ACTIVATIONS[model.shape.activation]
        key, value = Affine.of(weights, f"{prefix}.encoder_attn.fused")(memory).chunk(2, dim=1)
        self.source_keys, self.source_values = (
            split(key, self.heads).transpose(1, 2).contiguous(),
            split(value, self.heads).contiguous(),
        )
        size = (beams, self.heads, FIRST_ROOM, model.shape.width // self.heads)
        self.keys, self.values = torch.empty(size), torch.empty(size)
        self.scale = size[-1] ** -0.5
        self.looks = torch.empty(0)  # where each beam looks at the source: (heads, beams, source)

    def __call__(self, x: Tensor, length: int) -> Tensor:
        x = self._norm(x + self._look_back(x, length), 0)
        x = self._norm(x + self._look_at_source(x), 1)
        return self._norm(x + self.narrow(self.activation(self.widen(x))), 2)

    def keep(self, beams: Tensor) -> None:
        self.keys, self.values = self.keys[beams], self.values[beams]

    def _look_back(self, x: Tensor, length: int) -> Tensor:
        query, key, value = self.project(x).view(self.beams, 3, self.heads, 1, -1).unbind(1)
        if length == self.keys.shape[2]:
            self.keys, self.values = (torch.cat([past, past], dim=2) for past in (self.keys, self.values))
        self.keys[:, :, length : length + 1] = key
        self.values[:, :, length : length + 1] = value
        keys, values = self.keys[:, :, : length + 1], self.values[:, :, : length + 1]
        mixed = ((query * self.scale) @ keys.transpose(2, 3)).softmax(-1) @ values
        return self.mix(mixed.view(self.beams, -1))

    def _look_at_source(self, x: Tensor) -> Tensor:
        """All beams share the source: they are its queries."""
        query = self.ask(x).view(self.beams, self.heads, -1).transpose(0, 1)
        self.looks = torch.bmm(query * self.scale, self.source_keys).softmax(-1)
        mixed = torch.bmm(self.looks, self.source_values)
        return self.hear(mixed.transpose(0, 1).reshape(self.beams, -1))

    def _norm(self, x: Tensor, which: int) -> Tensor:
        return F.layer_norm(x, (x.shape[-1],), *self.norms[which])


class Decoder:
    """The decoder at work on one source, with `beams` hypotheses side by side."""

    def __init__(
        self,
        model: Marian,
        memory: Tensor,
        beams: int = 1,
        extra_bias: Tensor | None = None,
        advice: Sequence[Advice] = (),
    ) -> None:
        self.model, self.length, self._extra_bias, self._advice = model, 0, extra_bias, advice
        prefixes = (f"model.decoder.layers.{i}" for i in range(model.shape.decoder_layers))
        self._layers = [DecoderLayer(model, prefix, memory, beams) for prefix in prefixes]

    def step(self, tokens: Tensor, written: Sequence[Sequence[int]]) -> Tensor:
        """The logits after these tokens, one a beam: (beams, vocabulary); `written` is all each beam has so far."""
        states = self.states(tokens)
        logits = self.model.logits(states, self._extra_bias)
        if self._advice:
            moment = Moment(states, gaze([layer.looks for layer in self._layers[-GAZE:]]), written)
            for advise in self._advice:
                logits = advise(moment, logits)
        return logits

    def states(self, tokens: Tensor) -> Tensor:
        """The last decoder state of each beam."""
        x = self.model.rows(TARGET, tokens) * self.model.shape.scale + self.model.positions[self.length]
        for layer in self._layers:
            x = layer(x, self.length)
        self.length += 1
        return x

    def keep(self, beams: Tensor) -> None:
        """Go on with these of the beams, in this order."""
        for layer in self._layers:
            layer.keep(beams)


@dataclass
class Begun:
    """What the translator has typed: whole words are forced, the last one may be unfinished and is completed."""

    model: Marian
    prefix: str
    forced: list[int] = field(init=False)
    rest: str = field(init=False)

    def __post_init__(self) -> None:
        words, _, self.rest = self.prefix.rpartition(" ")
        self.forced = self.model.target.encode(words)[:-1] if words.strip() else []
        self.rest = SPACE + self.rest if self.rest else ""

    def mask(self, step: int) -> Tensor | None:
        """Added to the logits of a step: zero for what agrees with the prefix, minus infinity for the rest."""
        if step < len(self.forced):
            return self._only([self.forced[step]])
        return self._only(self._agreeing()) if self.rest else None

    def took(self, step: int, token: int) -> None:
        if step >= len(self.forced):
            self.rest = self.rest[len(self.model.target.pieces[token]) :]

    def _agreeing(self) -> list[int]:
        pieces = self.model.target.pieces
        found = [i for i, p in enumerate(pieces) if p and (p.startswith(self.rest) or self.rest.startswith(p))]
        return found or [self.model.target.unknown]

    def _only(self, ids: list[int]) -> Tensor:
        mask = torch.full((len(self.model.weights[OUTPUT]),), float("-inf"))
        mask[ids] = 0.0
        return mask


def read(model: Marian, source: list[int] | Encoded) -> Encoded:
    """The source as the decoder needs it, unless it is so already."""
    return source if isinstance(source, Encoded) else model.encode(source)


@torch.no_grad()
def greedy(
    model: Marian,
    source: list[int] | Encoded,
    limits: LengthLimits,
    extra_bias: Tensor | None = None,
    prefix: str = "",
    scored: bool = True,
    advice: Sequence[Advice] = (),
) -> Found:
    """The likeliest token at every step; without `scored` its log-probability is not asked for, and NaN."""
    encoded = read(model, source)
    decoder = Decoder(model, encoded.states, extra_bias=extra_bias, advice=advice)
    begun = Begun(model, prefix) if prefix else None
    longest = limits.longest(len(encoded.ids), model.shape.positions)
    return _walk(decoder, begun, longest, limits, _likeliest, scored)


@torch.no_grad()
def sample(
    model: Marian,
    source: list[int] | Encoded,
    limits: LengthLimits,
    seed: int,
    temperature: float = 1.0,
    extra_bias: Tensor | None = None,
    cut: Truncation = WHOLE,
    timid: bool = False,
) -> Found:
    """A translation drawn from the model; the same seed draws the same. Its log-probability is that of the draw.

    `timid` takes the likeliest token every time, and tells how likely a draw would have been to come out so.
    """
    rng, likeliest, drawn = random.Random(seed), True, 0.0

    def draw(logits: Tensor) -> int:
        nonlocal drawn, likeliest
        chances = cut((logits / temperature)[None])[0].log_softmax(-1)
        top = int(logits.argmax())
        token = top if timid else _drawn(chances, rng.random())
        likeliest &= token == top
        drawn += float(chances[token])
        return token

    encoded = read(model, source)
    decoder = Decoder(model, encoded.states, extra_bias=extra_bias)
    longest = limits.longest(len(encoded.ids), model.shape.positions)
    found = _walk(decoder, None, longest, limits, draw, scored=False)
    return Found(found.ids, drawn, drawn / max(len(found.ids), 1), likeliest)


def _drawn(chances: Tensor, where: float) -> int:
    """The token that holds this share of the probability, counted from the first."""
    share = chances.exp().cumsum(-1)
    return min(int(torch.searchsorted(share, where * float(share[-1]))), len(share) - 1)


def _likeliest(logits: Tensor) -> int:
    return int(logits.argmax())


def _walk(
    decoder: Decoder,
    begun: Begun | None,
    longest: int,
    limits: LengthLimits,
    choose: Callable[[Tensor], int],
    scored: bool,
) -> Found:
    """Token by token until the end; a phrase over and over, or too many of them, end the sentence."""
    target, total = decoder.model.target, 0.0 if scored else float("nan")
    ids: list[int] = []
    token = decoder.model.shape.start
    while token != target.end and len(ids) < longest:
        logits = decoder.step(torch.tensor([token]), [ids])[0]
        norm = float(logits.logsumexp(-1)) if scored else 0.0
        logits[target.pad] = float("-inf")
        mask = begun.mask(len(ids)) if begun else None
        wanted = logits if mask is None else logits + mask
        if mask is not None and bool(wanted.isinf().all()):  # advice against what was typed
            wanted = mask
        token = target.end if limits.loops(ids) else choose(wanted)
        if begun:
            begun.took(len(ids), token)
        total += float(logits[token]) - norm
        ids.append(token)
    return Found(tuple(ids), total, total / max(len(ids), 1))


@torch.no_grad()
def beam(
    model: Marian,
    source: list[int] | Encoded,
    beams: int,
    limits: LengthLimits,
    extra_bias: Tensor | None = None,
    length_penalty: float = 1.0,
    advice: Sequence[Advice] = (),
) -> list[Found]:
    """The best translations found with so many hypotheses side by side, best first.

    Hugging Face's rules: twice as many continuations as beams are looked at, only the first half may finish, a
    finished one scores log p / length^penalty, and the search ends when no running one can still beat the worst kept.
    """
    encoded = read(model, source)
    decoder = Decoder(model, encoded.states, beams, extra_bias, advice)
    longest = limits.longest(len(encoded.ids), model.shape.positions)
    running, scores = [[model.shape.start] for _ in range(beams)], torch.tensor([0.0] + [-1e9] * (beams - 1))
    finished: list[Found] = []
    for length in range(1, longest + 1):
        best, origin, tokens = _continuations(decoder, running, scores, limits)
        ended = [token == model.target.end or length == longest for token in tokens]
        for i in range(beams):
            if ended[i]:
                ids = (*running[origin[i]][1:], tokens[i])
                finished.append(Found(ids, float(best[i]), float(best[i]) / length**length_penalty))
        finished = sorted(finished, key=lambda found: -found.score)[:beams]
        alive = [i for i in range(2 * beams) if not ended[i]][:beams]
        if not alive or (
            len(finished) == beams and float(best[alive[0]]) / length**length_penalty <= finished[-1].score
        ):
            break
        running = [[*running[origin[i]], tokens[i]] for i in alive]
        scores = best[alive]
        decoder.keep(torch.tensor([origin[i] for i in alive]))
    return finished


def _continuations(
    decoder: Decoder, running: list[list[int]], scores: Tensor, limits: LengthLimits
) -> tuple[Tensor, list[int], list[int]]:
    """The likeliest next tokens over all beams: their scores, the beam each comes from, and the token."""
    logits = decoder.step(torch.tensor([ids[-1] for ids in running]), [ids[1:] for ids in running])
    log_probabilities = logits.log_softmax(-1)
    log_probabilities[:, decoder.model.target.pad] = float("-inf")
    for row, ids in enumerate(running):
        if limits.loops(ids):
            end = float(log_probabilities[row, decoder.model.target.end])
            log_probabilities[row] = float("-inf")
            log_probabilities[row, decoder.model.target.end] = end
    best, where = (log_probabilities + scores[:, None]).view(-1).topk(2 * len(running))
    size = log_probabilities.shape[1]
    return best, (where // size).tolist(), (where % size).tolist()
