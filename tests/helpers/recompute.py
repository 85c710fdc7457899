"""Recomputes the sums of the task service from its rows."""

from __future__ import annotations

from itertools import accumulate

from mtloop.judges.rewards import add_noise, corpus_bleu_statistics, make_noise, sentence_reward
from mtloop.service.tasks.models import Submission
from mtloop.service.tasks.publication import is_curve_point
from mtloop.service.tasks.store import TaskStore
from mtloop.service.tasks.tables import sentence_id


async def check_run(store: TaskStore, token: str) -> int:
    """Check that every sum of a run equals the sum of its rows exactly; return the number of rows."""
    run = await store.run(token)
    assert run is not None
    task = await store.task_by_id(run.task_id)
    assert task is not None
    curve, checkpoints, total = await store.curve(run), await store.checkpoints(run), 0
    for progress in await store.passes(run):
        rows = [row async for chunk in store.submissions(run, progress.pass_number) for row in chunk]
        total += len(rows)
        ids = [sentence_id(task.id, task.layout.sentence_at(row.at.position)) for row in rows]
        sentences = await store.sentences(set(ids))
        assert [row.at.position for row in rows] == list(range(progress.position)), "a position is repeated or missing"
        for row, id_ in zip(rows, ids, strict=True):
            score = sentence_reward(task.reward)(row.translation, sentences[id_].reference)
            seed = f"{run.id_key.hex()}:{row.at.pass_number}:{row.at.position}"
            assert (row.score, row.reward) == (score, add_noise(score, make_noise(task.noise), seed))
        sums = [
            list(accumulate((row.reward for row in rows), initial=0.0)),
            list(accumulate((row.score for row in rows), initial=0.0)),
            list(accumulate((sentences[id_].oracle_score or 0.0 for id_ in ids), initial=0.0)),
        ]
        assert [progress.reward, progress.score, progress.oracle_score] == [column[-1] for column in sums]
        points = {
            point.position: [point.reward, point.score, point.oracle_score]
            for point in curve.get(progress.pass_number, [])
        }
        expected = [p for p in range(1, progress.position + 1) if is_curve_point(p) or p == task.samples]
        assert points == {position: [column[position] for column in sums] for position in expected}
        found = {checkpoint.block: checkpoint for checkpoint in checkpoints.get(progress.pass_number, [])}
        blocks: dict[int, list[tuple[Submission, int]]] = {}
        for row, id_ in zip(rows, ids, strict=True):
            block = task.layout.block_at(row.at.position)
            if block is not None:
                blocks.setdefault(block, []).append((row, id_))
        assert found.keys() == blocks.keys()
        for block, pairs in blocks.items():
            columns = zip(
                *(corpus_bleu_statistics(row.translation, sentences[id_].reference) for row, id_ in pairs),
                strict=True,
            )
            assert found[block].statistics == tuple(map(sum, columns))
            assert found[block].count == len(pairs)
            assert found[block].reward == list(accumulate(row.reward for row, _ in pairs))[-1]
            assert found[block].score == list(accumulate(row.score for row, _ in pairs))[-1]
    return total
