"""A memory of confirmed segments that votes on the next token while decoding (kNN-MT; Khandelwal et al., 2021).

Each confirmed segment stores, for every target token, the decoder state before it, the token, and the source word with
the most attention. While a new sentence is decoded, stored states that are similar to the present state vote for their
tokens. The weight of the votes depends on the distance of the states, and on whether the decoder attends to the same
source word. So a term is translated correctly after one correction, and for an unseen word the model decides alone.

The memory does not change the weights, and forgets a segment by deleting its rows. A limited number of states of each
source word is compared, so the cost per token does not grow with the memory.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from mtloop.core.errors import InputError
from mtloop.core.ranges import check_above, check_at_least
from mtloop.nmt.decoding.source_words import SourceWords
from mtloop.nmt.decoding.word_origins import Vote
from mtloop.nmt.engine.search import SearchState

MAX_SEGMENTS_PER_WORD = 64  # a word in more segments is ignored in the similarity of segments
MIN_ATTENTION = 1e-30  # added to attention weights, so that their logarithm is finite
MIN_DELETED_ROWS = 4096  # with fewer deleted rows the store is not compacted
MIN_END_PROBABILITY = 1e-3  # below it, the memory does not vote for the end of the sentence: text would be lost
MIN_MEMORY_WEIGHT = 0.01  # votes with a smaller total weight are ignored
Array: TypeAlias = npt.NDArray[np.float32]
Flags: TypeAlias = npt.NDArray[np.bool_]
Key: TypeAlias = tuple[int, int]
"""The number of a lesson, and of a sentence in it."""


@dataclass(frozen=True, eq=False)
class StoredSegment:
    """One confirmed sentence: its texts, and for each target token the decoder state before it and the attended word.

    `lesson` is the number of the correction, `part` that of the sentence in it. Inside a memory the states are rows of
    its store, and `keys` is empty.
    """

    lesson: int
    source: str
    target: str
    tokens: Tensor
    keys: Tensor
    words: tuple[str, ...]
    part: int = 0

    @classmethod
    def without_states(cls, lesson: int, source: str, target: str, width: int, part: int = 0) -> StoredSegment:
        """Return a segment that is an exact match only: it never votes."""
        return cls(lesson, source, target, torch.empty(0, dtype=torch.long), torch.empty(0, width).half(), (), part)

    @property
    def key(self) -> Key:
        return self.lesson, self.part


Silent: TypeAlias = Callable[[Sequence[StoredSegment]], "Sequence[Flags | None]"]
"""Returns for each segment, the most similar first, the tokens that do not vote; None if all do."""


@dataclass(frozen=True)
class MemorySettings:
    """The weights of the votes.

    The `neighbours` nearest states vote with weight attention * exp(-distance / memory_temperature), where attention is
    that on their source word. The total weight of the votes is `max_memory_weight` at distance 0 and full attention; it
    decreases as exp(-distance / distance_scale). Distances are squared and divided by the width of the state.

    At most `max_states_per_word` states of each word are compared, first those of the `similar_segments` most similar
    segments. The distance scale of these is multiplied by 1 + similarity_boost * similarity^2, where the similarity is
    the share of common words, weighted by their rarity.
    """

    max_memory_weight: float = 0.8
    distance_scale: float = 1.5
    memory_temperature: float = 0.2
    neighbours: int = 8
    max_states_per_word: int = 32
    similar_segments: int = 16
    similarity_boost: float = 4.0
    check_changed_words: bool = True
    """Tokens that depend on words which a source does not have do not vote (see `changed_words`)."""

    def __post_init__(self) -> None:
        if not 0 <= self.max_memory_weight < 1:
            raise InputError(f"max_memory_weight is {self.max_memory_weight}; expected from 0 to less than 1")
        check_above(0, distance_scale=self.distance_scale, memory_temperature=self.memory_temperature)
        check_at_least(1, neighbours=self.neighbours, max_states_per_word=self.max_states_per_word)
        check_at_least(0, similar_segments=self.similar_segments, similarity_boost=self.similarity_boost)


class Memory:
    """Confirmed segments, indexed by the words of their source."""

    def __init__(self, settings: MemorySettings | None) -> None:
        """With `settings` None the memory stores pairs and does not vote."""
        self.settings = settings
        self.visible: Container[int] | None = None
        """The lessons that exact matches and votes come from; None: all."""
        self._segments: dict[Key, StoredSegment] = {}
        self._first_rows: dict[Key, int] = {}  # the first row of each in the store
        self._rows_by_word: dict[str, list[int]] = {}  # word: rows of the store, oldest first
        self._parts_by_lesson: dict[int, dict[int, None]] = {}  # not every sentence of a lesson is stored
        self._keys_by_source: dict[str, list[Key]] = {}
        self._keys_by_target: dict[str, list[Key]] = {}
        self._keys_by_word: dict[str, dict[Key, None]] = {}  # word: sentences with it in the source, oldest first
        self._store, self._deleted_rows = StateStore(), 0
        self._without_states = 0  # segments that are exact matches only

    def __len__(self) -> int:
        return len(self._segments)

    def __iter__(self) -> Iterator[StoredSegment]:
        """Iterate over all stored segments, oldest first."""
        return iter(self._segments.values())

    @property
    def states(self) -> int:
        """The number of stored states."""
        return sum(len(one.tokens) for one in self)

    def add(self, one: StoredSegment) -> None:
        self._remove(one.key)
        first = self._store.append(one.keys, one.tokens)
        self._segments[one.key] = replace(one, keys=torch.empty(0))
        self._first_rows[one.key] = first
        self._without_states += not len(one.tokens)
        self._parts_by_lesson.setdefault(one.lesson, {})[one.part] = None
        for row, word in enumerate(one.words, start=first):
            self._rows_by_word.setdefault(word, []).append(row)
            self._keys_by_word.setdefault(word, {})[one.key] = None
        self._keys_by_source.setdefault(one.source, []).append(one.key)
        self._keys_by_target.setdefault(one.target.casefold(), []).append(one.key)

    def forget(self, lesson: int) -> bool:
        """Delete a lesson so that nothing of it is left; return False if that is not possible, or it is not here."""
        return self.drop(lesson)

    def drop(self, lesson: int) -> bool:
        """Delete all sentences of a lesson; return False if none is in the memory.

        A memory that learns more than sentences from a lesson keeps the rest.
        """
        parts = list(self._parts_by_lesson.get(lesson, ()))
        for part in parts:
            self._remove((lesson, part))
        if self._deleted_rows > max(len(self._store) // 2, MIN_DELETED_ROWS):
            self.restore(self.tensors())
        return bool(parts)

    def _remove(self, key: Key) -> None:
        one = self._segments.pop(key, None)
        if one is None:
            return
        for row, word in enumerate(one.words, start=self._first_rows.pop(key)):
            self._rows_by_word[word].remove(row)
            self._keys_by_word[word].pop(key, None)
        self._keys_by_source[one.source].remove(key)
        self._keys_by_target[one.target.casefold()].remove(key)
        self._parts_by_lesson[one.lesson].pop(one.part)
        self._deleted_rows += len(one.words)
        self._without_states -= not len(one.tokens)

    def _clear(self) -> None:
        for index in (
            self._segments,
            self._first_rows,
            self._parts_by_lesson,
            self._rows_by_word,
            self._keys_by_source,
            self._keys_by_target,
            self._keys_by_word,
        ):
            index.clear()
        self._store, self._deleted_rows, self._without_states = StateStore(), 0, 0

    def exact_match(self, source: str) -> str | None:
        """Return the newest confirmed translation of exactly this source, or None."""
        found = self.newest(source)
        return found.target if found is not None else None

    def newest(self, source: str) -> StoredSegment | None:
        """Return the newest segment with exactly this source, or None."""
        keys = self._keys_by_source.get(source, ()) if self.settings else ()
        return next((self._segments[key] for key in reversed(keys) if self._is_visible(key)), None)

    def _is_visible(self, key: Key) -> bool:
        return self.visible is None or key[0] in self.visible

    def translations(self, source: str) -> list[str]:
        """Return all visible translations of this source, oldest first; `exact_match` returns the last one."""
        keys = filter(self._is_visible, self._keys_by_source.get(source, []))
        return [self._segments[key].target for key in keys]

    def sources_of(self, target: str) -> list[str]:
        """Return all sources whose confirmed translation is this text, oldest first, but those that never vote.

        Upper and lower case do not count.
        """
        keys = self._keys_by_target.get(target.casefold(), [])
        found = [self._segments[key] for key in keys if self._is_visible(key)]
        return [one.source for one in found if len(one.tokens)]

    def most_similar(self, words: Iterable[str]) -> Iterator[tuple[StoredSegment, float]]:
        """Yield the stored segments most similar to a source with these words, with their similarity (0 to 1)."""
        for key, similarity in self._most_similar(dict.fromkeys(word.lower() for word in words)).items():
            yield self._segments[key], similarity

    def processor(self, words: SourceWords, end: int = -1, silent: Silent | None = None) -> MemoryProcessor | None:
        """Return the logits processor for one source, or None if none of its words is in the memory.

        `end` is the token that ends a sentence. `silent` is called with the similar segments, the most similar first.
        """
        if self.settings is None:
            return None
        texts = [text.lower() for text in words.texts]
        similarities = self._most_similar(dict.fromkeys(texts))
        found = self._rows_to_compare(dict.fromkeys(texts), similarities)
        if not found:
            return None
        numbers = {word: number for number, word in enumerate(found)}
        membership = np.zeros((len(words.word_of_piece), len(found)), np.float32)
        for piece, word in enumerate(words.word_of_piece.tolist()):
            if texts[word] in numbers:
                membership[piece, numbers[texts[word]]] = 1.0
        word_of_state = [number for number, rows in enumerate(found.values()) for _ in rows]
        rows = [row for rows in found.values() for row in rows]
        similarity = np.array([value for rows in found.values() for value in rows.values()], np.float32)
        scales = self.settings.distance_scale * (1 + self.settings.similarity_boost * similarity**2)
        partly = list(self._partly_silent(similarities, rows, silent)) if silent else []
        states = self._store.take(rows)
        return MemoryProcessor(membership, word_of_state, *states, scales, self.settings, partly, end, rows)

    def lessons_of_rows(self, rows: Iterable[int]) -> list[int]:
        """Return the lesson that each row of the store belongs to. Later segments have later rows."""
        keys, first_rows = list(self._first_rows), list(self._first_rows.values())
        return [keys[bisect_right(first_rows, row) - 1][0] for row in rows]

    def _partly_silent(self, keys: Iterable[Key], rows: Sequence[int], silent: Silent) -> Iterator[PartlySilent]:
        """Yield the segments with tokens that do not vote, if any of their states is compared."""
        similar = {key: self._segments[key] for key in keys}
        for key, flags in zip(similar, silent(list(similar.values())), strict=True):
            if flags is not None:
                first = self._first_rows[key]
                states = [state for state, row in enumerate(rows) if 0 <= row - first < len(flags)]
                if states:
                    yield PartlySilent(np.array(states), flags[[rows[state] - first for state in states]])

    def _rows_to_compare(self, words: Iterable[str], similarities: Mapping[Key, float]) -> dict[str, dict[int, float]]:
        """Return for each word the rows to compare, with the similarity of their segments.

        Rows of the most similar segments come first, then the newest rows.
        """
        assert self.settings is not None
        limit = self.settings.max_states_per_word
        found = {word: dict[int, float]() for word in words if self._rows_by_word.get(word)}
        for key, similarity in similarities.items():
            for row, word in enumerate(self._segments[key].words, start=self._first_rows[key]):
                if word in found and len(found[word]) < limit:
                    found[word][row] = similarity
        hidden = self._hidden_rows()
        for word, rows in found.items():
            known = self._rows_by_word[word]
            visible = [row for row in known if row not in hidden] if hidden else known
            newest = [row for row in reversed(visible[-limit:]) if row not in rows]
            rows.update(dict.fromkeys(newest[: limit - len(rows)], 0.0))
        return {word: rows for word, rows in found.items() if rows}

    def _hidden_rows(self) -> set[int]:
        """Return the rows of lessons that are not visible."""
        hidden = [key for key in self._segments if not self._is_visible(key)] if self.visible is not None else []
        return {self._first_rows[key] + number for key in hidden for number in range(len(self._segments[key].words))}

    def _most_similar(self, words: Collection[str]) -> dict[Key, float]:
        """Return the segments that share most with these words, most similar first, with their similarity (0 to 1).

        Rare words weigh more; words in more than MAX_SEGMENTS_PER_WORD segments are ignored.
        """
        scores: dict[Key, float] = {}
        total, segments = 0.0, len(self) - self._without_states
        for word in words:
            keys = self._keys_by_word.get(word, {})
            if len(keys) <= MAX_SEGMENTS_PER_WORD:
                weight = math.log(1 + segments / max(1, len(keys)))
                total += weight
                for key in filter(self._is_visible, reversed(keys)):
                    scores[key] = scores.get(key, 0.0) + weight
        count = self.settings.similar_segments if self.settings else 0
        nearest = sorted(scores, key=scores.__getitem__, reverse=True)[:count]  # at equal scores the newer comes first
        return {key: scores[key] / total for key in nearest}

    def tensors(self) -> dict[str, Tensor]:
        """Return the memory in the format of a delta: texts as bytes, all other values concatenated."""
        if not self._segments:
            return {}
        texts = {"sources": [one.source for one in self], "targets": [one.target for one in self]}
        texts["words"] = ["\n".join(one.words) for one in self]
        numbers = {
            "memory/keys": torch.cat([self._states_of(key) for key in self._segments]),
            "memory/tokens": torch.cat([one.tokens for one in self]),
            "memory/lessons": torch.tensor([one.lesson for one in self]),
            "memory/parts": torch.tensor([one.part for one in self]),
            "memory/lengths": torch.tensor([len(one.tokens) for one in self]),
        }
        return numbers | {
            name: tensor for kind, lines in texts.items() for name, tensor in _pack(f"memory/{kind}", lines)
        }

    def _states_of(self, key: Key) -> Tensor:
        first = self._first_rows[key]
        return self._store.keys[first : first + len(self._segments[key].tokens)]

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        self._clear()
        if "memory/keys" not in tensors:
            return
        lengths = tensors["memory/lengths"].tolist()
        keys, tokens = (tensors[f"memory/{name}"].split(lengths) for name in ("keys", "tokens"))
        sources, targets, words = (_unpack(tensors, f"memory/{kind}") for kind in ("sources", "targets", "words"))
        attended = [tuple(line.split("\n")) if line else () for line in words]
        lessons = tensors["memory/lessons"].tolist()
        parts = tensors["memory/parts"].tolist() if "memory/parts" in tensors else [0] * len(lessons)  # an older delta
        for values in zip(lessons, sources, targets, tokens, keys, attended, parts, strict=True):
            self.add(StoredSegment(*values))


class StateStore:
    """Keys and tokens by rows, in memory that doubles when it is full."""

    def __init__(self) -> None:
        self.keys, self.tokens, self._length = torch.empty(0, 0, dtype=torch.half), torch.empty(0, dtype=torch.long), 0

    def __len__(self) -> int:
        return self._length

    def append(self, keys: Tensor, tokens: Tensor) -> int:
        """Append rows; return the index of the first one."""
        first, self._length = self._length, self._length + len(tokens)
        if self._length > len(self.tokens) or not len(self.tokens):
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


@dataclass(frozen=True, eq=False)
class PartlySilent:
    """A segment with tokens that do not vote: the indices of its compared states, and which of them are silent."""

    states: npt.NDArray[np.int64]
    is_silent: Flags

    def now_silent(self, log_relevance: Array) -> npt.NDArray[np.int64]:
        """Return the states that do not vote now: all, if the most relevant one is silent, else the silent ones.

        If the segment's own answer is not to be used here, its other tokens belong to other places.
        """
        if self.is_silent[log_relevance[self.states].argmax()]:
            return self.states
        return self.states[self.is_silent]


class MemoryProcessor:
    """The stored states for the words of one source; they vote on each next token.

    It computes in NumPy: on a few hundred states torch would spend most of its time on starting operations.
    """

    def __init__(
        self,
        membership: Array,
        word_of_state: Sequence[int],
        keys: Tensor,
        tokens: Tensor,
        distance_scales: Array,
        settings: MemorySettings,
        partly_silent: Sequence[PartlySilent] = (),
        end: int = -1,
        rows: Sequence[int] = (),
    ) -> None:
        """`membership` is 1 where a source piece belongs to a word: (pieces, words).

        For each state, `word_of_state` is the index of its word, and `distance_scales` its distance scale. `end` is the
        token that ends a sentence.
        """
        self._membership, self._word_of_state = membership, np.array(word_of_state)
        self._distance_scales, self._settings = distance_scales, settings
        self._keys, self._tokens = keys.numpy(), tokens.numpy()
        self._squares = np.square(self._keys).mean(1)
        self._partly_silent, self._end = partly_silent, end
        self.rows = rows
        """The row of each state in the store of the memory."""
        self.votes: list[dict[int, Vote]] | None = None
        """The votes for each step of a search without beams, if they are to be recorded: set it to a list."""

    @property
    def compared(self) -> int:
        """The number of stored states that each decoder state is compared with."""
        return len(self._tokens)

    def __call__(self, state: SearchState, logits: Tensor) -> Tensor:
        """Mix the votes into the logits, in place; their softmax is the mixed distribution."""
        attention, states = state.attention.numpy() @ self._membership, state.decoder_states.numpy()
        if self.votes is not None:
            self.votes.append({})
        for row in range(len(states)):
            self._vote(attention[row], states[row], logits[row])
        return logits

    def _vote(self, attention: Array, state: Array, logits: Tensor) -> None:
        distances = self._distances(state)
        log_attention = np.log(attention + MIN_ATTENTION)[self._word_of_state]
        log_relevance = log_attention - distances / self._distance_scales
        for one in self._partly_silent:
            silent = one.now_silent(log_relevance)
            log_relevance[silent] = log_attention[silent] = -np.inf
        memory_weight = self._settings.max_memory_weight * math.exp(log_relevance.max())
        if memory_weight < MIN_MEMORY_WEIGHT:
            return
        nearest = self._nearest(log_relevance)
        log_votes = log_attention[nearest] - distances[nearest] / self._settings.memory_temperature
        votes = np.exp(log_votes - log_votes.max())
        votes *= memory_weight / (1 - memory_weight) / votes.sum()
        if self.votes is not None:
            self._record(nearest, votes, logits)
        self._add_votes(self._tokens[nearest].tolist(), votes.tolist(), logits)

    def _record(self, nearest: npt.NDArray[np.int64], votes: Array, logits: Tensor) -> None:
        """Record the share of the memory in each token's probability, before the votes are added."""
        assert self.votes is not None
        values = logits.numpy()
        total = _logsumexp(values)
        tokens = self._tokens[nearest]
        for token in set(tokens.tolist()):
            of_token = tokens == token
            vote, model = float(votes[of_token].sum()), math.exp(float(values[token]) - total)
            strongest = int(nearest[of_token][votes[of_token].argmax()])
            self.votes[-1][token] = Vote(vote / (vote + model) if vote else 0.0, strongest)

    def _distances(self, state: Array) -> Array:
        found: Array = self._keys @ (state * (-2 / len(state)))
        found += self._squares
        found += state.dot(state) / len(state)
        return np.maximum(found, 0, out=found)

    def _nearest(self, log_relevance: Array) -> npt.NDArray[np.int64]:
        count = self._settings.neighbours
        if len(log_relevance) > count:
            return np.argpartition(-log_relevance, count - 1)[:count]
        return np.arange(len(log_relevance))

    def _add_votes(self, tokens: Sequence[int], votes: Sequence[float], logits: Tensor) -> None:
        """Add votes to the logits; a vote is relative to the model's total probability. Equal tokens add up."""
        sums: dict[int, float] = {}
        for token, vote in zip(tokens, votes, strict=True):
            sums[token] = sums.get(token, 0.0) + vote
        values = logits.numpy()
        total = _logsumexp(values)
        if values[self._end] - total < math.log(MIN_END_PROBABILITY):
            sums.pop(self._end, None)
        for token, vote in sums.items():
            if vote > 0:
                values[token] = np.logaddexp(values[token], total + math.log(vote))


def _logsumexp(values: Array) -> float:
    largest = values.max()
    return float(largest) + math.log(np.exp(values - largest).sum())


def attended_words(words: SourceWords, attention: Tensor) -> tuple[str, ...]:
    """Return the word with the most attention for each row of attention weights, in lower case."""
    return tuple(words.texts[number].lower() for number in words.sum_attention(attention).argmax(1).tolist())


def _pack(name: str, texts: Sequence[str]) -> Iterator[tuple[str, Tensor]]:
    encoded = [text.encode() for text in texts]
    yield name, torch.frombuffer(bytearray(b"".join(encoded) or b"\0"), dtype=torch.uint8)
    yield f"{name}/lengths", torch.tensor([len(text) for text in encoded])


def _unpack(tensors: Mapping[str, Tensor], name: str) -> list[str]:
    lengths = tensors[f"{name}/lengths"].tolist()
    try:
        return [bytes(part.tolist()).decode() for part in tensors[name][: sum(lengths)].split(lengths)]
    except UnicodeDecodeError as error:
        raise InputError(f"the memory in this delta is damaged: {error}") from error
