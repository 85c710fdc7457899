"""Where sentences are handed out and translations handed in: the two rules of the shared task.

The next source only after a translation: a run has one pending place. One reward for a place, ever: it is given in a
transaction that holds the run's row, into a table whose key is the place. What a translation is worth is worked out
before that transaction, so the lock is short.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from mtloop.judges.rewards import noise_of, perceived, sentence_reward, statistics
from mtloop.service.cache import Cache
from mtloop.service.problems import END, STOPPED, TRANSLATED, UNKNOWN_RUN, UNKNOWN_SENTENCE, WRONG_ORDER, Problem
from mtloop.service.request_batches import RequestBatcher
from mtloop.service.tasks.leaderboard import is_milestone
from mtloop.service.tasks.models import CheckpointSums, Run, RunProgress, SharedTask, Submission, TaskSentence
from mtloop.service.tasks.sealed_ids import PassPosition, seal, unseal
from mtloop.service.tasks.store import RewardTransaction, Store, is_outage
from mtloop.service.tasks.tables import sentence_id


@dataclass(frozen=True)
class Given:
    """A source and the id under which its translation is taken."""

    id: str
    source: str


@dataclass(frozen=True)
class SubmissionResult:
    """What came of a translation, and what is next."""

    id: str
    reward: float
    next: Given | None


@dataclass(frozen=True)
class Stale:
    """What was known of the asker's key or task is out of date; look again and ask again."""


@dataclass(frozen=True)
class Asked:
    """Someone's request for the pending sentence, known to be theirs as of an epoch."""

    run: Run
    task: SharedTask
    epoch: int


@dataclass(frozen=True)
class HandedIn(Asked):
    """Someone's translation of a sentence."""

    id: str
    translation: str


@dataclass(frozen=True)
class Valued:
    """A translation handed in, where it belongs, and what it is worth; None if its id is nothing."""

    handed: HandedIn
    place: PassPosition | None
    score: float = 0.0
    reward: float = 0.0
    oracle: float = 0.0
    checkpoint: CheckpointSums | None = None


Loaded: TypeAlias = Mapping[tuple[int, int], TaskSentence]


@dataclass
class _Page:
    """What a transaction is going to write."""

    given: dict[tuple[int, PassPosition], Submission] = field(default_factory=dict)
    moved: dict[int, RunProgress] = field(default_factory=dict)
    points: list[tuple[int, RunProgress]] = field(default_factory=list)
    checkpoints: list[tuple[int, int, CheckpointSums]] = field(default_factory=list)


class Submissions:
    """One for each worker process."""

    def __init__(self, store: Store, remembered: int = 20_000) -> None:
        self._store = store
        # By the epoch they were read in as well: another task may take the id of one that was deleted.
        self._sentences: Cache[tuple[int, int], TaskSentence] = Cache(remembered)
        self._asking: RequestBatcher[Asked, Given | Problem | Stale] = RequestBatcher(self._serve, is_outage)
        self._handing: RequestBatcher[HandedIn, SubmissionResult | Problem | Stale] = RequestBatcher(
            self._take, is_outage
        )

    async def next(self, asked: Asked) -> Given | Problem | Stale:
        """The pending sentence."""
        return await self._asking.ask(asked)

    async def submit(self, handed: HandedIn) -> SubmissionResult | Problem | Stale:
        """The reward, now durable, and the next sentence."""
        return await self._handing.ask(handed)

    async def drain(self) -> None:
        await self._asking.drain()
        await self._handing.drain()

    def forget(self) -> None:
        """Drop what is remembered of the data: its epoch is over."""
        self._sentences.clear()

    async def _serve(self, batch: Sequence[Asked]) -> Sequence[Given | Problem | Stale]:
        standings, epoch = await self._store.standings({asked.run.id for asked in batch})
        places = [(asked, standings[asked.run.id].place) for asked in batch if asked.run.id in standings]
        loaded = await self._load(places)
        return [_served(asked, standings.get(asked.run.id), epoch, loaded) for asked in batch]

    async def _take(self, batch: Sequence[HandedIn]) -> Sequence[SubmissionResult | Problem | Stale]:
        valued = await self._value(batch)
        async with self._store.ledger() as ledger:
            standings, epoch = await ledger.lock({handed.run.id for handed in batch})
            page = _Page()
            results = [await self._enter(one, standings, epoch, page, ledger) for one in valued]
            await _write(page, ledger)
        following = [(handed, standings[handed.run.id].place) for handed in batch if handed.run.id in standings]
        loaded = await self._load(following)
        return [
            result
            if not isinstance(result, float)
            else SubmissionResult(handed.id, result, _pending(handed, standings[handed.run.id], loaded))
            for handed, result in zip(batch, results, strict=True)
        ]

    async def _value(self, batch: Sequence[HandedIn]) -> list[Valued]:
        placed = [(handed, unseal(handed.run.key, handed.id)) for handed in batch]
        known = [(handed, place) for handed, place in placed if place is not None]
        loaded = await self._load(
            known + [(handed, PassPosition(place.lap, place.position + 1)) for handed, place in known]
        )
        return [Valued(handed, None) if place is None else _worth(handed, place, loaded) for handed, place in placed]

    async def _enter(
        self, valued: Valued, standings: dict[int, RunProgress], epoch: int, page: _Page, ledger: RewardTransaction
    ) -> float | Problem | Stale:
        """Apply the rules to one translation; `standings` moves with each that is accepted."""
        handed, place = valued.handed, valued.place
        standing = standings.get(handed.run.id)
        if standing is None:
            return UNKNOWN_RUN
        if epoch != handed.epoch:
            return Stale()
        if place is None:
            return UNKNOWN_SENTENCE
        before = page.given.get((handed.run.id, place)) or await _recorded(ledger, handed.run, place, standing)
        if before is not None:
            return before.reward if before.translation == handed.translation else TRANSLATED
        if handed.task.stopped:
            return STOPPED
        if place != standing.place:
            return WRONG_ORDER
        standings[handed.run.id] = _accept(valued, place, standing, page)
        return valued.reward

    async def _load(self, places: Iterable[tuple[Asked, PassPosition]]) -> Loaded:
        """The sentences at these places, from what is remembered where possible; none where a task was deleted."""
        wanted = [_key(asked, place.position) for asked, place in places if place.position < asked.task.samples]
        loaded = {key: known for key in wanted if (known := self._sentences.get(key)) is not None}
        missing = {key for key in wanted if key not in loaded}
        if missing:
            read = await self._store.sentences({number for _, number in missing})
            found = {key: read[key[1]] for key in missing if key[1] in read}
            self._sentences.update(found)
            loaded |= found
        return loaded


def _key(asked: Asked, position: int) -> tuple[int, int]:
    return asked.epoch, sentence_id(asked.task.id, asked.task.layout.at(position))


def _sentence(asked: Asked, position: int, loaded: Loaded) -> TaskSentence | None:
    """What stands at a position; None beyond the end."""
    return loaded.get(_key(asked, position)) if position < asked.task.samples else None


def _pending(asked: Asked, standing: RunProgress, loaded: Loaded) -> Given | None:
    sentence = _sentence(asked, standing.position, loaded)
    return None if sentence is None else Given(seal(asked.run.key, standing.place), sentence.source)


def _served(asked: Asked, standing: RunProgress | None, epoch: int, loaded: Loaded) -> Given | Problem | Stale:
    if standing is None:
        return UNKNOWN_RUN
    if epoch != asked.epoch:
        return Stale()
    return STOPPED if asked.task.stopped else _pending(asked, standing, loaded) or END


def _worth(handed: HandedIn, place: PassPosition, loaded: Loaded) -> Valued:
    sentence = _sentence(handed, place.position, loaded)
    if sentence is None:
        return Valued(handed, None)
    score = sentence_reward(handed.task.reward)(handed.translation, sentence.reference)
    seed = f"{handed.run.key.hex()}:{place.lap}:{place.position}"
    reward = perceived(score, noise_of(handed.task.noise), seed)
    block = handed.task.layout.block(place.position)
    checkpoint = None
    if block is not None:
        checkpoint = CheckpointSums(block, 1, reward, score, statistics(handed.translation, sentence.reference))
    return Valued(handed, place, score, reward, sentence.oracle or 0.0, checkpoint)


def _accept(valued: Valued, place: PassPosition, standing: RunProgress, page: _Page) -> RunProgress:
    run_id = valued.handed.run.id
    page.given[run_id, place] = Submission(run_id, place, valued.handed.translation, valued.reward, valued.score)
    moved = replace(
        standing,
        position=standing.position + 1,
        reward=standing.reward + valued.reward,
        score=standing.score + valued.score,
        oracle=standing.oracle + valued.oracle,
        updated=time.time(),
    )
    page.moved[run_id] = moved
    if valued.checkpoint is not None:
        page.checkpoints.append((run_id, place.lap, valued.checkpoint))
    if is_milestone(moved.position) or moved.position == valued.handed.task.samples:
        page.points.append((run_id, moved))
    return moved


async def _recorded(
    ledger: RewardTransaction, run: Run, place: PassPosition, standing: RunProgress
) -> Submission | None:
    """What was handed in at a place before; nobody has to look when it is the pending one."""
    return None if place >= standing.place else await ledger.recorded(run.id, place)


async def _write(page: _Page, ledger: RewardTransaction) -> None:
    if page.given:
        await ledger.give(list(page.given.values()))
        await ledger.advance(page.moved)
    if page.points:
        await ledger.keep_points(page.points)
    if page.checkpoints:
        await ledger.add_to_checkpoints(page.checkpoints)
