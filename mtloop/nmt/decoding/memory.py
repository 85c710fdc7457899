"""A memory of confirmed segments that speaks while the model decodes (kNN-MT; Khandelwal et al., 2021).

Each confirmed segment leaves the decoder's state before every token of it, the token, and the source word the decoder
was looking at. While a new sentence is decoded, states like the present one vote for the tokens that followed them;
how far they are believed depends on how near they are, and on whether the decoder is looking at the same word again.
So a term is right the next time after one correction, and a word never met before is left to the model.

It leaves the weights alone, and forgets a segment by dropping its rows. Only the newest states of each source word are
compared, so the cost of a token stays flat however much is remembered.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from mtloop.core.errors import InputError
from mtloop.nmt.decoding.source_words import SourceWords
from mtloop.nmt.engine.search import Moment

COMMON = 64  # segments that hold a word, above which it says nothing of what they are about
TINY = 1e-30  # of attention: no word is quite out of sight, and the logarithm stays a number
SMALL = 4096  # rows of what was forgotten that are not worth clearing away
WHISPER = 0.01  # a vote that counts for less than this decides nothing, and is not counted
Array: TypeAlias = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Remembered:
    """One confirmed segment: its texts; and for each token of it the state before, and the word looked at.

    In a memory the states are rows of its store, and `keys` is empty.
    """

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

    Of each word at most `newest` states are compared, those of the `alike` most alike segments first. Their reach
    is longer, by `stretch` times the square of the share of the sentence's words (rare ones weigh more) they have too.
    """

    most: float = 0.8
    reach: float = 1.5
    temperature: float = 0.2
    neighbours: int = 8
    newest: int = 32
    alike: int = 16
    stretch: float = 4.0

    def __post_init__(self) -> None:
        if not 0 <= self.most < 1:
            raise InputError(f"most is a share from 0 to below 1, not {self.most}")
        if not (self.reach > 0 and self.temperature > 0):
            raise InputError("reach and temperature are above 0")
        if self.neighbours < 1 or self.newest < 1 or self.alike < 0 or not self.stretch >= 0:
            raise InputError("neighbours and newest are 1 or more, alike and stretch are 0 or more")


class Memory:
    """Confirmed segments, found again by the words of their source."""

    def __init__(self, trust: Trust | None) -> None:
        """Without trust it keeps pairs and is silent."""
        self.trust = trust
        self._held: dict[int, Remembered] = {}
        self._rows: dict[int, int] = {}  # lesson: its first row in the store
        self._where: dict[str, list[int]] = {}  # word: rows of the store, oldest first
        self._exact: dict[str, list[int]] = {}
        self._lessons: dict[str, dict[int, None]] = {}  # word: lessons whose source holds it, oldest first
        self._store, self._dead = StateStore(), 0  # rows of what was forgotten

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
        self._held[one.lesson] = replace(one, keys=torch.empty(0))
        self._rows[one.lesson] = first
        for row, word in enumerate(one.words, start=first):
            self._where.setdefault(word, []).append(row)
            self._lessons.setdefault(word, {})[one.lesson] = None
        self._exact.setdefault(one.source, []).append(one.lesson)

    def forget(self, lesson: int) -> bool:
        """As if it had never been confirmed; False if it is not there (any more)."""
        one = self._held.pop(lesson, None)
        if one is None:
            return False
        for row, word in enumerate(one.words, start=self._rows.pop(lesson)):
            self._where[word].remove(row)
            self._lessons[word].pop(lesson, None)
        self._exact[one.source].remove(lesson)
        self._dead += len(one.words)
        if self._dead > max(len(self._store) // 2, SMALL):
            self.restore(self.tensors())
        return True

    def _clear(self) -> None:
        for index in (self._held, self._rows, self._where, self._exact, self._lessons):
            index.clear()
        self._store, self._dead = StateStore(), 0

    def exact(self, source: str) -> str | None:
        """What the very same source was translated to last."""
        lessons = self._exact.get(source) if self.trust else None
        return self._held[lessons[-1]].target if lessons else None

    def versions(self, source: str) -> list[str]:
        """Every translation confirmed for this source, oldest first; the last one wins."""
        return [self._held[lesson].target for lesson in self._exact.get(source, [])]

    def recall(self, words: SourceWords) -> Recalled | None:
        """What was written when these words were looked at before, the newest of each."""
        if self.trust is None:
            return None
        texts = [text.lower() for text in words.texts]
        likeness = self._alike(dict.fromkeys(texts))
        found = self._rows_of(dict.fromkeys(texts), likeness)
        if not found:
            return None
        numbers = {word: number for number, word in enumerate(found)}
        member = np.zeros((len(words.where), len(found)), np.float32)
        for piece, where in enumerate(words.where.tolist()):
            if texts[where] in numbers:
                member[piece, numbers[texts[where]]] = 1.0
        of_word = [number for number, rows in enumerate(found.values()) for _ in rows]
        rows = [row for rows in found.values() for row in rows]
        alike = np.array([alike for rows in found.values() for alike in rows.values()], np.float32)
        reach = self.trust.reach * (1 + self.trust.stretch * alike**2)
        return Recalled(member, of_word, *self._store.take(rows), reach, self.trust)

    def _rows_of(self, words: Iterable[str], likeness: Mapping[int, float]) -> dict[str, dict[int, float]]:
        """For each word the states to compare, those of the most alike segments first, then the newest; how alike."""
        assert self.trust is not None
        most, found = self.trust.newest, {word: dict[int, float]() for word in words if self._where.get(word)}
        for lesson, alike in likeness.items():
            for row, word in enumerate(self._held[lesson].words, start=self._rows[lesson]):
                if word in found and len(found[word]) < most:
                    found[word][row] = alike
        for word, rows in found.items():
            newer = [row for row in reversed(self._where[word][-most:]) if row not in rows]
            rows.update(dict.fromkeys(newer[: most - len(rows)], 0.0))
        return found

    def _alike(self, words: Collection[str]) -> dict[int, float]:
        """The segments that share most with these words, most alike first, and how much of their weight they share.

        A rare word counts for more, a common one not at all.
        """
        scores: dict[int, float] = {}
        whole = 0.0
        for word in words:
            lessons = self._lessons.get(word, {})
            if len(lessons) <= COMMON:
                weight = math.log(1 + len(self) / max(1, len(lessons)))
                whole += weight
                for lesson in reversed(lessons):
                    scores[lesson] = scores.get(lesson, 0.0) + weight
        most = self.trust.alike if self.trust else 0
        nearest = sorted(scores, key=scores.__getitem__, reverse=True)[:most]  # of equals the newer, as they came
        return {lesson: scores[lesson] / whole for lesson in nearest}

    def tensors(self) -> dict[str, Tensor]:
        """As a delta holds it: text as bytes, everything else side by side."""
        if not self._held:
            return {}
        texts = {"sources": [one.source for one in self], "targets": [one.target for one in self]}
        texts["words"] = ["\n".join(one.words) for one in self]
        numbers = {
            "memory/keys": torch.cat([self._states_of(lesson) for lesson in self._held]),
            "memory/tokens": torch.cat([one.tokens for one in self]),
            "memory/lessons": torch.tensor([one.lesson for one in self]),
            "memory/lengths": torch.tensor([len(one.tokens) for one in self]),
        }
        return numbers | {
            name: tensor for kind, lines in texts.items() for name, tensor in _packed(f"memory/{kind}", lines)
        }

    def _states_of(self, lesson: int) -> Tensor:
        first = self._rows[lesson]
        return self._store.keys[first : first + len(self._held[lesson].tokens)]

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        self._clear()
        if "memory/keys" not in tensors:
            return
        lengths = tensors["memory/lengths"].tolist()
        keys, tokens = (tensors[f"memory/{name}"].split(lengths) for name in ("keys", "tokens"))
        sources, targets, words = (_unpacked(tensors, f"memory/{kind}") for kind in ("sources", "targets", "words"))
        looked_at = [tuple(line.split("\n")) for line in words]
        lessons = tensors["memory/lessons"].tolist()
        for values in zip(lessons, sources, targets, tokens, keys, looked_at, strict=True):
            self.add(Remembered(*values))


class StateStore:
    """Keys and tokens row by row, in memory that doubles when it is full."""

    def __init__(self) -> None:
        self.keys, self.tokens, self._length = torch.empty(0, 0, dtype=torch.half), torch.empty(0, dtype=torch.long), 0

    def __len__(self) -> int:
        return self._length

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


class Recalled:
    """The part of a memory that bears on one sentence; votes on each next token.

    A few hundred states are too few for torch to be quick: most of its time would go into starting operations.
    """

    def __init__(
        self, words: Array, of_word: Sequence[int], keys: Tensor, tokens: Tensor, reach: Array, trust: Trust
    ) -> None:
        """`words` says which pieces of the source are in which word, `of_word` which word each state was about.

        `reach` is how far each state is believed.
        """
        self._words, self._of_word, self._reach, self._trust = words, np.array(of_word), reach, trust
        self._keys, self._tokens = keys.numpy(), tokens.numpy()
        self._squares = np.square(self._keys).mean(1)

    @property
    def compared(self) -> int:
        """How many states each token is compared with."""
        return len(self._tokens)

    def __call__(self, moment: Moment, logits: Tensor) -> Tensor:
        """The logits with the memory's vote mixed in: they say what mixed probabilities would, up to a constant."""
        shares, states = moment.attention.numpy() @ self._words, moment.states.numpy()
        for row in range(len(states)):
            self._vote(shares[row], states[row], logits[row])
        return logits

    def _vote(self, shares: Array, state: Array, logits: Tensor) -> None:
        distances = self._distances(state)
        gaze = np.log(shares + TINY)[self._of_word]
        belief = gaze - distances / self._reach
        share = self._trust.most * math.exp(belief.max())
        if share < WHISPER:
            return
        nearest = self._nearest(belief)
        weights = gaze[nearest] - distances[nearest] / self._trust.temperature
        votes = np.exp(weights - weights.max())
        votes *= share / (1 - share) / votes.sum()
        self._count(self._tokens[nearest].tolist(), votes.tolist(), logits)

    def _distances(self, state: Array) -> Array:
        found: Array = self._keys @ (state * (-2 / len(state)))
        found += self._squares
        found += state.dot(state) / len(state)
        return np.maximum(found, 0, out=found)

    def _nearest(self, belief: Array) -> npt.NDArray[np.int64]:
        most = self._trust.neighbours
        return np.argpartition(-belief, most - 1)[:most] if len(belief) > most else np.arange(len(belief))

    def _count(self, tokens: Sequence[int], votes: Sequence[float], logits: Tensor) -> None:
        """Each vote is worth so much of all the model says; votes for the same token count together."""
        together: dict[int, float] = {}
        for token, vote in zip(tokens, votes, strict=True):
            together[token] = together.get(token, 0.0) + vote
        said = logits.numpy()
        total = _logsumexp(said)
        for token, vote in together.items():
            if vote > 0:
                said[token] = np.logaddexp(said[token], total + math.log(vote))


def _logsumexp(values: Array) -> float:
    most = values.max()
    return float(most) + math.log(np.exp(values - most).sum())


def looked_at(words: SourceWords, attention: Tensor) -> tuple[str, ...]:
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
