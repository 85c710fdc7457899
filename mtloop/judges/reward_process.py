"""A process that scores translations, so that a long text does not stop the service that asks for its score.

Jobs and scores are JSON lines on the pipes that the process got as standard input and output. Metrics of plugins get
others, so that they may print. The process ends when its input ends, so it does not outlive a killed parent. JSON keeps
every digit of a score: it is the same as one that the parent computes itself.
"""

from __future__ import annotations

import json
import os
import signal
from typing import BinaryIO, NamedTuple

from mtloop.judges.rewards import corpus_bleu_statistics, sentence_reward
from mtloop.metrics.text_caches import forget_texts


class ScoringJob(NamedTuple):
    """A translation to score. `with_statistics`: the statistics of corpus BLEU are wanted too."""

    reward: str
    language: str
    translation: str
    reference: str
    with_statistics: bool


class ScoredText(NamedTuple):
    """The reward before noise, and the statistics of corpus BLEU (empty if they are not wanted)."""

    score: float
    statistics: tuple[int, ...] = ()


def score_text(job: ScoringJob) -> ScoredText:
    """Score a translation in this process. It forgets the texts: others have the same work and memory after them."""
    try:
        score = float(sentence_reward(job.reward, job.language)(job.translation, job.reference))
        if not job.with_statistics:
            return ScoredText(score)
        return ScoredText(score, corpus_bleu_statistics(job.translation, job.reference, job.language))
    finally:
        forget_texts()


def main() -> None:
    """Answer the jobs of the parent until they end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which closes our input
    with os.fdopen(os.dup(0), "rb") as jobs, os.fdopen(os.dup(1), "wb") as answers:
        nothing = os.open(os.devnull, os.O_RDWR)
        for standard in (0, 1):  # what a metric prints must not be read as an answer
            os.dup2(nothing, standard)
        answer_jobs(jobs, answers)


def answer_jobs(jobs: BinaryIO, answers: BinaryIO) -> None:
    """Answer each line of `jobs`, the number and the fields of a job, with one line, until the jobs end."""
    while line := jobs.readline():
        number, fields = json.loads(line)
        answer = {"job": number, **_answer(ScoringJob(*fields))}
        answers.write(json.dumps(answer).encode() + b"\n")
        answers.flush()


def _answer(job: ScoringJob) -> dict[str, object]:
    try:
        return score_text(job)._asdict()
    except Exception as error:  # its message may quote a reference, so only its class is told
        return {"error": type(error).__name__}
