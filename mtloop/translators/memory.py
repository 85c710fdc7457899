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
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from mtloop.core.errors import InputError
from mtloop.translators.marian.search import Moment
from mtloop.translators.words import Words

WHISPER = 0.01  # a vote that counts for less than this decides nothing, and is not counted


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
    newest: int = 32

    def __post_init__(self) -> None:
        if not 0 <= self.most < 1:
            raise InputError(f"most is a share from 0 to below 1, not {self.most}")
        if not (self.reach > 0 and self.temperature > 0 and self.neighbours >= 1 and self.newest >= 1):
            raise InputError("reach and temperature are above 0, neighbours and newest are 1 or more")


class Memory:
    """Confirmed segments, found again by the words of their source."""

    def __init__(self, trust: Trust | None) -> None:
        """Without trust it keeps pairs and is silent."""
        self.trust = trust
        self._held: dict[int, Remembered] = {}
        self._rows: dict[int, int] = {}  # lesson: its first row in the store
        self._where: dict[str, list[int]] = {}  # word: rows of the store, oldest first
        self._exact: dict[str, list[int]] = {}
        self._store = Store()

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
        first = self._store.append(one.keys, one.tokens)
        self._held[one.lesson] = replace(one, keys=self._store.keys[first : first + len(one.tokens)])
        self._rows[one.lesson] = first
        for row, word in enumerate(one.words, start=first):
            self._where.setdefault(word, []).append(row)
        self._exact.setdefault(one.source, []).append(one.lesson)

    def forget(self, lesson: int) -> bool:
        """As if it had never been confirmed; False if it is not there (any more)."""
        one = self._held.pop(lesson, None)
        if one is None:
            return False
        for row, word in enumerate(one.words, start=self._rows.pop(lesson)):
            self._where[word].remove(row)
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
        rows: list[int] = []
        of_word: list[int] = []
        for number, text in enumerate(words.texts):
            newest = self._where.get(text.lower(), [])[-self.trust.newest :]
            rows += newest
            of_word += [number] * len(newest)
        return Recalled(words, *self._store.take(rows), torch.tensor(of_word), self.trust) if rows else None

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


class Store:
    """Keys and tokens row by row, in memory that doubles when it is full."""

    def __init__(self) -> None:
        self.keys, self.tokens, self._length = torch.empty(0, 0, dtype=torch.half), torch.empty(0, dtype=torch.long), 0

    def append(self, keys: Tensor, tokens: Tensor) -> int:
        """The row at which they start."""
        first, self._length = self._length, self._length + len(tokens)
        if self._length > len(self.tokens):
            size = max(1024, 2 * self._length)
            self.keys = _grown(self.keys, torch.empty(size, keys.shape[1], dtype=torch.half), first)
            self.tokens = _grown(self.tokens, torch.empty(size, dtype=torch.long), first)
        self.keys[first : self._length], self.tokens[first : self._length] = keys, tokens
        return first

    def take(self, rows: Sequence[int]) -> tuple[Tensor, Tensor]:
        where = torch.tensor(rows)
        return self.keys[where].float(), self.tokens[where]


def _grown(old: Tensor, new: Tensor, length: int) -> Tensor:
    if length:
        new[:length] = old[:length]
    return new


@dataclass
class Recalled:
    """The part of a memory that bears on one sentence; votes on each next token."""

    words: Words
    keys: Tensor
    tokens: Tensor
    of_word: Tensor
    trust: Trust
    _member: Tensor = field(init=False)
    _squares: Tensor = field(init=False)

    def __post_init__(self) -> None:
        self._member = self.words.member[:, self.of_word]
        self._squares = self.keys.pow(2).mean(1)

    def __call__(self, moment: Moment, logits: Tensor) -> Tensor:
        """The logits with the memory's vote mixed in, as log-probabilities; as they were if there is none."""
        distances = self._distances(moment.states)
        gaze = (moment.attention @ self._member).log_()
        belief, where = torch.add(gaze, distances, alpha=-1 / self.trust.reach).topk(self._most(), dim=1)
        share = self.trust.most * belief[:, :1].exp()
        if float(share.max()) < WHISPER:
            return logits
        weights = torch.add(gaze.gather(1, where), distances.gather(1, where), alpha=-1 / self.trust.temperature)
        own = logits.sub_(logits.logsumexp(1, keepdim=True) - torch.log1p(-share))
        return _voted(own, self.tokens[where], weights.softmax(-1) * share)

    def _most(self) -> int:
        return min(self.trust.neighbours, len(self.tokens))

    def _distances(self, states: Tensor) -> Tensor:
        own = states.pow(2).mean(1, keepdim=True)
        crossed = torch.addmm(self._squares, states, self.keys.t(), alpha=-2 / states.shape[1])
        return crossed.add_(own).clamp_min_(0)


def _voted(own: Tensor, tokens: Tensor, votes: Tensor) -> Tensor:
    """Log-probabilities with votes for a few tokens added; votes for the same token count together."""
    together = ((tokens[:, :, None] == tokens[:, None, :]) * votes[:, None, :]).sum(-1)
    return own.scatter_(1, tokens, torch.logaddexp(own.gather(1, tokens), together.log()))


def looked_at(words: Words, attention: Tensor) -> tuple[str, ...]:
    """The word each row of attention looks at most."""
    return tuple(words.texts[number].lower() for number in words.shares(attention).argmax(1).tolist())


def _packed(name: str, texts: Sequence[str]) -> Iterator[tuple[str, Tensor]]:
    encoded = [text.encode() for text in texts]
    yield name, torch.frombuffer(bytearray(b"".join(encoded) or b"\0"), dtype=torch.uint8)
    yield f"{name}/lengths", torch.tensor([len(text) for text in encoded])


def _unpacked(tensors: Mapping[str, Tensor], name: str) -> list[str]:
    lengths = tensors[f"{name}/lengths"].tolist()
    try:
        return [bytes(part.tolist()).decode() for part in tensors[name][: sum(lengths)].split(lengths)]
    except UnicodeDecodeError as error:
        raise InputError(f"the memory in this delta is damaged: {error}") from error
