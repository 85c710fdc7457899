"""A memory of confirmed segments that speaks while the model decodes (kNN-MT; Khandelwal et al., 2021).

Each confirmed segment leaves the decoder's state before every token of it, the token, and the source word the decoder
was looking at. While a new sentence is decoded, states like the present one vote for the tokens that followed them;
how far they are believed depends on how near they are, and on whether the decoder is looking at the same word again.
So a term is right the next time after one correction, and a word never met before is left to the model.

It leaves the weights alone, and forgets a segment by dropping its rows. Only the newest states of each source word are
compared, so the cost of a token stays flat however much is remembered.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from mtloop.core.errors import InputError
from mtloop.translators.marian.search import Moment
from mtloop.translators.words import Words


@dataclass(frozen=True, eq=False)
class Remembered:
    """One confirmed segment: its texts; and for each token of it the state before, and the word looked at."""

    lesson: int
    source: str
    target: str
    tokens: Tensor
    keys: Tensor
    words: tuple[str, ...]


@dataclass(frozen=True)
class Trust:
    """How far the memory is believed.

    `neighbours` vote with weight gaze * exp(-distance / temperature), where the gaze is the share of attention on the
    word they were written for. Together they count for `most` at distance zero under full attention, and fade as
    exp(-distance / reach). Distances are squared and divided by the width of the state.
    """

    most: float = 0.8
    reach: float = 1.5
    temperature: float = 0.2
    neighbours: int = 8
    newest: int = 64


class Memory:
    """Confirmed segments, found again by the words of their source."""

    def __init__(self, trust: Trust | None) -> None:
        """Without trust it keeps pairs and is silent."""
        self.trust = trust
        self._held: dict[int, Remembered] = {}
        self._where: dict[str, dict[tuple[int, int], None]] = {}
        self._exact: dict[str, list[int]] = {}

    def __len__(self) -> int:
        return len(self._held)

    def __iter__(self) -> Iterator[Remembered]:
        """All that is remembered, oldest first."""
        return iter(self._held.values())

    @property
    def states(self) -> int:
        return sum(len(one.tokens) for one in self)

    def add(self, one: Remembered) -> None:
        self.forget(one.lesson)
        self._held[one.lesson] = one
        for place, word in enumerate(one.words):
            self._where.setdefault(word, {})[one.lesson, place] = None
        self._exact.setdefault(one.source, []).append(one.lesson)

    def forget(self, lesson: int) -> bool:
        """As if it had never been confirmed; False if it is not there (any more)."""
        one = self._held.pop(lesson, None)
        if one is None:
            return False
        for place, word in enumerate(one.words):
            del self._where[word][lesson, place]
        self._exact[one.source].remove(lesson)
        return True

    def exact(self, source: str) -> str | None:
        """What the very same source was translated to last."""
        lessons = self._exact.get(source) if self.trust else None
        return self._held[lessons[-1]].target if lessons else None

    def versions(self, source: str) -> list[str]:
        """Every translation confirmed for this source, oldest first; the last one wins."""
        return [self._held[lesson].target for lesson in self._exact.get(source, [])]

    def recall(self, words: Words) -> Recalled | None:
        """What was written when these words were looked at before, the newest of each."""
        if self.trust is None:
            return None
        found: list[tuple[int, int, int]] = []  # lesson, place in it, word here
        for number, text in enumerate(words.texts):
            places = list(self._where.get(text.lower(), ()))[-self.trust.newest :]
            found.extend((lesson, place, number) for lesson, place in places)
        return self._recalled(found, words) if found else None

    def _recalled(self, found: Sequence[tuple[int, int, int]], words: Words) -> Recalled:
        assert self.trust is not None
        keys = torch.stack([self._held[lesson].keys[place] for lesson, place, _ in found]).float()
        tokens = torch.stack([self._held[lesson].tokens[place] for lesson, place, _ in found])
        return Recalled(words, keys, tokens, torch.tensor([number for *_, number in found]), self.trust)

    def tensors(self) -> dict[str, Tensor]:
        """As a delta holds it: text as bytes, everything else side by side."""
        if not self._held:
            return {}
        texts = {"sources": [one.source for one in self], "targets": [one.target for one in self]}
        texts["words"] = ["\n".join(one.words) for one in self]
        numbers = {
            "memory/keys": torch.cat([one.keys for one in self]),
            "memory/tokens": torch.cat([one.tokens for one in self]),
            "memory/lessons": torch.tensor([one.lesson for one in self]),
            "memory/lengths": torch.tensor([len(one.tokens) for one in self]),
        }
        return numbers | {
            name: tensor for kind, lines in texts.items() for name, tensor in _packed(f"memory/{kind}", lines)
        }

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        for lesson in list(self._held):
            self.forget(lesson)
        if "memory/keys" not in tensors:
            return
        lengths = tensors["memory/lengths"].tolist()
        keys, tokens = (tensors[f"memory/{name}"].split(lengths) for name in ("keys", "tokens"))
        sources, targets, words = (_unpacked(tensors, f"memory/{kind}") for kind in ("sources", "targets", "words"))
        looked_at = [tuple(line.split("\n")) for line in words]
        lessons = tensors["memory/lessons"].tolist()
        for values in zip(lessons, sources, targets, tokens, keys, looked_at, strict=True):
            self.add(Remembered(*values))


@dataclass
class Recalled:
    """The part of a memory that bears on one sentence; votes on each next token."""

    words: Words
    keys: Tensor
    tokens: Tensor
    of_word: Tensor
    trust: Trust
    _squares: Tensor = field(init=False)

    def __post_init__(self) -> None:
        self._squares = self.keys.pow(2).sum(1)

    def __call__(self, moment: Moment, logits: Tensor) -> Tensor:
        """The logits with the memory's vote mixed in, as log-probabilities."""
        distances = self._distances(moment.states)
        looked_at = self.words.shares(moment.attention)[:, self.of_word]
        belief, where = (looked_at.log() - distances / self.trust.reach).topk(self._most(), dim=1)
        share = self.trust.most * belief[:, :1].exp()
        near, gaze = distances.gather(1, where), looked_at.gather(1, where)
        votes = (gaze.log() - near / self.trust.temperature).softmax(-1) * share
        mixed = logits.softmax(-1).mul_(1 - share)
        return mixed.scatter_add_(1, self.tokens[where], votes).log_()

    def _most(self) -> int:
        return min(self.trust.neighbours, len(self.tokens))

    def _distances(self, states: Tensor) -> Tensor:
        squares = torch.addmm(self._squares, states, self.keys.t(), alpha=-2) + states.pow(2).sum(1, keepdim=True)
        return squares.clamp_min_(0).div_(states.shape[1])


def looked_at(words: Words, attention: Tensor) -> tuple[str, ...]:
    """The word each row of attention looks at most."""
    return tuple(words.texts[number].lower() for number in words.shares(attention).argmax(1).tolist())


def _packed(name: str, texts: Sequence[str]) -> Iterator[tuple[str, Tensor]]:
    encoded = [text.encode() for text in texts]
    yield name, torch.frombuffer(bytearray(b"".join(encoded) or b"\\0"), dtype=torch.uint8)
    yield f"{name}/lengths", torch.tensor([len(text) for text in encoded])


def _unpacked(tensors: Mapping[str, Tensor], name: str) -> list[str]:
    lengths = tensors[f"{name}/lengths"].tolist()
    try:
        return [bytes(part.tolist()).decode() for part in tensors[name][: sum(lengths)].split(lengths)]
    except UnicodeDecodeError as error:
        raise InputError(f"the memory in this delta is damaged: {error}") from error
