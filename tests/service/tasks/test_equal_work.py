"""A refusal and the work for a translation do not tell whether a sentence is held out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import pytest
import sqlalchemy as sa
from helpers.shared_task import SOURCES, TRANSLATIONS, TaskServer, pending, start, submit, translate_all
from sacrebleu.tokenizers.tokenizer_re import TokenizerRegexp
from starlette.testclient import TestClient

from mtloop.judges import rewards
from mtloop.metrics.quality import BLEU, RewardBLEU
from mtloop.metrics.text_caches import forget_texts

HELD_OUT = set(SOURCES[17:])


@pytest.fixture
def scored(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    """How often this process computed a reward, and the statistics of corpus BLEU, and cut a text into words.

    A text that sacreBLEU remembers is not cut again.
    """
    found: Counter[str] = Counter()
    sentence, rows, tokenise = RewardBLEU.sentence, BLEU.rows, TokenizerRegexp.__call__.__wrapped__

    def count_sentence(self: RewardBLEU, text: str, reference: str) -> float:
        found["reward"] += 1
        return sentence(self, text, reference)

    def count_rows(self: BLEU, steps: Any) -> Any:
        found["statistics"] += 1
        return rows(self, steps)

    @lru_cache(maxsize=2**16)
    def count_text(self: TokenizerRegexp, text: str) -> str:
        found["tokenised"] += 1
        return str(tokenise(self, text))

    forget_texts()
    monkeypatch.setattr(TokenizerRegexp, "__call__", count_text)
    monkeypatch.setattr(RewardBLEU, "sentence", count_sentence)
    monkeypatch.setattr(BLEU, "rows", count_rows)
    rewards.sentence_reward.cache_clear()  # it holds the method that was patched
    yield found
    rewards.sentence_reward.cache_clear()


@contextmanager
def statements(client: TestClient) -> Iterator[list[str]]:
    """The statements that the service sends to its database."""
    found: list[str] = []
    engine = client.app.state.service.storage.database.engine.sync_engine  # type: ignore[attr-defined]

    def note(_: object, __: object, statement: str, *___: object) -> None:
        found.append(statement)

    sa.event.listen(engine, "before_cursor_execute", note)
    yield found
    sa.event.remove(engine, "before_cursor_execute", note)


def test_a_refused_translation_is_not_scored(lite: TaskServer, scored: Counter[str]) -> None:
    lite.task(held_out=3, blocks=3)
    with lite.serve(lite.participant()) as client:
        run, ids = start(client), []
        for _ in range(5):  # the first three are held out
            sentence = pending(client, run)
            ids.append(sentence["id"])
            submit(client, run, sentence["id"], TRANSLATIONS[0])
        waiting = pending(client, run)["id"]
        client.post(f"/v1/runs/{run}/passes")
        scored.clear()
        statuses = [submit(client, run, id_, "etwas anderes").status_code for id_ in [*ids, waiting]]
        assert statuses == [409] * 6
        assert submit(client, run, "AAAA", "x").status_code == 404
        lite.with_storage(lambda storage: storage.tasks.change_task("tiny", stopped=True))
        assert submit(client, run, waiting, "x").status_code == 409
    assert not scored


def test_a_repeated_translation_is_not_scored_again(lite: TaskServer, scored: Counter[str]) -> None:
    lite.task(held_out=3, blocks=3)
    with lite.serve(lite.participant()) as client:
        run = start(client)
        first = pending(client, run)["id"]
        answers = {submit(client, run, first, TRANSLATIONS[0]).text for _ in range(4)}
    assert len(answers) == 1
    assert scored == {"reward": 1, "statistics": 1, "tokenised": 4}


@pytest.mark.parametrize("reward", ["wmt17", "bleu"])
@pytest.mark.parametrize("warm", [False, True])
def test_every_sentence_costs_the_same_work(lite: TaskServer, scored: Counter[str], warm: bool, reward: str) -> None:
    """The scorer is called as often, cuts as many texts into words, and the database gets the same statements.

    So it is held out or not, also in the first pass, when no sentence is in the cache, and when a block comes again.
    """
    lite.task(held_out=3, blocks=3, reward=reward)
    work: dict[bool, list[tuple[Any, ...]]] = {True: [], False: []}
    with lite.serve(lite.participant()) as client:
        run = start(client)
        if warm:
            translate_all(client, run)
            client.post(f"/v1/runs/{run}/passes")
        sentence: Any = pending(client, run)
        while sentence["source"] != SOURCES[-1] or len(work[True]) < 8:  # the answer to the last one has no sentence
            scored.clear()
            with statements(client) as sent:
                following = submit(client, run, sentence["id"], TRANSLATIONS[0]).json()["next"]
            texts = [text for text in sent if "INSERT INTO curve_points" not in text]  # by position, not by sentence
            work[sentence["source"] in HELD_OUT].append((*sorted(scored.items()), *texts))
            sentence = following
    assert [len(work[True]), len(work[False])] == [8, 17]
    assert auc([len(one) for one in work[True]], [len(one) for one in work[False]]) == 0.5
    assert len({*work[True], *work[False]}) == 1
    assert any("FROM sentences" in text for text in map(str, work[False][0])) != warm
    assert ("tokenised", 4) in work[False][0]


def auc(held_out: list[int], others: list[int]) -> float:
    """The share of pairs in which the held-out sentence costs more; equal ones count half."""
    pairs = [(one > other) + (one == other) / 2 for one in held_out for other in others]
    return sum(pairs) / len(pairs)
