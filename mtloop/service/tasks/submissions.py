"""Serving sentences and rewarding translations: the two rules of the shared task.

Rule 1: the next source comes only after a translation. A run has one pending position.
Rule 2: a position is rewarded once. The reward is given in a transaction that locks the run, into a table whose primary
key is the position.

Translations are scored before that transaction, so that the lock is held for a short time.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from mtloop.judges.rewards import add_noise, corpus_bleu_statistics, make_noise, sentence_reward
from mtloop.service.cache import LRUCache
from mtloop.service.database import is_outage
from mtloop.service.problems import (
    ALREADY_TRANSLATED,
    END_OF_STREAM,
    TASK_STOPPED,
    UNKNOWN_RUN,
    UNKNOWN_SENTENCE,
    WRONG_ORDER,
    Problem,
)
from mtloop.service.request_batches import RequestBatcher
from mtloop.service.tasks.leaderboard import is_curve_point
from mtloop.service.tasks.models import CheckpointSums, Run, RunProgress, SharedTask, Submission, TaskSentence
from mtloop.service.tasks.sealed_ids import PassPosition, seal, unseal
from mtloop.service.tasks.store import RewardTransaction, TaskStore
from mtloop.service.tasks.tables import sentence_id


@dataclass(frozen=True)
class PendingSentence:
    """A source to translate, and the id to submit its translation under."""

    id: str
    source: str


@dataclass(frozen=True)
class RewardedSubmission:
    """The reward for a translation, and the next sentence (None at the end of the pass)."""

    id: str
    reward: float
    next: PendingSentence | None


@dataclass(frozen=True)
class Stale:
    """The cached key, run or task has changed. Look it up again and repeat the request."""


@dataclass(frozen=True)
class SentenceRequest:
    """A request for the pending sentence of a run.

    `version` is the cache version at which the key, run and task were checked.
    """

    run: Run
    task: SharedTask
    version: int


@dataclass(frozen=True)
class TranslationRequest(SentenceRequest):
    """A request to reward the translation of a sentence."""

    id: str
    translation: str


@dataclass(frozen=True)
class ScoredTranslation:
    """A translation with its position and scores. `at` is None if the id is not one of the run's."""

    request: TranslationRequest
    at: PassPosition | None
    score: float = 0.0
    reward: float = 0.0
    oracle_score: float = 0.0
    checkpoint: CheckpointSums | None = None


SentenceKey: TypeAlias = tuple[int, int]  # cache version and sentence id
LoadedSentences: TypeAlias = Mapping[SentenceKey, TaskSentence]


@dataclass
class _PendingWrites:
    """What a transaction is going to write."""

    submissions: dict[tuple[int, PassPosition], Submission] = field(default_factory=dict)
    progress: dict[int, RunProgress] = field(default_factory=dict)
    curve_points: list[tuple[int, RunProgress]] = field(default_factory=list)
    checkpoints: list[tuple[int, int, CheckpointSums]] = field(default_factory=list)


class Submissions:
    """Serves sentences and rewards translations. Each worker process has one instance."""

    def __init__(self, store: TaskStore, cache_size: int = 20_000) -> None:
        self._store = store
        # The key includes the cache version: a new task may take the id of a deleted one.
        self._sentences: LRUCache[SentenceKey, TaskSentence] = LRUCache(cache_size)
        self._serving: RequestBatcher[SentenceRequest, PendingSentence | Problem | Stale]
        self._serving = RequestBatcher(self._serve, is_outage)
        self._rewarding: RequestBatcher[TranslationRequest, RewardedSubmission | Problem | Stale]
        self._rewarding = RequestBatcher(self._reward, is_outage)

    async def next(self, request: SentenceRequest) -> PendingSentence | Problem | Stale:
        """The pending sentence."""
        return await self._serving.submit(request)

    async def submit(self, request: TranslationRequest) -> RewardedSubmission | Problem | Stale:
        """The reward and the next sentence. The reward is durable when this returns."""
        return await self._rewarding.submit(request)

    async def drain(self) -> None:
        await self._serving.drain()
        await self._rewarding.drain()

    def clear_cache(self) -> None:
        self._sentences.clear()

    async def _serve(self, batch: Sequence[SentenceRequest]) -> Sequence[PendingSentence | Problem | Stale]:
        progress, version = await self._store.progress({request.run.id for request in batch})
        pending = [(request, progress[request.run.id].pending) for request in batch if request.run.id in progress]
        loaded = await self._load(pending)
        return [_served(request, progress.get(request.run.id), version, loaded) for request in batch]

    async def _reward(self, batch: Sequence[TranslationRequest]) -> Sequence[RewardedSubmission | Problem | Stale]:
        scored = await self._score(batch)
        async with self._store.reward_transaction() as transaction:
            progress, version = await transaction.lock({request.run.id for request in batch})
            writes = _PendingWrites()
            results = [await self._apply_rules(one, progress, version, writes, transaction) for one in scored]
            await _write(writes, transaction)
        pending = [(request, progress[request.run.id].pending) for request in batch if request.run.id in progress]
        loaded = await self._load(pending)
        return [
            result
            if not isinstance(result, float)
            else RewardedSubmission(request.id, result, _pending(request, progress[request.run.id], loaded))
            for request, result in zip(batch, results, strict=True)
        ]

    async def _score(self, batch: Sequence[TranslationRequest]) -> list[ScoredTranslation]:
        positions = [(request, unseal(request.run.id_key, request.id)) for request in batch]
        known = [(request, at) for request, at in positions if at is not None]
        following = [(request, PassPosition(at.pass_number, at.position + 1)) for request, at in known]
        loaded = await self._load(known + following)
        return [
            ScoredTranslation(request, None) if at is None else _scored(request, at, loaded)
            for request, at in positions
        ]

    async def _apply_rules(
        self,
        scored: ScoredTranslation,
        progress: dict[int, RunProgress],
        version: int,
        writes: _PendingWrites,
        transaction: RewardTransaction,
    ) -> float | Problem | Stale:
        """The reward of one translation, or why there is none. If it is accepted, `progress` is updated."""
        request, at = scored.request, scored.at
        current = progress.get(request.run.id)
        if current is None:
            return UNKNOWN_RUN
        if version != request.version:
            return Stale()
        if at is None:
            return UNKNOWN_SENTENCE
        earlier = writes.submissions.get((request.run.id, at)) or await _earlier(transaction, request.run, at, current)
        if earlier is not None:
            return earlier.reward if earlier.translation == request.translation else ALREADY_TRANSLATED
        if request.task.stopped:
            return TASK_STOPPED
        if at != current.pending:
            return WRONG_ORDER
        progress[request.run.id] = _accept(scored, at, current, writes)
        return scored.reward

    async def _load(self, positions: Iterable[tuple[SentenceRequest, PassPosition]]) -> LoadedSentences:
        """The sentences at these positions, from the cache where possible. A deleted task has none."""
        wanted = [_key(request, at.position) for request, at in positions if at.position < request.task.samples]
        loaded = {key: known for key in wanted if (known := self._sentences.get(key)) is not None}
        missing = {key for key in wanted if key not in loaded}
        if missing:
            read = await self._store.sentences({number for _, number in missing})
            found = {key: read[key[1]] for key in missing if key[1] in read}
            self._sentences.update(found)
            loaded |= found
        return loaded


def _key(request: SentenceRequest, position: int) -> SentenceKey:
    return request.version, sentence_id(request.task.id, request.task.layout.sentence_at(position))


def _sentence(request: SentenceRequest, position: int, loaded: LoadedSentences) -> TaskSentence | None:
    """The sentence at a position, or None after the end of the pass."""
    return loaded.get(_key(request, position)) if position < request.task.samples else None


def _pending(request: SentenceRequest, progress: RunProgress, loaded: LoadedSentences) -> PendingSentence | None:
    sentence = _sentence(request, progress.position, loaded)
    return None if sentence is None else PendingSentence(seal(request.run.id_key, progress.pending), sentence.source)


def _served(
    request: SentenceRequest, progress: RunProgress | None, version: int, loaded: LoadedSentences
) -> PendingSentence | Problem | Stale:
    if progress is None:
        return UNKNOWN_RUN
    if version != request.version:
        return Stale()
    return TASK_STOPPED if request.task.stopped else _pending(request, progress, loaded) or END_OF_STREAM


def _scored(request: TranslationRequest, at: PassPosition, loaded: LoadedSentences) -> ScoredTranslation:
    sentence = _sentence(request, at.position, loaded)
    if sentence is None:
        return ScoredTranslation(request, None)
    language = request.task.target_language
    score = sentence_reward(request.task.reward, language)(request.translation, sentence.reference)
    seed = f"{request.run.id_key.hex()}:{at.pass_number}:{at.position}"
    reward = add_noise(score, make_noise(request.task.noise), seed)
    block = request.task.layout.block_at(at.position)
    checkpoint = None
    if block is not None:
        statistics = corpus_bleu_statistics(request.translation, sentence.reference, language)
        checkpoint = CheckpointSums(block, 1, reward, score, statistics)
    return ScoredTranslation(request, at, score, reward, sentence.oracle_score or 0.0, checkpoint)


def _accept(scored: ScoredTranslation, at: PassPosition, current: RunProgress, writes: _PendingWrites) -> RunProgress:
    """Note what to write for an accepted translation; return the run's new progress."""
    run_id = scored.request.run.id
    writes.submissions[run_id, at] = Submission(run_id, at, scored.request.translation, scored.reward, scored.score)
    moved = replace(
        current,
        position=current.position + 1,
        reward=current.reward + scored.reward,
        score=current.score + scored.score,
        oracle_score=current.oracle_score + scored.oracle_score,
        updated=time.time(),
    )
    writes.progress[run_id] = moved
    if scored.checkpoint is not None:
        writes.checkpoints.append((run_id, at.pass_number, scored.checkpoint))
    if is_curve_point(moved.position) or moved.position == scored.request.task.samples:
        writes.curve_points.append((run_id, moved))
    return moved


async def _earlier(
    transaction: RewardTransaction, run: Run, at: PassPosition, current: RunProgress
) -> Submission | None:
    """The earlier submission at a position. The pending position has none, which saves a query."""
    return None if at >= current.pending else await transaction.submission_at(run.id, at)


async def _write(writes: _PendingWrites, transaction: RewardTransaction) -> None:
    if writes.submissions:
        await transaction.insert_submissions(list(writes.submissions.values()))
        await transaction.update_progress(writes.progress)
    if writes.curve_points:
        await transaction.insert_curve_points(writes.curve_points)
    if writes.checkpoints:
        await transaction.add_to_checkpoints(writes.checkpoints)
