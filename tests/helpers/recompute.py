"""What the service should have added up, computed from the rows alone."""

from __future__ import annotations

from itertools import accumulate

from mtloop.judges.rewards import noise_of, perceived, sentence_reward, statistics
from mtloop.service.tasks.leaderboard import is_milestone
from mtloop.service.tasks.models import Submission
from mtloop.service.tasks.store import Store
from mtloop.service.tasks.tables import sentence_id


async def check_run(store: Store, token: str) -> int:
    """Every sum of a run against its rows, to the last bit; how many rows there are."""
    run = await store.run(token)
    assert run is not None
    task = await store.task_of(run.task_id)
    assert task is not None
    curve, checkpoints, total = await store.curve(run), await store.checkpoints(run), 0
    for at in await store.laps(run):
        rows = [one async for chunk in store.submissions(run, at.lap) for one in chunk]
        total += len(rows)
        places = [sentence_id(task.id, task.layout.at(one.place.position)) for one in rows]
        sentences = await store.sentences(set(places))
        assert [one.place.position for one in rows] == list(range(at.position)), "a position twice or missing"
        for one, place in zip(rows, places, strict=True):
            score = sentence_reward(task.reward)(one.translation, sentences[place].reference)
            seed = f"{run.key.hex()}:{one.place.lap}:{one.place.position}"
            assert (one.score, one.reward) == (score, perceived(score, noise_of(task.noise), seed))
        sums = [
            list(accumulate((one.reward for one in rows), initial=0.0)),
            list(accumulate((one.score for one in rows), initial=0.0)),
            list(accumulate((sentences[place].oracle or 0.0 for place in places), initial=0.0)),
        ]
        assert [at.reward, at.score, at.oracle] == [column[-1] for column in sums]
        kept = {point.position: [point.reward, point.score, point.oracle] for point in curve.get(at.lap, [])}
        wanted = [p for p in range(1, at.position + 1) if is_milestone(p) or p == task.samples]
        assert kept == {position: [column[position] for column in sums] for position in wanted}
        found = {one.block: one for one in checkpoints.get(at.lap, [])}
        blocks: dict[int, list[tuple[Submission, int]]] = {}
        for one, place in zip(rows, places, strict=True):
            block = task.layout.block(one.place.position)
            if block is not None:
                blocks.setdefault(block, []).append((one, place))
        assert found.keys() == blocks.keys()
        for block, held in blocks.items():
            columns = zip(
                *(statistics(one.translation, sentences[place].reference) for one, place in held), strict=True
            )
            assert found[block].statistics == tuple(map(sum, columns))
            assert found[block].count == len(held)
            assert found[block].reward == list(accumulate(one.reward for one, _ in held))[-1]
            assert found[block].score == list(accumulate(one.score for one, _ in held))[-1]
    return total
