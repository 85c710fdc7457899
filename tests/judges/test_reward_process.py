"""A score leaves nothing in memory about its texts: memory does not grow with them, and times do not tell of them."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator

import pytest

from mtloop.judges import reward_process
from mtloop.judges.reward_process import ScoredText, ScoringJob, answer_jobs, score_text
from mtloop.judges.rewards import corpus_bleu_statistics, reward_names, sentence_reward
from mtloop.metrics import ter
from mtloop.metrics.text_caches import forget_texts, tokeniser_caches

LANGUAGES = ("de", "zh", "th")


def kept() -> int:
    """How many texts the tokenisers keep in memory, and TER tables."""
    caches = [*tokeniser_caches(), ter._beam]
    assert len(caches) > 3
    return sum(cache.cache_info().currsize for cache in caches)


def jobs() -> Iterator[ScoringJob]:
    """Long and short texts in all kinds of languages, each another one."""
    for number, (reward, language) in enumerate((one, other) for one in reward_names() for other in LANGUAGES):
        for length in (1, 200):
            yield ScoringJob(reward, language, f"文件 {number} x. " * length, f"das Dokument {number}, " * length, True)


def test_a_score_leaves_no_text_in_memory() -> None:
    forget_texts()
    for job in jobs():
        score_text(job)
        assert kept() == 0, job[:2]


def test_the_process_for_long_texts_keeps_none_either() -> None:
    forget_texts()
    lines = [json.dumps([number, job]).encode() + b"\n" for number, job in enumerate(jobs())]
    answers = io.BytesIO()
    answer_jobs(io.BytesIO(b"".join(lines)), answers)
    assert len(answers.getvalue().splitlines()) == len(lines)
    assert kept() == 0


def test_the_scores_are_those_that_remembered_texts_give() -> None:
    for job in jobs():
        reward = sentence_reward(job.reward, job.language)
        expected = [
            ScoredText(reward(*texts), corpus_bleu_statistics(*texts, job.language))
            for texts in [(job.translation, job.reference)] * 2
        ]
        assert kept() > 0
        assert [score_text(job), score_text(job)] == expected


def test_a_failed_score_leaves_no_text_either(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*texts: str) -> tuple[int, ...]:
        raise RuntimeError("no statistics")

    monkeypatch.setattr(reward_process, "corpus_bleu_statistics", fail)
    forget_texts()
    with pytest.raises(RuntimeError, match="no statistics"):
        score_text(ScoringJob("bleu", "de", "ein Text", "der Text", True))
    assert kept() == 0
