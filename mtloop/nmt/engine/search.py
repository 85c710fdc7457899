"""Search for a translation: greedy, beam, sampling, and completion of a typed prefix.

One decoder step is a few small matrix products. Hugging Face's `generate` has more overhead than that, so this module
replaces it. It gives the same tokens (greedy, and beam search with its length penalty and stopping rule).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional as F

from mtloop.nmt.engine.layers import ACTIVATIONS, split_heads
from mtloop.nmt.engine.marian import ATTENTION_LAYERS, Encoded, Marian, mean_attention
from mtloop.nmt.engine.truncation import NO_TRUNCATION, Truncation
from mtloop.nmt.engine.vocabulary import SPACE
from mtloop.nmt.engine.weights import OUTPUT, TARGET, Weights


@dataclass(frozen=True)
class Hypothesis:
    """A translation as ids, its log-probability, and its length-normalised score."""

    ids: tuple[int, ...]
    log_probability: float
    score: float
    is_greedy: bool = False
    """Whether a sample is equal to the greedy translation."""


@dataclass(frozen=True)
class LengthLimits:
    """Limits against endless output.

    The output has at most `factor` times the source length plus `slack` tokens. A phrase of up to `max_phrase` tokens
    may occur `max_repeats` times in a row; then the sentence ends.
    """

    factor: float = 3.0
    slack: int = 20
    max_phrase: int = 8
    max_repeats: int = 4

    def max_length(self, source_length: int, positions: int) -> int:
        return min(positions, int(self.factor * source_length) + self.slack)

    def is_looping(self, ids: Sequence[int]) -> bool:
        """Return whether the last tokens are one phrase, repeated `max_repeats` times.

        >>> LengthLimits().is_looping([7, 1, 2, 1, 2, 1, 2, 1, 2]), LengthLimits().is_looping([1, 2, 3])
        (True, False)
        """
        return any(self._repeats(ids, size) for size in range(1, self.max_phrase + 1))

    def _repeats(self, ids: Sequence[int], size: int) -> bool:
        length = size * self.max_repeats
        tail = ids[-length:]
        return len(tail) == length and all(tail[i] == tail[i - size] for i in range(size, len(tail)))


@dataclass(frozen=True, eq=False)
class SearchState:
    """The state of a search before the next token.

    For each hypothesis: the last decoder state, the attention on the source, and the tokens generated so far.
    """

    decoder_states: Tensor
    attention: Tensor
    tokens: Sequence[Sequence[int]]


class LogitsProcessor(Protocol):
    """Changes the scores of the next token."""

    def __call__(self, state: SearchState, logits: Tensor) -> Tensor:
        """Return the changed logits (beam size, vocabulary), or log-probabilities; may write to `logits`."""


UNLIMITED = LengthLimits(factor=1e6, max_repeats=10**6)
INITIAL_CAPACITY = 64  # tokens to allocate memory for, before it is doubled


@dataclass(frozen=True)
class Affine:
    """The two tensors of a linear layer, looked up once: a lookup by name would cost as much as the product."""

    bias: Tensor
    matrix: Tensor

    @classmethod
    def of(cls, weights: Weights, prefix: str) -> Affine:
        return cls(weights.block(f"{prefix}.bias"), weights.block(f"{prefix}.weight").t())

    def __call__(self, x: Tensor) -> Tensor:
        return torch.addmm(self.bias, x, self.matrix)


def decoding(weights: Weights, prefix: str) -> Callable[[Tensor], Tensor]:
    """Return a linear layer as it decodes: in int8, if the weights say so and the layer is frozen."""
    rounded = weights.rounded(f"{prefix}.weight")
    if rounded is None:
        return Affine.of(weights, prefix)
    return partial(rounded.multiply, weights.block(f"{prefix}.bias"))


class DecoderLayer:
    """One decoder layer on one source: its tensors, and the keys and values of the source and of the tokens so far."""

    def __init__(self, model: Marian, prefix: str, encoder_states: Tensor, beam_size: int) -> None:
        weights, self.beam_size, self.heads = model.weights, beam_size, model.shape.heads
        self.self_projection, self.self_output = (
            decoding(weights, f"{prefix}.self_attn.{part}") for part in ("fused", "out_proj")
        )
        self.cross_query, self.cross_output = (
            decoding(weights, f"{prefix}.encoder_attn.{part}") for part in ("q_proj", "out_proj")
        )
        self.fc1, self.fc2 = (decoding(weights, f"{prefix}.{part}") for part in ("fc1", "fc2"))
        self.norms = [
            (weights[f"{prefix}.{part}_layer_norm.weight"], weights[f"{prefix}.{part}_layer_norm.bias"])
            for part in ("self_attn", "encoder_attn", "final")
        ]
        self.activation = ACTIVATIONS[model.shape.activation]
        key, value = Affine.of(weights, f"{prefix}.encoder_attn.fused")(encoder_states).chunk(2, dim=1)
        self.source_keys, self.source_values = (
            split_heads(key, self.heads).transpose(1, 2).contiguous(),
            split_heads(value, self.heads).contiguous(),
        )
        size = (beam_size, self.heads, INITIAL_CAPACITY, model.shape.width // self.heads)
        self.keys, self.values = torch.empty(size), torch.empty(size)
        self.scale = size[-1] ** -0.5
        self.attention = torch.empty(0)  # on the source: (heads, beam size, source length)

    def __call__(self, x: Tensor, length: int) -> Tensor:
        x = self._norm(x + self._self_attention(x, length), 0)
        x = self._norm(x + self._cross_attention(x), 1)
        return self._norm(x + self.fc2(self.activation(self.fc1(x))), 2)

    def reorder(self, beams: Tensor) -> None:
        self.keys, self.values = self.keys[beams], self.values[beams]

    def _self_attention(self, x: Tensor, length: int) -> Tensor:
        query, key, value = self.self_projection(x).view(self.beam_size, 3, self.heads, 1, -1).unbind(1)
        if length == self.keys.shape[2]:
            self.keys, self.values = (torch.cat([past, past], dim=2) for past in (self.keys, self.values))
        self.keys[:, :, length : length + 1] = key
        self.values[:, :, length : length + 1] = value
        keys, values = self.keys[:, :, : length + 1], self.values[:, :, : length + 1]
        mixed = ((query * self.scale) @ keys.transpose(2, 3)).softmax(-1) @ values
        return self.self_output(mixed.view(self.beam_size, -1))

    def _cross_attention(self, x: Tensor) -> Tensor:
        """All hypotheses attend to the same source: they are the queries of one product."""
        query = self.cross_query(x).view(self.beam_size, self.heads, -1).transpose(0, 1)
        self.attention = torch.bmm(query * self.scale, self.source_keys).softmax(-1)
        mixed = torch.bmm(self.attention, self.source_values)
        return self.cross_output(mixed.transpose(0, 1).reshape(self.beam_size, -1))

    def _norm(self, x: Tensor, which: int) -> Tensor:
        return F.layer_norm(x, (x.shape[-1],), *self.norms[which])


class Decoder:
    """Decodes one source step by step, with `beam_size` hypotheses in parallel."""

    def __init__(
        self,
        model: Marian,
        encoder_states: Tensor,
        beam_size: int = 1,
        extra_bias: Tensor | None = None,
        processors: Sequence[LogitsProcessor] = (),
    ) -> None:
        self.model, self.length, self._extra_bias, self._processors = model, 0, extra_bias, processors
        prefixes = (f"model.decoder.layers.{i}" for i in range(model.shape.decoder_layers))
        self._layers = [DecoderLayer(model, prefix, encoder_states, beam_size) for prefix in prefixes]

    def step(self, last: Tensor, tokens: Sequence[Sequence[int]]) -> Tensor:
        """Return the logits of the next token: (beam size, vocabulary).

        `last` is the last token of each hypothesis; `tokens` are all its tokens so far.
        """
        states = self.states(last)
        logits = self.model.logits(states, self._extra_bias)
        if self._processors:
            attention = mean_attention([layer.attention for layer in self._layers[-ATTENTION_LAYERS:]])
            state = SearchState(states, attention, tokens)
            for processor in self._processors:
                logits = processor(state, logits)
        return logits

    @property
    def is_plain(self) -> bool:
        """Whether nothing but the model decides on the next token."""
        return not self._processors

    def best_token(self, last: Tensor) -> int:
        """Return the most probable next token, which is no padding; only for a decoder without processors."""
        return self.model.best_token(self.states(last), self._bias)

    @cached_property
    def _bias(self) -> Tensor:
        """The output bias, which excludes padding."""
        bias = self.model.output_bias(self._extra_bias).clone()
        bias[self.model.target.pad] = float("-inf")
        return bias

    def states(self, last: Tensor) -> Tensor:
        """Return the last decoder state of each hypothesis."""
        x = self.model.embedding_rows(TARGET, last) * self.model.shape.scale + self.model.positions[self.length]
        for layer in self._layers:
            x = layer(x, self.length)
        self.length += 1
        return x

    def reorder(self, beams: Tensor) -> None:
        """Continue with these hypotheses, in this order."""
        for layer in self._layers:
            layer.reorder(beams)


@dataclass
class PrefixConstraint:
    """A prefix typed by the translator: whole words are forced; the last one may be incomplete and is completed."""

    model: Marian
    prefix: str
    forced: list[int] = field(init=False)
    rest: str = field(init=False)

    def __post_init__(self) -> None:
        words, _, self.rest = self.prefix.rpartition(" ")
        self.forced = self.model.target.encode(words)[:-1] if words.strip() else []
        self.rest = SPACE + self.rest if self.rest else ""

    def mask(self, step: int) -> Tensor | None:
        """Return a mask to add to the logits: 0 for tokens that agree with the prefix, minus infinity for others.

        Return None after the end of the prefix.
        """
        if step < len(self.forced):
            return self._allow([self.forced[step]])
        return self._allow(self._matching()) if self.rest else None

    def advance(self, step: int, token: int) -> None:
        """Remove the piece of a chosen token from the rest of the incomplete word."""
        if step >= len(self.forced):
            self.rest = self.rest[len(self.model.target.pieces[token]) :]

    def _matching(self) -> list[int]:
        pieces = self.model.target.pieces
        found = [i for i, p in enumerate(pieces) if p and (p.startswith(self.rest) or self.rest.startswith(p))]
        return found or [self.model.target.unknown]

    def _allow(self, ids: list[int]) -> Tensor:
        mask = torch.full((len(self.model.weights[OUTPUT]),), float("-inf"))
        mask[ids] = 0.0
        return mask


def encode_source(model: Marian, source: list[int] | Encoded) -> Encoded:
    """Run the encoder on a source, unless it is encoded already."""
    return source if isinstance(source, Encoded) else model.encode(source)


@torch.no_grad()
def greedy(
    model: Marian,
    source: list[int] | Encoded,
    limits: LengthLimits,
    extra_bias: Tensor | None = None,
    prefix: str = "",
    scored: bool = True,
    processors: Sequence[LogitsProcessor] = (),
) -> Hypothesis:
    """Take the most probable token at every step; without `scored` the log-probability is not computed and is NaN."""
    encoded = encode_source(model, source)
    decoder = Decoder(model, encoded.states, extra_bias=extra_bias, processors=processors)
    constraint = PrefixConstraint(model, prefix) if prefix else None
    max_length = limits.max_length(len(encoded.ids), model.shape.positions)
    if decoder.is_plain and constraint is None and not scored:
        return _most_probable(decoder, max_length, limits)
    return _decode(decoder, constraint, max_length, limits, _argmax, scored)


@torch.no_grad()
def sample(
    model: Marian,
    source: list[int] | Encoded,
    limits: LengthLimits,
    seed: int,
    temperature: float = 1.0,
    extra_bias: Tensor | None = None,
    truncation: Truncation = NO_TRUNCATION,
    take_best: bool = False,
) -> Hypothesis:
    """Sample a translation from the model; the same seed gives the same sample.

    Its log-probability is that under the sampling distribution. With `take_best`, take the most probable token at
    every step instead, and return the log-probability that a sample would have had.
    """
    rng, is_greedy, total = random.Random(seed), True, 0.0

    def choose(logits: Tensor) -> int:
        nonlocal total, is_greedy
        log_probabilities = truncation((logits / temperature)[None])[0].log_softmax(-1)
        best = int(logits.argmax())
        token = best if take_best else _sample_token(log_probabilities, rng.random())
        is_greedy &= token == best
        total += float(log_probabilities[token])
        return token

    encoded = encode_source(model, source)
    decoder = Decoder(model, encoded.states, extra_bias=extra_bias)
    max_length = limits.max_length(len(encoded.ids), model.shape.positions)
    found = _decode(decoder, None, max_length, limits, choose, scored=False)
    return Hypothesis(found.ids, total, total / max(len(found.ids), 1), is_greedy)


def _sample_token(log_probabilities: Tensor, quantile: float) -> int:
    """Return the token at a quantile (0 to 1) of the cumulative distribution."""
    cumulative = log_probabilities.exp().cumsum(-1)
    return min(int(torch.searchsorted(cumulative, quantile * float(cumulative[-1]))), len(cumulative) - 1)


def _argmax(logits: Tensor) -> int:
    return int(logits.numpy().argmax())  # torch's takes ten times as long


def _most_probable(decoder: Decoder, max_length: int, limits: LengthLimits) -> Hypothesis:
    """Do what `_decode` does where only the most probable token matters."""
    end, ids, token = decoder.model.target.end, list[int](), decoder.model.shape.start
    while token != end and len(ids) < max_length:
        token = end if limits.is_looping(ids) else decoder.best_token(torch.tensor([token]))
        ids.append(token)
    return Hypothesis(tuple(ids), float("nan"), float("nan"))


def _decode(
    decoder: Decoder,
    constraint: PrefixConstraint | None,
    max_length: int,
    limits: LengthLimits,
    choose: Callable[[Tensor], int],
    scored: bool,
) -> Hypothesis:
    """Generate token by token until the end of sentence, a repeated phrase, or the maximal length."""
    target, total = decoder.model.target, 0.0 if scored else float("nan")
    ids: list[int] = []
    token = decoder.model.shape.start
    while token != target.end and len(ids) < max_length:
        logits = decoder.step(torch.tensor([token]), [ids])[0]
        normaliser = float(logits.logsumexp(-1)) if scored else 0.0
        logits[target.pad] = float("-inf")
        mask = constraint.mask(len(ids)) if constraint else None
        allowed = logits if mask is None else logits + mask
        if mask is not None and bool(allowed.isinf().all()):  # a processor excluded all tokens that fit the prefix
            allowed = mask
        token = target.end if limits.is_looping(ids) else choose(allowed)
        if constraint:
            constraint.advance(len(ids), token)
        total += float(logits[token]) - normaliser
        ids.append(token)
    return Hypothesis(tuple(ids), total, total / max(len(ids), 1))


@torch.no_grad()
def beam(
    model: Marian,
    source: list[int] | Encoded,
    beam_size: int,
    limits: LengthLimits,
    extra_bias: Tensor | None = None,
    length_penalty: float = 1.0,
    processors: Sequence[LogitsProcessor] = (),
) -> list[Hypothesis]:
    """Return the best translations of a beam search, best first.

    The rules are Hugging Face's: each step considers twice as many continuations as the beam size, and only the first
    half of them may finish. A finished hypothesis scores log p / length^penalty. The search ends when the
    best unfinished hypothesis, scored at its present length, is no better than the worst of the `beam_size` best
    finished ones.
    """
    encoded = encode_source(model, source)
    decoder = Decoder(model, encoded.states, beam_size, extra_bias, processors)
    max_length = limits.max_length(len(encoded.ids), model.shape.positions)
    running, scores = [[model.shape.start] for _ in range(beam_size)], torch.tensor([0.0] + [-1e9] * (beam_size - 1))
    finished: list[Hypothesis] = []
    for length in range(1, max_length + 1):
        best, origin, tokens = _continuations(decoder, running, scores, limits)
        ended = [token == model.target.end or length == max_length for token in tokens]
        for i in range(beam_size):
            if ended[i]:
                ids = (*running[origin[i]][1:], tokens[i])
                finished.append(Hypothesis(ids, float(best[i]), float(best[i]) / length**length_penalty))
        finished = sorted(finished, key=lambda hypothesis: -hypothesis.score)[:beam_size]
        alive = [i for i in range(2 * beam_size) if not ended[i]][:beam_size]
        if not alive or (
            len(finished) == beam_size and float(best[alive[0]]) / length**length_penalty <= finished[-1].score
        ):
            break
        running = [[*running[origin[i]], tokens[i]] for i in alive]
        scores = best[alive]
        decoder.reorder(torch.tensor([origin[i] for i in alive]))
    return finished


def _continuations(
    decoder: Decoder, running: list[list[int]], scores: Tensor, limits: LengthLimits
) -> tuple[Tensor, list[int], list[int]]:
    """Return the most probable next tokens of all hypotheses: scores, indices of the hypotheses, and tokens."""
    logits = decoder.step(torch.tensor([ids[-1] for ids in running]), [ids[1:] for ids in running])
    log_probabilities = logits.log_softmax(-1)
    log_probabilities[:, decoder.model.target.pad] = float("-inf")
    for row, ids in enumerate(running):
        if limits.is_looping(ids):
            end = float(log_probabilities[row, decoder.model.target.end])
            log_probabilities[row] = float("-inf")
            log_probabilities[row, decoder.model.target.end] = end
    best, where = (log_probabilities + scores[:, None]).view(-1).topk(2 * len(running))
    size = log_probabilities.shape[1]
    return best, (where // size).tolist(), (where % size).tolist()
