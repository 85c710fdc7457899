"""A score leaves nothing in memory about its texts: memory does not grow with them, and times do not tell of them."""

from __future__ import annotations

import functools
import gc
import io
import json
from collections.abc import Iterator
from typing import Any

import pytest

from mtloop.judges import reward_process
from mtloop.judges.reward_process import ScoredText, ScoringJob, answer_jobs, score_text
from mtloop.judges.rewards import corpus_bleu_statistics, reward_names, sentence_reward

LANGUAGES = ("de", "zh", "th")


Caches = list[tuple[Any, int]]


def caches() -> Caches:
    """Every cache of functools in this process, whoever made it, with the number of its entries.

    `isinstance` would ask objects for their class, and lazy modules warn then.
    """
    gc.unfreeze()  # what is frozen is not listed
    try:
        found = [one for one in gc.get_objects() if issubclass(type(one), functools._lru_cache_wrapper)]
    finally:
        gc.freeze()
    return [(one, one.cache_info().currsize) for one in found]


def grown(before: Caches) -> list[str]:
    """The caches that have more entries than before."""
    sizes = {id(one): size for one, size in before}
    return [repr(one) for one, size in caches() if size > sizes.get(id(one), 0)]


@pytest.fixture
def before() -> Caches:
    """The caches when every reward has been used once: what they keep then is no text of a later job."""
    for job in jobs(1):
        score_text(job)
    return caches()


def jobs(first: int) -> Iterator[ScoringJob]:
    """Long and short texts in all kinds of languages, each another one, numbered from `first`."""
    kinds = ((one, other) for one in reward_names() for other in LANGUAGES)
    for number, (reward, language) in enumerate(kinds, start=first):
        for length in (1, 200):
            yield ScoringJob(reward, language, f"文件 {number} x. " * length, f"das Dokument {number}, " * length, True)


def test_a_score_leaves_no_text_in_memory(before: Caches) -> None:
    assert len(before) > 10
    for job in jobs(1000):
        score_text(job)
    assert grown(before) == []


def test_the_process_for_long_texts_keeps_none_either(before: Caches) -> None:
    lines = [json.dumps([number, job]).encode() + b"\n" for number, job in enumerate(jobs(1000))]
    answers = io.BytesIO()
    answer_jobs(io.BytesIO(b"".join(lines)), answers)
    assert len(answers.getvalue().splitlines()) == len(lines)
    assert grown(before) == []


def test_the_scores_are_those_that_remembered_texts_give(before: Caches) -> None:
    for job in jobs(1000):
        reward = sentence_reward(job.reward, job.language)
        expected = [
            ScoredText(reward(*texts), corpus_bleu_statistics(*texts, job.language))
            for texts in [(job.translation, job.reference)] * 2
        ]
        assert grown(before) != [], "a text that is kept is found"
        assert [score_text(job), score_text(job)] == expected


def test_a_failed_score_leaves_no_text_either(before: Caches, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*texts: str) -> tuple[int, ...]:
        raise RuntimeError("no statistics")

    monkeypatch.setattr(reward_process, "corpus_bleu_statistics", fail)
    with pytest.raises(RuntimeError, match="no statistics"):
        score_text(ScoringJob("bleu", "de", "ein Text", "der Text", True))
    assert grown(before) == []
