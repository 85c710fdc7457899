"""Serving sentences and rewarding translations: the two rules of the shared task.

Rule 1: the next source comes only after a translation. A run has one pending position.
Rule 2: a position is rewarded once. The reward is given in a transaction that locks the run, into a table whose primary
key is the position.

The rules are applied twice: first without a lock, then in that transaction, because another worker may have rewarded
the position in between. Only a translation that passes the first time is scored, and every sentence of a task costs the
same work. So neither a refusal nor its time tells whether a sentence is held out. The score is computed before the lock
is taken, so that the lock is held for a short time.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from mtloop.judges.reward_process import ScoringJob
from mtloop.judges.rewards import add_noise, make_noise
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
from mtloop.service.tasks.models import CheckpointSums, Run, RunProgress, SharedTask, Submission, TaskSentence
from mtloop.service.tasks.publication import is_curve_point
from mtloop.service.tasks.scoring import Scoring, Turns
from mtloop.service.tasks.sealed_ids import PassPosition, seal, unseal
from mtloop.service.tasks.store import RewardTransaction, TaskStore
from mtloop.service.tasks.tables import OUTSIDE, sentence_id


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
    """A translation that the rules accepted, with its position and scores."""

    request: TranslationRequest
    at: PassPosition
    score: float
    reward: float
    oracle_score: float
    checkpoint: CheckpointSums | None


SentenceKey: TypeAlias = tuple[int, int, int]  # cache version, task and position
LoadedSentences: TypeAlias = Mapping[SentenceKey, TaskSentence]
EarlierAt: TypeAlias = Callable[[int, PassPosition], Awaitable[Submission | None]]
Result: TypeAlias = RewardedSubmission | Problem | Stale


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
        self._scoring, self._turns = Scoring(), Turns()
        # The key has the cache version: a new task may take the id of a deleted one. It has the position, not the
        # sentence: a held-out sentence that comes again is read again, and costs what every other sentence costs.
        self._sentences: LRUCache[SentenceKey, TaskSentence] = LRUCache(cache_size)
        self._serving: RequestBatcher[SentenceRequest, PendingSentence | Problem | Stale]
        self._serving = RequestBatcher(self._serve, is_outage)
        self._checking: RequestBatcher[TranslationRequest, TaskSentence | Result]
        self._checking = RequestBatcher(self._check, is_outage)
        self._rewarding: RequestBatcher[ScoredTranslation, Result]
        self._rewarding = RequestBatcher(self._reward, is_outage)

    async def next(self, request: SentenceRequest) -> PendingSentence | Problem | Stale:
        """The pending sentence."""
        return await self._serving.submit(request)

    async def submit(self, request: TranslationRequest) -> Result:
        """The reward and the next sentence. The reward is durable when this returns."""
        async with self._turns.of(request.run.id):  # of two translations at once, only the first is scored
            checked = await self._checking.submit(request)
            if not isinstance(checked, TaskSentence):
                return checked
            return await self._rewarding.submit(await self._score(request, checked))

    async def drain(self) -> None:
        """Wait until no request is left, and end the process that scores long texts."""
        for batcher in (self._serving, self._checking, self._rewarding):
            await batcher.drain()
        await self._scoring.close()

    def clear_cache(self) -> None:
        self._sentences.clear()

    async def _serve(self, batch: Sequence[SentenceRequest]) -> Sequence[PendingSentence | Problem | Stale]:
        progress, version = await self._store.progress({request.run.id for request in batch})
        pending = [(request, progress[request.run.id].pending) for request in batch if request.run.id in progress]
        loaded = await self._load(pending)
        return [_served(request, progress.get(request.run.id), version, loaded) for request in batch]

    async def _check(self, batch: Sequence[TranslationRequest]) -> Sequence[TaskSentence | Result]:
        """The sentence of each translation that the rules accept; the answers to the others. Nothing is locked."""
        progress, version = await self._store.progress({request.run.id for request in batch})
        earlier_at = self._store.submission_at
        verdicts = [await _verdict(request, progress, version, earlier_at) for request in batch]
        answers = iter(await self._answers(batch, verdicts, progress))
        accepted = [(request, at) for request, at in zip(batch, verdicts, strict=True) if isinstance(at, PassPosition)]
        following = [(request, PassPosition(at.pass_number, at.position + 1)) for request, at in accepted]
        loaded = await self._load(accepted + following)
        return [
            _sentence(request, verdict.position, loaded) or UNKNOWN_SENTENCE
            if isinstance(verdict, PassPosition)
            else next(answers)
            for request, verdict in zip(batch, verdicts, strict=True)
        ]

    async def _score(self, request: TranslationRequest, sentence: TaskSentence) -> ScoredTranslation:
        """Score a translation. The work is the same for every sentence of a task, held-out or not."""
        run, task = request.run, request.task
        at = unseal(run.id_key, request.id)
        assert at is not None
        texts = request.translation, sentence.reference
        job = ScoringJob(task.reward, task.target_language, *texts, with_statistics=bool(task.held_out))
        found = await self._scoring.score(job, run.participant_id)
        seed = f"{run.id_key.hex()}:{at.pass_number}:{at.position}"
        reward = add_noise(found.score, make_noise(task.noise), seed)
        checkpoint = None
        if found.statistics:
            block = task.layout.block_at(at.position)
            block = OUTSIDE if block is None else block
            checkpoint = CheckpointSums(block, 1, reward, found.score, found.statistics)
        return ScoredTranslation(request, at, found.score, reward, sentence.oracle_score or 0.0, checkpoint)

    async def _reward(self, batch: Sequence[ScoredTranslation]) -> Sequence[Result]:
        async with self._store.reward_transaction() as transaction:
            progress, version = await transaction.lock({scored.request.run.id for scored in batch})
            writes = _PendingWrites()

            async def earlier_at(run_id: int, at: PassPosition) -> Submission | None:
                return writes.submissions.get((run_id, at)) or await transaction.submission_at(run_id, at)

            verdicts: list[float | Problem | Stale] = []
            for scored in batch:
                verdict = await _verdict(scored.request, progress, version, earlier_at)
                if isinstance(verdict, PassPosition):
                    progress[scored.request.run.id] = _accept(scored, progress[scored.request.run.id], writes)
                    verdict = scored.reward
                verdicts.append(verdict)
            await _write(writes, transaction)
        return await self._answers([scored.request for scored in batch], verdicts, progress)

    async def _answers(
        self,
        batch: Sequence[TranslationRequest],
        verdicts: Sequence[float | Problem | Stale | PassPosition],
        progress: Mapping[int, RunProgress],
    ) -> list[Result]:
        """The answers to requests; those that have no answer yet are left out."""
        pairs = list(zip(batch, verdicts, strict=True))
        rewarded = [(one, progress[one.run.id].pending) for one, verdict in pairs if isinstance(verdict, float)]
        loaded = await self._load(rewarded)
        return [
            RewardedSubmission(request.id, verdict, _pending(request, progress[request.run.id], loaded))
            if isinstance(verdict, float)
            else verdict
            for request, verdict in pairs
            if not isinstance(verdict, PassPosition)
        ]

    async def _load(self, positions: Iterable[tuple[SentenceRequest, PassPosition]]) -> LoadedSentences:
        """The sentences at these positions, from the cache where possible. A deleted task has none."""
        wanted = {
            _key(request, at.position): _sentence_id(request.task, at.position)
            for request, at in positions
            if at.position < request.task.samples
        }
        loaded = {key: known for key in wanted if (known := self._sentences.get(key)) is not None}
        missing = {key: number for key, number in wanted.items() if key not in loaded}
        if missing:
            read = await self._store.sentences(set(missing.values()))
            found = {key: read[number] for key, number in missing.items() if number in read}
            self._sentences.update(found)
            loaded |= found
        return loaded


def _key(request: SentenceRequest, position: int) -> SentenceKey:
    return request.version, request.task.id, position


def _sentence_id(task: SharedTask, position: int) -> int:
    return sentence_id(task.id, task.layout.sentence_at(position))


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


async def _verdict(
    request: TranslationRequest, progress: Mapping[int, RunProgress], version: int, earlier_at: EarlierAt
) -> float | Problem | Stale | PassPosition:
    """What the rules say: the position that a translation may take, the reward that it has already, or a refusal."""
    current = progress.get(request.run.id)
    if current is None:
        return UNKNOWN_RUN
    if version != request.version:
        return Stale()
    at = unseal(request.run.id_key, request.id)
    if at is None or at.position >= request.task.samples:
        return UNKNOWN_SENTENCE
    earlier = await earlier_at(request.run.id, at) if at < current.pending else None
    if earlier is not None:
        return earlier.reward if earlier.translation == request.translation else ALREADY_TRANSLATED
    if request.task.stopped:
        return TASK_STOPPED
    return at if at == current.pending else WRONG_ORDER


def _accept(scored: ScoredTranslation, current: RunProgress, writes: _PendingWrites) -> RunProgress:
    """Note what to write for an accepted translation; return the run's new progress."""
    run_id, at = scored.request.run.id, scored.at
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


async def _write(writes: _PendingWrites, transaction: RewardTransaction) -> None:
    if writes.submissions:
        await transaction.insert_submissions(list(writes.submissions.values()))
        await transaction.update_progress(writes.progress)
    if writes.curve_points:
        await transaction.insert_curve_points(writes.curve_points)
    if writes.checkpoints:
        await transaction.add_to_checkpoints(writes.checkpoints)
